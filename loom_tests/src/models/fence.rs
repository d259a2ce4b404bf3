//! `fence`.

use crate::explore::{BOUND_2, EXHAUSTIVE, Model, ONE_LOOK, WIDE};
use crate::sync::{BarrierWords, FenceKind, Round, fence};
use crate::world::{Data, Job, each, passed, run};

const BARRIER: FenceKind = FenceKind::Barrier;

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name, ranks, run: fn(usize)| Model::new("fence", name, ranks, run);
    vec![
        model("neighbours", 2, |n| neighbours(n, 1)),
        model("neighbours twice", 2, |n| neighbours(n, 2)).within(BOUND_2, EXHAUSTIVE),
        model("neighbours", 3, |n| neighbours(n, 1)),
        model("neighbours", 4, |n| neighbours(n, 1)),
        model("one for all", 2, one_for_all),
        model("one for all", 3, one_for_all).within(BOUND_2, EXHAUSTIVE),
        model("one for all", 4, one_for_all).within(WIDE, BOUND_2),
        model("arrive only", 2, arrive_only).within(BOUND_2, ONE_LOOK),
        model("arrive only, once", 2, arrive_once),
        model("arrive only", 3, arrive_only).within(WIDE, WIDE),
        model("kinds that disagree", 3, kinds_that_disagree),
    ]
}

struct World {
    job: Job,
    words: BarrierWords,
    window: Vec<Data>,
}

fn world(ranks: usize) -> World {
    World { job: Job::default(), words: BarrierWords::default(), window: each(ranks) }
}

impl World {
    fn fence(&self, round: &mut Round, kind: FenceKind) {
        let ranks = self.window.len() as u32;
        passed(fence(&self.words, ranks, round, kind, || (), || (), &self.job.waiter()));
    }
}

/// Local store, fence, get and put at the right neighbour, fence, local load.
pub(super) fn neighbours(ranks: usize, rounds: u32) {
    run(
        ranks,
        || world(ranks),
        move |w, me| {
            let (mut round, right) = (Round::default(), (me + 1) % ranks);
            for k in 0..rounds {
                w.window[me].set(100 + 10 * k);
                w.fence(&mut round, BARRIER);
                assert_eq!(w.window[right].get(), 100 + 10 * k, "get");
                w.window[right].set(200 + 10 * k);
                w.fence(&mut round, BARRIER);
                assert_eq!(w.window[me].get(), 200 + 10 * k, "local load");
            }
        },
    );
}

/// One fence makes the local store of every rank known to every rank.
pub(super) fn one_for_all(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        |w, me| {
            w.window[me].set(7 + me as u32);
            w.fence(&mut Round::default(), BARRIER);
            for (rank, data) in w.window.iter().enumerate() {
                assert_eq!(data.get(), 7 + rank as u32, "get");
            }
        },
    );
}

/// Rank 0 wrongly asserts, in two fences, what the others do not in their one: it may not be
/// counted for rank 2, which is late.
fn kinds_that_disagree(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        |w, me| {
            let mut round = Round::default();
            match me {
                0 => {
                    w.fence(&mut round, FenceKind::ArriveOnly);
                    w.fence(&mut round, FenceKind::ArriveOnly);
                }
                1 => {
                    w.fence(&mut round, BARRIER);
                    assert_eq!(w.window[2].get(), 5, "get");
                }
                _ => {
                    w.window[2].set(5);
                    w.fence(&mut round, BARRIER);
                }
            }
        },
    );
}

/// The shortest program in which a fence that waits comes after one that does not.
pub(super) fn arrive_once(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        move |w, me| {
            let mut round = Round::default();
            w.fence(&mut round, FenceKind::ArriveOnly);
            w.window[me].set(2);
            w.fence(&mut round, BARRIER);
            assert_eq!(w.window[1 - me].get(), 2, "get after one that did not wait");
        },
    );
}

/// A fence that ends nothing and starts nothing does not wait; those around it still do.
pub(super) fn arrive_only(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        move |w, me| {
            let (mut round, right) = (Round::default(), (me + 1) % ranks);
            w.window[me].set(1);
            w.fence(&mut round, FenceKind::ArriveOnly);
            w.window[me].set(2);
            w.fence(&mut round, BARRIER);
            assert_eq!(w.window[right].get(), 2, "get after one that did not wait");
            w.fence(&mut round, FenceKind::ArriveOnly);
            w.fence(&mut round, BARRIER);
            w.window[right].set(3);
            w.fence(&mut round, BARRIER);
            assert_eq!(w.window[me].get(), 3, "local load");
        },
    );
}
