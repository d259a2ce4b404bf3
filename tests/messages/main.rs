//! Messages through the engine (MPI-2.2 chapter 3): each test is one program of several processes.
#![allow(unsafe_code, reason = "names buffers by address, as a C interface does")]
#![allow(clippy::disallowed_methods, reason = "a rank is late")]

#[path = "../support/mod.rs"]
mod support;

mod failing;
mod freed;
mod long;
mod matched;
mod threads;
mod tools;
mod typed;
