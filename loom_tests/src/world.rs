//! What every model needs around the words of its protocol.

pub use crate::data::Data;
use crate::prim::{Backoff, FailedWord, JobFailed, ParkWord, Waiter, model};
use crate::sync::{Locker, OwnNode, QueueNode, Reader};
use std::sync::Arc;

/// The job: how its ranks wait, and the word that ends every wait.
#[derive(Default)]
pub struct Job {
    /// Set by a model's launcher.
    pub failed: FailedWord,
    backoff: Backoff,
}

impl Job {
    /// How a rank of this job waits.
    pub fn waiter(&self) -> Waiter<'_> {
        Waiter {
            rank: 0,
            failed: &self.failed,
            backoff: &self.backoff,
            account: None,
            progress: None,
        }
    }
}

/// The nodes of the ranks of a window, for queues of exclusive lockers.
#[derive(Default)]
pub struct Nodes {
    nodes: [QueueNode; 4],
    own: [OwnNode; 4],
    biases: bool,
}

impl Nodes {
    /// Of ranks that bias the window whenever they take its lock for lock_all; others never do.
    pub fn biasing() -> Nodes {
        Nodes { biases: true, ..Nodes::default() }
    }

    /// What `f` does as the rank `me` that locks a target.
    pub fn locker<R>(&self, me: usize, target: usize, f: impl FnOnce(&Locker<'_, '_>) -> R) -> R {
        let node_of = |rank: u32| &self.nodes[rank as usize];
        let (rank, target, own) = (me as u32, target as u32, &self.own[me]);
        f(&Locker { rank, target, ranks: 4, own, node_of: &node_of })
    }

    /// What that rank knows of its own node.
    pub fn own(&self, me: usize) -> (u32, &OwnNode) {
        (me as u32, &self.own[me])
    }

    /// That rank, which locks all targets.
    pub fn reader(&self, me: usize) -> Reader<'_> {
        Reader {
            node: &self.nodes[me],
            own: &self.own[me],
            patience: if self.biases { 1 } else { u32::MAX },
        }
    }

    /// All of them.
    pub fn all(&self) -> &[QueueNode] {
        &self.nodes
    }
}

/// A message between two ranks of a test program: a PROC_SYNC of the user's own, without any
/// memory order.
#[derive(Default)]
pub struct Message(ParkWord);

impl Message {
    /// Sends it.
    pub fn send(&self) {
        self.0.add_and_wake(1);
    }

    /// Waits until it has been sent `count` times.
    pub fn receive(&self, job: &Job, count: u32) {
        assert!(self.received(job, count), "a wait ended although the job has not failed");
    }

    /// As `receive`, or `false` when the job has failed first.
    pub fn received(&self, job: &Job, count: u32) -> bool {
        job.waiter().until(&self.0, |sent| sent >= count).is_ok()
    }
}

/// A wait of a model in which no job fails.
pub fn passed(waited: Result<(), JobFailed>) {
    assert!(waited.is_ok(), "a wait ended although the job has not failed");
}

/// `ranks` zeroed values.
pub fn each<T: Default>(ranks: usize) -> Vec<T> {
    (0..ranks).map(|_| T::default()).collect()
}

/// One execution: `rank` of every rank, concurrently, over one world. Rank 0 is the main thread,
/// because loom has only five.
pub fn run<W: Send + Sync + 'static>(
    ranks: usize,
    world: impl FnOnce() -> W,
    rank: impl Fn(&W, usize) + Copy + Send + 'static,
) -> Arc<W> {
    model::begin_execution();
    let world = Arc::new(world());
    let others: Vec<_> = (1..ranks)
        .map(|r| {
            let world = world.clone();
            loom::thread::spawn(move || {
                model::i_am(r);
                rank(&world, r);
            })
        })
        .collect();
    model::i_am(0);
    rank(&world, 0);
    for other in others {
        assert!(other.join().is_ok(), "a rank panicked");
    }
    world
}
