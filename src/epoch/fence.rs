//! Fence epochs (MPI-2.2 §11.4.1).

use super::access::{
    Access,
    sealed::{Guard, Lends},
};
use super::{Buffers, Window, WindowView};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::window::{FenceAssert, LeftEpoch};
use bytemuck::Pod;
use std::mem::ManuallyDrop;
use std::panic::Location;

/// The epoch between two fences: this rank may access every rank, and every rank this one.
///
/// ```compile_fail
/// # use onesided::{Access, FenceAssert, Rank, Universe, Window};
/// # fn main() -> onesided::Result<()> {
/// # let universe = Universe::init()?;
/// # let mut window = Window::<u64>::allocate(universe.world(), 1)?;
/// let epoch = window.fence()?;
/// epoch.close()?;
/// epoch.put(&[1], Rank(0), 0)?; // the epoch is over
/// # Ok(()) }
/// ```
///
/// If it is dropped, it stays open, because ending it would wait for other ranks. Errors of later calls then name
/// the line of the fence, and so does the rank when it leaves the job, if it has issued operations in the epoch.
#[derive(Debug)]
#[must_use = "the epoch stays open until it is fenced again or closed"]
pub struct FenceEpoch<'w, 'b, T: Pod> {
    open: OpenFence<'w, T>,
    buffers: Buffers<'b>,
}

/// The window of a guard.
#[derive(Debug)]
struct OpenFence<'w, T: Pod> {
    window: &'w mut Window<T>,
}

impl<T: Pod> Drop for OpenFence<'_, T> {
    /// Out of the way of a guard that is closed.
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        self.window.win.calls.dropped(LeftEpoch::Fence, self.window.fenced);
    }
}

/// The operations of one [`FenceEpoch::step`].
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let mut window = Window::<u32>::allocate(world, 1)?;
/// let mut epoch = window.fence()?;
/// let mut value = [0];
/// for step in 1..=3 {
///     value[0] = step;
///     epoch.step(|operations| operations.put(&value, other, 0))?; // then the buffer is free
/// }
/// epoch.close()?;
/// assert_eq!(window.load_one(0)?, 3);
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Debug)]
pub struct FenceStep<'a, 'b, T: Pod> {
    window: &'a Window<T>,
    buffers: Buffers<'b>,
}

impl<T: Pod> Window<T> {
    /// `MPI_Win_fence` (MPI-4.1 §12.5.1) that opens a fence epoch.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Epoch`] in another epoch; [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_fence")]
    #[track_caller]
    pub fn fence<'b>(&mut self) -> Result<FenceEpoch<'_, 'b, T>> {
        self.fence_with(FenceAssert::NONE)
    }

    /// [`Window::fence`] with assertions: see [assertions](crate::assertions).
    ///
    /// # Errors
    /// [`Error::Assertion`] for NOSUCCEED (use [`FenceEpoch::close`]), or NOPRECEDE after an operation;
    /// those of [`Window::fence`].
    #[track_caller]
    pub fn fence_with<'b>(&mut self, assert: FenceAssert) -> Result<FenceEpoch<'_, 'b, T>> {
        self.win.fence_with(assert)?;
        self.win.calls.ended(LeftEpoch::Fence);
        self.fenced = Location::caller();
        Ok(FenceEpoch { open: OpenFence { window: self }, buffers: Buffers::new() })
    }

    /// [`Window::fence`], `operations`, and [`FenceEpoch::close`]: the operations are complete on every rank when it
    /// returns, also if those of a rank return an error, which that rank alone then gets.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// ```
    /// use onesided::prelude::*;
    ///
    /// # #[cfg(feature = "test")]
    /// # fn main() { onesided::testing::Job::new(3).run(|universe| go_round(universe.world())); }
    /// # #[cfg(not(feature = "test"))]
    /// # fn main() {}
    /// fn go_round(world: &Comm) -> onesided::Result<()> {
    ///     let mut window = Window::<u32>::allocate(world, 1)?;
    ///     let (mine, next) = ([world.rank().0], Rank((world.rank().0 + 1) % world.size()));
    ///     window.fence_scope(|epoch| epoch.put(&mine, next, 0))?;
    ///     assert_eq!((window.load_one(0)? + 1) % world.size(), world.rank().0);
    ///     window.free()
    /// }
    /// ```
    ///
    /// # Errors
    /// That of `operations`; [`Error::Epoch`] in another epoch; [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_fence")]
    #[track_caller]
    pub fn fence_scope<'b, R>(
        &mut self,
        operations: impl FnOnce(&FenceEpoch<'_, 'b, T>) -> Result<R>,
    ) -> Result<R> {
        let epoch = self.fence()?;
        let issued = operations(&epoch);
        let closed = epoch.close();
        let result = issued?;
        closed?;
        Ok(result)
    }
}

