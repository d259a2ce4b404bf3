//! The barrier under `fence` and under the collectives of a communicator.
//!
//! One monotone word counts arrivals. A rank passes its k-th barrier once `k * ranks` arrivals have
//! been counted. Every arrival is a read-modify-write of that word, so a rank that passes reads
//! from the release sequence of every other rank's arrival (README, invariant 2).
//!
//! In large jobs whose ranks have a core each, ranks combine their arrivals before they count them there
//! ([`Tree`]). The one word still decides which rounds are complete.
//!
//! Collectives of a few ranks need no counter: each waits for the words that the others publish
//! ([`Arrivals`]).
//!
//! An arrival for a later barrier is never counted before the present one is complete. A rank that did
//! not wait in the present one (NOPRECEDE with NOSUCCEED) waits for it before it arrives at the next.
//! This holds also if ranks disagree about their assertions.
//!
//! When a rank fails, the first waiter that notices it cancels the round at which that rank is
//! missing. All surviving ranks pass a round, or none does (models/agreement.rs). Arrivals of that round
//! may still be counted afterwards, all of them if they were combined. So what a cancellation subtracts
//! distinguishes the cancelled round from the one before, which is complete.

use super::{Line, MAX_RANKS, Tree};
use crate::prim::{
    Fault, JobFailed, ParkWord, ProcSync, Site, Waiter, Word32, mem_sync, mem_sync_beside,
    mem_sync_of_all, planted, proc_sync,
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
pub(super) const STEP: u32 = 0x4869_75fb;
/// The inverse of [`STEP`], modulo 2³².
const PER_STEP: u32 = 0x54b3_4d33;
const _: () = assert!(STEP.wrapping_mul(PER_STEP) == 1);

/// The arrivals that a word counts.
pub(super) fn count(word: u32) -> u32 {
    word.wrapping_mul(PER_STEP)
}

/// This rank's side of a barrier: the latest round in which it arrived. One word, which is stored and loaded as a whole:
/// a load of several fields that were stored one by one waits until all stores before it have reached the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round(u64);

/// This rank knows that the round is cancelled.
const LOST: u64 = 1;
/// This rank has arrived without having seen that the round is complete.
const OPEN: u64 = 2;
/// What makes the next round of one; its number is above.
const NEXT: u64 = 1 << 32;

impl Round {
    /// Distinguishes the barriers on the same words; modulo 2³², the first is 1.
    #[inline]
    pub fn number(self) -> u32 {
        (self.0 / NEXT) as u32
    }

    #[inline]
    fn with_number(self, number: u32) -> Round {
        Round((self.0 % NEXT) | (u64::from(number) * NEXT))
    }

    #[inline]
    fn is_lost(self) -> bool {
        self.0 & LOST != 0
    }

    /// This rank has arrived in it, and has seen that it is complete unless it `is_open`.
    #[inline]
    fn arrived(self, is_open: bool) -> Round {
        Round(self.0 & !OPEN | if is_open { OPEN } else { 0 })
    }

    /// This rank has passed it, or learnt that it is cancelled.
    #[inline]
    fn ended(self, is_lost: bool) -> Round {
        Round(self.0 & !(LOST | OPEN) | if is_lost { LOST } else { 0 })
    }

    /// What a rank publishes that arrives in this round; one or two flipped bits make no other round's.
    #[inline]
    pub fn word(self) -> u32 {
        self.number().wrapping_mul(STEP)
    }

    /// Whether this rank has still to pass it, or to learn that it is cancelled.
    #[inline]
    #[allow(dead_code, reason = "the models always pass")]
    pub fn is_open(self) -> bool {
        self.0 & (OPEN | LOST) != 0
    }

    /// Whether this rank has arrived without having seen that it is complete.
    #[inline]
    fn awaits_others(self) -> bool {
        self.0 & OPEN != 0
    }

    /// The arrivals of that many ranks that complete this round and all before it.
    #[inline]
    pub(super) fn completed(self, ranks: u32) -> u32 {
        self.number().wrapping_mul(ranks)
    }

    /// The round after this one.
    #[inline]
    pub fn next(self) -> Round {
        Round(self.0.wrapping_add(NEXT))
    }

    /// The round before this one.
    #[allow(dead_code, reason = "for reports; the models write none")]
    pub fn before(self) -> Round {
        Round(self.0.wrapping_sub(NEXT))
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

/// What is subtracted from the count when an even round is cancelled, and when an odd one is. Neither
/// looks like the other, or like a count of arrivals, after one or two flipped bits.
const GIVEN_UP: [u32; 2] = [0x2345_6789, 0x6789_abcd];
/// More than a count can differ from a rank's round: no rank is two barriers ahead of another.
const FAR: i32 = 2 * MAX_RANKS as i32;

impl Round {
    /// How many arrivals of `ranks` are counted beyond those that complete this round; `None` for an
    /// impossible count.
    fn ahead(self, ranks: u32, arrived: u32) -> Option<i32> {
        let ahead = arrived.wrapping_sub(self.completed(ranks)) as i32;
        (-FAR..FAR).contains(&ahead).then_some(ahead)
    }

    /// What is subtracted when this round is cancelled.
    fn given_up(self) -> u32 {
        GIVEN_UP[(self.number() % 2) as usize]
    }

    /// [`Round::ahead`] if this round is cancelled.
    fn cancelled(self, ranks: u32, arrived: u32) -> Option<i32> {
        self.ahead(ranks, arrived.wrapping_add(self.given_up()))
    }

    /// Whether a count of `arrived` completes or cancels this round; `None` while it is open.
    fn outcome(self, ranks: u32, arrived: u32) -> Option<Result<(), JobFailed>> {
        if let Some(ahead) = self.ahead(ranks, arrived) {
            return (ahead >= 0).then_some(Ok(()));
        }
        if let Some(ahead) = self.cancelled(ranks, arrived) {
            let completes = planted(Fault::GivenUpStillCounts) && ahead >= 0;
            return Some(if completes { Ok(()) } else { Err(JobFailed) });
        }
        // The round before the cancelled one was complete.
        let outcome = if planted(Fault::GivenUpBefore) { Err(JobFailed) } else { Ok(()) };
        self.next().cancelled(ranks, arrived).map(|_| outcome)
    }
}

/// The words of a barrier as one of the ranks uses them.
#[derive(Clone, Copy)]
pub struct Barrier<'w> {
    words: &'w BarrierWords,
    /// In which arrivals are combined before they are counted.
    tree: Option<Tree<'w>>,
}

impl<'w> From<&'w BarrierWords> for Barrier<'w> {
    #[inline]
    fn from(words: &'w BarrierWords) -> Barrier<'w> {
        Barrier { words, tree: None }
    }
}

impl<'w> Barrier<'w> {
    /// With a tree, if there is one; it is the same for all ranks.
    #[inline]
    #[allow(dead_code, reason = "the programs on two cores have no tree")]
    pub fn new(words: &'w BarrierWords, tree: Option<Tree<'w>>) -> Barrier<'w> {
        Barrier { words, tree }
    }

    /// A hint that this rank is about to arrive.
    #[inline(always)]
    #[allow(dead_code, reason = "a hint, which the models have no use for")]
    pub fn expect_arrival(self) {
        if self.tree.is_none() {
            self.words.arrived.0.expect_update();
        }
    }

    fn count(self) -> u32 {
        count(self.words.arrived.0.load())
    }

    /// Arrives at the next round; returns whether that has completed it.
    #[inline]
    fn arrive(self, ranks: u32, round: &mut Round) -> Result<bool, JobFailed> {
        let is_last = self.count_in(ranks, round)?;
        if is_last {
            if let Some(tree) = self.tree {
                tree.release(ranks, *round);
            }
            self.words.arrived.0.wake_all();
        }
        Ok(is_last)
    }

    /// The first half of an arrival: is counted. The rank that completes the round does not wake the others.
    #[inline]
    pub fn count_in(self, ranks: u32, round: &mut Round) -> Result<bool, JobFailed> {
        if round.is_lost() {
            return Err(JobFailed);
        }
        let arrived = &self.words.arrived.0;
        *round = round.next().arrived(true);
        if planted(Fault::BarrierReset) {
            *round = round.with_number(1);
            if count(arrived.add(STEP)) + 1 == ranks {
                arrived.store_and_wake(0);
            }
            return Ok(false);
        }
        let mut arrivals = 1;
        if let Some(tree) = self.tree {
            match tree.combine(ranks, *round) {
                Some(combined) => arrivals = combined,
                None => return Ok(false),
            }
        }
        let before = count(arrived.add(STEP.wrapping_mul(arrivals)));
        let is_complete = before.wrapping_add(arrivals) == round.completed(ranks);
        *round = round.arrived(!is_complete);
        Ok(is_complete)
    }

    /// The barrier in which a rank waits that entered it in round `before`, and its arrivals.
    #[allow(dead_code, reason = "for reports; the models write none")]
    fn arrivals(self, before: Round, ranks: u32) -> (Round, u32) {
        let combined = self.tree.and_then(|tree| tree.arrivals(ranks));
        let arrived = combined.unwrap_or_else(|| self.count());
        let ahead = arrived.wrapping_sub(before.completed(ranks)) as i32;
        if ahead > 0 {
            return (before.next(), ahead as u32);
        }
        // It waits for the ranks that have not arrived at the barrier before.
        (before, ahead.saturating_add_unsigned(ranks).max(0) as u32)
    }

    /// [`Barrier::pass`], which records a cancellation in `round`.
    #[inline(never)]
    fn pass_or_lose(
        self,
        ranks: u32,
        round: &mut Round,
        waiter: &Waiter<'_>,
    ) -> Result<(), JobFailed> {
        let passed = self.pass(ranks, *round, waiter);
        *round = round.ended(passed.is_err());
        passed
    }

    fn pass(self, ranks: u32, round: Round, waiter: &Waiter<'_>) -> Result<(), JobFailed> {
        let arrived = &self.words.arrived.0;
        if planted(Fault::BarrierReset) {
            return waiter.until(arrived, |arrived| arrived == 0).map(drop);
        }
        let early = u32::from(planted(Fault::BarrierEarly));
        let outcome = |word| round.outcome(ranks, count(word).wrapping_add(early));
        let ready = |word| outcome(word).is_some();
        let waited = match self.tree {
            None => waiter.until(arrived, ready),
            Some(tree) => {
                let complete = round.completed(ranks).wrapping_mul(STEP);
                let released = || tree.is_released(round).then_some(complete);
                waiter.until_released(released, arrived, ready)
            }
        };
        match waited {
            Ok(word) => outcome(word).unwrap_or(Ok(())),
            Err(JobFailed) => self.give_up(ranks, round),
        }
    }

    /// Cancels the round for all ranks, unless it has become complete: every rank passes it or none
    /// does. A rank that arrives without having seen the cancellation cannot complete it.
    #[cold]
    fn give_up(self, ranks: u32, round: Round) -> Result<(), JobFailed> {
        if planted(Fault::GivesUpAlone) {
            return Err(JobFailed);
        }
        let arrived = &self.words.arrived.0;
        let mut word = arrived.load();
        loop {
            if let Some(outcome) = round.outcome(ranks, count(word)) {
                return outcome;
            }
            let given_up = word.wrapping_sub(round.given_up().wrapping_mul(STEP));
            match arrived.replace_and_wake(word, given_up) {
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
#[inline(always)]
pub fn fence<'w>(
    words: impl Into<Barrier<'w>>,
    ranks: u32,
    round: &mut Round,
    kind: FenceKind,
    announce: impl Fn(),
    ring: impl FnOnce(),
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    let words = words.into();
    // No rank is more than one fence ahead, so an arrival is never counted for a later fence than
    // its own. Only after an `ArriveOnly` fence may other ranks not have arrived yet.
    if round.awaits_others() && !planted(Fault::RunsAhead) {
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
pub fn passed<'w>(
    words: impl Into<Barrier<'w>>,
    ranks: u32,
    round: Round,
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    if planted(Fault::LatestFenceNotAwaited) {
        return Ok(());
    }
    words.into().pass(ranks, round, waiter)
}

/// The barrier of a communicator. It also orders memory: every rank sees after it what any rank
/// wrote before it. Collective; blocks until all `ranks` have arrived.
#[allow(dead_code, reason = "for the models; collectives do something in between")]
pub fn collective<'w>(
    words: impl Into<Barrier<'w>>,
    ranks: u32,
    round: &mut Round,
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    let words: Arrivals<'_> = Arrivals::Counted(words.into());
    words.arrive(ranks, round, None)?;
    words.pass(ranks, round, waiter)
}

/// The words by which the ranks of a collective synchronise.
pub enum Arrivals<'w, S = ParkWord> {
    /// All ranks count their arrivals.
    Counted(Barrier<'w>),
    /// Each of a few ranks has a word that it publishes, and waits for those of the others; asleep, for the last to wake
    /// it. Rounds are not cancelled: if a rank fails, some may pass and others not.
    Each {
        /// Which word is that of this rank.
        own: u32,
        /// What has the words of all ranks, in their order.
        all: &'w [S],
        /// Nonzero once a rank has arrived, or is about to, that has to be woken by its bell.
        rings: &'w Word32,
        /// Where the others sleep until all have arrived.
        asleep: &'w BarrierWords,
        /// Whether all of them take part in barriers of all ranks: each then publishes by a plain store, and leaves the
        /// price to those that sleep or are rung.
        all_take_part: bool,
    },
}

impl<S> Clone for Arrivals<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Arrivals<'_, S> {}

/// Records in `rings`, before this rank arrives, that it has to be rung. Each rank that arrives sees that, or is seen.
#[cold]
pub fn expect_ring(rings: &Word32) {
    if rings.load() == 0 {
        rings.store(1);
        // Publishes the word before this rank looks who has arrived; pairs with EachArrived of every other rank. Fails
        // without it: models/collective.rs, `rung, each`.
        mem_sync_of_all(Site::EachArrived);
    }
}

/// The words of the other ranks.
#[inline]
fn others<S: AsRef<ParkWord>>(own: u32, all: &[S]) -> impl Iterator<Item = &ParkWord> {
    let others = all.iter().zip(0..).filter(move |(_, rank)| *rank != own);
    others.map(|(one, _)| one.as_ref())
}

/// Whether all others have published `round`.
#[inline]
fn have_all_published<S: AsRef<ParkWord>>(own: u32, all: &[S], round: Round) -> bool {
    others(own, all).all(|word| word.load() == round.word())
}

/// The number of the first collective that a rank need not have settled when it stages number `number` in
/// one of that many slots, which are used in turn: of a settled one it has seen that all have arrived. All
/// have then settled those up to `number - slots`, so its slot is free.
#[inline]
pub fn first_unsettled(number: u64, slots: u64) -> u64 {
    if planted(Fault::StagedTooSoon) {
        return 0;
    }
    (number + 1).saturating_sub(slots / 2)
}

/// The same for what a rank stages in a buffer that it has last used for number `last`. A rank enters a number when it has
/// left the one that is `under_way` before it. So all have left `last`, and read the buffer no more.
#[inline]
pub fn first_unsettled_buffer(last: u64, under_way: u64) -> u64 {
    if planted(Fault::StagedTooSoon) {
        return 0;
    }
    last + 1 + under_way
}

impl<S: AsRef<ParkWord>> Arrivals<'_, S> {
    /// [`Arrivals::arrive`] of a rank that stages by `stage` what others read as soon as it has published that.
    /// If that fails, it does not arrive.
    #[inline]
    pub fn stage_and_arrive<E>(
        self,
        ranks: u32,
        round: &mut Round,
        stage: impl FnOnce() -> Result<(), E>,
        published: Option<&ParkWord>,
    ) -> Result<Result<bool, JobFailed>, E> {
        if planted(Fault::PublishedFirst) {
            let arrived = self.arrive(ranks, round, published);
            return stage().map(|()| arrived);
        }
        stage()?;
        Ok(self.arrive(ranks, round, published))
    }

    /// The first half of [`collective`]: arrives, and does not wait; whether all are known to have arrived. If so, the
    /// rank passes, and then rings the bells (`channel.rs`) of those that do not wait at the barrier but
    /// call [`Arrivals::try_pass`], which they do again after each ring (models/collective.rs). Of a few
    /// ranks several may find that; and one at least, if any has to be rung.
    ///
    /// `published` is this rank's word for those that [`await_published`], where arrivals are counted.
    #[inline(always)]
    pub fn arrive(
        self,
        ranks: u32,
        round: &mut Round,
        published: Option<&ParkWord>,
    ) -> Result<bool, JobFailed> {
        // Publishes the staged contribution; pairs with CollectivePost of every other rank through
        // `arrived`, or through the word that is published. Fails without it: models/collective.rs, by
        // loom_tests/tests/mutants.rs.
        mem_sync_beside(Site::CollectivePre);
        let is_last = match self {
            Arrivals::Counted(words) => {
                published.into_iter().for_each(|word| word.store(round.next().word()));
                proc_sync(ProcSync::CollectiveArrive);
                let is_last = words.arrive(ranks, round)?;
                // Behind the read-modify-write of the arrival, which is the full barrier that it needs.
                published.into_iter().for_each(ParkWord::wake_all);
                is_last
            }
            Arrivals::Each { own, all, rings, asleep, all_take_part } => {
                if round.is_lost() {
                    return Err(JobFailed);
                }
                *round = round.next().arrived(true);
                let word = all[own as usize].as_ref();
                if all_take_part {
                    word.release_and_wake(round.word());
                } else {
                    word.store_and_wake(round.word());
                }
                proc_sync(ProcSync::CollectiveArrive);
                // A full barrier between the change of this word and the look whether a rank sleeps or has to be rung;
                // pairs with ParkBarrier and with `expect_ring` of that rank, which are barriers of all ranks. Fails
                // without it, or as a weaker one: models/collective.rs, `rung, each`.
                mem_sync_beside(Site::EachArrived);
                let asleep = &asleep.arrived.0;
                // A rank that wakes none does not take the lines of the others.
                let wakes = asleep.has_sleepers();
                let is_last = (wakes || rings.load() != 0) && {
                    // The same between that change and the looks at the words of the others; pairs with itself. So the
                    // last of them sees all.
                    mem_sync(Site::EachArrived);
                    have_all_published(own, all, *round)
                };
                if is_last && wakes {
                    asleep.add_and_wake(1);
                }
                *round = round.arrived(!is_last);
                is_last
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
        if round.is_lost() {
            return Err(JobFailed);
        }
        if round.awaits_others() {
            match self {
                Arrivals::Counted(words) => words.pass_or_lose(ranks, round, waiter)?,
                Arrivals::Each { own, all, asleep, .. } => {
                    let ready = |_| {
                        // Observes the words that the rank has seen which has woken this one; pairs with its
                        // EachArrived. Fails without it: models/collective.rs, `rung, each x2 asleep`.
                        mem_sync(Site::CollectivePost);
                        have_all_published(own, all, *round)
                    };
                    let passed = waiter.until_left(&asleep.arrived.0, ready);
                    *round = round.ended(passed.is_err());
                    passed?;
                }
            }
        }
        passed_collective();
        Ok(())
    }

    /// [`Arrivals::pass`] without waiting: `None` as long as some have not arrived. If a rank has failed it
    /// is given up.
    #[inline(always)]
    pub fn try_pass(
        self,
        ranks: u32,
        round: &mut Round,
        has_failed: bool,
    ) -> Option<Result<(), JobFailed>> {
        if round.is_lost() {
            return Some(Err(JobFailed));
        }
        if round.awaits_others() {
            let outcome = match self {
                Arrivals::Counted(Barrier { tree: Some(tree), .. }) if !has_failed => {
                    tree.is_released(*round).then_some(Ok(()))
                }
                Arrivals::Counted(words) => round.outcome(ranks, words.count()),
                Arrivals::Each { own, all, .. } => {
                    have_all_published(own, all, *round).then_some(Ok(()))
                }
            };
            let passed = match (outcome, self) {
                (None, Arrivals::Counted(words)) if has_failed => words.give_up(ranks, *round),
                (None, Arrivals::Each { .. }) if has_failed => Err(JobFailed),
                (outcome, _) => outcome?,
            };
            *round = round.ended(passed.is_err());
            if passed.is_err() {
                return Some(passed);
            }
        }
        passed_collective();
        Some(Ok(()))
    }

    /// Whether the barrier is cancelled for good, as seen by a rank in `round`.
    #[inline(always)]
    #[allow(dead_code, reason = "the models stage nothing before they arrive")]
    pub fn is_given_up(self, ranks: u32, round: Round) -> bool {
        let is_cancelled = |words: Barrier<'_>| {
            let count = words.count();
            [round, round.next()].iter().any(|round| round.cancelled(ranks, count).is_some())
        };
        round.is_lost() || matches!(self, Arrivals::Counted(words) if is_cancelled(words))
    }

    /// [`Barrier::expect_arrival`]
    #[inline(always)]
    #[allow(dead_code, reason = "a hint, which the models have no use for")]
    pub fn expect_arrival(self) {
        if let Arrivals::Counted(words) = self {
            words.expect_arrival();
        }
    }

    /// The barrier in which a rank waits that entered it in round `before`, and its arrivals.
    #[allow(dead_code, reason = "for reports; the models write none")]
    pub fn count(self, before: Round, ranks: u32) -> (Round, u32) {
        let all = match self {
            Arrivals::Counted(words) => return words.arrivals(before, ranks),
            Arrivals::Each { all, .. } => all,
        };
        let next = before.next();
        let has_come = |one: &S, round: Round| one.as_ref().load() == round.word();
        let come = |round: Round| all.iter().filter(|one| has_come(one, round)).count();
        match come(next) {
            0 => (before, come(before) as u32),
            arrived => (next, arrived as u32),
        }
    }
}

/// Whether the rank has published `round` by its `word`, as after [`await_published`].
#[inline]
pub fn is_published(word: &ParkWord, round: Round) -> bool {
    let is_there = word.load() == round.word();
    if is_there {
        passed_collective();
    }
    is_there
}

/// Blocks until the rank has published `round` by its `word`: what it has staged can be read before all
/// have arrived. It publishes no other number until this rank has arrived at a later barrier.
#[inline]
pub fn await_published(
    word: &ParkWord,
    round: Round,
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    if !is_published(word, round) {
        waiter.until_left(word, |now| now == round.word())?;
        passed_collective();
    }
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
        let arrivals: Arrivals<'_> = Arrivals::Counted((&words).into());
        let mut rounds = [Round::default(); 2];
        for round in &mut rounds {
            assert_eq!(arrivals.arrive(3, round, None), Ok(false));
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
