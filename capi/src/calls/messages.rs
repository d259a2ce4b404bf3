//! Blocking sends and receives, probes, and both together (MPI-4.1 §3.2 to §3.11); what sends have in common.

use super::buffers::check_space;
use super::operations::{check_buffer, elements};
use crate::abi::*;
use crate::arguments::{Address, Number, Ptr};
use crate::comm::Communicator;
use crate::datatype::usable;
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::message::MessageObject;
use crate::raise::Owner;
use crate::request::{Finished, Request, Work};
use crate::settled;
use crate::status;
use onesided::engine::{Channel, MessageRequest, Origin, OriginMut, SendMode};
use onesided::{Comm, CommittedDatatype, Rank, Status};
use std::ffi::c_int;

/// A buffer of a message, checked.
#[derive(Clone, Copy)]
struct Buffer {
    start: Address,
    count: usize,
    datatype: &'static CommittedDatatype,
}

impl Buffer {
    #[inline(always)]
    fn new<C: Number>(start: Address, count: C, datatype: MPI_Datatype) -> Outcome<Buffer> {
        let count = elements(count)?;
        let datatype = usable(of_elements(count, datatype))?;
        check_buffer(start, count, datatype)?;
        Ok(Buffer { start, count, datatype })
    }

    /// What a receive passes on.
    #[inline]
    fn incoming(self) -> OriginMut<'static> {
        self.start.origin_mut(self.count, self.datatype)
    }
}

/// The datatype of that many elements of a message. A message without elements needs no datatype, as in
/// MPICH.
#[inline]
pub(super) fn of_elements(count: usize, datatype: MPI_Datatype) -> MPI_Datatype {
    match count == 0 && datatype == Handle::NULL {
        true => Handle::predefined(MPI_BYTE),
        false => datatype,
    }
}

/// The destination or source of a message, checked.
#[derive(Clone, Copy)]
struct Peer {
    handle: MPI_Comm,
    comm: &'static Communicator,
    rank: Option<Rank>,
    tag: Option<i32>,
}

impl Peer {
    #[inline(always)]
    fn destination(handle: MPI_Comm, rank: c_int, tag: c_int) -> Outcome<Peer> {
        let comm = handle.get()?;
        let rank = comm.peer(rank)?;
        check_tag(tag)?;
        Ok(Peer { handle, comm, rank: Some(rank), tag: Some(tag) })
    }

    #[inline(always)]
    fn source(handle: MPI_Comm, rank: c_int, tag: c_int) -> Outcome<Peer> {
        if rank != MPI_ANY_SOURCE && tag != MPI_ANY_TAG {
            return Peer::destination(handle, rank, tag);
        }
        let comm = handle.get()?;
        let rank = if rank == MPI_ANY_SOURCE { None } else { Some(comm.peer(rank)?) };
        match tag {
            MPI_ANY_TAG => Ok(Peer { handle, comm, rank, tag: None }),
            0.. => Ok(Peer { handle, comm, rank, tag: Some(tag) }),
            _ => Err(wrong_tag(tag)),
        }
    }

    /// What a send passes on.
    #[inline]
    fn outgoing(&self, buffer: Buffer) -> (Origin<'static>, Rank, i32) {
        let origin = buffer.start.origin(buffer.count, buffer.datatype);
        (origin, self.rank.unwrap_or(Rank::NULL), self.tag.unwrap_or(0))
    }

    #[inline]
    fn send(&self, mode: SendMode, buffer: Buffer) -> Outcome<MessageRequest> {
        let (origin, to, tag) = self.outgoing(buffer);
        Ok(self.comm.messages().start_send(Channel::Program, mode, origin, to, tag)?)
    }

    /// Refuses a buffered send for which the attached space is too small.
    #[inline]
    fn check_mode(&self, mode: SendMode, buffer: Buffer) -> Outcome {
        match mode {
            SendMode::Buffered => check_space(self.handle, buffer.datatype.bytes(buffer.count)),
            _ => Ok(()),
        }
    }

    /// [`Peer::send`] together with a receive, which is withdrawn if the send fails.
    fn send_beside(&self, receive: &MessageRequest, buffer: Buffer) -> Outcome<MessageRequest> {
        self.send(SendMode::Standard, buffer).inspect_err(|_| receive.cancel())
    }

