//! Errors and failures: what a call refuses, ranks that die, processes that fork, bits that flip.

mod bitflips;
mod errors;
mod forks;
#[path = "../support/mod.rs"]
mod support;
mod survivors;
