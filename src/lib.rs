//! MPI-style one-sided communication for the processes of one machine.
mod call;
mod comm;
mod datatype;
mod epoch;
mod error;
mod group;
#[doc(hidden)]
pub mod launch;
mod op;
mod ops;
mod prim;
mod shm;
mod sync;
mod universe;
mod window;
pub use call::Call;
pub use comm::Comm;
pub use datatype::{Datatype, DoubleInt, Element, FloatInt, Integer, LongInt, ShortInt, TwoInt};
pub use epoch::{
    Access, AccessEpoch, AccessSide, Batch, ExposureEpoch, ExposureSide, FenceEpoch, LocalEpoch,
    LockAllEpoch, LockBatch, LockEpoch, LockedTarget, Window,
};
pub use error::{Error, ErrorClass, Place, Result};
pub use group::{Comparison, Group, Rank};
pub use num_complex::Complex;
pub use op::Op;
pub use universe::Universe;
pub use window::{FenceAssert, LockAssert, LockType, PostAssert, StartAssert, WindowOptions};
/// The engine.
pub mod engine {
    pub use crate::ops::{Origin, OriginMut};
    pub use crate::window::Win;
}

/// Test builds only: what the calling rank synchronises, and how to hold it up there.
#[cfg(feature = "test-hooks")]
pub mod hooks {
    pub use crate::prim::hooks::{Event, delay, record};
    pub use crate::prim::{ProcSync, Site};
}