    #[inline]
    fn receive(&self, buffer: Buffer) -> Outcome<MessageRequest> {
        let into = buffer.incoming();
        Ok(self.comm.messages().start_receive(Channel::Program, into, self.rank, self.tag)?)
    }

    /// Ends a blocking receive from this peer.
    #[inline(always)]
    fn received(&self, received: onesided::Result<Status>, status: Ptr<MPI_Status>) -> Outcome {
        match received {
            Ok(received) => status::set(status, &self.comm.translated(received)),
            failed => status::conclude(
                status,
                status::received(|status| self.comm.translated(status), failed),
            ),
        }
    }
}

/// What a persistent request owns, because the program may free the handles before the next start.
struct PersistentArguments {
    handle: MPI_Comm,
    comm: Comm,
    rank: Option<Rank>,
    tag: Option<i32>,
    start: Address,
    count: usize,
    datatype: CommittedDatatype,
}

impl PersistentArguments {
    fn new(peer: Peer, buffer: Buffer) -> PersistentArguments {
        let Peer { handle, comm, rank, tag } = peer;
        let (comm, datatype) = (comm.messages().for_requests(), buffer.datatype.clone());
        PersistentArguments {
            handle,
            comm,
            rank,
            tag,
            start: buffer.start,
            count: buffer.count,
            datatype,
        }
    }

    fn send(&self, mode: SendMode) -> Outcome<MessageRequest> {
        if matches!(mode, SendMode::Buffered) {
            check_space(self.handle, self.datatype.bytes(self.count))?;
        }
        let origin = self.start.origin(self.count, &self.datatype);
        let (to, tag) = (self.rank.unwrap_or(Rank::NULL), self.tag.unwrap_or(0));
        Ok(self.comm.start_send(Channel::Program, mode, origin, to, tag)?)
    }

    fn receive(&self) -> Outcome<MessageRequest> {
        let into = self.start.origin_mut(self.count, &self.datatype);
        Ok(self.comm.start_receive(Channel::Program, into, self.rank, self.tag)?)
    }
}

#[inline]
pub(super) fn check_tag(tag: c_int) -> Outcome {
    if tag < 0 { Err(wrong_tag(tag)) } else { Ok(()) }
}

#[cold]
fn wrong_tag(tag: c_int) -> Failure {
    Failure::new(MPI_ERR_TAG, format!("the tag {} is negative", OneOf(tag, TAGS)))
}

pub(super) fn begun(comm: MPI_Comm, work: Work, request: Ptr<MPI_Request>) -> Outcome {
    request.set(Handle::of_made(|| Request::new(Owner::Comm(comm), work)))
}

/// `MPI_Send`, `MPI_Ssend`, `MPI_Rsend`, `MPI_Bsend`
pub fn send<C: Number>(
    mode: SendMode,
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> Outcome {
    let (peer, buffer) = (Peer::destination(comm, dest, tag)?, Buffer::new(buf, count, datatype)?);
    peer.check_mode(mode, buffer)?;
    let (origin, to, tag) = peer.outgoing(buffer);
    Ok(peer.comm.messages().send_untyped(Channel::Program, mode, origin, to, tag)?)
}

/// Begins a send.
#[inline]
pub(super) fn begin_send<C: Number>(
    mode: SendMode,
    (buf, count, datatype): (Address, C, MPI_Datatype),
    (dest, tag, comm): (c_int, c_int, MPI_Comm),
    request: Ptr<MPI_Request>,
) -> Outcome {
    let (peer, buffer) = (Peer::destination(comm, dest, tag)?, Buffer::new(buf, count, datatype)?);
    let (origin, to, tag) = peer.outgoing(buffer);
    if peer.comm.messages().try_send(mode, Channel::Program, &origin, to, tag) {
        return request.set(Request::complete(&settled::SENDS, Owner::Comm(comm)));
    }
    peer.check_mode(mode, buffer)?;
    begun(comm, Work::Send(peer.send(mode, buffer)?), request)
}

pub(super) fn persistent<C: Number>(
    mode: SendMode,
    (buf, count, datatype): (Address, C, MPI_Datatype),
    (dest, tag, comm): (c_int, c_int, MPI_Comm),
    request: Ptr<MPI_Request>,
) -> Outcome {
    let (peer, buffer) = (Peer::destination(comm, dest, tag)?, Buffer::new(buf, count, datatype)?);
    let arguments = PersistentArguments::new(peer, buffer);
    let begin = move || Ok(Work::Send(arguments.send(mode)?));
    request.set(Handle::new(Request::persistent(Owner::Comm(comm), Box::new(begin))))
}

/// `MPI_Recv`
pub fn recv<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    status: Ptr<MPI_Status>,
) -> Outcome {
    let peer = Peer::source(comm, source, tag)?;
    let into = Buffer::new(buf, count, datatype)?.incoming();
    let messages = peer.comm.messages();
    peer.received(messages.receive_untyped(Channel::Program, into, peer.rank, peer.tag), status)
}

