//! Locks of one target (MPI-2.2 §11.4.3).

use super::access::{
    Access, PassiveAccess,
    sealed::{Guard, Lends},
};
use super::{Batch, Buffers, Window};
use crate::call::Call;
use crate::datatype::{Element, Integer};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::group::Rank;
use crate::op::Op;
use crate::window::{LockAssert, LockType};
use bytemuck::Pod;
use std::mem::ManuallyDrop;

/// The epoch from lock to unlock: this rank may access the locked rank.
///
/// Its operations are those of [`Access`] and [`PassiveAccess`], on that rank alone. Dropping it unlocks.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let window = Window::<u32>::allocate(world, 1)?;
/// let epoch = window.lock(LockType::Exclusive, Rank(0))?;
/// epoch.accumulate(&[1], Op::Sum, Rank(0), 0)?;
/// epoch.unlock()?;
/// world.barrier()?;
/// if me == 0 {
///     assert_eq!(window.load_one(0)?, world.size());
/// }
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Debug)]
#[must_use = "the lock is released when the guard is dropped"]
pub struct LockEpoch<'w, 'b, T: Pod> {
    window: &'w Window<T>,
    target: Rank,
    buffers: Buffers<'b>,
}

impl<T: Pod> Window<T> {
    /// `MPI_Win_lock` (MPI-4.1 §12.5.3): opens an access epoch on `target`. Several targets may be
    /// locked at the same time; locking one twice is an error.
    ///
    /// Local; blocks while a conflicting lock is held. The target makes no call.
    ///
    /// # Errors
    /// [`Error::Epoch`] in another kind of epoch or for a second lock of the target;
    /// [`Error::TargetRank`]; [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_lock")]
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
        Ok(LockEpoch { window: self, target, buffers: Buffers::new() })
    }

    /// The window, for `call` on `target` by a guard that has locked another rank. It is refused if a
    /// second guard has locked `target`; the call itself refuses or accepts all other ranks.
    #[cold]
    #[inline(never)]
    pub(super) fn reach_past(&self, locked: Rank, call: Call, target: Rank) -> Result<&Self> {
        let calls = &self.win.calls;
        if !calls.epochs.reaches(target.0) {
            return Ok(self);
        }
        let problem = format!("this guard has locked rank {locked}, and another one rank {target}");
        calls.handled(Err(calls.wrong_epoch(call, problem)))
    }
}

impl<'w, T: Pod> LockEpoch<'w, '_, T> {
    /// `MPI_Win_unlock`: the operations are complete at origin and target when it returns.
    /// Local; never blocks.
    ///
    /// # Errors
    /// None at present: the guard is the proof that the lock is held.
    #[doc(alias = "MPI_Win_unlock")]
    pub fn unlock(self) -> Result<()> {
        let mut epoch = ManuallyDrop::new(self);
        epoch.buffers.end();
        epoch.window.win.unlock(epoch.target)
    }

    /// `MPI_Win_flush`: the operations so far are complete at origin and target. Their buffers stay
    /// borrowed; to reuse them after a flush, see [`LockEpoch::batch`]. Local; never blocks.
    ///
    /// # Errors
    /// None at present: the guard is the proof that the lock is held.
    #[doc(alias = "MPI_Win_flush")]
    #[inline]
    pub fn flush(&self) -> Result<()> {
        self.window.win.flush(self.target)
    }

    /// `MPI_Win_flush_local`: the operations so far are complete at the origin. Local; never
    /// blocks.
    ///
    /// # Errors
    /// None at present: the guard is the proof that the lock is held.
    #[doc(alias = "MPI_Win_flush_local")]
    pub fn flush_local(&self) -> Result<()> {
        self.window.win.flush_local(self.target)
    }

    /// Operations whose buffers can be reused after the flush that ends the batch.
    pub fn batch<'c>(&self) -> Batch<'_, 'c, T> {
        Batch::new(self.window, Some(self.target))
    }

    /// [`Access::fetch_and_op`] followed by [`LockEpoch::flush`]: returns the value before. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Epoch`] if another rank is
    /// locked; [`Error::Operation`] if `op` is not defined for `T`.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let mut window = Window::<u32>::allocate(universe.world(), 1)?;
    /// let epoch = window.lock(LockType::Shared, Rank(0))?;
    /// let ticket = epoch.fetch_and_op_flush(1, Op::Sum, Rank(0), 0)?;
    /// assert!(ticket < 2);
    /// epoch.unlock()?;
    /// # window.free()
    /// # });
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn fetch_and_op_flush(&self, value: T, op: Op, target: Rank, disp: usize) -> Result<T>
    where
        T: Element,
    {
        let window = self.reach(Call::FetchAndOp, target)?;
        window.win.fetch_and_op_flush(value, op, target, disp as u64)
    }

    /// [`Access::compare_and_swap`] followed by [`LockEpoch::flush`]: returns the value before. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Epoch`] if another rank is
    /// locked.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let mut window = Window::<u32>::allocate(world, 1)?;
    /// let epoch = window.lock(LockType::Shared, Rank(0))?;
    /// // 0 means free; one of the ranks gets it.
    /// let has_it = epoch.compare_and_swap_flush(world.rank().0 + 1, 0, Rank(0), 0)? == 0;
    /// epoch.unlock()?;
    /// assert_eq!(world.allreduce(&[u32::from(has_it)], Op::Sum)?, [1]);
    /// # window.free()
    /// # });
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn compare_and_swap_flush(&self, new: T, compare: T, target: Rank, disp: usize) -> Result<T>
    where
        T: Integer,
    {
        let window = self.reach(Call::CompareAndSwap, target)?;
        window.win.compare_and_swap_flush(new, compare, target, disp as u64)
    }

    /// The rank that is locked.
    pub fn target(&self) -> Rank {
        self.target
    }

    /// The window, for local loads and stores and further locks.
    pub fn window(&self) -> &'w Window<T> {
        self.window
    }
}

impl<T: Pod> Guard<T> for LockEpoch<'_, '_, T> {
    #[inline]
    fn window(&self) -> &Window<T> {
        self.window
    }

    #[inline(always)]
    fn locked(&self) -> Option<Rank> {
        Some(self.target)
    }
}

impl<'b, T: Pod> Lends<'b, T> for LockEpoch<'_, 'b, T> {
    #[inline(always)]
    fn buffers(&self) -> &Buffers<'b> {
        &self.buffers
    }
}

impl<'b, T: Pod> Access<'b, T> for LockEpoch<'_, 'b, T> {}
impl<T: Pod> PassiveAccess<T> for LockEpoch<'_, '_, T> {}

impl<T: Pod> Drop for LockEpoch<'_, '_, T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // Cannot fail: the lock is held.
            let _ = self.window.win.unlock(self.target);
        }
    }
}
