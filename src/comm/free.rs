//! `MPI_Comm_free`.

use super::{Comm, Inner};
use crate::call::Call;
use crate::error::Result;
use crate::shm::is_forked;

impl Comm {
    /// `MPI_Comm_free` (MPI-4.1 §7.4.3): calls the delete callbacks of this rank's attributes, the
    /// latest first, and marks the communicator as freed. Its other handles are refused from then
    /// on, except that windows made over it go on as before, and so do requests. Its memory is given
    /// back when the last rank has freed it and drops its last handle.
    ///
    /// All ranks free it, in any order with what else they do: local; blocks at most while another
    /// rank gives a communicator back.
    ///
    /// # Errors
    /// [`Error::Attribute`](crate::Error::Attribute) if a delete callback of this rank refuses: the
    /// communicator is then not freed on this rank, and its memory stays until the job ends if no
    /// other handle is left to free it by. [`Error::Communicator`](crate::Error::Communicator) for the
    /// job's own communicators, and for one that has been freed.
    pub fn free(self) -> Result<()> {
        self.within(Call::CommFree, || {
            if self.inner.permanent {
                return Err(self.problem(Call::CommFree, "the job's own communicators stay"));
            }
            self.inner.attributes.delete_all(&self.place(Call::CommFree), &self)?;
            self.inner.freed.store(1);
            self.free_foreign(Call::CommFree)
        })
    }
}

impl Comm {
    /// Lets a communicator that only the library has handles of be freed with the last of them: who
    /// drops it has left it, and the last who lives gives its memory back.
    pub(crate) fn freed_with_its_handles(self) -> Comm {
        self.inner.freed.store(1);
        self
    }
}

/// Gives the shared block of a freed communicator back, with the last handle of the last rank that lives.
impl Drop for Inner {
    fn drop(&mut self) {
        let shared =
            self.shared.as_ref().filter(|shared| self.freed.load() != 0 && shared.block != 0);
        // What a fork of the rank drops, the rank still has.
        if let Some(shared) = shared.filter(|_| !is_forked()) {
            let _call = self.context.enter(Call::CommFree, 0);
            // It fails when the job has failed, which ends the memory too.
            let _ = shared.leave(&self.context, self.group.members());
        }
    }
}
