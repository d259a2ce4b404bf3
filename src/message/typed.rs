//! Messages of elements: the calls that return when their message has gone or come.

use super::mailbox::Mailbox;
use super::send::Sent;
use super::slots::Slot;
use super::{Channel, SendMode, Status};
use crate::call::Call;
use crate::comm::Comm;
use crate::datatype::{CommittedDatatype, Element};
use crate::error::Result;
use crate::group::Rank;
use crate::ops::{Origin, OriginMut};
use std::panic::Location;

/// Whose message is to be received or found; a [`Rank`] where it is one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// That rank's.
    Rank(Rank),
    /// `MPI_ANY_SOURCE`
    Any,
}

/// Which tag a message to be received or found has; an `i32` where it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// That one.
    Is(i32),
    /// `MPI_ANY_TAG`
    Any,
}

impl From<Rank> for Source {
    fn from(rank: Rank) -> Source {
        Source::Rank(rank)
    }
}

impl From<i32> for Tag {
    fn from(tag: i32) -> Tag {
        Tag::Is(tag)
    }
}

impl Source {
    pub(super) fn known(self) -> Option<Rank> {
        match self {
            Source::Rank(rank) => Some(rank),
            Source::Any => None,
        }
    }
}

impl Tag {
    pub(super) fn known(self) -> Option<i32> {
        match self {
            Tag::Is(tag) => Some(tag),
            Tag::Any => None,
        }
    }
}

impl Status {
    /// `MPI_Get_count` (MPI-2.2 §3.2.5): how many elements the message has; `None` if its bytes are
    /// no number of them.
    pub fn count<T: Element>(&self) -> Option<usize> {
        let datatype: &CommittedDatatype = T::DATATYPE.into();
        let size = datatype.bytes(1).filter(|size| self.bytes.is_multiple_of(*size))?;
        usize::try_from(self.bytes / size).ok()
    }
}

/// A request on borrowed memory, which is taken back unless it is waited for to its end.
struct Borrowed<'a> {
    comm: &'a Comm,
    slot: Option<Slot>,
}

impl Borrowed<'_> {
    fn wait(mut self, call: Call, at: &'static Location<'static>) -> Result<Status> {
        let Some(slot) = self.slot else { return Ok(Status::NOTHING) };
        let status = self.comm.await_slot(call, slot, at)?;
        self.slot = None;
        Ok(status)
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        if let (Some(slot), Ok(mailbox)) = (self.slot, Mailbox::of(self.comm.context())) {
            mailbox.give_up(self.comm, slot);
        }
    }
}

impl Comm {
    /// `MPI_Send` (MPI-2.2 §3.2.1): sends the elements of `from` to rank `dest`, with a `tag` that is
    /// not negative.
    ///
    /// Local; returns when the buffer can be used again, which for messages of more than 8 KiB to
    /// another rank is when they have been received: it blocks, asleep if need be, until then.
    ///
    /// # Errors
    /// [`Error::Peer`](crate::Error::Peer), [`Error::Tag`](crate::Error::Tag),
    /// [`Error::NoMemory`](crate::Error::NoMemory), [`Error::RankFailed`](crate::Error::RankFailed).
    #[track_caller]
    pub fn send<T: Element>(&self, from: &[T], dest: Rank, tag: i32) -> Result<()> {
        self.send_slice(SendMode::Standard, from, dest, tag, Location::caller())
    }

    /// `MPI_Ssend` (MPI-2.2 §3.4): as [`Comm::send`], but blocks in any case until the receive of the
    /// message has begun.
    ///
    /// # Errors
    /// As [`Comm::send`].
    #[track_caller]
    pub fn ssend<T: Element>(&self, from: &[T], dest: Rank, tag: i32) -> Result<()> {
        self.send_slice(SendMode::Synchronous, from, dest, tag, Location::caller())
    }

    fn send_slice<T: Element>(
        &self,
        mode: SendMode,
        from: &[T],
        dest: Rank,
        tag: i32,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let (call, origin) = (Call::Send, Origin::of(from.into()));
        let is_plain = matches!(mode, SendMode::Standard | SendMode::Ready);
        if is_plain && self.try_send(Channel::Program, origin, dest, tag) {
            return Ok(());
        }
        self.within(call, || {
            match self.send_by(call, Channel::Program, mode, &origin, dest, tag)? {
                Sent::Now(_) => Ok(()),
                Sent::Later(slot) => {
                    Borrowed { comm: self, slot: Some(slot) }.wait(call, at).map(drop)
                }
            }
        })
    }

