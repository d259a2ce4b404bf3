//! The barrier of a communicator, and the staging area that its collectives use.

use crate::explore::{BOUND_2, EXHAUSTIVE, Model, WIDE};
use crate::sync::{BarrierWords, Round, collective};
use crate::world::{Data, Job, each, passed, run};

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name, ranks, run: fn(usize)| Model::new("collective", name, ranks, run);
    vec![
        model("staging", 2, |n| staging(n, 2, 3)),
        model("staging", 3, |n| staging(n, 2, 1)).within(BOUND_2, EXHAUSTIVE),
        model("staging thrice", 3, |n| staging(n, 2, 3)).within(WIDE, WIDE),
        model("staging", 4, |n| staging(n, 2, 1)).within(WIDE, BOUND_2),
    ]
}

/// A staging area that is wrong: one slot per rank, so that the next chunk overwrites what a
/// slower rank has still to read.
pub fn one_buffer_only() -> Model {
    Model::new("collective", "one buffer only", 2, |n| staging(n, 1, 2))
}

struct World {
    job: Job,
    words: BarrierWords,
    /// Of each rank, `buffers` slots.
    slots: Vec<Vec<Data>>,
}

/// Each rank writes its own slot, all pass one barrier, each reads every slot; the next chunk
/// takes the other slots, so one barrier per chunk is enough.
fn staging(ranks: usize, buffers: usize, chunks: usize) {
    let world = move || World {
        job: Job::default(),
        words: BarrierWords::default(),
        slots: (0..ranks).map(|_| each(buffers)).collect(),
    };
    run(ranks, world, move |w, me| {
        let mut round = Round::default();
        for chunk in 0..chunks {
            let slot = chunk % buffers;
            w.slots[me][slot].set(chunk as u32 + 1);
            passed(collective(&w.words, ranks as u32, &mut round, &w.job.waiter()));
            for slots in &w.slots {
                assert_eq!(slots[slot].get(), chunk as u32 + 1, "contribution");
            }
        }
    });
}
