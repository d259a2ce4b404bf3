//! `rmarun` and the start of a job, as its users meet them: real processes, real signals.
#![cfg(feature = "launcher")]

mod another_mpi;
mod building;
mod codes;
mod debugger;
mod endings;
mod environment;
mod foreign;
mod forged_segments;
mod harness;
mod inquiry;
mod joining;
mod leaving;
mod limits;
mod many_ranks;
mod options;
mod orphans;
mod output;
mod placement;
mod python;
mod report;
mod segments;
mod singleton;
#[path = "../support/slices.rs"]
mod slices;
mod statistics;
mod strangers;
#[path = "../support/mod.rs"]
mod support;
mod terminal;
mod top;
mod trace;
mod words;
