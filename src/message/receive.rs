//! Receives (MPI-2.2 §3.2.4, §3.7.2).

use super::incoming::{MessageSource, TakenMessage};
use super::mailbox::{Arrived, Mailbox, MailboxState};
use super::matching::Envelope;
use super::send::{is_sound, message_context};
use super::slots::{RequestStage, Slot};
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
) -> Result<Option<Slot>> {
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
) -> Result<Slot> {
    let Some(into) = Incoming::of(into) else { return Err(of.too_far(call)) };
    let (context, mailbox) = (of.context(), Mailbox::of(of.context())?);
    let mut state = mailbox.lock();
    let found = find(&mut state);
    let slot = state.slots.add(RequestStage::Posted { wanted, into });
    let Some((envelope, message)) = found else {
        state.posted.post(wanted, slot);
        return Ok(slot);
    };
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
    let (context, mailbox) = (of.context(), Mailbox::existing()?);
    let from = match source {
        Some(source) => of.partner(source)?,
        // Its sender may be on another node.
        None if context.foreign.is_some() => return None,
        None => Envelope::ANY_SOURCE,
    };
    let mut into = Incoming::of(into)?;
    if tag.is_some_and(|tag| tag < 0) || !is_sound(of) || mailbox.has_requests() {
        return None;
    }
    let tag = tag.unwrap_or(Envelope::ANY_TAG);
    let wanted = Envelope { context: message_context(of, channel), source: from, tag };
    let peer = source.unwrap_or(Rank::NULL);
    let record = context.try_operation(Call::Receive, 0, peer, 0);
    let (mut taken, mut from) = (TakenMessage::Otherwise, MessageSource::default());
    of.waiter().spin(1, || {
        let took = |state: &mut MailboxState| state.take(context, &wanted, &mut into, &mut from);
        taken = mailbox.try_biased(took).unwrap_or(TakenMessage::Otherwise);
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
