//! Request-based operations (MPI-4.1 §12.3.5), only in passive target epochs.
//!
//! Operations are eager, so a request is complete at the origin when it is returned: its buffer
//! may be used again, and what a get asked for is there. At the target it is complete after a
//! flush or the end of the epoch, as in the standard.

use std::marker::PhantomData;

/// A request of an operation whose buffers it keeps borrowed (`MPI_Request`).
///
/// The operation is complete at the origin when the call that returns the request does, so there is nothing
/// left to wait for: its functions end the borrow. They are local and do not block.
#[derive(Debug)]
#[must_use = "the buffer is borrowed until the request is waited for or dropped"]
pub struct Request<'b> {
    active: bool,
    buffers: PhantomData<fn(&'b mut ()) -> &'b mut ()>,
}

impl Request<'_> {
    pub(super) fn complete() -> Self {
        Request { active: true, buffers: PhantomData }
    }

    /// `MPI_REQUEST_NULL`: a request that waits for nothing.
    pub fn null() -> Self {
        Request { active: false, buffers: PhantomData }
    }

    /// Whether it stands for an operation that has not been waited for.
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
