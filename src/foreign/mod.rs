//! Another MPI as the transport of a process that its launcher has started, and that shares no memory
//! with the other ranks.
//!
//! The library is loaded at run time by the standard ABI (MPI 5.0 §20). Few of its functions are used:
//! an allgather, messages, and windows of bytes that stay in one epoch.
//!
//! Invariants:
//! 1. Operations stay eager. The other MPI's window is in an epoch of lock_all from its creation to its
//!    end, and each operation is flushed before it returns. So the caller may reuse a buffer when the
//!    call returns, as everywhere in this library. Active target synchronisation of the other MPI
//!    could not promise that, because it has no flush.
//! 2. So synchronisation uses other calls. A fence is an allgather. Post, start, complete and wait are
//!    messages without data. A lock is the other MPI's, on a second window only for locks, and is held
//!    when the call returns.
//! 3. The memory of a window must have the unified model.
//! 4. A process that ends without finalizing aborts the job (MPI_Abort), so that no rank waits for it.
//! 5. Messages of the program are matched by this library. The other MPI only moves their records
//!    (`mail.rs`). So a rank that waits here for the other MPI handles records meanwhile
//!    ([`make_progress`]), as every wait for other ranks does.

mod abi;
mod comm;
mod library;
mod mail;
mod window;

use crate::error::{Error, Place};

pub(crate) use comm::ForeignComm;
pub(crate) use library::{
    ForeignDuplicate, ForeignMessage, ForeignPart, join, leave_well, make_progress,
};
pub(crate) use mail::{is_crowded, next_record, send_record};
pub(crate) use window::{ForeignWindow, Lock};

/// An error of the other MPI.
#[derive(Debug)]
pub(crate) struct ForeignError {
    /// The number of its error class.
    class: i32,
    text: String,
}

impl ForeignError {
    #[cold]
    pub(crate) fn at(self, at: Place) -> Error {
        Error::of_foreign(at, self.class, &self.text)
    }
}

pub(crate) type ForeignResult<T> = std::result::Result<T, ForeignError>;
