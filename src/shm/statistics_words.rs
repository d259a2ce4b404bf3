//! What the ranks of a counted job count (`rmarun --stats`, `--report`). Each rank alone writes its words; zero bytes
//! are the initial state.

use crate::prim::{Word32, Word64};

/// What one rank has counted.
#[repr(C, align(128))]
pub(crate) struct StatisticsWords {
    /// When it joined and when it left, in nanoseconds of CLOCK_MONOTONIC; zero before.
    pub(crate) joined: Word64,
    pub(crate) left: Word64,
    /// 1 when one of the tables is full: later kinds of calls or waits are counted in its last record.
    pub(crate) is_full: Word32,
    /// 1 when the rank has moved data to or from a rank: then it has a row of [`TrafficWords`].
    pub(crate) has_traffic: Word32,
    /// The latest arrivals after which this rank had to wait, in turn, and where the next one is recorded.
    pub(crate) next_arrival: Word32,
    pub(crate) arrivals: [ArrivalWords; StatisticsWords::ARRIVALS],
    /// How many windows it has created with others, and the first of them.
    pub(crate) created: Word64,
    pub(crate) windows: [WindowStatisticsWords; StatisticsWords::WINDOWS],
    pub(crate) calls: [CallStatisticsWords; StatisticsWords::CALLS],
    pub(crate) waits: [WaitStatisticsWords; StatisticsWords::WAITS],
    pub(crate) holds: [HoldStatisticsWords; StatisticsWords::HOLDS],
}

impl StatisticsWords {
    /// Calls, each on one window.
    pub(crate) const CALLS: usize = 256;
    /// Lines of the program that wait, each in one call on one window.
    pub(crate) const WAITS: usize = 256;
    /// Locks that it has held, each of one rank's part of a window or of all parts.
    pub(crate) const HOLDS: usize = 64;
    /// Arrivals that the other ranks can look up.
    pub(crate) const ARRIVALS: usize = 8;
    /// Windows, in the order of their creation.
    pub(crate) const WINDOWS: usize = 64;

    /// The record of that number in one of the tables; the last one if the table has fewer.
    pub(crate) fn record<'w, T>(&self, all: &'w [T], at: usize) -> &'w T {
        if at >= all.len() {
            self.is_full.store(1);
        }
        &all[at.min(all.len() - 1)]
    }
}

/// That a rank has arrived where ranks meet, and waits there for others.
#[repr(C)]
pub(crate) struct ArrivalWords {
    /// The offset of the words at which they meet; zero in a record that is not used.
    pub(crate) object: Word64,
    /// Which of the meetings there.
    pub(crate) number: Word64,
}

/// What one rank has moved to and from another: one of `ranks` records of each rank.
#[repr(C)]
pub(crate) struct TrafficWords {
    pub(crate) operations: Word64,
    pub(crate) bytes: Word64,
}

impl TrafficWords {
    pub(crate) fn add(&self, bytes: u64) {
        self.operations.store(self.operations.load() + 1);
        self.bytes.store(self.bytes.load() + bytes);
    }
}

/// A window.
#[repr(C)]
pub(crate) struct WindowStatisticsWords {
    /// [`super::CallWord::of`] the call that has created it and its mark.
    pub(crate) what: Word64,
    /// Bytes of this rank's part.
    pub(crate) bytes: Word64,
    /// The latest name that this rank has given it.
    pub(crate) name: TextWords<{ super::WindowHeader::NAME_BYTES / 8 }>,
    /// The hints in force that are not the default ones.
    pub(crate) hints: TextWords<32>,
}

/// How often something happened, and for how long. A record in use has happened at least once.
#[repr(C)]
pub(crate) struct TimesWords {
    pub(crate) times: Word64,
    pub(crate) nanoseconds: Word64,
    pub(crate) longest: Word64,
}

impl TimesWords {
    pub(crate) fn add(&self, nanoseconds: u64) {
        self.times.store(self.times.load() + 1);
        self.nanoseconds.store(self.nanoseconds.load() + nanoseconds);
        self.longest.store(self.longest.load().max(nanoseconds));
    }
}

/// For how long the rank has held a lock.
#[repr(C)]
pub(crate) struct HoldStatisticsWords {
    /// The rank of the world whose part it is of, plus one; zero for all parts.
    pub(crate) of: Word64,
    /// From the end of a lock to the end of its unlock.
    pub(crate) lasted: TimesWords,
    /// The name that the window had at the first unlock.
    pub(crate) window: TextWords<{ super::WindowHeader::NAME_BYTES / 8 }>,
}

/// A call on one window.
#[repr(C)]
pub(crate) struct CallStatisticsWords {
    /// [`super::CallWord::of`] the call and the window.
    pub(crate) what: Word64,
    pub(crate) lasted: TimesWords,
    /// Bytes of all operations, messages and collectives together.
    pub(crate) bytes: Word64,
    /// Of the calls that have moved bytes, those of each size: at `k` from 2^k bytes to less than twice that.
    pub(crate) sizes: [SizeWords; CallStatisticsWords::SIZES],
    /// The name that the window had at the first call.
    pub(crate) window: TextWords<{ super::WindowHeader::NAME_BYTES / 8 }>,
}

impl CallStatisticsWords {
    /// Sizes; the last one is all from a tebibyte on.
    const SIZES: usize = 41;

