//! Sends (MPI-2.2 §3.2, §3.4, §3.7).

use super::mailbox::{Arrived, Mailbox, MailboxState};
use super::matching::Envelope;
use super::request::{publish_clock, publish_long};
use super::slots::{MessageFailure, MessageSlot, Payload, RequestOutcome, RequestStage};
use super::{Channel, MessageRequest, SendMode, Status};
use crate::call::Call;
use crate::comm::{Comm, CommMembers};
use crate::error::{Error, Result};
use crate::foreign;
use crate::group::Rank;
use crate::mail::{Head, LONGEST, RecordKind, fits_caches, give_back};
use crate::ops::{Origin, Outgoing};
use crate::shm::is_forked;

/// Messages of up to that many bytes are copied to their records, longer ones to blocks or by their
/// receivers.
pub const EAGER: u64 = 8 * 1024;

/// A message that is to be sent.
struct Sending<'a> {
    of: &'a CommMembers,
    /// Whether its call waits for it and for nothing else.
    is_alone: bool,
    /// Whether its receiver is ordered behind this rank.
    orders: bool,
    mode: SendMode,
    /// A rank of the job.
    to: u32,
    envelope: Envelope,
    from: Outgoing,
}

/// A send in `call`, which is recorded: by the fast path if it can, otherwise by the slow one. `is_alone`: whether the call
/// waits for it and for nothing else. `orders`: whether its receiver is ordered behind this rank.
pub(super) fn send(
    of: &CommMembers,
    (call, is_alone, orders): (Call, bool, bool),
    channel: Channel,
    mode: SendMode,
    origin: &Origin<'_>,
    dest: Rank,
    tag: i32,
) -> Result<Sent> {
    if mode != SendMode::Synchronous
        && let Some(bytes) = send_eagerly(of, None, channel, origin, dest, tag)
    {
        let source = Rank(of.rank());
        return Ok(Sent::Now(Status { source, tag, bytes, cancelled: false }));
    }
    send_slowly(of, (call, is_alone, orders), channel, mode, origin, dest, tag)
}

/// The fast path of a send: a short message to another rank whose queue has space, by the thread to which
/// the mailbox is biased. Returns its bytes; `None` if nothing has been done. Records `call` if there is
/// one.
#[inline]
pub(super) fn send_eagerly(
    of: &CommMembers,
    call: Option<Call>,
    channel: Channel,
    origin: &Origin<'_>,
    dest: Rank,
    tag: i32,
) -> Option<u64> {
    let (context, to, mailbox) = (of.context(), of.partner(dest)?, Mailbox::existing()?);
    let from = Outgoing::of(origin)?;
    let bytes = from.bytes();
    if tag < 0 || bytes > EAGER || !is_sound(of) {
        return None;
    }
    let sender = message_context(of, channel);
    let head = Head { kind: RecordKind::Data, tag, context: sender, bytes, token: 0, place: 0 };
    let record = call.map(|call| context.try_operation(call, 0, dest, bytes));
    let fill = |offset| from.pack_into(&context.segment, offset);
    let put = mailbox.try_biased(|state| state.try_put(context, to, &head, bytes, fill));
    if let Some(record) = record {
        if put == Some(true) { record.end() } else { record.begin_again() }
    }
    (put == Some(true)).then_some(bytes)
}

/// The slow path of a send: checks its arguments, and makes it.
#[inline(never)]
fn send_slowly(
    of: &CommMembers,
    (call, is_alone, orders): (Call, bool, bool),
    channel: Channel,
    mode: SendMode,
    origin: &Origin<'_>,
    dest: Rank,
    tag: i32,
) -> Result<Sent> {
    if dest == Rank::NULL {
        return Ok(Sent::Now(Status::NOTHING));
    }
    let to = of.peer(call, dest)?;
    if tag < 0 {
        return Err(Error::Tag { at: of.place(call), tag });
    }
    if let Some(failed) = of.failed_rank(dest.0) {
        return Err(Error::RankFailed { at: of.place(call), failed: Rank(failed), lock_of: None });
    }
    let Some(from) = Outgoing::of(origin) else { return Err(of.too_far(call)) };
    if channel == Channel::Program {
        of.context().passed(call, from.range(), false);
    }
    let context = message_context(of, channel);
    let envelope = Envelope { context, source: of.context().rank, tag };
    let bytes = from.bytes();
    let sending = Sending { of, is_alone, orders, mode, to, envelope, from };
    let sent = sending.start()?;
    let status = Status { source: Rank(of.rank()), tag, bytes, cancelled: false };
    Ok(sent.map_or(Sent::Now(status), Sent::Later))
}

/// The part of the envelope that names the communicator and the channel.
pub(super) fn message_context(of: &CommMembers, channel: Channel) -> [u64; 2] {
    let [place, made] = of.identity();
    [place | channel as u64, made]
}

/// Whether this is a rank of the job, and no other one has failed.
#[inline]
pub(super) fn is_sound(of: &CommMembers) -> bool {
    !is_forked() && !of.has_lost_any()
}

/// The state of a send when its call returns.
pub(super) enum Sent {
    /// It is complete.
    Now(Status),
    /// It is complete when this request is done.
    Later(MessageSlot),
}

