//! The barrier of a communicator, and the staging area that its collectives use.

use crate::explore::{BOUND_2, BOUND_3, EXHAUSTIVE, Model, WIDE};
use crate::prim::{Fault, ParkWord, planted};
use crate::sync::channel::MailWords;
use crate::sync::{BarrierWords, Round, arrive, await_published, collective, pass, try_pass};
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
        model("ahead", 2, |n| ahead(n, 3)).within(BOUND_2, BOUND_3),
        model("ahead", 3, |n| ahead(n, 2)).within(WIDE, BOUND_2),
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
            let is_last = arrive(&w.words, ranks, &mut round, || ()).expect("no rank fails");
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

/// The slots of a staging area of which rank 0 gives the others something, and does not wait for them.
struct Slots {
    job: Job,
    barriers: Vec<BarrierWords>,
    /// Of each slot, what rank 0 has staged, and the word by which it publishes that.
    given: Vec<Data>,
    published: Vec<ParkWord>,
    /// Of each slot, what the others have staged: what they call.
    called: Vec<Vec<Data>>,
}

/// Rank 0 goes ahead in each collective, the others wait for its word alone. In two slots a rank stages
/// when all have arrived at the collective before, so they have left the one before that; then it
/// compares what they have called there.
fn ahead(ranks: usize, collectives: usize) {
    const SLOTS: usize = 2;
    let world = move || Slots {
        job: Job::default(),
        barriers: (0..SLOTS).map(|_| BarrierWords::default()).collect(),
        given: each(SLOTS),
        published: (0..SLOTS).map(|_| ParkWord::default()).collect(),
        called: (0..ranks).map(|_| each(SLOTS)).collect(),
    };
    run(ranks, world, move |w, me| {
        let (count, mut rounds) = (ranks as u32, [Round::default(); SLOTS]);
        let settle = |number: usize, rounds: &mut [Round; SLOTS]| {
            let slot = number % SLOTS;
            passed(pass(&w.barriers[slot], count, &mut rounds[slot], &w.job.waiter()));
            for called in &w.called {
                assert_eq!(called[slot].get(), number as u32 + 1, "what a rank has called");
            }
        };
        for number in 0..collectives {
            let (slot, call) = (number % SLOTS, number as u32 + 1);
            if number > 0 && !planted(Fault::StagedTooSoon) {
                settle(number - 1, &mut rounds);
            }
            let publish = || {
                if me == 0 {
                    w.published[slot].store_and_wake(call);
                }
            };
            if planted(Fault::PublishedFirst) {
                publish();
            }
            w.called[me][slot].set(call);
            if me == 0 {
                w.given[slot].set(call);
            }
            let published = || {
                if !planted(Fault::PublishedFirst) {
                    publish();
                }
            };
            arrive(&w.barriers[slot], count, &mut rounds[slot], published).expect("none fails");
            if me != 0 {
                let waiter = w.job.waiter();
                passed(await_published(&w.published[slot], call, &waiter));
                assert_eq!(w.given[slot].get(), call, "what the root gives");
            }
        }
        settle(collectives - 1, &mut rounds);
    });
}
