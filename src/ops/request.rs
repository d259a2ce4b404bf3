//! Requests of operations (MPI-4.1 §12.3.5).

use crate::check::{CheckedWindow, take_request};
use crate::context::Context;
use crate::prim::Word32;
use crate::window::Communication;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// A request of an operation (MPI-4.1 §12.3.5), whose buffers it keeps borrowed (`MPI_Request`).
///
/// The operation is complete at the origin when the call that returns the request does, so there is nothing
/// left to wait for: its functions end the borrow. They are local and do not block. At the target the operation
/// is complete after a flush or the end of the epoch.
///
/// ```
/// use onesided::prelude::*;
/// use onesided::Request;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let mut window = Window::<u32>::allocate(world, 1)?;
/// let (first, second) = ([1], [2]);
/// let epoch = window.lock_all()?;
/// let mut requests = [epoch.rput(&first, other, 0)?, epoch.raccumulate(&second, Op::Sum, other, 0)?];
/// Request::wait_all(&mut requests);
/// epoch.unlock_all()?;
/// world.barrier()?;
/// assert_eq!(window.load_one(0)?, 3);
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Debug)]
#[must_use = "the buffer is borrowed until the request is waited for or dropped"]
pub struct Request<'b> {
    active: bool,
    /// What the check of a job knows of it.
    checked: Option<Box<CheckedRequest>>,
    buffers: PhantomData<fn(&'b mut ()) -> &'b mut ()>,
}

/// The request of an operation of a checked job.
struct CheckedRequest {
    context: Arc<Context>,
    window: Arc<CheckedWindow>,
    number: u64,
    /// 1 if the program has freed the request, whose end then does not complete the operation.
    is_freed: Word32,
}

impl fmt::Debug for CheckedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedRequest").field("number", &self.number).finish_non_exhaustive()
    }
}

impl CheckedRequest {
    /// The program knows that the operation is complete.
    fn complete(&self) {
        if let Some(checker) = self.context.checker() {
            checker.settle(&self.context.excluded());
            self.window.waited_for(checker, &self.context.excluded(), self.number);
        }
    }
}

impl Drop for CheckedRequest {
    fn drop(&mut self) {
        if self.is_freed.load() == 0 {
            self.complete();
        }
    }
}

impl Communication<'_> {
    /// The request of the operation that this thread has just issued.
    #[inline(always)]
    pub(super) fn requested<'b>(self) -> Request<'b> {
        let checked = match self.calls.check() {
            None => None,
            Some(_) => self.checked_request(),
        };
        Request { active: true, checked, buffers: PhantomData }
    }

    #[cold]
    fn checked_request(self) -> Option<Box<CheckedRequest>> {
        let (window, number) = (self.calls.shared_check()?, take_request()?);
        let context = self.calls.shared_context();
        Some(Box::new(CheckedRequest { context, window, number, is_freed: Word32::default() }))
    }
}

impl Request<'_> {
    /// `MPI_REQUEST_NULL`: a request that waits for nothing.
    #[doc(alias = "MPI_REQUEST_NULL")]
    pub fn null() -> Self {
        Request { active: false, checked: None, buffers: PhantomData }
    }

    /// Whether it stands for an operation that has not been waited for.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// `MPI_Wait`: returns when the operation is complete at the origin.
    #[doc(alias = "MPI_Wait")]
    pub fn wait(self) {}

    /// `MPI_Test`: whether the operation is complete at the origin; the request is then inactive.
    #[doc(alias = "MPI_Test")]
    pub fn test(&mut self) -> bool {
        self.end();
        true
    }

    /// `MPI_Waitall`: waits for every request; all are inactive afterwards.
    #[doc(alias = "MPI_Waitall")]
    pub fn wait_all(requests: &mut [Request<'_>]) {
        requests.iter_mut().for_each(Request::end);
    }

    /// `MPI_Waitany`: waits for an active request, which is then inactive, and returns its index;
    /// `None` (`MPI_UNDEFINED`) if none is active.
    #[doc(alias = "MPI_Waitany")]
    pub fn wait_any(requests: &mut [Request<'_>]) -> Option<usize> {
        let index = requests.iter().position(Request::is_active)?;
        requests[index].end();
        Some(index)
    }

    /// `MPI_Testall`: whether every operation is complete at the origin; the requests are then
    /// inactive.
    #[doc(alias = "MPI_Testall")]
    pub fn test_all(requests: &mut [Request<'_>]) -> bool {
        Request::wait_all(requests);
        true
    }

    /// For bindings of other languages: whether its end matters to the check of the job. If not, it may be dropped.
    #[inline(always)]
    pub fn is_checked(&self) -> bool {
        self.checked.is_some()
    }

    /// `MPI_Request_get_status`: whether the operation is complete at the origin; the request stays active.
    #[doc(alias = "MPI_Request_get_status")]
    pub fn get_status(&self) -> bool {
        self.checked.iter().for_each(|checked| checked.complete());
        true
    }

    /// For bindings of other languages: `MPI_Request_free`, before this is dropped. The program learns nothing of the
    /// operation, which a flush or the end of the epoch completes.
    pub fn free(&self) {
        self.checked.iter().for_each(|checked| checked.is_freed.store(1));
    }

    /// That of an operation of which no check knows.
    #[inline(always)]
    pub(super) fn complete() -> Self {
        Request { active: true, checked: None, buffers: PhantomData }
    }

    fn end(&mut self) {
        self.active = false;
        self.checked = None;
    }
}

impl Drop for Request<'_> {
    /// Keeps the buffers borrowed until here.
    fn drop(&mut self) {}
}
