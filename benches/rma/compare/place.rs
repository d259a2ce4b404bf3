//! Where a virtual machine's processors are. The way of a cache line between two of them takes several times as long at
//! one time as at another, because the host moves them. Only starts at the same time are alike.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "bare instructions")]

use crate::machine;
use std::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire};
use std::time::{Duration, Instant};

/// Round trips of one measurement, and measurements, of which the shortest counts.
const TRIPS: u32 = 2000;
const MEASUREMENTS: u32 = 5;
/// Times that differ by more than this factor are of different places.
const ALIKE: f64 = 1.4;
/// How often a job is started until it has the right place, and how long that may take.
const STARTS: u32 = 4;
const LONGEST: Duration = Duration::from_secs(10);

/// The starts of one suite in one round: all at the place of the first.
#[derive(Default)]
pub struct SamePlace {
    first: Option<f64>,
}

/// How often a start was repeated, and how many did not have the place of the first in the end.
#[derive(Default)]
pub struct Moves {
    pub repeated: u32,
    pub elsewhere: u32,
}

impl SamePlace {
    /// Runs `start`, and again if the processors were elsewhere before or after it; the last result.
    pub fn run<R>(&mut self, moves: &mut Moves, mut start: impl FnMut() -> R) -> R {
        let (mut left, begun) = (STARTS, Instant::now());
        loop {
            left -= 1;
            let before = round_trip();
            let result = start();
            let after = round_trip();
            let wanted = *self.first.get_or_insert(after);
            if are_alike(before, wanted) && are_alike(after, wanted) {
                return result;
            }
            if left == 0 || begun.elapsed() > LONGEST {
                moves.elsewhere += 1;
                return result;
            }
            moves.repeated += 1;
        }
    }
}

fn are_alike(one: f64, other: f64) -> bool {
    one <= other * ALIKE && other <= one * ALIKE
}

/// Nanoseconds that a cache line takes from one processor to the next one and back; zero where there is only one.
fn round_trip() -> f64 {
    if machine::cores() < 2 {
        return 0.0;
    }
    let line = AtomicU32::new(0);
    // Each waits until the number is its own, even or odd, and then makes it the other's.
    let play = |own: u32| {
        machine::pin_to(own as usize);
        let (mut begun, mut shortest) = (Instant::now(), f64::INFINITY);
        for trip in 0..TRIPS * MEASUREMENTS {
            while line.load(Acquire) != 2 * trip + own {
                std::hint::spin_loop();
            }
            if trip % TRIPS == TRIPS - 1 {
                shortest = shortest.min(begun.elapsed().as_nanos() as f64);
                begun = Instant::now();
            }
            line.fetch_add(1, AcqRel);
        }
        shortest / f64::from(TRIPS)
    };
    std::thread::scope(|scope| {
        scope.spawn(|| play(1));
        scope.spawn(|| play(0)).join().unwrap_or(f64::INFINITY)
    })
}
