//! Lock, unlock (MPI-2.2 §11.4.3, MPI-4.1 §12.5.3), flush and win_sync.

use super::lock::{LockOwner, LockWords};
use super::lock_all::LockAllWords;
use super::lock_state::{LockSide, Queueing};
use super::queue::{Locker, OwnNode};
use crate::prim::{
    Fault, JobFailed, ProcSync, Site, Waiter, cold_call, mem_sync, mem_sync_beside, planted,
    proc_sync,
};

/// How a target's lock is held.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let window = Window::<u32>::allocate(world, 1)?;
/// let mut value = [7];
/// let epoch = window.lock(LockType::Shared, other)?; // beside other shared locks
/// epoch.get(&mut value, other, 0)?;
/// epoch.unlock()?;
/// assert_eq!(value, [0]);
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockType {
    /// `MPI_LOCK_SHARED`.
    Shared,
    /// `MPI_LOCK_EXCLUSIVE`.
    Exclusive,
}

/// `MPI_Win_lock` by rank `origin` on one target; `window` are the window's `lock_all` words.
///
/// Blocks while a conflicting lock is held. The target takes no part.
pub fn lock(
    window: &LockAllWords,
    target: &LockWords,
    held: LockType,
    locker: &Locker<'_, '_>,
    queueing: Queueing,
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    if held == LockType::Exclusive {
        return lock_exclusively(window, target, locker, queueing, waiter);
    }
    target.enter(LockSide::Left, queueing, waiter)?;
    granted();
    Ok(())
}

fn lock_exclusively(
    window: &LockAllWords,
    target: &LockWords,
    locker: &Locker<'_, '_>,
    queueing: Queueing,
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    let enter = || target.enter_exclusively(queueing, locker, waiter);
    if !window.stage().is_used() {
        let queued = enter()?;
        // As in `try_lock_alone`; the queue may have admitted this rank without an instruction of its own.
        mem_sync(Site::LockAlone);
        if !window.stage().is_used() || planted(Fault::StageIgnored) {
            granted_to(target, locker, queued, true);
            return Ok(());
        }
        match queued {
            true => target.leave_queue(locker),
            false => target.leave(LockSide::RightExclusive),
        }
    }
    let target_first = planted(Fault::TargetFirst);
    let mut entered = if target_first { enter() } else { Ok(false) };
    // The window's lock first, so that no target is held while waiting for a `lock_all`
    // holder (README, invariant 8).
    if !planted(Fault::LockAllIgnored) {
        window.enter_right(locker, queueing, waiter)?;
    }
    if !target_first {
        entered = enter();
        if entered.is_err() && !planted(Fault::WindowLockLeft) {
            window.leave_right();
        }
    }
    granted_to(target, locker, entered?, planted(Fault::LockAllIgnored));
    Ok(())
}

/// [`lock`] by a rank with that node, if it need not block. `rank` is called late: the number needs no register before.
#[inline(always)]
pub fn try_lock(
    window: &LockAllWords,
    target: &LockWords,
    held: LockType,
    (rank, own): (impl FnOnce() -> u32, &OwnNode),
    queueing: Queueing,
) -> bool {
    if held == LockType::Exclusive {
        // A rank that contends begins with the queue, on the slow path.
        return !own.contends()
            && match window.stage().is_used() {
                false => try_lock_alone(window, target, rank, queueing),
                true => try_lock_beside_all(window, target, rank(), queueing),
            };
    }
    let entered = target.try_enter(LockSide::Left, queueing);
    if entered {
        granted();
    }
    entered
}

/// [`try_lock`] exclusively, with the window's lock.
#[inline(always)]
fn try_lock_beside_all(
    window: &LockAllWords,
    target: &LockWords,
    rank: u32,
    queueing: Queueing,
) -> bool {
    if !window.try_enter_right(queueing) {
        return false;
    }
    if !target.try_enter(LockSide::RightExclusive, queueing) {
        cold_call(move || window.leave_right());
        return false;
    }
    granted();
    target.set_owner(LockOwner { rank, is_alone: false });
    true
}

