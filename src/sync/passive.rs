//! Lock, unlock, lock_all, unlock_all (MPI-2.2 §11.4.3, MPI-4 "Lock"), flush and win_sync.

use super::lock::LockWords;
use super::lock_state::{LockSide, Queueing};
use crate::prim::{
    Fault, JobFailed, ProcSync, Site, Waiter, mem_sync, mem_sync_beside, planted, proc_sync,
};

/// How a target's lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockType {
    /// `MPI_LOCK_SHARED`.
    Shared,
    /// `MPI_LOCK_EXCLUSIVE`.
    Exclusive,
}

/// `MPI_Win_lock` by rank `origin` on one target; `window` is the window's `lock_all` word.
///
/// Blocks while a conflicting lock is held. The target takes no part.
pub fn lock(
    window: &LockWords,
    target: &LockWords,
    held: LockType,
    origin: u32,
    queueing: Queueing,
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    match held {
        LockType::Shared => target.enter(LockSide::Left, queueing, waiter)?,
        LockType::Exclusive => {
            let target_first = planted(Fault::TargetFirst);
            if target_first {
                target.enter(LockSide::RightExclusive, queueing, waiter)?;
            }
            // The window's lock first, so that no target is held while waiting for a `lock_all`
            // holder (README, invariant 8).
            if !planted(Fault::LockAllIgnored) {
                window.enter(LockSide::RightShared, queueing, waiter)?;
            }
            if !target_first {
                let entered = target.enter(LockSide::RightExclusive, queueing, waiter);
                if entered.is_err() && !planted(Fault::WindowLockLeft) {
                    window.leave(LockSide::RightShared);
                }
                entered?;
            }
        }
    }
    granted(target, held, origin);
    Ok(())
}

/// [`lock`], if it need not block.
#[inline]
pub fn try_lock(
    window: &LockWords,
    target: &LockWords,
    held: LockType,
    origin: u32,
    queueing: Queueing,
) -> bool {
    let entered = match held {
        LockType::Shared => target.try_enter(LockSide::Left, queueing),
        LockType::Exclusive => {
            let window_entered = window.try_enter(LockSide::RightShared, queueing);
            let entered = window_entered && target.try_enter(LockSide::RightExclusive, queueing);
            if window_entered && !entered {
                window.leave(LockSide::RightShared);
            }
            entered
        }
    };
    if entered {
        granted(target, held, origin);
    }
    entered
}

/// The end of every successful lock.
#[inline]
fn granted(target: &LockWords, held: LockType, origin: u32) {
    proc_sync(ProcSync::LockGranted);
    // Observes what earlier holders published; pairs with their UnlockPre through the state
    // word (or gate) of the lock. Fails without it: models/lock.rs, by loom_tests/tests/mutants.rs.
    mem_sync_beside(Site::LockPost);
    if held == LockType::Exclusive {
        // After LockPost, so that the last holder's `clear_owner` cannot overtake it.
        target.set_owner(origin);
    }
}

/// `MPI_Win_lock` with NOCHECK: the MEM_SYNC without the PROC_SYNC.
pub fn lock_nocheck() {
    // Observes what the holders published that the caller knows to have left; pairs with their
    // UnlockPre. Fails without it: models/lock.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::LockPost);
}

/// `MPI_Win_unlock`. Never blocks.
#[inline]
pub fn unlock(window: &LockWords, target: &LockWords, held: LockType) {
    if held == LockType::Exclusive {
        // Before UnlockPre, so that it cannot overtake the next holder's `set_owner`.
        target.clear_owner();
    }
    // Publishes this holder's accesses; pairs with LockPost of later holders.
    // Fails without it: models/lock.rs, by loom_tests/tests/mutants.rs.
    mem_sync_beside(Site::UnlockPre);
    proc_sync(ProcSync::LockReleased);
    match held {
        LockType::Shared => target.leave(LockSide::Left),
        LockType::Exclusive => {
            target.leave(LockSide::RightExclusive);
            if !planted(Fault::LockAllIgnored) {
                window.leave(LockSide::RightShared);
            }
        }
    }
}

