//! The barrier under `fence` and under the collectives of a communicator.
//!
//! One monotone word counts arrivals. A rank passes its k-th barrier once `k * ranks` arrivals have
//! been counted. Every arrival is a read-modify-write of that word, so a rank that passes reads
//! from the release sequence of every other rank's arrival (README, invariant 2).
//!
//! Collectives of two ranks need no counter: each waits for the word that the other publishes
//! ([`Arrivals`]).
//!
//! An arrival for a later barrier is never counted before the present one is complete. A rank that did
//! not wait in the present one (NOPRECEDE with NOSUCCEED) waits for it before it arrives at the next.
//! This holds also if ranks disagree about their assertions.
//!
//! When a rank fails, the first waiter that notices it cancels the round at which that rank is
//! missing. All surviving ranks pass a round, or none does (models/agreement.rs).

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

/// What an arrival adds to the word. Not one, because a flipped bit would then look like more
/// arrivals, and a rank would pass too early. With this number one or two flipped bits look like
/// 100,000 arrivals or more, which is no valid count: no rank passes, and a deadlock is reported.
const STEP: u32 = 0x4869_75fb;
/// The inverse of [`STEP`], modulo 2³².
const PER_STEP: u32 = 0x54b3_4d33;
const _: () = assert!(STEP.wrapping_mul(PER_STEP) == 1);

/// The arrivals that a word counts.
fn count(word: u32) -> u32 {
    word.wrapping_mul(PER_STEP)
}

/// This rank's side of a barrier: the count that completes the latest one at which it arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    target: u32,
    /// Whether this rank knows that the round is cancelled.
    lost: bool,
    /// Whether this rank has arrived without having seen that the round is complete.
    open: bool,
}

impl Round {
    /// Distinguishes the barriers on the same words.
    #[allow(dead_code, reason = "for reports; the models write none")]
    pub fn number(self) -> u32 {
        self.target
    }

    /// What a rank publishes that arrives in this round; one or two flipped bits make no other round's.
    #[inline]
    pub fn word(self) -> u32 {
        self.target.wrapping_mul(STEP)
    }

    /// Whether this rank has still to pass it, or to learn that it is cancelled.
    #[inline]
    #[allow(dead_code, reason = "the models always pass")]
    pub fn is_open(self) -> bool {
        self.open || self.lost
    }

    /// The round after this one, of that many ranks.
    #[inline]
    pub fn next(self, ranks: u32) -> Round {
        Round { target: self.target.wrapping_add(ranks), ..self }
    }

    /// The round before this one.
    #[allow(dead_code, reason = "for reports; the models write none")]
    pub fn before(self, ranks: u32) -> Round {
        Round { target: self.target.wrapping_sub(ranks), ..self }
    }
}

/// Whether a fence waits for the other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceKind {
    /// Passes only after all ranks have arrived.
    Barrier,
    /// NOPRECEDE with NOSUCCEED: the fence ends and starts no epoch, so it announces its arrival
    /// and does not wait (MPI-2.2 §11.4.1: "does not necessarily act as a barrier").
    ArriveOnly,
}

/// What is subtracted from the count when a round is cancelled: more than any number of arrivals.
const GIVEN_UP: u32 = 1 << 30;
/// More than a count can differ from a rank's round: no rank is two barriers ahead of another.
const FAR: i32 = 2 * MAX_RANKS as i32;

impl Round {
    /// How many arrivals are counted beyond those that complete this round; `None` for an
    /// impossible count.
    fn ahead(self, arrived: u32) -> Option<i32> {
        let ahead = arrived.wrapping_sub(self.target) as i32;
        (-FAR..FAR).contains(&ahead).then_some(ahead)
    }

    /// Whether a count of `arrived` completes or cancels this round; `None` while it is open.
    fn outcome(self, arrived: u32) -> Option<Result<(), JobFailed>> {
        if let Some(ahead) = self.ahead(arrived) {
            return (ahead >= 0).then_some(Ok(()));
        }
        // A round before the cancelled one was complete.
        let ahead = self.ahead(arrived.wrapping_add(GIVEN_UP))?;
        Some(if ahead >= 0 { Ok(()) } else { Err(JobFailed) })
    }

    /// Whether this round or the next is cancelled.
    fn is_given_up(self, arrived: u32) -> bool {
        self.ahead(arrived.wrapping_add(GIVEN_UP)).is_some()
    }
}

impl BarrierWords {
    /// A hint that this rank is about to arrive.
    #[inline(always)]
    #[allow(dead_code, reason = "a hint, which the models have no use for")]
    pub fn expect_arrival(&self) {
        self.arrived.0.expect_update();
    }

    fn count(&self) -> u32 {
        count(self.arrived.0.load())
    }