/// `MPI_Irecv`
pub fn irecv<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Ptr<MPI_Request>,
) -> Outcome {
    let (peer, buffer) = (Peer::source(comm, source, tag)?, Buffer::new(buf, count, datatype)?);
    let (of, into) = (peer.comm.messages(), buffer.incoming());
    match of.try_start_receive(Channel::Program, &into, peer.rank, peer.tag) {
        Some(slot) => request.set(Handle::of_made(|| {
            Request::new(Owner::Comm(comm), Work::Receive(MessageRequest::pending(of, slot)))
        })),
        None => begun(comm, Work::Receive(peer.receive(buffer)?), request),
    }
}

/// `MPI_Recv_init`
pub fn recv_init<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Ptr<MPI_Request>,
) -> Outcome {
    let (peer, buffer) = (Peer::source(comm, source, tag)?, Buffer::new(buf, count, datatype)?);
    let arguments = PersistentArguments::new(peer, buffer);
    let begin = move || Ok(Work::Receive(arguments.receive()?));
    request.set(Handle::new(Request::persistent(Owner::Comm(comm), Box::new(begin))))
}

/// `MPI_Sendrecv`
pub fn sendrecv<C: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    dest: c_int,
    sendtag: c_int,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    source: c_int,
    recvtag: c_int,
    comm: MPI_Comm,
    status: Ptr<MPI_Status>,
) -> Outcome {
    let (to, from) =
        (Peer::destination(comm, dest, sendtag)?, Peer::source(comm, source, recvtag)?);
    let out = to.outgoing(Buffer::new(sendbuf, sendcount, sendtype)?);
    let into = Buffer::new(recvbuf, recvcount, recvtype)?.incoming();
    let received = from.comm.messages().sendrecv_untyped(out, (into, from.rank, from.tag));
    from.received(received, status)
}

/// `MPI_Sendrecv_replace`
pub fn sendrecv_replace<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: MPI_Comm,
    status: Ptr<MPI_Status>,
) -> Outcome {
    let (to, from) =
        (Peer::destination(comm, dest, sendtag)?, Peer::source(comm, source, recvtag)?);
    let buffer = Buffer::new(buf, count, datatype)?;
    // A buffered send has read its buffer when it returns.
    let send = to.send(SendMode::Buffered, buffer)?;
    let received = from.receive(buffer)?.wait();
    let sent = send.wait();
    from.received(received, status)?;
    Ok(sent.map(drop)?)
}

/// `MPI_Isendrecv`
pub fn isendrecv<C: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    dest: c_int,
    sendtag: c_int,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    source: c_int,
    recvtag: c_int,
    comm: MPI_Comm,
    request: Ptr<MPI_Request>,
) -> Outcome {
    let (to, from) =
        (Peer::destination(comm, dest, sendtag)?, Peer::source(comm, source, recvtag)?);
    let out = Buffer::new(sendbuf, sendcount, sendtype)?;
    let receive = from.receive(Buffer::new(recvbuf, recvcount, recvtype)?)?;
    let both = Box::new([to.send_beside(&receive, out)?, receive]);
    begun(comm, Work::Both(both), request)
}

