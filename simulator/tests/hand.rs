//! Counts and times that were worked out by hand.

use simulator::prim::simulated::{Costs, RankProgress, Topology, compute, progress, run};
use simulator::prim::{ParkWord, Waiter, Word32};
use simulator::programs::{Job, Machine, SERVER, barrier, notify_ring, pscw};
use simulator::sync::Line;
use std::sync::Mutex;

const COSTS: Costs =
    Costs { hit: 1, locked: 10, fence: 100, transfer: [1_000, 10_000, 100_000], barrier_of_all: 0 };

/// What each rank has done at the end of `body`, on complexes of two cores and sockets of four.
fn ends(ranks: u32, body: impl Fn(u32) + Sync) -> Vec<RankProgress> {
    let ends = Mutex::new(vec![RankProgress::default(); ranks as usize]);
    run(ranks, Topology { complex: 2, socket: 4 }, COSTS, |rank| {
        body(rank);
        ends.lock().expect("no rank panics")[rank as usize] = progress();
    });
    ends.into_inner().expect("no rank has panicked")
}

fn end(time: u64, remote: u64, chain: u64) -> RankProgress {
    RankProgress { time, remote, chain }
}

/// A line comes from memory once, and from the nearest cache after that.
#[test]
fn a_line_comes_from_the_nearest_cache() {
    let word = Line::<Word32>::default();
    let ends = ends(8, |rank| {
        compute(u64::from(rank) * 1_000_000);
        word.0.load();
        word.0.load();
    });
    let [memory, near, middle, far] = [0, 1, 2, 4].map(|rank| ends[rank].time % 1_000_000);
    assert_eq!([memory, near, middle, far], [10_001, 1_001, 10_001, 100_001]);
    // The next one in that socket has it from there.
    assert_eq!(ends[5].time % 1_000_000, 1_001);
    assert!(ends.iter().all(|end| end.remote == 1));
}

/// A line makes one transfer at a time, and a write takes it from all caches.
#[test]
fn transfers_of_a_line_queue() {
    let word = Line::<Word32>::default();
    let ends = ends(4, |rank| {
        compute(u64::from(rank));
        word.0.fetch_add(1);
    });
    // From memory; near; from the other complex; near again.
    let times = [10_000, 11_000, 21_000, 22_000].map(|transferred| transferred + 10);
    for (rank, time) in times.into_iter().enumerate() {
        assert_eq!(ends[rank], end(time, 1, rank as u64 + 1), "rank {rank}");
    }
}

/// A plain store costs nothing until the fence behind it.
#[test]
fn a_fence_waits_for_stores() {
    let words: [Line<Word32>; 2] = Default::default();
    let ends = ends(1, |_| {
        words[0].0.store(1);
        words[1].0.store(1);
        assert_eq!(progress().time, 2);
        simulator::prim::mem_sync(simulator::prim::Site::Flush);
    });
    // The second store is issued at 1, and both lines come at the same time.
    assert_eq!(ends[0], end(10_001 + 100, 2, 1));
}

/// A wait costs one reference to begin with, and one for each change of the word.
#[test]
fn a_wait_looks_once_for_each_change() {
    let (job, word) = (Job::new(2), Line::<ParkWord>::default());
    let ends = ends(2, |rank| {
        if rank == 0 {
            for _ in 0..5 {
                compute(1_000_000);
                word.0.add(1);
            }
        } else {
            let waiter: Waiter<'_> = job.waiter(rank);
            waiter.until(&word.0, |value| value == 5).expect("no rank fails");
        }
    });
    // Rank 0 takes the line five times, each time from rank 1.
    assert_eq!((ends[0].remote, ends[0].chain), (5, 5));
    // Rank 1 reads it at first and after each change, and once the word that records failures.
    assert_eq!((ends[1].remote, ends[1].chain), (1 + 5 + 1, 1 + 5 + 1));
}

/// A program whose ranks wait for ever ends with their numbers.
#[test]
#[should_panic(expected = "ranks [1] wait, and no other rank is left")]
fn a_deadlock_is_reported() {
    let (job, word) = (Job::new(2), Line::<ParkWord>::default());
    ends(2, |rank| {
        if rank == 1 {
            let _ = job.waiter(rank).until(&word.0, |value| value == 1);
        }
    });
}

/// Of two neighbours each takes the other's counter, and takes its own back: two references each, one after
/// the other.
#[test]
fn a_notification_is_two_references() {
    let flat = Machine::new(2, Topology::FLAT);
    let cost = notify_ring(&flat);
    assert_eq!((cost.most_remote, cost.mean_remote, cost.chain), (2.0, 2.0, 2.0));
    // A fence, a read-modify-write of the remote counter, and a read of the own one.
    let transfers = 2 * SERVER.transfer[1] + SERVER.locked + SERVER.fence;
    assert!((transfers..transfers + 10 * SERVER.hit).contains(&cost.time), "{cost:?}");
}

/// Post and complete each change a word of the neighbour, start and wait each read one back.
#[test]
fn an_epoch_is_four_references() {
    let cost = pscw(&Machine::new(8, Topology::FLAT));
    assert_eq!((cost.most_remote, cost.mean_remote, cost.chain), (4.0, 4.0, 4.0));
}

/// Of two ranks each arrives at the same word; the first reads it again.
#[test]
fn a_barrier_of_two_is_three_references() {
    let cost = barrier(&Machine::new(2, Topology::FLAT));
    assert_eq!((cost.mean_remote, cost.chain), (1.5, 2.0));
}

/// A run is the same each time.
#[test]
fn runs_are_deterministic() {
    for (name, program) in simulator::programs::PROGRAMS {
        let machine = Machine::new(16, Topology { complex: 4, socket: 8 });
        assert_eq!(program(&machine), program(&machine), "{name}");
    }
}
