//! The barrier under `fence` and under the collectives of a communicator.
//!
//! One monotone word counts arrivals (in steps that no flipped bit looks like); a rank passes its k-th barrier once `k * ranks` arrivals
//! have been counted. Every arrival is a read-modify-write of that word, so a rank that passes
//! reads from the release sequence of every other rank's arrival (README, invariant 2).
//!
//! When a rank has failed, the round that it did not arrive at is given up, by whichever waiter is
//! first; a round is passed by all ranks that live, or by none (models/agreement.rs).

use super::{Line, MAX_RANKS};
use crate::prim::{
    Fault, JobFailed, ParkWord, ProcSync, Site, Waiter, mem_sync, mem_sync_beside, planted,
    proc_sync,
};

/// Arrivals since the creation of the window or communicator, modulo 2³², each counted as [`STEP`].
#[repr(C)]
#[derive(Default)]
pub struct BarrierWords {
    arrived: Line<ParkWord>,
}

/// What an arrival adds to the word. Not one: a bit that flips would then be some arrivals more, and
/// a rank would pass too early. By this number any one or two bits that flip are at least 100,000
/// arrivals, which nobody takes for a count: the barrier is passed by none, and found deadlocked.
const STEP: u32 = 0x4869_75fb;
/// The inverse of [`STEP`], modulo 2³².
const PER_STEP: u32 = 0x54b3_4d33;
const _: () = assert!(STEP.wrapping_mul(PER_STEP) == 1);

/// The arrivals that a word counts.
fn count(word: u32) -> u32 {
    word.wrapping_mul(PER_STEP)
}

/// This rank's side of a barrier: how many arrivals complete the latest one it arrived at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    target: u32,
    /// Whether this rank knows that the round has been given up.
    lost: bool,
    /// Whether this rank has arrived at it without having seen that it is complete.
    open: bool,
}

impl Round {
    /// Tells the barriers on the same words apart.
    #[allow(dead_code, reason = "for reports; the models write none")]
    pub fn number(self) -> u32 {
        self.target
    }
}

/// Whether a fence waits for the other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceKind {
    /// Passes only after all ranks have arrived.
    Barrier,
    /// NOPRECEDE and NOSUCCEED together: it ends nothing and starts nothing, so it announces
    /// its arrival and does not wait for the others' (MPI-2.2 §11.4.1: "does not necessarily act
    /// as a barrier").
    ArriveOnly,
}

/// How far the count is taken back when a round is given up: out of the reach of any arrivals.
const GIVEN_UP: u32 = 1 << 30;
/// More than a count can differ from a rank's round: nobody is two barriers ahead of another.
const FAR: i32 = 2 * MAX_RANKS as i32;

impl Round {
    /// How many arrivals are counted beyond those that complete this round; `None` if that cannot
    /// be.
    fn ahead(self, arrived: u32) -> Option<i32> {
        let ahead = arrived.wrapping_sub(self.target) as i32;
        (-FAR..FAR).contains(&ahead).then_some(ahead)
    }

    /// Whether a count of `arrived` completes this round; `None` if that is still open.
    fn outcome(self, arrived: u32) -> Option<Result<(), JobFailed>> {
        if let Some(ahead) = self.ahead(arrived) {
            return (ahead >= 0).then_some(Ok(()));
        }
        // An earlier round than the one given up was complete before.
        let ahead = self.ahead(arrived.wrapping_add(GIVEN_UP))?;
        Some(if ahead >= 0 { Ok(()) } else { Err(JobFailed) })
    }

    /// Whether a round has been given up, this or the next.
    fn is_given_up(self, arrived: u32) -> bool {
        self.ahead(arrived.wrapping_add(GIVEN_UP)).is_some()
    }
}

impl BarrierWords {
    /// Whether the barrier has been given up for good, as a rank sees it that is in `round`.
    #[allow(dead_code, reason = "the models stage nothing before they arrive")]
    pub fn is_given_up(&self, round: Round) -> bool {
        round.lost || round.is_given_up(self.count())
    }

    /// Says that this rank is about to arrive.
    #[inline(always)]
    #[allow(dead_code, reason = "a hint, which the models have no use for")]
    pub fn expect_arrival(&self) {
        self.arrived.0.expect_update();
    }

    fn count(&self) -> u32 {
        count(self.arrived.0.load())
    }

    /// Arrives at the next round; whether that has completed it.
    #[inline]
    fn arrive(&self, ranks: u32, round: &mut Round) -> Result<bool, JobFailed> {
        if round.lost {
            // It arrives no more, and so at most once behind the end.
            return Err(JobFailed);
        }
        round.target = round.target.wrapping_add(ranks);
        if planted(Fault::BarrierReset) {
            round.target = ranks;
            if count(self.arrived.0.add(STEP)) + 1 == ranks {
                self.arrived.0.store_and_wake(0);
            }
            return Ok(false);
        }
        let before = count(self.arrived.0.add(STEP));
        let is_last = before.wrapping_add(1) == round.target;
        if is_last {
            self.arrived.0.wake_all();
        }
        round.open = !is_last;
        Ok(is_last)
    }

    /// Which barrier a rank waits in that came to it in round `before`, and how many have arrived.
    #[allow(dead_code, reason = "for reports; the models write none")]
    pub fn arrivals(&self, before: Round, ranks: u32) -> (Round, u32) {
        let ahead = self.count().wrapping_sub(before.target) as i32;
        if ahead > 0 {
            let target = before.target.wrapping_add(ranks);
            return (Round { target, ..before }, ahead as u32);
        }
        // It waits for those that have yet to reach the barrier before.
        (before, ahead.saturating_add_unsigned(ranks).max(0) as u32)
    }

