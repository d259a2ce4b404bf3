//! Communicators: how they are made, what a program keeps with them, and threads (MPI-4.1 chapter 7).

mod comm_self;
mod create;
mod group;
mod objects;
mod threads;
