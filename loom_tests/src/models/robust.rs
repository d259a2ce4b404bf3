//! The exclusion that outlives its holder: a rank fails before it is inside, inside, or behind it.

use crate::explore::{BOUND_2, BOUND_3, Model};
use crate::prim::{FailedWord, Failure, JobFailed, Site, Waiter, mem_sync};
use crate::sync::{Found, RobustExclusion};
use crate::world::{Data, Job, passed, run};

const SITES: (Site, Site) = (Site::HeapPost, Site::HeapPre);

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let mut models = Vec::new();
    for ranks in [2, 3] {
        for stop in [Stop::Never, Stop::Before, Stop::Inside, Stop::Behind] {
            let name = format!("fails {stop:?}");
            let model = Model::new("robust", &name, ranks, move |n| counts(n, stop, n - 1));
            let model = if ranks == 3 { model.within(BOUND_2, BOUND_3) } else { model };
            models.extend([model.clone().parked(), model]);
        }
        let model = Model::new("robust", "leaves plainly", ranks, leave_plainly);
        let model = if ranks == 3 { model.within(BOUND_2, BOUND_3) } else { model };
        models.extend([model.clone().parked(), model]);
    }
    let first = |n| counts(n, Stop::Inside, 0);
    let model = Model::new("robust", "fails Inside, the first", 2, first);
    models.extend([model.clone().parked(), model]);
    models
}

/// Where one rank stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Never,
    Before,
    Inside,
    Behind,
}

#[derive(Default)]
struct World {
    job: Job,
    dead: FailedWord,
    exclusion: RobustExclusion,
    /// How many have been inside; and that number again, which differs while a rank is inside.
    counted: [Data; 2],
    /// How many have found that a rank had failed inside.
    mended: Data,
}

/// The failure of a rank ends no wait here: it is the exclusion's business.
struct GoesOn<'a>(&'a FailedWord);

impl Failure for GoesOn<'_> {
    fn is_set(&self) -> bool {
        false
    }
    fn has_failed(&self, rank: u32) -> bool {
        Failure::has_failed(self.0, rank)
    }
    fn word(&self) -> &FailedWord {
        self.0
    }
}

fn counts(ranks: usize, stop: Stop, stopping: usize) {
    run(ranks, World::default, move |w, me| {
        let failed = GoesOn(&w.dead);
        let waiter = Waiter { rank: me as u32, failed: &failed, ..w.job.waiter() };
        if me == stopping && stop != Stop::Never {
            victim(w, &waiter, stop);
        } else {
            let most = if stop == Stop::Inside { 1 } else { 0 };
            passed(w.exclusion.run(SITES, &waiter, |found| counted(w, found, most)));
        }
    });
}

/// Ranks that take part in barriers of all ranks, of which the first two leave by a plain store.
fn leave_plainly(ranks: usize) {
    run(ranks, World::default, move |w, me| {
        let waiter = Waiter { rank: me as u32, ..w.job.waiter() };
        let Ok((found, mut inside)) = w.exclusion.begin(SITES, &waiter) else {
            return passed(Err(JobFailed));
        };
        counted(w, found, 0);
        if me < 2 {
            inside.leave_plainly();
        }
    });
}

/// One rank inside.
fn counted(w: &World, found: Found, most: u32) {
    let [first, second] = &w.counted;
    if found == Found::Orphaned {
        assert_ne!(first.get(), second.get(), "the rank that failed had changed nothing");
        second.set(first.get());
        w.mended.set(w.mended.get() + 1);
        assert!(w.mended.get() <= most, "nobody had failed inside");
    }
    assert_eq!(first.get(), second.get(), "another rank is inside, or has failed there");
    first.set(first.get() + 1);
    second.set(first.get());
}

/// The rank that fails; its thread is then the launcher's.
fn victim(w: &World, waiter: &Waiter<'_>, stop: Stop) {
    match stop {
        Stop::Inside => {
            let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                w.exclusion.run(SITES, waiter, |_| {
                    w.counted[0].set(w.counted[0].get() + 1);
                    std::panic::resume_unwind(Box::new(Stopped));
                })
            }));
            assert!(stopped.is_err_and(|why| why.is::<Stopped>()));
        }
        Stop::Behind => passed(w.exclusion.run(SITES, waiter, |found| counted(w, found, 0))),
        _ => {}
    }
    mem_sync(Site::NoticePre);
    w.dead.set(waiter.rank + 1);
}

/// What a rank stops by that stops inside: as a process that is killed, it does not leave.
struct Stopped;
