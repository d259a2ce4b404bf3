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

/// A call on one rank of a window, in two halves as those of operations.rs: [`OnTarget::try_run`] is the fast path.
#[derive(Clone, Copy)]
pub struct OnTarget<W> {
    what: W,
    rank: c_int,
    win: MPI_Win,
}

/// Which call, with the arguments that it has beside window and rank.
pub trait CallOnTarget: Copy {
    /// The fast path: whether it is done. If not, it has changed nothing.
    fn try_on(self, window: &Window, target: Rank) -> bool;
    /// Does it, or returns the error.
    fn on(self, window: &Window, target: Rank) -> Outcome;
}

impl<W: CallOnTarget> OnTarget<W> {
    /// The fast path. A negative rank becomes larger than any valid one.
    #[inline(always)]
    pub fn try_run(self) -> bool {
        let target = Rank(self.rank as u32);
        self.win.find().is_some_and(|window| self.what.try_on(window, target))
    }

    /// Checks window and rank, and does it or returns the error.
    pub fn run(self) -> Outcome {
        let (window, target) = target(self.win, self.rank)?;
        self.what.on(window, target)
    }
}

/// `MPI_Win_lock`
#[inline(always)]
pub fn win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) -> OnTarget<Lock> {
    OnTarget { what: Lock(lock_type, assert), rank, win }
}

/// A lock of that type, with that assertion.
#[derive(Clone, Copy)]
pub struct Lock(c_int, c_int);

impl CallOnTarget for Lock {
    #[inline(always)]
    fn try_on(self, window: &Window, target: Rank) -> bool {
        let Lock(given, assert) = self;
        let is_shared = given == MPI_LOCK_SHARED;
        let kind = if is_shared { LockType::Shared } else { LockType::Exclusive };
        // An assertion is looked at by `on`.
        (is_shared || given == MPI_LOCK_EXCLUSIVE)
            && assert == 0
            && window.win.try_lock(kind, target, LockAssert::NONE)
    }

    fn on(self, window: &Window, target: Rank) -> Outcome {
        let kind = match self.0 {
            MPI_LOCK_EXCLUSIVE => LockType::Exclusive,
            MPI_LOCK_SHARED => LockType::Shared,
            _ => return Err(no_lock_type(self.0)),
        };
        Ok(window.win.lock_with(kind, target, assertion::of_lock(self.1)?)?)
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

#[derive(Clone, Copy)]
pub struct Unlock;

impl CallOnTarget for Unlock {
    #[inline(always)]
    fn try_on(self, window: &Window, target: Rank) -> bool {
        window.win.try_unlock(target)
    }

    fn on(self, window: &Window, target: Rank) -> Outcome {
        Ok(window.win.unlock(target)?)
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

#[derive(Clone, Copy)]
pub struct Flush;

impl CallOnTarget for Flush {
    #[inline(always)]
    fn try_on(self, window: &Window, target: Rank) -> bool {
        window.win.try_flush(target)
    }

    fn on(self, window: &Window, target: Rank) -> Outcome {
        Ok(window.win.flush(target)?)
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
