//! The last calls of a rank, which outlive it: the launcher reads them when the job fails, and when it is asked.
//!
//! A rank alone writes the entries. Of two threads in calls at once one may overwrite the other's entry; an entry never
//! mixes two calls in its first word, and a reader drops one whose number is not that of its place.
//!
//! A put takes less time than a clock is read in. So the launcher looks several times a second at how many calls have
//! ended, and keeps its looks: a call began after the last one that had not seen it.

use super::slot::CallWord;
use crate::call::Call;
use crate::prim::{Word64, caller};

/// The calls that a rank keeps.
pub(crate) const LAST_CALLS: usize = 64;

/// A call with what it does.
#[repr(C)]
#[derive(Default)]
struct CallEntry {
    /// The call, its window and its number.
    call: CallWord,
    /// Target and bytes of an operation.
    operation: Word64,
    /// The address to which the call returns, of a program in C; otherwise zero.
    caller: Word64,
}

/// A look of the launcher at a rank.
#[repr(C)]
#[derive(Default)]
struct Look {
    /// When, in nanoseconds of CLOCK_MONOTONIC: the last look of those that found the same.
    at: Word64,
    /// What it found ([`CallRecorder::progress`]).
    progress: Word64,
}

/// Places of looks: for one before each of the last calls, one in it, the latest, and one that is being written.
const LOOKS: usize = 2 * LAST_CALLS + 2;

/// The last calls of a rank. Zero bytes are its initial state: there has been none.
#[repr(C, align(128))]
pub(crate) struct CallRecorder {
    entries: [CallEntry; LAST_CALLS],
    /// How many calls have ended. The next one is under way if its entry has this number.
    ended: Word64,
    /// How many different looks there have been.
    looked: Word64,
    looks: [Look; LOOKS],
    /// The first look that found what the last one has found.
    seen_since: Word64,
}

/// A recorded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordedCall {
    pub(crate) call: Call,
    /// What names its window, or zero.
    pub(crate) window: u64,
    /// Of an operation, the rank of the window or communicator, and the bytes.
    pub(crate) operation: Option<(Option<u32>, u64)>,
    /// When the launcher looked last before it.
    pub(crate) began: Option<u64>,
    /// The address to which it returns, of a program in C.
    pub(crate) caller: Option<u64>,
    pub(crate) is_under_way: bool,
}

/// Bits of a target in the word of an operation; the bytes are above.
const TARGET_BITS: u32 = 16;
const NO_TARGET: u64 = (1 << TARGET_BITS) - 1;

/// A target and bytes in one word.
#[inline(always)]
pub(super) fn operation_word((target, bytes): (u32, u64)) -> u64 {
    bytes << TARGET_BITS | u64::from(target as u16)
}

/// Those of a word; `None` for no target in particular.
pub(super) fn read_operation(word: u64) -> (Option<u32>, u64) {
    let target = word & NO_TARGET;
    ((target != NO_TARGET).then_some(target as u32), word >> TARGET_BITS)
}

impl Default for CallRecorder {
    fn default() -> CallRecorder {
        CallRecorder {
            entries: std::array::from_fn(|_| CallEntry::default()),
            ended: Word64::default(),
            looked: Word64::default(),
            looks: std::array::from_fn(|_| Look::default()),
            seen_since: Word64::default(),
        }
    }
}

impl CallRecorder {
    #[inline(always)]
    fn entry(&self, number: u64) -> &CallEntry {
        &self.entries[number as usize % LAST_CALLS]
    }

    /// The rank begins a call on a window (zero for none).
    #[inline(always)]
    pub(crate) fn begin(&self, call: Call, window: u64) {
        let number = self.ended.load();
        let entry = self.entry(number);
        entry.caller.store(caller());
        entry.call.set_numbered(call, window, number);
    }

    /// The same of an operation of that many bytes on rank `target` of the window.
    #[inline(always)]
    pub(crate) fn begin_operation(&self, call: Call, window: u64, operation: (u32, u64)) {
        let number = self.ended.load();
        let entry = self.entry(number);
        entry.operation.store(operation_word(operation));
        entry.caller.store(caller());
        entry.call.set_operation(call, window, number);
    }

    /// The call has ended.
    #[inline(always)]
    pub(crate) fn end(&self) {
        self.ended.store(self.ended.load() + 1);
    }

    /// How many calls have ended, and whether one is under way: grows with each that begins or ends.
    fn progress(&self) -> u64 {
        let number = self.ended.load();
        let is_in = |word| word != 0;
        number << 1 | u64::from(self.entry(number).call.word_of(number).is_some_and(is_in))
    }

    fn look_at(&self, number: u64) -> &Look {
        &self.looks[number as usize % LOOKS]
    }

    /// The looks that are kept, the latest last.
    fn looks(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        let looked = self.looked.load();
        let read = |look: &Look| (look.at.load(), look.progress.load());
        // The launcher may be writing the next one, where the oldest was.
        let first = (looked + 1).saturating_sub(LOOKS as u64);
        (first..looked).map(move |number| read(self.look_at(number)))
    }

    /// Looks at what the rank does: the launcher, and first the rank when it joins.
    pub(crate) fn look(&self, now: u64) {
        let (looked, progress) = (self.looked.load(), self.progress());
        // The other one of them may look at this moment.
        let latest = looked.checked_sub(1).map(|number| self.look_at(number));
        if let Some(latest) = latest.filter(|latest| latest.progress.load() == progress) {
            return latest.at.store(now);
        }
        self.seen_since.store(now);
        let look = self.look_at(looked);
        look.at.store(now);
        look.progress.store(progress);
        self.looked.store(looked + 1);
    }

