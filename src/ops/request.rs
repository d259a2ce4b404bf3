//! Request-based operations (MPI-4.1 §12.3.5), only in passive target epochs.
//!
//! Operations are eager, so a request is complete at the origin when it is returned: its buffer
//! may be used again, and what a get asked for is there. At the target it is complete after a
//! flush or the end of the epoch, as the standard says.

use super::transfer::Transfer;
use super::update::Update;
use super::{Layout, Origin, OriginMut};
use crate::call::Call;
use crate::datatype::Element;
use crate::error::Result;
use crate::group::Rank;
use crate::op::Op;
use crate::window::Win;
use std::marker::PhantomData;

/// A request of an operation whose buffers it keeps borrowed (`MPI_Request`).
///
/// Dropped, it is complete too. Its functions are local and do not block.
#[derive(Debug)]
#[must_use = "the buffer is borrowed until the request is waited for or dropped"]
pub struct Request<'b> {
    active: bool,
    buffers: PhantomData<fn(&'b mut ()) -> &'b mut ()>,
}

impl Request<'_> {
    fn complete() -> Self {
        Request { active: true, buffers: PhantomData }
    }

    /// `MPI_REQUEST_NULL`: a request that waits for nothing.
    pub fn null() -> Self {
        Request { active: false, buffers: PhantomData }
    }

    /// Whether it stands for an operation that nobody has waited for yet.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// `MPI_Wait`: returns when the operation is complete at the origin.
    pub fn wait(self) {}

    /// `MPI_Test`: whether the operation is complete at the origin; the request is then inactive.
    pub fn test(&mut self) -> bool {
        self.active = false;
        true
    }

    /// `MPI_Waitall`: waits for every request; all are inactive afterwards.
    pub fn wait_all(requests: &mut [Request<'_>]) {
        requests.iter_mut().for_each(|request| request.active = false);
    }

    /// `MPI_Waitany`: waits for an active request, which is then inactive, and returns its index;
    /// `None` (`MPI_UNDEFINED`) if none is active.
    pub fn wait_any(requests: &mut [Request<'_>]) -> Option<usize> {
        let index = requests.iter().position(Request::is_active)?;
        requests[index].active = false;
        Some(index)
    }

    /// `MPI_Testall`: whether every operation is complete at the origin; the requests are then
    /// inactive.
    pub fn test_all(requests: &mut [Request<'_>]) -> bool {
        Request::wait_all(requests);
        true
    }
}

impl Drop for Request<'_> {
    /// Keeps the buffers borrowed until here.
    fn drop(&mut self) {}
}

impl Win {
    /// `MPI_Rput` (MPI-4.1 §12.3.5): [`Win::put`] with a request.
    ///
    /// # Errors
    /// As [`Win::put`]; [`Error::Epoch`](crate::Error::Epoch) outside a passive target epoch.
    pub fn rput<'b, T: Element>(
        &self,
        origin: &'b [T],
        target: Rank,
        disp: u64,
    ) -> Result<Request<'b>> {
        self.handled(self.check_passive(Call::Rput))?;
        self.transfer(Transfer::put(Call::Rput, origin, target, disp))?;
        Ok(Request::complete())
    }

    /// `MPI_Rget` (MPI-4.1 §12.3.5): [`Win::get`] with a request.
    ///
    /// # Errors
    /// As [`Win::rput`].
    pub fn rget<'b, T: Element>(
        &self,
        origin: &'b mut [T],
        target: Rank,
        disp: u64,
    ) -> Result<Request<'b>> {
        self.handled(self.check_passive(Call::Rget))?;
        self.transfer(Transfer::get(Call::Rget, origin, target, disp))?;
        Ok(Request::complete())
    }

    /// `MPI_Raccumulate` (MPI-4.1 §12.3.5): [`Win::accumulate`] with a request.
    ///
    /// # Errors
    /// As [`Win::rput`] and [`Win::accumulate`].
    pub fn raccumulate<'b, T: Element>(
        &self,
        origin: &'b [T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<Request<'b>> {
        self.handled(self.check_passive(Call::Raccumulate))?;
        self.accumulate_slice(Call::Raccumulate, origin, op, target, disp)?;
        Ok(Request::complete())
    }

    /// `MPI_Rget_accumulate` (MPI-4.1 §12.3.5): [`Win::get_accumulate`] with a request.
    ///
    /// # Errors
    /// As [`Win::rput`] and [`Win::get_accumulate`].
    pub fn rget_accumulate<'b, T: Element>(
        &self,
        origin: &'b [T],
        result: &'b mut [T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<Request<'b>> {
        self.handled(self.check_passive(Call::RgetAccumulate))?;
        self.fetch_slice(Call::RgetAccumulate, (origin, result), op, target, disp)?;
        Ok(Request::complete())
    }
}

/// The same of buffers with a layout, whose borrow is their maker's promise.
impl Win {
    /// `MPI_Rput` (MPI-4.1 §12.3.5): [`Win::put_layout`] with a request.
    ///
    /// # Errors
    /// As [`Win::rput`] and [`Win::put_layout`].
    pub fn rput_layout<'d>(
        &self,
        origin: Origin<'d>,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<Request<'d>> {
        self.handled(self.check_passive(Call::Rput))?;
        self.transfer(Transfer::put_between(Call::Rput, &origin, target, disp, layout))?;
        Ok(Request::complete())
    }

    /// `MPI_Rget` (MPI-4.1 §12.3.5): [`Win::get_layout`] with a request.
    ///
    /// # Errors
    /// As [`Win::rget`] and [`Win::get_layout`].
    pub fn rget_layout<'d>(
        &self,
        origin: OriginMut<'d>,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<Request<'d>> {
        self.handled(self.check_passive(Call::Rget))?;
        self.transfer(Transfer::get_between(Call::Rget, origin, target, disp, layout))?;
        Ok(Request::complete())
    }

    /// `MPI_Raccumulate` (MPI-4.1 §12.3.5): [`Win::accumulate_layout`] with a request.
    ///
    /// # Errors
    /// As [`Win::raccumulate`] and [`Win::accumulate_layout`].
    pub fn raccumulate_layout<'d>(
        &self,
        origin: Origin<'d>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<Request<'d>> {
        self.handled(self.check_passive(Call::Raccumulate))?;
        let update = Update::new(Call::Raccumulate, (origin, None), op, target, disp, layout);
        self.update_slowly(&update)?;
        Ok(Request::complete())
    }

    /// `MPI_Rget_accumulate` (MPI-4.1 §12.3.5): [`Win::get_accumulate_layout`] with a request.
    ///
    /// # Errors
    /// As [`Win::rget_accumulate`] and [`Win::get_accumulate_layout`].
    pub fn rget_accumulate_layout<'d>(
        &self,
        origin: Origin<'d>,
        result: OriginMut<'d>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<Request<'d>> {
        let call = Call::RgetAccumulate;
        self.handled(self.check_passive(call))?;
        let update = Update::new(call, (origin, Some(result)), op, target, disp, layout);
        self.update_slowly(&update)?;
        Ok(Request::complete())
    }
}
