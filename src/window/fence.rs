//! Fence (MPI-2.2 §11.4.1).

use super::FenceAssert;
use super::calls::Calls;
use super::serial::{BOTH, Synchronization};
use super::transport::Transport;
use crate::call::Call;
use crate::check::Asserted;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::prim::WaitRecord;
use crate::sync::{self, FenceKind};
use std::panic::Location;

impl Synchronization<'_> {
    /// `MPI_Win_fence`; see [`Win::fence`](super::Win::fence).
    pub(super) fn fence(self, assert: FenceAssert, at: &'static Location<'static>) -> Result<()> {
        let Synchronization { calls, parts } = self;
        parts.transport.barrier(calls).expect_arrival();
        calls.within(Call::Fence, || {
            let (mut round, waiting) = {
                let mut state = self.sync_state();
                let waiting = self.begin_waiting(&mut state, Call::Fence, BOTH)?;
                (state.fence_round, waiting)
            };
            check_fence(calls, assert)?;
            calls.asserting(Some(at), || Asserted {
                call: Call::Fence,
                nostore: assert.has(FenceAssert::NOSTORE),
                noput: assert.has(FenceAssert::NOPUT),
            });
            let opens = !assert.has(FenceAssert::NOSUCCEED);
            let kind = match assert.has(FenceAssert::NOPRECEDE | FenceAssert::NOSUCCEED) {
                true => FenceKind::ArriveOnly,
                false => FenceKind::Barrier,
            };
            let passed = parts.transport.fence(calls, &mut round, kind, opens, at);
            waiting.end(|state| {
                state.fence_round = round;
                calls.epochs.fenced(opens);
                // A fence that has failed opens nothing, although it has announced it.
                if passed.is_err() {
                    self.leave_fence();
                    calls.epochs.fenced(false);
                }
            });
            passed
        })
    }

    /// Ends a fence epoch without operations, if that is the state, before an epoch of another kind opens.
    #[inline(always)]
    pub(super) fn leave_fence(self) {
        if self.calls.epochs.is_in_fence() {
            self.transport().words_of(self.calls.rank().0).open.leave_fence();
        }
    }

    /// Waits until every rank has arrived at the latest fence of this one, so that what they announced
    /// before is visible.
    pub(super) fn await_latest_fence(
        self,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let Synchronization { calls, parts } = self;
        let _call = calls.enter(call);
        let (round, transport) = (self.sync_state().fence_round, &parts.transport);
        let describe = |record: &WaitRecord| record.set(&transport.arrival(calls, round));
        let (words, ranks) = (transport.barrier(calls), calls.survivors.size());
        sync::passed(words, ranks, round, &calls.recording_waiter(at, &describe))
            .map_err(|failed| calls.job_failed(failed, call))
    }
}

#[inline(always)]
fn check_fence(calls: &Calls, assert: FenceAssert) -> Result<()> {
    calls.allowed(Call::Fence, Rank::NULL, calls.epochs.may_fence())?;
    if assert.has(FenceAssert::NOPRECEDE) && calls.epochs.is_used() {
        return Err(Error::Assertion {
            at: calls.place(Call::Fence),
            assertion: "MPI_MODE_NOPRECEDE",
            why: "this rank has issued operations since the last fence".into(),
        });
    }
    Ok(())
}

/// What a fence announces to the other ranks.
impl Transport {
    /// A rank that has a fence epoch open, and so may put at any time without a lock. Called when all
    /// have arrived at the latest fence of this rank ([`Synchronization::await_latest_fence`]), after a
    /// MEM_SYNC.
    pub(super) fn rank_in_fence_epoch(&self, own: u32) -> Option<u32> {
        let passed = self.fences.load();
        if self.is_foreign() {
            let is_own = self.words_of(own).open.is_in_fence_epoch(passed);
            return self.opened_elsewhere().into_iter().chain(is_own.then_some(own)).min();
        }
        (0..)
            .zip(self.ranks.iter())
            .find_map(|(rank, words)| words.open.is_in_fence_epoch(passed).then_some(rank))
    }
}
