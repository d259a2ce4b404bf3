//! Waiting until window memory satisfies a condition. MEM_SYNC is the full barrier, because that
//! is what is shown: a lost wake-up is a deadlock, or ranks that poll for ever.

use crate::explore::{BOUND_2, BOUND_3, BOUND_5, EXHAUSTIVE, Model};
use crate::prim::{Fault, JobFailed, Word32, planted};
use crate::sync::watch::{ring, until};
use crate::sync::{
    BarrierWords, Bell, FenceKind, LockAllWords, LockType, LockWords, PscwWords, Queueing, Round,
    Watchers, complete, fence, flush, flush_all, lock, lock_all, unlock_all, unlock_queued,
    win_sync,
};
use crate::world::{Data, Job, Nodes, each, passed, run};

/// What the writer calls after its stores: the synchronisation that completes them, and the ring.
type Completes = fn(&World, usize);

const SYNCS: [(&str, Completes); 7] = [
    ("after flush", |w, rank| w.sync_and_ring(rank, flush)),
    ("after flush_all", |w, rank| w.sync_and_ring(rank, flush_all)),
    ("after win_sync", |w, rank| w.sync_and_ring(rank, win_sync)),
    ("after unlock", |w, rank| {
        let unlock = || {
            let held = LockType::Exclusive;
            w.nodes.locker(rank, 0, |locker| unlock_queued(&w.window, &w.target, held, locker));
        };
        w.sync_and_ring(rank, unlock);
    }),
    ("after unlock_all", |w, rank| {
        w.sync_and_ring(rank, || unlock_all(&w.window, w.nodes.reader(1 - rank).node))
    }),
    ("after complete", |w, rank| {
        w.sync_and_ring(rank, || complete(std::iter::once(&w.pscw)));
    }),
    ("before fence", World::fence_and_ring),
];

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let mut models = Vec::new();
    for (name, completes) in SYNCS {
        for watcher in 0..2 {
            let name = format!("{name}, rank {watcher} watches");
            models.push(Model::new("watch", &name, 2, move |n| one_writer(n, watcher, completes)));
        }
    }
    let asleep = |model: &Model| {
        let fences = model.name.contains("fence");
        let deep = if fences { BOUND_5 } else { EXHAUSTIVE };
        model.clone().parked().within(BOUND_3, deep)
    };
    // First, so that the mutants meet them first: a lost wake-up is a deadlock there.
    models = models.iter().map(asleep).chain(models.iter().cloned()).collect();
    let more = [
        Model::new("watch", "two watchers", 3, two_watchers).within(BOUND_2, BOUND_3),
        Model::new("watch", "two writers", 3, two_writers).within(BOUND_2, BOUND_3),
    ];
    models.extend(more.iter().map(|model| model.clone().parked()));
    models.extend(more);
    let failure = Model::new("watch", "job failed", 2, job_failed);
    models.extend([failure.clone().parked(), failure]);
    models.push(Model::new("watch", "crosswise", 2, crosswise).within(BOUND_3, EXHAUSTIVE));
    models.into_iter().map(Model::with_full_barrier).collect()
}

#[derive(Default)]
struct World {
    job: Job,
    watchers: Watchers,
    bells: Vec<Bell>,
    /// What is watched, in the part of each rank.
    flags: Vec<Word32>,
    /// What the flag announces.
    data: Vec<Data>,
    window: LockAllWords,
    target: LockWords,
    nodes: Nodes,
    pscw: PscwWords,
    barrier: BarrierWords,
}

fn world(ranks: usize) -> World {
    World { bells: each(ranks), flags: each(ranks), data: each(ranks), ..World::default() }
}

impl World {
    fn ring(&self, rank: usize) {
        ring(&self.watchers, [&self.bells[rank]]);
    }

    fn sync_and_ring(&self, rank: usize, sync: impl FnOnce()) {
        if planted(Fault::RingEarly) {
            self.ring(rank);
            return sync();
        }
        sync();
        self.ring(rank);
    }

    /// The watcher arrives at the fence after its wait: the ring may not wait for it.
    fn fence_and_ring(&self, rank: usize) {
        let (kind, waiter) = (FenceKind::Barrier, self.job.waiter());
        let ring = || self.ring(rank);
        passed(fence(&self.barrier, 2, &mut Round::default(), kind, || (), ring, &waiter));
    }

    /// Waits until the flag of `rank` has this value.
    fn until(&self, rank: usize, value: u32) {
        let look = || self.flags[rank].load() == value;
        passed(until(&self.watchers, &self.bells[rank], look, &self.job.waiter()));
    }

    /// Two puts, ordered by a flush: the data, and the flag that announces them.
    fn write(&self, rank: usize) {
        self.data[rank].set(1);
        flush();
        self.flags[rank].fetch_add(1);
    }

    fn watch(&self, rank: usize) {
        self.until(rank, 1);
        assert_eq!(self.data[rank].get(), 1, "local load");
    }
}

/// One rank watches its part until the other has changed it.
fn one_writer(ranks: usize, watcher: usize, completes: Completes) {
    let is = |other: Completes| std::ptr::fn_addr_eq(completes, other);
    let (unlocks, unlocks_all) = (is(SYNCS[3].1), is(SYNCS[4].1));
    let fences = is(SYNCS[6].1);
    run(
        ranks,
        || world(ranks),
        move |w, me| {
            if me == watcher {
                w.watch(me);
                if fences {
                    completes(w, me);
                }
                return;
            }
            let waiter = w.job.waiter();
            if unlocks {
                let (held, queueing) = (LockType::Exclusive, Queueing::Fair);
                w.nodes.locker(me, 0, |locker| {
                    passed(lock(&w.window, &w.target, held, locker, queueing, &waiter));
                });
            } else if unlocks_all {
                passed(lock_all(&w.window, [&w.target], w.nodes.reader(me), &waiter));
            }
            w.write(watcher);
            completes(w, watcher);
        },
    );
}

/// Each rank sets the other's flag, and watches its own.
fn crosswise(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        |w, me| {
            w.write(1 - me);
            w.sync_and_ring(1 - me, flush);
            w.watch(me);
        },
    );
}

/// One of two watchers is done before the other.
fn two_watchers(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        |w, me| match me {
            0 => {
                for rank in [1, 2] {
                    w.flags[rank].fetch_add(1);
                    w.sync_and_ring(rank, flush);
                }
            }
            _ => w.until(me, 1),
        },
    );
}

/// The condition holds when both writers have counted.
fn two_writers(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        |w, me| match me {
            2 => {
                w.until(2, 2);
                assert_eq!(w.data[0].get() + w.data[1].get(), 2, "local load");
            }
            _ => {
                w.data[me].set(1);
                flush();
                w.flags[2].fetch_add(1);
                w.sync_and_ring(2, flush);
            }
        },
    );
}

/// The job fails while a rank watches what no rank changes.
fn job_failed(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        |w, me| match me {
            0 => w.job.failed.set(1),
            _ => {
                let waited = until(&w.watchers, &w.bells[me], || false, &w.job.waiter());
                assert_eq!(waited, Err(JobFailed), "found what nobody wrote");
            }
        },
    );
}
