//! Continuing without failed ranks (User Level Failure Mitigation, the MPI Forum's proposal for fault
//! tolerance: `MPIX_Comm_shrink`, `MPIX_Comm_get_failed`).

use super::Comm;
use super::create::child;
use super::create_group::{CreationKey, await_members};
use crate::attribute::Attributes;
use crate::call::Call;
use crate::error::{Error, Result};
use std::panic::Location;

/// [`Comm::shrink`] for `call`, in the call of the program at `at`.
pub(super) fn shrunk(comm: &Comm, call: Call, at: &'static Location<'static>) -> Result<Comm> {
    comm.check_shares(call, "going on without ranks that have failed")?;
    loop {
        let group = comm.inner.members.group.difference(&comm.failed());
        let scope = comm.context().scope(group.members().iter().copied());
        let key = CreationKey::shrinking(comm);
        let block = match group.size() {
            1 => Ok(0),
            _ => await_members(comm, call, &group, key, &scope, at),
        };
        match block {
            // All ranks that live get this error, and try again without the one that failed.
            Err(Error::RankFailed { .. }) if scope.lost().next().is_some() => {}
            block => return child(comm, group, block?, None, Attributes::default()),
        }
    }
}
