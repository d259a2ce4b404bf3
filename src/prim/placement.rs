//! The processors of a job's ranks: which they may use, which each used last, and how a rank leaves
//! a processor that has too many of them.
//!
//! The kernel puts a woken process beside its waker. Two processes that spin and yield in turn then
//! share one processor for tens of milliseconds while another is idle, and eight that yield stay seven
//! to one on two processors. So a rank that waits counts the ranks on its processor, and moves to one
//! that has fewer than its share. It is not bound there: the kernel may move it again, and its affinity
//! stays what the user has set.
//!
//! All words are relaxed and order nothing. A stale one (the kernel has moved a rank that computes)
//! costs an unnecessary move, or a late one.

use super::{Word32, Word64};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The shortest time between two moves of a rank. More moves would not help.
const REST: Duration = Duration::from_millis(1);

/// The most ranks that a waiting rank counts, where they share processors.
const COUNTED: usize = 64;
/// Set in the word of a rank that sleeps.
const ASLEEP: u32 = 1 << 31;

/// The words that the ranks of a job share.
#[repr(C, align(128))]
#[derive(Default)]
pub struct PlacementWords {
    /// A bit for each processor that any rank may run on.
    allowed: [Word64; CpuSet::MAX_CPU / 64],
    /// What a wake-up has lately cost a rank, in nanoseconds.
    waking: Word32,
    /// Ranks that were woken and have not run since.
    woken: Word32,
}

impl PlacementWords {
    /// Processors that the ranks which have joined may use together.
    pub fn processors(&self) -> usize {
        self.allowed.iter().map(|word| word.load().count_ones() as usize).sum()
    }

    /// Counts ranks that were woken, or, wrapping, one that runs again.
    pub(super) fn count_woken(&self, woken: u32) {
        self.woken.fetch_add(woken);
    }
}

/// The words of a job: the shared ones, and for each rank its last processor plus one.
pub trait JobPlacement: Send + Sync {
    /// The shared words.
    fn common(&self) -> &PlacementWords;
    /// One word a rank, with [`ASLEEP`]; zero before it has joined, and while it moves.
    fn ranks(&self) -> &[Word32];
}

/// The placement of a rank in its job.
pub struct Placement {
    rank: usize,
    words: Arc<dyn JobPlacement>,
    /// The limit of a control group on the processors of this process.
    quota: usize,
    since: Instant,
    /// When it last moved, in nanoseconds after `since`.
    moved: Word64,
}

impl Placement {
    /// Publishes the processors of this process, and leaves the present one if another rank is there.
    pub fn join(rank: u32, words: Arc<dyn JobPlacement>) -> Placement {
        let available = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let own = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
        let quota = if available < own.count() as usize { available } else { CpuSet::MAX_CPU };
        let allowed = &words.common().allowed;
        if own.count() == 0 {
            // More processors than fit into a set: only their number counts.
            (0..available.min(CpuSet::MAX_CPU)).for_each(|cpu| insert(allowed, cpu));
        }
        (0..CpuSet::MAX_CPU).filter(|cpu| own.is_set(*cpu)).for_each(|cpu| insert(allowed, cpu));
        let (since, moved) = (Instant::now(), Word64::default());
        let placement = Placement { rank: rank as usize, words, quota, since, moved };
        placement.settle();
        placement
    }

    /// Ranks of the job.
    pub fn ranks(&self) -> usize {
        self.words.ranks().len()
    }

    /// [`PlacementWords::processors`], within the limit of a control group.
    pub fn processors(&self) -> usize {
        self.quota.min(self.words.common().processors())
    }

    /// Whether every rank of the job can have a processor of its own.
    pub fn is_enough_for_all(&self) -> bool {
        self.ranks() <= self.processors()
    }

    /// Publishes the processor of this rank. If that has more ranks than an equal share of all, moves to
    /// one that has fewer. A sleeping rank keeps its processor, because two ranks that share one and wake
    /// each other in turn are never awake together.
    pub fn settle(&self) {
        let here = sched_getcpu();
        self.settle_at(here);
        // In a job of thousands the other words are not even read.
        if self.is_counted() || self.is_enough_for_all() {
            let share = self.ranks().div_ceil(self.processors().max(1));
            let beside = self.others().filter(|word| *word == here as u32 + 1);
            if beside.count() >= share && self.may_move() {
                self.move_away(share);
            }
        }
    }

    /// Whether the ranks are few enough to count them in a wait.
    fn is_counted(&self) -> bool {
        self.ranks() <= COUNTED
    }

    /// Publishes that this rank is about to sleep; [`Placement::settle`] ends it.
    pub fn sleep(&self) {
        self.own().store(self.own().load() | ASLEEP);
    }

    /// How many ranks run or want to, this one included; `None` in a job of many.
    pub fn awake(&self) -> Option<usize> {
        let ranks = self.words.ranks().iter();
        // A rank may count that it runs before its waker has counted it: the number may be negative.
        let woken = self.words.common().woken.load().cast_signed();
        let awake = || ranks.filter(|word| word.load() & ASLEEP == 0).count();
        let most = self.ranks();
        self.is_counted().then(|| most.min(awake() + usize::try_from(woken).unwrap_or(0)))
    }

    /// The words of the job, for as long as it lasts.
    pub fn words(&self) -> Weak<dyn JobPlacement> {
        Arc::downgrade(&self.words)
    }

    /// The cost of a wake-up in this job: the latest published one.
    pub fn waking(&self) -> Duration {
        Duration::from_nanos(self.words.common().waking.load().into())
    }

    /// Publishes the cost of a wake-up of this rank.
    pub fn record_waking(&self, cost: Duration) {
        let cost = u32::try_from(cost.as_nanos()).unwrap_or(u32::MAX);
        if self.words.common().waking.load() != cost {
            self.words.common().waking.store(cost);
        }
    }

