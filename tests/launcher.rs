//! `rmarun`, as its users meet it: real processes, real signals.
#![cfg(feature = "launcher")]

#[path = "launcher/building.rs"]
mod building;
#[path = "launcher/codes.rs"]
mod codes;
#[path = "launcher/endings.rs"]
mod endings;
#[path = "launcher/foreign.rs"]
mod foreign;
#[path = "launcher/harness.rs"]
mod harness;
#[path = "launcher/inquiry.rs"]
mod inquiry;
#[path = "launcher/joining.rs"]
mod joining;
#[path = "launcher/output.rs"]
mod output;
#[path = "launcher/segments.rs"]
mod segments;
#[path = "support/signals.rs"]
mod signals;
