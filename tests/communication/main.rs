//! Communication calls (MPI-2.2 §11.3, MPI-4.1 §12.3): put, get and the accumulates, with requests and
//! with notifications, between all datatypes.

mod accumulate;
mod accumulate_matrix;
mod accumulate_sizes;
mod atomicity;
mod data;
mod datatypes;
mod engine;
mod notify;
mod operations;
mod requests;
mod shards;
#[path = "../support/mod.rs"]
mod support;
