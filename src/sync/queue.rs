//! The queue of exclusive lockers that have a core each, in front of the lock of a target.
//!
//! Every rank has one node in a window: a generation, and whether a rank waits for its end. The lock's tail
//! names the last rank of the queue with its generation (a CLH queue, in which a waiter announces itself):
//!
//! ```text
//!   lock                                        unlock
//!     ahead = swap(tail, own generation)          own node: generation, announced -> next generation
//!     no rank ahead? -> enters the lock           else, not announced:
//!     node of the rank ahead:                       tail: own generation -> none? -> leaves the lock
//!       generation -> generation, announced         own node: generation -> next generation
//!       fails? -> enters the lock                     succeeds? -> leaves the lock
//!     waits until that generation ends
//! ```
//!
//! A rank that has announced itself is granted the lock as it is held: the state word keeps one exclusive holder
//! from the first rank of the queue to the last. So a passage of many takes four transfers, whatever their number:
//! of the tail, of the node ahead twice, and of the own node. A rank that finds none ahead enters the lock as
//! without a queue (`lock.rs`), and leaves the queue if none is behind it then.
//!
//! * **A rank that does not contend** tries the lock first. After a passage with another rank ahead of it or behind it,
//!   it begins with the queue, and does not look at the lock's line once more.
//! * **Ranks in the lock's own queue**, such as those of the other side, mark the tail. The next rank that queues
//!   records the mark in its announcement, and the rank ahead of it leaves the lock, which admits them. The announced
//!   rank then enters the lock. So they wait for ranks only that were in this queue before them.
//! * **Not in this queue:** a rank that already holds a lock of the window, so one node is enough; ranks that share
//!   cores; and the ranks of a window of two, for which contending is faster.
//! * **Generations** have 30 bits. A waiter misses the end of one only if the rank ahead ends 2³⁰ of them, one for each
//!   passage of another target's queue, between two of its looks.

use super::lock::LockWords;
use super::lock_state::{LockSide, Queueing};
use crate::prim::{Fault, JobFailed, ParkWord, Waiter, Word32, planted};
use std::collections::BTreeSet;

/// One rank's node in the queues of a window. Zero bytes are its initial state.
#[repr(C)]
#[derive(Default)]
pub struct QueueNode {
    /// Generation and flags.
    word: ParkWord,
    /// For reports: the target in whose queue the rank is, or was last, plus one.
    target: Word32,
    /// For reports: the rank that has announced itself, plus one.
    behind: Word32,
    /// Whether the rank holds the window's lock_all by this word, or looks whether it can (`lock_all.rs`).
    pub(super) reading: ParkWord,
}

/// What a process knows of its rank's node.
#[derive(Default)]
pub struct OwnNode {
    generation: Word32,
    /// The target that is held through the node, plus one, and [`OwnNode::BESIDE_ALL`].
    held: Word32,
    /// Whether the latest passage met others.
    contends: Word32,
    /// How often the rank has locked all by the window's lock since it has biased the window (`lock_all.rs`).
    pub(super) unbiased: Word32,
}

/// A rank that locks a target, with its node and those of the others.
pub struct Locker<'a, 'w> {
    /// The rank.
    pub rank: u32,
    /// The target's rank.
    pub target: u32,
    /// The ranks of the window.
    pub ranks: u32,
    /// Of this process.
    pub own: &'a OwnNode,
    /// The node of each rank of the window.
    pub node_of: &'a dyn Fn(u32) -> &'w QueueNode,
}

/// Most ranks of a window whose exclusive lockers do not queue by their nodes.
const MOST_WITHOUT_QUEUE: u32 = 2;

/// A rank waits for the end of the generation.
const ANNOUNCED: u32 = 1;
/// Ranks wait in the lock's own queue; in a tail, too.
const OTHERS_WAIT: u32 = 2;
const FLAGS: u32 = ANNOUNCED | OTHERS_WAIT;
const NEXT: u32 = FLAGS + 1;

impl OwnNode {
    /// Set beside a target if the rank holds the window's lock, too.
    const BESIDE_ALL: u32 = 1 << 31;

    /// The state of a new window.
    pub fn clear(&self) {
        self.generation.store(0);
        self.held.store(0);
        self.contends.store(0);
        self.unbiased.store(0);
    }

    /// Whether the next lock begins with the queue.
    #[inline(always)]
    pub(super) fn contends(&self) -> bool {
        self.contends.load() != 0
    }

    /// Records that the target is held through the node.
    pub(super) fn hold(&self, target: u32, is_alone: bool) {
        self.held.store((target + 1) | if is_alone { 0 } else { Self::BESIDE_ALL });
    }

    /// Whether some target is held through the node.
    #[inline(always)]
    pub fn is_held(&self) -> bool {
        self.held.load() != 0
    }

