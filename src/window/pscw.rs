//! General active target synchronisation: post, start, complete, wait, test (MPI-2.2 §11.4.2).

use super::posts::Pscw;
use super::refusal::Refusal;
use super::serial::{ACCESS, EXPOSURE, SyncState};
use super::{PostAssert, StartAssert, Win};
use crate::call::Call;
use crate::error::Result;
use crate::group::{Group, Rank};
use crate::sync::LockSide;
use std::panic::Location;

impl Win {
    /// `MPI_Win_post` (MPI-2.2 §11.4.2): exposes this rank's part to the ranks of `origins`.
    ///
    /// Local; never blocks for another rank's call. An empty group opens an exposure epoch that
    /// `wait` closes at once.
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch), also if the part is locked; [`Error::Group`](crate::Error::Group);
    /// [`Error::NoMemory`](crate::Error::NoMemory) at the first post, for the post slots.
    pub fn post(&self, origins: &Group) -> Result<()> {
        self.post_with(origins, PostAssert::NONE)
    }

    /// [`Win::post`] with assertions: see [assertions](crate::assertions).
    ///
    /// # Errors
    /// Those of [`Win::post`].
    pub fn post_with(&self, origins: &Group, assert: PostAssert) -> Result<()> {
        self.within(Call::Post, || self.post_alone(origins, assert, &mut self.sync_state()))
    }

    fn post_alone(&self, origins: &Group, assert: PostAssert, state: &mut SyncState) -> Result<()> {
        let own = self.comm.rank().0;
        self.allowed(Call::Post, Rank::NULL, state.may_wait(EXPOSURE))?;
        self.allowed(Call::Post, Rank::NULL, self.epochs.may_post(own))?;
        let lock = &self.words_of(own).lock;
        let is_locked = lock.is_held(LockSide::Left) || lock.is_held(LockSide::RightExclusive);
        if is_locked || self.words.lock_all.is_held(LockSide::Left) {
            return Err(self.refused(Call::Post, Rank::NULL, Refusal::PartLocked));
        }
        let tells = !assert.has(PostAssert::NOCHECK);
        let slots_too = tells && self.has_slots();
        let (origins, slots) = state.pscw.set_origins(self, origins, slots_too)?;
        self.tell_post(if tells { origins } else { &[] }, slots)?;
        self.epochs.posted(origins.len() as u32);
        Ok(())
    }

    /// `MPI_Win_start` (MPI-2.2 §11.4.2): opens an access epoch on the ranks of `group`.
    ///
    /// Local; blocks until each of them has posted for this rank, unless NOCHECK is asserted.
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch), [`Error::Group`](crate::Error::Group), [`Error::RankFailed`](crate::Error::RankFailed).
    #[track_caller]
    pub fn start(&self, group: &Group) -> Result<()> {
        self.start_with(group, StartAssert::NONE)
    }

    /// [`Win::start`] with assertions: see [assertions](crate::assertions).
    ///
    /// # Errors
    /// Those of [`Win::start`].
    #[track_caller]
    pub fn start_with(&self, group: &Group, assert: StartAssert) -> Result<()> {
        let at = Location::caller();
        self.within(Call::Start, || {
            let (mut targets, waiting) = {
                let mut state = self.sync_state();
                self.allowed(Call::Start, Rank::NULL, self.epochs.may_start())?;
                let waiting = self.begin_waiting(&mut state, Call::Start, ACCESS)?;
                (state.pscw.targets.take().unwrap_or_default(), waiting)
            };
            let posted = targets
                .set(self, group)
                .and_then(|()| self.await_posts(&mut targets, !assert.is_nocheck(), at));
            if posted.is_ok() {
                self.leave_fence();
            }
            waiting.end(|state| {
                if posted.is_ok() {
                    self.epochs.started(targets.ranks());
                }
                state.pscw.targets = Some(targets);
            });
            posted
        })
    }

    /// `MPI_Win_complete` (MPI-2.2 §11.4.2): closes the access epoch opened by start; its
    /// operations are complete at the origin, and at each target once that has waited.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch)
    pub fn complete(&self) -> Result<()> {
        self.within(Call::Complete, || {
            let state = self.sync_state();
            self.allowed(Call::Complete, Rank::NULL, self.epochs.may_complete())?;
            let targets = state.pscw.targets();
            self.epochs.completed(targets);
            self.tell_complete(targets)
        })
    }

    /// `MPI_Win_wait` (MPI-2.2 §11.4.2): closes the exposure epoch opened by post.
    ///
    /// Local; blocks until every origin of the post has completed.
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch), [`Error::RankFailed`](crate::Error::RankFailed).
    #[track_caller]
    pub fn wait(&self) -> Result<()> {
        let at = Location::caller();
        self.within(Call::Wait, || {
            let (awaited, mut seen, waiting) = {
                let mut state = self.sync_state();
                let awaited = self.origins_to_await(Call::Wait)?;
                let waiting = self.begin_waiting(&mut state, Call::Wait, EXPOSURE)?;
                (awaited, state.pscw.completes_seen, waiting)
            };
            let waited = self.await_completes(awaited, &mut seen, at);
            waiting.end(|state| {
                state.pscw.completes_seen = seen;
                if waited.is_ok() {
                    self.unexpose(&state.pscw);
                }
            });
            waited
        })
    }

    /// `MPI_Win_test` (MPI-2.2 §11.4.2): as [`Win::wait`] if that would not block, and `true`;
    /// else no effect, and `false`.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch)
    pub fn test(&self) -> Result<bool> {
        self.within(Call::Test, || {
            let mut state = self.sync_state();
            self.allowed(Call::Test, Rank::NULL, state.may_wait(EXPOSURE))?;
            let origins = self.origins_to_await(Call::Test)?;
            let done = self.test_completes(origins, &mut state.pscw)?;
            if done {
                self.unexpose(&state.pscw);
            }
            Ok(done)
        })
    }

    pub(super) fn unexpose(&self, pscw: &Pscw) {
        pscw.expect_post();
        self.words_of(self.comm.rank().0).open.exposure.store(0);
        self.epochs.waited();
    }

    pub(super) fn origins_to_await(&self, call: Call) -> Result<u32> {
        self.allowed(call, Rank::NULL, self.epochs.may_wait())
    }
}
