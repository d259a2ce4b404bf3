//! Runs the protocols of watching on the real machine, with threads as ranks, in thousands of iterations
//! with real sleeps.

use super::notify::{self, NotifyCounter};
use super::{Bell, Watchers, watch};
use crate::prim::{Backoff, FailedWord, JobFailed, Waiter, Word64};

const ROUNDS: u64 = 1000;

/// A window of one word for each rank, and how its ranks wait.
struct StressWindow {
    words: Vec<Word64>,
    bells: Vec<Bell>,
    watchers: Watchers,
    failed: FailedWord,
    backoff: Backoff,
}

impl StressWindow {
    fn new(ranks: usize) -> StressWindow {
        StressWindow {
            words: (0..ranks).map(|_| Word64::default()).collect(),
            bells: (0..ranks).map(|_| Bell::default()).collect(),
            watchers: Watchers::default(),
            failed: FailedWord::default(),
            backoff: Backoff::new(ranks, 2),
        }
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

    /// One thread per rank; returns when all have returned.
    fn run(&self, rank: impl Fn(u32) -> Result<(), JobFailed> + Sync) {
        std::thread::scope(|scope| {
            for me in 0..self.words.len() as u32 {
                let rank = &rank;
                scope.spawn(move || assert_eq!(rank(me), Ok(())));
            }
        });
    }
}

#[test]
fn a_watcher_sees_every_turn() {
    let window = StressWindow::new(2);
    window.run(|me| {
        let [mine, theirs] = [me as usize, 1 - me as usize];
        let write = |round| {
            window.words[theirs].store(round);
            super::flush();
            watch::ring(&window.watchers, [&window.bells[theirs]]);
        };
        for round in 1..=ROUNDS {
            if me == 0 {
                write(round);
            }
            let look = || window.words[mine].load() == round;
            watch::until(&window.watchers, &window.bells[mine], look, &window.waiter())?;
            if me == 1 {
                write(round);
            }
        }
        Ok(())
    });
}

#[test]
fn notifications_are_consumed_across_the_wrap() {
    let window = StressWindow::new(2);
    let counters = [NotifyCounter::default(), NotifyCounter::default()];
    let start = u32::MAX - 5;
    for counter in &counters {
        notify::notify(counter, start);
    }
    window.run(|me| {
        let (mine, theirs) = (&counters[me as usize], &counters[1 - me as usize]);
        let mut seen = start;
        assert!(!notify::test(mine, &mut seen, 3), "the other is never three ahead");
        for _ in 0..ROUNDS {
            notify::notify(theirs, 2);
            notify::wait(mine, &mut seen, 2, &window.waiter())?;
        }
        Ok(())
    });
    let end = start.wrapping_add(2 * ROUNDS as u32);
    assert!(counters.iter().all(|counter| notify::outstanding(counter, end) == 0));
}
