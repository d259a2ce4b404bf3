//! MPI-style one-sided communication (RMA) for the processes of one machine.
//!
//! `rmarun -n 8 ./app` starts eight processes that map one shared-memory segment. Each exposes
//! [windows](Window) of it; any rank puts, gets and accumulates into the window of another, and
//! synchronises by fence, by post-start-complete-wait, or by locks. No rank has to help another
//! rank's operation along.
//!
//! ```no_run
//! use onesided::{Access, FenceAssert, Op, Rank, Universe, Window};
//!
//! fn main() -> onesided::Result<()> {
//!     let universe = Universe::init()?;
//!     let world = universe.world();
//!     let mut window = Window::<u64>::allocate(world, 1)?;
//!
//!     let mine = [u64::from(world.rank()) + 1];
//!     let epoch = window.fence(FenceAssert::NOPRECEDE)?;
//!     epoch.accumulate(&mine, Op::Sum, Rank(0), 0)?;
//!     epoch.close(FenceAssert::NONE)?;
//!
//!     if world.rank() == 0 {
//!         println!("{} ranks add up to {}", world.size(), window.load_one(0)?);
//!     }
//!     window.free()
//! }
//! ```
//!
//! # Two faces
//!
//! * The **typed face** is what programs use: [`Window<T>`](Window), and an epoch as a guard whose
//!   methods are the operations. Most of what MPI forbids does not compile.
//! * The **engine** ([`engine::Win`]) is untyped and shaped like MPI's calls. It checks the same
//!   rules at run time. Libraries and language bindings use it.
//!
//! # Messages
//!
//! Ranks of a communicator also send each other messages, matched by source and tag:
//! [`Comm::send`], [`Comm::recv`], [`Comm::sendrecv`], [`Comm::isend`], [`Comm::irecv`],
//! [`Comm::probe`]. They share nothing with windows: an operation on a window is not ordered by a
//! message unless it is complete before the send, and a receive orders nothing but what its sender
//! had completed.
//!
//! # Words
//!
//! The standard's: *origin* (who calls), *target* (whose memory), *rank*, *window*, *displacement*
//! in *displacement units*, *access epoch*, *exposure epoch*, *assertion*, *flush*, *group*,
//! *communicator*. Clauses are cited with their edition. Of every call its documentation says
//! whether it is collective (every rank of the communicator must call it) or local, and whether
//! it can block.
//!
//! # Errors
//!
//! A call that is refused for its arguments or its epoch has changed nothing. Errors name call,
//! window, ranks and values; [`Error::class`] gives MPI's class. When a rank dies, the launcher ends the job.
//!
//! # Threads
//!
//! Handles are `Send` and `Sync`. Any thread of a rank may issue operations and flushes at any
//! time, also while another thread of the rank is in a fence or a flush (New RMA Design, "RMA +
//! Threads"); no operation takes a lock that keeps other threads out. Several threads may wait for
//! locks of different targets. While one waits in fence, start, wait or lock_all, another call that
//! would wait on the same side of the window is refused with class `MPI_ERR_RMA_SYNC`; a second
//! collective on a communicator, with class `MPI_ERR_COMM`. Guards make most of that impossible to
//! write.

mod attribute;
mod call;
mod collective;
mod comm;
mod datatype;
mod epoch;
mod error;
mod foreign;
mod group;
mod handler;
mod info;
#[doc(hidden)]
pub mod launch;
mod memory;
mod message;
mod op;
mod ops;
mod prim;
mod shm;
mod sync;
mod tools;
mod universe;
mod window;

pub use attribute::{Keyval, KeyvalOptions};
pub use call::Call;
pub use collective::{CollectiveRequest, DuplicateRequest};
pub use comm::{Comm, CommKeyval, Reduction, SplitType, UserOp};
pub use datatype::{
    CommittedDatatype, Constructor, Datatype, DerivedDatatype, Distribution, DoubleInt, Element,
    FloatInt, Integer, Located, LongInt, Order, Shape, Shaped, ShapedMut, ShortInt, TwoInt,
};
pub use epoch::{
    Access, AccessEpoch, AccessSide, Batch, ExposureEpoch, ExposureSide, FenceEpoch, FenceStep,
    LocalEpoch, LockAllEpoch, LockBatch, LockEpoch, LockedTarget, SharedPart, Window, WindowView,
};
pub use error::{Error, ErrorClass, Foreign, Place, Result};
pub use group::{Comparison, Group, Rank};
pub use handler::ErrorHandler;
pub use info::Info;
pub use memory::{Memory, WindowMemory};
pub use message::{Pending, Source, Status, Tag};
pub use num_complex::Complex;
pub use op::Op;
pub use ops::Request;
pub use tools::{DistributedCounter, WindowMutex, WindowMutexGuard, WindowQueue};
pub use universe::Universe;
pub use window::{
    FenceAssert, Flavour, LockAssert, LockType, MemoryModel, PostAssert, StartAssert, Torn, Until,
    WinKeyval, WindowIdentity, WindowOptions,
};

/// The engine: untyped windows, with MPI's calls and every check at run time.
///
/// A window is made by [`WindowOptions::allocate_bytes`]. The typed face never lends its engine
/// out, because the engine could end an epoch that a guard believes to be open.
pub mod engine {
    pub use crate::attribute::Attributes;
    pub use crate::collective::{Bridge, CollectiveRequest, Combine, Partitioned, Root};
    pub use crate::message::{Channel, Message, MessageRequest, SendMode, Status};
    pub use crate::ops::{Layout, Origin, OriginMut};
    pub use crate::window::Win;
}

#[doc = include_str!("../docs/assertions.md")]
pub mod assertions {
    pub use crate::window::{FenceAssert, LockAssert, PostAssert, StartAssert};
}

/// Test builds only: what the calling rank synchronises, and how to hold it up there.
#[cfg(feature = "test-hooks")]
pub mod hooks {
    pub use crate::launch::fault::arm as arm_fault;
    pub use crate::prim::hooks::{Event, delay, name_of, names, record};
    pub use crate::prim::{ProcSync, Site, Step};
}
