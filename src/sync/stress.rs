//! Runs the protocols over window operations on the real machine, with threads as ranks: what the
//! models show step by step must also hold in thousands of iterations with real sleeps.

use super::cells::{Cell, Cells};
use super::notify::{self, NotifyCounter};
use super::{Bell, Watchers, counter, mcs::Mcs, queue::Queue, watch};
use crate::prim::{Backoff, FailedWord, JobFailed, Waiter, Word64};

const TURNS: u64 = 1000;

/// A window of words, and how its ranks wait.
struct StressWindow {
    parts: Vec<Vec<Word64>>,
    bells: Vec<Bell>,
    watchers: Watchers,
    failed: FailedWord,
    backoff: Backoff,
}

impl StressWindow {
    fn new(ranks: usize, words: u64) -> StressWindow {
        let part = || (0..words).map(|_| Word64::default()).collect();
        StressWindow {
            parts: (0..ranks).map(|_| part()).collect(),
            bells: (0..ranks).map(|_| Bell::default()).collect(),
            watchers: Watchers::default(),
            failed: FailedWord::default(),
            backoff: Backoff::new(ranks, 2),
        }
    }

    fn word(&self, at: Cell) -> &Word64 {
        &self.parts[at.rank as usize][at.index as usize]
    }

    fn waiter(&self) -> Waiter<'_> {
        Waiter {
            rank: 0,
            failed: &self.failed,
            backoff: &self.backoff,
            account: None,
            progress: None,
        }
    }

    fn update(&self, at: Cell, new: impl Fn(u64) -> u64) -> u64 {
        let mut now = self.word(at).load();
        while let Err(other) = self.word(at).compare_exchange(now, new(now)) {
            now = other;
        }
        now
    }

    /// One thread per rank; returns when all have returned.
    fn run(&self, rank: impl Fn(u32) -> Result<(), JobFailed> + Sync) {
        std::thread::scope(|scope| {
            for me in 0..self.parts.len() as u32 {
                let rank = &rank;
                scope.spawn(move || assert_eq!(rank(me), Ok(())));
            }
        });
    }
}

impl Cells for StressWindow {
    type Error = JobFailed;

    fn fetch(&self, at: Cell) -> Result<u64, JobFailed> {
        Ok(self.word(at).load())
    }

    fn replace(&self, at: Cell, value: u64) -> Result<u64, JobFailed> {
        Ok(self.update(at, |_| value))
    }

    fn add(&self, at: Cell, n: u64) -> Result<u64, JobFailed> {
        Ok(self.update(at, |now| now.wrapping_add(n)))
    }

    fn compare_and_swap(&self, at: Cell, expected: u64, new: u64) -> Result<u64, JobFailed> {
        let (Ok(before) | Err(before)) = self.word(at).compare_exchange(expected, new);
        Ok(before)
    }

    fn flush(&self, rank: u32) -> Result<(), JobFailed> {
        super::flush();
        watch::ring(&self.watchers, [&self.bells[rank as usize]]);
        Ok(())
    }

    fn contend(&self, attempt: impl FnMut() -> Result<bool, JobFailed>) -> Result<bool, JobFailed> {
        self.waiter().contend(attempt)
    }

    fn wait_until(&self, at: Cell, ready: impl Fn(u64) -> bool) -> Result<u64, JobFailed> {
        let found = std::cell::Cell::new(0);
        let look = || {
            found.set(self.word(at).load());
            ready(found.get())
        };
        watch::until(&self.watchers, &self.bells[at.rank as usize], look, &self.waiter())?;
        Ok(found.get())
    }
}

#[test]
fn a_mutex_excludes() {
    let window = StressWindow::new(4, 5);
    let mutex = |me| Mcs { tail: Cell { rank: 1, index: 2 }, node: 0, me };
    let (low, high) = (Cell { rank: 0, index: 3 }, Cell { rank: 2, index: 4 });
    window.run(|me| {
        for turn in 0..TURNS {
            if turn % 3 != 0 || !mutex(me).try_lock(&window)? {
                mutex(me).lock(&window)?;
            }
            let now = window.word(low).load();
            assert_eq!(now, window.word(high).load(), "two ranks inside");
            window.word(low).store(now + 1);
            window.word(high).store(now + 1);
            mutex(me).unlock(&window)?;
        }
        Ok(())
    });
    assert_eq!(window.word(low).load(), 4 * TURNS);
}

#[test]
fn a_queue_keeps_every_item_once_and_in_order() {
    const SLOTS: u64 = 3;
    let window = StressWindow::new(4, Queue::words(SLOTS) + SLOTS);
    let queue = Queue { first: Cell { rank: 0, index: 0 }, capacity: SLOTS };
    let item = |slot| Cell { rank: 0, index: Queue::words(SLOTS) + slot };
    let sum = Cell { rank: 3, index: 0 };
    window.run(|me| {
        let mut last = [0, 0];
        for turn in 1..=TURNS {
            if me < 2 {
                let value = 2 * turn + u64::from(me);
                queue.push(&window, |slot| window.replace(item(slot), value).map(drop))?;
            } else {
                let value = queue.pop(&window, |slot| window.fetch(item(slot)))?;
                let (producer, turn) = ((value % 2) as usize, value / 2);
                assert!(turn > last[producer], "an item of rank {producer} is late, or twice");
                last[producer] = turn;
                counter::take_tickets(&window, sum, turn)?;
            }
        }
        Ok(())
    });
    assert_eq!(window.word(sum).load(), TURNS * (TURNS + 1));
    assert_eq!(queue.try_pop(&window, |_| Ok(())), Ok(None), "it is empty");
}

#[test]
fn a_watcher_sees_every_turn() {
    let window = StressWindow::new(2, 1);
    window.run(|me| {
        let [mine, theirs] = [me, 1 - me].map(|rank| Cell { rank, index: 0 });
        for turn in 1..=TURNS {
            if me == 0 {
                window.word(theirs).store(turn);
                window.flush(theirs.rank)?;
            }
            window.wait_until(mine, |now| now == turn)?;
            if me == 1 {
                window.word(theirs).store(turn);
                window.flush(theirs.rank)?;
            }
        }
        Ok(())
    });
}

#[test]
fn notifications_are_consumed_across_the_wrap() {
    let window = StressWindow::new(2, 1);
    let counters = [NotifyCounter::default(), NotifyCounter::default()];
    let start = u32::MAX - 5;
    counters.iter().for_each(|counter| notify::notify(counter, start));
    window.run(|me| {
        let (mine, theirs) = (&counters[me as usize], &counters[1 - me as usize]);
        let mut seen = start;
        assert!(!notify::test(mine, &mut seen, 3), "the other is never three ahead");
        for _ in 0..TURNS {
            notify::notify(theirs, 2);
            notify::wait(mine, &mut seen, 2, &window.waiter())?;
        }
        Ok(())
    });
    let end = start.wrapping_add(2 * TURNS as u32);
    assert!(counters.iter().all(|counter| notify::outstanding(counter, end) == 0));
}