/// `MPI_Win_unlock` of a NOCHECK lock: the MEM_SYNC without the PROC_SYNC.
pub fn unlock_nocheck() {
    // Publishes this holder's accesses; pairs with LockPost of later holders.
    // Fails without it: models/lock.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::UnlockPre);
}

/// `MPI_Win_lock_all`: a shared lock on every target, at a cost that does not depend on their
/// number. Not collective. Blocks while any target is locked exclusively.
pub fn lock_all(window: &LockWords, waiter: &Waiter<'_>) -> Result<(), JobFailed> {
    window.enter(LockSide::LeftOfShared, Queueing::Fair, waiter)?;
    granted_all();
    Ok(())
}

/// [`lock_all`], if it need not block.
#[inline]
pub fn try_lock_all(window: &LockWords) -> bool {
    let entered = window.try_enter(LockSide::LeftOfShared, Queueing::Fair);
    if entered {
        granted_all();
    }
    entered
}

#[inline]
fn granted_all() {
    proc_sync(ProcSync::LockGranted);
    // Observes what exclusive holders of any target published; pairs with their UnlockPre.
    // Fails without it: models/lock_all.rs, by loom_tests/tests/mutants.rs.
    mem_sync_beside(Site::LockAllPost);
}

/// `MPI_Win_lock_all` with NOCHECK: the MEM_SYNC without the PROC_SYNC.
pub fn lock_all_nocheck() {
    // As `lock_nocheck`.
    mem_sync(Site::LockAllPost);
}

/// `MPI_Win_unlock_all`. Never blocks.
#[inline]
pub fn unlock_all(window: &LockWords) {
    // Publishes this holder's accesses; pairs with LockPost of later exclusive holders.
    // Fails without it: models/lock_all.rs, by loom_tests/tests/mutants.rs.
    mem_sync_beside(Site::UnlockAllPre);
    proc_sync(ProcSync::LockReleased);
    window.leave(LockSide::LeftOfShared);
}

/// `MPI_Win_unlock_all` of a NOCHECK lock: the MEM_SYNC without the PROC_SYNC.
pub fn unlock_all_nocheck() {
    // As `unlock_nocheck`.
    mem_sync(Site::UnlockAllPre);
}

/// `MPI_Win_flush`: operations are eager, so it only orders them before the rank's next accesses. A
/// full barrier: of two ranks that put, flush and get crosswise, at least one sees the other's put.
/// Never blocks.
#[inline(always)]
pub fn flush() {
    // Fails without it, or as a weaker barrier: models/flush.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::Flush);
}

/// [`flush`] directly after an update of an element by a read-modify-write of this rank.
#[inline(always)]
pub fn flush_beside() {
    // See `flush`. Between the two stands the withdrawal of the update's announcement
    // (`shards.rs`), which has barriers of its own.
    mem_sync_beside(Site::Flush);
}

/// `MPI_Win_flush_all`: [`flush`] for every target.
#[inline(always)]
pub fn flush_all() {
    // Fails without it: models/flush.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::FlushAll);
}

/// `MPI_Win_flush_local`: an eager operation that is complete at the origin is complete at the
/// target, so it orders exactly what [`flush`] orders.
#[inline(always)]
pub fn flush_local() {
    // Fails without it: models/flush.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::FlushLocal);
}

/// `MPI_Win_flush_local_all`: [`flush_local`] for every target.
#[inline(always)]
pub fn flush_local_all() {
    // Fails without it: models/flush.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::FlushLocalAll);
}

/// `MPI_Win_sync`: orders this rank's local loads and stores against its synchronisation before and
/// after. Never blocks.
#[inline(always)]
pub fn win_sync() {
    // Fails without it: models/flush.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::WinSync);
}
