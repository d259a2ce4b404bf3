//! The barrier of a communicator, and the staging area that its collectives use.

use crate::explore::{BOUND_1, BOUND_2, BOUND_3, EXHAUSTIVE, Model, WIDE};
use crate::prim::{JobFailed, ParkWord, Word32};
use crate::sync::channel::MailWords;
use crate::sync::{
    Arrivals, Barrier, BarrierWords, Round, Tree, TreeLine, await_published, collective,
    expect_ring, first_unsettled, first_unsettled_buffer, tree_lines,
};
use crate::world::{Data, Job, each, passed, run};

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name, ranks, run: fn(usize)| Model::new("collective", name, ranks, run);
    vec![
        model("staging", 2, |n| staging(Words::counted, n, 2, 3)),
        model("staging", 3, |n| staging(Words::counted, n, 2, 1)).within(BOUND_2, EXHAUSTIVE),
        model("staging thrice", 3, |n| staging(Words::counted, n, 2, 3)).within(WIDE, WIDE),
        model("staging", 4, |n| staging(Words::counted, n, 2, 1)).within(WIDE, BOUND_2),
        model("staging, a tree", 3, |n| staging(Words::tree, n, 2, 1)).within(BOUND_2, BOUND_3),
        model("staging, a tree", 3, |n| staging(Words::tree, n, 2, 1))
            .parked()
            .within(BOUND_1, BOUND_2),
        model("staging thrice, a tree", 3, |n| staging(Words::tree, n, 2, 3)).within(WIDE, WIDE),
        model("staging, a tree", 4, |n| staging(Words::tree, n, 2, 1)).within(WIDE, WIDE),
        model("rung", 2, |n| rung(Words::counted, n, 2)).within(BOUND_2, EXHAUSTIVE),
        model("rung", 2, |n| rung(Words::counted, n, 1)).parked().within(BOUND_2, BOUND_3),
        model("rung", 3, |n| rung(Words::counted, n, 1)).within(WIDE, BOUND_2),
        model("rung, a tree", 3, |n| rung(Words::tree, n, 1)).within(WIDE, BOUND_2),
        model("rung, each", 2, |n| rung(Words::each, n, 2)).within(BOUND_2, EXHAUSTIVE),
        model("rung, each", 2, |n| rung(Words::each, n, 1)).parked().within(BOUND_2, BOUND_3),
        model("rung, each", 3, |n| rung(Words::each, n, 1)).within(WIDE, BOUND_2),
        model("ahead", 2, |n| ahead(Words::counted, n, SLOTS, 3)).within(BOUND_2, BOUND_3),
        model("ahead", 3, |n| ahead(Words::counted, n, SLOTS, 2)).within(WIDE, BOUND_2),
        model("ahead, a tree", 3, |n| ahead(Words::tree, n, SLOTS, 2)).within(WIDE, BOUND_2),
        model("ahead", 2, |n| ahead(Words::counted, n, SLOTS, 1)).parked().within(BOUND_2, BOUND_3),
        model("ahead, each", 2, |n| ahead(Words::each, n, SLOTS, 3)).within(BOUND_2, BOUND_3),
        model("ahead, each", 3, |n| ahead(Words::each, n, SLOTS, 2)).within(WIDE, BOUND_2),
        model("ahead, each", 3, |n| ahead(Words::each, n, SLOTS, 1))
            .parked()
            .within(BOUND_1, BOUND_2),
        model("ahead, each, far", 2, |n| ahead(Words::each, n, 4, 3)).within(BOUND_2, BOUND_3),
        model("ahead, buffers", 2, |n| ahead(Words::counted, n, 8, 4)).within(BOUND_2, BOUND_3),
        model("ahead, buffers, each", 2, |n| ahead(Words::each, n, 8, 4)).within(BOUND_2, BOUND_3),
    ]
}

/// A staging area that is wrong: one slot per rank, so that the next chunk overwrites what a
/// slower rank has still to read.
pub fn one_buffer_only() -> Model {
    Model::new("collective", "one buffer only", 2, |n| staging(Words::counted, n, 1, 2))
}

/// Of each slot, the words by which the ranks arrive.
struct Words {
    /// Whether arrivals are counted; otherwise each rank waits for the words that the others publish.
    is_counted: bool,
    barriers: Vec<BarrierWords>,
    /// Those of the trees in which arrivals are combined; none without trees.
    lines: Vec<TreeLine>,
    /// Those by which the ranks publish what they have staged.
    published: Vec<Vec<ParkWord>>,
    /// Whether a rank has to be woken by its bell.
    rings: Word32,
}

impl Words {
    fn counted(ranks: usize, slots: usize) -> Words {
        Words { is_counted: true, ..Words::each(ranks, slots) }
    }

    fn tree(ranks: usize, slots: usize) -> Words {
        Words { lines: each(tree_lines(ranks as u32) as usize), ..Words::counted(ranks, slots) }
    }

    fn each(ranks: usize, slots: usize) -> Words {
        let published = (0..slots).map(|_| each(ranks)).collect();
        let (barriers, rings) = (each(slots), Word32::default());
        Words { is_counted: false, barriers, lines: Vec::new(), published, rings }
    }

    fn barrier(&self, slot: usize, me: usize) -> Barrier<'_> {
        Barrier::new(&self.barriers[slot], Tree::of(&self.lines, slot, || me as u32))
    }

    fn arrivals(&self, slot: usize, me: usize) -> Arrivals<'_> {
        if self.is_counted {
            return Arrivals::Counted(self.barrier(slot, me));
        }
        let (own, all) = (me as u32, &self.published[slot][..]);
        let (rings, asleep) = (&self.rings, &self.barriers[slot]);
        Arrivals::Each { own, all, rings, asleep, all_take_part: true }
    }
}

