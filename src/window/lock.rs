//! Locks of targets, and of all targets (MPI-2.2 §11.4.3, MPI-4.1 §12.5.3).
//!
//! A call asks the table of legal calls, and tries. Where it has to wait or to report an error, its slow
//! path continues.

use super::grant::Grant;
use super::hints::Hinted;
use super::refusal::{Fast, Refusal, Slow};
use super::serial::{ACCESS, BOTH, SyncState, Synchronization};
use super::{LockAssert, LockType};
use crate::call::Call;
use crate::check::{CheckedWindow, Checker, Frequency, Holding};
use crate::error::Result;
use crate::group::Rank;
use std::panic::Location;

impl Synchronization<'_> {
    /// `MPI_Win_lock`
    #[inline(always)]
    pub(super) fn lock(
        self,
        hints: &Hinted,
        lock_type: LockType,
        target: Rank,
        assert: LockAssert,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let begin =
            |state: &mut SyncState| self.begin_lock(hints, state, lock_type, target, assert);
        match self.try_alone(Call::Lock, target, begin) {
            Ok(()) => Ok(()),
            Err(slow) => self.lock_slowly(hints, slow, lock_type, target, assert, at),
        }
    }

    /// Locks, if nothing is in the way; otherwise this rank waits for the lock from now on.
    #[inline(always)]
    fn begin_lock(
        self,
        hints: &Hinted,
        state: &SyncState,
        lock_type: LockType,
        target: Rank,
        assert: LockAssert,
    ) -> Fast {
        let (epochs, own) = (&self.calls.epochs, self.calls.rank());
        let words = self.transport().ranks.get(target.index()).ok_or(Refusal::NoSuchRank)?;
        let grant = epochs.grant_of(target.0)?;
        state.may_wait(ACCESS)?;
        epochs.may_lock(grant, target == own)?;
        if words.open.exposure.load() != 0 {
            return Err(Refusal::TargetExposed.into());
        }
        hints.may_have_locks(self.calls, Call::Lock)?;
        self.transport().leave_fence(own.0);
        let (queueing, nocheck) = (epochs.queueing(), assert.is_nocheck());
        let tried = self.transport().try_lock(self.calls, lock_type, words, nocheck, queueing);
        let held = Grant::Locked { held: lock_type, nocheck };
        epochs.takes_lock(grant, if tried.is_ok() { held } else { Grant::Awaited });
        tried
    }

    /// [`Synchronization::lock`] that waits or fails.
    #[cold]
    #[inline(never)]
    fn lock_slowly(
        self,
        hints: &Hinted,
        slow: Slow,
        lock_type: LockType,
        target: Rank,
        assert: LockAssert,
        at: &'static Location<'static>,
    ) -> Result<()> {
        self.calls.within_any_operation((Call::Lock, target, 0), || {
            let begin =
                |state: &mut SyncState| self.begin_lock(hints, state, lock_type, target, assert);
            let Some(slow) = self.go_on(Call::Lock, target, slow, begin)? else {
                self.locked(target, lock_type, assert, at);
                return Ok(());
            };
            let granted =
                self.transport().await_lock(self.calls, lock_type, target.0, slow.queueing(), at);
            if granted.is_ok() {
                self.waited(lock_type, Some(target.0));
            }
            let _state = self.sync_state();
            let (epochs, held) = (&self.calls.epochs, lock_type);
            if let Ok(grant) = epochs.grant_of(target.0) {
                match granted {
                    Ok(()) => epochs.locked(grant, held),
                    Err(_) => epochs.unlocked(grant),
                }
            }
            self.locked(target, lock_type, assert, at);
            granted
        })
    }

    /// The lock is held, in a checked job.
    fn locked(
        self,
        target: Rank,
        lock_type: LockType,
        assert: LockAssert,
        at: &'static Location<'static>,
    ) {
        if !assert.is_nocheck() {
            let calls = self.calls;
            calls.locking(target, Some(at), |check, window| {
                window.locked(check, target.0, lock_type)
            });
        }
        self.holds(lock_type, Some(target.0), assert, at);
    }

    /// `MPI_Win_unlock`
    #[inline(always)]
    pub(super) fn unlock(self, target: Rank) -> Result<()> {
        match self.try_alone(Call::Unlock, target, |_| self.end_lock(target)) {
            Ok(()) => Ok(()),
            Err(slow) => self.unlock_slowly(slow, target),
        }
    }

    #[inline(always)]
    fn end_lock(self, target: Rank) -> Fast {
        let words = self.transport().ranks.get(target.index()).ok_or(Refusal::NoSuchRank)?;
        let grant = self.calls.epochs.grant_of(target.0)?;
        let (held, nocheck) = self.calls.epochs.may_unlock(grant)?;
        let released = self.transport().release(self.calls.rank(), target, words, held, nocheck);
        self.calls.epochs.unlocked(grant);
        released
    }

    /// [`Synchronization::unlock`] that fails, or that another MPI does.
    #[cold]
    #[inline(never)]
    fn unlock_slowly(self, slow: Slow, target: Rank) -> Result<()> {
        self.calls.within_any_operation((Call::Unlock, target, 0), || {
            self.calls.locking(target, None, |checker, window| {
                if let Some(held) = self.held(target) {
                    window.unlocking(checker, &self.calls.excluded(), target.0, held);
                }
            });
            self.releases(|| {
                let held = self.held(target).filter(|(_, nocheck)| !nocheck);
                held.map(|(held, _)| (held, Some(target.0)))
            });
            match self.go_on(Call::Unlock, target, slow, |_| self.end_lock(target))? {
                None => Ok(()),
                Some(_) => self.transport().release_slowly(self.calls, target),
            }
        })
    }

    /// How this rank holds the lock of the target, if it does, and whether with NOCHECK. The target may be no rank.
    fn held(self, target: Rank) -> Option<(LockType, bool)> {
        self.calls.epochs.may_unlock(self.calls.epochs.grant_of(target.0).ok()?).ok()
    }

    /// `MPI_Win_lock_all`
    #[inline(always)]
    pub(super) fn lock_all(
        self,
        hints: &Hinted,
        assert: LockAssert,
        at: &'static Location<'static>,
    ) -> Result<()> {
        match self
            .try_alone(Call::LockAll, Rank::NULL, |state| self.begin_lock_all(hints, state, assert))
        {
            Ok(()) => Ok(()),
            Err(slow) => self.lock_all_slowly(hints, slow, assert, at),
        }
    }

    /// Locks all, if nothing is in the way. Otherwise this rank counts as waiting on both sides from now
    /// on: no thread may post meanwhile.
    #[inline(always)]
    fn begin_lock_all(self, hints: &Hinted, state: &mut SyncState, assert: LockAssert) -> Fast {
        self.calls.epochs.may_lock_all()?;
        state.may_wait(BOTH)?;
        hints.may_have_locks(self.calls, Call::LockAll)?;
        let nocheck = assert.is_nocheck();
        let own = self.transport().words_of(self.calls.rank().0);
        if let Err(slow) = self.transport().try_lock_all(own, nocheck) {
            state.wait(Call::LockAll, BOTH);
            return Err(slow);
        }
        own.open.leave_fence();
        self.calls.epochs.locked_all(nocheck);
        Ok(())
    }

    /// [`Synchronization::lock_all`] that waits or fails.
    #[cold]
    #[inline(never)]
    fn lock_all_slowly(
        self,
        hints: &Hinted,
        slow: Slow,
        assert: LockAssert,
        at: &'static Location<'static>,
    ) -> Result<()> {
        self.calls.within_any(Call::LockAll, || {
            let begin = |state: &mut SyncState| self.begin_lock_all(hints, state, assert);
            if self.go_on(Call::LockAll, Rank::NULL, slow, begin)?.is_none() {
                self.locked_all(assert, at);
                return Ok(());
            }
            let waiting = self.waiting(BOTH);
            self.transport().await_lock_all(self.calls, at)?;
            self.waited(LockType::Shared, None);
            self.transport().leave_fence(self.calls.rank().0);
            waiting.end(|_| self.calls.epochs.locked_all(false));
            self.locked_all(assert, at);
            Ok(())
        })
    }

    /// lock_all is held, in a checked job.
    fn locked_all(self, assert: LockAssert, at: &'static Location<'static>) {
        if !assert.is_nocheck() {
            let locked = |checker: &Checker, window: &CheckedWindow| window.locked_all(checker);
            self.calls.synchronising(Some(at), Frequency::Seldom, locked);
        }
        self.holds(LockType::Shared, None, assert, at);
    }

    /// In a traced job: a lock of the target, or of all, was granted after a wait.
    fn waited(self, lock_type: LockType, target: Option<u32>) {
        if let Some(statistics) = self.calls.context().statistics() {
            statistics.granted(|| self.transport().awaited_release(lock_type, target));
        }
    }

    /// In a traced job: this rank is about to release that lock of a target, or of all, if it has it.
    fn releases(self, lock: impl FnOnce() -> Option<(LockType, Option<u32>)>) {
        let Some(log) = self.calls.context().log() else { return };
        if let Some((held, target)) = lock()
            && let Some(mark) = log.released()
        {
            self.transport().mark_release(held, target, mark);
        }
    }

    /// This rank has that lock, in a checked job.
    fn holds(
        self,
        held: LockType,
        target: Option<u32>,
        assert: LockAssert,
        at: &'static Location<'static>,
    ) {
        let of = Holding { held, nocheck: assert.is_nocheck(), target };
        self.calls.checked(|checker, window| {
            window.holds(checker, &self.calls.excluded(), of, at);
        });
    }

    /// `MPI_Win_unlock_all`
    #[inline(always)]
    pub(super) fn unlock_all(self) -> Result<()> {
        match self.try_alone(Call::UnlockAll, Rank::NULL, |_| self.end_lock_all()) {
            Ok(()) => Ok(()),
            Err(slow) => self.unlock_all_slowly(slow),
        }
    }

    #[inline(always)]
    fn end_lock_all(self) -> Fast {
        let released =
            self.transport().release_all(self.calls.rank(), self.calls.epochs.may_unlock_all()?);
        self.calls.epochs.unlocked_all();
        released
    }

    /// [`Synchronization::unlock_all`] that fails, or that another MPI does.
    #[cold]
    #[inline(never)]
    fn unlock_all_slowly(self, slow: Slow) -> Result<()> {
        self.calls.within_any(Call::UnlockAll, || {
            self.calls.synchronising(None, Frequency::Seldom, |checker, window| {
                if let Ok(nocheck) = self.calls.epochs.may_unlock_all() {
                    window.unlocking_all(checker, &self.calls.excluded(), nocheck);
                }
            });
            self.releases(|| {
                let nocheck = self.calls.epochs.may_unlock_all().ok()?;
                (!nocheck).then_some((LockType::Shared, None))
            });
            match self.go_on(Call::UnlockAll, Rank::NULL, slow, |_| self.end_lock_all())? {
                None => Ok(()),
                Some(_) => self.transport().release_all_slowly(self.calls),
            }
        })
    }
}
