//! Collectives (MPI-2.2 chapter 5, MPI-4.1 chapter 6) and communicators (MPI-2.2 chapter 6, MPI-4.1
//! chapter 7).

mod all;
mod basic;
mod communicators;
mod disagree;
#[path = "../support/mod.rs"]
mod support;
mod untyped;
