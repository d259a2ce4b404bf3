//! Synchronisation: fence, post-start-complete-wait, locks, flushes (MPI-4.1 §12.5).

use crate::abi::*;
use crate::arguments::Ptr;
use crate::assertion;
use crate::comm::rank_of;
use crate::failure::{Failure, Outcome};
use crate::window::Window;
use onesided::{Group, LockAssert, LockType, Rank};
use std::borrow::Cow;
use std::ffi::c_int;

/// The window and the rank of it that a call of a lock names.
#[inline]
fn target(win: MPI_Win, rank: c_int) -> Outcome<(&'static Window, Rank)> {
    let window = win.get()?;
    Ok((window, rank_of(rank, window.win.comm().size())?))
}

/// The ranks of a group that a call names.
#[cfg(not(node))]
fn members(group: MPI_Group) -> Outcome<Cow<'static, Group>> {
    group.get().map(Cow::Borrowed)
}
#[cfg(node)]
fn members(group: MPI_Group) -> Outcome<Cow<'static, Group>> {
    crate::host::group(group).map(Cow::Owned)
}

#[cold]
fn no_lock_type(given: c_int) -> Failure {
    let why = format!("{given} is neither MPI_LOCK_EXCLUSIVE nor MPI_LOCK_SHARED");
    Failure::new(MPI_ERR_LOCKTYPE, why)
}

/// `MPI_Win_fence`
pub fn win_fence(assert: c_int, win: MPI_Win) -> Outcome {
    let window = win.get()?;
    Ok(window.win.fence_with(assertion::of_fence(assert)?)?)
}

/// `MPI_Win_start`
pub fn win_start(group: MPI_Group, assert: c_int, win: MPI_Win) -> Outcome {
    let window = win.get()?;
    Ok(window.win.start_with(&*members(group)?, assertion::of_start(assert)?)?)
}

/// `MPI_Win_complete`
pub fn win_complete(win: MPI_Win) -> Outcome {
    Ok(win.get()?.win.complete()?)
}

/// `MPI_Win_post`
pub fn win_post(group: MPI_Group, assert: c_int, win: MPI_Win) -> Outcome {
    let window = win.get()?;
    Ok(window.win.post_with(&*members(group)?, assertion::of_post(assert)?)?)
}

/// `MPI_Win_wait`
pub fn win_wait(win: MPI_Win) -> Outcome {
    Ok(win.get()?.win.wait()?)
}

/// `MPI_Win_test`
pub fn win_test(win: MPI_Win, flag: Ptr<c_int>) -> Outcome {
    let done = win.get()?.win.test()?;
    flag.set(done.into())
}

/// A call on one rank of a window. Its fast path is as those of operations.rs.
#[derive(Clone, Copy)]
pub struct OnTarget<W> {
    what: W,
    rank: c_int,
    win: MPI_Win,
}

/// What a lock is given: type and assertion.
#[derive(Clone, Copy)]
pub struct LockArguments(c_int, c_int);
/// A call that is given nothing else.
#[derive(Clone, Copy)]
pub struct Unlock;
#[derive(Clone, Copy)]
pub struct Flush;

impl<W> OnTarget<W> {
    /// The window, and the rank: a negative one becomes larger than any valid one.
    #[inline(always)]
    fn usual(&self) -> Option<(&'static Window, Rank)> {
        Some((self.win.find()?, Rank(self.rank as u32)))
    }
}

/// `MPI_Win_lock`
#[inline(always)]
pub fn win_lock(
    lock_type: c_int,
    rank: c_int,
    assert: c_int,
    win: MPI_Win,
) -> OnTarget<LockArguments> {
    OnTarget { what: LockArguments(lock_type, assert), rank, win }
}

impl LockArguments {
    #[inline(always)]
    fn checked(self) -> Outcome<(LockType, LockAssert)> {
        let kind = match self.0 {
            MPI_LOCK_EXCLUSIVE => LockType::Exclusive,
            MPI_LOCK_SHARED => LockType::Shared,
            _ => return Err(no_lock_type(self.0)),
        };
        Ok((kind, assertion::of_lock(self.1)?))
    }
}

impl OnTarget<LockArguments> {
    /// The fast path: whether it is done. If not, it has changed nothing.
    #[inline(always)]
    pub fn try_run(self) -> bool {
        let Some((window, rank)) = self.usual() else { return false };
        let Ok((kind, assert)) = self.what.checked() else { return false };
        window.win.try_lock(kind, rank, assert)
    }

    /// Checks all arguments, and does it or returns the error.
    pub fn run(self) -> Outcome {
        let (window, rank) = target(self.win, self.rank)?;
        let (kind, assert) = self.what.checked()?;
        Ok(window.win.lock_with(kind, rank, assert)?)
    }
}

/// `MPI_Win_lock_all`
pub fn win_lock_all(assert: c_int, win: MPI_Win) -> Outcome {
    let window = win.get()?;
    Ok(window.win.lock_all_with(assertion::of_lock(assert)?)?)
}

/// `MPI_Win_unlock`
#[inline(always)]
pub fn win_unlock(rank: c_int, win: MPI_Win) -> OnTarget<Unlock> {
    OnTarget { what: Unlock, rank, win }
}

impl OnTarget<Unlock> {
    /// The fast path.
    #[inline(always)]
    pub fn try_run(self) -> bool {
        self.usual().is_some_and(|(window, rank)| window.win.try_unlock(rank))
    }

    /// Checks all arguments, and does it or returns the error.
    pub fn run(self) -> Outcome {
        let (window, rank) = target(self.win, self.rank)?;
        Ok(window.win.unlock(rank)?)
    }
}

/// `MPI_Win_unlock_all`
pub fn win_unlock_all(win: MPI_Win) -> Outcome {
    Ok(win.get()?.win.unlock_all()?)
}

/// `MPI_Win_flush`
#[inline(always)]
pub fn win_flush(rank: c_int, win: MPI_Win) -> OnTarget<Flush> {
    OnTarget { what: Flush, rank, win }
}

impl OnTarget<Flush> {
    /// The fast path.
    #[inline(always)]
    pub fn try_run(self) -> bool {
        self.usual().is_some_and(|(window, rank)| window.win.try_flush(rank))
    }

    /// Checks all arguments, and does it or returns the error.
    pub fn run(self) -> Outcome {
        let (window, rank) = target(self.win, self.rank)?;
        Ok(window.win.flush(rank)?)
    }
}

/// `MPI_Win_flush_all`
pub fn win_flush_all(win: MPI_Win) -> Outcome {
    Ok(win.get()?.win.flush_all()?)
}

/// `MPI_Win_flush_local`
pub fn win_flush_local(rank: c_int, win: MPI_Win) -> Outcome {
    let (window, rank) = target(win, rank)?;
    Ok(window.win.flush_local(rank)?)
}

/// `MPI_Win_flush_local_all`
pub fn win_flush_local_all(win: MPI_Win) -> Outcome {
    Ok(win.get()?.win.flush_local_all()?)
}

/// `MPI_Win_sync`
pub fn win_sync(win: MPI_Win) -> Outcome {
    win.get()?.win.sync();
    Ok(())
}