    /// Whether the target is held through the node; if so, whether without the window's lock.
    pub(super) fn holds(&self, target: u32) -> Option<bool> {
        let held = self.held.load();
        (held & !Self::BESIDE_ALL == target + 1).then_some(held & Self::BESIDE_ALL == 0)
    }
}

impl Locker<'_, '_> {
    /// Whether the rank queues by its node.
    fn queues(&self, queueing: Queueing, waiter: &Waiter<'_>) -> bool {
        let is_able = queueing == Queueing::Fair && self.ranks > MOST_WITHOUT_QUEUE;
        is_able && waiter.backoff.has_core() && !waiter.failed.is_set()
    }

    /// The tail while this rank is the last one.
    fn as_tail(&self) -> u64 {
        u64::from(self.rank + 1) << 32 | u64::from(self.own.generation.load())
    }

    /// Waits for the end of the passage of the rank in front, and returns whether it has handed the lock over. If not, it
    /// has left the lock, or is about to.
    fn await_ahead(&self, tail: u64, waiter: &Waiter<'_>) -> Result<bool, JobFailed> {
        let (ahead, flags) = ((tail >> 32) as u32 - 1, tail as u32 & OTHERS_WAIT | ANNOUNCED);
        let generation = tail as u32 & !FLAGS;
        let node = (self.node_of)(ahead);
        let announced = node.word.replace(generation, generation | flags);
        if announced.is_err() && !planted(Fault::StaleNode) {
            return Ok(false);
        }
        node.behind.store(self.rank + 1);
        waiter.until(&node.word, |word| word & !FLAGS != generation)?;
        Ok(flags == ANNOUNCED || planted(Fault::MarkIgnored))
    }
}

impl LockWords {
    /// Enters exclusively, and returns whether this rank holds the lock through its node.
    #[inline]
    pub(super) fn enter_exclusively(
        &self,
        queueing: Queueing,
        locker: &Locker<'_, '_>,
        waiter: &Waiter<'_>,
    ) -> Result<bool, JobFailed> {
        let queues = locker.queues(queueing, waiter);
        if !(queues && locker.own.contends()) && self.try_enter(LockSide::RightExclusive, queueing)
        {
            return Ok(false);
        }
        match queues {
            true => self.enter_from_queue(locker, waiter),
            false => {
                if locker.own.contends() {
                    locker.own.contends.store(0);
                }
                self.enter_slowly(LockSide::RightExclusive, queueing, waiter).map(|()| false)
            }
        }
    }

    fn enter_from_queue(
        &self,
        locker: &Locker<'_, '_>,
        waiter: &Waiter<'_>,
    ) -> Result<bool, JobFailed> {
        let node = (locker.node_of)(locker.rank);
        if node.target.load() != locker.target + 1 {
            node.target.store(locker.target + 1);
        }
        let own = locker.as_tail();
        let tail = self.tail().swap(own);
        locker.own.contends.store(1);
        if tail != 0 && locker.await_ahead(tail, waiter)? {
            return Ok(true);
        }
        self.enter(LockSide::RightExclusive, Queueing::Fair, waiter)?;
        // Without another rank ahead or behind, it holds the lock as if it had not queued.
        let is_alone = self.tail().compare_exchange(own, 0).is_ok();
        locker.own.contends.store(u32::from(!is_alone));
        Ok(!is_alone)
    }

    /// A rank queues in the lock's own queue.
    pub(super) fn mark_tail(&self) {
        let mut tail = self.tail().load();
        while tail != 0 && tail & u64::from(OTHERS_WAIT) == 0 {
            match self.tail().compare_exchange(tail, tail | u64::from(OTHERS_WAIT)) {
                Ok(_) => return,
                Err(now) => tail = now,
            }
        }
    }

    /// A rank that holds the lock through its node leaves it, or hands it over. Never blocks.
    #[cold]
    pub(super) fn leave_queue(&self, locker: &Locker<'_, '_>) {
        let (node, own) = (&(locker.node_of)(locker.rank).word, &locker.own.generation);
        locker.own.held.store(0);
        let generation = own.load();
        let next = generation.wrapping_add(NEXT);
        if node.replace_and_wake(generation | ANNOUNCED, next).is_ok() {
            if planted(Fault::HandedToTwo) {
                self.leave(LockSide::RightExclusive);
            }
            return own.store(next);
        }
        // Unless a rank has announced itself, no other knows of this generation when the tail is gone.
        let is_last = node.load() == generation;
        if is_last
            && (self.tail().compare_exchange(locker.as_tail(), 0).is_ok()
                || planted(Fault::GenerationOpen))
        {
            return self.leave(LockSide::RightExclusive);
        }
        own.store(next);
        match node.replace_and_wake(generation, next) {
            // It has announced itself meanwhile.
            Err(found) if found & OTHERS_WAIT == 0 => node.store_and_wake(next),
            // It will find that it comes too late.
            Ok(()) => self.leave(LockSide::RightExclusive),
            Err(_) => {
                self.leave(LockSide::RightExclusive);
                node.store_and_wake(next);
            }
        }
    }
}

