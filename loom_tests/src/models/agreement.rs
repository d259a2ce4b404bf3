//! A rank fails while others wait for it in fences: either all who live pass a fence, or none does.

use crate::explore::{BOUND_1, BOUND_2, BOUND_3, Model, WIDE};
use crate::sync::{Barrier, BarrierWords, FenceKind, Round, Tree, TreeLine, fence, tree_lines};
use crate::world::{Job, each, run};
use std::sync::Mutex;

/// Fences that each survivor would pass.
const FENCES: usize = 2;

/// Where the victim stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// After that number of arrivals, without a tree.
    After(usize),
    /// After that number, with a tree.
    AfterInTree(usize),
    /// In the tree, at the first fence: it counts no arrival in the barrier's word.
    Combining,
    /// At the first fence, when it has counted its arrival and released no rank.
    Counting,
}

/// The models of this protocol: the victim arrives at none, one, or two of the fences, and stops.
pub fn models() -> Vec<Model> {
    let mut models = Vec::new();
    for arrivals in 0..=FENCES {
        let name = format!("fences, stopped after arrival {arrivals}");
        let stop = Stop::After(arrivals);
        let model = Model::new("agreement", &name, 3, move |ranks| agree(ranks, stop));
        // The ordinary command has no time for more: two fences are one program for another.
        let short = if arrivals < FENCES { BOUND_2 } else { WIDE };
        let asleep = model.clone().parked().within(BOUND_1, BOUND_2);
        models.extend([asleep, model.within(short, BOUND_2)]);
    }
    for stop in [Stop::AfterInTree(0), Stop::AfterInTree(1), Stop::Combining, Stop::Counting] {
        let model = |ranks| {
            let name = format!("fences, a tree, stopped {stop:?}");
            Model::new("agreement", &name, ranks, move |ranks| agree(ranks, stop))
        };
        let (three, asleep) = (model(3).within(BOUND_2, BOUND_3), model(3).parked());
        let four = model(4).within(BOUND_1, BOUND_2);
        models.extend([three, asleep.within(BOUND_1, BOUND_2), four]);
    }
    models
}

#[derive(Default)]
struct World {
    job: Job,
    words: BarrierWords,
    lines: Vec<TreeLine>,
    /// Fences that each survivor has passed.
    passed: Mutex<Vec<usize>>,
}

/// Rank 2 of that many is the victim.
fn agree(ranks: usize, stop: Stop) {
    let count = ranks as u32;
    let lines = match stop {
        Stop::After(_) => 0,
        _ => tree_lines(count),
    };
    let world = move || World { lines: each(lines as usize), ..World::default() };
    let world = run(ranks, world, move |w, me| {
        // The victim counts beside rank 0.
        let rank = [0, 2, 1, 3][me];
        let (mut round, tree) = (Round::default(), Tree::of(&w.lines, 0, || rank));
        let words = Barrier::new(&w.words, tree);
        let arrive = |round: &mut Round, kind| {
            fence(words, count, round, kind, || (), || (), &w.job.waiter())
        };
        if me == 2 {
            match stop {
                Stop::After(arrivals) | Stop::AfterInTree(arrivals) => {
                    for _ in 0..arrivals {
                        // Where it stops it does not wait any more.
                        let arrived = arrive(&mut round, FenceKind::ArriveOnly);
                        assert!(arrived.is_ok(), "failed before the failure");
                    }
                }
                Stop::Combining => _ = tree.and_then(|tree| tree.combine(count, round.next())),
                Stop::Counting => _ = words.count_in(count, &mut round),
            }
            return w.job.failed.set(3);
        }
        let passed =
            (0..FENCES).take_while(|_| arrive(&mut round, FenceKind::Barrier).is_ok()).count();
        w.passed.lock().unwrap().push(passed);
    });
    let passed = world.passed.lock().unwrap();
    let first = passed[0];
    assert!(passed.iter().all(|one| *one == first), "one rank passes what another does not");
    let most = match stop {
        Stop::After(arrivals) | Stop::AfterInTree(arrivals) => arrivals,
        Stop::Combining | Stop::Counting => 1,
    };
    assert!(first <= most, "a fence that a rank has not arrived at is passed");
}
