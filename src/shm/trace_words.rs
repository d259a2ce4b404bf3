//! The events of a traced job (`rmarun --trace`): each rank writes its own, and the launcher reads them.
//!
//! They go through a queue of messages to the launcher (`sync/channel.rs`) whose blocks form a ring. Every block has
//! places for some events and for the link to the next block. The launcher returns a block when it has read the link; a
//! rank that has filled one waits until the next is free. So no event is lost, and those of a rank that was killed are
//! there.

use super::recorder::{operation_word, read_operation};
use crate::call::Call;
use crate::prim::{Word32, Word64};
use crate::sync::channel::{BlockWords, MailWords, RecordState};

/// The words of one rank. Zero bytes are the initial state, in which no block is lent.
#[repr(C, align(128))]
pub(crate) struct TraceRing {
    /// Rung when the launcher returns a block.
    pub(crate) returned: MailWords,
    pub(crate) blocks: [TraceBlock; TraceRing::BLOCKS],
}

impl TraceRing {
    pub(crate) const BLOCKS: usize = 8;

    /// Whether the side that goes on to that block rings the other: a wake-up costs as much as some hundred events, so
    /// only for half of the blocks. A side that sleeps because all blocks are full, or none, is rung after it has looked.
    pub(crate) fn is_bell_due(block: usize) -> bool {
        block.is_multiple_of(TraceRing::BLOCKS / 2)
    }
}

/// Some places of the ring.
#[repr(C, align(128))]
pub(crate) struct TraceBlock {
    pub(crate) words: BlockWords,
    pub(crate) places: [TracePlace; TraceBlock::PLACES],
}

impl TraceBlock {
    /// The last one is for the link.
    pub(crate) const PLACES: usize = 1024;
}

/// An event, or the link to the next block.
#[repr(C)]
pub(crate) struct TracePlace {
    pub(crate) state: RecordState,
    text: Word32,
    words: [Word64; TracePlace::WORDS],
}

impl TracePlace {
    /// The state of a link.
    pub(crate) const LINK: u32 = 1;
    const WORDS: usize = 3;
    /// Where the thread begins in the state of an event; the kind is below.
    const THREAD_SHIFT: u32 = 8;

    /// Publishes an event of a thread here; `behind` is the place behind this one.
    #[inline(always)]
    pub(crate) fn publish(&self, behind: &TracePlace, thread: u32, event: &TraceEvent) {
        let (kind, text, words) = event.words();
        self.state.publish(Some(&behind.state), kind | thread << TracePlace::THREAD_SHIFT, || {
            self.text.store(text);
            self.words.iter().zip(words).for_each(|(word, value)| word.store(value));
        });
    }

    /// The published event with that state, and its thread. `None` if it is none of this library's.
    #[inline(always)]
    pub(crate) fn read(&self, state: u32) -> Option<(u32, TraceEvent)> {
        let kind = state & ((1 << TracePlace::THREAD_SHIFT) - 1);
        let words = self.words.each_ref().map(Word64::load);
        let event = TraceEvent::read(kind, self.text.load(), words)?;
        Some((state >> TracePlace::THREAD_SHIFT, event))
    }
}

/// An event of one thread of a rank. Times are nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// The first event of the thread.
    Thread {
        /// Its number in the kernel.
        id: u32,
    },
    /// A part of a text in UTF-8. A zero byte ends the text.
    Text {
        /// The number of the text, from 1 on.
        text: u32,
        /// The bytes.
        bytes: [u8; TraceEvent::TEXT_BYTES],
    },
    /// A call begins.
    Begin {
        /// When.
        time: u64,
        /// The call.
        call: Call,
        /// The number of the text that names its window; zero without a window.
        window: u32,
        /// Of an operation, the rank of the window or communicator, and the bytes.
        operation: Option<(Option<u32>, u64)>,
    },
    /// The call that began last has ended.
    End {
        /// When.
        time: u64,
    },
    /// A region of the program begins.
    BeginRegion {
        /// When.
        time: u64,
        /// The number of the text that is its name.
        name: u32,
    },
    /// The region that began last has ended.
    EndRegion {
        /// When.
        time: u64,
    },
    /// A wait has ended.
    Wait {
        /// When it began.
        begun: u64,
        /// When it ended.
        ended: u64,
        /// The number of the text that is the program's line.
        line: u32,
    },
    /// The call has sent what another call receives, of this rank or another one.
    Sent {
        /// What identifies it in the job.
        arrow: u64,
    },
    /// The call has received it.
    Received {
        /// The same.
        arrow: u64,
    },
    /// The windows of the rank have other memory.
    Memory {
        /// When.
        time: u64,
        /// Bytes of its parts of all windows from now on.
        bytes: u64,
    },
}

/// The kinds of [`TraceEvent`]; that of a link is below.
const THREAD: u32 = TracePlace::LINK + 1;
const TEXT: u32 = THREAD + 1;
const BEGIN: u32 = TEXT + 1;
const BEGIN_OPERATION: u32 = BEGIN + 1;
const END: u32 = BEGIN_OPERATION + 1;
const WAIT: u32 = END + 1;
const SENT: u32 = WAIT + 1;
const RECEIVED: u32 = SENT + 1;
const BEGIN_REGION: u32 = RECEIVED + 1;
const END_REGION: u32 = BEGIN_REGION + 1;
const MEMORY: u32 = END_REGION + 1;

