//! Messages of elements on borrowed buffers: complete when the call returns.

use super::mailbox::Mailbox;
use super::receive::receive;
use super::request::await_slot;
use super::send::{Sent, send};
use super::slots::MessageSlot;
use super::{Channel, SendMode, Status};
use crate::call::Call;
use crate::comm::CommMembers;
use crate::datatype::{CommittedDatatype, datatype_of};
use crate::error::Result;
use crate::group::Rank;
use crate::ops::{Origin, OriginMut};
use bytemuck::Pod;
use std::panic::Location;

/// The source of a message to receive or find; a [`Rank`] converts into it.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let sent = world.isend(vec![me], other, 7)?;
/// let mut got = [0];
/// let status = world.recv(&mut got, onesided::Source::Any, 7)?;
/// assert_eq!((got, status.count::<u32>()), ([other.0], Some(1)));
/// sent.wait()?;
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// That rank.
    Rank(Rank),
    /// `MPI_ANY_SOURCE`
    Any,
}

/// The tag of a message to receive or find; an `i32` converts into it.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let sent = world.isend(vec![me], other, 7)?;
/// let mut got = [0];
/// let status = world.recv(&mut got, other, onesided::Tag::Any)?;
/// assert_eq!((got, status.count::<u32>()), ([other.0], Some(1)));
/// sent.wait()?;
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// That tag.
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
    /// `MPI_Get_count` (MPI-2.2 §3.2.5): the number of elements in the message; `None` if its bytes are
    /// no whole number of elements.
    #[doc(alias = "MPI_Get_count")]
    pub fn count<T: Pod>(&self) -> Option<usize> {
        let of = datatype_of::<T>();
        let (datatype, each): (&CommittedDatatype, _) = (of.into(), size_of::<T>() / of.size());
        let is_whole = |size: &u64| *size != 0 && self.bytes.is_multiple_of(*size);
        let size = datatype.bytes(each).filter(is_whole)?;
        usize::try_from(self.bytes / size).ok()
    }
}

/// A request on borrowed memory, which is cancelled unless it is waited for.
struct Borrowed<'a> {
    of: &'a CommMembers,
    slot: Option<MessageSlot>,
}

impl Borrowed<'_> {
    fn wait(mut self, call: Call, at: &'static Location<'static>) -> Result<Status> {
        let Some(slot) = self.slot else { return Ok(Status::NOTHING) };
        let status = await_slot(self.of, call, slot, at)?;
        self.slot = None;
        Ok(status)
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        if let (Some(slot), Ok(mailbox)) = (self.slot, Mailbox::of(self.of.context())) {
            mailbox.give_up(self.of, slot);
        }
    }
}

/// Sends, and waits until the buffer can be used again.
pub(super) fn send_and_wait(
    of: &CommMembers,
    (call, at): (Call, &'static Location<'static>),
    (channel, mode): (Channel, SendMode),
    (from, dest, tag): (Origin<'_>, Rank, i32),
) -> Result<()> {
    match send(of, (call, call == Call::Send, true), channel, mode, &from, dest, tag)? {
        Sent::Now(_) => Ok(()),
        Sent::Later(slot) => Borrowed { of, slot: Some(slot) }.wait(call, at).map(drop),
    }
}

/// Receives, and waits until the message is there.
pub(super) fn receive_and_wait(
    of: &CommMembers,
    (call, at): (Call, &'static Location<'static>),
    channel: Channel,
    into: (OriginMut<'_>, Option<Rank>, Option<i32>),
) -> Result<Status> {
    post(of, call, channel, into)?.wait(call, at)
}

/// Posts the receive, sends, and waits for both.
pub(super) fn send_and_receive(
    of: &CommMembers,
    (call, at): (Call, &'static Location<'static>),
    from: (Origin<'_>, Rank, i32),
    into: (OriginMut<'_>, Option<Rank>, Option<i32>),
) -> Result<Status> {
    let receive = post(of, call, Channel::Program, into)?;
    send_and_wait(of, (call, at), (Channel::Program, SendMode::Standard), from)?;
    receive.wait(call, at)
}

fn post<'a>(
    of: &'a CommMembers,
    call: Call,
    channel: Channel,
    (into, source, tag): (OriginMut<'_>, Option<Rank>, Option<i32>),
) -> Result<Borrowed<'a>> {
    let slot = receive(of, call, channel, &into, source, tag)?;
    Ok(Borrowed { of, slot })
}
