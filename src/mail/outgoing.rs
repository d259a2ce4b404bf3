//! The sender's side of a queue: where the next record goes.

use crate::error::{Error, Result};
use crate::prim::Waiter;
use crate::shm::{AllocError, GRANULE, Limit, MessageWords, Placed, Segment};
use crate::sync::channel::{MailWords, QueueWords};
use std::collections::VecDeque;
use std::sync::Arc;

/// The first chunk of a queue.
const FIRST: u64 = 4096 - GRANULE;
/// Each further one has twice as many bytes, up to this number.
const MOST: u64 = 64 * 1024 - GRANULE;

/// How far behind a record its sender prefetches for those that follow: a few short ones.
const AHEAD: u64 = 8 * MessageWords::ALIGN;

/// Chunks that are reused; further ones are freed.
const SPARE: usize = 16;

/// Bytes of the segment that records are written to.
#[derive(Clone, Copy)]
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum RecordKind {
    /// A message whose bytes follow; the sender waits for [`RecordKind::TakenMessage`] if it has a token.
    Data = 1,
    /// A message whose bytes are at an address of the sender's process.
    Private,
    /// A message whose bytes are at an offset of the segment.
    Shared,
    /// A message whose bytes are in a block of the segment, which the receiver returns.
    Staged,
    /// The queue continues in another chunk.
    Link,
    /// The message with that token of the receiver of this record has been received.
    TakenMessage,
    /// Asks for its bytes in the segment, for the request `place` of the sender of this record.
    Wanted,
    /// The bytes that were asked for: a block of the segment, which the receiver frees. 0 if there was no
    /// memory for them.
    Block,
}

impl RecordKind {
    const ALL: [RecordKind; 8] = [
        RecordKind::Data,
        RecordKind::Private,
        RecordKind::Shared,
        RecordKind::Staged,
        RecordKind::Link,
        RecordKind::TakenMessage,
        RecordKind::Wanted,
        RecordKind::Block,
    ];

    pub(crate) fn of_word(word: u32) -> Option<RecordKind> {
        RecordKind::ALL.get(word.checked_sub(1)? as usize).copied()
    }
}

/// The words of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) kind: RecordKind,
    pub(crate) tag: i32,
    pub(crate) context: [u64; 2],
    pub(crate) bytes: u64,
    pub(crate) token: u64,
    pub(crate) place: u64,
}

impl Head {
    /// One that is no message.
    pub(crate) fn control(kind: RecordKind, token: u64, place: u64, bytes: u64) -> Head {
        Head { kind, tag: 0, context: [0; 2], bytes, token, place }
    }
}

/// A queue from this rank to another one.
pub(crate) struct OutgoingQueue {
    mail: Placed<MailWords>,
    words: Placed<QueueWords>,
    chunk: Chunk,
    /// Where in the chunk the next record goes. There is always space for a link.
    at: u64,
    /// Chunks that are full, the oldest first.
    full: VecDeque<Chunk>,
    /// How many of them have been reused or freed, modulo 2³².
    reused: u32,
}

impl OutgoingQueue {
    /// Makes a queue from the rank with number `own` to the one whose mail that is.
    pub(crate) fn create(
        segment: &Arc<Segment>,
        own: u32,
        mail: Placed<MailWords>,
        waiter: &Waiter<'_>,
    ) -> std::result::Result<OutgoingQueue, AllocError> {
        let bytes = size_of::<QueueWords>() as u64;
        let offset = segment.heap().allocate(bytes, waiter)?;
        let Ok(number) = u32::try_from(offset / GRANULE) else {
            return Err(AllocError::Short { available: 0, limit: Limit::Segment });
        };
        segment.mapping().clear(offset, bytes)?;
        let words: Placed<QueueWords> = segment.place(offset)?;
        let chunk = new_chunk(segment, FIRST, waiter)?;
        words.sender.store(own);
        words.chunk[0].store(chunk.offset);
        words.chunk[1].store(chunk.bytes);
        mail.enlist(&words, number);
        Ok(OutgoingQueue { mail, words, chunk, at: 0, full: VecDeque::new(), reused: 0 })
    }

    /// Appends a record with `inside` bytes after its words, and rings. `fill` writes them at the offset
    /// that is its argument.
    pub(crate) fn put(
        &mut self,
        segment: &Arc<Segment>,
        head: &Head,
        inside: u64,
        fill: impl FnOnce(u64) -> Result<()>,
        waiter: &Waiter<'_>,
    ) -> std::result::Result<(), AllocError> {
        let stride = MessageWords::stride(inside).filter(|stride| *stride < 1 << 40);
        let Some(stride) = stride else {
            return Err(AllocError::Short { available: 0, limit: Limit::Segment });
        };
        if !self.has_space(stride) {
            self.go_on(segment, stride + MessageWords::ALIGN, waiter)?;
        }
        Ok(self.append(segment, head, stride, fill)?)
    }

