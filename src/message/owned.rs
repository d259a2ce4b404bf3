//! Sends and receives under way that own their buffers: a vector goes in, and comes out again.

use super::typed::{Source, Tag};
use super::{Channel, MessageRequest, SendMode, Status};
use crate::call::Call;
use crate::comm::Comm;
use crate::datatype::Element;
use crate::error::Result;
use crate::group::Rank;
use crate::ops::{Origin, OriginMut};
use std::fmt;
use std::mem::ManuallyDrop;

/// A send or a receive under way, with its buffer (MPI-2.2 §3.7).
///
/// Dropped before it is complete, a receive that no message has come for is cancelled; anything else
/// goes on, and its buffer stays allocated for as long as the process lives.
#[must_use = "the buffer is given back by wait"]
pub struct Pending<T: Element> {
    request: MessageRequest,
    /// Accessed by nobody until the request is complete.
    buffer: ManuallyDrop<Vec<T>>,
}

impl<T: Element> Pending<T> {
    /// `MPI_Test` without its effect: whether it is complete. Local; never blocks.
    pub fn is_complete(&self) -> bool {
        self.request.is_complete()
    }

    /// `MPI_Wait`: waits until it is complete; the buffer, and of a receive what was received.
    ///
    /// Blocks, asleep if need be, until then.
    ///
    /// # Errors
    /// [`Error::Truncated`](crate::Error::Truncated), [`Error::NoMemory`](crate::Error::NoMemory),
    /// [`Error::RankFailed`](crate::Error::RankFailed); the buffer is then lost.
    #[track_caller]
    pub fn wait(mut self) -> Result<(Vec<T>, Status)> {
        let status = self.request.wait()?;
        Ok((std::mem::take(&mut *self.buffer), status))
    }

    /// `MPI_Cancel` (MPI-2.2 §3.8.4): of a receive that no message has come for; it is then complete,
    /// and [`Status::cancelled`] says so. Local; never blocks.
    pub fn cancel(&self) {
        self.request.cancel();
    }
}

impl<T: Element> Drop for Pending<T> {
    fn drop(&mut self) {
        self.request.cancel();
        if self.request.is_settled() {
            // Nobody else has its address any more.
            drop(std::mem::take(&mut *self.buffer));
        }
    }
}

impl<T: Element> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.request.fmt(f)
    }
}

impl Comm {
    /// `MPI_Isend` (MPI-2.2 §3.7.2): begins to send `from`, which [`Pending::wait`] gives back.
    ///
    /// Local; does not block, except while another rank allocates.
    ///
    /// # Errors
    /// As [`Comm::send`]; `from` is then lost.
    pub fn isend<T: Element>(&self, from: Vec<T>, dest: Rank, tag: i32) -> Result<Pending<T>> {
        self.begin_send(SendMode::Standard, from, dest, tag)
    }

    /// `MPI_Issend` (MPI-2.2 §3.7.2): as [`Comm::isend`], complete when the receive has begun.
    ///
    /// # Errors
    /// As [`Comm::isend`].
    pub fn issend<T: Element>(&self, from: Vec<T>, dest: Rank, tag: i32) -> Result<Pending<T>> {
        self.begin_send(SendMode::Synchronous, from, dest, tag)
    }

    fn begin_send<T: Element>(
        &self,
        mode: SendMode,
        from: Vec<T>,
        dest: Rank,
        tag: i32,
    ) -> Result<Pending<T>> {
        let buffer = ManuallyDrop::new(from);
        let origin = Origin::of(buffer[..].into());
        let request = self.start_send(Channel::Program, mode, origin, dest, tag);
        Pending::begun(request, buffer)
    }

    /// `MPI_Irecv` (MPI-2.2 §3.7.2): begins to receive into `into`, as [`Comm::recv`] does.
    /// [`Pending::wait`] gives it back, as long as it was.
    ///
    /// Local; does not block, except while another rank allocates.
    ///
    /// # Errors
    /// [`Error::Peer`](crate::Error::Peer), [`Error::Tag`](crate::Error::Tag); `into` is then lost.
    ///
    /// ```no_run
    /// # fn main() -> onesided::Result<()> {
    /// # let universe = onesided::Universe::init()?;
    /// # let world = universe.world();
    /// use onesided::Rank;
    ///
    /// let n = world.size();
    /// let (left, right) = ((world.rank().0 + n - 1) % n, (world.rank().0 + 1) % n);
    /// let receive = world.irecv(vec![0u64; 1000], Rank(left), 0)?;
    /// let send = world.isend(vec![u64::from(world.rank()); 1000], Rank(right), 0)?;
    /// let (halo, _) = receive.wait()?;
    /// assert!(halo.iter().all(|from| *from == u64::from(left)));
    /// send.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn irecv<T: Element>(
        &self,
        into: Vec<T>,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Pending<T>> {
        let mut buffer = ManuallyDrop::new(into);
        let origin = OriginMut::of((&mut buffer[..]).into());
        let (source, tag) = (source.into().known(), tag.into().known());
        let request = self.start_receive(Channel::Program, origin, source, tag);
        Pending::begun(request, buffer)
    }
}

/// For what is made of messages ([`super::Driven`]).
impl Comm {
    /// As [`Comm::post_receive`], into a vector.
    pub(crate) fn post_receive_owned<T: Element>(
        &self,
        call: Call,
        channel: Channel,
        into: Vec<T>,
        source: Rank,
        tag: i32,
    ) -> Result<Pending<T>> {
        let mut buffer = ManuallyDrop::new(into);
        let origin = OriginMut::of((&mut buffer[..]).into());
        let request = self.post_receive(call, channel, &origin, source, tag);
        Pending::begun(request, buffer)
    }
}

impl<T: Element> Pending<T> {
    /// As [`MessageRequest::is_done`].
    pub(crate) fn is_done(&self) -> bool {
        self.request.is_done()
    }

    /// As [`MessageRequest::outcome`], with what was received.
    pub(crate) fn outcome(mut self, call: Call) -> Result<Vec<T>> {
        self.request.outcome(call)?;
        Ok(std::mem::take(&mut *self.buffer))
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