/// [`try_lock_beside_all`] without the window's lock.
#[inline(always)]
fn try_lock_alone(
    window: &LockAllWords,
    target: &LockWords,
    rank: impl FnOnce() -> u32,
    queueing: Queueing,
) -> bool {
    if !target.try_enter(LockSide::RightExclusive, queueing) {
        return false;
    }
    // Publishes the holder before the look at the stage: a full barrier, paired with LockAllOpens. Fails
    // without it, or as a weaker barrier: models/lock_all.rs, by loom_tests/tests/mutants.rs.
    mem_sync_beside(Site::LockAlone);
    if window.stage().is_used() && !planted(Fault::StageIgnored) {
        // The slow path takes the window's lock.
        target.leave(LockSide::RightExclusive);
        return false;
    }
    granted();
    target.set_owner(LockOwner { rank: rank(), is_alone: true });
    true
}

/// The end of every successful lock.
#[inline]
fn granted() {
    proc_sync(ProcSync::LockGranted);
    // Observes what earlier holders published; pairs with their UnlockPre through the state
    // word (or gate) of the lock. Fails without it: models/lock.rs, by loom_tests/tests/mutants.rs.
    mem_sync_beside(Site::LockPost);
}

/// [`granted`] to an exclusive holder, which has `queued` by its node or not.
fn granted_to(target: &LockWords, locker: &Locker<'_, '_>, queued: bool, is_alone: bool) {
    granted();
    // After LockPost, so that the last holder's `take_owner` cannot overtake it.
    match queued {
        true => locker.own.hold(locker.target, is_alone),
        false => target.set_owner(LockOwner { rank: locker.rank, is_alone }),
    }
}

/// `MPI_Win_lock` with NOCHECK: the MEM_SYNC without the PROC_SYNC.
#[inline]
pub fn lock_nocheck() {
    // Observes what the holders published that the caller knows to have left; pairs with their
    // UnlockPre. Fails without it: models/lock.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::LockPost);
}

/// `MPI_Win_unlock` by a rank that may hold some lock through its node. Never blocks.
#[cold]
pub fn unlock_queued(
    window: &LockAllWords,
    target: &LockWords,
    held: LockType,
    locker: &Locker<'_, '_>,
) {
    let Some(is_alone) = locker.own.holds(locker.target) else {
        return unlock(window, target, held);
    };
    released();
    target.leave_queue(locker);
    if !is_alone {
        window.leave_right();
    }
}

/// `MPI_Win_unlock` by a rank that holds no lock through its node. Never blocks.
#[inline(always)]
pub fn unlock(window: &LockAllWords, target: &LockWords, held: LockType) {
    if held == LockType::Exclusive {
        return unlock_exclusively(window, target);
    }
    released();
    target.leave(LockSide::Left);
}

#[inline(always)]
fn unlock_exclusively(window: &LockAllWords, target: &LockWords) {
    // Before UnlockPre, so that it cannot overtake the next holder's `set_owner`.
    let is_alone = target.take_owner();
    released();
    match is_alone {
        true => target.leave(LockSide::RightExclusive),
        false => cold_call(move || {
            target.leave(LockSide::RightExclusive);
            window.leave_right();
        }),
    }
}

/// The beginning of every unlock.
#[inline]
fn released() {
    // Publishes this holder's accesses; pairs with LockPost of later holders.
    // Fails without it: models/lock.rs, by loom_tests/tests/mutants.rs.
    mem_sync_beside(Site::UnlockPre);
    proc_sync(ProcSync::LockReleased);
}

/// `MPI_Win_unlock` of a NOCHECK lock: the MEM_SYNC without the PROC_SYNC.
#[inline]
pub fn unlock_nocheck() {
    // Publishes this holder's accesses; pairs with LockPost of later holders.
    // Fails without it: models/lock.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::UnlockPre);
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