    /// [`OutgoingQueue::put`] if the chunk has space; whether it is done.
    #[inline]
    pub(crate) fn try_put(
        &mut self,
        segment: &Segment,
        head: &Head,
        inside: u64,
        fill: impl FnOnce(u64) -> Result<()>,
    ) -> bool {
        let stride = MessageWords::stride(inside).filter(|stride| self.has_space(*stride));
        stride.is_some_and(|stride| self.append(segment, head, stride, fill).is_ok())
    }

    /// Whether a record of `stride` bytes fits the chunk, with a link behind it.
    #[inline]
    fn has_space(&self, stride: u64) -> bool {
        self.at + stride + MessageWords::ALIGN <= self.chunk.bytes
    }

    #[inline]
    fn append(
        &mut self,
        segment: &Segment,
        head: &Head,
        stride: u64,
        fill: impl FnOnce(u64) -> Result<()>,
    ) -> Result<()> {
        let mut filled = Ok(());
        self.write(segment, head, stride, |offset| filled = fill(offset))?;
        filled?;
        self.mail.ring();
        Ok(())
    }

    #[inline]
    fn write(
        &mut self,
        segment: &Segment,
        head: &Head,
        stride: u64,
        fill: impl FnOnce(u64),
    ) -> Result<()> {
        let offset = self.chunk.offset + self.at;
        let words: &MessageWords = segment.mapping().view(offset)?;
        let behind: Option<&MessageWords> = match head.kind {
            RecordKind::Link => None,
            _ => Some(segment.mapping().view(offset + stride)?),
        };
        words.state.publish(behind.map(|behind| &behind.state), head.kind as u32, || {
            words.tag.store(head.tag as u32);
            words.context[0].store(head.context[0]);
            words.context[1].store(head.context[1]);
            words.bytes.store(head.bytes);
            words.token.store(head.token);
            words.place.store(head.place);
            fill(offset + MessageWords::HEAD);
        });
        self.at += stride;
        // Its line arrives before the record does that is written there.
        if let Ok(later) = segment.mapping().view::<MessageWords>(offset + AHEAD) {
            later.state.expect_update();
        }
        Ok(())
    }

    /// Continues in a chunk of at least `needed` bytes: one that the receiver has read to the end, or a
    /// new one.
    #[cold]
    fn go_on(
        &mut self,
        segment: &Arc<Segment>,
        needed: u64,
        waiter: &Waiter<'_>,
    ) -> std::result::Result<(), AllocError> {
        let mut next = None;
        let mut left = self.words.left().wrapping_sub(self.reused) as usize;
        while next.is_none() || left > SPARE {
            let Some(chunk) = self.full.front().copied().filter(|_| left > 0) else { break };
            self.full.pop_front();
            self.reused = self.reused.wrapping_add(1);
            left -= 1;
            // A chunk that was allocated for a long message is not reused for short ones.
            let fits = chunk.bytes >= needed && chunk.bytes <= needed.max(MOST);
            match next {
                None if fits => next = Some(chunk),
                _ => segment.heap().free(chunk.offset, waiter)?,
            }
        }
        let next = match next {
            Some(chunk) => chunk,
            None => {
                let bytes = needed.max((2 * (self.chunk.bytes + GRANULE) - GRANULE).min(MOST));
                new_chunk(segment, bytes, waiter)?
            }
        };
        segment.mapping().view::<MessageWords>(next.offset)?.state.clear();
        let link = Head::control(RecordKind::Link, 0, next.offset, next.bytes);
        self.write(segment, &link, 0, |_| ())?;
        self.full.push_back(std::mem::replace(&mut self.chunk, next));
        self.at = 0;
        Ok(())
    }
}

/// A chunk without any record.
fn new_chunk(
    segment: &Segment,
    bytes: u64,
    waiter: &Waiter<'_>,
) -> std::result::Result<Chunk, AllocError> {
    let offset = segment.heap().allocate(bytes, waiter)?;
    segment.mapping().view::<MessageWords>(offset)?.state.clear();
    Ok(Chunk { offset, bytes })
}

/// The error of a damaged queue.
pub(crate) fn damaged() -> Error {
    Error::Damaged { what: "queue of messages" }
}
