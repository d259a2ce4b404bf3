//! The requests of this process that are not complete, or whose outcome has not been taken.

use super::matching::Envelope;
use crate::ops::{Incoming, Outgoing};
use crate::prim::Word32;
use std::sync::Arc;

/// A request: its place in the table, and the generation of that place in the upper half. One word, because a copy of two
/// that have just been stored would wait for both stores.
///
/// ```
/// use onesided::engine::{Channel, MessageRequest, OriginMut};
/// use onesided::{Datatype, Rank};
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let other = Rank(1 - world.rank().0);
/// let mut number = 0_u32;
/// let at = (&raw mut number).cast();
/// // SAFETY: nothing else uses the number until the request is complete.
/// let into = || unsafe { OriginMut::new(at, 1, Datatype::U32) };
/// // The fast path first, then the call with all checks.
/// let request = match world.try_start_receive(Channel::Program, &into(), Some(other), Some(3)) {
///     Some(slot) => MessageRequest::pending(world, slot),
///     None => world.start_receive(Channel::Program, into(), Some(other), Some(3))?,
/// };
/// world.send(&[world.rank().0], other, 3)?;
/// request.wait()?;
/// assert_eq!(number, other.0);
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSlot(u64);

impl MessageSlot {
    fn at(index: u32, generation: u32) -> MessageSlot {
        MessageSlot(u64::from(generation) << 32 | u64::from(index))
    }

    fn index(self) -> usize {
        self.0 as u32 as usize
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// As a number that other ranks return; never zero.
    pub(super) fn token(self) -> u64 {
        self.0
    }

    pub(super) fn of(token: u64) -> MessageSlot {
        MessageSlot(token)
    }
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestOutcome {
    /// Of the message, with its source.
    pub(super) envelope: Envelope,
    pub(super) is_send: bool,
    pub(super) bytes: u64,
    pub(super) failure: Option<MessageFailure>,
    /// Where the clock of the sender is, in a checked job; in a traced one, what identifies the message; otherwise zero.
    pub(super) clock: u64,
}

/// Why a request is complete without its message.
#[derive(Clone, Copy, Debug)]
pub(super) enum MessageFailure {
    Cancelled,
    /// The buffer has space for that many bytes only.
    Truncated(u64),
    /// There was no memory in the segment for it.
    NoMemory,
    /// The description in the segment is invalid.
    Damaged,
}

/// The bytes of a message, where its sender has them.
#[derive(Debug)]
pub(super) enum Payload {
    Copied(Outgoing),
    Packed(Box<[u8]>),
}

/// The progress of a request.
pub(super) enum RequestStage {
    /// A receive without a message.
    Posted { wanted: Envelope, into: Incoming },
    /// A receive whose bytes a thread of this process is copying.
    Pulling,
    /// A receive that has asked its sender for the bytes.
    Promised { envelope: Envelope, bytes: u64, into: Incoming },
    /// A message that the receiver fetches, or a short one that it acknowledges.
    Offered { to: u32, envelope: Envelope, payload: Option<Payload>, bytes: u64 },
    /// Complete.
    Done(RequestOutcome),
}

struct RequestEntry {
    generation: u32,
    stage: Option<RequestStage>,
    /// The outcome will not be taken.
    forgotten: bool,
}

/// All requests. Places are reused, so that a request costs no allocation.
pub(super) struct Slots {
    entries: Vec<RequestEntry>,
    free: Vec<u32>,
    /// The number that are not done, for threads that look without the lock.
    open: Arc<Word32>,
}

impl Slots {
    pub(super) fn new(open: Arc<Word32>) -> Slots {
        Slots { entries: Vec::new(), free: Vec::new(), open }
    }

    #[inline]
    fn count(&self, more: u32) {
        self.open.store(self.open.load().wrapping_add(more));
    }

    pub(super) fn add(&mut self, stage: RequestStage) -> MessageSlot {
        self.add_made(|| stage)
    }

    /// The same of a request that `make` makes in its place.
    #[inline(always)]
    pub(super) fn add_made(&mut self, make: impl FnOnce() -> RequestStage) -> MessageSlot {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(RequestEntry { generation: 0, stage: None, forgotten: false });
            self.entries.len() as u32 - 1
        });
        let entry = &mut self.entries[index as usize];
        // Never zero, so that no token is.
        entry.generation = entry.generation.wrapping_add(1).max(1);
        (entry.stage, entry.forgotten) = (Some(make()), false);
        let generation = entry.generation;
        self.count(1);
        MessageSlot::at(index, generation)
    }

