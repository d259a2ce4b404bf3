//! The record that a sleeping rank keeps of its wait. The launcher finds deadlocks by it and prints
//! it for `rmarun --status`.
//!
//! A rank writes it before it sleeps and every tenth of a second while it sleeps (less often in a job of
//! more than 256 ranks). A path that does not sleep never writes it. All words are relaxed, and no rank
//! waits on them. The launcher needs no order between them: its proof uses [`WaitRecord::sleep`] alone,
//! one word, read twice with complete looks of the sleeper in between (`launcher/deadlock.rs`). The rest
//! is for its messages, and has been stable for some tenths of a second when it is read.

use super::machine::monotonic;
use super::{Word32, Word64};
use core::fmt::Display;
use core::panic::Location;
use std::io::Write;
use std::sync::OnceLock;

/// What a rank waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum AwaitedKind {
    /// Not recorded.
    #[default]
    Unknown = 0,
    /// All of `others` arrive at `meeting` for the `number`th time; `come` of `awaited` have.
    Arrival,
    /// `peer` posts.
    Post,
    /// All of `others` complete; `come` of `awaited` have.
    Complete,
    /// The lock of `peer` becomes free; `holder` holds it exclusively, if any rank does.
    Lock,
    /// The lock of `peer` becomes free, which the lock_all epochs of other ranks hold.
    LockAllEnds,
    /// No part of the window is locked exclusively; `holder` holds such a lock.
    LockAll,
    /// Notifications of counter `number`; `come` of `awaited` have arrived.
    Notification,
    /// A write to displacement `number` of the part of `peer`.
    Value,
    /// The library's own exclusion around the allocator, the registry of communicators or a rank's
    /// attached memory.
    Exclusion,
    /// `peer`, or any of `others` if there is none, sends a message; with tag `number` unless that is
    /// [`Awaited::ANY`].
    Message,
    /// `peer` receives a message with tag `number`.
    Receipt,
    /// One of `awaited` requests is complete; the requests wait for `others`.
    Requests,
    /// All of `others` take part in the collective `number` of the communicator at `meeting`.
    Collective,
    /// `come` of `awaited` partitions of a message to `peer`, which has tag `number`, are ready.
    Partitions,
    /// The program itself completes a generalized request.
    Program,
}

impl AwaitedKind {
    /// That of a number; [`AwaitedKind::Unknown`] for an invalid one.
    pub fn of(number: u32) -> AwaitedKind {
        AwaitedKind::ALL.get(number as usize).copied().unwrap_or_default()
    }

    const ALL: [AwaitedKind; 16] = [
        AwaitedKind::Unknown,
        AwaitedKind::Arrival,
        AwaitedKind::Post,
        AwaitedKind::Complete,
        AwaitedKind::Lock,
        AwaitedKind::LockAllEnds,
        AwaitedKind::LockAll,
        AwaitedKind::Notification,
        AwaitedKind::Value,
        AwaitedKind::Exclusion,
        AwaitedKind::Message,
        AwaitedKind::Receipt,
        AwaitedKind::Requests,
        AwaitedKind::Collective,
        AwaitedKind::Partitions,
        AwaitedKind::Program,
    ];
}

/// What a rank waits for, with its values. Ranks are those of the world.
#[derive(Clone, Copy, Debug, Default)]
pub struct Awaited<'a> {
    /// What the other fields mean.
    pub kind: AwaitedKind,
    /// The awaited rank, if it is one.
    pub peer: Option<u32>,
    /// The holder of the awaited lock.
    pub holder: Option<u32>,
    /// The awaited ranks, with or without the rank itself.
    pub others: &'a [u32],
    /// How many have arrived.
    pub come: u32,
    /// How many have to arrive.
    pub awaited: u32,
    /// A number with a meaning for each kind.
    pub number: u64,
    /// The offset in the segment at which ranks synchronise: the same for all that wait there.
    pub object: u64,
}

impl Awaited<'_> {
    /// The value of `number` for any tag.
    pub const ANY: u64 = u64::MAX;
}

/// The numbers of an [`Awaited`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AwaitedWords {
    /// See [`Awaited`].
    pub kind: AwaitedKind,
    /// See [`Awaited`].
    pub peer: Option<u32>,
    /// See [`Awaited`].
    pub holder: Option<u32>,
    /// See [`Awaited`].
    pub number: u64,
    /// See [`Awaited`].
    pub object: u64,
}

