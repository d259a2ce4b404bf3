//! `MPI_Win_free`.

use super::Win;
use crate::call::Call;
use crate::error::{Error, MismatchKind, Result};
use crate::group::Rank;
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
        let at = Location::caller();
        self.within(Call::WinFree, || {
            // Read before the others can be done: it stands in the block that rank 0 frees.
            let directory = self.own_directory_block();
            // Nobody is inside a call on this window once all have met here; only then does
            // anybody take memory away.
            self.meet_to_free(self.delete_attributes(), at)?;
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

    /// Whether [`Win::free`] would be refused on any rank, for a caller that keeps the window then;
    /// `deleted` is what has come of [`Win::delete_attributes`], if this rank has called it. Returns
    /// whether any rank has attributes of the window.
    ///
    /// Collective; blocks until every rank has called it. Changes nothing.
    ///
    /// # Errors
    /// As [`Win::free`].
    #[track_caller]
    pub fn agree_to_free(&self, deleted: Result<()>) -> Result<bool> {
        let at = Location::caller();
        self.within(Call::WinFree, || self.meet_to_free(deleted, at))
    }

    /// The body of [`Win::agree_to_free`].
    fn meet_to_free(&self, deleted: Result<()>, at: &'static Location<'static>) -> Result<bool> {
        const MAY: u64 = 1;
        const HAS_ATTRIBUTES: u64 = 2;
        let verdict = self.epochs.may_free();
        let may = if verdict.is_ok() && deleted.is_ok() { MAY } else { 0 };
        let has_attributes = if self.attributes.is_empty() { 0 } else { HAS_ATTRIBUTES };
        let mine = [self.shown_to_all(), may | has_attributes];
        let all = self.meet.begin_patiently(Call::WinFree, at)?.allgather(&mine)?;
        self.check_same_window(Call::WinFree, &all)?;
        self.allowed(Call::WinFree, Rank::NULL, verdict)?;
        deleted?;
        let mut said = all.chunks_exact(2).map(|theirs| theirs[1]);
        if let Some(rank) = said.clone().position(|said| said & MAY == 0) {
            let problem = format!("rank {rank} has an epoch open, or an attribute that stays");
            return Err(self.wrong_epoch(Call::WinFree, problem));
        }
        Ok(said.any(|said| said & HAS_ATTRIBUTES != 0))
    }

    /// Frees this rank's own blocks of the window (post slots, directory), and the window's if this is rank 0.
    fn give_back(&self, directory: Option<u64>) -> Result<()> {
        let slots = self.sync_state().pscw.table_block();
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
                kind: MismatchKind::Call,
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