/// The rank that holds `target`'s lock exclusively, for reports: recorded in the lock, or the first of its queue.
/// `nodes` are those of all ranks. A snapshot: it may be old when it is returned.
pub fn holder<'a>(
    lock: &LockWords,
    target: u32,
    nodes: impl Iterator<Item = &'a QueueNode> + Clone,
) -> Option<u32> {
    let tail = (lock.tail().load() >> 32) as u32;
    if lock.owner().is_some() || tail == 0 || !lock.is_held(LockSide::RightExclusive) {
        return lock.owner().map(|owner| owner.rank);
    }
    let is_announced =
        |node: &QueueNode| node.target.load() == target + 1 && node.word.load() & ANNOUNCED != 0;
    let ahead = (0..).zip(nodes).filter(|(_, node)| is_announced(node));
    let behind: BTreeSet<u32> =
        ahead.clone().map(|(_, node)| node.behind.load().wrapping_sub(1)).collect();
    let mut queue = ahead.map(|(rank, _)| rank).chain([tail - 1]);
    queue.find(|rank| !behind.contains(rank))
}

#[cfg(all(test, not(any(loom, simulated))))]
mod tests {
    use super::*;
    use crate::prim::{Backoff, FailedWord, Word64};
    use crate::sync::LockAllWords;
    use crate::sync::passive::{self, LockType};

    /// One target, and threads as ranks, each of which takes it that it has a core.
    struct Job {
        window: LockAllWords,
        targets: [LockWords; 4],
        own: [OwnNode; 4],
        failed: FailedWord,
    }

    impl Job {
        fn new() -> Job {
            Job {
                window: LockAllWords::default(),
                targets: Default::default(),
                own: Default::default(),
                failed: FailedWord::default(),
            }
        }

        /// What `f` does while that rank holds the lock of target 0.
        fn hold<R>(&self, rank: u32, held: LockType, f: impl FnOnce() -> R) -> R {
            let Job { window, targets, own, failed } = self;
            // A new one, which has not noticed other processes: the rank queues on any machine.
            let backoff = &Backoff::new(4, 4);
            let own = &own[rank as usize];
            let node_of = |rank: u32| targets[rank as usize].node();
            let locker = Locker { rank, target: 0, ranks: 4, own, node_of: &node_of };
            let waiter = Waiter { rank, failed, backoff, account: None, progress: None };
            let queueing = Queueing::Fair;
            if !passive::try_lock(window, &targets[0], held, (|| rank, own), queueing) {
                let locked = passive::lock(window, &targets[0], held, &locker, queueing, &waiter);
                assert_eq!(locked, Ok(()));
            }
            let result = f();
            passive::unlock_queued(window, &targets[0], held, &locker);
            result
        }

        fn holder(&self) -> Option<u32> {
            holder(&self.targets[0], 0, self.targets.iter().map(LockWords::node))
        }

        fn await_behind(&self, ahead: usize, behind: u32) {
            while self.targets[ahead].node().behind.load() != behind + 1 {
                std::thread::yield_now();
            }
        }
    }

    /// Rank 0 holds the lock, rank 1 waits for it, and rank 2 behind rank 1.
    #[test]
    fn a_report_names_the_holder_of_a_lock_that_ranks_hand_over() {
        let job = Job::new();
        std::thread::scope(|scope| {
            job.hold(0, LockType::Exclusive, || {
                scope.spawn(|| {
                    job.hold(1, LockType::Exclusive, || {
                        job.await_behind(1, 2);
                        assert_eq!(job.holder(), Some(1));
                    });
                });
                while job.targets[0].tail().load() >> 32 != 2 {
                    std::thread::yield_now();
                }
                scope.spawn(|| {
                    job.hold(2, LockType::Exclusive, || assert_eq!(job.holder(), Some(2)));
                });
                job.await_behind(1, 2);
                assert_eq!(job.holder(), Some(0));
            });
        });
        assert_eq!(job.holder(), None);
    }

    /// Every fourth lock is shared.
    #[test]
    fn ranks_that_queue_exclude_each_other_and_readers() {
        let (job, count) = (Job::new(), Word64::default());
        let read = || count.load();
        std::thread::scope(|scope| {
            for rank in 0..4 {
                let (job, count) = (&job, &count);
                scope.spawn(move || {
                    for round in 0..2000 {
                        if (round + rank) % 4 == 0 {
                            job.hold(rank, LockType::Shared, || assert_eq!(read(), read()));
                        } else {
                            job.hold(rank, LockType::Exclusive, || {
                                count.store(read() + 1);
                            });
                        }
                    }
                });
            }
        });
        assert_eq!(read(), 4 * 1500);
        assert!(!job.targets[0].is_held(LockSide::Left) && job.holder().is_none());
    }
}
