//! MPI-style one-sided communication for the processes of one machine.
#[allow(dead_code, reason = "temporary: upper layers follow")]
mod prim;
#[allow(dead_code, reason = "temporary: upper layers follow")]
mod sync;
