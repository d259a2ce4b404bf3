//! Sends and receives that own their buffers: a vector goes in, and comes out again.

use super::{MessageRequest, Status};
use crate::call::Call;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::ops::{Origin, OriginMut};
use bytemuck::Pod;
use std::fmt;
use std::mem::ManuallyDrop;

/// If it is dropped before it is complete, a receive without a message is cancelled. Anything else goes
/// on, and its buffer stays allocated as long as the process lives.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let sent = world.isend(vec![me], other, 7)?;
/// let mut got = [0];
/// let status = world.recv(&mut got, other, 7)?;
/// assert_eq!((got, status.count::<u32>()), ([other.0], Some(1)));
/// sent.wait()?;
/// # Ok(())
/// # });
/// ```
#[must_use = "the buffer is given back by wait"]
pub struct Pending<T: Pod> {
    request: MessageRequest,
    /// Accessed by no thread until the request is complete.
    buffer: ManuallyDrop<Vec<T>>,
}

impl<T: Pod> Pending<T> {
    /// `MPI_Test` without its effect: whether it is complete. Local; never blocks.
    #[doc(alias = "MPI_Test")]
    pub fn is_complete(&self) -> bool {
        self.request.is_complete()
    }

    /// `MPI_Wait`: waits until it is complete; the buffer, and of a receive what was received.
    ///
    /// Blocks, asleep if need be, until then.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::NoMemory`], [`Error::RankFailed`]; the buffer is then lost.
    #[doc(alias = "MPI_Wait")]
    #[track_caller]
    pub fn wait(mut self) -> Result<(Vec<T>, Status)> {
        let status = self.request.wait()?;
        Ok((std::mem::take(&mut *self.buffer), status))
    }

    /// `MPI_Cancel` (MPI-2.2 §3.8.4): of a receive that no message has come for; it is then complete,
    /// as [`Status::cancelled`] shows. Local; never blocks.
    #[doc(alias = "MPI_Cancel")]
    pub fn cancel(&self) {
        self.request.cancel();
    }
}

impl<T: Pod> Drop for Pending<T> {
    fn drop(&mut self) {
        self.request.cancel();
        if self.request.is_settled() {
            // No thread has its address any more.
            drop(std::mem::take(&mut *self.buffer));
        }
    }
}

impl<T: Pod> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.request.fmt(f)
    }
}

impl<T: Pod> Pending<T> {
    /// [`MessageRequest::is_done`]
    pub(crate) fn is_done(&self) -> bool {
        self.request.is_done()
    }

    /// [`MessageRequest::outcome`] with what was received.
    pub(crate) fn outcome(mut self, call: Call) -> Result<Vec<T>> {
        self.request.outcome(call)?;
        Ok(std::mem::take(&mut *self.buffer))
    }

    /// Lends `from` to the send that `begin` begins.
    pub(super) fn sending(
        from: Vec<T>,
        begin: impl FnOnce(Origin<'_>) -> Result<MessageRequest>,
    ) -> Result<Pending<T>> {
        let buffer = ManuallyDrop::new(from);
        let request = begin(Origin::of(buffer[..].into()));
        Pending::begun(request, buffer)
    }

    /// Lends `into` to the receive that `begin` begins.
    pub(super) fn receiving(
        into: Vec<T>,
        begin: impl FnOnce(OriginMut<'_>) -> Result<MessageRequest>,
    ) -> Result<Pending<T>> {
        let mut buffer = ManuallyDrop::new(into);
        let request = begin(OriginMut::of((&mut buffer[..]).into()));
        Pending::begun(request, buffer)
    }

    fn begun(
        request: Result<MessageRequest>,
        mut buffer: ManuallyDrop<Vec<T>>,
    ) -> Result<Pending<T>> {
        match request {
            Ok(request) => Ok(Pending { request, buffer }),
            Err(error) => {
                // What was refused has not kept it.
                drop(std::mem::take(&mut *buffer));
                Err(error)
            }
        }
    }
}