/// `MPI_Isendrecv_replace`
pub fn isendrecv_replace<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: MPI_Comm,
    request: Ptr<MPI_Request>,
) -> Outcome {
    let (to, from) =
        (Peer::destination(comm, dest, sendtag)?, Peer::source(comm, source, recvtag)?);
    let buffer = Buffer::new(buf, count, datatype)?;
    // As in `sendrecv_replace`.
    let send = to.send(SendMode::Buffered, buffer)?;
    begun(comm, Work::Both(Box::new([send, from.receive(buffer)?])), request)
}

/// `MPI_Probe`
pub fn probe(source: c_int, tag: c_int, comm: MPI_Comm, status: Ptr<MPI_Status>) -> Outcome {
    let Peer { comm, rank, tag, .. } = Peer::source(comm, source, tag)?;
    match comm.messages().probe_message(Channel::Program, rank, tag, true)? {
        Some(found) => status::set(status, &comm.translated(found)),
        None => Ok(()),
    }
}

/// `MPI_Iprobe`
pub fn iprobe(
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    flag: Ptr<c_int>,
    status: Ptr<MPI_Status>,
) -> Outcome {
    let Peer { comm, rank, tag, .. } = Peer::source(comm, source, tag)?;
    let found = comm.messages().probe_message(Channel::Program, rank, tag, false)?;
    flag.set(found.is_some().into())?;
    found.map_or(Ok(()), |found| status::set(status, &comm.translated(found)))
}

/// Matches a message, and returns a handle of it to the program if there is one.
fn matched(
    peer: Peer,
    blocking: bool,
    message: Ptr<MPI_Message>,
    status: Ptr<MPI_Status>,
) -> Outcome<bool> {
    let Peer { handle, comm, rank, tag } = peer;
    let Some((found, envelope)) =
        comm.messages().match_message(Channel::Program, rank, tag, blocking)?
    else {
        return Ok(false);
    };
    message.set(match rank {
        Some(Rank::NULL) => Handle::predefined(MPI_MESSAGE_NO_PROC),
        _ => Handle::new(MessageObject::new(handle, found)),
    })?;
    status::set(status, &comm.translated(envelope))?;
    Ok(true)
}

/// `MPI_Mprobe`
pub fn mprobe(
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    message: Ptr<MPI_Message>,
    status: Ptr<MPI_Status>,
) -> Outcome {
    matched(Peer::source(comm, source, tag)?, true, message, status).map(drop)
}

/// `MPI_Improbe`
pub fn improbe(
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    flag: Ptr<c_int>,
    message: Ptr<MPI_Message>,
    status: Ptr<MPI_Status>,
) -> Outcome {
    let found = matched(Peer::source(comm, source, tag)?, false, message, status)?;
    flag.set(found.into())
}

/// Begins to receive a matched message, whose handle is then null.
fn receive_matched(message: Ptr<MPI_Message>, buffer: Buffer) -> Outcome<Request> {
    let handle = message.get()?;
    if handle == Handle::predefined(MPI_MESSAGE_NO_PROC) {
        message.set(Handle::NULL)?;
        return Ok(Request::new(Owner::None, Work::Done(status::NO_PROC)));
    }
    if buffer.datatype.range(buffer.count).is_none() {
        return Err(Failure::new(MPI_ERR_COUNT, "the buffer reaches farther than 2^63 - 1 bytes"));
    }
    let (found, belonging) = handle.remove()?.into_inner();
    message.set(Handle::NULL)?;
    let into = buffer.start.origin_mut(buffer.count, buffer.datatype);
    let received = found.start_receive(into);
    let received = received.map_err(|error| Failure::from(error).of(belonging.owner()))?;
    Ok(Request::new(belonging, Work::Receive(received)))
}

/// `MPI_Mrecv`
pub fn mrecv<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    message: Ptr<MPI_Message>,
    status: Ptr<MPI_Status>,
) -> Outcome {
    let receive = receive_matched(message, Buffer::new(buf, count, datatype)?)?;
    let mut found = Finished::NOTHING;
    let ended = receive.wait(&mut found);
    status::conclude(status, ended.map(|()| found.status))
}

/// `MPI_Imrecv`
pub fn imrecv<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    message: Ptr<MPI_Message>,
    request: Ptr<MPI_Request>,
) -> Outcome {
    request.set(Handle::new(receive_matched(message, Buffer::new(buf, count, datatype)?)?))
}
