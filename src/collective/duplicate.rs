//! `MPI_Comm_idup`: the nonblocking duplication of a communicator.

use super::CollectiveRequest;
use crate::call::Call;
use crate::comm::{Comm, CreationVote, Duplicate};
use crate::error::{Error, Result};
use std::fmt;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

/// A duplicate of a communicator under way (`MPI_Comm_idup`, MPI-4.1 §7.4.2).
///
/// It makes progress as any nonblocking collective ([`CollectiveRequest`]). If it is dropped before it is
/// waited for, there is no new communicator, and its memory stays allocated until the job ends.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let duplicate = universe.world().idup()?;
/// // Other work of this rank stands here.
/// let comm = duplicate.wait()?;
/// comm.barrier()?;
/// comm.free()?;
/// # Ok(())
/// # });
/// ```
pub struct DuplicateRequest {
    comm: Comm,
    votes: CollectiveRequest<Vec<u64>>,
    made: Mutex<Option<Duplicate>>,
}

impl DuplicateRequest {
    /// Begins a duplication of `comm`, which runs the copy callbacks.
    pub(super) fn begin(comm: &Comm) -> Result<DuplicateRequest> {
        let (made, vote) = comm.begin_duplicate();
        let words: [u64; 5] = bytemuck::cast(vote);
        match comm.iallgather(words.to_vec()) {
            Ok(votes) => {
                Ok(DuplicateRequest { comm: comm.clone(), votes, made: Mutex::new(Some(made)) })
            }
            Err(error) => Err(comm.give_duplicate_up(made, error)),
        }
    }

    /// Whether it is complete on this rank; handles what has arrived. Local; never blocks.
    pub fn is_complete(&self) -> bool {
        self.votes.is_complete()
    }

    /// `MPI_Wait`: waits until all ranks have begun the duplication, and returns the communicator.
    ///
    /// Blocks until then.
    ///
    /// # Errors
    /// [`Error::Attribute`] on all ranks if a copy callback of any of them fails;
    /// [`Error::NoMemory`] on all ranks; those of any collective ([`Comm`]); [`Error::Argument`] if
    /// it has been waited for before.
    #[doc(alias = "MPI_Wait")]
    #[track_caller]
    pub fn wait(&self) -> Result<Comm> {
        let votes = self.votes.wait();
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(made) = made else {
            let problem = "the communicator has been taken before".into();
            return Err(Error::Argument { at: self.comm.place(Call::CommDup), problem });
        };
        // Also of a communicator that has been freed meanwhile.
        let _call = self.comm.context().enter(Call::CommDup, 0);
        let made = self.comm.handled(match votes {
            Ok(words) => {
                self.comm.end_duplicate(made, bytemuck::cast_slice::<u64, CreationVote>(&words))
            }
            Err(error) => Err(self.comm.give_duplicate_up(made, error)),
        });
        made.inspect(|comm| comm.expect_free(Location::caller()))
    }
}

impl fmt::Debug for DuplicateRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DuplicateRequest({:?})", self.votes)
    }
}
