//! Locks of one target (MPI-2.2 §11.4.3).

use super::{Buffers, LockBatch, Window};
use crate::datatype::{Element, Integer};
use crate::error::Result;
use crate::group::Rank;
use crate::op::Op;
use crate::window::{LockAssert, LockType};
use std::ops::Deref;

/// The epoch from lock to unlock: this rank may access the locked rank.
///
/// Its operations are those of [`LockedTarget`]. Dropping it unlocks.
#[derive(Debug)]
#[must_use = "the lock is released when the guard is dropped"]
pub struct LockEpoch<'w, 'b, T: Element> {
    locked: LockedTarget<'w, 'b, T>,
    open: bool,
}

/// Operations on one locked target: those of [`Access`](super::Access), without naming the rank.
///
/// Errors of every method: [`Error::Range`](crate::Error::Range) and
/// [`Error::Conflict`](crate::Error::Conflict).
#[derive(Debug)]
pub struct LockedTarget<'w, 'b, T: Element> {
    pub(super) window: &'w Window<T>,
    pub(super) target: Rank,
    _buffers: Buffers<'b>,
}

impl<T: Element> Window<T> {
    /// `MPI_Win_lock` (MPI-4.1 §12.5.3): opens an access epoch on `target`. Several targets may be
    /// locked at the same time; locking one twice is an error.
    ///
    /// Local; blocks while a conflicting lock is held. The target makes no call.
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch) in another kind of epoch or for a second lock of the
    /// target; [`Error::TargetRank`](crate::Error::TargetRank);
    /// [`Error::RankFailed`](crate::Error::RankFailed).
    #[track_caller]
    pub fn lock<'b>(&self, lock_type: LockType, target: Rank) -> Result<LockEpoch<'_, 'b, T>> {
        self.lock_with(lock_type, target, LockAssert::NONE)
    }

    /// [`Window::lock`] with assertions: see [assertions](crate::assertions).
    ///
    /// # Errors
    /// Those of [`Window::lock`].
    #[track_caller]
    pub fn lock_with<'b>(
        &self,
        lock_type: LockType,
        target: Rank,
        assert: LockAssert,
    ) -> Result<LockEpoch<'_, 'b, T>> {
        self.win.lock_with(lock_type, target, assert)?;
        Ok(LockEpoch { locked: LockedTarget::new(self, target), open: true })
    }
}

impl<'w, 'b, T: Element> LockEpoch<'w, 'b, T> {
    /// `MPI_Win_unlock`: the operations are complete at origin and target when it returns.
    /// Local; never blocks.
    ///
    /// # Errors
    /// None at present: the guard is the proof that the lock is held.
    pub fn unlock(mut self) -> Result<()> {
        self.open = false;
        self.locked.window.win.unlock(self.locked.target)
    }

    /// `MPI_Win_flush`: the operations so far are complete at origin and target. Their buffers stay
    /// borrowed; to reuse them after a flush, see [`LockEpoch::batch`]. Local; never blocks.
    ///
    /// # Errors
    /// None at present: the guard is the proof that the lock is held.
    #[inline]
    pub fn flush(&self) -> Result<()> {
        self.locked.window.win.flush(self.locked.target)
    }

    /// `MPI_Win_flush_local`: the operations so far are complete at the origin. Local; never
    /// blocks.
    ///
    /// # Errors
    /// None at present: the guard is the proof that the lock is held.
    pub fn flush_local(&self) -> Result<()> {
        self.locked.window.win.flush_local(self.locked.target)
    }

    /// Operations whose buffers can be reused after the flush that ends the batch.
    pub fn batch<'c>(&self) -> LockBatch<'_, 'c, T> {
        LockBatch::new(LockedTarget::new(self.locked.window, self.locked.target))
    }

    /// The window, for local loads and stores and further locks.
    pub fn window(&self) -> &'w Window<T> {
        self.locked.window
    }
}

impl<'w, 'b, T: Element> Deref for LockEpoch<'w, 'b, T> {
    type Target = LockedTarget<'w, 'b, T>;
    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.locked
    }
}

