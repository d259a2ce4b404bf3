//! MPI-style one-sided communication for the processes of one machine.
#![allow(dead_code, reason = "temporary: upper layers follow")]
mod call;
mod datatype;
mod error;
#[doc(hidden)]
pub mod launch;
mod op;
mod prim;
mod shm;
mod sync;
pub use call::Call;
pub use datatype::{Datatype, DoubleInt, Element, FloatInt, Integer, LongInt, ShortInt, TwoInt};
pub use error::{Error, ErrorClass, Place, Result};
pub use num_complex::Complex;
pub use op::Op;
