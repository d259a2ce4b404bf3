//! Mutual exclusion of accumulates.

use crate::explore::{BOUND_2, BOUND_3, EXHAUSTIVE, Model, WIDE};
use crate::prim::Site;
use crate::sync::Exclusion;
use crate::world::{Data, Job, run};

const SITES: (Site, Site) = (Site::AccumulatePost, Site::AccumulatePre);

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |ranks, rounds| {
        let name = if rounds == 1 { "accumulate" } else { "accumulate twice" };
        Model::new("accumulate", name, ranks, move |n| counted(n, rounds, SITES))
    };
    vec![
        model(2, 1),
        model(2, 2).within(BOUND_3, EXHAUSTIVE),
        model(3, 1),
        model(4, 1).within(WIDE, BOUND_2),
    ]
}

#[derive(Default)]
struct World {
    job: Job,
    exclusion: Exclusion,
    /// The two halves of an element wider than any instruction.
    element: [Data; 2],
}

/// Every rank adds one to an element that no single instruction can update.
pub(super) fn counted(ranks: usize, rounds: u32, sites: (Site, Site)) {
    let w = run(ranks, World::default, move |w, _| {
        let [low, high] = &w.element;
        for _ in 0..rounds {
            let before = w.exclusion.run(sites, &w.job.waiter(), || {
                let before = low.get();
                assert_eq!(before, high.get(), "half of an accumulate");
                low.set(before + 1);
                high.set(before + 1);
                before
            });
            assert!(before.is_ok(), "a wait ended although the job has not failed");
        }
    });
    assert_eq!(w.element[0].get(), ranks as u32 * rounds, "an accumulate is lost");
}