/// An [`Awaited`] as the launcher reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AwaitedRead {
    /// See [`Awaited`].
    pub kind: AwaitedKind,
    /// See [`Awaited`].
    pub peer: Option<u32>,
    /// See [`Awaited`].
    pub holder: Option<u32>,
    /// See [`Awaited`]; in ascending order. Empty if they did not fit.
    pub others: Vec<u32>,
    /// See [`Awaited`].
    pub come: u32,
    /// See [`Awaited`].
    pub awaited: u32,
    /// See [`Awaited`].
    pub number: u64,
    /// See [`Awaited`].
    pub object: u64,
    /// When the wait began to sleep, in nanoseconds of CLOCK_MONOTONIC.
    pub since: u64,
    /// File and line of the call; empty if unknown.
    pub place: String,
    /// The call and its window, in the format of the rank's slot (`shm/slot.rs`).
    pub doing: u64,
}

/// One sleep of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// Odd while asleep; every sleep has another.
    pub number: u32,
    /// How many complete looks have failed: the sleeper has checked its word and its progress work,
    /// and found nothing to do.
    pub looks: u32,
}

impl Sleep {
    fn word(self) -> u64 {
        u64::from(self.number) << 32 | u64::from(self.looks)
    }

    fn from_word(word: u64) -> Sleep {
        Sleep { number: (word >> 32) as u32, looks: word as u32 }
    }

    /// Whether the rank still sleeps.
    pub fn lasts(self) -> bool {
        self.number & 1 == 1
    }
}

/// Bytes recorded of a file and line.
const PLACE_BYTES: usize = 136;
/// Words of a set of ranks. Every rank has such a set, so it cannot have a bit for each rank of the
/// largest job.
const SET_WORDS: usize = 16;

/// How a binding for another language finds the program's line of the present call, because the callers' lines
/// are its own.
static BINDING: OnceLock<(FindLine, FindCaller)> = OnceLock::new();

/// The line of the program that made the present call: `app.c:118`.
pub type FindLine = fn() -> Option<String>;

/// The address in the program's code to which the present call returns, if a line follows from it: the same address has
/// the same line.
pub type FindCaller = fn() -> Option<usize>;

/// From now on, a rank that has slept for long records the line that `find` returns, and no line before; `caller` finds the
/// address of the line.
#[allow(dead_code, reason = "no model has a binding")]
pub fn find_lines_by(find: FindLine, caller: FindCaller) {
    let _ = BINDING.set((find, caller));
}

/// Whether [`find_lines_by`] was called.
#[allow(dead_code, reason = "no model has a binding")]
pub fn has_binding() -> bool {
    BINDING.get().is_some()
}

/// The line that a binding finds for the present call, if there is a binding.
#[allow(dead_code, reason = "no model has a binding")]
pub fn line_by_binding() -> Option<String> {
    BINDING.get().and_then(|(find, _)| find())
}

/// The address by which a binding finds that line, if there is a binding and it does.
#[allow(dead_code, reason = "no model has a binding")]
pub fn caller_by_binding() -> Option<usize> {
    BINDING.get().and_then(|(_, caller)| caller())
}

/// A set of ranks: one bit for each of 1,024 consecutive ranks or, for a wider range, up to 32 runs.
/// A set that fits neither form is stored as empty. Zero bytes are the empty set.
#[repr(C)]
#[derive(Default)]
struct SetWords {
    /// The rank of the first bit, or [`SetWords::RUNS`].
    form: Word32,
    words: [Word64; SET_WORDS],
}

impl SetWords {
    const RUNS: u32 = u32::MAX;

    fn store(&self, ranks: &[u32]) {
        let mut all = [0u64; WaitRecord::MOST_RANKS as usize / 64];
        for rank in ranks.iter().filter(|rank| **rank < WaitRecord::MOST_RANKS) {
            all[(rank / 64) as usize] |= 1 << (rank % 64);
        }
        let mut words = [0; SET_WORDS];
        let first = all.iter().position(|bits| *bits != 0).unwrap_or_default();
        let end = all.iter().rposition(|bits| *bits != 0).map_or(first, |last| last + 1);
        let form = match all[first..end].len() <= SET_WORDS {
            true => {
                words[..end - first].copy_from_slice(&all[first..end]);
                first as u32 * 64
            }
            false => {
                words = SetWords::runs(&all).unwrap_or_default();
                SetWords::RUNS
            }
        };
        self.form.store(form);
        self.words.iter().zip(words).for_each(|(word, bits)| word.store(bits));
    }

