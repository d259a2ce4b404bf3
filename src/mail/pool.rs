//! Blocks of the segment through which this rank sends long messages.
//!
//! The sender copies a message to a block, and its receiver copies it from there and returns the block
//! ([`BlockWords`]). Both copies together take less time than one by the kernel, and the sender can use its buffer again
//! immediately. A rank allocates blocks when it needs them, at most 14 MiB, and at most
//! its share of half of the segment. While all of a size are in use, a message stays with its sender.

use super::outgoing::damaged;
use crate::context::Context;
use crate::error::Result;
use crate::shm::{GRANULE, Segment};
use crate::sync::channel::BlockWords;
use std::collections::VecDeque;

/// The longest message that is sent through a block.
pub const LONGEST: u64 = SHORTEST << (CLASSES - 1);
/// Bytes of messages under way on a processor that its caches keep, with the buffers of the program beside them. With more,
/// two copies go through memory. One by the kernel then takes half of the time, if all ranks send and receive at once.
const CACHED: u64 = 2 << 20;
/// The smallest block. Those of each further class have twice as many bytes.
const SHORTEST: u64 = 16 << 10;
const CLASSES: usize = 7;
/// The blocks of one size have at most that many bytes, or twice as many if the rank uses all in turn: more than its
/// reader's own cache has. Of the largest there are two.
const MOST: u64 = 1 << 20;
/// A rank that uses all in turn allocates another block at most once in that many messages: new pages take time.
const GROWTH: u32 = 4;

/// The blocks of this rank.
#[derive(Default)]
pub(crate) struct BlockPool {
    classes: [SizeClass; CLASSES],
}

/// The bytes of the longest message that goes through a block of the segment where that many ranks of a processor send at
/// once. Longer ones the kernel copies, if they are contiguous.
pub fn longest_staged(senders: u32) -> u64 {
    LONGEST.min(CACHED / u64::from(senders.max(1))).max(SHORTEST)
}

/// Whether the caches keep messages of that many bytes, if each rank sends one. Where this one waits for nothing else
/// (`is_alone`), half of the ranks send at once, to the others.
pub(crate) fn fits_caches(context: &Context, bytes: u64, is_alone: bool) -> bool {
    let senders = |sharing: u32| if is_alone { sharing.div_ceil(2) } else { sharing };
    bytes <= SHORTEST || bytes <= longest_staged(senders(context.sharing()))
}

/// Blocks of one size. A block is the offset of its bytes; its words are in the granule before.
#[derive(Default)]
struct SizeClass {
    /// The one that was returned last is the last.
    free: VecDeque<u64>,
    lent: Vec<LentBlock>,
    /// Messages so far.
    messages: u32,
}

/// A block that a receiver may read.
struct LentBlock {
    block: u64,
    /// A rank of the job.
    to: u32,
}

impl BlockPool {
    /// A block for a message of `bytes` bytes to rank `to` of the job; `None` if the message is too long, or
    /// there is no memory for it. The receiver has it until it calls [`give_back`].
    pub(crate) fn lend(&mut self, context: &Context, bytes: u64, to: u32) -> Result<Option<u64>> {
        if bytes > LONGEST {
            return Ok(None);
        }
        let class = bytes.div_ceil(SHORTEST).next_power_of_two().ilog2() as usize;
        let Some(block) = self.classes[class].take(context, SHORTEST << class)? else {
            return Ok(None);
        };
        words(&context.segment, block)?.lend();
        self.classes[class].lent.push(LentBlock { block, to });
        Ok(Some(block))
    }
}

impl SizeClass {
    /// A block that is free, if the rank has one or may allocate one: the one that was returned last, or first if the rank
    /// uses all in turn.
    fn take(&mut self, context: &Context, bytes: u64) -> Result<Option<u64>> {
        let cycles = context.cycles_buffers();
        self.messages = self.messages.wrapping_add(1);
        if cycles && self.messages.is_multiple_of(GROWTH) {
            let another = self.allocate(context, bytes, 2 * MOST);
            self.free.extend(another);
        }
        if self.free.is_empty() {
            self.collect(context)?;
        }
        let free = if cycles { self.free.pop_front() } else { self.free.pop_back() };
        Ok(free.or_else(|| self.allocate(context, bytes, MOST)))
    }

    /// A new block of `bytes` bytes, if the rank may have one more, of `most` bytes in all, and there is memory for it.
    #[cold]
    fn allocate(&mut self, context: &Context, bytes: u64, most: u64) -> Option<u64> {
        // Half of the segment, for each rank and size.
        let ranks = u64::from(context.segment.layout().ranks);
        let share = context.segment.bytes() / 2 / ranks / CLASSES as u64;
        let most = most.max(2 * bytes).min(share);
        let owned = (self.free.len() + self.lent.len()) as u64 * bytes;
        if owned + bytes > most {
            return None;
        }
        if owned == 0 {
            // The process's allocator is not called again for it.
            let number = (2 * MOST.max(bytes) / bytes) as usize;
            self.free.reserve(number);
            self.lent.reserve(number);
        }
        let offset = context.segment.heap().allocate(GRANULE + bytes, &context.excluded()).ok()?;
        Some(offset + GRANULE)
    }

    /// Finds the blocks that have been returned, or whose receivers have failed.
    fn collect(&mut self, context: &Context) -> Result<()> {
        let mut failure = Ok(());
        self.lent.retain(|lent| {
            let is_free = match words(&context.segment, lent.block) {
                Ok(words) => words.is_free() || context.has_failed(lent.to),
                Err(error) => {
                    failure = Err(error);
                    false
                }
            };
            if is_free {
                self.free.push_back(lent.block);
            }
            !is_free
        });
        failure
    }
}

/// Returns a block, whose message has been copied from it or is discarded, to the rank that has lent it.
pub(crate) fn give_back(segment: &Segment, block: u64) -> Result<()> {
    let is_block = words(segment, block)?.give_back();
    if is_block { Ok(()) } else { Err(damaged()) }
}

/// Whether the receiver has returned the block.
pub(super) fn is_given_back(segment: &Segment, block: u64) -> bool {
    words(segment, block).is_ok_and(BlockWords::is_free)
}

fn words(segment: &Segment, block: u64) -> Result<&BlockWords> {
    segment.mapping().view(block.wrapping_sub(GRANULE))
}
