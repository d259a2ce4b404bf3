//! Another MPI as the engine underneath: of a process that another MPI's launcher has started, and
//! that shares no memory with the other ranks.
//!
//! The library is loaded at run time by the standard ABI (MPI 5.0 §20), and used for little: an
//! allgather, messages without data, and windows of bytes that are never out of one epoch.
//!
//! Invariants:
//! 1. Operations stay eager. The other MPI's window is in an epoch of lock_all from its creation to
//!    its end, and each operation is flushed before it returns; so a buffer is the caller's again
//!    when the call returns, as everywhere in this library, whatever becomes of guards. No epoch of
//!    active target synchronisation of the other MPI could promise that: it has no flush.
//! 2. All synchronisation is therefore made of other parts: a fence is an allgather; post, start,
//!    complete and wait are messages without data; a lock is one of the other MPI, on a second window
//!    that has nothing else, and held for certain when the call returns.
//! 3. The memory of a window is in the unified model, or it is refused.
//! 4. A process that ends without having left the job in good order aborts it (MPI_Abort), so that
//!    nobody waits for it.

mod abi;
mod comm;
mod library;
mod window;

use crate::error::{Error, Place};

pub(crate) use comm::Comm;
pub(crate) use library::{join, leave_well};
pub(crate) use window::{Lock, Part, Window};

/// What the other MPI has said instead of doing it.
#[derive(Debug)]
pub(crate) struct ForeignError {
    /// The number of its error class.
    class: i32,
    said: String,
}

impl ForeignError {
    #[cold]
    pub(crate) fn at(self, at: Place) -> Error {
        Error::of_foreign(at, self.class, &self.said)
    }
}

pub(crate) type Outcome<T> = std::result::Result<T, ForeignError>;
