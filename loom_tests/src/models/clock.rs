//! The vector clocks of a checked job.

use crate::explore::{BOUND_2, BOUND_3, Model};
use crate::prim::{Fault, Word64, planted};
use crate::sync::clock::{merge, publish, raise, raise_own};
use crate::sync::{BarrierWords, Round, collective};
use crate::world::{Job, each, passed, run};

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name, ranks, run: fn(usize)| Model::new("clock", name, ranks, run);
    vec![
        model("raised", 2, raised),
        model("raised", 3, raised).within(BOUND_2, BOUND_3),
        model("published", 2, published),
    ]
}

struct World {
    job: Job,
    barrier: BarrierWords,
    /// One clock, or one for each rank.
    words: Vec<Word64>,
}

fn world(words: usize) -> World {
    World { job: Job::default(), barrier: BarrierWords::default(), words: each(words) }
}

fn pass_barrier(w: &World, ranks: usize) {
    passed(collective(&w.barrier, ranks as u32, &mut Round::default(), &w.job.waiter()));
}

/// What each rank knows: its own clock, an earlier one of the next rank, and another one of a rank that is not there.
fn known(ranks: usize, me: usize) -> Vec<u64> {
    let mut clock = vec![0; ranks + 1];
    clock[(me + 1) % ranks] = 1;
    clock[me] = 2;
    clock[ranks] = 1 + me as u64;
    clock
}

/// All ranks raise the same words, and once more when their own number has grown; after a barrier each knows what all have
/// known.
fn raised(ranks: usize) {
    run(
        ranks,
        || world(ranks + 1),
        move |w, me| {
            let mut clock = known(ranks, me);
            let mut raise_twice = || {
                raise(&w.words, &clock, me);
                clock[me] += 1;
                raise_own(&w.words, &clock, me);
            };
            if planted(Fault::ClockLate) {
                pass_barrier(w, ranks);
                raise_twice();
            } else {
                raise_twice();
                pass_barrier(w, ranks);
            }
            let mut learnt = 0;
            merge(&mut clock, &w.words, |_, _| learnt += 1);
            let mut all = vec![3; ranks];
            all.push(ranks as u64);
            assert_eq!(clock, all, "a clock is lost");
            assert!(learnt >= ranks - 1, "what was learnt");
        },
    );
}

/// Each rank has words of its own.
fn published(ranks: usize) {
    run(
        ranks,
        || world(ranks * (ranks + 1)),
        move |w, me| {
            let of = |rank: usize| &w.words[rank * (ranks + 1)..][..ranks + 1];
            let mut clock = known(ranks, me);
            publish(of(me), &clock);
            pass_barrier(w, ranks);
            (0..ranks).for_each(|rank| merge(&mut clock, of(rank), |_, _| ()));
            assert_eq!(clock[ranks], ranks as u64, "a clock is lost");
            assert!(clock[..ranks].iter().all(|known| *known == 2), "a clock is lost");
        },
    );
}