    /// Arrives at the next round; returns whether that has completed it.
    #[inline]
    fn arrive(&self, ranks: u32, round: &mut Round) -> Result<bool, JobFailed> {
        if round.lost {
            // It does not arrive again, so at most one arrival follows the cancellation.
            return Err(JobFailed);
        }
        round.target = round.target.wrapping_add(ranks);
        if planted(Fault::BarrierReset) {
            round.target = ranks;
            if count(self.arrived.0.add(STEP)) + 1 == ranks {
                self.arrived.0.store_and_wake(0);
            }
            round.open = true;
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

    /// The barrier in which a rank waits that entered it in round `before`, and its arrivals.
    #[allow(dead_code, reason = "for reports; the models write none")]
    fn arrivals(&self, before: Round, ranks: u32) -> (Round, u32) {
        let ahead = self.count().wrapping_sub(before.target) as i32;
        if ahead > 0 {
            return (before.next(ranks), ahead as u32);
        }
        // It waits for the ranks that have not arrived at the barrier before.
        (before, ahead.saturating_add_unsigned(ranks).max(0) as u32)
    }

    /// [`BarrierWords::pass`], which records a cancellation in `round`.
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

    /// Cancels the round for all ranks, unless it has become complete: every rank passes it or none
    /// does. The arrivals so far are removed from the count, so that a rank that arrives without
    /// having seen the cancellation cannot complete it.
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
/// `announce` publishes the epoch that this fence opens or closes (`open_epochs.rs`). It is called
/// when all ranks have arrived at the fence before, and becomes visible with the accesses of the
/// epoch that ends. `ring` wakes watchers; it is called after the arrival and before any wait.
///
/// Collective; blocks until all `ranks` have arrived, except as [`FenceKind::ArriveOnly`].
#[inline]
pub fn fence(
    words: &BarrierWords,
    ranks: u32,
    round: &mut Round,
    kind: FenceKind,
    announce: impl Fn(),
    ring: impl FnOnce(),
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    // No rank is more than one fence ahead, so an arrival is never counted for a later fence than
    // its own. Only after an `ArriveOnly` fence may other ranks not have arrived yet.
    if round.open && !planted(Fault::RunsAhead) {
        words.pass_or_lose(ranks, round, waiter)?;
    }
    let is_published = !planted(Fault::AnnouncedUnpublished) && !planted(Fault::Unannounced);
    if is_published {
        announce();
    }
    // Publishes this rank's accesses of the epoch that ends, and its announcement; pairs with
    // FencePost of every other rank through `arrived`. It is also the full barrier before `ring`
    // (`watch.rs`); so `ring` follows the arrival, a read-modify-write. Fails without it:
    // models/fence.rs; as a weaker barrier: models/watch.rs, by loom_tests/tests/mutants.rs.
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
    // Observes what every other rank published before its arrival; pairs with their FencePre.
    // Fails without it: models/fence.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::FencePost);
    Ok(())
}

/// Waits until every rank has arrived at this rank's latest fence. Only after a
/// [`FenceKind::ArriveOnly`] fence can this take time.
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

/// The barrier of a communicator. It also orders memory: every rank sees after it what any rank
/// wrote before it. Collective; blocks until all `ranks` have arrived.
#[allow(dead_code, reason = "for the models; collectives do something in between")]
pub fn collective(
    words: &BarrierWords,
    ranks: u32,
    round: &mut Round,
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    let words = Arrivals::Counted(words);
    words.arrive(ranks, round, || ())?;
    words.pass(ranks, round, waiter)
}

/// The words by which the ranks of a collective synchronise.
#[derive(Clone, Copy)]
pub enum Arrivals<'w> {
    /// All ranks count their arrivals in one word.
    Counted(&'w BarrierWords),
    /// Each of two ranks has a word that it publishes, and waits for the other's. The survivor of two
    /// ranks agrees with itself, so no round is cancelled.
    Pair {
        /// The word of this rank.
        own: &'w ParkWord,
        /// That of the other.
        other: &'w ParkWord,
    },
}

impl Arrivals<'_> {
    /// The first half of [`collective`]: arrives, and does not wait; whether all have arrived. If so, the
    /// rank passes, and then rings the bells (`channel.rs`) of those that do not wait at the barrier but
    /// call [`Arrivals::try_pass`], which they do again after each ring (models/collective.rs). Of two
    /// ranks both may find that, and never neither.
    ///
    /// `publish` changes this rank's word for those that [`await_published`]; that of a pair is changed here.
    #[inline]
    pub fn arrive(
        self,
        ranks: u32,
        round: &mut Round,
        publish: impl FnOnce(),
    ) -> Result<bool, JobFailed> {
        // Publishes the staged contribution; pairs with CollectivePost of every other rank through
        // `arrived`, or through the word that is published. Fails without it: models/collective.rs, by
        // loom_tests/tests/mutants.rs.
        mem_sync_beside(Site::CollectivePre);
        let is_last = match self {
            Arrivals::Counted(words) => {
                publish();
                proc_sync(ProcSync::CollectiveArrive);
                words.arrive(ranks, round)?
            }
            Arrivals::Pair { own, other } => {
                if round.lost {
                    return Err(JobFailed);
                }
                *round = round.next(ranks);
                own.store_and_wake(round.word());
                proc_sync(ProcSync::CollectiveArrive);
                // A full barrier between the change of this word and the look at the other; pairs with
                // itself on the other rank. So one of the two sees the other, and rings if it has to.
                // Fails without it, or as a weaker one: models/collective.rs, `rung, a pair`.
                mem_sync_beside(Site::PairArrived);
                round.open = other.load() != round.word();
                !round.open
            }
        };
        if is_last {
            passed_collective();
        }
        Ok(is_last && !planted(Fault::LastArrivalUnrung))
    }

    /// The second half. Blocks until all `ranks` have arrived.
    #[inline]
    pub fn pass(self, ranks: u32, round: &mut Round, waiter: &Waiter<'_>) -> Result<(), JobFailed> {
        if round.lost {
            return Err(JobFailed);
        }
        if round.open {
            match self {
                Arrivals::Counted(words) => words.pass_or_lose(ranks, round, waiter)?,
                Arrivals::Pair { other, .. } => {
                    let passed = waiter.until(other, |word| word == round.word());
                    (round.open, round.lost) = (false, passed.is_err());
                    passed?;
                }
            }
        }
        passed_collective();
        Ok(())
    }

    /// [`Arrivals::pass`] without waiting: `None` as long as some have not arrived. If a rank has failed it
    /// is given up.
    #[inline]
    pub fn try_pass(
        self,
        ranks: u32,
        round: &mut Round,
        has_failed: bool,
    ) -> Option<Result<(), JobFailed>> {
        if round.lost {
            return Some(Err(JobFailed));
        }
        if round.open {
            let outcome = match self {
                Arrivals::Counted(words) => round.outcome(words.count()),
                Arrivals::Pair { other, .. } => (other.load() == round.word()).then_some(Ok(())),
            };
            let passed = match (outcome, self) {
                (None, Arrivals::Counted(words)) if has_failed => words.give_up(ranks, *round),
                (None, Arrivals::Pair { .. }) if has_failed => Err(JobFailed),
                (outcome, _) => outcome?,
            };
            (round.open, round.lost) = (false, passed.is_err());
            if passed.is_err() {
                return Some(passed);
            }
        }
        passed_collective();
        Some(Ok(()))
    }

    /// Whether the barrier is cancelled for good, as seen by a rank in `round`.
    #[allow(dead_code, reason = "the models stage nothing before they arrive")]
    pub fn is_given_up(self, round: Round) -> bool {
        match self {
            Arrivals::Counted(words) => round.lost || round.is_given_up(words.count()),
            Arrivals::Pair { .. } => round.lost,
        }
    }

    /// [`BarrierWords::expect_arrival`]
    #[inline(always)]
    #[allow(dead_code, reason = "a hint, which the models have no use for")]
    pub fn expect_arrival(self) {
        match self {
            Arrivals::Counted(words) => words.expect_arrival(),
            Arrivals::Pair { own, .. } => own.expect_update(),
        }
    }

    /// The barrier in which a rank waits that entered it in round `before`, and its arrivals.
    #[allow(dead_code, reason = "for reports; the models write none")]
    pub fn count(self, before: Round, ranks: u32) -> (Round, u32) {
        let (own, other) = match self {
            Arrivals::Counted(words) => return words.arrivals(before, ranks),
            Arrivals::Pair { own, other } => (own.load(), other.load()),
        };
        let next = before.next(ranks);
        let come = |round: Round| [own, other].iter().filter(|word| **word == round.word()).count();
        match come(next) {
            0 => (before, come(before) as u32),
            arrived => (next, arrived as u32),
        }
    }
}

/// Blocks until the rank has published `round` by its `word`: what it has staged can be read before all
/// have arrived. It publishes no other number until this rank has arrived at a later barrier.
#[inline]
pub fn await_published(
    word: &ParkWord,
    round: Round,
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    waiter.until(word, |now| now == round.word())?;
    passed_collective();
    Ok(())
}

fn passed_collective() {
    proc_sync(ProcSync::CollectivePass);
    // Observes the contributions of the others; pairs with their CollectivePre.
    // Fails without it: models/collective.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::CollectivePost);
}

#[cfg(all(test, not(any(loom, simulated))))]
mod tests {
    use super::*;
    use crate::prim::{Backoff, FailedWord};

    /// Each look at a cancelled round finds that.
    #[test]
    fn a_cancelled_round_stays_cancelled() {
        let (failed, backoff) = (FailedWord::default(), Backoff::new(3, 1));
        let waiter =
            Waiter { rank: 0, failed: &failed, backoff: &backoff, account: None, progress: None };
        let words = BarrierWords::default();
        let arrivals = Arrivals::Counted(&words);
        let mut rounds = [Round::default(); 2];
        for round in &mut rounds {
            assert_eq!(arrivals.arrive(3, round, || ()), Ok(false));
        }
        // The third rank has failed, and the first cancels the round.
        failed.set(3);
        let [first, second] = &mut rounds;
        assert_eq!(arrivals.pass(3, first, &waiter), Err(JobFailed));
        assert_eq!(arrivals.try_pass(3, second, false), Some(Err(JobFailed)));
        for round in &mut rounds {
            assert_eq!(arrivals.pass(3, round, &waiter), Err(JobFailed));
            assert_eq!(arrivals.try_pass(3, round, false), Some(Err(JobFailed)));
        }
    }
}