    /// Two runs per word, each with its first rank and the one after its last; `None` if too many.
    fn runs(all: &[u64]) -> Option<[u64; SET_WORDS]> {
        let has =
            |rank: u32| all.get((rank / 64) as usize).is_some_and(|w| w >> (rank % 64) & 1 == 1);
        let mut words = [0; SET_WORDS];
        let (mut run, mut begun) = (0, None);
        for rank in 0..=WaitRecord::MOST_RANKS {
            match (begun, has(rank)) {
                (None, true) => begun = Some(rank),
                (Some(first), false) => {
                    let both = u64::from(rank << 16 | first);
                    *words.get_mut(run / 2)? |= both << (run % 2 * 32);
                    (run, begun) = (run + 1, None);
                }
                _ => {}
            }
        }
        Some(words)
    }

    fn read(&self) -> Vec<u32> {
        let words = self.words.each_ref().map(Word64::load);
        match self.form.load() {
            SetWords::RUNS => {
                let run = |run: u64| (run & 0xFFFF) as u32..(run >> 16) as u32;
                words
                    .iter()
                    .flat_map(|w| [w & u64::from(u32::MAX), w >> 32])
                    .flat_map(run)
                    .collect()
            }
            first => {
                let member = |bit: &u32| words[(bit / 64) as usize] >> (bit % 64) & 1 == 1;
                let bits = (0..64 * SET_WORDS as u32).filter(member);
                bits.map(|bit| first.saturating_add(bit)).collect()
            }
        }
    }
}

/// The end of a path, which is its informative part; a line fits behind it.
fn end_of(path: &str) -> &str {
    &path[path.ceil_char_boundary(path.len().saturating_sub(PLACE_BYTES - ":4294967295".len()))..]
}

/// The record of the wait in which one rank sleeps. Zero bytes are its initial state: awake.
#[repr(C)]
#[derive(Default)]
pub struct WaitRecord {
    /// A [`Sleep`] in one word, so that a reader never sees half of it.
    sleep: Word64,
    since: Word64,
    doing: Word64,
    number: Word64,
    object: Word64,
    kind: Word32,
    peer: Word32,
    holder: Word32,
    come: Word32,
    awaited: Word32,
    others: SetWords,
    place: [Word64; PLACE_BYTES / 8],
}

impl WaitRecord {
    /// Ranks from this one on are not recorded.
    pub const MOST_RANKS: u32 = 4096;

    /// The present sleep and its failed looks.
    pub fn sleep(&self) -> Sleep {
        Sleep::from_word(self.sleep.load())
    }

    /// Since when it has slept, in nanoseconds of CLOCK_MONOTONIC.
    #[allow(dead_code, reason = "no model is traced")]
    pub fn since(&self) -> u64 {
        self.since.load()
    }

    /// Records what the rank waits for.
    pub fn set(&self, awaited: &Awaited<'_>) {
        let named = |rank: Option<u32>| rank.map_or(0, |rank| rank + 1);
        self.kind.store(awaited.kind as u32);
        self.peer.store(named(awaited.peer));
        self.holder.store(named(awaited.holder));
        self.come.store(awaited.come);
        self.awaited.store(awaited.awaited);
        self.number.store(awaited.number);
        self.object.store(awaited.object);
        self.others.store(awaited.others);
    }

    /// What the rank waits for, without the awaited ranks.
    #[allow(dead_code, reason = "the models count no waits")]
    pub fn words(&self) -> AwaitedWords {
        let named = |word: &Word32| word.load().checked_sub(1);
        AwaitedWords {
            kind: AwaitedKind::of(self.kind.load()),
            peer: named(&self.peer),
            holder: named(&self.holder),
            number: self.number.load(),
            object: self.object.load(),
        }
    }

    /// The awaited ranks, in ascending order.
    #[allow(dead_code, reason = "the models count no waits")]
    pub fn others(&self) -> Vec<u32> {
        self.others.read()
    }

    /// Allocates nothing.
    fn set_place(&self, place: &dyn Display) {
        let mut bytes = [0u8; PLACE_BYTES];
        // What does not fit is cut off.
        let _ = write!(&mut bytes[..], "{place}");
        for (word, eight) in self.place.iter().zip(bytes.as_chunks().0) {
            word.store(u64::from_le_bytes(*eight));
        }
    }

