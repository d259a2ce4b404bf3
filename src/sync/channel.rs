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
//! A queue is a list of chunks, each full of records; the last record of a chunk leads to the next
//! one. Only the sender writes records, only the receiver counts the chunks that it has left behind
//! ([`QueueWords::leave`]), and those the sender may use again ([`QueueWords::left`]). So a queue
//! grows without limit, nobody waits for room in it, and a rank that fails leaves only its own
//! queues unfinished.
//!
//! The queues that lead to a rank are a list too, which only grows: each sender puts its own in
//! front, by the one compare-and-swap of the protocol. What follows it in the list was put there by
//! others, whose own exchanges of the same word the newest one continues.
//!
//! The bell is rung for every message, so none of these barriers has to be full: either the receiver
//! has read the bell behind the ring, and then finds the record, or the bell will differ from what
//! it has read.

use super::Line;
use crate::prim::{Fault, ParkWord, Site, Word32, Word64, mem_sync, planted};

/// Where one rank hears of messages. Zero bytes are its initial state.
#[repr(C, align(128))]
#[derive(Default)]
pub struct MailWords {
    /// Rung for each message to this rank, modulo 2³².
    bell: Line<ParkWord>,
    /// The number of the queue to this rank that was made last, or zero.
    latest: Word32,
    /// 1 once this rank has given up a message whose bytes were to be taken from its own memory.
    withdrew: Word32,
}

impl MailWords {
    /// What a receiver waits on, until it is not what [`MailWords::look`] has returned.
    pub fn bell(&self) -> &ParkWord {
        &self.bell.0
    }

    /// Begins a look of the receiver: every message for which the bell has been rung as often as it
    /// says is found from now on.
    pub fn look(&self) -> u32 {
        let seen = self.bell.0.load();
        // Observes the records that were rung for; pairs with MessageRing. Fails without it:
        // models/channel.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::MessageLook);
        if planted(Fault::MessageBellLate) { self.bell.0.load().wrapping_add(1) } else { seen }
    }

    /// Tells the receiver that there is something to find. Never blocks.
    pub fn ring(&self) {
        // Publishes the record's state before the bell; pairs with MessageLook. Fails without it:
        // models/channel.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::MessageRing);
        if !planted(Fault::MessageUnrung) {
            self.bell.0.add_and_wake(1);
        }
    }

    /// The number of the queue that was made last, if it is not `known`, whose words can then be
    /// read; zero for none.
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

    /// The sender: puts its queue, which has that number, in front of the list.
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

    /// This rank takes bytes that it has offered back; what others read from now on is not those.
    #[allow(dead_code, reason = "nothing is offered in the models")]
    pub fn withdraw(&self) {
        self.withdrew.store(1);
        // Publishes the word before what the program writes to its memory next. Pairs with
        // MessageTaken.
        mem_sync(Site::MessageWithdrawn);
    }

    /// Whether the bytes that were read of this rank's memory may not be those that it had offered.
    #[allow(dead_code, reason = "nothing is offered in the models")]
    pub fn has_withdrawn(&self) -> bool {
        // Keeps the bytes' reading before the word's. Pairs with MessageWithdrawn.
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
    /// Where its first chunk is, and the bytes of that.
    pub chunk: [Word64; 2],
    /// Chunks that the receiver has read to their ends, modulo 2³².
    left: Line<Word32>,
}

impl QueueWords {
    /// The number of the queue behind this one.
    pub fn next(&self) -> u32 {
        self.next.load()
    }

    /// The receiver: has left so many chunks behind.
    pub fn leave(&self, chunks: u32) {
        // Keeps the reading of the chunk before the word; pairs with the MessagePre of the link to
        // the chunk, when it is used again. Fails without it: models/channel.rs, by
        // loom_tests/tests/mutants.rs.
        mem_sync(Site::MessageLeave);
        self.left.0.store(chunks);
    }

    /// The sender: how many chunks it may use again, once it has published the link to them: what
    /// orders that link behind everything before it orders this look before what is written then.
    pub fn left(&self) -> u32 {
        let left = self.left.0.load();
        if planted(Fault::MessageReusedEarly) { left.wrapping_add(1) } else { left }
    }
}

/// What makes a record one: zero until it is.
#[repr(transparent)]
#[derive(Default)]
pub struct RecordState(Word32);

impl RecordState {
    /// The sender: nothing is here yet. Before anything that the receiver would come here by.
    pub fn clear(&self) {
        self.0.store(0);
    }

    /// The sender: lets `fill` write the record, and lets it be found, as what `kind` says (not
    /// zero). The record behind it in the chunk, if it has one, is cleared first.
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
        // Publishes the record, and that there is none behind it; pairs with MessagePost. Fails
        // without it: models/channel.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::MessagePre);
        self.0.store(kind);
    }

    /// The receiver: what the record is, which can then be read; zero as long as there is none.
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
