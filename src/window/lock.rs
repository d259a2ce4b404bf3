//! Locks of targets, and of all targets (MPI-2.2 §11.4.3, MPI-4.1 §12.5.3).
//!
//! A call asks the table, tries, and is done; where it has to wait, or to say why it is refused, its
//! cold half goes on from there.

use super::refusal::{Fast, Refusal, Slow};
use super::serial::{ACCESS, BOTH, SyncState};
use super::{LockAssert, LockType, Win};
use crate::call::Call;
use crate::error::Result;
use crate::group::Rank;
use std::panic::Location;

impl Win {
    /// `MPI_Win_lock` (MPI-2.2 §11.4.3): opens an access epoch on `target`. Several targets may be
    /// locked at once.
    ///
    /// Local; blocks while a conflicting lock is held. The target takes no part.
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch), [`Error::TargetRank`](crate::Error::TargetRank),
    /// [`Error::RankFailed`](crate::Error::RankFailed).
    #[track_caller]
    pub fn lock(&self, lock_type: LockType, target: Rank) -> Result<()> {
        self.lock_with(lock_type, target, LockAssert::NONE)
    }

    /// [`Win::lock`] with assertions: see [assertions](crate::assertions).
    ///
    /// # Errors
    /// Those of [`Win::lock`].
    #[track_caller]
    pub fn lock_with(&self, lock_type: LockType, target: Rank, assert: LockAssert) -> Result<()> {
        match self.try_alone(Call::Lock, |state| self.begin_lock(state, lock_type, target, assert))
        {
            Ok(()) => Ok(()),
            Err(slow) => self.lock_slowly(slow, lock_type, target, assert, Location::caller()),
        }
    }

    /// Locks, if nothing is in the way; otherwise this rank waits for the lock from now on.
    #[inline(always)]
    fn begin_lock(
        &self,
        state: &SyncState,
        lock_type: LockType,
        target: Rank,
        assert: LockAssert,
    ) -> Fast {
        let own = self.comm.rank().0;
        let words = self.ranks.get(target.0 as usize).ok_or(Refusal::NoSuchRank)?;
        state.may_wait(ACCESS)?;
        self.epochs.may_lock(target.0, own)?;
        if words.open.exposure.load() != 0 {
            return Err(Refusal::TargetExposed.into());
        }
        self.may_have_locks(Call::Lock)?;
        self.leave_fence();
        let (queueing, nocheck) = (self.epochs.queueing(), assert.is_nocheck());
        self.epochs.awaits_lock(target.0);
        self.try_lock(lock_type, words, nocheck, queueing)?;
        self.epochs.locked(target.0, lock_type, nocheck);
        Ok(())
    }

    /// [`Win::lock`] that waits, or is refused.
    #[cold]
    #[inline(never)]
    fn lock_slowly(
        &self,
        slow: Slow,
        lock_type: LockType,
        target: Rank,
        assert: LockAssert,
        at: &'static Location<'static>,
    ) -> Result<()> {
        self.within_any(Call::Lock, || {
            let begin = |state: &mut SyncState| self.begin_lock(state, lock_type, target, assert);
            let Some(slow) = self.go_on(Call::Lock, target, slow, begin)? else { return Ok(()) };
            let granted = self.await_lock(lock_type, target.0, slow.queueing(), at);
            let _turn = self.sync_state();
            match granted {
                Ok(()) => self.epochs.locked(target.0, lock_type, false),
                Err(_) => self.epochs.unlocked(target.0),
            }
            granted
        })
    }

    /// `MPI_Win_unlock` (MPI-2.2 §11.4.3): the epoch's operations are complete at origin and
    /// target. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch), [`Error::TargetRank`](crate::Error::TargetRank).
    pub fn unlock(&self, target: Rank) -> Result<()> {
        match self.try_alone(Call::Unlock, |_| self.end_lock(target)) {
            Ok(()) => Ok(()),
            Err(slow) => self.unlock_slowly(slow, target),
        }
    }

    #[inline(always)]
    fn end_lock(&self, target: Rank) -> Fast {
        let words = self.ranks.get(target.0 as usize).ok_or(Refusal::NoSuchRank)?;
        let (held, nocheck) = self.epochs.may_unlock(target.0)?;
        let released = self.release(target, words, held, nocheck);
        self.epochs.unlocked(target.0);
        released
    }

    /// [`Win::unlock`] that is refused, or that another MPI does.
    #[cold]
    #[inline(never)]
    fn unlock_slowly(&self, slow: Slow, target: Rank) -> Result<()> {
        self.within_any(Call::Unlock, || {
            match self.go_on(Call::Unlock, target, slow, |_| self.end_lock(target))? {
                None => Ok(()),
                Some(_) => self.release_slowly(target),
            }
        })
    }

    /// `MPI_Win_lock_all` (MPI-4.1 §12.5.3): a shared lock on every rank's part, at a cost that
    /// does not depend on their number.
    ///
    /// Local; blocks while any part is locked exclusively.
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch), [`Error::RankFailed`](crate::Error::RankFailed).
    #[track_caller]
    pub fn lock_all(&self) -> Result<()> {
        self.lock_all_with(LockAssert::NONE)
    }

    /// [`Win::lock_all`] with assertions: see [assertions](crate::assertions).
    ///
    /// # Errors
    /// Those of [`Win::lock_all`].
    #[track_caller]
    pub fn lock_all_with(&self, assert: LockAssert) -> Result<()> {
        match self.try_alone(Call::LockAll, |state| self.begin_lock_all(state, assert)) {
            Ok(()) => Ok(()),
            Err(slow) => self.lock_all_slowly(slow, assert, Location::caller()),
        }
    }

    /// Locks all, if nothing is in the way; otherwise this rank waits for it on both sides from now on:
    /// nobody may post meanwhile.
    #[inline(always)]
    fn begin_lock_all(&self, state: &mut SyncState, assert: LockAssert) -> Fast {
        self.epochs.may_lock_all()?;
        state.may_wait(BOTH)?;
        self.may_have_locks(Call::LockAll)?;
        let nocheck = assert.is_nocheck();
        if let Err(slow) = self.try_lock_all(nocheck) {
            state.wait(Call::LockAll, BOTH);
            return Err(slow);
        }
        self.leave_fence();
        self.epochs.locked_all(nocheck);
        Ok(())
    }

    /// [`Win::lock_all`] that waits, or is refused.
    #[cold]
    #[inline(never)]
    fn lock_all_slowly(
        &self,
        slow: Slow,
        assert: LockAssert,
        at: &'static Location<'static>,
    ) -> Result<()> {
        self.within_any(Call::LockAll, || {
            let begin = |state: &mut SyncState| self.begin_lock_all(state, assert);
            if self.go_on(Call::LockAll, Rank::NULL, slow, begin)?.is_none() {
                return Ok(());
            }
            let waiting = self.waiting(BOTH);
            self.await_lock_all(at)?;
            self.leave_fence();
            waiting.end(|_| self.epochs.locked_all(false));
            Ok(())
        })
    }

    /// `MPI_Win_unlock_all` (MPI-4.1 §12.5.3). Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch)
    pub fn unlock_all(&self) -> Result<()> {
        match self.try_alone(Call::UnlockAll, |_| self.end_lock_all()) {
            Ok(()) => Ok(()),
            Err(slow) => self.unlock_all_slowly(slow),
        }
    }

    #[inline(always)]
    fn end_lock_all(&self) -> Fast {
        let released = self.release_all(self.epochs.may_unlock_all()?);
        self.epochs.unlocked_all();
        released
    }

    /// As [`Win::unlock_slowly`].
    #[cold]
    #[inline(never)]
    fn unlock_all_slowly(&self, slow: Slow) -> Result<()> {
        self.within_any(Call::UnlockAll, || {
            match self.go_on(Call::UnlockAll, Rank::NULL, slow, |_| self.end_lock_all())? {
                None => Ok(()),
                Some(_) => self.release_all_slowly(),
            }
        })
    }
}
