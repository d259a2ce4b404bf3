//! Random bits flipped in the synchronisation area of a job that runs: the header, the ranks'
//! status, the registry, rooms and staging buffers, the allocator, and the words of windows.
//!
//! Each job has a seed: three ranks go through every kind of call, and rank 0 flips from 1 to 64
//! bits meanwhile (`flipper.rs`), never in the memory that the program itself writes. A job ends
//! well, with a result that is right, or with an error; it may also never end, because what it
//! waits for was wiped out, or have a wrong result, because nothing guards the bytes that ranks
//! stage for one another. What must not be: a signal, a panic inside the library, or a rank that
//! spins for ever (docs/threat-model.md has the numbers).
//!
//! `BITFLIPS_SEED=17 cargo test --all-features --test failures bitflips::one -- --ignored --nocapture`
//! repeats one job; `... --test failures bitflips::many -- --ignored --nocapture` flips in 10,000.
#![cfg(feature = "test-hooks")]
#![allow(unsafe_code, reason = "flips bits in memory that the library has mapped")]
#![allow(clippy::disallowed_methods, reason = "reads the seed; a rank gives up by its exit code")]

mod driver;
mod flipper;
mod workload;

use driver::{Ending, Tally, job};
use std::time::Duration;

/// The ranks' program.
#[test]
#[ignore = "a program"]
fn rank() {
    if let Some(seed) = driver::seed_of_rank() {
        workload::rank(seed);
    }
}

/// As many jobs as there is time for, and never the same.
#[test]
fn flipped_bits_crash_nothing() {
    let first = u64::from(std::process::id()) << 32;
    let tally = Tally::of(first..u64::MAX, 4, Duration::from_secs(8));
    println!("{tally}");
    assert!(tally.jobs() > 10, "no time for jobs: {tally}");
    tally.check();
}

#[test]
#[ignore = "takes minutes"]
fn many() {
    let tally = Tally::of(1..10_001, 6, Duration::from_secs(3600));
    println!("{tally}");
    assert_eq!(tally.jobs(), 10_000);
    tally.check();
}

#[test]
#[ignore = "repeats the job of BITFLIPS_SEED"]
fn one() {
    let seed = std::env::var("BITFLIPS_SEED").expect("BITFLIPS_SEED is set");
    let (ending, output) = job(seed.parse().expect("a number"));
    println!("{ending:?}\n{output}");
    assert!(!matches!(ending, Ending::Crash(_)), "{ending:?}");
}

/// Without flips the program is right: what the flips are measured against.
#[test]
fn without_flips_the_result_is_right() {
    let (ending, output) = job(0);
    assert_eq!(ending, Ending::Right, "{output}");
}