impl<'w, T: Pod> FenceEpoch<'w, '_, T> {
    /// `MPI_Win_fence`: completes the operations of this epoch on every rank and opens the next.
    ///
    /// Collective; blocks until every rank has called it (or [`FenceEpoch::close`], which is a
    /// fence too).
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_fence")]
    #[track_caller]
    #[inline]
    pub fn fence<'c>(self) -> Result<FenceEpoch<'w, 'c, T>> {
        self.fence_with(FenceAssert::NONE)
    }

    /// [`FenceEpoch::fence`] with assertions: see [assertions](crate::assertions).
    ///
    /// # Errors
    /// [`Error::Assertion`] for NOSUCCEED, or NOPRECEDE after an operation; those of
    /// [`FenceEpoch::fence`].
    #[track_caller]
    #[inline(always)]
    pub fn fence_with<'c>(self, assert: FenceAssert) -> Result<FenceEpoch<'w, 'c, T>> {
        // The buffers stay borrowed over the fence.
        let FenceEpoch { open, buffers: _buffers } = self;
        // It is dropped where the fence fails alone: the way of one that passes has no drop.
        let open = ManuallyDrop::new(open);
        if let Err(error) = open.window.win.fence_with(assert) {
            drop(ManuallyDrop::into_inner(open));
            return Err(error);
        }
        let open = ManuallyDrop::into_inner(open);
        open.window.fenced = Location::caller();
        Ok(FenceEpoch { open, buffers: Buffers::new() })
    }

    /// Runs `operations` and completes what they issue by a `MPI_Win_fence` on every rank; this guard is
    /// then the next epoch. For loops with one fence per step: the buffers of a step can be reused when
    /// it returns.
    ///
    /// Collective; blocks until every rank has called it. The fence is called even if `operations`
    /// fails, because the other ranks wait for it.
    ///
    /// ```no_run
    /// # use onesided::{Access, FenceAssert, Rank, Universe, Window};
    /// # fn main() -> onesided::Result<()> {
    /// # let universe = Universe::init()?;
    /// # let mut window = Window::<u64>::allocate(universe.world(), 1)?;
    /// let mut epoch = window.fence()?;
    /// let mut value = [0];
    /// for _ in 0..100 {
    ///     value[0] += 1;
    ///     epoch.step(|step| step.put(&value, Rank(0), 0))?;
    /// }
    /// epoch.close_with(FenceAssert::NOPRECEDE)
    /// # }
    /// ```
    ///
    /// # Errors
    /// That of `operations`; [`Error::RankFailed`].
    #[track_caller]
    pub fn step<'c, R>(
        &mut self,
        operations: impl FnOnce(&FenceStep<'_, 'c, T>) -> Result<R>,
    ) -> Result<R> {
        // `'c` is the caller's: a borrow for it outlives this call with its fence.
        let step = FenceStep { window: self.open.window, buffers: Buffers::new() };
        let issued = operations(&step);
        let fenced = self.open.window.win.fence();
        self.open.window.fenced = Location::caller();
        let result = issued?;
        fenced?;
        Ok(result)
    }

    /// `MPI_Win_fence` with NOSUCCEED: completes the operations of this epoch on every rank and opens
    /// none. All ranks must close, or none.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_fence")]
    #[track_caller]
    pub fn close(self) -> Result<()> {
        self.close_with(FenceAssert::NONE)
    }

    /// [`FenceEpoch::close`] with assertions: see [assertions](crate::assertions).
    ///
    /// # Errors
    /// [`Error::Assertion`] for NOPRECEDE after an operation; those of [`FenceEpoch::close`].
    #[track_caller]
    pub fn close_with(self, assert: FenceAssert) -> Result<()> {
        let FenceEpoch { open, buffers: _buffers } = self;
        // As in `fence_with`.
        let open = ManuallyDrop::new(open);
        let closed = open.window.win.fence_with(assert | FenceAssert::NOSUCCEED);
        if closed.is_err() {
            drop(ManuallyDrop::into_inner(open));
        }
        closed
    }

    /// The window, for local loads and stores.
    pub fn window(&self) -> WindowView<'_, T> {
        WindowView { window: self.open.window }
    }
}

impl<T: Pod> Guard<T> for FenceEpoch<'_, '_, T> {
    #[inline]
    fn window(&self) -> &Window<T> {
        self.open.window
    }
}

impl<'b, T: Pod> Lends<'b, T> for FenceEpoch<'_, 'b, T> {
    #[inline(always)]
    fn buffers(&self) -> &Buffers<'b> {
        &self.buffers
    }
}

impl<'b, T: Pod> Access<'b, T> for FenceEpoch<'_, 'b, T> {}

impl<T: Pod> Guard<T> for FenceStep<'_, '_, T> {
    #[inline]
    fn window(&self) -> &Window<T> {
        self.window
    }
}

impl<'b, T: Pod> Lends<'b, T> for FenceStep<'_, 'b, T> {
    #[inline(always)]
    fn buffers(&self) -> &Buffers<'b> {
        &self.buffers
    }
}

impl<'b, T: Pod> Access<'b, T> for FenceStep<'_, 'b, T> {}
