//! A window after the death of a rank: back into use, without that rank but with its memory.

use super::{Unmapped, Win};
use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::shm::Segment;
use crate::sync::{RankWords, WindowWords};
use std::panic::Location;

impl Win {
    /// Brings the window back into use after ranks of it have failed; returns all that have
    /// (an extension, after the proposals for fault tolerance that MPI-4.1 leaves to
    /// implementations).
    ///
    /// In a job started with `--on-failure=continue`, once a rank of the window has failed, every
    /// call on it that would wait for others returns [`Error::RankFailed`] on all ranks that live;
    /// operations in epochs that are open go on, and may still be completed. Behind this call:
    ///
    /// * no rank has an epoch open on the window or holds a lock of it, also those who had;
    /// * the ranks are numbered as before. Those that failed take no part in fence and free. In
    ///   start and post they are refused ([`Error::RankFailed`]). Their parts can be accessed as
    ///   before, and be locked: what they held in memory of the segment is still there. An operation
    ///   that a rank was killed in may have written a part of its bytes: [`Win::torn`] says which these
    ///   are. Private memory of a dead rank is gone ([`Error::Unreachable`]), and so is all that it has attached
    ///   ([`Error::NotAttached`]).
    ///
    /// Collective over the ranks of the window that live; blocks until each of them has called it.
    /// Should another rank fail meanwhile, the call begins again without it.
    ///
    /// # Errors
    /// [`Error::Mismatch`] on all ranks if they recover different windows; [`Error::NoMemory`] on
    /// all ranks; [`Error::RankFailed`] if the job ends.
    #[track_caller]
    pub fn recover(&mut self) -> Result<Vec<Rank>> {
        let at = Location::caller();
        let recovered = {
            loop {
                // Again each time: giving back where a meeting failed is a call of its own.
                let _call = self.enter(Call::WinRecover);
                match self.meet_those_who_live(at) {
                    // All who live get this error, because a meeting ends alike for all of them.
                    Err(Error::RankFailed { .. }) if self.context().goes_on() => {}
                    met => break met,
                }
            }
        };
        self.meet = self.handled(recovered)?;
        Ok((0..self.comm.size())
            .filter(|rank| self.comm.failed_rank(*rank).is_some())
            .map(Rank)
            .collect())
    }

    /// Puts everything back to how it was when the window was new, together with all who live;
    /// returns their communicator.
    fn meet_those_who_live(&self, at: &'static Location<'static>) -> Result<Comm> {
        let call = Call::WinRecover;
        let meet = self.meet.shrunk(call, at)?.freed_with_its_handles();
        let mut all = meet.begin_patiently(call, at)?;
        let blocks = all.allgather(&[self.block, 0])?;
        self.check_same_window(call, &blocks)?;
        // Nobody is inside a call on this window.
        if meet.rank() == 0 {
            self.clear_words()?;
        }
        self.clear_own()?;
        all.allgather(&[self.block])?;
        drop(all);
        Ok(meet)
    }

    /// Zero bytes are the initial state of every word that ranks synchronise by.
    fn clear_words(&self) -> Result<()> {
        let segment = &self.context().segment;
        let orphaned = self.orphaned_slots();
        clear::<WindowWords>(segment, &self.words)?;
        self.ranks.iter().try_for_each(|rank| clear::<RankWords>(segment, rank))?;
        // When nothing names them any more: should this rank die meanwhile, nobody does it again.
        orphaned.into_iter().for_each(|block| self.give_orphan_back(block));
        if let Unmapped::Dynamic { directories, .. } = &self.unmapped {
            for (directory, rank) in directories.iter().zip(0..) {
                let orphan = directory.recover(segment, self.comm.failed_rank(rank).is_none())?;
                orphan.into_iter().for_each(|block| self.give_orphan_back(block));
            }
        }
        Ok(())
    }

    /// The blocks of the post slots of those who have failed.
    fn orphaned_slots(&self) -> Vec<u64> {
        let failed = |rank: &u32| self.comm.failed_rank(*rank).is_some();
        let slots = (0..self.comm.size()).filter(failed).map(|rank| self.slots_of(rank));
        slots.flatten().collect()
    }

    /// What only a rank that has failed had a use for. It stays if that rank had left it damaged.
    fn give_orphan_back(&self, block: u64) {
        let _ = self.context().segment.heap().free(block, &self.context().excluded());
    }

    /// This rank's own side.
    fn clear_own(&self) -> Result<()> {
        let state = std::mem::take(&mut *self.sync_state());
        if let Some(slots) = state.pscw.table_block() {
            let freed = self.context().segment.heap().free(slots, &self.context().excluded());
            freed.map_err(|error| self.heap_error(Call::WinRecover, error, 0))?;
        }
        self.epochs.close_all();
        self.fences.store(0);
        Ok(())
    }
}

/// Clears words of the segment.
fn clear<T>(segment: &Segment, words: &T) -> Result<()> {
    let bytes = size_of::<T>() as u64;
    let at = segment.offset_of(std::ptr::from_ref(words).cast(), bytes);
    segment.mapping().clear(at.ok_or(Error::Damaged { what: "words of a window" })?, bytes)
}
