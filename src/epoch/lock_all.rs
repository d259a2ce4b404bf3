//! A shared lock of every target (MPI-4.1 §12.5.3).

use super::access::{
    Access, PassiveAccess,
    sealed::{Guard, Lends},
};
use super::{Batch, Buffers, Window, WindowView};
use crate::datatype::{Element, Integer};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::group::Rank;
use crate::op::Op;
use crate::window::LockAssert;
use bytemuck::Pod;
use std::mem::ManuallyDrop;

/// The epoch from lock_all to unlock_all: this rank may access every rank.
///
/// Dropping it unlocks.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let mut window = Window::<u32>::allocate(world, 1)?;
/// let epoch = window.lock_all()?;
/// let ticket = epoch.fetch_and_op_flush(1, Op::Sum, Rank(0), 0)?;
/// assert!(ticket < world.size());
/// epoch.unlock_all()?;
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Debug)]
#[must_use = "the locks are released when the guard is dropped"]
pub struct LockAllEpoch<'w, 'b, T: Pod> {
    pub(super) window: &'w Window<T>,
    buffers: Buffers<'b>,
}

impl<T: Pod> Window<T> {
    /// `MPI_Win_lock_all` (MPI-4.1 §12.5.3): a shared lock on every rank's part, at a cost that does not
    /// depend on their number.
    ///
    /// Local; blocks while any part is locked exclusively.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_lock_all")]
    #[track_caller]
    pub fn lock_all<'b>(&mut self) -> Result<LockAllEpoch<'_, 'b, T>> {
        self.lock_all_with(LockAssert::NONE)
    }

    /// [`Window::lock_all`] with assertions: see [assertions](crate::assertions).
    ///
    /// # Errors
    /// Those of [`Window::lock_all`].
    #[track_caller]
    pub fn lock_all_with<'b>(&mut self, assert: LockAssert) -> Result<LockAllEpoch<'_, 'b, T>> {
        self.win.lock_all_with(assert)?;
        Ok(LockAllEpoch { window: self, buffers: Buffers::new() })
    }
}

impl<T: Pod> LockAllEpoch<'_, '_, T> {
    /// `MPI_Win_unlock_all`: the operations are complete at origin and targets when it returns.
    /// Local; never blocks.
    ///
    /// # Errors
    /// None at present: the guard is the proof that the locks are held.
    #[doc(alias = "MPI_Win_unlock_all")]
    pub fn unlock_all(self) -> Result<()> {
        let mut epoch = ManuallyDrop::new(self);
        epoch.buffers.end();
        epoch.window.win.unlock_all()
    }

    /// `MPI_Win_flush`: the operations on `target` so far are complete at origin and target. Their
    /// buffers stay borrowed; to reuse them after a flush, see [`LockAllEpoch::batch`]. Local; never
    /// blocks.
    ///
    /// # Errors
    /// [`Error::TargetRank`]
    #[doc(alias = "MPI_Win_flush")]
    #[inline]
    pub fn flush(&self, target: Rank) -> Result<()> {
        self.window.win.flush(target)
    }

    /// `MPI_Win_flush_all`: [`LockAllEpoch::flush`] for every target. Local; never blocks.
    ///
    /// # Errors
    /// None at present: the guard is the proof that the locks are held.
    #[doc(alias = "MPI_Win_flush_all")]
    pub fn flush_all(&self) -> Result<()> {
        self.window.win.flush_all()
    }

    /// `MPI_Win_flush_local`: the operations on `target` so far are complete at the origin. Local;
    /// never blocks.
    ///
    /// # Errors
    /// [`Error::TargetRank`]
    #[doc(alias = "MPI_Win_flush_local")]
    pub fn flush_local(&self, target: Rank) -> Result<()> {
        self.window.win.flush_local(target)
    }

    /// `MPI_Win_flush_local_all`: [`LockAllEpoch::flush_local`] for every target. Local; never blocks.
    ///
    /// # Errors
    /// None at present: the guard is the proof that the locks are held.
    #[doc(alias = "MPI_Win_flush_local_all")]
    pub fn flush_local_all(&self) -> Result<()> {
        self.window.win.flush_local_all()
    }

    /// Operations whose buffers can be reused after the flush that ends the batch.
    pub fn batch<'c>(&self) -> Batch<'_, 'c, T> {
        Batch::new(self.window, None)
    }

    /// The window, for local loads and stores.
    pub fn window(&self) -> WindowView<'_, T> {
        WindowView { window: self.window }
    }

    /// [`Access::get`] followed by [`LockAllEpoch::flush`]: the elements are there on return.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// window.store(0, &[me.0])?;
    /// world.barrier()?;
    /// let mut found = [9];
    /// let epoch = window.lock_all()?;
    /// epoch.get_flush(&mut found, other, 0)?;
    /// assert_eq!(found, [other.0]);
    /// epoch.unlock_all()?;
    /// # window.free()
    /// # });
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn get_flush(&self, to: &mut [T], target: Rank, disp: usize) -> Result<()> {
        self.window.win.get_flush(to, target, disp as u64)
    }

    /// [`Access::put`] followed by [`LockAllEpoch::flush`]: the elements are at the target on
    /// return.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// let epoch = window.lock_all()?;
    /// epoch.put_flush(&[5, 7], other, 0)?;
    /// world.barrier()?;
    /// assert_eq!(epoch.window().load_one(1)?, 7);
    /// epoch.unlock_all()?;
    /// # window.free()
    /// # });
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn put_flush(&self, from: &[T], target: Rank, disp: usize) -> Result<()> {
        self.window.win.put_flush(from, target, disp as u64)
    }

    /// [`Access::fetch_and_op`] followed by [`LockAllEpoch::flush`]: returns the value before.
    ///
    /// With [`Rank::NULL`] as target it returns zero.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`;
    /// [`Error::Operation`] if `op` is not defined for `T`.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// let epoch = window.lock_all()?;
    /// let ticket = epoch.fetch_and_op_flush(1, Op::Sum, Rank(0), 0)?;
    /// assert!(ticket < 2);
    /// epoch.unlock_all()?;
    /// # window.free()
    /// # });
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn fetch_and_op_flush(&self, value: T, op: Op, target: Rank, disp: usize) -> Result<T>
    where
        T: Element,
    {
        self.window.win.fetch_and_op_flush(value, op, target, disp as u64)
    }

    /// [`Access::compare_and_swap`] followed by [`LockAllEpoch::flush`]: returns the value before.
    ///
    /// With [`Rank::NULL`] as target it returns zero.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// let epoch = window.lock_all()?;
    /// // 0 means free; one of the ranks gets it.
    /// let has_it = epoch.compare_and_swap_flush(me.0 + 1, 0, Rank(0), 0)? == 0;
    /// epoch.unlock_all()?;
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
        self.window.win.compare_and_swap_flush(new, compare, target, disp as u64)
    }
}

impl<T: Pod> Drop for LockAllEpoch<'_, '_, T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // Cannot fail: the locks are held.
            let _ = self.window.win.unlock_all();
        }
    }
}

impl<T: Pod> Guard<T> for LockAllEpoch<'_, '_, T> {
    #[inline]
    fn window(&self) -> &Window<T> {
        self.window
    }
}

impl<'b, T: Pod> Lends<'b, T> for LockAllEpoch<'_, 'b, T> {
    #[inline(always)]
    fn buffers(&self) -> &Buffers<'b> {
        &self.buffers
    }
}

impl<'b, T: Pod> Access<'b, T> for LockAllEpoch<'_, 'b, T> {}
impl<T: Pod> PassiveAccess<T> for LockAllEpoch<'_, '_, T> {}
