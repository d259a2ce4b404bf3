//! Derived datatypes at origin and target of every operation, between processes (MPI-2.2 §11.3;
//! New RMA Design, "Datatype In RMA").
#![allow(unsafe_code, reason = "the engine takes addresses")]

mod accumulate;
mod layouts;
mod many;
mod refused;
mod shapes;
mod transfer;