impl Sent {
    pub(super) fn request(self, comm: &Comm) -> MessageRequest {
        match self {
            Sent::Now(status) => MessageRequest::complete(status),
            Sent::Later(slot) => MessageRequest::pending(comm, slot),
        }
    }
}

impl Sending<'_> {
    /// Sends; the request, if the send is not complete.
    fn start(self) -> Result<Option<MessageSlot>> {
        let context = self.of.context();
        let mailbox = Mailbox::of(context)?;
        if self.to == context.rank {
            return self.deliver_here(mailbox);
        }
        let bytes = self.from.bytes();
        // The clock of a checked job travels in a record with the bytes.
        let is_eager = bytes <= EAGER || context.checker().is_some() || self.is_record()?;
        let is_synchronous = self.mode == SendMode::Synchronous;
        let may_stage = !is_eager && !is_synchronous && self.prefers_block(mailbox, bytes);
        if may_stage && context.reaches(self.to) && self.shared().is_none() {
            let block = mailbox.lock().pool.lend(context, bytes, self.to)?;
            if let Some(block) = block {
                return self.stage(mailbox, block).map(|()| None);
            }
        }
        let mut state = mailbox.lock();
        if !is_eager && self.mode != SendMode::Buffered {
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
        let put = publish_clock(context, self.orders).and_then(|clock| {
            let token = token.map_or(0, MessageSlot::token);
            let head = self.head(RecordKind::Data, bytes, token, clock);
            state.put(context, self.to, &head, Some(from))
        });
        put.map_err(|error| {
            if let Some(slot) = token {
                state.slots.remove(slot);
            }
            context.refusal(error, self.of.place(Call::Send), bytes)
        })?;
        Ok(token)
    }

    /// Whether a long message goes through a block, if there is one. Otherwise the kernel copies it for its receiver.
    fn prefers_block(&self, mailbox: &Mailbox, bytes: u64) -> bool {
        fits_caches(self.of.context(), bytes, self.is_alone && !mailbox.has_requests())
            || self.mode == SendMode::Buffered
            || self.from.plain().is_none()
            || mailbox.lock().is_denied
    }

    /// Whether another MPI moves the message as a record: it needs no block.
    fn is_record(&self) -> Result<bool> {
        if self.of.context().reaches(self.to) || self.from.bytes() > LONGEST {
            return Ok(false);
        }
        let crowded = foreign::is_crowded();
        crowded.map(|crowded| !crowded).map_err(|refusal| refusal.at(self.of.place(Call::Send)))
    }

    fn head(&self, kind: RecordKind, bytes: u64, token: u64, place: u64) -> Head {
        let Envelope { context, tag, .. } = self.envelope;
        Head { kind, tag, context, bytes, token, place }
    }

    /// The offset of the message, if it lies in the segment.
    fn shared(&self) -> Option<u64> {
        let (context, at) = (self.of.context(), self.from.plain()?);
        let is_shared = context.reaches(self.to);
        is_shared.then(|| context.segment.offset_of(at, self.from.bytes())).flatten()
    }

    /// Sends a long message through a block that has been lent to its receiver. Other threads can send
    /// and receive while this one copies it.
    fn stage(&self, mailbox: &Mailbox, block: u64) -> Result<()> {
        let (context, bytes) = (self.of.context(), self.from.bytes());
        self.from.pack_into(&context.segment, block)?;
        let head = self.head(RecordKind::Staged, bytes, 0, block);
        let mut state = mailbox.lock();
        let put = state.put(context, self.to, &head, None);
        if put.is_ok() {
            publish_long(context, self.to);
        }
        drop(state);
        put.or_else(|error| {
            give_back(&context.segment, block)?;
            Err(context.refusal(error, self.of.place(Call::Send), bytes))
        })
    }

    /// Sends the receiver the address of a long message.
    fn offer(self, state: &mut MailboxState) -> Result<MessageSlot> {
        let (context, of) = (self.of.context(), self.of);
        let bytes = self.from.bytes();
        let (kind, place, payload) = match (self.shared(), self.from.plain()) {
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
        state.put(context, to, &head, None).map_err(|error| {
            state.slots.remove(slot);
            context.refusal(error, of.place(Call::Send), bytes)
        })?;
        publish_long(context, to);
        Ok(slot)
    }

    /// A message to this rank itself.
    fn deliver_here(self, mailbox: &Mailbox) -> Result<Option<MessageSlot>> {
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
            let message = Arrived::own(self.from.packed(), slot.map_or(0, MessageSlot::token));
            state.unexpected.put(envelope, message);
            drop(state);
            // Another thread may wait for it in a probe.
            mailbox.own.ring();
            return Ok(slot);
        };
        let mut failure = None;
        if let Some(RequestStage::Posted { into, .. }) = state.slots.stage(receive) {
            if bytes <= into.bytes() {
                into.copy_from(&self.from);
            } else {
                failure = Some(MessageFailure::Truncated(into.bytes()));
            }
        }
        state
            .finish(receive, RequestOutcome { envelope, is_send: false, bytes, failure, clock: 0 });
        drop(state);
        // Another thread may wait for it.
        mailbox.own.ring();
        Ok(None)
    }
}
