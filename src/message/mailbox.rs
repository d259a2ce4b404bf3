//! The messages of this process, and what it does with each that it finds.
//!
//! Any thread of the rank reads the queues of the segment, one at a time, and handles a whole record
//! before the next one. A thread whose own request is complete leaves the rest in the queues. That rest
//! has not arrived yet, for every observer, and costs no copy.

use super::driven::AllDriven;
use super::incoming::{MessageSource, TakenMessage};
use super::left::{not_completed, not_received};
use super::matching::{Envelope, Posted, Unexpected};
use super::request::{found_long, publish_clock};
use super::slots::{MessageFailure, MessageSlot, RequestOutcome, RequestStage, Slots};
use crate::context::{Context, Left, ProgressEngine};
use crate::error::{Error, Place, Result};
use crate::foreign::ForeignError;
use crate::group::Rank;
use crate::mail::foreign::ForeignRecord;
use crate::mail::{self, BlockPool, Head, OutgoingQueue, RecordKind, Sources, give_back, mail_of};
use crate::ops::{Incoming, Outgoing};
use crate::prim::{ParkWord, Word32};
use crate::shm::{AllocError, BiasedGuard, BiasedMutex, Placed, Segment};
use crate::sync::channel::MailWords;
use std::sync::{Arc, OnceLock};

/// Bytes of an unexpected message that are stored without an allocation.
const SHORT: usize = 64;

/// A message that has arrived before its receive was posted (unexpected).
pub(super) struct Arrived {
    pub(super) bytes: u64,
    /// As in [`RequestOutcome`].
    pub(super) clock: u64,
    /// The request of the sender that waits for the receive, or zero.
    token: u64,
    body: Body,
}

/// Where the data of a record are.
enum RecordData {
    /// At that offset of the segment.
    At(u64),
    /// Another MPI has moved them.
    Received(Box<[u8]>),
}

/// Where its bytes are.
enum Body {
    Short([u8; SHORT]),
    Long(Box<[u8]>),
    /// At that address of the sender's process.
    Private(u64),
    /// At that offset of the segment.
    Shared(u64),
    /// In that block of the segment, which is returned to the sender.
    Staged(u64),
}

/// Bytes for the next thread with the lock to copy out of another process.
pub(super) struct Pull {
    pub(super) slot: MessageSlot,
    pub(super) into: Incoming,
    pub(super) envelope: Envelope,
    pub(super) bytes: u64,
    pub(super) clock: u64,
    pub(super) token: u64,
    pub(super) address: u64,
}

/// What the threads of this process share, under a lock.
pub(super) struct MailboxState {
    pub(super) sources: Sources,
    /// The bell when all queues were last found empty.
    emptied: Option<u32>,
    /// A queue to each rank of the job that this rank has sent to.
    pub(super) queues: Vec<Option<OutgoingQueue>>,
    pub(super) pool: BlockPool,
    pub(super) posted: Posted<MessageSlot>,
    pub(super) unexpected: Unexpected<Arrived>,
    pub(super) slots: Slots,
    pub(super) pulls: Vec<Pull>,
    /// Acknowledgements that there was no memory for: rank and token.
    pub(super) unsent_acks: Vec<(u32, u64)>,
    /// The kernel does not let this process read the memory of others.
    pub(super) is_denied: bool,
}

/// The mailbox of this process, which is a rank of one job, once.
static MAILBOX: OnceLock<Mailbox> = OnceLock::new();

/// The mailbox of a process.
pub(super) struct Mailbox {
    pub(super) own: Placed<MailWords>,
    /// The number of requests that are not done.
    open: Arc<Word32>,
    state: BiasedMutex<MailboxState>,
    /// Operations made of messages.
    pub(super) driven: AllDriven,
}

