//! The counters over window operations.

use crate::explore::{BOUND_2, BOUND_3, Model};
use crate::memory::Memory;
use crate::protocol::Cell;
use crate::protocol::counter::{Sharded, take_tickets};
use crate::sync::{BarrierWords, Round, collective};
use crate::world::{Data, Job, each, passed, run};

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name, ranks, run: fn(usize)| Model::new("counter", name, ranks, run);
    vec![
        model("shards", 2, shards),
        model("shards", 3, shards).within(BOUND_2, BOUND_3),
        model("two threads", 2, two_threads),
        model("reader", 2, reader),
        model("tickets", 2, tickets),
        model("tickets", 3, tickets),
    ]
}

struct World {
    job: Job,
    barrier: BarrierWords,
    memory: Memory,
    taken: Vec<Data>,
}

fn world(ranks: usize) -> World {
    let (job, barrier) = Default::default();
    World { job, barrier, memory: Memory::new(ranks, 1), taken: each(ranks) }
}

fn counter(ranks: usize) -> Sharded {
    Sharded { shard: 0, ranks: ranks as u32 }
}

fn pass_barrier(w: &World, ranks: usize) {
    passed(collective(&w.barrier, ranks as u32, &mut Round::default(), &w.job.waiter()));
}

/// What was added before a synchronisation is counted after it.
fn shards(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        move |w, me| {
            passed(counter(ranks).add(&w.memory, me as u32, 1 + me as u64));
            pass_barrier(w, ranks);
            let sum = (1..=ranks as u64).sum();
            assert_eq!(counter(ranks).read(&w.memory), Ok(sum), "the sum");
        },
    );
}

/// Two threads of one rank add to its shard.
fn two_threads(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        move |w, _| {
            passed(counter(ranks).add(&w.memory, 0, 1));
            pass_barrier(w, ranks);
            assert_eq!(counter(ranks).read(&w.memory), Ok(2), "the sum");
        },
    );
}

/// For one reader the sum never goes back.
fn reader(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        move |w, me| {
            let read = || counter(ranks).read(&w.memory).unwrap_or_default();
            if me == 0 {
                passed(counter(ranks).add(&w.memory, 0, 1));
                passed(counter(ranks).add(&w.memory, 0, 2));
            } else {
                passed(counter(ranks).add(&w.memory, 1, 4));
                let (first, second) = (read(), read());
                assert!((4..=7).contains(&first) && first <= second && second <= 7);
            }
        },
    );
}

/// No two ranks take the same ticket.
fn tickets(ranks: usize) {
    let w = run(
        ranks,
        || world(ranks),
        |w, me| {
            let ticket = take_tickets(&w.memory, Cell { rank: 0, index: 0 }, 1);
            w.taken[me].set(ticket.unwrap_or_default() as u32);
        },
    );
    let mut taken: Vec<_> = w.taken.iter().map(Data::get).collect();
    taken.sort_unstable();
    assert!(taken.iter().copied().eq(0..ranks as u32), "every ticket once");
}
