//! What a rank says of a wait while it sleeps: for the launcher, which finds deadlocks by it, and
//! for whoever asks the launcher how the ranks are.
//!
//! Written on the way to sleep and every tenth of a second while asleep (less often in a job of more
//! than 256 ranks), never on a path that does not sleep. All words are relaxed and none is waited on. The launcher needs no order between
//! them: what it proves, it proves from [`WaitRecord::sleep`] alone, one word, read twice with
//! complete looks of the sleeper in between (`launcher/deadlock.rs`); the rest is for its sentences,
//! and has not changed for some tenths of a second when it is read.

use super::machine::monotonic;
use super::{Word32, Word64};
use core::panic::Location;
use std::sync::OnceLock;

/// What a rank waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum AwaitedKind {
    /// It has not said.
    #[default]
    Unknown = 0,
    /// All of `others` arrive at `meeting` for the time `number`; `come` of `awaited` have.
    Arrival,
    /// `peer` posts.
    Post,
    /// All of `others` complete; `come` of `awaited` have.
    Complete,
    /// The lock of `peer` is free; `holder` has it exclusively, if somebody has.
    Lock,
    /// As `Lock`, but it is held by the lock_all epochs of others.
    LockAllEnds,
    /// No part of the window is locked exclusively; `holder` has such a lock.
    LockAll,
    /// Notifications of counter `number`; `come` of `awaited` have come.
    Notification,
    /// A write to displacement `number` of the part of `peer`.
    Value,
    /// The library's own exclusion around the allocator, the registry of communicators or what a rank
    /// has attached.
    Exclusion,
    /// `peer`, or if there is none any of `others`, sends a message, with tag `number` unless that
    /// is [`Awaited::ANY`].
    Message,
    /// `peer` receives a message, which has tag `number`.
    Receipt,
    /// One of several messages is sent or received.
    Messages,
    /// All of `others` take their part in the collective `number` of the communicator at `meeting`.
    Collective,
}

impl AwaitedKind {
    const ALL: [AwaitedKind; 14] = [
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
        AwaitedKind::Messages,
        AwaitedKind::Collective,
    ];
}

/// What a rank waits for, in particular. Ranks are those of the world.
#[derive(Clone, Copy, Debug, Default)]
pub struct Awaited<'a> {
    /// What the other fields mean.
    pub kind: AwaitedKind,
    /// The one rank that it is about.
    pub peer: Option<u32>,
    /// Who holds what is wanted.
    pub holder: Option<u32>,
    /// Those that it is about, with or without the rank itself.
    pub others: &'a [u32],
    /// How much has come.
    pub come: u32,
    /// How much has to come.
    pub awaited: u32,
    /// A number that the kind gives a meaning to.
    pub number: u64,
    /// Where in the segment the ranks meet: the same for those that wait for one another.
    pub meeting: u64,
}

impl Awaited<'_> {
    /// As `number`, any tag.
    pub const ANY: u64 = u64::MAX;
}

/// What was read of an [`Awaited`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AwaitedRead {
    /// See [`Awaited`].
    pub kind: AwaitedKind,
    /// See [`Awaited`].
    pub peer: Option<u32>,
    /// See [`Awaited`].
    pub holder: Option<u32>,
    /// See [`Awaited`]; in ascending order. None where there was no room for all.
    pub others: Vec<u32>,
    /// See [`Awaited`].
    pub come: u32,
    /// See [`Awaited`].
    pub awaited: u32,
    /// See [`Awaited`].
    pub number: u64,
    /// See [`Awaited`].
    pub meeting: u64,
    /// When the wait began to sleep, in nanoseconds of CLOCK_MONOTONIC.
    pub since: u64,
    /// File and line of the call; empty where they are not known.
    pub place: String,
    /// The call and its window, as the rank's slot has them (`shm/slot.rs`).
    pub doing: u64,
}

/// One sleep of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// Odd while asleep; every sleep has another.
    pub number: u32,
    /// How often the sleeper has looked again, found that it has to go on waiting, and that there is
    /// nothing it could do about it.
    pub looks: u32,
}

impl Sleep {
    fn word(self) -> u64 {
        u64::from(self.number) << 32 | u64::from(self.looks)
    }

    fn from_word(word: u64) -> Sleep {
        Sleep { number: (word >> 32) as u32, looks: word as u32 }
    }

    /// Whether it lasts.
    pub fn lasts(self) -> bool {
        self.number & 1 == 1
    }
}

/// Bytes kept of the name of a source file.
const FILE_BYTES: usize = 128;
/// Words in which a set of ranks is kept: of each rank of a job, and so not one bit for each other rank
/// of the largest job.
const SET_WORDS: usize = 16;

/// The lines that call are not the program's.
static HIDDEN: OnceLock<()> = OnceLock::new();

/// Lets this process say from now on that the lines of its calls are not known: those that call are a
/// binding's for another language.
#[allow(dead_code, reason = "no model has a binding")]
pub fn hide_lines() {
    let _ = HIDDEN.set(());
}

/// A set of ranks: one bit for each of 1,024 in a row or, where they are further apart, up to 32 runs of
/// them; of a set that is neither, nothing. Zero bytes are the empty set.
#[repr(C)]
#[derive(Default)]
struct SetWords {
    /// The rank of the first bit, or [`SetWords::RUNS`].
    form: Word32,
    words: [Word64; SET_WORDS],
}

impl SetWords {
    const RUNS: u32 = u32::MAX;

