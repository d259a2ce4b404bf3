//! The conformance set: every normative sentence of the RMA chapter, section by section, and the
//! test that shows it.
//!
//! A file per section holds its rules in the order of the text (`SECTION`), and those tests that
//! are nowhere else; the other rules name a test of another binary. From the
//! lists `page.rs` makes docs/reference/conformance.md, and fails when the page is stale, when a test that is
//! named does not exist, and when a rule has neither test nor reason.
#![cfg(feature = "test-hooks")]

#[path = "../support/mod.rs"]
mod support;

mod additions;
mod assertions;
mod communication;
mod creation;
mod epochs;
mod errors;
mod fence;
mod flavours;
mod general;
mod lock;
mod misuse;
mod ordering;
mod page;
mod passive;
mod progress;
mod rule;
mod semantics;
mod threads;
