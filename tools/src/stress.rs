//! Runs the protocols on the real machine, with threads as ranks: what the models show step by step must
//! also hold in thousands of iterations.
#![allow(clippy::disallowed_types, reason = "stands for the words of a window")]
#![allow(clippy::disallowed_methods, reason = "stands for a flush")]

use crate::protocol::{Cell, Cells, counter, mcs::Mcs, queue::Queue};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering, fence};

const ROUNDS: u64 = 1000;

/// The words of a window: one part per rank.
struct Memory(Vec<Vec<AtomicU64>>);

impl Memory {
    fn new(ranks: usize, words: u64) -> Memory {
        let part = || (0..words).map(|_| AtomicU64::default()).collect();
        Memory((0..ranks).map(|_| part()).collect())
    }

    fn word(&self, at: Cell) -> &AtomicU64 {
        &self.0[at.rank as usize][at.index as usize]
    }

    fn load(&self, at: Cell) -> u64 {
        self.word(at).load(Ordering::Relaxed)
    }

    /// One thread per rank; returns when all have returned.
    fn run(&self, rank: impl Fn(u32) -> Result<(), Infallible> + Sync) {
        std::thread::scope(|scope| {
            for me in 0..self.0.len() as u32 {
                let rank = &rank;
                scope.spawn(move || assert_eq!(rank(me), Ok(())));
            }
        });
    }
}

impl Cells for Memory {
    type Error = Infallible;

    fn fetch(&self, at: Cell) -> Result<u64, Infallible> {
        Ok(self.load(at))
    }

    fn replace(&self, at: Cell, value: u64) -> Result<u64, Infallible> {
        Ok(self.word(at).swap(value, Ordering::Relaxed))
    }

    fn add(&self, at: Cell, n: u64) -> Result<u64, Infallible> {
        Ok(self.word(at).fetch_add(n, Ordering::Relaxed))
    }

    fn compare_and_swap(&self, at: Cell, expected: u64, new: u64) -> Result<u64, Infallible> {
        let order = Ordering::Relaxed;
        let (Ok(before) | Err(before)) =
            self.word(at).compare_exchange(expected, new, order, order);
        Ok(before)
    }

    fn flush(&self, _: u32) -> Result<(), Infallible> {
        fence(Ordering::SeqCst);
        Ok(())
    }

    fn contend(
        &self,
        mut attempt: impl FnMut() -> Result<bool, Infallible>,
    ) -> Result<bool, Infallible> {
        (0..10).try_fold(false, |done, _| Ok(done || attempt()?))
    }

    fn wait_while(&self, at: Cell, value: u64) -> Result<u64, Infallible> {
        while self.load(at) == value {
            std::thread::yield_now();
        }
        fence(Ordering::SeqCst);
        Ok(self.load(at))
    }
}

#[test]
fn a_mutex_excludes() {
    let memory = Memory::new(4, 5);
    let mutex = |me| Mcs { tail: Cell { rank: 1, index: 2 }, node: 0, me };
    let (low, high) = (Cell { rank: 0, index: 3 }, Cell { rank: 2, index: 4 });
    memory.run(|me| {
        for round in 0..ROUNDS {
            if round % 3 != 0 || !mutex(me).try_lock(&memory)? {
                mutex(me).lock(&memory)?;
            }
            let now = memory.load(low);
            assert_eq!(now, memory.load(high), "two ranks inside");
            memory.word(low).store(now + 1, Ordering::Relaxed);
            memory.word(high).store(now + 1, Ordering::Relaxed);
            mutex(me).unlock(&memory)?;
        }
        Ok(())
    });
    assert_eq!(memory.load(low), 4 * ROUNDS);
}

#[test]
fn a_queue_keeps_every_item_once_and_in_order() {
    const SLOTS: u64 = 3;
    let memory = Memory::new(4, Queue::words(SLOTS) + SLOTS);
    let queue = Queue { first: Cell { rank: 0, index: 0 }, capacity: SLOTS };
    let item = |slot| Cell { rank: 0, index: Queue::words(SLOTS) + slot };
    let sum = Cell { rank: 3, index: 0 };
    memory.run(|me| {
        let mut last = [0, 0];
        for round in 1..=ROUNDS {
            if me < 2 {
                let value = 2 * round + u64::from(me);
                queue.push(&memory, |slot| memory.replace(item(slot), value).map(drop))?;
            } else {
                let value = queue.pop(&memory, |slot| memory.fetch(item(slot)))?;
                let (producer, round) = ((value % 2) as usize, value / 2);
                assert!(round > last[producer], "an item of rank {producer} is late, or twice");
                last[producer] = round;
                counter::take_tickets(&memory, sum, round)?;
            }
        }
        Ok(())
    });
    assert_eq!(memory.load(sum), ROUNDS * (ROUNDS + 1));
    assert_eq!(queue.try_pop(&memory, |_| Ok(())), Ok(None), "it is empty");
}
