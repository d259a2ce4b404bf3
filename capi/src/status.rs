//! Statuses: what the library keeps in the members that the program does not see.

use crate::abi::*;
use crate::arguments::Ptr;
use crate::failure::{Failure, Outcome};
use onesided::engine::Status;
use onesided::{Error, Rank};
use std::ffi::c_int;

/// An *empty* status (MPI-4.1 §3.7.3).
pub const EMPTY: MPI_Status =
    MPI_Status { source: MPI_ANY_SOURCE, tag: MPI_ANY_TAG, error: MPI_SUCCESS, internal: [0; 5] };

/// The status of a receive from `MPI_PROC_NULL` (MPI-4.1 §3.10).
pub const NO_PROC: MPI_Status = MPI_Status { source: MPI_PROC_NULL, ..EMPTY };

impl MPI_Status {
    /// Bytes received, also of what is not whole elements.
    pub fn bytes(&self) -> u64 {
        let [low, high, ..] = self.internal;
        u64::from(low as u32) | u64::from(high as u32) << 32
    }

    pub fn with_bytes(self, bytes: u64) -> MPI_Status {
        let [_, _, cancelled, a, b] = self.internal;
        let internal = [bytes as c_int, (bytes >> 32) as c_int, cancelled, a, b];
        MPI_Status { internal, ..self }
    }

    pub fn is_cancelled(&self) -> bool {
        self.internal[2] != 0
    }

    pub fn with_cancelled(mut self, cancelled: bool) -> MPI_Status {
        self.internal[2] = cancelled.into();
        self
    }
}

/// Of a receive or a probe.
pub fn of(status: &Status) -> MPI_Status {
    let (source, tag) = match status.source {
        Rank::NULL if status.cancelled => (MPI_ANY_SOURCE, MPI_ANY_TAG),
        Rank::NULL => (MPI_PROC_NULL, MPI_ANY_TAG),
        Rank(rank) => (rank as c_int, status.tag),
    };
    let told = MPI_Status { source, tag, ..EMPTY };
    told.with_bytes(status.bytes).with_cancelled(status.cancelled)
}

/// Of a send, whose status says only whether it was cancelled.
pub fn of_send(status: &Status) -> MPI_Status {
    EMPTY.with_cancelled(status.cancelled)
}

/// Of a receive on a communicator, as the program names its ranks. Of a message that is longer than its
/// buffer, source and tag are known too; nothing of it has been received.
pub fn received(
    told: impl Fn(Status) -> Status,
    outcome: onesided::Result<Status>,
) -> Outcome<MPI_Status> {
    let named = |status| of(&told(status));
    outcome.map(named).map_err(|error| {
        let status = match error {
            Error::Truncated { from, tag, .. } => {
                Some(named(Status { source: Rank(from), tag, bytes: 0, cancelled: false }))
            }
            _ => None,
        };
        Failure { status, ..error.into() }
    })
}

/// Tells the program how a call for one request or message has ended, but for the error in its status,
/// which only calls for several requests write, and only if one of those has failed (MPI-4.1 §3.2.5).
pub fn conclude(place: Ptr<MPI_Status>, outcome: Outcome<MPI_Status>) -> Outcome {
    let (status, ended) = match outcome {
        Ok(status) => (Some(status), Ok(())),
        Err(failure) => (failure.status, Err(failure)),
    };
    status.map_or(Ok(()), |status| tell_at(place, 0, status))?;
    ended
}

/// Tells the program a status of an array, but for its error.
pub fn tell_at(place: Ptr<MPI_Status>, k: usize, status: MPI_Status) -> Outcome {
    if place.is_null() {
        return Ok(());
    }
    let error = place.get_at(k)?.error;
    place.set_at(k, MPI_Status { error, ..status })
}

/// Tells the program the status of a receive or a probe, but for its error, which stays as it was.
#[inline]
pub fn tell(place: Ptr<MPI_Status>, status: &Status) -> Outcome {
    if place.is_null() {
        return Ok(());
    }
    let error = place.get()?.error;
    place.set(MPI_Status { error, ..of(status) })
}
