//! Locks of targets, and of all targets (MPI-2.2 §11.4.3, MPI-4.1 §12.5.3).
//!
//! A call asks the table of legal calls, and tries. Where it has to wait or to report an error, its slow
//! path does the same again, and goes on.

use super::grant::{AccessState, Grant};
use super::hints::Hinted;
use super::refusal::{Check, Refusal};
use super::serial::{ACCESS, BOTH, FOREIGN, SyncState, Synchronization};
use super::transport::Transport;
use super::{LockAssert, LockType};
use crate::call::Call;
use crate::check::{CheckedWindow, Checker, Frequency, Holding};
use crate::error::Result;
use crate::group::Rank;
use crate::prim::{Word32, cold_call};
use crate::sync::{self, Queueing, RankWords};
use std::panic::Location;

/// How a call locks a target.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) lock_type: LockType,
    pub(super) nocheck: bool,
}

/// A target that this rank may lock.
#[derive(Clone, Copy)]
struct Lockable<'w> {
    words: &'w RankWords,
    grant: &'w Word32,
    /// The state of this rank's access side before the lock.
    before: AccessState,
}

impl Lockable<'_> {
    /// How a lock of it queues.
    #[inline(always)]
    fn queueing(self) -> Queueing {
        if self.before.locks() == 0 { Queueing::Fair } else { Queueing::HoldersOnly }
    }
}

