//! Flush and win_sync (MPI-4.1 §12.5.4).

use super::{Flavour, Win};
use crate::call::Call;
use crate::error::Result;
use crate::group::Rank;
use crate::sync;

impl Win {
    /// `MPI_Win_flush` (MPI-4.1 §12.5.4): this rank's operations on `target` are complete at origin
    /// and target. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch), [`Error::TargetRank`](crate::Error::TargetRank).
    #[inline(always)]
    pub fn flush(&self, target: Rank) -> Result<()> {
        if (target.0 as usize) < self.parts.len() && self.epochs.may_flush(target.0).is_ok() {
            self.flush_reached(target);
            return Ok(());
        }
        self.flush_refused(target)
    }

    /// [`Win::flush`] of a target that this rank has not locked, if it is one.
    #[cold]
    #[inline(never)]
    fn flush_refused(&self, target: Rank) -> Result<()> {
        self.handled(self.check_flush(Call::Flush, target))?;
        self.flush_reached(target);
        Ok(())
    }

    /// [`Win::flush`] with nothing to check, because an operation on `target` has just been allowed
    /// under the same lock.
    #[inline(always)]
    pub(crate) fn flush_reached(&self, target: Rank) {
        sync::flush();
        self.ring([target.0]);
    }

    /// As [`Win::flush_reached`], right behind a read-modify-write of an element of the target.
    #[inline(always)]
    pub(crate) fn flush_updated(&self, target: Rank) {
        sync::flush_beside();
        self.ring([target.0]);
    }

    /// `MPI_Win_flush_all`: as [`Win::flush`], for every target.
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch)
    pub fn flush_all(&self) -> Result<()> {
        let _call = self.enter(Call::FlushAll);
        self.handled(self.check_flush_all(Call::FlushAll))?;
        sync::flush_all();
        self.ring_all();
        Ok(())
    }

    /// `MPI_Win_flush_local`: this rank's operations on `target` are complete at the origin.
    /// Operations are eager, so they are complete at the target too. Local; never blocks.
    ///
    /// # Errors
    /// As [`Win::flush`].
    pub fn flush_local(&self, target: Rank) -> Result<()> {
        let _call = self.enter(Call::FlushLocal);
        self.handled(self.check_flush(Call::FlushLocal, target))?;
        sync::flush_local();
        Ok(())
    }

    /// `MPI_Win_flush_local_all`: as [`Win::flush_local`], for every target.
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch)
    pub fn flush_local_all(&self) -> Result<()> {
        let _call = self.enter(Call::FlushLocalAll);
        self.handled(self.check_flush_all(Call::FlushLocalAll))?;
        sync::flush_local_all();
        Ok(())
    }

    /// `MPI_Win_sync` (MPI-4.1 §12.5.4; New RMA Design, "RMA + Shared Memory" 3): orders this
    /// rank's loads and stores of the window before it against those after it, and against its
    /// synchronisation with others. Allowed in any epoch and in none. Local; never blocks.
    pub fn sync(&self) {
        let _call = self.enter(Call::WinSync);
        sync::win_sync();
        self.sync_elsewhere();
        match self.flavour {
            // Its stores may have gone to any part.
            Flavour::Shared => self.ring_all(),
            _ => self.ring([self.comm.rank().0]),
        }
    }

    #[inline]
    fn check_flush(&self, call: Call, target: Rank) -> Result<()> {
        if target == Rank::NULL {
            return self.check_flush_all(call);
        }
        self.check_rank(call, target)?;
        self.allowed(call, target, self.epochs.may_flush(target.0))
    }

    fn check_flush_all(&self, call: Call) -> Result<()> {
        self.allowed(call, Rank::NULL, self.epochs.may_flush_all())
    }
}