    fn say(&self, ranks: &[u32]) {
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

    /// Two runs to a word, each its first rank and the one behind its last; `None` if they are too many.
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

/// What one rank says of the wait it sleeps in. Zero bytes are its initial state: awake.
#[repr(C)]
#[derive(Default)]
pub struct WaitRecord {
    /// A [`Sleep`], in one word, so that it is never read half.
    sleep: Word64,
    since: Word64,
    doing: Word64,
    number: Word64,
    meeting: Word64,
    kind: Word32,
    peer: Word32,
    holder: Word32,
    come: Word32,
    awaited: Word32,
    line: Word32,
    others: SetWords,
    file: [Word64; FILE_BYTES / 8],
}

impl WaitRecord {
    /// Ranks from here on are left out of what is said.
    pub const MOST_RANKS: u32 = 4096;

    /// Whether, and for how many looks, the rank has slept.
    pub fn sleep(&self) -> Sleep {
        Sleep::from_word(self.sleep.load())
    }

    /// Says what the rank waits for.
    pub fn say(&self, awaited: &Awaited<'_>) {
        let named = |rank: Option<u32>| rank.map_or(0, |rank| rank + 1);
        self.kind.store(awaited.kind as u32);
        self.peer.store(named(awaited.peer));
        self.holder.store(named(awaited.holder));
        self.come.store(awaited.come);
        self.awaited.store(awaited.awaited);
        self.number.store(awaited.number);
        self.meeting.store(awaited.meeting);
        self.others.say(awaited.others);
    }

    fn say_where(&self, at: &Location<'_>) {
        let (name, line) = match HIDDEN.get() {
            None => (at.file(), at.line()),
            Some(()) => ("", 0),
        };
        // Its end says more than its beginning.
        let from = name.ceil_char_boundary(name.len().saturating_sub(FILE_BYTES));
        let mut bytes = [0u8; FILE_BYTES];
        bytes[..name.len() - from].copy_from_slice(&name.as_bytes()[from..]);
        for (word, eight) in self.file.iter().zip(bytes.as_chunks().0) {
            word.store(u64::from_le_bytes(*eight));
        }
        self.line.store(line);
    }

    /// What the rank has said last.
    pub fn read(&self) -> AwaitedRead {
        let named = |word: &Word32| word.load().checked_sub(1);
        let kind = AwaitedKind::ALL.get(self.kind.load() as usize).copied().unwrap_or_default();
        let bytes: Vec<u8> = self.file.iter().flat_map(|word| word.load().to_le_bytes()).collect();
        let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let place = || format!("{}:{}", String::from_utf8_lossy(name), self.line.load());
        AwaitedRead {
            kind,
            peer: named(&self.peer),
            holder: named(&self.holder),
            others: self.others.read(),
            come: self.come.load(),
            awaited: self.awaited.load(),
            number: self.number.load(),
            meeting: self.meeting.load(),
            since: self.since.load(),
            place: if name.is_empty() { String::new() } else { place() },
            doing: self.doing.load(),
        }
    }
}

/// How a call that may sleep says what it waits for.
#[derive(Clone, Copy)]
pub struct Account<'a> {
    /// Where to say it.
    pub record: &'a WaitRecord,
    /// The call that waits, and its window: another thread of the rank may be in another call.
    pub doing: u64,
    /// The program's line that made the call.
    pub at: &'static Location<'static>,
    /// Says it, by [`WaitRecord::say`]; also again, because what is in the way changes.
    pub tell: &'a dyn Fn(&WaitRecord),
}

/// A wait that sleeps, until dropped.
pub(super) struct Asleep<'a> {
    account: Account<'a>,
    sleep: Sleep,
}

impl<'a> Asleep<'a> {
    pub(super) fn begin(account: Account<'a>) -> Asleep<'a> {
        let mut asleep = Asleep { account, sleep: Sleep { number: 0, looks: 0 } };
        asleep.say_all();
        asleep
    }

    fn say_all(&mut self) {
        let Account { record, doing, at, tell } = self.account;
        record.since.store(monotonic());
        record.doing.store(doing);
        record.say_where(at);
        tell(record);
        // The next odd number.
        self.sleep = Sleep { number: record.sleep().number.wrapping_add(1) | 1, looks: 0 };
        record.sleep.store(self.sleep.word());
    }

    /// The wait has looked, slept and looked for something to do; `changed`: it has found it.
    pub(super) fn looked(&mut self, changed: bool) {
        let Account { record, tell, .. } = self.account;
        if record.sleep().number != self.sleep.number {
            // Another thread of the rank has said something here; now this one does again. (Ranks
            // of several threads are never taken for blocked.)
            return self.say_all();
        }
        tell(record);
        match changed {
            // As if another wait had begun: what was seen before is no evidence any more.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn kept(ranks: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let words = SetWords::default();
        // What was said before leaves nothing behind.
        words.say(&[5, 700, 4000]);
        words.say(&ranks.into_iter().collect::<Vec<_>>());
        words.read()
    }

    #[test]
    fn sets_are_read_as_they_were_said_or_as_none() {
        let same = |ranks: Vec<u32>| assert_eq!(kept(ranks.iter().rev().copied()), ranks);
        same(vec![]);
        same(vec![0]);
        same(vec![4095]);
        same((0..4096).collect());
        same((0..1024).step_by(2).collect());
        same((3008..4032).step_by(2).collect());
        same([0..1, 5..6, 2000..4096].into_iter().flatten().collect());
        same((0..4096).step_by(128).collect());
        assert_eq!(kept((0..4096).step_by(64)), []);
        assert_eq!(kept([7, 4096, u32::MAX]), [7]);
    }
}
