//! `MPI_Win_free`.

use super::Win;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::prim::{JobFailed, Step, step};
use crate::shm::AllocError;
use std::panic::Location;

impl Win {
    /// `MPI_Win_free` (MPI-2.2 §11.2.1).
    ///
    /// Collective; blocks until every rank has called it, after which no rank can access the
    /// window any more and its memory is given back.
    ///
    /// # Errors
    /// [`Error::Epoch`] on all ranks if any of them has an epoch open, or the delete callback of
    /// an attribute refuses ([`Error::Attribute`] on that rank): the window is then gone for the
    /// program, but its memory stays until the job ends. [`Error::Mismatch`] on all ranks if
    /// they free different windows, with the same consequence. [`Error::RankFailed`].
    #[track_caller]
    pub fn free(self) -> Result<()> {
        let deleted = self.within(Call::WinFree, || Ok(self.delete_attributes()))?;
        self.free_after(deleted)
    }

    /// The rest of [`Win::free`], for a caller that has deleted the attributes while it still had the
    /// window ([`Win::delete_attributes`]): `deleted` is what came of it, which the other ranks are told.
    ///
    /// Collective, as [`Win::free`]; ranks may come by either.
    ///
    /// # Errors
    /// As [`Win::free`].
    #[track_caller]
    pub fn free_after(self, deleted: Result<()>) -> Result<()> {
        let at = Location::caller();
        self.within(Call::WinFree, || {
            let verdict = self.epochs.may_free();
            // Read before the others can be done: it stands in the block that rank 0 frees.
            let directory = self.own_directory_block();
            // Nobody is inside a call on this window once all have met here; only then does
            // anybody take memory away.
            let mine = [self.shown_to_all(), u64::from(verdict.is_ok() && deleted.is_ok())];
            let all = self.meet.begin_patiently(Call::WinFree, at)?.allgather(&mine)?;
            self.check_same_window(Call::WinFree, &all)?;
            verdict.map_err(|problem| self.wrong_epoch(Call::WinFree, problem))?;
            deleted?;
            if let Some(rank) = all.chunks_exact(2).position(|theirs| theirs[1] == 0) {
                let problem = format!("rank {rank} has an epoch open, or an attribute that stays");
                return Err(self.wrong_epoch(Call::WinFree, problem));
            }
            step(Step::FreeMet);
            self.give_back(directory)?;
            step(Step::FreeDone);
            Ok(())
        })
    }

    /// Whether no epoch is open on this rank that [`Win::free`] would be refused for. Local.
    pub fn may_be_freed(&self) -> bool {
        self.epochs.may_free().is_ok()
    }

    /// Frees this rank's own blocks of the window (post slots, directory), and the window's if this is rank 0.
    fn give_back(&self, directory: Option<u64>) -> Result<()> {
        let slots = self.turn().pscw.table_block();
        let block = (self.meet.rank() == 0 || self.foreign().is_some()).then_some(self.block);
        for at in slots.into_iter().chain(directory).chain(block) {
            let heap = self.context().segment.heap();
            heap.free(at, &self.context().excluded())
                .map_err(|error| self.heap_error(Call::WinFree, error, 0))?;
        }
        self.free_foreign()
    }

    /// What tells the window from others, the same on all ranks.
    fn shown_to_all(&self) -> u64 {
        self.foreign_number().map_or(self.block, u64::from)
    }

    /// `all` holds what tells the window that each rank frees, and another word.
    pub(super) fn check_same_window(&self, call: Call, all: &[u64]) -> Result<()> {
        match all.chunks_exact(2).position(|theirs| theirs[0] != self.shown_to_all()) {
            None => Ok(()),
            Some(other) => Err(Error::Mismatch {
                at: self.place(call),
                ours: format!("{call} of this window"),
                other: other as u32,
                theirs: format!("{call} of another window"),
            }),
        }
    }

    /// What the allocator said, as an error of `call`.
    pub(super) fn heap_error(&self, call: Call, error: AllocError, requested: u64) -> Error {
        match error {
            AllocError::JobFailed => self.job_failed(JobFailed, call),
            error => self.context().refusal(error, self.place(call), requested),
        }
    }
}