impl<'w> Synchronization<'w> {
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
        match self.try_lock(lock_type, target, assert) {
            true => Ok(()),
            false => self.lock_slowly(hints, lock_type, target, assert, at),
        }
    }

    /// The fast path of [`Synchronization::lock`].
    #[inline(always)]
    pub(super) fn try_lock(self, lock_type: LockType, target: Rank, assert: LockAssert) -> bool {
        let wanted = Wanted { lock_type, nocheck: assert.is_nocheck() };
        self.try_alone(Call::Lock, target, |state| {
            if !state.has_fast_locks() {
                return None;
            }
            let lock = move |before: Check<AccessState>| {
                self.take_lock(self.may_lock(target, before).ok()?, wanted)
            };
            match self.calls.epochs.has_no_access() {
                true => lock(Ok(AccessState::None)),
                false => cold_call(move || lock(self.calls.epochs.may_lock())),
            }
        })
    }

    /// Whether this rank may lock the target now. `before` is the state of its access side, if that allows a lock.
    #[inline(always)]
    fn may_lock(self, target: Rank, before: Check<AccessState>) -> Check<Lockable<'w>> {
        let words = self.parts.transport.ranks.get(target.index()).ok_or(Refusal::NoSuchRank)?;
        let grant = self.calls.epochs.grant_of(target.0)?;
        let before = before?;
        self.calls.epochs.may_lock_target(grant)?;
        // The word of the own part changes together with this rank's exposure side.
        if words.open.exposure.load() != 0 {
            return Err(match target == self.calls.rank() {
                true => Refusal::OwnPartExposed,
                false => Refusal::TargetExposed,
            });
        }
        Ok(Lockable { words, grant, before })
    }

    /// Locks, if nothing is in the way.
    #[inline(always)]
    fn take_lock(self, target: Lockable<'w>, wanted: Wanted) -> Option<()> {
        self.transport().try_lock(self.calls, wanted, target.words, target.queueing())?;
        let Wanted { lock_type, nocheck } = wanted;
        self.counts(target, Grant::Locked { held: lock_type, nocheck });
        Some(())
    }

    /// The lock of the target counts from now on.
    #[inline(always)]
    fn counts(self, target: Lockable<'w>, now: Grant) {
        if target.before == AccessState::Fence {
            self.leave_fence();
        }
        self.calls.epochs.takes_lock(target.before, target.grant, now);
    }

    /// [`Synchronization::lock`] that waits or fails.
    #[cold]
    #[inline(never)]
    fn lock_slowly(
        self,
        hints: &Hinted,
        lock_type: LockType,
        target: Rank,
        assert: LockAssert,
        at: &'static Location<'static>,
    ) -> Result<()> {
        self.calls.within_any_operation((Call::Lock, target, 0), || {
            let wanted = Wanted { lock_type, nocheck: assert.is_nocheck() };
            let awaited = self.begin(Call::Lock, target, |state| {
                let before = state.may_wait(ACCESS).and_then(|()| self.calls.epochs.may_lock());
                let of = self.may_lock(target, before)?;
                hints.may_have_locks(state, self.calls, Call::Lock)?;
                let is_ours = wanted.nocheck || !state.has_slow_locks(FOREIGN);
                if is_ours && self.take_lock(of, wanted).is_some() {
                    return Ok(None);
                }
                // This rank waits for the lock from now on.
                self.counts(of, Grant::Awaited);
                Ok(Some(of))
            })?;
            let granted = match awaited {
                None => Ok(()),
                Some(of) => self.await_lock(of, lock_type, target, at),
            };
            self.locked(target, lock_type, assert, at);
            granted
        })
    }

    /// Waits for a lock of the target, as which it counts already.
    fn await_lock(
        self,
        of: Lockable<'w>,
        lock_type: LockType,
        target: Rank,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let granted =
            self.transport().await_lock(self.calls, lock_type, target.0, of.queueing(), at);
        if granted.is_ok() {
            self.waited(lock_type, Some(target.0));
        }
        let _state = self.sync_state();
        match granted {
            Ok(()) => self.calls.epochs.locked(of.grant, lock_type),
            Err(_) => self.calls.epochs.unlocked(of.grant),
        }
        granted
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
        if self.try_unlock(target) { Ok(()) } else { self.unlock_slowly(target) }
    }

    /// The fast path of [`Synchronization::unlock`].
    #[inline(always)]
    pub(super) fn try_unlock(self, target: Rank) -> bool {
        self.try_alone(Call::Unlock, target, |state| {
            if state.has_fast_locks() { self.end_lock(target, true).ok() } else { None }
        })
    }

    /// Ends a lock, and releases it if `is_ours`; otherwise another MPI does.
    #[inline(always)]
    fn end_lock(self, target: Rank, is_ours: bool) -> Check {
        let words = self.parts.transport.ranks.get(target.index()).ok_or(Refusal::NoSuchRank)?;
        let grant = self.calls.epochs.grant_of(target.0)?;
        let (held, nocheck) = self.calls.epochs.may_unlock(grant)?;
        if is_ours {
            self.release(target, words, held, nocheck);
        }
        self.calls.epochs.unlocked(grant);
        Ok(())
    }

    /// Releases a lock of the target with these words. A cold call takes no reference that can be had from `parts`: with
    /// more of them the fast path would save registers.
    #[inline(always)]
    fn release(self, target: Rank, words: &RankWords, held: LockType, nocheck: bool) {
        let Synchronization { calls, parts } = self;
        let Transport { node, words: window, .. } = &parts.transport;
        if nocheck {
            sync::unlock_nocheck();
        } else if node.is_held() {
            cold_call(move || parts.transport.release_queued(calls.rank(), target, held));
        } else {
            sync::unlock(&window.lock_all, &words.lock, held);
        }
        if window.watchers.are_there() {
            cold_call(move || parts.transport.ring_slowly(target.0));
        }
    }

    /// [`Synchronization::unlock`] that fails, or that another MPI does.
    #[cold]
    #[inline(never)]
    fn unlock_slowly(self, target: Rank) -> Result<()> {
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
            self.begin(Call::Unlock, target, |state| {
                self.end_lock(target, !state.has_slow_locks(FOREIGN))
            })?;
            self.transport().release_elsewhere(self.calls, target)
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
        let nocheck = assert.is_nocheck();
        let locked = self.try_alone(Call::LockAll, Rank::NULL, |state| {
            self.may_lock_all(state).ok()?;
            if state.has_fast_locks() { self.take_lock_all(nocheck) } else { None }
        });
        if locked { Ok(()) } else { self.lock_all_slowly(hints, assert, at) }
    }

    /// Whether this rank may lock all targets now, if the hint admits it.
    #[inline(always)]
    fn may_lock_all(self, state: &SyncState) -> Check {
        self.calls.epochs.may_lock_all()?;
        state.may_wait(BOTH)
    }

    /// Locks all, if nothing is in the way.
    #[inline(always)]
    fn take_lock_all(self, nocheck: bool) -> Option<()> {
        let own = self.transport().words_of(self.calls.rank().0);
        self.transport().try_lock_all(own, nocheck)?;
        self.leave_fence();
        self.calls.epochs.locked_all(nocheck);
        Some(())
    }

    /// [`Synchronization::lock_all`] that waits or fails.
    #[cold]
    #[inline(never)]
    fn lock_all_slowly(
        self,
        hints: &Hinted,
        assert: LockAssert,
        at: &'static Location<'static>,
    ) -> Result<()> {
        self.calls.within_any(Call::LockAll, || {
            let locked = self.begin(Call::LockAll, Rank::NULL, |state| {
                self.may_lock_all(state)?;
                hints.may_have_locks(state, self.calls, Call::LockAll)?;
                let locked = self.take_lock_all(assert.is_nocheck());
                if locked.is_none() {
                    // This rank counts as waiting on both sides from now on: no thread may post meanwhile.
                    state.wait(Call::LockAll, BOTH);
                }
                Ok(locked)
            })?;
            if locked.is_none() {
                let waiting = self.waiting(BOTH);
                self.transport().await_lock_all(self.calls, at)?;
                self.waited(LockType::Shared, None);
                self.leave_fence();
                waiting.end(|_| self.calls.epochs.locked_all(false));
            }
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
        let unlocked = self.try_alone(Call::UnlockAll, Rank::NULL, |_| {
            if self.transport().is_foreign() { None } else { self.end_lock_all().ok() }
        });
        if unlocked { Ok(()) } else { self.unlock_all_slowly() }
    }

    #[inline(always)]
    fn end_lock_all(self) -> Check {
        let nocheck = self.calls.epochs.may_unlock_all()?;
        self.transport().release_all(self.calls.rank(), nocheck);
        self.calls.epochs.unlocked_all();
        Ok(())
    }

    /// [`Synchronization::unlock_all`] that fails, or that another MPI does.
    #[cold]
    #[inline(never)]
    fn unlock_all_slowly(self) -> Result<()> {
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
            self.begin(Call::UnlockAll, Rank::NULL, |_| self.end_lock_all())?;
            self.transport().release_all_elsewhere(self.calls)
        })
    }
}