    /// Adds a call that has moved `bytes`, unless they are none.
    pub(crate) fn moved(&self, bytes: u64, nanoseconds: u64) {
        self.bytes.store(self.bytes.load() + bytes);
        if let Some(power) = bytes.checked_ilog2() {
            let size = &self.sizes[(power as usize).min(Self::SIZES - 1)];
            size.times.store(size.times.load() + 1);
            size.nanoseconds.store(size.nanoseconds.load() + nanoseconds);
        }
    }
}

/// How often calls have moved data of one size, and for how long.
#[repr(C)]
pub(crate) struct SizeWords {
    pub(crate) times: Word64,
    pub(crate) nanoseconds: Word64,
}

/// The waits of a call on one window in one line of the program.
#[repr(C)]
pub(crate) struct WaitStatisticsWords {
    pub(crate) what: Word64,
    pub(crate) lasted: TimesWords,
    pub(crate) window: TextWords<{ super::WindowHeader::NAME_BYTES / 8 }>,
    /// The end of file and line; empty if they are unknown.
    pub(crate) line: TextWords<17>,
    /// What was waited for: [`AwaitedKind`](crate::prim::AwaitedKind).
    pub(crate) awaited: Word32,
    /// The ranks that were waited for the longest.
    pub(crate) causes: [CauseWords; WaitStatisticsWords::CAUSES],
}

impl WaitStatisticsWords {
    /// Ranks at most that a record names as causes.
    const CAUSES: usize = 8;

    /// Adds a wait to the time of its cause, one more than [`CauseWords::ranks`]. If the record has that many others, the
    /// one with the least time makes place for a longer wait.
    pub(crate) fn caused_by(&self, ranks: u64, nanoseconds: u64) {
        let of = |cause: &&CauseWords| cause.ranks.load() == ranks;
        let least = || self.causes.iter().min_by_key(|cause| cause.nanoseconds.load());
        let Some(cause) = self.causes.iter().find(of).or_else(least) else { return };
        let before = if of(&cause) { cause.nanoseconds.load() } else { 0 };
        if of(&cause) || cause.nanoseconds.load() < nanoseconds {
            cause.ranks.store(ranks);
            cause.nanoseconds.store(before + nanoseconds);
        }
    }
}

/// For how long a wait was for one rank.
#[repr(C)]
#[derive(Default)]
pub(crate) struct CauseWords {
    /// The rank that was late, or held the lock, and the rank whose lock it was, each plus one and zero if unknown or
    /// none: in the lower and the upper half.
    pub(crate) ranks: Word64,
    pub(crate) nanoseconds: Word64,
}

impl CauseWords {
    pub(crate) fn pack(late: Option<u32>, lock_of: Option<u32>) -> u64 {
        let half = |rank: Option<u32>| rank.map_or(0, |rank| u64::from(rank) + 1);
        half(lock_of) << 32 | half(late)
    }

    pub(crate) fn unpack(ranks: u64) -> (Option<u32>, Option<u32>) {
        let rank = |half: u64| (half as u32).checked_sub(1);
        (rank(ranks), rank(ranks >> 32))
    }
}

/// A text of at most `N` times eight bytes.
#[repr(transparent)]
pub(crate) struct TextWords<const N: usize>([Word64; N]);

impl<const N: usize> TextWords<N> {
    /// The end of `text`, which is the informative part of a path; all of it if it fits.
    pub(crate) fn set(&self, text: &str) {
        let end = &text[text.ceil_char_boundary(text.len().saturating_sub(8 * N))..];
        let mut bytes = [[0u8; 8]; N];
        bytes.as_flattened_mut()[..end.len()].copy_from_slice(end.as_bytes());
        self.0.iter().zip(bytes).for_each(|(word, eight)| word.store(u64::from_le_bytes(eight)));
    }

    /// Without what moves the cursor of a terminal.
    pub(crate) fn get(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.load().to_le_bytes()).collect();
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).replace(|letter: char| letter.is_control(), "\u{fffd}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_causes_are_kept() {
        let record = WaitStatisticsWords {
            what: Word64::default(),
            lasted: TimesWords {
                times: Word64::default(),
                nanoseconds: Word64::default(),
                longest: Word64::default(),
            },
            window: TextWords(Default::default()),
            line: TextWords(Default::default()),
            awaited: Word32::default(),
            causes: Default::default(),
        };
        for rank in 0..12 {
            let ranks = CauseWords::pack(Some(rank), Some(7));
            assert_eq!(CauseWords::unpack(ranks), (Some(rank), Some(7)));
            record.caused_by(ranks, 10 * u64::from(rank));
            record.caused_by(ranks, 10);
        }
        record.caused_by(CauseWords::pack(Some(11), Some(7)), 1_000);
        let found = |rank| {
            let is_it =
                |cause: &&CauseWords| CauseWords::unpack(cause.ranks.load()).0 == Some(rank);
            record.causes.iter().find(is_it).map(|cause| cause.nanoseconds.load())
        };
        assert_eq!((found(11), found(10), found(0)), (Some(1_120), Some(110), None));
        assert_eq!(CauseWords::unpack(CauseWords::pack(None, None)), (None, None));
    }

    #[test]
    fn a_text_keeps_its_end() {
        let text = TextWords::<2>(Default::default());
        for (set, got) in
            [("", ""), ("grid", "grid"), ("a long path/to/heat.rs:17", "h/to/heat.rs:17")]
        {
            text.set(set);
            assert!(
                text.get().ends_with(got) && set.ends_with(&text.get()),
                "{set}: {}",
                text.get()
            );
        }
        text.set("\u{1b}[2J");
        assert_eq!(text.get(), "\u{fffd}[2J");
    }
}
