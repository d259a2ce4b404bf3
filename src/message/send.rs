//! Sends (MPI-2.2 §3.2, §3.4, §3.7).

use super::mailbox::{Arrived, Mailbox, MailboxState};
use super::matching::Envelope;
use super::outgoing::{Head, RecordKind};
use super::slots::{MessageTrouble, Payload, RequestOutcome, RequestStage, Slot};
use super::{Channel, MessageRequest, SendMode, Status};
use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::ops::{Origin, Outgoing};
use crate::shm::is_forked;

/// Messages of up to so many bytes are copied into their records. Longer ones are copied once
/// instead of twice, for a system call and an answer (docs/performance.md).
pub(super) const EAGER: u64 = 8 * 1024;

/// A message that is to be sent.
struct Sending<'a> {
    comm: &'a Comm,
    mode: SendMode,
    /// A rank of the job.
    to: u32,
    envelope: Envelope,
    from: Outgoing,
}

impl Comm {
    /// `MPI_Isend`, `MPI_Issend`, `MPI_Irsend` and `MPI_Ibsend` (MPI-2.2 §3.7.2): sends the elements
    /// of `origin` to rank `dest`. What was promised to [`Origin::new`] has to hold until the request
    /// is complete.
    ///
    /// Local; does not block, except while another rank allocates.
    ///
    /// # Errors
    /// [`Error::Peer`]; [`Error::Tag`]; [`Error::Reach`] for elements farther apart than 2⁶³ - 1
    /// bytes; [`Error::NoMemory`]; [`Error::RankFailed`] if `dest` has failed.
    pub fn start_send(
        &self,
        channel: Channel,
        mode: SendMode,
        origin: Origin<'_>,
        dest: Rank,
        tag: i32,
    ) -> Result<MessageRequest> {
        self.within(Call::Send, || {
            Ok(self.send_by(Call::Send, channel, mode, &origin, dest, tag)?.request(self))
        })
    }

    /// `MPI_Send` of a short message, if nothing stands in the way: whether it is sent. If not, nothing
    /// has been done, and [`Comm::start_send`] sends it, or says what is wrong.
    ///
    /// Local; never blocks.
    #[inline]
    pub fn try_send(&self, channel: Channel, origin: Origin<'_>, dest: Rank, tag: i32) -> bool {
        self.send_eagerly(Some(Call::Send), channel, &origin, dest, tag).is_some()
    }

    /// A send in the call `call`, which is recorded: by the usual path, or else by the one that knows all
    /// cases.
    pub(super) fn send_by(
        &self,
        call: Call,
        channel: Channel,
        mode: SendMode,
        origin: &Origin<'_>,
        dest: Rank,
        tag: i32,
    ) -> Result<Sent> {
        if mode != SendMode::Synchronous
            && let Some(bytes) = self.send_eagerly(None, channel, origin, dest, tag)
        {
            let source = self.rank();
            return Ok(Sent::Now(Status { source, tag, bytes, cancelled: false }));
        }
        self.send_slowly(call, channel, mode, origin, dest, tag)
    }

    /// The usual path of a send: a short message to another rank, whose queue has room, by the thread that
    /// the tables prefer, where nothing is wrong. Its bytes; `None` if nothing has been done. Records
    /// `call`, unless that is done.
    #[inline]
    fn send_eagerly(
        &self,
        call: Option<Call>,
        channel: Channel,
        origin: &Origin<'_>,
        dest: Rank,
        tag: i32,
    ) -> Option<u64> {
        let (context, to, mailbox) = (self.context(), self.partner(dest)?, Mailbox::existing()?);
        let from = Outgoing::of(origin)?;
        let bytes = from.bytes();
        if tag < 0 || bytes > EAGER || !self.is_sound() {
            return None;
        }
        let of = self.message_context(channel);
        let head = Head { kind: RecordKind::Data, tag, context: of, bytes, token: 0, place: 0 };
        let record = call.map(|call| context.enter(call, 0));
        let fill = |offset| from.pack_into(&context.segment, offset);
        let put = mailbox.try_biased(|state| state.try_put(context, to, &head, bytes, fill));
        if let Some(record) = record {
            record.end();
        }
        (put == Some(true)).then_some(bytes)
    }

    /// Any other send: checks its arguments, and makes it.
    #[inline(never)]
    fn send_slowly(
        &self,
        call: Call,
        channel: Channel,
        mode: SendMode,
        origin: &Origin<'_>,
        dest: Rank,
        tag: i32,
    ) -> Result<Sent> {
        if dest == Rank::NULL {
            return Ok(Sent::Now(Status::NOTHING));
        }
        let to = self.peer(call, dest)?;
        if tag < 0 {
            return Err(Error::Tag { at: self.place(call), tag });
        }
        if let Some(failed) = self.failed_rank(dest.0) {
            return Err(Error::RankFailed { at: self.place(call), failed, lock_of: None });
        }
        let Some(from) = Outgoing::of(origin) else { return Err(self.too_far(call)) };
        let context = self.message_context(channel);
        let envelope = Envelope { context, source: self.context().rank, tag };
        let bytes = from.bytes();
        let sending = Sending { comm: self, mode, to, envelope, from };
        let sent = sending.start()?;
        let status = Status { source: self.rank(), tag, bytes, cancelled: false };
        Ok(sent.map_or(Sent::Now(status), Sent::Later))
    }

    /// What messages of that channel are told from all others by.
    pub(super) fn message_context(&self, channel: Channel) -> [u64; 2] {
        let [place, made] = self.identity();
        [place | channel as u64, made]
    }

