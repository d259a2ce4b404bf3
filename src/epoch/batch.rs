//! Operations between two flushes of a lock epoch: their buffers can be reused when the batch ends.

use super::access::{
    Access,
    sealed::{Guard, Lends},
};
use super::{Buffers, Window};
use crate::error::Result;
use crate::group::Rank;
use bytemuck::Pod;

/// Operations of a [`LockEpoch`](super::LockEpoch) or [`LockAllEpoch`](super::LockAllEpoch) up to the flush
/// that ends the batch.
///
/// Dropped, it flushes.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let mut window = Window::<u32>::allocate(world, 1)?;
/// window.store(0, &[me])?;
/// world.barrier()?;
/// let epoch = window.lock_all()?;
/// let mut value = [0];
/// let batch = epoch.batch();
/// batch.get(&mut value, other, 0)?;
/// batch.flush()?; // ends the borrow, while the epoch goes on
/// assert_eq!(value, [other.0]);
/// epoch.unlock_all()?;
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Debug)]
#[must_use = "the operations are complete when the batch is flushed or dropped"]
pub struct Batch<'e, 'b, T: Pod> {
    window: &'e Window<T>,
    locked: Option<Rank>,
    open: bool,
    buffers: Buffers<'b>,
}

impl<'e, T: Pod> Batch<'e, '_, T> {
    pub(super) fn new(window: &'e Window<T>, locked: Option<Rank>) -> Self {
        Batch { window, locked, open: true, buffers: Buffers::new() }
    }

    /// `MPI_Win_flush_all`, or `MPI_Win_flush` of the locked rank: the operations of the batch are complete at origin and targets, and their
    /// buffers can be reused. Local; never blocks.
    ///
    /// # Errors
    /// None at present: the epoch is open while the batch lives.
    #[doc(alias = "MPI_Win_flush_all")]
    #[inline]
    pub fn flush(mut self) -> Result<()> {
        self.open = false;
        self.complete()
    }

    /// `MPI_Win_flush_local_all`, or `MPI_Win_flush_local` of the locked rank: the operations are complete at the origin. Local; never blocks.
    ///
    /// # Errors
    /// None at present: the epoch is open while the batch lives.
    #[doc(alias = "MPI_Win_flush_local_all")]
    pub fn flush_local(mut self) -> Result<()> {
        self.open = false;
        match self.locked {
            Some(target) => self.window.win.flush_local(target),
            None => self.window.win.flush_local_all(),
        }
    }

    #[inline]
    fn complete(&self) -> Result<()> {
        match self.locked {
            Some(target) => self.window.win.flush(target),
            None => self.window.win.flush_all(),
        }
    }
}

impl<T: Pod> Drop for Batch<'_, '_, T> {
    fn drop(&mut self) {
        if self.open {
            // Cannot fail: the epoch is open.
            let _ = self.complete();
        }
    }
}

impl<T: Pod> Guard<T> for Batch<'_, '_, T> {
    #[inline]
    fn window(&self) -> &Window<T> {
        self.window
    }

    #[inline(always)]
    fn locked(&self) -> Option<Rank> {
        self.locked
    }
}

impl<'b, T: Pod> Lends<'b, T> for Batch<'_, 'b, T> {
    #[inline(always)]
    fn buffers(&self) -> &Buffers<'b> {
        &self.buffers
    }
}

impl<'b, T: Pod> Access<'b, T> for Batch<'_, 'b, T> {}
