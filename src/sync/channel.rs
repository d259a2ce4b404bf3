//! Messages: one queue for each ordered pair of ranks, from one sender to one receiver.
//!
//! ```text
//!   sender                               receiver
//!     clears the record behind              seen = bell
//!     writes the record                     mem_sync(MessageLook)
//!     mem_sync(MessagePre)                  state of the next record? -> mem_sync(MessagePost)
//!     state of the record                     reads the record, and looks at the one behind it
//!     mem_sync(MessageRing)                 nothing: waits until bell != seen, and again
//!     bell += 1, wake
//! ```
//!
//! A queue is a list of chunks of records; the last record of a chunk links to the next chunk. Only
//! the sender writes records. Only the receiver counts the chunks that it has read to the end
//! ([`QueueWords::leave`]), and those the sender may reuse ([`QueueWords::left`]). So a queue grows
//! without limit, no sender waits for space, and a rank that fails leaves only its own queues
//! unfinished.
//!
//! The bytes of a long message go through a block of the segment, which its sender reuses after the
//! receiver has returned it ([`BlockWords`]).
//!
//! The queues to one receiver form a list that only grows. Each sender pushes its own queue to the
//! front, by the only compare-and-swap of the protocol. The compare-and-swaps of all senders on the
//! same word form one release sequence, so the newest makes the older queues visible too.
//!
//! The bell rings for every message, so none of these barriers has to be full. If the receiver has read
//! the bell after the ring, it finds the record. Otherwise the bell will differ from the value that it
//! has read.

use super::Line;
use crate::prim::{Fault, ParkWord, Site, Word32, Word64, mem_sync, planted};

/// The words by which one rank learns of messages. Zero bytes are their initial state.
#[repr(C, align(128))]
#[derive(Default)]
pub struct MailWords {
    /// Rung for each message to this rank, modulo 2³².
    bell: Line<ParkWord>,
    /// The number of the queue to this rank that was made last, or zero.
    latest: Word32,
    /// 1 once this rank has withdrawn a message that the receiver would read from its own memory.
    withdrew: Word32,
}

impl MailWords {
    /// The word on which a receiver waits until it differs from the result of [`MailWords::look`].
    pub fn bell(&self) -> &ParkWord {
        &self.bell.0
    }

    /// Begins a look of the receiver and returns the bell: every message counted by it is found from
    /// now on.
    pub fn look(&self) -> u32 {
        let seen = self.bell.0.load();
        // Observes the records that were rung for; pairs with MessageRing. Fails without it:
        // models/channel.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::MessageLook);
        if planted(Fault::MessageBellLate) { self.bell.0.load().wrapping_add(1) } else { seen }
    }

    /// Wakes the receiver for a new record. Never blocks.
    #[inline]
    pub fn ring(&self) {
        // Publishes the record's state before the bell; pairs with MessageLook. Fails without it:
        // models/channel.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::MessageRing);
        if !planted(Fault::MessageUnrung) {
            self.bell.0.add_and_wake(1);
        }
    }

    /// The number of the newest queue, zero for none, if it is not `known`. Its words can then be
    /// read.
    pub fn newest(&self, known: u32) -> Option<u32> {
        let latest = self.latest.load();
        if latest == known {
            return None;
        }
        // Observes the words of that queue and of those behind it; pairs with MessageList of their
        // senders. Fails without it: models/channel.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::MessageFind);
        Some(latest)
    }

    /// The sender: pushes its queue, with that number, to the front of the list.
    pub fn enlist(&self, queue: &QueueWords, number: u32) {
        loop {
            let next = self.latest.load();
            queue.next.store(if planted(Fault::MessageListCut) { 0 } else { next });
            // Publishes the words of the queue before its number; pairs with MessageFind. Fails
            // without it: models/channel.rs, by loom_tests/tests/mutants.rs.
            mem_sync(Site::MessageList);
            if self.latest.compare_exchange(next, number).is_ok() {
                return;
            }
        }
    }

    /// Withdraws the rendezvous buffers of this rank: a receiver discards what it reads from them
    /// from now on. Of a thread that serves requests: it answers none any more.
    #[allow(dead_code, reason = "nothing is offered in the models")]
    pub fn withdraw(&self) {
        self.withdrew.store(1);
        // Publishes the word before the program's next writes to its memory. Pairs with
        // MessageTaken.
        mem_sync(Site::MessageWithdrawn);
    }

