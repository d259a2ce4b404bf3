//! Derived datatypes at origin and target of every operation, between processes (MPI-2.2 §11.3;
//! New RMA Design, "Datatype In RMA").
#![allow(unsafe_code, reason = "the engine takes addresses")]

#[allow(dead_code, reason = "shared with the tests of the specification")]
#[path = "../spec_support/choices.rs"]
mod choices;
#[path = "../support/mod.rs"]
mod support;

mod accumulate;
mod layouts;
mod many;
mod refused;
mod shapes;
mod transfer;
