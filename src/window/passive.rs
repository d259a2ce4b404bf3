//! Passive target synchronisation: locks, flush, win_sync (MPI-2.2 §11.4.3, MPI-4.1 §12.5).

use super::grant::Access;
use super::refusal::Refusal;
use super::turn::{ACCESS, BOTH};
use super::{Flavour, LockAssert, LockType, Win};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::prim::{Awaited, AwaitedKind, WaitRecord};
use crate::sync::{self, Queueing, Side};
use std::panic::Location;

impl Win {
    /// `MPI_Win_lock` (MPI-2.2 §11.4.3): opens an access epoch on `target`. Several targets may be
    /// locked at once.
    ///
    /// Local; blocks while a conflicting lock is held. The target takes no part.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::TargetRank`],
    /// [`Error::RankFailed`].
    #[track_caller]
    pub fn lock(&self, lock_type: LockType, target: Rank, assert: LockAssert) -> Result<()> {
        if !assert.is_nocheck() && self.lock_at_once(lock_type, target) {
            return Ok(());
        }
        self.lock_step_by_step(lock_type, target, assert, Location::caller())
    }

    /// [`Win::lock`] that waits, or is refused, or has something else about it.
    #[cold]
    fn lock_step_by_step(
        &self,
        lock_type: LockType,
        target: Rank,
        assert: LockAssert,
        at: &'static Location<'static>,
    ) -> Result<()> {
        if let Some(done) = self.apart(Call::Lock, |by| self.lock_by(by, lock_type, target, assert))
        {
            return done;
        }
        self.within_any(Call::Lock, || {
            let queueing = {
                let turn = self.turn();
                self.allowed(Call::Lock, target, turn.may_wait(ACCESS))?;
                self.check_lock(target)?;
                self.leave_fence();
                let queueing = self.epochs.queueing();
                self.epochs.awaits_lock(target.0);
                if self.try_lock(lock_type, target.0, assert, queueing) {
                    self.epochs.locked(target.0, lock_type, assert.is_nocheck());
                    return Ok(());
                }
                queueing
            };
            let granted = self.await_lock(lock_type, target.0, queueing, at);
            let _turn = self.turn();
            match granted {
                Ok(()) => self.epochs.locked(target.0, lock_type, false),
                Err(_) => self.epochs.unlocked(target.0),
            }
            granted
        })
    }

    pub(super) fn check_lock(&self, target: Rank) -> Result<()> {
        self.check_rank(Call::Lock, target)?;
        self.allowed(Call::Lock, target, self.epochs.may_lock(target.0, self.comm.rank()))?;
        if self.words_of(target.0).open.exposure.load() != 0 {
            return Err(self.refused(Call::Lock, target, Refusal::TargetExposed));
        }
        self.allowed(Call::Lock, Rank::NULL, self.may_have_locks(Call::Lock))
    }

    /// Locks if it need not wait.
    #[inline]
    fn try_lock(
        &self,
        lock_type: LockType,
        target: u32,
        assert: LockAssert,
        queueing: Queueing,
    ) -> bool {
        if assert.is_nocheck() {
            sync::lock_nocheck();
            return true;
        }
        let (window, words) = (&self.words.lock_all, &self.words_of(target).lock);
        sync::try_lock(window, words, lock_type, self.comm.rank(), queueing)
    }

    fn await_lock(
        &self,
        lock_type: LockType,
        target: u32,
        queueing: Queueing,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let (window, words) = (&self.words.lock_all, &self.words_of(target).lock);
        let tell = |record: &WaitRecord| record.say(&self.wanted_lock(lock_type, target));
        let waiter = self.telling_waiter(at, &tell);
        sync::lock(window, words, lock_type, self.comm.rank(), queueing, &waiter)
            .map_err(|_| self.lock_failed(target))
    }

