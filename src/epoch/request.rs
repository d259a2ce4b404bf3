//! Request-based operations on the guards of passive target epochs (MPI-4.1 §12.3.5).

use super::{LockAllEpoch, LockedTarget};
use crate::datatype::Element;
use crate::error::Result;
use crate::group::Rank;
use crate::op::Op;
use crate::ops::Request;

impl<T: Element> LockAllEpoch<'_, '_, T> {
    /// `MPI_Rput` (MPI-4.1 §12.3.5): [`Access::put`](super::Access::put) whose buffer can be reused after
    /// the wait for the request. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::TargetRank`](crate::Error::TargetRank), [`Error::Range`](crate::Error::Range) if
    /// the elements leave the window, [`Error::Conflict`](crate::Error::Conflict) if `origin`
    /// overlaps them, [`Error::Epoch`](crate::Error::Epoch) if the epoch does not reach `target`.
    pub fn rput<'r>(&self, origin: &'r [T], target: Rank, disp: usize) -> Result<Request<'r>> {
        self.window.win.rput(origin, target, disp as u64)
    }

    /// `MPI_Rget` (MPI-4.1 §12.3.5): [`Access::get`](super::Access::get) whose elements can be read after
    /// the wait for the request. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::TargetRank`](crate::Error::TargetRank), [`Error::Range`](crate::Error::Range) if
    /// the elements leave the window, [`Error::Conflict`](crate::Error::Conflict) if `origin`
    /// overlaps them, [`Error::Epoch`](crate::Error::Epoch) if the epoch does not reach `target`.
    pub fn rget<'r>(&self, origin: &'r mut [T], target: Rank, disp: usize) -> Result<Request<'r>> {
        self.window.win.rget(origin, target, disp as u64)
    }

    /// `MPI_Raccumulate` (MPI-4.1 §12.3.5): [`Access::accumulate`](super::Access::accumulate) with a
    /// request. Local.
    ///
    /// # Errors
    /// [`Error::TargetRank`](crate::Error::TargetRank), [`Error::Range`](crate::Error::Range) if
    /// the elements leave the window, [`Error::Conflict`](crate::Error::Conflict) if `origin`
    /// overlaps them, [`Error::Epoch`](crate::Error::Epoch) if the epoch does not reach `target`;
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T`.
    pub fn raccumulate<'r>(
        &self,
        origin: &'r [T],
        op: Op,
        target: Rank,
        disp: usize,
    ) -> Result<Request<'r>> {
        self.window.win.raccumulate(origin, op, target, disp as u64)
    }

    /// `MPI_Rget_accumulate` (MPI-4.1 §12.3.5):
    /// [`Access::get_accumulate`](super::Access::get_accumulate) with a request. Local.
    ///
    /// # Errors
    /// [`Error::TargetRank`](crate::Error::TargetRank), [`Error::Range`](crate::Error::Range) if
    /// the elements leave the window, [`Error::Conflict`](crate::Error::Conflict) if `origin`
    /// overlaps them, [`Error::Epoch`](crate::Error::Epoch) if the epoch does not reach `target`;
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T`;
    /// [`Error::Count`](crate::Error::Count) if the lengths differ.
    pub fn rget_accumulate<'r>(
        &self,
        origin: &'r [T],
        result: &'r mut [T],
        op: Op,
        target: Rank,
        disp: usize,
    ) -> Result<Request<'r>> {
        self.window.win.rget_accumulate(origin, result, op, target, disp as u64)
    }
}

impl<T: Element> LockedTarget<'_, '_, T> {
    /// `MPI_Rput` (MPI-4.1 §12.3.5): [`LockedTarget::put`] whose buffer can be reused after the wait for
    /// the request. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them.
    pub fn rput<'r>(&self, origin: &'r [T], disp: usize) -> Result<Request<'r>> {
        self.window.win.rput(origin, self.target, disp as u64)
    }

    /// `MPI_Rget` (MPI-4.1 §12.3.5): [`LockedTarget::get`] whose elements can be read after the wait for
    /// the request. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them.
    pub fn rget<'r>(&self, origin: &'r mut [T], disp: usize) -> Result<Request<'r>> {
        self.window.win.rget(origin, self.target, disp as u64)
    }

    /// `MPI_Raccumulate` (MPI-4.1 §12.3.5): [`LockedTarget::accumulate`] with a request. Local.
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them;
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T`.
    pub fn raccumulate<'r>(&self, origin: &'r [T], op: Op, disp: usize) -> Result<Request<'r>> {
        self.window.win.raccumulate(origin, op, self.target, disp as u64)
    }

    /// `MPI_Rget_accumulate` (MPI-4.1 §12.3.5): [`LockedTarget::get_accumulate`] with a request. Local.
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them;
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T`;
    /// [`Error::Count`](crate::Error::Count) if the lengths differ.
    pub fn rget_accumulate<'r>(
        &self,
        origin: &'r [T],
        result: &'r mut [T],
        op: Op,
        disp: usize,
    ) -> Result<Request<'r>> {
        self.window.win.rget_accumulate(origin, result, op, self.target, disp as u64)
    }
}