    /// [`BarrierWords::pass`], remembering if there is nothing to pass any more.
    fn pass_or_lose(
        &self,
        ranks: u32,
        round: &mut Round,
        waiter: &Waiter<'_>,
    ) -> Result<(), JobFailed> {
        let passed = self.pass(ranks, *round, waiter);
        (round.open, round.lost) = (false, passed.is_err());
        passed
    }

    fn pass(&self, ranks: u32, round: Round, waiter: &Waiter<'_>) -> Result<(), JobFailed> {
        if planted(Fault::BarrierReset) {
            return waiter.until(&self.arrived.0, |arrived| arrived == 0).map(drop);
        }
        let target = round.target.wrapping_sub(u32::from(planted(Fault::BarrierEarly)));
        let round = Round { target, ..round };
        match waiter.until(&self.arrived.0, |word| round.outcome(count(word)).is_some()) {
            Ok(word) => round.outcome(count(word)).unwrap_or(Ok(())),
            Err(JobFailed) => self.give_up(ranks, round),
        }
    }

    /// Gives the round up for all ranks, unless it has become complete: either every rank passes it
    /// or none does. What has arrived at it counts no more, so that ranks which have not seen that
    /// it is given up, and still arrive, cannot complete it.
    #[cold]
    fn give_up(&self, ranks: u32, round: Round) -> Result<(), JobFailed> {
        if planted(Fault::GivesUpAlone) {
            return Err(JobFailed);
        }
        let mut word = self.arrived.0.load();
        loop {
            if let Some(outcome) = round.outcome(count(word)) {
                return outcome;
            }
            let before = match planted(Fault::GivenUpStillCounts) {
                true => count(word),
                false => round.target.wrapping_sub(ranks),
            };
            let given_up = before.wrapping_sub(GIVEN_UP).wrapping_mul(STEP);
            match self.arrived.0.replace_and_wake(word, given_up) {
                Ok(()) => return Err(JobFailed),
                Err(now) => word = now,
            }
        }
    }
}

/// `MPI_Win_fence` on the words of its window (MPI-2.2 §11.4.1).
///
/// `announce` says to others what this fence changes for this rank (`open_epochs.rs`): it is called when
/// all have arrived at the fence before, and is published with the accesses of the epoch that ends. `ring`
/// tells those who watch memory; it is called behind the arrival, and before anything is waited for.
///
/// Collective; blocks until all `ranks` have arrived, except as [`FenceKind::ArriveOnly`].
pub fn fence(
    words: &BarrierWords,
    ranks: u32,
    round: &mut Round,
    kind: FenceKind,
    announce: impl Fn(),
    ring: impl FnOnce(),
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    // Nobody is more than one fence ahead, so an arrival is never counted for a later fence than
    // the one it was made for. Only an `ArriveOnly` fence may be one that others have yet to reach.
    if round.open && !planted(Fault::RunsAhead) {
        words.pass_or_lose(ranks, round, waiter)?;
    }
    let is_published = !planted(Fault::AnnouncedUnpublished) && !planted(Fault::Unannounced);
    if is_published {
        announce();
    }
    // Publishes this rank's accesses of the epoch that ends, and what it announces; pairs with FencePost
    // of every other rank through `arrived`. Also the full barrier before `ring` (`watch.rs`), which is why that
    // stands behind the arrival, a read-modify-write. Fails without it: models/fence.rs, and as
    // less: models/watch.rs, by loom_tests/tests/mutants.rs.
    mem_sync_beside(Site::FencePre);
    if planted(Fault::AnnouncedUnpublished) {
        announce();
    }
    proc_sync(ProcSync::FenceArrive);
    let is_complete = words.arrive(ranks, round)?;
    ring();
    if kind == FenceKind::Barrier && !is_complete {
        words.pass_or_lose(ranks, round, waiter)?;
    }
    proc_sync(ProcSync::FencePass);
    // Observes what every other rank published before it arrived; pairs with their FencePre.
    // Fails without it: models/fence.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::FencePost);
    Ok(())
}

/// Waits until every rank has arrived at the latest fence that this rank arrived at; only an
/// [`FenceKind::ArriveOnly`] fence leaves something to wait for.
pub fn passed(
    words: &BarrierWords,
    ranks: u32,
    round: Round,
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    if planted(Fault::LatestFenceNotAwaited) {
        return Ok(());
    }
    words.pass(ranks, round, waiter)
}

/// The barrier of a communicator, which also orders memory: what any rank wrote before it is
/// seen by every rank after it. Collective; blocks until all `ranks` have arrived.
pub fn collective(
    words: &BarrierWords,
    ranks: u32,
    round: &mut Round,
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    // Publishes the staged contribution; pairs with CollectivePost of every other rank through
    // `arrived`. Fails without it: models/collective.rs, by loom_tests/tests/mutants.rs.
    mem_sync_beside(Site::CollectivePre);
    proc_sync(ProcSync::CollectiveArrive);
    if !words.arrive(ranks, round)? {
        words.pass_or_lose(ranks, round, waiter)?;
    }
    proc_sync(ProcSync::CollectivePass);
    // Observes the contributions of the others; pairs with their CollectivePre.
    // Fails without it: models/collective.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::CollectivePost);
    Ok(())
}