impl TraceEvent {
    /// Whether [`TraceEvent::Sent`] may follow the beginning of this call, which is then before all its waits.
    pub fn sends(call: Call) -> bool {
        let notifies = [Call::PutNotify, Call::GetNotify, Call::AccumulateNotify, Call::Notify]
            .contains(&call);
        notifies
            || matches!(
                call,
                Call::Send
                    | Call::SendReceive
                    | Call::Post
                    | Call::Complete
                    | Call::Unlock
                    | Call::UnlockAll
            )
    }

    /// When it was; `None` of one that has no time of its own.
    pub fn time(&self) -> Option<u64> {
        match *self {
            TraceEvent::Begin { time, .. }
            | TraceEvent::End { time }
            | TraceEvent::BeginRegion { time, .. }
            | TraceEvent::EndRegion { time }
            | TraceEvent::Memory { time, .. }
            | TraceEvent::Wait { ended: time, .. } => Some(time),
            TraceEvent::Thread { .. }
            | TraceEvent::Text { .. }
            | TraceEvent::Sent { .. }
            | TraceEvent::Received { .. } => None,
        }
    }

    /// Bytes of a text that one event has.
    pub(crate) const TEXT_BYTES: usize = 8 * TracePlace::WORDS;

    /// Its kind, its text and its other words.
    #[inline(always)]
    fn words(&self) -> (u32, u32, [u64; TracePlace::WORDS]) {
        match *self {
            TraceEvent::Thread { id } => (THREAD, 0, [id.into(), 0, 0]),
            TraceEvent::Text { text, bytes } => {
                let mut words = [0; TracePlace::WORDS];
                for (word, eight) in words.iter_mut().zip(bytes.as_chunks().0) {
                    *word = u64::from_le_bytes(*eight);
                }
                (TEXT, text, words)
            }
            TraceEvent::Begin { time, call, window, operation: None } => {
                (BEGIN, window, [time, u64::from(call as u32), 0])
            }
            TraceEvent::Begin { time, call, window, operation: Some((target, bytes)) } => {
                let operation = operation_word((target.unwrap_or(u32::MAX), bytes));
                (BEGIN_OPERATION, window, [time, u64::from(call as u32), operation])
            }
            TraceEvent::End { time } => (END, 0, [time, 0, 0]),
            TraceEvent::Wait { begun, ended, line } => (WAIT, line, [begun, ended, 0]),
            TraceEvent::BeginRegion { time, name } => (BEGIN_REGION, name, [time, 0, 0]),
            TraceEvent::EndRegion { time } => (END_REGION, 0, [time, 0, 0]),
            TraceEvent::Memory { time, bytes } => (MEMORY, 0, [time, bytes, 0]),
            TraceEvent::Sent { arrow } => (SENT, 0, [arrow, 0, 0]),
            TraceEvent::Received { arrow } => (RECEIVED, 0, [arrow, 0, 0]),
        }
    }

    /// The event of these words.
    #[inline(always)]
    fn read(kind: u32, text: u32, words: [u64; TracePlace::WORDS]) -> Option<TraceEvent> {
        let [time, second, operation] = words;
        Some(match kind {
            THREAD => TraceEvent::Thread { id: time as u32 },
            TEXT => {
                let mut bytes = [0; TraceEvent::TEXT_BYTES];
                for (eight, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
                    *eight = u64::to_le_bytes(word);
                }
                TraceEvent::Text { text, bytes }
            }
            BEGIN | BEGIN_OPERATION => TraceEvent::Begin {
                time,
                call: Call::from_word(second as u32)?,
                window: text,
                operation: (kind == BEGIN_OPERATION).then(|| read_operation(operation)),
            },
            END => TraceEvent::End { time },
            WAIT => TraceEvent::Wait { begun: time, ended: second, line: text },
            BEGIN_REGION => TraceEvent::BeginRegion { time, name: text },
            END_REGION => TraceEvent::EndRegion { time },
            MEMORY => TraceEvent::Memory { time, bytes: second },
            SENT => TraceEvent::Sent { arrow: time },
            RECEIVED => TraceEvent::Received { arrow: time },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_as_it_was_written() {
        let place = || TracePlace {
            state: RecordState::default(),
            text: Word32::default(),
            words: Default::default(),
        };
        let (call, window) = (Call::FetchAndOp, 7);
        for event in [
            TraceEvent::Thread { id: 4_194_304 },
            TraceEvent::Text { text: 3, bytes: std::array::from_fn(|at| at as u8) },
            TraceEvent::Begin { time: 1 << 60, call, window, operation: None },
            TraceEvent::Begin { time: 5, call, window, operation: Some((Some(9), 1 << 40)) },
            TraceEvent::Begin { time: 5, call, window: 0, operation: Some((None, 0)) },
            TraceEvent::End { time: 99 },
            TraceEvent::Wait { begun: 7, ended: 8, line: 2 },
            TraceEvent::Sent { arrow: u64::MAX },
            TraceEvent::Received { arrow: 1 },
            TraceEvent::BeginRegion { time: 5, name: 3 },
            TraceEvent::EndRegion { time: 6 },
            TraceEvent::Memory { time: 7, bytes: 1 << 50 },
        ] {
            let (here, behind) = (place(), place());
            here.publish(&behind, 12, &event);
            assert_eq!(here.read(here.state.found()), Some((12, event)));
        }
        assert_eq!(place().read(MEMORY + 1), None);
    }
}
