//! The status of ranks and windows, for reports.

use super::record::WriteRecords;
use crate::call::Call;
use crate::prim::{WaitRecord, Word32, Word64};

/// The status of one rank. Written by that rank, read by the launcher.
#[repr(C, align(128))]
pub(crate) struct RankSlot {
    /// Set once the rank has mapped the segment.
    pub(crate) joined: Flag,
    /// Set once the rank has finalized.
    pub(crate) finished: Flag,
    /// Its present call, and the window.
    doing: CallWord,
    /// The process that has joined, by its number in its own namespace.
    pub(crate) pid: Word32,
    /// How many of its threads make no calls, besides one that makes all: of the harness of a test, and the one
    /// that writes for other ranks.
    pub(crate) idle_threads: Word32,
    /// What it waits for while it sleeps.
    pub(crate) wait: WaitRecord,
    /// The writes of its threads, in a job that continues after a failure.
    pub(crate) writing: WriteRecords,
}

impl RankSlot {
    /// Records that the rank is in `call`, on the window whose block is at `window` (zero for none).
    #[inline]
    pub(crate) fn set_doing(&self, call: Call, window: u64) {
        self.doing.set(call, window);
    }

    /// The call, and the block of its window or zero.
    pub(crate) fn doing(&self) -> (Call, u64) {
        self.doing.get()
    }

    /// The same as a word for [`CallWord::read`].
    #[inline]
    pub(crate) fn doing_word(&self) -> u64 {
        self.doing.0.load()
    }
}

/// An event that happens once. Up to seven flipped bits do not change its value.
#[repr(transparent)]
#[derive(Default)]
pub(crate) struct Flag(Word32);

impl Flag {
    /// Half of its bits differ from those of an unset flag.
    const SET: u32 = 0x5ac3_96f0;

    pub(crate) fn set(&self) {
        self.0.store(Self::SET);
    }

    /// Sets it; returns whether it was unset.
    pub(crate) fn set_first(&self) -> bool {
        self.0.compare_exchange(0, Self::SET).is_ok()
    }

    pub(crate) fn is_set(&self) -> bool {
        (self.0.load() ^ Self::SET).count_ones() < Self::SET.count_ones() / 2
    }
}

/// A call and its window in one word, so that recording them costs one store.
#[repr(transparent)]
#[derive(Default)]
pub(crate) struct CallWord(Word64);

impl CallWord {
    const CALL_BITS: u32 = 8;

    /// Records `call`, on the window whose block is at `window` (zero for none).
    #[inline]
    pub(crate) fn set(&self, call: Call, window: u64) {
        self.0.store(Self::word(call, window));
    }

    /// [`CallWord::set`] for a word that usually has the value already: a load is cheaper than a store.
    #[inline]
    pub(crate) fn set_if_changed(&self, call: Call, window: u64) {
        if self.0.load() != Self::word(call, window) {
            self.set(call, window);
        }
    }

    #[inline]
    fn word(call: Call, window: u64) -> u64 {
        window << Self::CALL_BITS | u64::from(call as u32)
    }

    /// The call, and the block of its window or zero.
    pub(crate) fn get(&self) -> (Call, u64) {
        CallWord::read(self.0.load())
    }

    /// [`CallWord::get`] of a word that was read before.
    pub(crate) fn read(word: u64) -> (Call, u64) {
        let call = Call::from_word((word & ((1 << Self::CALL_BITS) - 1)) as u32);
        (call.unwrap_or(Call::None), word >> Self::CALL_BITS)
    }
}

/// The fixed head of a window's block.
#[repr(C, align(128))]
pub(crate) struct WindowHeader {
    name: [Word64; WindowHeader::NAME_BYTES / 8],
}

impl WindowHeader {
    /// Longest window name kept for reports, in bytes.
    pub(crate) const NAME_BYTES: usize = 64;

    pub(crate) fn set_name(&self, name: &str) {
        let mut bytes = [0u8; WindowHeader::NAME_BYTES];
        let end = name.floor_char_boundary(name.len().min(bytes.len()));
        bytes[..end].copy_from_slice(&name.as_bytes()[..end]);
        for (word, chunk) in self.name.iter().zip(bytes.chunks_exact(8)) {
            word.store(u64::from_le_bytes(chunk.try_into().expect("chunks of eight bytes")));
        }
    }

    pub(crate) fn name(&self) -> String {
        let bytes: Vec<u8> = self.name.iter().flat_map(|word| word.load().to_le_bytes()).collect();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let name = String::from_utf8_lossy(&bytes[..end]);
        // The name is printed on a terminal: nothing in it may move the cursor.
        name.replace(|letter: char| letter.is_control(), "\u{fffd}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_outlives_seven_flipped_bits() {
        let flag = Flag::default();
        for flips in [0, 1 << 31, 0x7f, 0xfe00_0000] {
            flag.0.store(flips);
            assert!(!flag.is_set());
            flag.0.store(Flag::SET ^ flips);
            assert!(flag.is_set());
        }
        flag.set();
        assert!(flag.is_set());
    }

    #[test]
    fn names_do_not_move_the_cursor() {
        let header = WindowHeader { name: Default::default() };
        for (name, shown) in [
            ("halo", "halo"),
            ("\u{1b}[2Jrmarun: all is well\r\n", "\u{fffd}[2Jrmarun: all is well\u{fffd}\u{fffd}"),
            ("\u{9b}2J", "\u{fffd}2J"),
            ("größe", "größe"),
        ] {
            header.set_name(name);
            assert_eq!(header.name(), shown);
        }
    }
}
