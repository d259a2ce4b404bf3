//! `MPI_Comm_free`.

use super::exchange::Description;
use super::{Comm, Inner};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::shm::is_forked;
use std::panic::Location;

impl Comm {
    /// `MPI_Comm_free` (MPI-2.2 §6.4.3): calls the delete callbacks of this rank's attributes, the
    /// latest first, and marks the communicator as freed. Its other handles are refused from then
    /// on, except that windows made over it go on as before. Its memory is given back when the
    /// last rank drops its last handle.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Attribute`] on all ranks if a delete callback of any of them refuses: the
    /// communicator is then not freed, and its memory stays until the job ends if no other handle
    /// is left to free it by. [`Error::RankFailed`] on all who live if a rank of it has failed: the
    /// communicator is freed all the same. [`Error::Communicator`] for the job's own communicators,
    /// and those of any collective ([`Comm`]).
    #[track_caller]
    pub fn free(self) -> Result<()> {
        let at = Location::caller();
        self.within(Call::CommFree, || {
            let what = Description::bare(Call::CommFree);
            if self.inner.permanent {
                let error = self.problem(Call::CommFree, "the job's own communicators stay");
                return Err(self.begin(Call::CommFree, at)?.refuse(what, error));
            }
            let deleted = self.inner.attributes.delete_all(&self.place(Call::CommFree), &self);
            let mut free = self.begin(Call::CommFree, at)?;
            let staged = free.exchange(&what, &[u8::from(deleted.is_err())]);
            if let Err(Error::RankFailed { .. }) = staged {
                // On all who live: nobody will ever meet here again.
                self.inner.freed.store(1);
            }
            let staged = staged?;
            let mut refusing = None;
            for rank in 0..self.size() {
                let mut refuses = [0];
                staged.bytes(rank, 0, &mut refuses)?;
                refusing = refusing.or((refuses != [0]).then_some(rank));
            }
            deleted?;
            match refusing {
                None => self.inner.freed.store(1),
                Some(rank) => {
                    let problem = format!("a delete callback of rank {rank} refuses");
                    return Err(Error::Attribute { at: self.place(Call::CommFree), problem });
                }
            }
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

/// Gives the room of a freed communicator back, with the last handle of the last rank that lives.
impl Drop for Inner {
    fn drop(&mut self) {
        let room = self.room.as_ref().filter(|room| self.freed.load() != 0 && room.block != 0);
        // What a fork of the rank drops, the rank still has.
        if let Some(room) = room.filter(|_| !is_forked()) {
            let _call = self.context.enter(Call::CommFree, 0);
            // It fails when the job has failed, which ends the memory too.
            let _ = room.leave(&self.context, self.group.world_ranks());
        }
    }
}