    /// The rank of the job that a rank of this communicator is.
    pub(super) fn peer(&self, call: Call, peer: Rank) -> Result<u32> {
        let found = self.world_rank(peer.0);
        found.ok_or_else(|| self.no_peer(call, peer))
    }

    /// The rank of the job that a rank of the communicator is, if it is another one than this.
    #[inline]
    pub(super) fn partner(&self, rank: Rank) -> Option<u32> {
        self.world_rank(rank.0).filter(|partner| *partner != self.context().rank)
    }

    /// Whether nothing is wrong with the communicator.
    #[inline]
    pub(super) fn is_sound(&self) -> bool {
        !is_forked() && !self.is_freed() && !self.has_lost_any()
    }

    #[cold]
    fn no_peer(&self, call: Call, peer: Rank) -> Error {
        Error::Peer { at: self.place(call), peer: peer.0, ranks: self.size() }
    }

    #[cold]
    pub(crate) fn too_far(&self, call: Call) -> Error {
        Error::Reach { at: self.place(call), buffer: "the buffer".into() }
    }
}

/// How far a send has come when its call returns.
pub(super) enum Sent {
    /// It is complete.
    Now(Status),
    /// It is complete when this request is done.
    Later(Slot),
}

impl Sent {
    pub(super) fn request(self, comm: &Comm) -> MessageRequest {
        match self {
            Sent::Now(status) => MessageRequest::complete(comm, status),
            Sent::Later(slot) => MessageRequest::pending(comm, slot),
        }
    }
}

impl Sending<'_> {
    /// Sends; the request, if the send is not complete.
    fn start(self) -> Result<Option<Slot>> {
        let context = self.comm.context();
        let mailbox = Mailbox::of(context)?;
        if self.to == context.rank {
            return self.deliver_here(mailbox);
        }
        let bytes = self.from.bytes();
        let mut state = mailbox.lock();
        if bytes > EAGER && self.mode != SendMode::Buffered {
            return self.offer(&mut state).map(Some);
        }
        let token = match self.mode {
            SendMode::Synchronous => {
                let (to, envelope) = (self.to, self.envelope);
                Some(state.slots.add(RequestStage::Offered { to, envelope, payload: None, bytes }))
            }
            _ => None,
        };
        let Self { from, .. } = &self;
        let head = self.head(RecordKind::Data, bytes, token.map_or(0, Slot::token), 0);
        let put = state
            .put(context, self.to, &head, bytes, |offset| from.pack_into(&context.segment, offset));
        put.map_err(|error| {
            token.map(|slot| state.slots.remove(slot));
            context.refusal(error, self.comm.place(Call::Send), bytes)
        })?;
        Ok(token)
    }

    fn head(&self, kind: RecordKind, bytes: u64, token: u64, place: u64) -> Head {
        let Envelope { context, tag, .. } = self.envelope;
        Head { kind, tag, context, bytes, token, place }
    }

    /// Tells the receiver where a long message is.
    fn offer(self, state: &mut MailboxState) -> Result<Slot> {
        let (context, comm) = (self.comm.context(), self.comm);
        let bytes = self.from.bytes();
        let shared = self.from.plain().and_then(|at| context.segment.offset_of(at, bytes));
        let (kind, place, payload) = match (shared, self.from.plain()) {
            (Some(offset), _) => (RecordKind::Shared, offset, None),
            (None, Some(at)) => (RecordKind::Private, at as u64, None),
            (None, None) => {
                let packed = self.from.packed();
                (RecordKind::Private, packed.as_ptr() as u64, Some(Payload::Packed(packed)))
            }
        };
        let slot = state.slots.add(RequestStage::Pulling);
        let head = self.head(kind, bytes, slot.token(), place);
        let (to, envelope) = (self.to, self.envelope);
        let payload = Some(payload.unwrap_or(Payload::Copied(self.from)));
        state.slots.replace(slot, RequestStage::Offered { to, envelope, payload, bytes });
        state.put(context, to, &head, 0, |_| Ok(())).map_err(|error| {
            state.slots.remove(slot);
            context.refusal(error, comm.place(Call::Send), bytes)
        })?;
        Ok(slot)
    }

    /// A message to this rank, which no other sees.
    fn deliver_here(self, mailbox: &Mailbox) -> Result<Option<Slot>> {
        let (envelope, bytes) = (self.envelope, self.from.bytes());
        let mut state = mailbox.lock();
        let Some(receive) = state.posted.take(&envelope) else {
            let slot = (self.mode == SendMode::Synchronous).then(|| {
                state.slots.add(RequestStage::Offered {
                    to: self.to,
                    envelope,
                    payload: None,
                    bytes,
                })
            });
            let message = Arrived::own(self.from.packed(), slot.map_or(0, Slot::token));
            state.unexpected.put(envelope, message);
            drop(state);
            // Another thread may wait for it in a probe.
            mailbox.own.ring();
            return Ok(slot);
        };
        let mut trouble = None;
        if let Some(RequestStage::Posted { into, .. }) = state.slots.stage(receive) {
            if bytes <= into.bytes() {
                into.copy_from(&self.from);
            } else {
                trouble = Some(MessageTrouble::Truncated(into.bytes()));
            }
        }
        state.finish(receive, RequestOutcome { envelope, bytes, trouble });
        drop(state);
        // Another thread may wait for it.
        mailbox.own.ring();
        Ok(None)
    }
}

impl Comm {
    /// Handles what has arrived for this rank (MPI-2.2 §3.5, progress). Local; does not block, except
    /// while another rank allocates.
    pub fn progress(&self) {
        if is_forked() {
            return;
        }
        let context = self.context();
        // What is wrong is told to whoever waits for it.
        let _ = Mailbox::of(context).and_then(|mailbox| mailbox.look(context, |_| false));
    }
}
