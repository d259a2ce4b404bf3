//! Statuses, and the library's data in their internal members.

use crate::abi::*;
use crate::arguments::Ptr;
use crate::failure::{Failure, Outcome};
use onesided::engine::Status;
use onesided::{Error, Rank};
use std::ffi::c_int;

/// An *empty* status (MPI-4.1 §3.7.3).
pub const EMPTY: MPI_Status =
    MPI_Status { source: MPI_ANY_SOURCE, tag: MPI_ANY_TAG, error: MPI_SUCCESS, internal: [0; _] };

/// The status of a receive from `MPI_PROC_NULL` (MPI-4.1 §3.10).
pub const NO_PROC: MPI_Status = MPI_Status { source: MPI_PROC_NULL, ..EMPTY };

impl Ptr<MPI_Status> {
    /// `MPI_STATUS_IGNORE` or `MPI_STATUSES_IGNORE`
    pub fn is_ignored(self) -> bool {
        self.address() == MPI_STATUS_IGNORE
    }
}

const _: () = assert!(MPI_STATUS_IGNORE == MPI_STATUSES_IGNORE);

/// Of a receive or a probe.
pub fn of(status: &Status) -> MPI_Status {
    let (source, tag) = match status.source {
        Rank::NULL if status.cancelled => (MPI_ANY_SOURCE, MPI_ANY_TAG),
        Rank::NULL => (MPI_PROC_NULL, MPI_ANY_TAG),
        Rank(rank) => (rank as c_int, status.tag),
    };
    let translated = MPI_Status { source, tag, ..EMPTY };
    translated.with_bytes(status.bytes).with_cancelled(status.cancelled)
}

/// The status of a send: only whether it was cancelled.
pub fn of_send(status: &Status) -> MPI_Status {
    EMPTY.with_cancelled(status.cancelled)
}

/// The status of a receive on a communicator, with the program's rank numbers. A message longer than its
/// buffer has source and tag too; nothing of it has been received.
pub fn received(
    translated: impl Fn(Status) -> Status,
    outcome: onesided::Result<Status>,
) -> Outcome<MPI_Status> {
    let named = |status| of(&translated(status));
    outcome.map(named).map_err(|error| {
        let status = match error {
            Error::Truncated { from, tag, .. } => {
                Some(named(Status { source: from, tag, bytes: 0, cancelled: false }))
            }
            _ => None,
        };
        let mut failure = Failure::from(error);
        failure.status = status;
        failure
    })
}

/// Writes the status of a call for one request or message, except its error. Only calls for several
/// requests write that, and only if one of them has failed (MPI-4.1 §3.2.5).
pub fn conclude(place: Ptr<MPI_Status>, outcome: Outcome<MPI_Status>) -> Outcome {
    let (status, ended) = match outcome {
        Ok(status) => (Some(status), Ok(())),
        Err(failure) => (failure.status, Err(failure)),
    };
    status.map_or(Ok(()), |status| set_at(place, 0, status))?;
    ended
}

/// Writes a status of an array, except its error.
pub fn set_at(place: Ptr<MPI_Status>, k: usize, status: MPI_Status) -> Outcome {
    if place.is_ignored() {
        return Ok(());
    }
    let error = place.get_at(k)?.error;
    place.set_at(k, MPI_Status { error, ..status })
}

/// Writes the status of a receive or a probe, except its error, which stays unchanged.
#[inline]
pub fn set(place: Ptr<MPI_Status>, status: &Status) -> Outcome {
    if place.is_ignored() {
        return Ok(());
    }
    let error = place.get()?.error;
    place.set(MPI_Status { error, ..of(status) })
}
