//! Request-based operations on the guards of passive target epochs (MPI-4.1 §12.3.5).

use super::{LockAllEpoch, LockedTarget};
use crate::datatype::Element;
use crate::error::Result;
use crate::group::Rank;
use crate::op::Op;
use crate::ops::Request;

impl<T: Element> LockAllEpoch<'_, '_, T> {
    /// `MPI_Rput`: as [`Access::put`](super::Access::put), with a buffer that is free when the
    /// request is waited for.
    ///
    /// # Errors
    /// As [`Access::put`](super::Access::put).
    pub fn rput<'r>(&self, origin: &'r [T], target: Rank, disp: u64) -> Result<Request<'r>> {
        self.window.win.rput(origin, target, disp)
    }

    /// `MPI_Rget`: as [`Access::get`](super::Access::get); the elements are there when the
    /// request is waited for.
    ///
    /// # Errors
    /// As [`Access::get`](super::Access::get).
    pub fn rget<'r>(&self, origin: &'r mut [T], target: Rank, disp: u64) -> Result<Request<'r>> {
        self.window.win.rget(origin, target, disp)
    }

    /// `MPI_Raccumulate`: as [`Access::accumulate`](super::Access::accumulate), with a request.
    ///
    /// # Errors
    /// As [`Access::accumulate`](super::Access::accumulate).
    pub fn raccumulate<'r>(
        &self,
        origin: &'r [T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<Request<'r>> {
        self.window.win.raccumulate(origin, op, target, disp)
    }

    /// `MPI_Rget_accumulate`: as [`Access::get_accumulate`](super::Access::get_accumulate), with
    /// a request.
    ///
    /// # Errors
    /// As [`Access::get_accumulate`](super::Access::get_accumulate).
    pub fn rget_accumulate<'r>(
        &self,
        origin: &'r [T],
        result: &'r mut [T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<Request<'r>> {
        self.window.win.rget_accumulate(origin, result, op, target, disp)
    }
}

impl<T: Element> LockedTarget<'_, '_, T> {
    /// `MPI_Rput`: as [`LockedTarget::put`], with a buffer that is free when the request is
    /// waited for.
    ///
    /// # Errors
    /// As [`LockedTarget::put`].
    pub fn rput<'r>(&self, origin: &'r [T], disp: u64) -> Result<Request<'r>> {
        self.window.win.rput(origin, self.target, disp)
    }

    /// `MPI_Rget`: as [`LockedTarget::get`]; the elements are there when the request is waited
    /// for.
    ///
    /// # Errors
    /// As [`LockedTarget::get`].
    pub fn rget<'r>(&self, origin: &'r mut [T], disp: u64) -> Result<Request<'r>> {
        self.window.win.rget(origin, self.target, disp)
    }

    /// `MPI_Raccumulate`: as [`LockedTarget::accumulate`], with a request.
    ///
    /// # Errors
    /// As [`LockedTarget::accumulate`].
    pub fn raccumulate<'r>(&self, origin: &'r [T], op: Op, disp: u64) -> Result<Request<'r>> {
        self.window.win.raccumulate(origin, op, self.target, disp)
    }

    /// `MPI_Rget_accumulate`: as [`LockedTarget::get_accumulate`], with a request.
    ///
    /// # Errors
    /// As [`LockedTarget::get_accumulate`].
    pub fn rget_accumulate<'r>(
        &self,
        origin: &'r [T],
        result: &'r mut [T],
        op: Op,
        disp: u64,
    ) -> Result<Request<'r>> {
        self.window.win.rget_accumulate(origin, result, op, self.target, disp)
    }
}
