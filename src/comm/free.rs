//! `MPI_Comm_free`.

use super::{Comm, Inner};
use crate::call::Call;
use crate::error::Result;
use crate::shm::is_forked;

/// Marks `comm` as freed on this rank, when its attributes are deleted.
pub(super) fn free(comm: &Comm) -> Result<()> {
    if comm.inner.permanent {
        return Err(comm.problem(Call::CommFree, "the job's own communicators stay"));
    }
    comm.inner.attached.attributes.delete_all(&comm.place(Call::CommFree), comm)?;
    comm.inner.freed.store(1);
    comm.free_foreign(Call::CommFree)
}

/// Gives the shared block of a freed communicator back, with the last handle of the last rank that lives.
impl Drop for Inner {
    fn drop(&mut self) {
        let shared =
            self.shared.as_ref().filter(|shared| self.freed.load() != 0 && shared.block != 0);
        // What a fork of the rank drops, the rank still has.
        if let Some(shared) = shared.filter(|_| !is_forked()) {
            let _call = self.members.context.enter(Call::CommFree, 0);
            // It fails when the job has failed, which ends the memory too.
            let _ = shared.leave(&self.members.context, self.members.world_ranks());
        }
    }
}
