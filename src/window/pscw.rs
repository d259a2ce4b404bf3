//! General active target synchronisation: post, start, complete, wait, test (MPI-2.2 §11.4.2).

use super::posts::Pscw;
use super::refusal::Refusal;
use super::serial::{ACCESS, EXPOSURE, SyncState, Synchronization};
use super::{PostAssert, StartAssert};
use crate::call::Call;
use crate::check::Asserted;
use crate::error::Result;
use crate::group::{Group, Rank};
use crate::sync::LockSide;
use std::panic::Location;

impl Synchronization<'_> {
    /// `MPI_Win_post`
    pub(super) fn post(self, origins: &Group, assert: PostAssert) -> Result<()> {
        let calls = self.calls;
        calls.within(Call::Post, || self.post_alone(origins, assert, &mut self.sync_state()))
    }

    fn post_alone(self, origins: &Group, assert: PostAssert, state: &mut SyncState) -> Result<()> {
        let (calls, transport) = (self.calls, self.transport());
        let own = calls.rank().0;
        calls.allowed(Call::Post, Rank::NULL, state.may_wait(EXPOSURE))?;
        calls.allowed(Call::Post, Rank::NULL, calls.epochs.may_post(own))?;
        let lock = &transport.words_of(own).lock;
        let is_locked = lock.is_held(LockSide::Left) || lock.is_held(LockSide::RightExclusive);
        if is_locked || transport.is_locked_all() {
            return Err(calls.refused(Call::Post, Rank::NULL, Refusal::PartLocked));
        }
        calls.asserting(None, || Asserted {
            call: Call::Post,
            nostore: assert.has(PostAssert::NOSTORE),
            noput: assert.has(PostAssert::NOPUT),
        });
        let notifies = !assert.has(PostAssert::NOCHECK);
        let slots_too = notifies && transport.has_slots();
        let (origins, slots) = state.pscw.set_origins(calls, transport, origins, slots_too)?;
        // Also a post that notifies no rank is one that a start may assert.
        calls.checked(|checker, window| window.posts_for(checker, origins));
        transport.send_posts(calls, if notifies { origins } else { &[] }, slots)?;
        calls.epochs.posted(origins.len() as u32);
        Ok(())
    }

    /// `MPI_Win_start`
    pub(super) fn start(
        self,
        group: &Group,
        assert: StartAssert,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let (calls, transport) = (self.calls, self.transport());
        calls.within(Call::Start, || {
            let (mut targets, waiting) = {
                let mut state = self.sync_state();
                calls.allowed(Call::Start, Rank::NULL, calls.epochs.may_start())?;
                let waiting = self.begin_waiting(&mut state, Call::Start, ACCESS)?;
                (state.pscw.targets.take().unwrap_or_default(), waiting)
            };
            let awaits = !assert.is_nocheck();
            let posted = targets
                .set(calls, group)
                .and_then(|()| transport.await_posts(calls, &mut targets, awaits, at));
            if posted.is_ok() {
                self.leave_fence();
            }
            waiting.end(|state| {
                if posted.is_ok() {
                    calls.epochs.started(targets.ranks());
                }
                state.pscw.targets = Some(targets);
            });
            posted
        })
    }

    /// `MPI_Win_complete`
    pub(super) fn complete(self) -> Result<()> {
        let calls = self.calls;
        calls.within(Call::Complete, || {
            let state = self.sync_state();
            calls.allowed(Call::Complete, Rank::NULL, calls.epochs.may_complete())?;
            let targets = state.pscw.targets();
            calls.epochs.completed(targets);
            if let Some(log) = calls.context().log() {
                let words = |target: &u32| self.complete_words(*target);
                targets.iter().for_each(|to| log.completed(words(to), calls.rank().0));
            }
            self.transport().send_completes(calls, targets)
        })
    }

    /// `MPI_Win_wait`
    pub(super) fn wait(self, at: &'static Location<'static>) -> Result<()> {
        let calls = self.calls;
        calls.within(Call::Wait, || {
            let (awaited, mut seen, waiting) = {
                let mut state = self.sync_state();
                let awaited = self.origins_to_await(Call::Wait)?;
                let waiting = self.begin_waiting(&mut state, Call::Wait, EXPOSURE)?;
                (awaited, state.pscw.completes_seen, waiting)
            };
            let state = &self.parts.state;
            let waited = self.transport().await_completes(calls, state, awaited, &mut seen, at);
            waiting.end(|state| {
                state.pscw.completes_seen = seen;
                if waited.is_ok() {
                    self.unexpose(&state.pscw);
                }
            });
            waited
        })
    }

    /// `MPI_Win_test`
    pub(super) fn test(self) -> Result<bool> {
        let calls = self.calls;
        calls.within(Call::Test, || {
            let mut state = self.sync_state();
            calls.allowed(Call::Test, Rank::NULL, state.may_wait(EXPOSURE))?;
            let origins = self.origins_to_await(Call::Test)?;
            let done = self.transport().test_completes(calls, origins, &mut state.pscw)?;
            match done {
                true => self.unexpose(&state.pscw),
                false => calls.context().serve(),
            }
            Ok(done)
        })
    }

    /// The offset of the words that count completes at a target.
    fn complete_words(self, target: u32) -> u64 {
        self.calls.context().object(&self.transport().words_of(target).pscw)
    }

    fn unexpose(self, pscw: &Pscw) {
        pscw.expect_post();
        if let Some(log) = self.calls.context().log() {
            let words = self.complete_words(self.calls.rank().0);
            pscw.origins_here().iter().for_each(|origin| log.waited_for(words, *origin));
        }
        self.transport().words_of(self.calls.rank().0).open.exposure.store(0);
        self.calls.epochs.waited();
    }

    fn origins_to_await(self, call: Call) -> Result<u32> {
        self.calls.allowed(call, Rank::NULL, self.calls.epochs.may_wait())
    }
}
