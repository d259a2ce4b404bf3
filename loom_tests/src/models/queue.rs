//! The queue over window operations.

use crate::explore::{BOUND_2, BOUND_3, Bounds, EXHAUSTIVE, Model};
use crate::memory::Memory;
use crate::prim::JobFailed;
use crate::protocol::{Cell, queue::Queue};
use crate::world::{Data, each, passed, run};

/// Three ranks that sleep, in the ordinary test command.
const BOUND_1: Bounds = Bounds { polls: 1, preemptions: Some(1) };

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name, ranks, run: fn(usize)| Model::new("queue", name, ranks, run);
    let with_bells = |ranks, run| model("with bells", ranks, run).with_full_barrier().parked();
    vec![
        model("one slot", 2, |n| handed_over(n, 1, Memory::new)).within(BOUND_3, EXHAUSTIVE),
        model("two slots", 2, |n| handed_over(n, 2, Memory::new)).within(BOUND_3, EXHAUSTIVE),
        model("two producers", 3, |n| two_to_one(n, Memory::new)).within(BOUND_2, BOUND_3),
        model("two consumers", 3, one_to_two).within(BOUND_2, BOUND_3),
        model("tried", 2, tried).within(BOUND_3, EXHAUSTIVE),
        with_bells(2, |n| handed_over(n, 1, bells)).within(BOUND_2, BOUND_3),
        with_bells(3, |n| two_to_one(n, bells)).within(BOUND_1, BOUND_2),
    ]
}

fn bells(ranks: usize, words: usize) -> Memory {
    Memory::new(ranks, words).with_bells()
}

struct World {
    memory: Memory,
    queue: Queue,
    slots: Vec<Data>,
}

fn world(memory: Memory, capacity: u64) -> World {
    let queue = Queue { first: Cell { rank: 0, index: 0 }, capacity };
    World { memory, queue, slots: each(capacity as usize) }
}

impl World {
    fn put(&self, slot: u64, item: u32) -> Result<(), JobFailed> {
        self.slots[slot as usize].set(item);
        Ok(())
    }

    fn get(&self, slot: u64) -> Result<u32, JobFailed> {
        Ok(self.slots[slot as usize].get())
    }

    fn push(&self, item: u32) {
        passed(self.queue.push(&self.memory, |slot| self.put(slot, item)));
    }

    fn pop(&self) -> u32 {
        let item = self.queue.pop(&self.memory, |slot| self.get(slot));
        item.expect("a wait ended although the job has not failed")
    }
}

/// One rank appends more items than there are slots, the other takes them out in order.
fn handed_over(ranks: usize, capacity: u64, memory: fn(usize, usize) -> Memory) {
    let words = Queue::words(capacity) as usize;
    run(
        ranks,
        move || world(memory(ranks, words), capacity),
        move |w, me| {
            for item in 1..=capacity as u32 + 1 {
                if me == 0 { w.push(item) } else { assert_eq!(w.pop(), item, "the next item") }
            }
        },
    );
}

/// Two ranks append an item each to a queue of one slot.
fn two_to_one(ranks: usize, memory: fn(usize, usize) -> Memory) {
    run(
        ranks,
        move || world(memory(ranks, Queue::words(1) as usize), 1),
        |w, me| match me {
            2 => assert_eq!(w.pop() + w.pop(), 3, "both items"),
            _ => w.push(me as u32 + 1),
        },
    );
}

/// Two ranks take an item each out of a queue of one slot.
fn one_to_two(ranks: usize) {
    run(
        ranks,
        move || world(Memory::new(ranks, Queue::words(1) as usize), 1),
        |w, me| match me {
            2 => (1..=2).for_each(|item| w.push(item)),
            _ => assert!((1..=2).contains(&w.pop()), "an item"),
        },
    );
}

/// The variants that never block, on a queue of one slot.
fn tried(ranks: usize) {
    run(
        ranks,
        move || world(Memory::new(ranks, Queue::words(1) as usize), 1),
        |w, me| {
            if me == 0 {
                assert_eq!(w.queue.try_push(&w.memory, |slot| w.put(slot, 1)), Ok(true));
                if w.queue.try_push(&w.memory, |slot| w.put(slot, 2)) != Ok(true) {
                    w.push(2);
                }
            } else {
                let first = w.queue.try_pop(&w.memory, |slot| w.get(slot));
                let first = first.expect("no failure").unwrap_or_else(|| w.pop());
                assert_eq!((first, w.pop()), (1, 2), "items in order");
                assert_eq!(w.queue.try_pop(&w.memory, |slot| w.get(slot)), Ok(None), "empty");
            }
        },
    );
}