    /// The latest record.
    pub fn read(&self) -> AwaitedRead {
        let named = |word: &Word32| word.load().checked_sub(1);
        let kind = AwaitedKind::of(self.kind.load());
        let bytes: Vec<u8> = self.place.iter().flat_map(|word| word.load().to_le_bytes()).collect();
        let place = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        AwaitedRead {
            kind,
            peer: named(&self.peer),
            holder: named(&self.holder),
            others: self.others.read(),
            come: self.come.load(),
            awaited: self.awaited.load(),
            number: self.number.load(),
            object: self.object.load(),
            since: self.since.load(),
            place: String::from_utf8_lossy(place).into_owned(),
            doing: self.doing.load(),
        }
    }
}

/// How a call that may sleep records what it waits for.
#[derive(Clone, Copy)]
pub struct Account<'a> {
    /// The record to write.
    pub record: &'a WaitRecord,
    /// The call that waits, and its window: another thread of the rank may be in another call.
    pub doing: u64,
    /// The program's line that made the call.
    pub at: &'static Location<'static>,
    /// Writes it by [`WaitRecord::set`]; called again while asleep, because the obstacle may change.
    pub describe: &'a dyn Fn(&WaitRecord),
}

impl Account<'_> {
    /// What the call waits for now, in a record of its own.
    #[allow(dead_code, reason = "the models count no waits")]
    pub fn described(&self) -> WaitRecord {
        let record = WaitRecord::default();
        (self.describe)(&record);
        record
    }
}

/// A wait that sleeps, until dropped.
pub(super) struct Asleep<'a> {
    account: Account<'a>,
    sleep: Sleep,
}

impl<'a> Asleep<'a> {
    pub(super) fn begin(account: Account<'a>) -> Asleep<'a> {
        let mut asleep = Asleep { account, sleep: Sleep { number: 0, looks: 0 } };
        asleep.record_all();
        asleep
    }

    fn record_all(&mut self) {
        let Account { record, doing, at, describe } = self.account;
        record.since.store(monotonic());
        record.doing.store(doing);
        match BINDING.get() {
            None => record.set_place(&format_args!("{}:{}", end_of(at.file()), at.line())),
            Some(_) => record.set_place(&""),
        }
        describe(record);
        // The next odd number.
        self.sleep = Sleep { number: record.sleep().number.wrapping_add(1) | 1, looks: 0 };
        record.sleep.store(self.sleep.word());
    }

    /// The wait has completed one look: checked, slept, and done progress work. `changed`: there was
    /// some.
    pub(super) fn looked(&mut self, changed: bool) {
        let Account { record, describe, .. } = self.account;
        if record.sleep().number != self.sleep.number {
            // Another thread of the rank has written the record; this one writes it again. (Ranks
            // with several threads never count as blocked.)
            return self.record_all();
        }
        describe(record);
        if self.sleep.looks == 0
            && let Some((find, _)) = BINDING.get()
        {
            record.set_place(&end_of(&find().unwrap_or_default()));
        }
        match changed {
            // Counts as a new wait: earlier observations are no evidence any more.
            true => self.sleep.number = self.sleep.number.wrapping_add(2),
            false => self.sleep.looks = self.sleep.looks.saturating_add(1),
        }
        record.sleep.store(self.sleep.word());
    }
}

impl Drop for Asleep<'_> {
    fn drop(&mut self) {
        let awake = Sleep { number: self.sleep.number.wrapping_add(1), looks: 0 };
        self.account.record.sleep.store(awake.word());
    }
}

#[cfg(all(test, not(any(loom, simulated))))]
mod tests {
    use super::*;

    fn round_trip(ranks: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let words = SetWords::default();
        // The set before leaves nothing behind.
        words.store(&[5, 700, 4000]);
        words.store(&ranks.into_iter().collect::<Vec<_>>());
        words.read()
    }

    #[test]
    fn sets_are_read_as_they_were_said_or_as_none() {
        let same = |ranks: Vec<u32>| assert_eq!(round_trip(ranks.iter().rev().copied()), ranks);
        same(vec![]);
        same(vec![0]);
        same(vec![4095]);
        same((0..4096).collect());
        same((0..1024).step_by(2).collect());
        same((3008..4032).step_by(2).collect());
        same([0..1, 5..6, 2000..4096].into_iter().flatten().collect());
        same((0..4096).step_by(128).collect());
        assert!(round_trip((0..4096).step_by(64)).is_empty());
        assert_eq!(round_trip([7, 4096, u32::MAX]), [7]);
    }
}
