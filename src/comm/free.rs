//! `MPI_Comm_free`.

use super::{Comm, Inner};
use crate::call::Call;
use crate::context::Expected;
use crate::error::Result;
use crate::shm::is_forked;

/// Marks `comm` as freed on this rank, when its attributes are deleted.
pub(super) fn free(comm: &Comm) -> Result<()> {
    if comm.inner.permanent {
        return Err(comm.problem(Call::CommFree, "the job's own communicators stay"));
    }
    comm.inner.attached.attributes.delete_all(&comm.place(Call::CommFree), comm)?;
    comm.inner.freed.store(1);
    comm.inner.expected().into_iter().for_each(|what| comm.context().done(what));
    comm.free_foreign(Call::CommFree)
}

impl Inner {
    /// What a program has to do with it before it leaves the job.
    pub(super) fn expected(&self) -> Option<Expected> {
        let block = match (&self.shared, &self.other) {
            (Some(shared), _) => shared.block,
            // No object of the segment is there.
            (None, Some(other)) => u64::MAX - other.number,
            (None, None) => return None,
        };
        Some(Expected { block, epoch: None })
    }
}

/// Frees the shared block of a freed communicator, with the last handle of the last live rank.
impl Drop for Inner {
    fn drop(&mut self) {
        let shared =
            self.shared.as_ref().filter(|shared| self.freed.load() != 0 && shared.block != 0);
        // A fork of the rank drops its copy; the rank still has its own.
        if let Some(shared) = shared.filter(|_| !is_forked()) {
            let _call = self.members.context.enter(Call::CommFree, 0);
            // An error means that the job has failed, which frees the memory.
            let _ = shared.leave(&self.members.context, self.members.world_ranks());
        }
    }
}
