//! Active target synchronisation: fence, post, start, complete, wait, test (MPI-2.2 §11.4).

use super::posts::Pscw;
use super::refusal::Refusal;
use super::turn::{ACCESS, BOTH, EXPOSURE, Turn};
use super::{FenceAssert, PostAssert, StartAssert, Win};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::group::{Group, Rank};
use crate::prim::{Awaited, AwaitedKind, WaitRecord};
use crate::shm::is_apart;
use crate::sync::{self, FenceKind, Side};
use std::panic::Location;

impl Win {
    /// `MPI_Win_fence` (MPI-2.2 §11.4.1): completes every rank's operations since the last fence,
    /// at origin and target, and opens the next epoch unless NOSUCCEED is asserted.
    ///
    /// Collective; blocks until every rank has called it, except with NOPRECEDE and NOSUCCEED
    /// together.
    ///
    /// # Errors
    /// [`Error::Epoch`]; [`Error::Assertion`] if NOPRECEDE is visibly false;
    /// [`Error::RankFailed`].
    #[track_caller]
    pub fn fence(&self, assert: FenceAssert) -> Result<()> {
        let at = Location::caller();
        self.words.fence.expect_arrival();
        if is_apart()
            && let Some(done) = self.apart(Call::Fence, move |by| self.fence_by(by, assert))
        {
            return done;
        }
        self.within_any(Call::Fence, || {
            let (mut round, waiting) = {
                let mut turn = self.turn();
                let waiting = self.begin_waiting(&mut turn, Call::Fence, BOTH)?;
                (turn.fence_round, waiting)
            };
            self.check_fence(assert)?;
            let opens = !assert.has(FenceAssert::NOSUCCEED);
            let kind = match assert.has(FenceAssert::NOPRECEDE | FenceAssert::NOSUCCEED) {
                true => FenceKind::ArriveOnly,
                false => FenceKind::Barrier,
            };
            let (words, ranks) = (&self.words.fence, self.meet.size());
            let announce = || self.announce_fence(opens);
            let ring = || self.ring_all();
            let before = round;
            let tell = |record: &WaitRecord| record.say(&self.meet.arrival(words, before));
            let waiter = self.telling_waiter(at, &tell);
            let passed = sync::fence(words, ranks, &mut round, kind, announce, ring, &waiter);
            waiting.end(|turn| {
                turn.fence_round = round;
                self.epochs.fenced(opens && passed.is_ok());
            });
            passed.map_err(|failed| self.job_failed(failed, Call::Fence))
        })
    }

    #[inline(always)]
    pub(super) fn check_fence(&self, assert: FenceAssert) -> Result<()> {
        self.allowed(Call::Fence, Rank::NULL, self.epochs.may_fence())?;
        if assert.has(FenceAssert::NOPRECEDE) && self.epochs.is_used() {
            return Err(Error::Assertion {
                at: self.place(Call::Fence),
                assertion: "MPI_MODE_NOPRECEDE",
                why: "this rank has issued operations since the last fence".into(),
            });
        }
        Ok(())
    }

    /// Counts a fence, and tells the others whether it opens an epoch.
    #[inline(always)]
    pub(super) fn announce_fence(&self, opens: bool) {
        let number = self.fences.load().wrapping_add(1);
        self.fences.store(number);
        self.words_of(self.comm.rank()).open.fenced(number, opens);
    }

    /// Waits until every rank has arrived at the latest fence of this one, so that what they said
    /// before their arrival is known.
    pub(crate) fn await_latest_fence(
        &self,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let _call = self.enter(call);
        let (round, words) = (self.turn().fence_round, &self.words.fence);
        let tell = |record: &WaitRecord| record.say(&self.meet.arrival(words, round));
        sync::passed(words, self.meet.size(), round, &self.telling_waiter(at, &tell))
            .map_err(|failed| self.job_failed(failed, call))
    }

    /// Ends a fence epoch that turned out to be none, before an epoch of another kind opens.
    #[inline]
    pub(super) fn leave_fence(&self) {
        self.words_of(self.comm.rank()).open.leave_fence();
    }

    /// `MPI_Win_post` (MPI-2.2 §11.4.2): exposes this rank's part to the ranks of `origins`.
    ///
    /// Local; never blocks for another rank's call. An empty group opens an exposure epoch that
    /// `wait` closes at once.
    ///
    /// # Errors
    /// [`Error::Epoch`], also if the part is locked; [`Error::Group`];
    /// [`Error::NoMemory`] at the first post, for the post slots.
    pub fn post(&self, origins: &Group, assert: PostAssert) -> Result<()> {
        if is_apart()
            && let Some(done) = self.apart(Call::Post, |by| self.post_by(by, origins, assert))
        {
            return done;
        }
        self.within_any(Call::Post, || self.post_in_turn(origins, assert, &mut self.turn()))
    }

