//! Programs, ranges and walks through the epochs drawn at random, against oracles and models.

mod engine_walk;
mod fuzz_ranges;
mod programs;
#[path = "../support/mod.rs"]
mod support;
