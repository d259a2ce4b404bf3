//! Conflicts that `rmarun --check` finds, and programs without any. The table of docs/check.md is the
//! expectation.
#![allow(unsafe_code, reason = "names buffers by address, as a C interface does")]

#[path = "../support/mod.rs"]
mod support;

#[cfg(feature = "test-hooks")]
mod assertions;
#[cfg(feature = "test-hooks")]
mod damage;
#[cfg(feature = "test-hooks")]
mod generated;
#[cfg(feature = "test-hooks")]
mod late;
#[cfg(feature = "test-hooks")]
mod nocheck;
mod observed;
#[cfg(feature = "test-hooks")]
mod oracle;
#[cfg(feature = "test-hooks")]
mod overlapping;
#[cfg(feature = "test-hooks")]
mod program;
mod reports;
#[cfg(feature = "test-hooks")]
mod resting;
#[cfg(feature = "test-hooks")]
mod separate;
#[cfg(feature = "test-hooks")]
mod stores;
