//! Samples that a neighbour has disturbed. What else the host computes on the same core makes instructions take up to twice as
//! long, for milliseconds; a fixed number of them, before and after a sample, shows that.

use crate::machine;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Steps of the fixed work, and numbers that do not wait for each other in one.
const STEPS: u32 = 1000;
const CHAINS: usize = 6;
/// How often it is done; the shortest time counts.
const TIMES: u32 = 3;
/// How much longer than at best it takes beside a neighbour.
const DISTURBED: f64 = 1.12;
/// How long a process looks for its shortest time.
const LOOK: Duration = Duration::from_millis(100);

/// The shortest work of this process, in nanoseconds.
static LEAST: Mutex<Option<f64>> = Mutex::new(None);

/// How long something took, and the fixed work before or after it on the slowest rank, in nanoseconds.
#[derive(Clone, Copy)]
pub struct Sample {
    pub took: f64,
    pub work: f64,
}

/// How long the fixed work takes now, in nanoseconds. Zero where `ranks` share processors and disturb each other anyway.
pub fn work_now(ranks: u32) -> f64 {
    if ranks as usize > machine::cores() {
        return 0.0;
    }
    let mut known = LEAST.lock().unwrap_or_else(PoisonError::into_inner);
    let (work, started) = (fixed_work(), Instant::now());
    let mut least = known.unwrap_or(f64::INFINITY).min(work);
    while known.is_none() && started.elapsed() < LOOK {
        least = least.min(fixed_work());
    }
    *known = Some(least);
    work
}

fn fixed_work() -> f64 {
    let once = || {
        let started = Instant::now();
        let mut numbers: [u64; CHAINS] = black_box([1, 2, 3, 4, 5, 6]);
        for _ in 0..STEPS {
            for number in &mut numbers {
                *number ^= *number << 13;
                *number ^= *number >> 7;
                *number ^= *number << 17;
            }
        }
        black_box(numbers);
        started.elapsed().as_nanos() as f64
    };
    (0..TIMES).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Whether no neighbour has disturbed it.
pub fn is_calm(sample: &Sample) -> bool {
    let least = *LEAST.lock().unwrap_or_else(PoisonError::into_inner);
    sample.work <= DISTURBED * least.unwrap_or(0.0)
}

/// The times of the calm samples; where there are none, of all.
pub fn times(samples: &[Sample]) -> Vec<f64> {
    let calm: Vec<f64> = samples.iter().filter(|one| is_calm(one)).map(|one| one.took).collect();
    match calm.is_empty() {
        true => samples.iter().map(|one| one.took).collect(),
        false => calm,
    }
}
