//! Another MPI as the transport of a process that its launcher has started, to ranks with which it shares no
//! segment.
//!
//! The library is loaded at run time by the standard ABI (MPI 5.0 §20). Few of its functions are used:
//! an allgather, messages, and windows of bytes that stay in one epoch.
//!
//! Invariants:
//! 1. The other MPI's window is in an epoch of lock_all from its creation to its end. An operation is under
//!    way until a call that completes it flushes its target; active target synchronisation of the other
//!    MPI has no flush. Operations of this rank on the same bytes that the other MPI might reorder are kept
//!    apart by a flush, so a rank's own operations take effect in the order of their calls.
//! 2. An operation under way uses memory of the library, never a buffer of the program: guards can be
//!    leaked, and then nothing keeps the buffer borrowed. Origins are copied. Results belong to the guard
//!    that keeps their buffers borrowed, which writes them there at its end. What needs too much memory, or
//!    has no such guard, is flushed before its call returns.
//! 3. So synchronisation uses other calls. A fence is an allgather. Post, start, complete and wait are
//!    messages without data. A lock is a word of a second window (`sync/far_lock.rs`). Notifications are counted in a
//!    third, after a flush of what they announce.
//! 4. The memory of a window must have the unified model. An operation on a dynamic window is complete when its
//!    call returns (`attached.rs`).
//! 5. A process that ends without finalizing aborts the job (MPI_Abort), so that no rank waits for it. One that cannot
//!    load the other MPI has its launcher do so.
//! 6. Messages of the program are matched by this library. The other MPI only moves their records
//!    (`mail.rs`). So a rank that waits here for the other MPI handles records meanwhile
//!    ([`make_progress`]), as every wait for other ranks does.
//! 7. A put to a part that is addressed in this process, and a get from there, is a copy, complete when its call
//!    returns. Before it, this rank's updates of the same bytes that are under way are flushed; synchronisation calls
//!    `MPI_Win_sync`, which orders copies and messages (MPI-4.1 §12.5.4). Updates stay the other MPI's, because ranks
//!    of other nodes may update the same elements.
//! 8. Calls of the other MPI go through `called`, in which the threads of a rank take turns if the program has asked for
//!    [`ThreadLevel::Serialized`]. A turn ends with the call, so a rank that waits by tests and probes leaves it to others.

mod abi;
mod attached;
mod comm;
mod flight;
mod library;
mod lock;
mod mail;
mod results;
mod window;

use crate::error::{Error, Place};

pub(crate) use attached::{AttachedRun, AttachmentHold};
pub(crate) use comm::{ForeignComm, host};
pub(crate) use library::{
    ForeignDuplicate, ForeignMessage, ForeignPart, adopt, end_job_at_exit, join, leave_well,
    make_progress, progress,
};
pub(crate) use mail::{is_crowded, next_record, send_record};
pub(crate) use results::Results;
pub(crate) use window::ForeignWindow;

/// How the threads of a rank make calls (MPI-4.1 §11.6.2). Under `rmarun` both are the same.
///
/// Under another MPI's launcher, `Serialized` spares the locks of that MPI: by MPICH's network a put and a flush take a
/// quarter less time. Threads that call at the same time all the same take turns, one waiting until the call of the
/// other returns from that MPI; two that wait for each other so wait for ever.
///
/// ```
/// use onesided::{ThreadLevel, Universe};
///
/// let universe = Universe::init_thread(ThreadLevel::Serialized)?;
/// # Ok::<(), onesided::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadLevel {
    /// `MPI_THREAD_SERIALIZED`: one at a time. Of a program with one thread, too.
    Serialized,
    /// `MPI_THREAD_MULTIPLE`: any of them at any time.
    Multiple,
}

/// An error of the other MPI.
#[derive(Debug)]
pub(crate) struct ForeignError {
    /// The number of its error class.
    class: i32,
    text: String,
}

impl ForeignError {
    /// The message of the other MPI.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    #[cold]
    pub(crate) fn at(self, at: Place) -> Error {
        Error::of_foreign(at, self.class, &self.text)
    }
}

pub(crate) type ForeignResult<T> = std::result::Result<T, ForeignError>;
