//! Windows by create, allocate_shared and create_dynamic (MPI-2.2 §11.2.1, MPI-4.1 §12.2).
#![allow(unsafe_code, reason = "the engine exposes memory by address")]

mod create;
mod dynamic;
mod ring;
mod scattered;
mod shared;
mod unreachable;
