//! The barrier of a communicator, and the staging area that its collectives use.

use crate::explore::{BOUND_2, BOUND_3, EXHAUSTIVE, Model, WIDE};
use crate::sync::channel::MailWords;
use crate::sync::{BarrierWords, Round, arrive, collective, pass, try_pass};
use crate::world::{Data, Job, each, passed, run};

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name, ranks, run: fn(usize)| Model::new("collective", name, ranks, run);
    vec![
        model("staging", 2, |n| staging(n, 2, 3)),
        model("staging", 3, |n| staging(n, 2, 1)).within(BOUND_2, EXHAUSTIVE),
        model("staging thrice", 3, |n| staging(n, 2, 3)).within(WIDE, WIDE),
        model("staging", 4, |n| staging(n, 2, 1)).within(WIDE, BOUND_2),
        model("rung", 2, |n| rung(n, 2)).within(BOUND_2, EXHAUSTIVE),
        model("rung", 2, |n| rung(n, 1)).parked().within(BOUND_2, BOUND_3),
        model("rung", 3, |n| rung(n, 1)).within(WIDE, BOUND_2),
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
    /// Where rank 0 hears of what it does not wait for.
    mail: MailWords,
}

/// Each rank writes its own slot, all pass one barrier, each reads every slot; the next chunk
/// takes the other slots, so one barrier per chunk is enough.
fn staging(ranks: usize, buffers: usize, chunks: usize) {
    let world = move || World {
        job: Job::default(),
        words: BarrierWords::default(),
        slots: (0..ranks).map(|_| each(buffers)).collect(),
        mail: MailWords::default(),
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

/// [`staging`] in which rank 0 looks whether all have arrived, and waits until its bell rings.
fn rung(ranks: usize, chunks: usize) {
    let world = move || World {
        job: Job::default(),
        words: BarrierWords::default(),
        slots: (0..ranks).map(|_| each(2)).collect(),
        mail: MailWords::default(),
    };
    run(ranks, world, move |w, me| {
        let (ranks, mut round) = (ranks as u32, Round::default());
        for chunk in 0..chunks {
            let slot = chunk % 2;
            w.slots[me][slot].set(chunk as u32 + 1);
            let is_last = arrive(&w.words, ranks, &mut round).expect("no rank fails");
            if me == 0 {
                loop {
                    let seen = w.mail.look();
                    if let Some(passes) = try_pass(&w.words, ranks, &mut round, false) {
                        break passed(passes);
                    }
                    passed(w.job.waiter().until(w.mail.bell(), |rung| rung != seen).map(drop));
                }
            } else {
                passed(pass(&w.words, ranks, &mut round, &w.job.waiter()));
                if is_last {
                    w.mail.ring();
                }
            }
            for slots in &w.slots {
                assert_eq!(slots[slot].get(), chunk as u32 + 1, "contribution");
            }
        }
    });
}
