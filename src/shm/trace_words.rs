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
    /// How many places before its own the line of an event is prefetched: it comes from the launcher's processor, which
    /// may take as long as some calls, and the locked instruction of an update waits for all stores before it.
    const AHEAD: usize = 16;

    /// Prefetches for the event that many places behind the next one.
    #[inline(always)]
    pub(crate) fn expect(places: &[TracePlace], next: usize) {
        if let Some(later) = places.get(next + TracePlace::AHEAD) {
            later.state.expect_update();
        }
    }

    /// Publishes an event of a thread here; `behind` is the place behind this one.
    #[inline(always)]
    pub(crate) fn publish(&self, behind: &TracePlace, thread: u32, event: &TraceEvent) {
        let (kind, text, words) = event.words();
        let state = kind | thread << TracePlace::THREAD_SHIFT;
        self.state.publish(Some(&behind.state), state, || self.store(text, words));
    }

    /// The same for the beginning of a call, which is not published before [`TracePlace::settle`] or
    /// [`TracePlace::close`]. Returns the state for them.
    #[inline(always)]
    pub(crate) fn open(&self, behind: &TracePlace, thread: u32, begin: &TraceEvent) -> u32 {
        let (kind, text, words) = begin.words();
        let open = (kind + OPEN - BEGIN) | thread << TracePlace::THREAD_SHIFT;
        self.state.publish(Some(&behind.state), open, || self.store(text, words));
        open
    }

    /// Publishes the beginning of the call that is open here with that state.
    pub(crate) fn settle(&self, open: u32) {
        self.state.publish(None, open - OPEN + BEGIN, || ());
    }

    /// Publishes the whole call, which has ended at that time, unless it has lasted for more than four seconds.
    #[inline(always)]
    pub(crate) fn close(&self, open: u32, ended: u64) -> bool {
        let [begun, call, _] = &self.words;
        let Ok(lasted) = u32::try_from(ended.wrapping_sub(begun.load())) else { return false };
        let word = call_word(call.load() as u32, lasted);
        self.state.publish(None, open - OPEN + CALL, || call.store(word));
        true
    }

    /// The thread of an event with that state; zero without an event.
    #[inline(always)]
    pub(crate) fn thread_of(state: u32) -> u32 {
        state >> TracePlace::THREAD_SHIFT
    }

    /// Whether it is the state of a call that has been neither settled nor closed.
    #[inline(always)]
    pub(crate) fn is_open(state: u32) -> bool {
        matches!(state & ((1 << TracePlace::THREAD_SHIFT) - 1), OPEN | OPEN_OPERATION)
    }

    #[inline(always)]
    fn store(&self, text: u32, [first, second, third]: [u64; TracePlace::WORDS]) {
        self.text.store(text);
        self.words[0].store(first);
        self.words[1].store(second);
        self.words[2].store(third);
    }

    /// The event with that state, and its thread. `None` if it is none of this library's.
    #[inline(always)]
    pub(crate) fn read(&self, state: u32) -> Option<(u32, TraceEvent)> {
        let kind = state & ((1 << TracePlace::THREAD_SHIFT) - 1);
        let words = self.words.each_ref().map(Word64::load);
        let event = TraceEvent::read(kind, self.text.load(), words)?;
        Some((TracePlace::thread_of(state), event))
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
    /// A call, as [`TraceEvent::Begin`], and its end.
    Call {
        /// When it began.
        begun: u64,
        /// When it ended, at most four seconds later.
        ended: u64,
        /// As of its beginning.
        call: Call,
        /// As of its beginning.
        window: u32,
        /// As of its beginning.
        operation: Option<(Option<u32>, u64)>,
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
const OPEN: u32 = BEGIN_OPERATION + 1;
const OPEN_OPERATION: u32 = OPEN + 1;
const CALL: u32 = OPEN_OPERATION + 1;
const CALL_OPERATION: u32 = CALL + 1;
const END: u32 = CALL_OPERATION + 1;
const WAIT: u32 = END + 1;
const SENT: u32 = WAIT + 1;
const RECEIVED: u32 = SENT + 1;
const BEGIN_REGION: u32 = RECEIVED + 1;
const END_REGION: u32 = BEGIN_REGION + 1;
const MEMORY: u32 = END_REGION + 1;

/// The word of an operation, and 1; zeros without one.
#[inline(always)]
fn optional_operation(operation: Option<(Option<u32>, u64)>) -> (u64, u32) {
    let word = |(target, bytes): (Option<u32>, u64)| (target.unwrap_or(u32::MAX), bytes);
    operation.map_or((0, 0), |operation| (operation_word(word(operation)), 1))
}

/// A call, and for how many nanoseconds it has lasted.
#[inline(always)]
fn call_word(call: u32, lasted: u32) -> u64 {
    u64::from(lasted) << 32 | u64::from(call)
}

impl TraceEvent {
    /// Whether [`TraceEvent::Sent`] may follow the beginning of this call, which is then before all its waits.
    #[inline]
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
            | TraceEvent::Call { ended: time, .. }
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
            TraceEvent::Begin { time, call, window, operation } => {
                let (word, is_operation) = optional_operation(operation);
                (BEGIN + is_operation, window, [time, u64::from(call as u32), word])
            }
            TraceEvent::Call { begun, ended, call, window, operation } => {
                let (word, is_operation) = optional_operation(operation);
                let lasted = u32::try_from(ended - begun).unwrap_or(u32::MAX);
                (CALL + is_operation, window, [begun, call_word(call as u32, lasted), word])
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
            BEGIN | BEGIN_OPERATION | OPEN | OPEN_OPERATION => TraceEvent::Begin {
                time,
                call: Call::from_word(second as u32)?,
                window: text,
                operation: matches!(kind, BEGIN_OPERATION | OPEN_OPERATION)
                    .then(|| read_operation(operation)),
            },
            CALL | CALL_OPERATION => TraceEvent::Call {
                begun: time,
                ended: time.wrapping_add(second >> 32),
                call: Call::from_word(second as u32)?,
                window: text,
                operation: (kind == CALL_OPERATION).then(|| read_operation(operation)),
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

    fn place() -> TracePlace {
        let (state, text, words) = Default::default();
        TracePlace { state, text, words }
    }

    #[test]
    fn an_event_is_read_as_it_was_written() {
        let (call, window) = (Call::FetchAndOp, 7);
        for event in [
            TraceEvent::Thread { id: 4_194_304 },
            TraceEvent::Text { text: 3, bytes: std::array::from_fn(|at| at as u8) },
            TraceEvent::Begin { time: 1 << 60, call, window, operation: None },
            TraceEvent::Begin { time: 5, call, window, operation: Some((Some(9), 1 << 40)) },
            TraceEvent::Begin { time: 5, call, window: 0, operation: Some((None, 0)) },
            TraceEvent::Call { begun: 5, ended: 9, call, window, operation: None },
            TraceEvent::Call { begun: 5, ended: 5, call, window, operation: Some((None, 7)) },
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

    #[test]
    fn an_open_call_is_its_beginning_or_the_whole_call() {
        let (call, window, begun) = (Call::Put, 7, 1 << 50);
        for operation in [None, Some((Some(3), 8))] {
            let begin = TraceEvent::Begin { time: begun, call, window, operation };
            let whole = |ended| TraceEvent::Call { begun, ended, call, window, operation };
            let opened = || {
                let (here, behind) = (place(), place());
                let open = here.open(&behind, 12, &begin);
                assert!(TracePlace::is_open(open) && here.state.found() == open);
                (here, open)
            };
            let read = |place: &TracePlace| {
                let state = place.state.found();
                assert!(!TracePlace::is_open(state));
                place.read(state)
            };
            let (here, open) = opened();
            assert_eq!(here.read(open), Some((12, begin)));
            here.settle(open);
            assert_eq!(read(&here), Some((12, begin)));
            for lasted in [0, 1, u64::from(u32::MAX)] {
                let (here, open) = opened();
                assert!(here.close(open, begun + lasted));
                assert_eq!(read(&here), Some((12, whole(begun + lasted))));
            }
            let (here, open) = opened();
            assert!(!here.close(open, begun + (1 << 32)) && here.state.found() == open);
        }
    }
}
