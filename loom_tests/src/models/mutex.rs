//! The mutex over window operations.

use crate::explore::{BOUND_2, BOUND_3, BOUND_5, Model};
use crate::memory::Memory;
use crate::protocol::{Cell, mcs::Mcs};
use crate::world::{Data, passed, run};

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name, ranks, run: fn(usize)| Model::new("mutex", name, ranks, run);
    let with_bells = |name, ranks, run: fn(usize)| model(name, ranks, run).with_full_barrier();
    vec![
        model("counted", 2, |n| counted(n, 1, Memory::new)),
        model("counted twice", 2, |n| counted(n, 2, Memory::new)).within(BOUND_3, BOUND_5),
        model("counted", 3, |n| counted(n, 1, Memory::new)).within(BOUND_2, BOUND_3),
        model("counted", 2, |n| counted(n, 1, Memory::new)).contending(),
        model("counted", 3, |n| counted(n, 1, Memory::new)).within(BOUND_2, BOUND_3).contending(),
        model("tried", 2, tried),
        model("tried", 3, tried).within(BOUND_2, BOUND_3),
        with_bells("with bells", 2, |n| counted(n, 1, bells)).parked().within(BOUND_3, BOUND_5),
        with_bells("with bells", 2, |n| counted(n, 1, bells)).within(BOUND_2, BOUND_3),
        with_bells("with bells", 3, |n| counted(n, 1, bells)).parked().within(BOUND_2, BOUND_2),
    ]
}

fn bells(ranks: usize, words: usize) -> Memory {
    Memory::new(ranks, words).with_bells()
}

struct World {
    memory: Memory,
    count: Data,
}

impl World {
    fn mutex(me: usize) -> Mcs {
        Mcs { tail: Cell { rank: 1, index: 2 }, node: 0, me: me as u32 }
    }

    fn count(&self) {
        self.count.set(self.count.get() + 1);
    }
}

/// Every rank counts under the mutex, whose home is rank 1.
fn counted(ranks: usize, rounds: u32, memory: fn(usize, usize) -> Memory) {
    let world = move || World { memory: memory(ranks, 3), count: Data::default() };
    let w = run(ranks, world, move |w, me| {
        let mutex = World::mutex(me);
        for _ in 0..rounds {
            passed(mutex.lock(&w.memory));
            w.count();
            passed(mutex.unlock(&w.memory));
        }
    });
    assert_eq!(w.count.get(), ranks as u32 * rounds, "a count is lost");
}

/// A rank that does not get it immediately queues.
fn tried(ranks: usize) {
    let world = move || World { memory: Memory::new(ranks, 3), count: Data::default() };
    let w = run(ranks, world, |w, me| {
        let mutex = World::mutex(me);
        if mutex.try_lock(&w.memory) != Ok(true) {
            passed(mutex.lock(&w.memory));
        }
        w.count();
        passed(mutex.unlock(&w.memory));
    });
    assert_eq!(w.count.get(), ranks as u32, "a count is lost");
}
