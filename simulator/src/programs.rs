//! Programs over the protocols, and what a call of each costs.

use crate::machine::{
    Costs, MEASURED, RankProgress, Time, Topology, WARM_UP, align, backoff, progress, run,
};
use crate::prim::{Backoff, FailedWord, JobFailed, ParkWord, Waiter, Word32, Word64};
use crate::sync::channel::{MailWords, RecordState};
use crate::sync::{
    self, Line, LockType, LockWords, Locker, OpenEpochs, OwnNode, Queueing, Reader, Round, notify,
    watch,
};
use crate::sync::{
    Barrier, BarrierWords, FenceKind, MOST_WITHOUT_TREE, PostSlot, PscwWords, Tree, TreeLine,
    Watchers, WindowWords, tree_lines,
};
use std::sync::Mutex;

/// What one call costs in the steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Picoseconds from call to call.
    pub time: Time,
    /// Remote references of the rank that makes most.
    pub most_remote: f64,
    /// Remote references of a rank, on average.
    pub mean_remote: f64,
    /// By how much the longest chain of transfers grows.
    pub chain: f64,
}

/// A machine and the number of its ranks.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// One on each core.
    pub ranks: u32,
    /// How far cores are from each other.
    pub topology: Topology,
    /// What steps take.
    pub costs: Costs,
}

/// The times of a server processor: 25 ns between cores of a complex, 80 within a socket, 180 between two.
pub const SERVER: Costs = Costs {
    hit: 1_000,
    locked: 5_000,
    fence: 8_000,
    transfer: [25_000, 80_000, 180_000],
    barrier_of_all: 2_000_000,
};

impl Machine {
    /// A machine of that many ranks with [`SERVER`]'s times.
    pub fn new(ranks: u32, topology: Topology) -> Machine {
        Machine { ranks, topology, costs: SERVER }
    }

    /// The cost of `call`, which each rank makes again and again: its number, and a state of its own.
    pub fn cost<S: Default>(&self, call: impl Fn(u32, &mut S) + Sync) -> Cost {
        let spans = vec![(RankProgress::default(), RankProgress::default()); self.ranks as usize];
        let spans = Mutex::new(spans);
        run(self.ranks, self.topology, self.costs, |rank| {
            let mut state = S::default();
            (0..WARM_UP).for_each(|_| call(rank, &mut state));
            align();
            let begin = progress();
            (0..MEASURED).for_each(|_| call(rank, &mut state));
            spans.lock().expect("no rank panics")[rank as usize] = (begin, progress());
        });
        let spans = spans.into_inner().expect("no rank has panicked");
        let of = |f: fn(RankProgress) -> u64| {
            let latest = |at: fn((RankProgress, RankProgress)) -> RankProgress| {
                spans.iter().map(|span| f(at(*span))).max().unwrap_or(0)
            };
            latest(|span| span.1) - latest(|span| span.0)
        };
        let remote = |(begin, end): &(RankProgress, RankProgress)| {
            (end.remote - begin.remote) as f64 / f64::from(MEASURED)
        };
        Cost {
            time: of(|at| at.time) / u64::from(MEASURED),
            most_remote: spans.iter().map(remote).fold(0.0, f64::max),
            mean_remote: spans.iter().map(remote).sum::<f64>() / f64::from(self.ranks),
            chain: of(|at| at.chain) as f64 / f64::from(MEASURED),
        }
    }
}

/// What every program needs to wait.
pub struct Job {
    failed: FailedWord,
    backoff: Backoff,
}

impl Job {
    /// Of that many ranks.
    pub fn new(ranks: u32) -> Job {
        Job { failed: FailedWord::default(), backoff: backoff(ranks) }
    }

    /// How that rank waits.
    pub fn waiter(&self, rank: u32) -> Waiter<'_> {
        let Job { failed, backoff } = self;
        Waiter { rank, failed, backoff, account: None, progress: None }
    }
}

/// No rank fails.
fn passed(waited: Result<(), JobFailed>) {
    assert!(waited.is_ok(), "a wait ended although the job has not failed");
}

fn each<T: Default>(ranks: u32) -> Vec<T> {
    (0..ranks).map(|_| T::default()).collect()
}

