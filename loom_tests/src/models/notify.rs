//! Notified access.

use crate::explore::{BOUND_2, BOUND_3, EXHAUSTIVE, Model};
use crate::prim::{Fault, JobFailed, planted};
use crate::sync::notify::{NotifyCounter, notify, outstanding, test, wait};
use crate::world::{Data, Job, each, passed, run};

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name, ranks, run: fn(usize)| Model::new("notify", name, ranks, run);
    let models = vec![
        model("there and back", 2, |n| there_and_back(n, 1, 0)),
        model("there and back", 3, |n| there_and_back(n, 1, 0)),
        model("there and back twice", 2, |n| there_and_back(n, 2, 0)).within(BOUND_3, EXHAUSTIVE),
        model("across the wrap", 2, |n| there_and_back(n, 2, u32::MAX)).within(BOUND_2, BOUND_3),
        model("in turn", 2, alternating),
        model("from all", 2, from_all),
        model("from all", 3, from_all).within(BOUND_2, BOUND_3),
        model("test", 2, tested),
        model("job failed", 2, job_failed),
    ];
    let asleep = |model: &Model| match (model.ranks, model.name.as_str()) {
        (3, _) | (_, "notify/there and back twice x2" | "notify/across the wrap x2") => {
            model.clone().parked().within(BOUND_2, BOUND_3)
        }
        _ => model.clone().parked().within(BOUND_3, EXHAUSTIVE),
    };
    let parked: Vec<_> = models.iter().map(asleep).collect();
    [models, parked].concat()
}

struct World {
    job: Job,
    counters: Vec<NotifyCounter>,
    data: Vec<Data>,
}

fn world(ranks: usize, before: u32) -> World {
    let counters: Vec<NotifyCounter> = each(ranks);
    for counter in &counters {
        counter.0.add(before);
    }
    World { job: Job::default(), counters, data: each(2 * ranks) }
}

impl World {
    fn put_notify(&self, at: usize, value: u32, rank: usize) {
        if planted(Fault::NotifyEarly) {
            notify(&self.counters[rank], 1);
            return self.data[at].set(value);
        }
        self.data[at].set(value);
        notify(&self.counters[rank], 1);
    }

    fn wait(&self, me: usize, seen: &mut u32, count: u32) {
        passed(wait(&self.counters[me], seen, count, &self.job.waiter()));
    }
}

/// A value goes round, and each rank's put overwrites what the next has read the round before.
fn there_and_back(ranks: usize, rounds: u32, before: u32) {
    run(
        ranks,
        || world(ranks, before),
        move |w, me| {
            let (right, mut seen) = ((me + 1) % ranks, before);
            for round in 0..rounds {
                if me == 0 {
                    w.put_notify(right, 10 + round, right);
                }
                w.wait(me, &mut seen, 1);
                assert_eq!(w.data[me].get(), 10 + round, "local load");
                if me != 0 {
                    w.put_notify(right, 10 + round, right);
                }
            }
        },
    );
}

/// Each notification is consumed once, and belongs to its own put.
fn alternating(ranks: usize) {
    run(
        ranks,
        || world(ranks, 0),
        |w, me| {
            if me == 0 {
                w.put_notify(0, 1, 1);
                w.put_notify(1, 2, 1);
            } else {
                let mut seen = 0;
                w.wait(1, &mut seen, 1);
                assert_eq!(w.data[0].get(), 1, "local load");
                w.wait(1, &mut seen, 1);
                assert_eq!(w.data[1].get(), 2, "local load");
                assert_eq!(outstanding(&w.counters[1], seen), 0);
            }
        },
    );
}

/// Every rank puts into every part, and waits for all puts into its own.
fn from_all(ranks: usize) {
    let parts = move || World { data: each(ranks * ranks), ..world(ranks, 0) };
    run(ranks, parts, move |w, me| {
        let others = || (0..ranks).filter(move |&rank| rank != me);
        others().for_each(|rank| w.put_notify(rank * ranks + me, 1, rank));
        w.wait(me, &mut 0, ranks as u32 - 1);
        others().for_each(|rank| assert_eq!(w.data[me * ranks + rank].get(), 1, "local load"));
    });
}

/// A `test` that fails has no effect; one that succeeds is a `wait`.
fn tested(ranks: usize) {
    run(
        ranks,
        || world(ranks, 0),
        |w, me| {
            if me == 0 {
                return w.put_notify(0, 1, 1);
            }
            let mut seen = 0;
            if !test(&w.counters[1], &mut seen, 1) {
                w.wait(1, &mut seen, 1);
            }
            assert_eq!(w.data[0].get(), 1, "local load");
            assert!(!test(&w.counters[1], &mut seen, 1), "it was consumed");
        },
    );
}

/// The job fails while a rank waits for a notification that never comes.
fn job_failed(ranks: usize) {
    run(
        ranks,
        || world(ranks, 0),
        |w, me| match me {
            0 => w.job.failed.set(1),
            _ => {
                let waited = wait(&w.counters[1], &mut 0, 1, &w.job.waiter());
                assert_eq!(waited, Err(JobFailed), "notified by nobody");
            }
        },
    );
}