    fn own(&self) -> &Word32 {
        &self.words.ranks()[self.rank]
    }

    fn others(&self) -> impl Iterator<Item = u32> {
        let words = self.words.ranks().iter().enumerate();
        words.filter(|(rank, _)| *rank != self.rank).map(|(_, word)| word.load() & !ASLEEP)
    }

    fn settle_at(&self, processor: usize) {
        let word = processor as u32 + 1;
        if self.own().load() != word {
            self.own().store(word);
        }
    }

    fn may_move(&self) -> bool {
        let now = self.since.elapsed().as_nanos() as u64;
        let moved = self.moved.load();
        let rested = moved == 0 || now.saturating_sub(moved) >= REST.as_nanos() as u64;
        rested && self.moved.compare_exchange(moved, now.max(1)).is_ok()
    }

    /// Moves to an allowed processor with fewer other ranks than `share`, if there is one. The affinity is
    /// restored afterwards; a change by another process in between is lost.
    fn move_away(&self, share: usize) {
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let (mut free, mut ranks) = (allowed, [0u16; CpuSet::MAX_CPU]);
        // An impossible number means that the word was overwritten.
        let processors =
            self.others().filter_map(|word| word.checked_sub(1)).map(|cpu| cpu as usize);
        for cpu in processors.filter(|cpu| *cpu < CpuSet::MAX_CPU) {
            ranks[cpu] += 1;
            if usize::from(ranks[cpu]) >= share {
                free.unset(cpu);
            }
        }
        if free.count() == 0 {
            return;
        }
        // Another rank on this processor sees that this one leaves, and stays.
        self.own().store(0);
        let has_moved = sched_setaffinity(None, &free).is_ok();
        self.settle_at(sched_getcpu());
        if has_moved {
            // Fails only if a control group has lost processors meanwhile; the kernel then chooses.
            let _ = sched_setaffinity(None, &allowed);
        }
    }
}

/// Sets a bit while other ranks may set others of the same word.
fn insert(allowed: &[Word64], processor: usize) {
    let (word, bit) = (&allowed[processor / 64], 1 << (processor % 64));
    let mut now = word.load();
    while now & bit == 0 {
        match word.compare_exchange(now, now | bit) {
            Ok(_) => return,
            Err(other) => now = other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Words(PlacementWords, Vec<Word32>);

    impl JobPlacement for std::sync::Arc<Words> {
        fn common(&self) -> &PlacementWords {
            &self.0
        }
        fn ranks(&self) -> &[Word32] {
            &self.1
        }
    }

    fn words(ranks: usize) -> std::sync::Arc<Words> {
        let ranks = (0..ranks).map(|_| Word32::default()).collect();
        std::sync::Arc::new(Words(PlacementWords::default(), ranks))
    }

    #[test]
    fn a_rank_leaves_a_processor_that_another_is_on() {
        let words = words(2);
        let placement = Placement::join(0, Arc::new(words.clone()));
        if !placement.is_enough_for_all() {
            println!("skipped: there is one processor");
            return;
        }
        let before = sched_getaffinity(None).unwrap();
        let here = words.1[0].load();
        words.1[1].store(here);
        placement.moved.store(0);
        placement.settle();
        assert_ne!(words.1[0].load(), here);
        assert_eq!(sched_getaffinity(None).unwrap(), before, "it is bound to nothing");
    }

    #[test]
    fn a_rank_leaves_a_processor_that_has_more_than_its_share() {
        let words = words(8);
        let placement = Placement::join(0, Arc::new(words.clone()));
        if placement.processors() != 2 {
            println!("skipped: this counts on two processors");
            return;
        }
        // Whether it leaves a processor that it shares with that many others.
        let leaves = |others: usize| {
            let here = sched_getcpu() as u32 + 1;
            words.1[1..].iter().for_each(|word| word.store(0));
            words.1[1..=others].iter().for_each(|word| word.store(here));
            placement.moved.store(0);
            placement.settle();
            placement.moved.load() != 0
        };
        assert!(!leaves(3), "four ranks on each");
        // The kernel may move this thread before it looks.
        assert!((0..1000).any(|_| leaves(4)), "five here, three there");
        assert_ne!(words.1[0].load(), words.1[1].load());
    }

    #[test]
    fn processors_of_all_ranks_count() {
        let words = words(3);
        insert(&words.0.allowed, 3);
        insert(&words.0.allowed, 64);
        insert(&words.0.allowed, 3);
        let own = Placement::join(0, Arc::new(words.clone()));
        let count: u32 = words.0.allowed.iter().map(|word| word.load().count_ones()).sum();
        let mut mine = sched_getaffinity(None).unwrap();
        mine.set(3);
        mine.set(64);
        assert_eq!(count, mine.count());
        assert_eq!(own.is_enough_for_all(), 3 <= own.quota.min(count as usize));
    }

    #[test]
    fn a_rank_that_sleeps_is_not_awake_and_keeps_its_processor() {
        let words = words(2);
        let [first, second] =
            [0, 1].map(|rank| Placement::join(rank, Arc::new(words.clone()) as Arc<_>));
        assert_eq!(first.awake(), Some(2));
        let here = words.1[1].load();
        second.sleep();
        assert_eq!(first.awake(), Some(1));
        assert_eq!(first.others().collect::<Vec<_>>(), [here]);
        words.0.count_woken(1);
        assert_eq!(first.awake(), Some(2), "it was woken");
        second.settle();
        words.0.count_woken(1_u32.wrapping_neg());
        assert_eq!(first.awake(), Some(2));
    }
}