struct World {
    job: Job,
    words: Words,
    /// Of each rank, `buffers` slots.
    slots: Vec<Vec<Data>>,
}

/// Each rank writes its own slot, all pass one barrier, each reads every slot; the next chunk
/// takes the other slots, so one barrier per chunk is enough.
fn staging(words: fn(usize, usize) -> Words, ranks: usize, buffers: usize, chunks: usize) {
    let world = move || World {
        job: Job::default(),
        words: words(ranks, 1),
        slots: (0..ranks).map(|_| each(buffers)).collect(),
    };
    run(ranks, world, move |w, me| {
        let mut round = Round::default();
        let words = w.words.barrier(0, me);
        for chunk in 0..chunks {
            let slot = chunk % buffers;
            w.slots[me][slot].set(chunk as u32 + 1);
            passed(collective(words, ranks as u32, &mut round, &w.job.waiter()));
            for slots in &w.slots {
                assert_eq!(slots[slot].get(), chunk as u32 + 1, "contribution");
            }
        }
    });
}

/// The words of [`rung`].
struct Rung {
    job: Job,
    words: Words,
    /// Of each rank, two slots.
    slots: Vec<Vec<Data>>,
    /// Where rank 0 hears of what it does not wait for.
    mail: MailWords,
}

/// [`staging`] in which rank 0 looks whether all have arrived, and waits until its bell rings.
fn rung(words: fn(usize, usize) -> Words, ranks: usize, chunks: usize) {
    let world = move || Rung {
        job: Job::default(),
        words: words(ranks, 2),
        slots: (0..ranks).map(|_| each(2)).collect(),
        mail: MailWords::default(),
    };
    run(ranks, world, move |w, me| {
        let (ranks, mut rounds) = (ranks as u32, [Round::default(); 2]);
        for chunk in 0..chunks {
            let slot = chunk % 2;
            let (words, round) = (w.words.arrivals(slot, me), &mut rounds[slot]);
            w.slots[me][slot].set(chunk as u32 + 1);
            if me == 0 {
                expect_ring(&w.words.rings);
            }
            let is_last = words.arrive(ranks, round, None).expect("no rank fails");
            if me == 0 {
                loop {
                    let seen = w.mail.look();
                    if let Some(passes) = words.try_pass(ranks, round, false) {
                        break passed(passes);
                    }
                    passed(w.job.waiter().until(w.mail.bell(), |rung| rung != seen).map(drop));
                }
            } else {
                passed(words.pass(ranks, round, &w.job.waiter()));
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
    words: Words,
    /// Of each slot, or of each buffer where there are fewer, what rank 0 has staged.
    given: Vec<Data>,
    /// Of each slot, what the others have staged: what they call.
    called: Vec<Vec<Data>>,
}

/// The number of the collective before which rank `me` settles all.
fn first_to_wait_for(number: u64, me: usize, slots: usize) -> u64 {
    match me == 0 && BUFFERS < slots {
        true => match number.checked_sub(BUFFERS as u64) {
            Some(last) => first_unsettled_buffer(last, UNDER_WAY),
            None => 0,
        },
        false => first_unsettled(number, slots as u64),
    }
}

/// Slots of [`ahead`] without buffers, and the buffers with which it has more.
const SLOTS: usize = 2;
const BUFFERS: usize = 2;
/// Each rank leaves a collective before it enters the next.
const UNDER_WAY: u64 = 1;

/// Rank 0 goes ahead in each collective, the others wait for its word alone. In two slots a rank stages
/// when all have arrived at the collective before, so they have left the one before that; then it
/// compares what they have called there, and with more slots in those before too. With more slots, it stages what it gives in one of a few buffers.
fn ahead(words: fn(usize, usize) -> Words, ranks: usize, slots: usize, collectives: usize) {
    let buffers = slots.min(BUFFERS);
    let world = move || Slots {
        job: Job::default(),
        words: words(ranks, slots),
        given: each(buffers),
        called: (0..ranks).map(|_| each(slots)).collect(),
    };
    run(ranks, world, move |w, me| {
        let (count, mut rounds, mut settled) = (ranks as u32, [Round::default(); 8], 0);
        let settle = |number: usize, rounds: &mut [Round; 8], settled: usize| {
            let slot = number % slots;
            let words = w.words.arrivals(slot, me);
            passed(words.pass(count, &mut rounds[slot], &w.job.waiter()));
            // They have arrived in order, so at those before too.
            for before in settled..=number {
                for called in &w.called {
                    assert_eq!(
                        called[before % slots].get(),
                        before as u32 + 1,
                        "what a rank has called"
                    );
                }
            }
            number + 1
        };
        for number in 0..collectives {
            let (slot, buffer, call) = (number % slots, number % buffers, number as u32 + 1);
            if settled < first_to_wait_for(number as u64, me, slots) as usize {
                settled = settle(number - 1, &mut rounds, settled);
            }
            let stage = || -> Result<(), JobFailed> {
                w.called[me][slot].set(call);
                if me == 0 {
                    w.given[buffer].set(call);
                }
                Ok(())
            };
            let words = w.words.arrivals(slot, me);
            let published = (me == 0).then(|| &w.words.published[slot][0]);
            let arrived = words.stage_and_arrive(count, &mut rounds[slot], stage, published);
            arrived.flatten().expect("none fails");
            if me != 0 {
                let (word, waiter) = (&w.words.published[slot][0], w.job.waiter());
                passed(await_published(word, rounds[slot], &waiter));
                assert_eq!(w.given[buffer].get(), call, "what the root gives");
            }
        }
        settle(collectives - 1, &mut rounds, settled);
    });
}