/// A name, and the program.
pub type Program = (&'static str, fn(&Machine) -> Cost);

/// Two ranks answer each other's changes of a word. For times of transfers: not a protocol of the library.
pub fn ping_pong(machine: &Machine) -> Cost {
    let (job, words): (_, Vec<Line<ParkWord>>) = (Job::new(machine.ranks), each(2));
    machine.cost(|rank, number: &mut u32| {
        *number += 1;
        let (own, other) = (&words[rank as usize].0, &words[1 - rank as usize].0);
        if rank == 0 {
            other.add(1);
        }
        passed(job.waiter(rank).until(own, |value| value == *number).map(drop));
        if rank == 1 {
            other.add(1);
        }
    })
}

/// All programs over shipped protocols.
pub const PROGRAMS: [Program; 10] = [
    ("barrier", barrier),
    ("barrier, one counter", counter),
    ("fence", fence),
    ("lock_all + unlock_all", lock_all),
    ("exclusive lock + unlock, own target", own_lock),
    ("exclusive lock + unlock, one target", one_lock),
    ("post, start, complete, wait with neighbours", pscw),
    ("notify the right neighbour, wait for the left", notify_ring),
    ("message to the right neighbour", message_ring),
    ("allreduce of 8 B", allreduce),
];

/// The words of a barrier, as the library places them for ranks that have a core each.
struct Words {
    counted: BarrierWords,
    lines: Vec<TreeLine>,
}

impl Words {
    fn new(ranks: u32) -> Words {
        let lines = if ranks > MOST_WITHOUT_TREE { tree_lines(ranks) } else { 0 };
        Words { counted: BarrierWords::default(), lines: each(lines) }
    }

    /// The barrier as that rank uses it.
    fn of(&self, rank: u32) -> Barrier<'_> {
        Barrier::new(&self.counted, Tree::of(&self.lines, 0, || rank))
    }
}

/// The barrier of a communicator.
pub fn barrier(machine: &Machine) -> Cost {
    let (job, words, ranks) = (Job::new(machine.ranks), Words::new(machine.ranks), machine.ranks);
    machine.cost(|rank, round: &mut Round| {
        passed(sync::collective(words.of(rank), ranks, round, &job.waiter(rank)));
    })
}

/// The same where all ranks count in one word, as the library does where ranks share cores.
pub fn counter(machine: &Machine) -> Cost {
    let (job, words, ranks) = (Job::new(machine.ranks), BarrierWords::default(), machine.ranks);
    machine.cost(|rank, round: &mut Round| {
        passed(sync::collective(&words, ranks, round, &job.waiter(rank)));
    })
}

/// `MPI_Win_fence`, as `src/window/transport.rs` calls it.
pub fn fence(machine: &Machine) -> Cost {
    let (job, words, ranks) = (Job::new(machine.ranks), Words::new(machine.ranks), machine.ranks);
    let open: Vec<Line<OpenEpochs>> = each(ranks);
    let watchers = Watchers::default();
    machine.cost(|rank, (round, number): &mut (Round, u32)| {
        *number += 1;
        let announce = || open[rank as usize].0.fenced(*number, true);
        let ring = || watch::ring(&watchers, []);
        let kind = FenceKind::Barrier;
        passed(sync::fence(words.of(rank), ranks, round, kind, announce, ring, &job.waiter(rank)));
    })
}

/// Locks of a window, none of them exclusive, some time after the first one: the window is biased.
pub fn lock_all(machine: &Machine) -> Cost {
    let (job, window) = (Job::new(machine.ranks), WindowWords::default());
    let targets: Vec<LockWords> = each(machine.ranks);
    let lock_and_unlock = |rank: u32, own: &OwnNode| {
        let node = targets[rank as usize].node();
        let (window, reader) = (&window.lock_all, Reader { node, own, patience: 1 });
        if !sync::try_lock_all(window, reader) {
            passed(sync::lock_all(window, &targets, reader, &job.waiter(rank)));
        }
        sync::unlock_all(window, node);
    };
    machine.cost(|rank, (own, is_warm): &mut (OwnNode, bool)| {
        lock_and_unlock(rank, own);
        if !std::mem::replace(is_warm, true) {
            // Some rank has biased the window. All see it before they are measured.
            align();
            lock_and_unlock(rank, own);
        }
    })
}

/// Each rank locks its own part.
pub fn own_lock(machine: &Machine) -> Cost {
    exclusive_lock(machine, |rank| rank)
}

/// All ranks lock the same part.
pub fn one_lock(machine: &Machine) -> Cost {
    exclusive_lock(machine, |_| 0)
}