    /// What is in the way of a lock that this rank waits for.
    fn wanted_lock(&self, lock_type: LockType, target: u32) -> Awaited<'_> {
        let holder = self.exclusive_holder(target);
        let of_all = lock_type == LockType::Exclusive && self.words.lock_all.is_held(Side::Left);
        let kind = match holder {
            None if of_all => AwaitedKind::LockAllEnds,
            _ => AwaitedKind::Lock,
        };
        Awaited { kind, peer: self.comm.world_rank(target), holder, ..Awaited::default() }
    }

    /// The world's rank that holds the lock of `target` exclusively, if one does.
    fn exclusive_holder(&self, target: u32) -> Option<u32> {
        self.words_of(target).lock.owner().and_then(|owner| self.comm.world_rank(owner))
    }

    /// The error of a wait for a lock that ended because the job failed.
    #[cold]
    fn lock_failed(&self, target: u32) -> Error {
        let owner = self.words_of(target).lock.owner();
        let owner = owner.and_then(|rank| self.comm.failed_rank(rank));
        let failed = owner.unwrap_or_else(|| self.meet.first_failed());
        Error::RankFailed { at: self.place(Call::Lock), failed, lock_of: owner.map(|_| target) }
    }

    /// `MPI_Win_unlock` (MPI-2.2 §11.4.3): the epoch's operations are complete at origin and
    /// target. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::TargetRank`].
    pub fn unlock(&self, target: Rank) -> Result<()> {
        if self.unlock_at_once(target) { Ok(()) } else { self.unlock_step_by_step(target) }
    }

    /// As [`Win::lock_step_by_step`].
    #[cold]
    fn unlock_step_by_step(&self, target: Rank) -> Result<()> {
        if let Some(done) = self.apart(Call::Unlock, |by| self.unlock_by(by, target)) {
            return done;
        }
        self.within_any(Call::Unlock, || {
            let _turn = self.turn();
            self.check_rank(Call::Unlock, target)?;
            let (held, nocheck) =
                self.allowed(Call::Unlock, target, self.epochs.may_unlock(target.0))?;
            if nocheck {
                sync::unlock_nocheck();
            } else {
                sync::unlock(&self.words.lock_all, &self.words_of(target.0).lock, held);
            }
            self.ring([target.0]);
            self.epochs.unlocked(target.0);
            Ok(())
        })
    }

    /// `MPI_Win_lock_all` (MPI-4.1 §12.5.3): a shared lock on every rank's part, at a cost that
    /// does not depend on their number.
    ///
    /// Local; blocks while any part is locked exclusively.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::RankFailed`].
    #[track_caller]
    pub fn lock_all(&self, assert: LockAssert) -> Result<()> {
        if !assert.is_nocheck() && self.lock_all_at_once() {
            return Ok(());
        }
        self.lock_all_step_by_step(assert, Location::caller())
    }

    /// As [`Win::lock_step_by_step`].
    #[cold]
    fn lock_all_step_by_step(
        &self,
        assert: LockAssert,
        at: &'static Location<'static>,
    ) -> Result<()> {
        if let Some(done) = self.apart(Call::LockAll, |by| self.lock_all_by(by, assert)) {
            return done;
        }
        self.within_any(Call::LockAll, || {
            let waiting = {
                let mut turn = self.turn();
                self.allowed(Call::LockAll, Rank::NULL, self.epochs.may_lock_all())?;
                self.allowed(Call::LockAll, Rank::NULL, turn.may_wait(BOTH))?;
                self.allowed(Call::LockAll, Rank::NULL, self.may_have_locks(Call::LockAll))?;
                if self.try_lock_all(assert) {
                    self.leave_fence();
                    self.epochs.locked_all(assert.is_nocheck());
                    return Ok(());
                }
                // Also the exposure side: nobody may post meanwhile.
                self.begin_waiting(&mut turn, Call::LockAll, BOTH)?
            };
            let tell = |record: &WaitRecord| {
                let holder = (0..self.comm.size()).find_map(|rank| self.exclusive_holder(rank));
                let kind = AwaitedKind::LockAll;
                record.say(&Awaited { kind, holder, ..Awaited::default() });
            };
            sync::lock_all(&self.words.lock_all, &self.telling_waiter(at, &tell))
                .map_err(|failed| self.job_failed(failed, Call::LockAll))?;
            self.leave_fence();
            waiting.end(|_| self.epochs.locked_all(false));
            Ok(())
        })
    }

    /// Locks if it need not wait.
    #[inline]
    fn try_lock_all(&self, assert: LockAssert) -> bool {
        if assert.is_nocheck() {
            sync::lock_all_nocheck();
            return true;
        }
        sync::try_lock_all(&self.words.lock_all)
    }

    /// `MPI_Win_unlock_all` (MPI-4.1 §12.5.3). Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`]
    pub fn unlock_all(&self) -> Result<()> {
        if self.unlock_all_at_once() { Ok(()) } else { self.unlock_all_step_by_step() }
    }

    /// As [`Win::lock_step_by_step`].
    #[cold]
    fn unlock_all_step_by_step(&self) -> Result<()> {
        if let Some(done) = self.apart(Call::UnlockAll, |by| self.unlock_all_by(by)) {
            return done;
        }
        self.within_any(Call::UnlockAll, || {
            let _turn = self.turn();
            let nocheck =
                self.allowed(Call::UnlockAll, Rank::NULL, self.epochs.may_unlock_all())?;
            match nocheck {
                true => sync::unlock_all_nocheck(),
                false => sync::unlock_all(&self.words.lock_all),
            }
            self.ring_all();
            self.epochs.unlocked_all();
            Ok(())
        })
    }

    /// `MPI_Win_flush` (MPI-4.1 §12.5.4): this rank's operations on `target` are complete at origin
    /// and target. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::TargetRank`].
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
    /// [`Error::Epoch`]
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
    /// [`Error::Epoch`]
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
        if let Some(window) = self.foreign() {
            // What is wrong shows in the next call that can say so.
            let _ = window.sync();
        }
        match self.flavour {
            // Its stores may have gone to any part.
            Flavour::Shared => self.ring_all(),
            _ => self.ring([self.comm.rank()]),
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

    /// Refuses a request-based operation in an epoch of active target synchronisation. What else
    /// an operation needs is checked by the operation.
    pub(crate) fn check_passive(&self, call: Call) -> Result<()> {
        match self.epochs.access() {
            Access::None | Access::LockedAll { .. } | Access::Locked => Ok(()),
            Access::Fence | Access::Started => {
                let problem = format!("{call} is allowed in an epoch of lock or lock_all only");
                if self.is_accepted(&problem) {
                    return Ok(());
                }
                Err(self.wrong_epoch(call, problem))
            }
        }
    }

    fn check_flush_all(&self, call: Call) -> Result<()> {
        self.allowed(call, Rank::NULL, self.epochs.may_flush_all())
    }

    /// Whether some rank has a fence epoch open, and which: it may then put at any time without
    /// asking for a lock. Call when all have arrived at the latest fence of this rank
    /// ([`Win::await_latest_fence`]), after a MEM_SYNC.
    pub(crate) fn rank_in_fence_epoch(&self) -> Option<u32> {
        let passed = self.fences.load();
        (0..self.comm.size()).find(|rank| self.words_of(*rank).open.is_in_fence_epoch(passed))
    }
}
