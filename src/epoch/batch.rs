//! Operations between two flushes of a lock epoch: their buffers can be reused when the batch ends.

use super::access::{Access, sealed::Guard};
use super::{Buffers, LockedTarget, Window};
use crate::datatype::Element;
use crate::error::Result;
use std::ops::Deref;

/// Operations of a [`LockAllEpoch`](super::LockAllEpoch) up to the flush that ends the batch.
///
/// Dropped, it flushes.
#[derive(Debug)]
#[must_use = "the operations are complete when the batch is flushed or dropped"]
pub struct Batch<'e, 'b, T: Element> {
    window: &'e Window<T>,
    open: bool,
    _buffers: Buffers<'b>,
}

/// Operations of a [`LockEpoch`](super::LockEpoch) up to the flush that ends the batch.
///
/// Dropped, it flushes.
#[derive(Debug)]
#[must_use = "the operations are complete when the batch is flushed or dropped"]
pub struct LockBatch<'e, 'b, T: Element> {
    locked: LockedTarget<'e, 'b, T>,
    open: bool,
}

impl<'e, T: Element> Batch<'e, '_, T> {
    pub(super) fn new(window: &'e Window<T>) -> Self {
        Batch { window, open: true, _buffers: Buffers::new() }
    }

    /// `MPI_Win_flush_all`: the operations of the batch are complete at origin and targets, and their
    /// buffers can be reused. Local; never blocks.
    ///
    /// # Errors
    /// None at present: the epoch is open while the batch lives.
    #[inline]
    pub fn flush(mut self) -> Result<()> {
        self.open = false;
        self.window.win.flush_all()
    }

    /// `MPI_Win_flush_local_all`: the operations are complete at the origin. Local; never blocks.
    ///
    /// # Errors
    /// None at present: the epoch is open while the batch lives.
    pub fn flush_local(mut self) -> Result<()> {
        self.open = false;
        self.window.win.flush_local_all()
    }
}

impl<T: Element> Drop for Batch<'_, '_, T> {
    fn drop(&mut self) {
        if self.open {
            // Cannot fail: the epoch is open.
            let _ = self.window.win.flush_all();
        }
    }
}

impl<T: Element> Guard<T> for Batch<'_, '_, T> {
    #[inline]
    fn window(&self) -> &Window<T> {
        self.window
    }
}

impl<'b, T: Element> Access<'b, T> for Batch<'_, 'b, T> {}

impl<'e, 'b, T: Element> LockBatch<'e, 'b, T> {
    pub(super) fn new(locked: LockedTarget<'e, 'b, T>) -> Self {
        LockBatch { locked, open: true }
    }

    /// `MPI_Win_flush`: the operations of the batch are complete at origin and target, and their
    /// buffers can be reused. Local; never blocks.
    ///
    /// # Errors
    /// None at present: the epoch is open while the batch lives.
    #[inline]
    pub fn flush(mut self) -> Result<()> {
        self.open = false;
        self.locked.window.win.flush(self.locked.target)
    }

    /// `MPI_Win_flush_local`: the operations are complete at the origin. Local; never blocks.
    ///
    /// # Errors
    /// None at present: the epoch is open while the batch lives.
    pub fn flush_local(mut self) -> Result<()> {
        self.open = false;
        self.locked.window.win.flush_local(self.locked.target)
    }
}

impl<'e, 'b, T: Element> Deref for LockBatch<'e, 'b, T> {
    type Target = LockedTarget<'e, 'b, T>;
    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.locked
    }
}

impl<T: Element> Drop for LockBatch<'_, '_, T> {
    fn drop(&mut self) {
        if self.open {
            // Cannot fail: the lock is held.
            let _ = self.locked.window.win.flush(self.locked.target);
        }
    }
}