fn exclusive_lock(machine: &Machine, target: fn(u32) -> u32) -> Cost {
    let (job, window) = (Job::new(machine.ranks), WindowWords::default());
    let targets: Vec<LockWords> = each(machine.ranks);
    let node_of = |rank: u32| targets[rank as usize].node();
    machine.cost(|rank, own: &mut OwnNode| {
        let target = target(rank);
        let (lock, held) = (&targets[target as usize], LockType::Exclusive);
        let (window, waiter) = (&window.lock_all, job.waiter(rank));
        let locker = Locker { rank, target, ranks: machine.ranks, own, node_of: &node_of };
        passed(sync::lock(window, lock, held, &locker, Queueing::Fair, &waiter));
        sync::unlock_queued(window, lock, held, &locker);
    })
}

/// An epoch in which each rank exposes its part to the left neighbour, and accesses that of the right one.
pub fn pscw(machine: &Machine) -> Cost {
    let (job, ranks) = (Job::new(machine.ranks), machine.ranks);
    // The slot of the pair (target, its left neighbour), and the words of each target.
    let (slots, words): (Vec<PostSlot>, Vec<PscwWords>) = (each(ranks), each(ranks));
    machine.cost(|rank, (posts, completes): &mut (u32, u32)| {
        let (own, right) = (rank as usize, ((rank + 1) % ranks) as usize);
        let waiter = job.waiter(rank);
        sync::post([&slots[own]].into_iter());
        passed(sync::start_one(&slots[right], posts, &waiter));
        sync::started();
        sync::complete([&words[right]].into_iter());
        passed(sync::wait(&words[own], 1, completes, &waiter));
    })
}

/// A notification goes to the right neighbour, and one comes from the left.
pub fn notify_ring(machine: &Machine) -> Cost {
    let (job, ranks) = (Job::new(machine.ranks), machine.ranks);
    let counters: Vec<notify::NotifyCounter> = each(ranks);
    machine.cost(|rank, seen: &mut u32| {
        notify::notify(&counters[((rank + 1) % ranks) as usize], 1);
        passed(notify::wait(&counters[rank as usize], seen, 1, &job.waiter(rank)));
    })
}

/// A message record of a line: its state and its bytes.
#[repr(C, align(64))]
#[derive(Default)]
struct Record {
    state: RecordState,
    bytes: Word64,
}

/// Records of one queue: enough for all calls.
const RECORDS: u32 = WARM_UP + MEASURED + 1;

/// A message of 8 bytes goes to the right neighbour, and one comes from the left.
pub fn message_ring(machine: &Machine) -> Cost {
    let (job, ranks) = (Job::new(machine.ranks), machine.ranks);
    let mail: Vec<MailWords> = each(ranks);
    // The queue from each rank to its right neighbour.
    let queues: Vec<Vec<Record>> = (0..ranks).map(|_| each(RECORDS)).collect();
    machine.cost(|rank, number: &mut usize| {
        let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let (outgoing, incoming) = (&queues[rank as usize], &queues[left as usize]);
        let record = &outgoing[*number];
        let behind = outgoing.get(*number + 1).map(|record| &record.state);
        record.state.publish(behind, 1, || record.bytes.store(u64::from(rank)));
        mail[right as usize].ring();
        loop {
            let seen = mail[rank as usize].look();
            if incoming[*number].state.found() != 0 {
                break;
            }
            let bell = mail[rank as usize].bell();
            passed(job.waiter(rank).until(bell, |rung| rung != seen).map(drop));
        }
        assert_eq!(incoming[*number].bytes.load(), u64::from(left));
        *number += 1;
    })
}

/// What a rank stages: what it calls, and its bytes.
#[derive(Default)]
struct Staged {
    call: Word32,
    bytes: Word64,
}

/// Each rank stages its value, all pass the barrier, and each reads all values.
pub fn allreduce(machine: &Machine) -> Cost {
    let (job, words, ranks) = (Job::new(machine.ranks), Words::new(machine.ranks), machine.ranks);
    // Two slots in turn, as in src/comm/rounds.rs.
    let slots: Vec<[Line<Staged>; 2]> = each(ranks);
    machine.cost(|rank, (round, number): &mut (Round, usize)| {
        let slot = *number % 2;
        *number += 1;
        let own = &slots[rank as usize][slot].0;
        own.call.store(*number as u32);
        own.bytes.store(u64::from(rank));
        passed(sync::collective(words.of(rank), ranks, round, &job.waiter(rank)));
        let mut sum = 0;
        for staged in &slots {
            assert_eq!(staged[slot].0.call.load(), *number as u32);
            sum += staged[slot].0.bytes.load();
        }
        assert_eq!(sum, u64::from(ranks) * (u64::from(ranks) - 1) / 2);
    })
}