impl Mailbox {
    /// The mailbox of the process, created the first time.
    #[inline]
    pub(super) fn of(context: &Context) -> Result<&'static Mailbox> {
        match MAILBOX.get() {
            Some(mailbox) => Ok(mailbox),
            None => Mailbox::first(context),
        }
    }

    #[cold]
    fn first(context: &Context) -> Result<&'static Mailbox> {
        let open = Arc::new(Word32::default());
        let state = MailboxState {
            sources: Sources::default(),
            emptied: None,
            queues: (0..context.ranks).map(|_| None).collect(),
            pool: BlockPool::default(),
            posted: Posted::new(),
            unexpected: Unexpected::new(),
            slots: Slots::new(open.clone()),
            pulls: Vec::new(),
            unsent_acks: Vec::new(),
            is_denied: false,
        };
        let made = Mailbox {
            own: mail_of(&context.segment, context.here)?,
            open,
            state: BiasedMutex::new(state, context.may_prefer()),
            driven: AllDriven::default(),
        };
        let mailbox = MAILBOX.get_or_init(|| made);
        context.make_progress(mailbox);
        Ok(mailbox)
    }

    /// The mailbox of the process, if it has sent or received before.
    #[inline]
    pub(super) fn existing() -> Option<&'static Mailbox> {
        MAILBOX.get()
    }

    /// Whether requests are under way.
    #[inline]
    pub(super) fn has_requests(&self) -> bool {
        self.open.load() != 0
    }

    /// Whether exactly one request is under way.
    #[inline]
    pub(super) fn has_one_request(&self) -> bool {
        self.open.load() == 1
    }

    /// [`Mailbox::lock`] if it is biased to this thread.
    #[inline(always)]
    pub(super) fn try_biased<R>(&self, f: impl FnOnce(&mut MailboxState) -> R) -> Option<R> {
        self.state.try_biased(f)
    }

    /// The state, for a moment.
    pub(super) fn lock(&self) -> BiasedGuard<'_, MailboxState> {
        self.state.lock()
    }
}

/// The messages of this process that wait, for tools.
///
/// ```
/// use onesided::engine::WaitingMessages;
///
/// // A process that is no rank yet.
/// assert_eq!(WaitingMessages::now().receives, 0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitingMessages {
    /// Messages that this rank has found, and no receive has asked for.
    pub unexpected: usize,
    /// Receives without a message.
    pub receives: usize,
    /// Requests that are not done.
    pub requests: u32,
}

impl WaitingMessages {
    /// Those of now; none before the first message, or once the rank has left the job.
    pub fn now() -> WaitingMessages {
        let Some(mailbox) = Mailbox::existing() else { return WaitingMessages::default() };
        let state = mailbox.lock();
        WaitingMessages {
            unexpected: state.unexpected.number(),
            receives: state.posted.number(),
            requests: mailbox.open.load(),
        }
    }
}

impl ProgressEngine for Mailbox {
    fn bell(&self) -> Option<&ParkWord> {
        (self.has_requests() || self.driven.number() != 0).then(|| self.own.bell())
    }

    fn work(&self, context: &Context) -> bool {
        let under_way = || (self.open.load(), self.driven.number());
        let before = under_way();
        // The thread that waits for messages gets an error.
        let looked = self.look(context, |_| false);
        looked.is_err() || under_way() != before
    }

    fn left(&self, context: &Context) -> Left {
        Left { not_completed: not_completed(context), not_received: not_received(context) }
    }

    fn abandon(&self) {
        self.driven.abandon();
    }
}

impl MailboxState {
    /// Handles the messages that the bell was rung for, until `enough`. Does nothing if the queues were
    /// already found empty at this ring.
    pub(super) fn drain(
        &mut self,
        context: &Context,
        mailbox: &Mailbox,
        seen: u32,
        enough: impl Fn(&MailboxState) -> bool,
    ) -> Result<()> {
        if !self.unsent_acks.is_empty() {
            self.settle(context)?;
        }
        if self.emptied == Some(seen) || enough(self) {
            return Ok(());
        }
        self.sources.find(&context.segment, &mailbox.own, &context.sharers)?;
        // Another MPI rings no bell.
        if self.drain_known(context, &enough)? && context.foreign.is_none() {
            self.emptied = Some(seen);
        }
        Ok(())
    }

