//! MPI-style one-sided communication for the processes of one machine.
#![allow(dead_code, reason = "temporary: upper layers follow")]
mod call;
mod error;
#[doc(hidden)]
pub mod launch;
mod prim;
mod shm;
mod sync;
pub use call::Call;
pub use error::{Error, ErrorClass, Place, Result};