    fn post_in_turn(&self, origins: &Group, assert: PostAssert, turn: &mut Turn) -> Result<()> {
        let own = self.comm.rank();
        self.allowed(Call::Post, Rank::NULL, turn.may_wait(EXPOSURE))?;
        self.allowed(Call::Post, Rank::NULL, self.epochs.may_post(own))?;
        let lock = &self.words_of(own).lock;
        let is_locked = lock.is_held(Side::Left) || lock.is_held(Side::RightExclusive);
        if is_locked || self.words.lock_all.is_held(Side::Left) {
            return Err(self.refused(Call::Post, Rank::NULL, Refusal::PartLocked));
        }
        let tells = !assert.has(PostAssert::NOCHECK);
        let (origins, slots) = turn.pscw.set_origins(self, origins, tells)?;
        // Nothing can fail from here on, and nobody may see the post before the flag.
        self.words_of(own).open.exposure.store(1);
        let told = if tells { origins } else { &[] };
        sync::post(told.iter().map(|origin| &slots[*origin as usize]));
        self.epochs.posted(origins.len() as u32);
        Ok(())
    }

    /// `MPI_Win_start` (MPI-2.2 §11.4.2): opens an access epoch on the ranks of `group`.
    ///
    /// Local; blocks until each of them has posted for this rank, unless NOCHECK is asserted.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::Group`], [`Error::RankFailed`].
    #[track_caller]
    pub fn start(&self, group: &Group, assert: StartAssert) -> Result<()> {
        let at = Location::caller();
        if is_apart()
            && let Some(done) = self.apart(Call::Start, |by| self.start_by(by, group, assert))
        {
            return done;
        }
        self.within_any(Call::Start, || {
            let (mut targets, waiting) = {
                let mut turn = self.turn();
                self.allowed(Call::Start, Rank::NULL, self.epochs.may_start())?;
                let waiting = self.begin_waiting(&mut turn, Call::Start, ACCESS)?;
                (turn.pscw.targets.take().unwrap_or_default(), waiting)
            };
            let posted = targets.set(self, group).and_then(|()| {
                targets.expect_complete(self);
                if assert.is_nocheck() { Ok(()) } else { targets.await_posts(self, at) }
            });
            if posted.is_ok() {
                sync::started();
                self.leave_fence();
            }
            waiting.end(|turn| {
                if posted.is_ok() {
                    self.epochs.started(targets.ranks());
                }
                turn.pscw.targets = Some(targets);
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
    /// [`Error::Epoch`]
    pub fn complete(&self) -> Result<()> {
        if is_apart()
            && let Some(done) = self.apart(Call::Complete, |by| self.complete_by(by))
        {
            return done;
        }
        self.within_any(Call::Complete, || {
            let turn = self.turn();
            self.allowed(Call::Complete, Rank::NULL, self.epochs.may_complete())?;
            let targets = turn.pscw.targets();
            self.epochs.completed(targets);
            sync::complete(targets.iter().map(|target| &self.words_of(*target).pscw));
            self.ring(targets.iter().copied());
            Ok(())
        })
    }

    /// `MPI_Win_wait` (MPI-2.2 §11.4.2): closes the exposure epoch opened by post.
    ///
    /// Local; blocks until every origin of the post has completed.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::RankFailed`].
    #[track_caller]
    pub fn wait(&self) -> Result<()> {
        let at = Location::caller();
        if is_apart()
            && let Some(done) = self.apart(Call::Wait, |by| self.wait_by(by))
        {
            return done;
        }
        self.within_any(Call::Wait, || {
            let (awaited, mut seen, waiting) = {
                let mut turn = self.turn();
                let awaited = self.origins_to_await(Call::Wait)?;
                let waiting = self.begin_waiting(&mut turn, Call::Wait, EXPOSURE)?;
                (awaited, turn.pscw.completes_seen, waiting)
            };
            let words = &self.words_of(self.comm.rank()).pscw;
            let before = seen;
            let tell = |record: &WaitRecord| {
                record.say(&Awaited {
                    kind: AwaitedKind::Complete,
                    others: self.turn().pscw.origins(),
                    come: words.come(before),
                    awaited,
                    ..Awaited::default()
                });
            };
            let waiter = self.telling_waiter(at, &tell);
            let waited = sync::wait(words, awaited, &mut seen, &waiter);
            waiting.end(|turn| {
                turn.pscw.completes_seen = seen;
                if waited.is_ok() {
                    self.unexpose(&turn.pscw);
                }
            });
            waited.map_err(|failed| self.job_failed(failed, Call::Wait))
        })
    }

    /// `MPI_Win_test` (MPI-2.2 §11.4.2): as [`Win::wait`] if that would not block, and `true`;
    /// else no effect, and `false`.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`]
    pub fn test(&self) -> Result<bool> {
        if is_apart()
            && let Some(done) = self.apart(Call::Test, |by| self.test_by(by))
        {
            return done;
        }
        self.within_any(Call::Test, || {
            let mut turn = self.turn();
            self.allowed(Call::Test, Rank::NULL, turn.may_wait(EXPOSURE))?;
            let origins = self.origins_to_await(Call::Test)?;
            let words = &self.words_of(self.comm.rank()).pscw;
            let done = sync::test(words, origins, &mut turn.pscw.completes_seen);
            if done {
                self.unexpose(&turn.pscw);
            }
            Ok(done)
        })
    }

    pub(super) fn unexpose(&self, pscw: &Pscw) {
        pscw.expect_post();
        self.words_of(self.comm.rank()).open.exposure.store(0);
        self.epochs.waited();
    }

    pub(super) fn origins_to_await(&self, call: Call) -> Result<u32> {
        self.allowed(call, Rank::NULL, self.epochs.may_wait())
    }
}
