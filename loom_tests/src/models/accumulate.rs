//! Mutual exclusion inside the library: accumulates, and the allocator of the segment.

use crate::explore::{BOUND_2, BOUND_3, EXHAUSTIVE, Model, WIDE};
use crate::prim::Site;
use crate::sync::Exclusion;
use crate::world::{Data, Job, run};

const USES: [(&str, (Site, Site)); 2] = [
    ("accumulate", (Site::AccumulatePost, Site::AccumulatePre)),
    ("allocate", (Site::HeapPost, Site::HeapPre)),
];

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let mut models = Vec::new();
    for (name, sites) in USES {
        let model = |ranks, rounds| {
            let name = if rounds == 1 { name.to_owned() } else { format!("{name} twice") };
            Model::new("accumulate", &name, ranks, move |n| counted(n, rounds, sites))
        };
        models.push(model(2, 1));
        models.push(model(2, 2).within(BOUND_3, EXHAUSTIVE));
        models.push(model(3, 1));
    }
    let sites = USES[0].1;
    models.push(
        Model::new("accumulate", "accumulate", 4, move |n| counted(n, 1, sites))
            .within(WIDE, BOUND_2),
    );
    models
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
