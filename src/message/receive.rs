//! Receives (MPI-2.2 §3.2.4, §3.7.2).

use super::incoming::{MessageSource, TakenMessage};
use super::mailbox::{Arrived, Mailbox, MailboxState};
use super::matching::Envelope;
use super::send::{is_sound, message_context};
use super::slots::{MessageSlot, RequestStage};
use super::{Channel, Status};
use crate::call::Call;
use crate::comm::CommMembers;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::ops::{Incoming, OriginMut};

/// Checks the arguments of a receive, and posts it; `None` if it receives nothing.
pub(super) fn receive(
    of: &CommMembers,
    call: Call,
    channel: Channel,
    into: &OriginMut<'_>,
    source: Option<Rank>,
    tag: Option<i32>,
) -> Result<Option<MessageSlot>> {
    let Some(wanted) = self::wanted(of, call, channel, source, tag)? else { return Ok(None) };
    post_for(of, call, into, wanted, |state| state.unexpected.take(&wanted)).map(Some)
}

/// Posts a receive, unless `find` has its message in the tables: then the message goes to its buffer.
pub(super) fn post_for(
    of: &CommMembers,
    call: Call,
    into: &OriginMut<'_>,
    wanted: Envelope,
    find: impl FnOnce(&mut MailboxState) -> Option<(Envelope, Arrived)>,
) -> Result<MessageSlot> {
    let Some(into) = Incoming::of(into) else { return Err(of.too_far(call)) };
    let (context, mailbox) = (of.context(), Mailbox::of(of.context())?);
    if Channel::Program.is_of(wanted.context) {
        context.passed(call, into.range(), true);
    }
    let mut state = mailbox.lock();
    let Some((envelope, message)) = find(&mut state) else { return Ok(state.post(wanted, into)) };
    let slot = state.slots.add(RequestStage::Posted { wanted, into });
    if let Err(error) = state.deliver(context, slot, envelope, message) {
        state.slots.remove(slot);
        return Err(error);
    }
    let pulls = !state.pulls.is_empty();
    drop(state);
    if pulls {
        mailbox.pull_all(context);
    }
    Ok(slot)
}

/// The envelope that a receive or a probe asks for; `None` for [`Rank::NULL`].
pub(super) fn wanted(
    of: &CommMembers,
    call: Call,
    channel: Channel,
    source: Option<Rank>,
    tag: Option<i32>,
) -> Result<Option<Envelope>> {
    if source == Some(Rank::NULL) {
        return Ok(None);
    }
    if let Some(tag) = tag.filter(|tag| *tag < 0) {
        return Err(Error::Tag { at: of.place(call), tag });
    }
    let source = match source {
        Some(source) => of.peer(call, source)?,
        None => Envelope::ANY_SOURCE,
    };
    let (context, tag) = (message_context(of, channel), tag.unwrap_or(Envelope::ANY_TAG));
    Ok(Some(Envelope { context, source, tag }))
}

/// What the fast paths need of a receive, if nothing is wrong.
#[inline(always)]
fn usual(
    of: &CommMembers,
    channel: Channel,
    source: Option<Rank>,
    tag: Option<i32>,
) -> Option<(&'static Mailbox, Envelope)> {
    let mailbox = Mailbox::existing()?;
    let from = match source {
        Some(source) => of.partner(source)?,
        // Its sender may be on another node.
        None if of.context().foreign.is_some() => return None,
        None => Envelope::ANY_SOURCE,
    };
    if tag.is_some_and(|tag| tag < 0) || !is_sound(of) {
        return None;
    }
    let tag = tag.unwrap_or(Envelope::ANY_TAG);
    Some((mailbox, Envelope { context: message_context(of, channel), source: from, tag }))
}

/// The fast path of [`receive`]: posts a receive if no message waits for one. `None`: nothing has changed.
#[inline(always)]
pub(super) fn try_post(
    of: &CommMembers,
    channel: Channel,
    into: &OriginMut<'_>,
    source: Option<Rank>,
    tag: Option<i32>,
) -> Option<MessageSlot> {
    let (mailbox, wanted) = usual(of, channel, source, tag)?;
    let record = of.context().try_operation(Call::Receive, 0, source.unwrap_or(Rank::NULL), 0);
    // The buffer is described last: a copy of its words would wait for the stores of these.
    let post = |state: &mut MailboxState| match state.unexpected.is_empty() {
        true => Some(state.post(wanted, Incoming::of(into)?)),
        false => None,
    };
    let posted = mailbox.try_biased(post).flatten();
    match posted {
        None => record.begin_again(),
        Some(_) => record.end(),
    }
    posted
}

/// The message that a receive takes while this rank spins, if nothing is wrong and the communicator has
/// not been freed.
#[inline(always)]
pub(super) fn try_receive(
    of: &CommMembers,
    channel: Channel,
    into: &OriginMut<'_>,
    source: Option<Rank>,
    tag: Option<i32>,
) -> Option<Status> {
    let (mailbox, wanted) = usual(of, channel, source, tag)?;
    let mut into = Incoming::of(into)?;
    if mailbox.has_requests() {
        return None;
    }
    let take = |state: &mut MailboxState, from: &mut MessageSource| {
        state.take(of.context(), &wanted, &mut into, from)
    };
    spin_for(of, (Call::Receive, source), mailbox, take)
}

/// The message of a receive under way that comes while this rank spins, if no other request is. `None`: the request is as
/// before.
#[inline(always)]
pub(super) fn try_await(of: &CommMembers, slot: MessageSlot) -> Option<Status> {
    let mailbox = Mailbox::existing()?;
    // The rank of another request may need an answer before it sends.
    let is_alone = mailbox.has_one_request() && mailbox.driven.number() == 0;
    if !is_alone || !is_sound(of) || of.context().foreign.is_some() {
        return None;
    }
    let take = |state: &mut MailboxState, from: &mut MessageSource| {
        state.take_posted(of.context(), slot, from)
    };
    spin_for(of, (Call::MessageWait, None), mailbox, take)
}

/// Spins until `take` finds a message or needs the slow path; the status of the message.
#[inline(always)]
fn spin_for(
    of: &CommMembers,
    (call, source): (Call, Option<Rank>),
    mailbox: &Mailbox,
    mut take: impl FnMut(&mut MailboxState, &mut MessageSource) -> TakenMessage,
) -> Option<Status> {
    let record = of.context().try_operation(call, 0, source.unwrap_or(Rank::NULL), 0);
    let (mut taken, mut from) = (TakenMessage::Otherwise, MessageSource::default());
    of.waiter().spin(1, || {
        let took = mailbox.try_biased(|state| take(state, &mut from));
        taken = took.unwrap_or(TakenMessage::Otherwise);
        taken != TakenMessage::Nothing
    });
    if taken != TakenMessage::Message {
        record.begin_again();
        return None;
    }
    record.end();
    let source = source.or_else(|| of.rank_of_world(from.rank)).unwrap_or(Rank::NULL);
    Some(Status { source, tag: from.tag, bytes: from.bytes, cancelled: false })
}