impl<T: Element> Drop for LockEpoch<'_, '_, T> {
    fn drop(&mut self) {
        if self.open && !std::thread::panicking() {
            // Cannot fail: the lock is held.
            let _ = self.locked.window.win.unlock(self.locked.target);
        }
    }
}

impl<'w, 'b, T: Element> LockedTarget<'w, 'b, T> {
    pub(super) fn new(window: &'w Window<T>, target: Rank) -> Self {
        LockedTarget { window, target, _buffers: Buffers::new() }
    }

    /// The rank that is locked.
    pub fn target(&self) -> Rank {
        self.target
    }

    /// `MPI_Put` (MPI-2.2 §11.3.1).
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them.
    #[inline(always)]
    pub fn put(&self, origin: &'b [T], disp: usize) -> Result<()> {
        self.window.win.put(origin, self.target, disp as u64)
    }

    /// `MPI_Get` (MPI-2.2 §11.3.2).
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them.
    #[inline(always)]
    pub fn get(&self, origin: &'b mut [T], disp: usize) -> Result<()> {
        self.window.win.get(origin, self.target, disp as u64)
    }

    /// `MPI_Accumulate` (MPI-2.2 §11.3.4).
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them;
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T`.
    #[inline(always)]
    pub fn accumulate(&self, origin: &'b [T], op: Op, disp: usize) -> Result<()> {
        self.window.win.accumulate(origin, op, self.target, disp as u64)
    }

    /// `MPI_Get_accumulate` (MPI-4.1 §12.3.4).
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them;
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T`;
    /// [`Error::Count`](crate::Error::Count) if the lengths differ.
    #[inline]
    pub fn get_accumulate(
        &self,
        origin: &'b [T],
        result: &'b mut [T],
        op: Op,
        disp: usize,
    ) -> Result<()> {
        self.window.win.get_accumulate(origin, result, op, self.target, disp as u64)
    }

    /// `MPI_Fetch_and_op` (MPI-4.1 §12.3.4).
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them;
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T`.
    #[inline(always)]
    pub fn fetch_and_op(
        &self,
        origin: &'b T,
        result: &'b mut T,
        op: Op,
        disp: usize,
    ) -> Result<()> {
        self.window.win.fetch_and_op(origin, result, op, self.target, disp as u64)
    }

    /// `MPI_Compare_and_swap` (MPI-4.1 §12.3.4).
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them.
    #[inline(always)]
    pub fn compare_and_swap(
        &self,
        new: &'b T,
        compare: &'b T,
        result: &'b mut T,
        disp: usize,
    ) -> Result<()>
    where
        T: Integer,
    {
        self.window.win.compare_and_swap(new, compare, result, self.target, disp as u64)
    }

    /// [`LockedTarget::put`] that increments counter number `counter` of the target when it is complete
    /// there, without a flush. See [`Win::put_notify`](crate::engine::Win::put_notify).
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them;
    /// [`Error::Argument`](crate::Error::Argument) if the target has no such counter.
    #[inline]
    pub fn put_notify(&self, origin: &'b [T], disp: usize, counter: u32) -> Result<()> {
        self.window.win.put_notify(origin, self.target, disp as u64, counter)
    }

    /// [`LockedTarget::get`] that increments a counter of the target when it has read.
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them;
    /// [`Error::Argument`](crate::Error::Argument) if the target has no such counter.
    #[inline]
    pub fn get_notify(&self, origin: &'b mut [T], disp: usize, counter: u32) -> Result<()> {
        self.window.win.get_notify(origin, self.target, disp as u64, counter)
    }

    /// [`LockedTarget::accumulate`] that increments a counter of the target when it is complete there.
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them;
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T`;
    /// [`Error::Argument`](crate::Error::Argument) if the target has no such counter.
    #[inline]
    pub fn accumulate_notify(
        &self,
        origin: &'b [T],
        op: Op,
        disp: usize,
        counter: u32,
    ) -> Result<()> {
        self.window.win.accumulate_notify(origin, op, self.target, disp as u64, counter)
    }

    /// Increments a counter of the target when all earlier operations on it are complete there.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) if the target has no such counter.
    #[inline]
    pub fn notify(&self, counter: u32) -> Result<()> {
        self.window.win.notify(self.target, counter)
    }
}
