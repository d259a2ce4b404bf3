//! A rank fails while others wait for it in fences: either all who live pass a fence, or none does.

use crate::explore::{BOUND_1, BOUND_2, Model, WIDE};
use crate::sync::{BarrierWords, FenceKind, Round, fence};
use crate::world::{Job, run};
use std::sync::Mutex;

/// Fences that each survivor would pass.
const FENCES: usize = 2;
const RANKS: u32 = 3;

/// The models of this protocol: the victim arrives at none, one, or two of the fences, and stops.
pub fn models() -> Vec<Model> {
    let mut models = Vec::new();
    for arrivals in 0..=FENCES {
        let name = format!("fences, stopped after arrival {arrivals}");
        let model = Model::new("agreement", &name, RANKS as usize, move |_| agree(arrivals));
        // The ordinary command has no time for more: two fences are one program for another.
        let short = if arrivals < FENCES { BOUND_2 } else { WIDE };
        let asleep = model.clone().parked().within(BOUND_1, BOUND_2);
        models.extend([asleep, model.within(short, BOUND_2)]);
    }
    models
}

#[derive(Default)]
struct World {
    job: Job,
    words: BarrierWords,
    /// Fences that each survivor has passed.
    passed: Mutex<Vec<usize>>,
}

fn agree(arrivals: usize) {
    let world = run(RANKS as usize, World::default, move |w, me| {
        let mut round = Round::default();
        let mut arrive =
            |kind| fence(&w.words, RANKS, &mut round, kind, || (), || (), &w.job.waiter());
        if me == 2 {
            for _ in 0..arrivals {
                // Where it stops it does not wait any more.
                assert!(arrive(FenceKind::ArriveOnly).is_ok(), "failed before the failure");
            }
            return w.job.failed.set(3);
        }
        let passed = (0..FENCES).take_while(|_| arrive(FenceKind::Barrier).is_ok()).count();
        w.passed.lock().unwrap().push(passed);
    });
    let passed = world.passed.lock().unwrap();
    assert_eq!(passed[0], passed[1], "one rank passes what the other does not");
    assert!(passed[0] <= arrivals, "a fence that a rank has not arrived at is passed");
}
