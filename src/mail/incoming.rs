//! The receiver's side of the queues: the records, in order.

use super::outgoing::{Chunk, Head, RecordKind, damaged};
use crate::error::Result;
use crate::launch::Sharers;
use crate::shm::{GRANULE, MessageWords, Placed, Segment};
use crate::sync::channel::{MailWords, QueueWords};
use std::sync::Arc;

/// A queue from another rank to this one.
pub(crate) struct IncomingQueue {
    /// The sender, as a rank of the job.
    pub(crate) sender: u32,
    /// Its number in the segment.
    pub(super) number: u32,
    words: Placed<QueueWords>,
    chunk: Chunk,
    /// Where in the chunk the next record is.
    at: u64,
    /// Chunks that have been left behind, modulo 2³².
    left: u32,
}

/// A record that has been found.
pub(crate) struct Record {
    pub(crate) head: Head,
    /// Where its bytes are.
    pub(crate) inside: u64,
    stride: u64,
}

impl IncomingQueue {
    /// Whether there is a record that has not been read.
    #[inline]
    fn has_next(&self, segment: &Segment) -> bool {
        let words = segment.mapping().view::<MessageWords>(self.chunk.offset + self.at);
        words.is_ok_and(|words| words.state.found() != 0)
    }

    /// The next record, if there is one; links are followed.
    #[inline(always)]
    pub(crate) fn next(&mut self, segment: &Segment) -> Result<Option<Record>> {
        loop {
            let offset = self.chunk.offset + self.at;
            let words: &MessageWords = segment.mapping().view(offset)?;
            let kind = words.state.found();
            if kind == 0 {
                return Ok(None);
            }
            let head = Head {
                kind: RecordKind::of_word(kind).ok_or_else(damaged)?,
                tag: words.tag.load() as i32,
                context: [words.context[0].load(), words.context[1].load()],
                bytes: words.bytes.load(),
                token: words.token.load(),
                place: words.place.load(),
            };
            if head.kind != RecordKind::Link {
                return self.record(head, offset + MessageWords::HEAD).map(Some);
            }
            let next = Chunk { offset: head.place, bytes: head.bytes };
            let is_place = next.offset.is_multiple_of(GRANULE);
            let inside = segment.mapping().at(next.offset, next.bytes);
            if inside.is_none() || !is_place || next.bytes < 2 * MessageWords::ALIGN {
                return Err(damaged());
            }
            (self.chunk, self.at) = (next, 0);
            self.left = self.left.wrapping_add(1);
            self.words.leave(self.left);
        }
    }

    #[inline(always)]
    fn record(&self, head: Head, inside: u64) -> Result<Record> {
        let bytes = if head.kind == RecordKind::Data { head.bytes } else { 0 };
        let stride = MessageWords::stride(bytes).ok_or_else(damaged)?;
        // Behind it there is space for a link.
        let end = self.at.checked_add(stride).and_then(|at| at.checked_add(MessageWords::ALIGN));
        match end.is_some_and(|end| end <= self.chunk.bytes) && head.tag >= 0 {
            true => Ok(Record { head, inside, stride }),
            false => Err(damaged()),
        }
    }

    /// The record has been read.
    #[inline]
    pub(crate) fn pass(&mut self, record: &Record) {
        self.at += record.stride;
    }
}

/// The words by which the rank with that number in the segment is notified of messages.
pub(crate) fn mail_of(segment: &Arc<Segment>, number: u32) -> Result<Placed<MailWords>> {
    segment.place(segment.layout().mail + u64::from(number) * size_of::<MailWords>() as u64)
}

/// The known queues to this rank.
#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) all: Vec<IncomingQueue>,
    newest: u32,
}

impl Sources {
    /// A rank that has sent to this one, which has not looked yet.
    pub(crate) fn first_sender(
        segment: &Arc<Segment>,
        mail: &MailWords,
        sharers: &Sharers,
    ) -> Option<u32> {
        let mut sources = Sources::default();
        sources.find(segment, mail, sharers).ok()?;
        sources.all.iter().find(|source| source.has_next(segment)).map(|source| source.sender)
    }

    /// Whether a known queue has a record that has not been read.
    #[inline]
    pub(crate) fn have_next(&self, segment: &Segment) -> bool {
        self.all.iter().any(|source| source.has_next(segment))
    }

    /// Finds queues that were created since the last time.
    #[inline]
    pub(crate) fn find(
        &mut self,
        segment: &Arc<Segment>,
        mail: &MailWords,
        sharers: &Sharers,
    ) -> Result<()> {
        match mail.newest(self.newest) {
            None => Ok(()),
            Some(newest) => self.add(segment, newest, sharers),
        }
    }

    #[cold]
    fn add(&mut self, segment: &Arc<Segment>, newest: u32, sharers: &Sharers) -> Result<()> {
        let mut place = newest;
        while place != self.newest {
            // Each rank makes one.
            if place == 0 || self.all.len() >= segment.layout().ranks as usize {
                return Err(damaged());
            }
            let words: Placed<QueueWords> = segment.place(u64::from(place) * GRANULE)?;
            let (number, next) = (words.sender.load(), words.next());
            let chunk = Chunk { offset: words.chunk[0].load(), bytes: words.chunk[1].load() };
            let inside = segment.mapping().at(chunk.offset, chunk.bytes);
            let is_place = chunk.offset.is_multiple_of(GRANULE);
            if inside.is_none() || !is_place || number >= segment.layout().ranks {
                return Err(damaged());
            }
            let sender = sharers.rank(number);
            self.all.push(IncomingQueue { sender, number, words, chunk, at: 0, left: 0 });
            place = next;
        }
        self.newest = newest;
        Ok(())
    }
}
