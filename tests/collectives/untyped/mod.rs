//! Collectives made of messages, of untyped buffers and of vectors, against what their definitions
//! say (MPI-4.1 §6.12), between processes.
#![allow(unsafe_code, reason = "the engine takes addresses")]

mod bridges;
mod duplicates;
mod failing;
mod many;
mod matrices;
mod moves;
mod partitioned;
mod persistent;
mod reductions;
mod refused;
mod typed;

/// Numbers of ranks that the collectives run on: one, powers of two, and others.
const SIZES: [u32; 5] = [1, 2, 3, 5, 8];