    /// `MPI_Recv` (MPI-2.2 §3.2.4): receives a message from `source` with `tag` into `into`; a shorter
    /// one into the first elements, of which [`Status::count`] says how many.
    ///
    /// Local; blocks, asleep if need be, until the message is there.
    ///
    /// # Errors
    /// [`Error::Truncated`](crate::Error::Truncated) for a message that is longer: it is gone, and
    /// `into` is as before. [`Error::Peer`](crate::Error::Peer), [`Error::Tag`](crate::Error::Tag),
    /// [`Error::RankFailed`](crate::Error::RankFailed).
    ///
    /// ```no_run
    /// # fn main() -> onesided::Result<()> {
    /// # let universe = onesided::Universe::init()?;
    /// # let world = universe.world();
    /// use onesided::{Rank, Source, Tag};
    ///
    /// if world.rank() == 0 {
    ///     world.send(&[1.5, 2.5], Rank(1), 7)?;
    /// } else {
    ///     let mut into = [0.0; 4];
    ///     let status = world.recv(&mut into, Source::Any, Tag::Any)?;
    ///     assert_eq!(status.count::<f64>(), Some(2));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn recv<T: Element>(
        &self,
        into: &mut [T],
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status> {
        let (call, at) = (Call::Receive, Location::caller());
        let (source, tag) = (source.into(), tag.into());
        let (whose, which) = (source.known(), tag.known());
        let origin = OriginMut::of(into.into());
        if let Some(status) = self.try_receive(Channel::Program, origin, whose, which) {
            return Ok(status);
        }
        self.within(call, || self.post(call, into, source, tag)?.wait(call, at))
    }

    /// `MPI_Sendrecv` (MPI-2.2 §3.10): sends `from` to `dest` and receives a message from `source` into
    /// `into`, in whichever order they can.
    ///
    /// Local; blocks until both are done.
    ///
    /// # Errors
    /// As [`Comm::send`] and [`Comm::recv`]; what the other half has done is then not said.
    #[track_caller]
    pub fn sendrecv<T: Element, U: Element>(
        &self,
        from: &[T],
        (dest, send_tag): (Rank, i32),
        into: &mut [U],
        (source, tag): (impl Into<Source>, impl Into<Tag>),
    ) -> Result<Status> {
        let (call, at) = (Call::SendReceive, Location::caller());
        self.within(call, || {
            let receive = self.post(call, into, source.into(), tag.into())?;
            let origin = Origin::of(from.into());
            let mode = SendMode::Standard;
            let sent = self.send_by(call, Channel::Program, mode, &origin, dest, send_tag)?;
            if let Sent::Later(slot) = sent {
                Borrowed { comm: self, slot: Some(slot) }.wait(call, at)?;
            }
            receive.wait(call, at)
        })
    }

    fn post<T: Element>(
        &self,
        call: Call,
        into: &mut [T],
        source: Source,
        tag: Tag,
    ) -> Result<Borrowed<'_>> {
        let (into, source, tag) = (OriginMut::of(into.into()), source.known(), tag.known());
        let slot = self.receiving(call, Channel::Program, &into, source, tag)?;
        Ok(Borrowed { comm: self, slot })
    }

    /// `MPI_Probe` (MPI-2.2 §3.8.1): waits until there is a message from `source` with `tag`, and says
    /// which a receive with these arguments would take.
    ///
    /// Local; blocks, asleep if need be, until there is one.
    ///
    /// # Errors
    /// [`Error::Peer`](crate::Error::Peer), [`Error::Tag`](crate::Error::Tag),
    /// [`Error::RankFailed`](crate::Error::RankFailed).
    #[track_caller]
    pub fn probe(&self, source: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status> {
        let (source, tag) = (source.into().known(), tag.into().known());
        let found = self.probe_message(Channel::Program, source, tag, true)?;
        Ok(found.unwrap_or(Status::NOTHING))
    }

    /// `MPI_Iprobe` (MPI-2.2 §3.8.1): as [`Comm::probe`] if that would not block; `None` if it would.
    ///
    /// # Errors
    /// As [`Comm::probe`].
    pub fn iprobe(&self, source: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Status>> {
        let (source, tag) = (source.into().known(), tag.into().known());
        self.probe_message(Channel::Program, source, tag, false)
    }
}
