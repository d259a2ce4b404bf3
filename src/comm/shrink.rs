//! Going on without ranks that have failed (User Level Failure Mitigation, the MPI Forum's
//! proposal for fault tolerance: `MPIX_Comm_shrink`, `MPIX_Comm_get_failed`).

use super::Comm;
use super::create_group::CreationKey;
use crate::attribute::Attributes;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::group::Group;
use std::panic::Location;

impl Comm {
    /// The ranks of this communicator that have failed, as far as this rank knows
    /// (`MPIX_Comm_get_failed`). In a job started without `--on-failure=continue` nobody lives to see
    /// any. Local; does not block.
    pub fn failed(&self) -> Group {
        Group::of(self.inner.scope.lost())
    }

    /// A communicator of the ranks of this one that live, in the same order
    /// (`MPIX_Comm_shrink`). Once a rank has failed, no other collective of this communicator
    /// succeeds any more: they return [`Error::RankFailed`] on all ranks that live.
    ///
    /// Collective over the ranks that live; blocks until each of them has called it. Should another
    /// one fail meanwhile, it is left out on all ranks or on none.
    ///
    /// # Errors
    /// [`Error::NoMemory`] on all ranks; [`Error::RankFailed`] if the job ends.
    #[track_caller]
    pub fn shrink(&self) -> Result<Comm> {
        let at = Location::caller();
        self.within(Call::CommShrink, || self.shrunk(Call::CommShrink, at))
    }

    /// [`Comm::shrink`] for `call`.
    pub(crate) fn shrunk(&self, call: Call, at: &'static Location<'static>) -> Result<Comm> {
        self.check_shares(call, "going on without ranks that have failed")?;
        loop {
            let group = self.inner.group.difference(&self.failed());
            let scope = self.context().scope(group.members().iter().copied());
            let key = CreationKey::shrinking(self);
            let block = match group.size() {
                1 => Ok(0),
                _ => self.await_members(call, &group, key, &scope, at),
            };
            match block {
                // Whoever lives gets this error, and comes again without the one that failed.
                Err(Error::RankFailed { .. }) if scope.lost().next().is_some() => {}
                block => return self.child(group, block?, None, Attributes::default()),
            }
        }
    }
}
