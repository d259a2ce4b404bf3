//! Fence (MPI-2.2 §11.4.1).

use super::serial::BOTH;
use super::{FenceAssert, Win};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::prim::WaitRecord;
use crate::sync::{self, FenceKind};
use std::panic::Location;

impl Win {
    /// `MPI_Win_fence` (MPI-2.2 §11.4.1): completes every rank's operations since the last fence,
    /// at origin and target, and opens the next epoch.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::RankFailed`].
    #[track_caller]
    pub fn fence(&self) -> Result<()> {
        self.fence_with(FenceAssert::NONE)
    }

    /// [`Win::fence`] with assertions: see [assertions](crate::assertions). NOSUCCEED opens no epoch.
    /// With NOPRECEDE and NOSUCCEED together it does not block.
    ///
    /// # Errors
    /// [`Error::Assertion`] if NOPRECEDE is visibly false; those of [`Win::fence`].
    #[track_caller]
    pub fn fence_with(&self, assert: FenceAssert) -> Result<()> {
        let at = Location::caller();
        self.words.fence.expect_arrival();
        self.within(Call::Fence, || {
            let (mut round, waiting) = {
                let mut state = self.sync_state();
                let waiting = self.begin_waiting(&mut state, Call::Fence, BOTH)?;
                (state.fence_round, waiting)
            };
            self.check_fence(assert)?;
            let opens = !assert.has(FenceAssert::NOSUCCEED);
            let kind = match assert.has(FenceAssert::NOPRECEDE | FenceAssert::NOSUCCEED) {
                true => FenceKind::ArriveOnly,
                false => FenceKind::Barrier,
            };
            let passed = self.meet_in_fence(&mut round, kind, opens, at);
            waiting.end(|state| {
                state.fence_round = round;
                self.epochs.fenced(opens && passed.is_ok());
            });
            passed
        })
    }

    #[inline(always)]
    fn check_fence(&self, assert: FenceAssert) -> Result<()> {
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

    /// Waits until every rank has arrived at the latest fence of this one, so that what they said
    /// before their arrival is known.
    pub(crate) fn await_latest_fence(
        &self,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let _call = self.enter(call);
        let (round, words) = (self.sync_state().fence_round, &self.words.fence);
        let tell = |record: &WaitRecord| record.say(&self.meet.arrival(words, round));
        sync::passed(words, self.meet.size(), round, &self.telling_waiter(at, &tell))
            .map_err(|failed| self.job_failed(failed, call))
    }

    /// Ends a fence epoch that turned out to be none, before an epoch of another kind opens.
    #[inline]
    pub(super) fn leave_fence(&self) {
        self.words_of(self.comm.rank().0).open.leave_fence();
    }

    /// Whether some rank has a fence epoch open, and which: it may then put at any time without
    /// asking for a lock. Call when all have arrived at the latest fence of this rank
    /// ([`Win::await_latest_fence`]), after a MEM_SYNC.
    pub(crate) fn rank_in_fence_epoch(&self) -> Option<u32> {
        let passed = self.fences.load();
        (0..self.comm.size()).find(|rank| self.words_of(*rank).open.is_in_fence_epoch(passed))
    }
}