    /// Whether this rank has withdrawn its buffers, so bytes read from them must be discarded.
    #[allow(dead_code, reason = "nothing is offered in the models")]
    pub fn has_withdrawn(&self) -> bool {
        // Orders the reads of the bytes before that of the word. Pairs with MessageWithdrawn.
        mem_sync(Site::MessageTaken);
        self.withdrew.load() != 0
    }
}

/// The head of a queue. Written by its sender before it is put into the list, but for `left`.
#[repr(C, align(128))]
#[derive(Default)]
pub struct QueueWords {
    /// Whose queue it is.
    pub sender: Word32,
    /// The number of the next queue to the same receiver, or zero.
    next: Word32,
    /// The offset of its first chunk, and the size of that in bytes.
    pub chunk: [Word64; 2],
    /// Chunks that the receiver has read to their ends, modulo 2³².
    left: Line<Word32>,
}

impl QueueWords {
    /// The number of the queue behind this one.
    pub fn next(&self) -> u32 {
        self.next.load()
    }

    /// The receiver: records that it has read `chunks` chunks to their ends.
    pub fn leave(&self, chunks: u32) {
        // Orders the reads of the chunk before the word; pairs with the MessagePre of the link to
        // the chunk when it is reused. Fails without it: models/channel.rs, by
        // loom_tests/tests/mutants.rs.
        mem_sync(Site::MessageLeave);
        self.left.0.store(chunks);
    }

    /// The sender: how many chunks it may reuse once it has published the link to them. The barrier
    /// before that link also orders this load before the writes to the reused chunk.
    pub fn left(&self) -> u32 {
        let left = self.left.0.load();
        if planted(Fault::MessageReusedEarly) { left.wrapping_add(1) } else { left }
    }
}

/// The words of a block through which the bytes of a message move. The sender lends it to the receiver
/// before it publishes the record.
#[repr(C, align(128))]
#[derive(Default)]
pub struct BlockWords {
    /// 1 while the receiver may read the block.
    lent: Word32,
}

impl BlockWords {
    /// The sender: the block belongs to the receiver of the next record.
    pub fn lend(&self) {
        self.lent.store(1);
    }

    /// The receiver: it does not read the block any more. Returns whether the block was lent.
    pub fn give_back(&self) -> bool {
        if self.lent.load() != 1 {
            return false;
        }
        // Orders the reads of the block before the word; pairs with MessageReuse. Fails without it:
        // models/channel.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::MessageReturn);
        self.lent.store(0);
        true
    }

    /// The sender: whether it may write to the block again.
    pub fn is_free(&self) -> bool {
        let is_free = self.lent.load() == 0 || planted(Fault::MessageBlockReused);
        if is_free {
            // Orders the word before the next writes to the block; pairs with MessageReturn. Fails
            // without it: models/channel.rs, by loom_tests/tests/mutants.rs.
            mem_sync(Site::MessageReuse);
        }
        is_free
    }
}

/// The state word of a record: zero until the record is published.
#[repr(transparent)]
#[derive(Default)]
pub struct RecordState(Word32);

impl RecordState {
    /// The sender: marks the record as empty, before the receiver can reach it.
    #[inline]
    pub fn clear(&self) {
        self.0.store(0);
    }

    /// A hint that the sender is about to write it.
    #[inline(always)]
    #[allow(dead_code, reason = "a hint, which the models have no use for")]
    pub fn expect_update(&self) {
        self.0.expect_update();
    }

    /// The sender: `fill` writes the record, which is then published with `kind` (not zero). The
    /// record behind it in the chunk, if any, is cleared first.
    #[inline]
    pub fn publish(&self, behind: Option<&RecordState>, kind: u32, fill: impl FnOnce()) {
        if let Some(behind) = behind
            && !planted(Fault::MessageUncleared)
        {
            behind.clear();
        }
        if planted(Fault::MessageEarly) {
            self.0.store(kind);
        }
        fill();
        // Publishes the record, and the empty state of the one behind it; pairs with MessagePost.
        // Fails without it: models/channel.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::MessagePre);
        self.0.store(kind);
    }

    /// The receiver: the record's kind, after which the record can be read; zero while there is none.
    #[inline]
    pub fn found(&self) -> u32 {
        let kind = self.0.load();
        if kind != 0 {
            // Observes the record; pairs with MessagePre. Fails without it: models/channel.rs, by
            // loom_tests/tests/mutants.rs.
            mem_sync(Site::MessagePost);
        }
        kind
    }
}