    /// When a call of that number, or a later one, was begun at the earliest.
    fn began(&self, number: u64) -> Option<u64> {
        let before = |&(_, progress): &(u64, u64)| progress <= number << 1;
        self.looks().take_while(before).last().map(|(at, _)| at)
    }

    /// Since when the rank has been in the present call, or in none. `None` if that has changed since the last look.
    pub(crate) fn since(&self) -> Option<u64> {
        let progress = self.progress();
        let (_, last) = self.looks().next_back()?;
        match progress & 1 == 1 {
            _ if last != progress => None,
            true => self.began(progress >> 1),
            false => Some(self.seen_since.load()),
        }
    }

    /// How many calls have ended.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.load()
    }

    /// The present call, as a word for [`CallWord::read`]; zero for none.
    #[inline]
    pub(crate) fn present(&self) -> u64 {
        let number = self.ended.load();
        let word = self.entry(number).call.word_of(number);
        word.unwrap_or_default()
    }

    /// The last calls, the latest last. What a rank writes meanwhile may be missing.
    pub(crate) fn read(&self) -> Vec<RecordedCall> {
        let next = self.ended.load();
        let first = (next + 1).saturating_sub(LAST_CALLS as u64);
        let read = |number: u64| {
            let entry = self.entry(number);
            let (word, operation) = (entry.call.word_of(number)?, entry.operation.load());
            let (call, window) = CallWord::read(word);
            let operation = CallWord::is_operation(word).then(|| read_operation(operation));
            let is_under_way = number == next;
            let caller = Some(entry.caller.load()).filter(|caller| *caller != 0);
            let began = self.began(number);
            let recorded = RecordedCall { call, window, operation, began, caller, is_under_way };
            (call != Call::None).then_some(recorded)
        };
        (first..=next).filter_map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_calls_are_in_order_and_the_present_one_is_under_way() {
        let recorder = CallRecorder::default();
        assert_eq!((recorder.read(), recorder.present()), (vec![], 0));
        for bytes in 0..1000 {
            recorder.begin_operation(Call::Put, 256, (3, bytes));
            recorder.end();
        }
        recorder.begin(Call::Fence, 256);
        let read = recorder.read();
        assert_eq!(read.len(), LAST_CALLS);
        for (at, one) in read[..LAST_CALLS - 1].iter().enumerate() {
            let bytes = 1000 - (LAST_CALLS - 1) as u64 + at as u64;
            let operation = Some((Some(3), bytes));
            let (call, window, began, caller) = (Call::Put, 256, None, None);
            let put = RecordedCall { call, window, operation, began, caller, is_under_way: false };
            assert_eq!(*one, put);
        }
        let fence = RecordedCall {
            call: Call::Fence,
            window: 256,
            operation: None,
            began: None,
            caller: None,
            is_under_way: true,
        };
        assert_eq!(read.last(), Some(&fence));
        assert_eq!(CallWord::read(recorder.present()), (Call::Fence, 256));
        recorder.end();
        assert_eq!(recorder.present(), 0);
    }

    #[test]
    fn an_entry_of_another_round_is_dropped() {
        let recorder = CallRecorder::default();
        recorder.begin(Call::Lock, 128);
        // Two threads end their calls, which shared an entry.
        recorder.end();
        recorder.end();
        recorder.begin(Call::Unlock, 128);
        let calls: Vec<Call> = recorder.read().iter().map(|one| one.call).collect();
        assert_eq!(calls, [Call::Lock, Call::Unlock]);
    }

    #[test]
    fn a_rank_that_joins_and_the_launcher_look_at_once() {
        let recorders: Vec<_> = (0..20_000).map(|_| CallRecorder::default()).collect();
        let together = std::sync::Barrier::new(2);
        let look = || {
            together.wait();
            recorders.iter().for_each(|recorder| recorder.look(7));
        };
        std::thread::scope(|scope| {
            scope.spawn(look);
            look();
        });
        assert!(recorders.iter().all(|recorder| recorder.since() == Some(7)));
    }

    #[test]
    fn a_call_has_the_time_of_the_last_look_before_it() {
        let recorder = CallRecorder::default();
        recorder.begin(Call::Barrier, 0);
        recorder.end();
        assert_eq!(recorder.since(), None);
        recorder.look(100);
        recorder.begin_operation(Call::Put, 128, (1, 8));
        assert_eq!(recorder.since(), None, "it may have begun just now");
        recorder.look(200);
        assert_eq!(recorder.since(), Some(100));
        recorder.end();
        assert_eq!(recorder.since(), None, "it may have ended just now");
        for now in [300, 400] {
            recorder.look(now);
            assert_eq!(recorder.since(), Some(300), "outside the library");
        }
        recorder.begin(Call::Fence, 128);
        let began: Vec<_> = recorder.read().iter().map(|one| one.began).collect();
        assert_eq!(began, [None, Some(100), Some(400)]);
    }

    #[test]
    fn each_of_the_last_calls_has_its_time_when_all_are_seen_twice() {
        let recorder = CallRecorder::default();
        for number in 0..200 {
            recorder.look(10 * number + 1);
            recorder.begin(Call::Barrier, 0);
            recorder.look(10 * number + 5);
            recorder.end();
        }
        recorder.look(2001);
        let began: Vec<_> = recorder.read().iter().map(|one| one.began).collect();
        let last = (0..200).map(|number| Some(10 * number + 1)).collect::<Vec<_>>();
        assert_eq!(began, last[last.len() - began.len()..]);
    }
}