    /// [`MailboxState::drain`] of the known queues, whether the bell has been rung or not. Returns
    /// whether all have been found empty.
    pub(super) fn drain_known(
        &mut self,
        context: &Context,
        enough: impl Fn(&MailboxState) -> bool,
    ) -> Result<bool> {
        for k in 0..self.sources.all.len() {
            while let Some(record) = self.sources.all[k].next(&context.segment)? {
                let sender = self.sources.all[k].sender;
                self.handle(context, sender, record.head, RecordData::At(record.inside))?;
                self.sources.all[k].pass(&record);
                if enough(self) {
                    return Ok(false);
                }
            }
        }
        match &context.foreign {
            None => Ok(true),
            Some(_) => self.drain_foreign(context, enough),
        }
    }

    /// [`MailboxState::drain_known`] by another MPI.
    #[cold]
    fn drain_foreign(
        &mut self,
        context: &Context,
        enough: impl Fn(&MailboxState) -> bool,
    ) -> Result<bool> {
        let refused = |refusal| refused(context, refusal);
        while let Some(record) = mail::foreign::next(refused)? {
            let ForeignRecord { sender, head, data } = record;
            self.handle(context, sender, head, RecordData::Received(data))?;
            if enough(self) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes the next message of the known queues, if it is the wanted one and no table has an earlier
    /// match.
    #[inline]
    pub(super) fn take(
        &mut self,
        context: &Context,
        wanted: &Envelope,
        into: &mut Incoming,
        from: &mut MessageSource,
    ) -> TakenMessage {
        let is_first =
            self.posted.is_empty() && self.unexpected.is_empty() && self.unsent_acks.is_empty();
        if !is_first {
            return TakenMessage::Otherwise;
        }
        self.sources.take(&context.segment, wanted, into, from)
    }

    /// The same for the receive of a request, if no other is posted. The request no longer exists after a message.
    #[inline]
    pub(super) fn take_posted(
        &mut self,
        context: &Context,
        slot: MessageSlot,
        from: &mut MessageSource,
    ) -> TakenMessage {
        let is_first =
            self.posted.is_only(&slot) && self.unexpected.is_empty() && self.unsent_acks.is_empty();
        let (true, Some(RequestStage::Posted { wanted, into })) =
            (is_first, self.slots.stage(slot))
        else {
            return TakenMessage::Otherwise;
        };
        let taken = self.sources.take(&context.segment, wanted, into, from);
        if taken == TakenMessage::Message {
            self.posted.withdraw(wanted, &slot);
            self.slots.remove(slot);
        }
        taken
    }

    /// Posts a receive.
    #[inline(always)]
    pub(super) fn post(&mut self, wanted: Envelope, into: Incoming) -> MessageSlot {
        let slot = self.slots.add_made(|| RequestStage::Posted { wanted, into });
        self.posted.post(wanted, slot);
        slot
    }

    /// Whether the known queues have anything to drain, or may have.
    #[inline]
    pub(super) fn has_news(&self, context: &Context) -> bool {
        self.sources.have_next(&context.segment) || context.foreign.is_some()
    }

    /// Lets the next [`MailboxState::drain`] look without a ring of the bell: a failed rank may not have
    /// rung yet.
    pub(super) fn look_again(&mut self) {
        self.emptied = None;
    }

    fn handle(
        &mut self,
        context: &Context,
        sender: u32,
        head: Head,
        data: RecordData,
    ) -> Result<()> {
        let Head { kind, tag, context: of, bytes, token, place } = head;
        match kind {
            RecordKind::Link => Ok(()),
            RecordKind::TakenMessage => {
                self.received(MessageSlot::of(token), place);
                Ok(())
            }
            RecordKind::Wanted => self.hand_over(context, sender, MessageSlot::of(token), place),
            RecordKind::Block => match data {
                RecordData::At(_) => {
                    self.handed_over(context, MessageSlot::of(token), place, bytes)
                }
                RecordData::Received(data) => {
                    self.received_late(MessageSlot::of(token), &data);
                    Ok(())
                }
            },
            RecordKind::Data | RecordKind::Private | RecordKind::Shared | RecordKind::Staged => {
                let envelope = Envelope { context: of, source: sender, tag };
                let found = self.posted.take(&envelope);
                if let (Some(slot), RecordKind::Data, RecordData::At(inside)) = (found, kind, &data)
                {
                    return self.land(context, slot, &envelope, (head, *inside));
                }
                let body = match (kind, data) {
                    (RecordKind::Private, _) => Body::Private(place),
                    (RecordKind::Shared, _) => Body::Shared(place),
                    (RecordKind::Staged, _) => Body::Staged(place),
                    (_, RecordData::At(inside)) => Body::read(&context.segment, inside, bytes)?,
                    (_, RecordData::Received(data)) => Body::Long(data),
                };
                let clock = match kind {
                    RecordKind::Data => place,
                    _ => found_long(context, sender),
                };
                let message = Arrived { bytes, clock, token, body };
                match found {
                    None => self.unexpected.put(envelope, message),
                    Some(slot) => self.deliver(context, slot, envelope, message)?,
                }
                Ok(())
            }
        }
    }

    /// Copies a message from its record straight to the buffer of its receive.
    fn land(
        &mut self,
        context: &Context,
        slot: MessageSlot,
        envelope: &Envelope,
        (head, inside): (Head, u64),
    ) -> Result<()> {
        let Head { bytes, token, place: clock, .. } = head;
        let mut failure = None;
        if let Some(RequestStage::Posted { into, .. }) = self.slots.stage(slot) {
            if bytes <= into.bytes() {
                into.unpack_from(&context.segment, inside, bytes)?;
            } else {
                failure = Some(MessageFailure::Truncated(into.bytes()));
            }
        }
        self.finish(
            slot,
            RequestOutcome { envelope: *envelope, is_send: false, bytes, failure, clock },
        );
        self.acknowledge(context, envelope.source, token)
    }

    /// Delivers a message to a receive that is not posted any more.
    pub(super) fn deliver(
        &mut self,
        context: &Context,
        slot: MessageSlot,
        envelope: Envelope,
        message: Arrived,
    ) -> Result<()> {
        let Arrived { bytes, clock, token, body } = message;
        let Some(RequestStage::Posted { mut into, .. }) =
            self.slots.replace(slot, RequestStage::Pulling)
        else {
            return Ok(());
        };
        let (mut failure, block) = (None, body.block());
        if bytes > into.bytes() {
            failure = Some(MessageFailure::Truncated(into.bytes()));
        } else {
            match body {
                Body::Short(all) => into.unpack(&all[..bytes as usize]),
                Body::Long(all) => into.unpack(&all),
                Body::Shared(offset) | Body::Staged(offset) => {
                    let unpacked = into.unpack_from(&context.segment, offset, bytes);
                    failure = unpacked.is_err().then_some(MessageFailure::Damaged);
                }
                Body::Private(address) => {
                    self.pulls.push(Pull { slot, into, envelope, bytes, clock, token, address });
                    return Ok(());
                }
            }
        }
        self.finish(slot, RequestOutcome { envelope, is_send: false, bytes, failure, clock });
        if let Some(block) = block {
            give_back(&context.segment, block)?;
        }
        self.acknowledge(context, envelope.source, token)
    }

    /// Completes a request.
    pub(super) fn finish(&mut self, slot: MessageSlot, outcome: RequestOutcome) {
        self.slots.replace(slot, RequestStage::Done(outcome));
    }

    /// Notifies the sender of a message that it has been received, if it waits for that.
    pub(super) fn acknowledge(&mut self, context: &Context, to: u32, token: u64) -> Result<()> {
        if token == 0 {
            return Ok(());
        }
        if to == context.rank {
            self.received(MessageSlot::of(token), 0);
            // Another thread may wait for it, and no other rank rings.
            mail_of(&context.segment, context.here)?.ring();
            return Ok(());
        }
        // Without memory the sender is not ordered behind this rank, and the message has arrived all the same.
        // In a traced job no arrow leads back.
        let is_checked = context.checker().is_some();
        let clock = if is_checked { publish_clock(context, true).unwrap_or_default() } else { 0 };
        let taken = Head::control(RecordKind::TakenMessage, token, clock, 0);
        match self.put(context, to, &taken, None) {
            Err(AllocError::Other(error)) => Err(error),
            Err(_) => {
                self.unsent_acks.push((to, token));
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Tries again to send acknowledgements that there was no memory for.
    #[cold]
    fn settle(&mut self, context: &Context) -> Result<()> {
        let unsent_acks = std::mem::take(&mut self.unsent_acks);
        unsent_acks.into_iter().try_for_each(|(to, token)| self.acknowledge(context, to, token))
    }

    /// Completes a send whose message has been received by a rank with that clock.
    pub(super) fn received(&mut self, slot: MessageSlot, clock: u64) {
        if let Some(RequestStage::Offered { envelope, bytes, .. }) = self.slots.stage(slot) {
            let outcome = RequestOutcome {
                envelope: *envelope,
                is_send: true,
                bytes: *bytes,
                failure: None,
                clock,
            };
            self.finish(slot, outcome);
        }
    }

    /// [`MailboxState::put`] if the queue exists and has space; whether it is done.
    #[inline]
    pub(super) fn try_put(
        &mut self,
        context: &Context,
        to: u32,
        head: &Head,
        inside: u64,
        fill: impl FnOnce(u64) -> Result<()>,
    ) -> bool {
        match self.queues.get_mut(to as usize) {
            Some(Some(queue)) => queue.try_put(&context.segment, head, inside, fill),
            _ => false,
        }
    }

    /// Appends a record with the data of `from`, or without any, to the queue to another rank of the job, and
    /// rings; or sends it by another MPI, if that rank is on another node.
    pub(super) fn put(
        &mut self,
        context: &Context,
        to: u32,
        head: &Head,
        from: Option<&Outgoing>,
    ) -> std::result::Result<(), AllocError> {
        if !context.reaches(to) {
            let data = from.map(Outgoing::packed).unwrap_or_default();
            return Ok(send_foreign(context, to, head, data)?);
        }
        let (segment, waiter) = (&context.segment, context.excluded());
        let queue = &mut self.queues[to as usize];
        let queue = match queue {
            Some(queue) => queue,
            None => {
                let mail = mail_of(segment, context.number_of(to)?)?;
                queue.insert(OutgoingQueue::create(segment, context.here, mail, &waiter)?)
            }
        };
        let inside = from.map_or(0, Outgoing::bytes);
        let fill = |offset| from.map_or(Ok(()), |from: &Outgoing| from.pack_into(segment, offset));
        queue.put(segment, head, inside, fill, &waiter)
    }
}

/// Sends a record by another MPI.
pub(super) fn send_foreign(context: &Context, to: u32, head: &Head, data: Box<[u8]>) -> Result<()> {
    let sent = mail::foreign::send(to, head, data);
    sent.map_err(|refusal| refused(context, refusal))
}

/// An error of another MPI in the present call.
#[cold]
fn refused(context: &Context, refusal: ForeignError) -> Error {
    refusal.at(Place { call: context.call(), window: None, rank: Some(Rank(context.rank)) })
}

impl Arrived {
    /// Discards it, and notifies its sender if that waits for the receive.
    pub(super) fn discard(
        &self,
        context: &Context,
        state: &mut MailboxState,
        from: u32,
    ) -> Result<()> {
        if let Some(block) = self.body.block() {
            give_back(&context.segment, block)?;
        }
        state.acknowledge(context, from, self.token)
    }

    /// A message of this rank to itself.
    pub(super) fn own(packed: Box<[u8]>, token: u64) -> Arrived {
        Arrived { bytes: packed.len() as u64, clock: 0, token, body: Body::Long(packed) }
    }
}

impl Body {
    /// The block to return after the message has been received.
    fn block(&self) -> Option<u64> {
        match self {
            Body::Staged(block) => Some(*block),
            _ => None,
        }
    }

    fn read(segment: &Segment, offset: u64, bytes: u64) -> Result<Body> {
        if bytes <= SHORT as u64 {
            let mut short = [0; SHORT];
            segment.mapping().read(offset, &mut short[..bytes as usize])?;
            return Ok(Body::Short(short));
        }
        // The record was checked: it has as many bytes, inside the segment.
        let mut long = vec![0; bytes as usize];
        segment.mapping().read(offset, &mut long)?;
        Ok(Body::Long(long.into()))
    }
}
