//! MPI's C interface over `onesided`, by the MPI 5.0 standard ABI.
//!
//! `libmpi_abi.so.1` exports every function of the ABI, as `MPI_…` and as `PMPI_…`. `build.rs` makes the
//! functions of C from the tables in `abi/`. Each converts nothing and calls the function of [`calls`]
//! that the table names. It raises a failure, with the call and its arguments, on the error handler of
//! its window or communicator ([`raise`]).
//!
//! Rooms:
//! - [`arguments`]: what C passes; the only place that follows C's pointers.
//! - [`form`](mod@form): what MPICH's ABI has in another form, by which the package onesided-mpich compiles these
//!   sources as `libmpi.so.12`; the numbers are in tables of their own.
//! - [`handle`]: handles and the tables of objects; a handle is never followed.
//! - [`comm`], [`window`], [`datatype`], [`op`], [`info`], [`handler`]: what each kind of handle stands
//!   for.
//! - [`attribute`]: what programs keep with objects; calls the functions of keys.
//! - [`calls`]: the functions, a file for each section of the standard. Safe Rust over the engine.
//! - [`collective`]: the three forms of a collective.
//! - [`file`](mod@file): files, their views and pointers, and the accesses of them.
//! - [`tool`]: the tool interface, which is no part of the job.
//! - `host`: the other MPI of a program that has a part of this library in `LD_PRELOAD`, by which the package
//!   onesided-node compiles these sources as `libonesided_node.so`; [`process`]: functions by their names.
//! - [`region`]: regions of the program in the trace.
//! - [`entry`]: the first instructions of each function of C; [`line`](mod@line): the program's lines, for reports.
//! - `race`: the program's own loads and stores, which its compiler reports; `threads`: what synchronises its threads.
//! - [`job`]: from `MPI_Init` to `MPI_Finalize`.

#![cfg_attr(node, allow(dead_code, unused_imports, reason = "has only some of the functions of C"))]

mod abi;
mod arguments;
mod assertion;
mod attribute;
mod belonging;
mod calls;
mod collective;
mod comm;
mod datatype;
mod duplication;
mod entry;
mod errors;
mod exit;
mod failure;
mod file;
#[cfg_attr(mpich, path = "form/mpich.rs")]
#[cfg_attr(not(mpich), path = "form/standard.rs")]
mod form;
mod generalized;
mod handle;
mod handler;
// Its table of handles is tested with the others.
#[cfg(all(test, not(node)))]
#[path = "host/handles.rs"]
mod handles;
#[cfg(node)]
mod host;
mod info;
mod job;
mod line;
mod message;
mod op;
mod process;
mod python;
#[cfg(all(not(node), any(target_arch = "x86_64", target_arch = "aarch64")))]
mod race;
mod raise;
mod region;
mod request;
mod session;
mod settled;
mod status;
mod text;
#[cfg(not(node))]
mod threads;
mod tool;
mod topology;
#[cfg(mpich)]
mod variables;
mod window;

/// The functions of C.
#[allow(
    non_snake_case,
    unsafe_code,
    reason = "exports C's names, which nothing else in the library has"
)]
mod exports {
    use crate::abi::*;
    use crate::arguments::*;
    use crate::comm::Communicator;
    use crate::datatype::Datatype;
    use crate::entry::enter;
    use crate::file::{Direction, File, Pointer};
    use crate::session::Session;
    use crate::window::Window;
    use onesided::engine::SendMode;
    use std::ffi::c_int;

    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}