    #[inline]
    fn entry(&mut self, slot: MessageSlot) -> Option<&mut RequestEntry> {
        let entry = self.entries.get_mut(slot.index())?;
        (entry.generation == slot.generation() && entry.stage.is_some()).then_some(entry)
    }

    /// The progress of a request, if it still exists.
    #[inline]
    pub(super) fn stage(&mut self, slot: MessageSlot) -> Option<&mut RequestStage> {
        self.entry(slot)?.stage.as_mut()
    }

    pub(super) fn is_done(&self, slot: MessageSlot) -> bool {
        let entry = self.entries.get(slot.index());
        let entry = entry.filter(|entry| entry.generation == slot.generation());
        entry.is_none_or(|entry| matches!(entry.stage, None | Some(RequestStage::Done(_))))
    }

    /// Moves to another stage, and returns the one before.
    pub(super) fn replace(
        &mut self,
        slot: MessageSlot,
        stage: RequestStage,
    ) -> Option<RequestStage> {
        let entry = self.entry(slot)?;
        let done = matches!(stage, RequestStage::Done(_));
        let gone = entry.forgotten && done;
        let before = entry.stage.replace(stage);
        if done && !matches!(before, Some(RequestStage::Done(_))) {
            self.count(u32::MAX);
        }
        if gone {
            self.remove(slot);
        }
        before
    }

    /// Removes a request. Its progress is dropped in its place.
    #[inline]
    pub(super) fn remove(&mut self, slot: MessageSlot) {
        let Some(entry) = self.entry(slot) else { return };
        let was_done = matches!(entry.stage, Some(RequestStage::Done(_)));
        entry.stage = None;
        self.free.push(slot.index() as u32);
        if !was_done {
            self.count(u32::MAX);
        }
    }

    /// The outcome of a request that is done; the request no longer exists afterwards.
    pub(super) fn take(&mut self, slot: MessageSlot) -> Option<RequestOutcome> {
        let RequestStage::Done(outcome) = self.stage(slot)? else { return None };
        let outcome = *outcome;
        self.remove(slot);
        Some(outcome)
    }

    /// The progress of those that are not done.
    pub(super) fn open(&self) -> impl Iterator<Item = &RequestStage> {
        let stages = self.entries.iter().filter_map(|entry| entry.stage.as_ref());
        stages.filter(|stage| !matches!(stage, RequestStage::Done(_)))
    }

    /// Of the messages that `fits`, one that its receiver has not fetched and whose request has been
    /// dropped.
    pub(super) fn left_to_fetch(
        &self,
        fits: impl Fn(u32, &Envelope) -> bool,
    ) -> Option<MessageSlot> {
        let index = self.entries.iter().position(|entry| match &entry.stage {
            Some(RequestStage::Offered { to, envelope, payload: Some(_), .. }) => {
                entry.forgotten && fits(*to, envelope)
            }
            _ => false,
        })?;
        Some(MessageSlot::at(index as u32, self.entries[index].generation))
    }

    /// The outcome will not be taken: the request is removed when it is done.
    pub(super) fn forget(&mut self, slot: MessageSlot) {
        if self.is_done(slot) {
            self.remove(slot);
        } else if let Some(entry) = self.entry(slot) {
            entry.forgotten = true;
        }
    }
}
