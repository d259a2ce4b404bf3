//! Window creation (MPI-2.2 §11.2, MPI-4.1 §12.2): the memory of windows, its flavours, what a program
//! keeps with a window, and its end.

mod communicators;
mod flavours;
mod local_slices;
mod many;
mod memory;
mod objects;
mod structs;
#[path = "../support/mod.rs"]
mod support;
