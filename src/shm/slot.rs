//! What ranks say of themselves and of their windows, for reports.

use super::record::WriteRecords;
use crate::call::Call;
use crate::prim::{WaitRecord, Word32, Word64};

/// What one rank says of itself. Written by that rank, read by the launcher.
#[repr(C, align(128))]
pub(crate) struct RankSlot {
    /// Set once the rank has mapped the segment.
    pub(crate) joined: Flag,
    /// Set once the rank has left the job in good order.
    pub(crate) finished: Flag,
    /// The call it is in, and on which window.
    doing: CallWord,
    /// The process that has joined, as it numbers itself.
    pub(crate) pid: Word32,
    /// Test builds: 1 if the rank vouches that one of its threads makes all calls.
    pub(crate) one_thread: Word32,
    /// What it waits for, while it sleeps.
    pub(crate) wait: WaitRecord,
    /// What its threads are writing, in a job that goes on without it if it is killed.
    pub(crate) writing: WriteRecords,
}

impl RankSlot {
    /// Says that the rank is in `call` on the window whose block is at `window`, or zero.
    #[inline]
    pub(crate) fn set_doing(&self, call: Call, window: u64) {
        self.doing.set(call, window);
    }

    /// The call, and the block of its window or zero.
    pub(crate) fn doing(&self) -> (Call, u64) {
        self.doing.get()
    }

    /// The same, to be read by [`CallWord::read`].
    #[inline]
    pub(crate) fn doing_word(&self) -> u64 {
        self.doing.0.load()
    }
}

/// Something that happens once. Seven bits that flip do not change whether it has.
#[repr(transparent)]
#[derive(Default)]
pub(crate) struct Flag(Word32);

impl Flag {
    /// Half of its bits differ from those of a flag that is not set.
    const SET: u32 = 0x5ac3_96f0;

    pub(crate) fn set(&self) {
        self.0.store(Self::SET);
    }

    /// Sets it, unless somebody has before.
    pub(crate) fn set_first(&self) -> bool {
        self.0.compare_exchange(0, Self::SET).is_ok()
    }

    pub(crate) fn is_set(&self) -> bool {
        (self.0.load() ^ Self::SET).count_ones() < Self::SET.count_ones() / 2
    }
}

/// A call, and the window that it is on: one word, so that saying so costs one store.
#[repr(transparent)]
#[derive(Default)]
pub(crate) struct CallWord(Word64);

impl CallWord {
    const CALL_BITS: u32 = 8;

    /// `call`, on the window whose block is at `window`, or zero.
    #[inline]
    pub(crate) fn set(&self, call: Call, window: u64) {
        self.0.store(Self::word(call, window));
    }

    /// As [`CallWord::set`], for a word that mostly says so already: looking is cheaper than storing.
    #[inline]
    pub(crate) fn keep_set(&self, call: Call, window: u64) {
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

    /// As [`CallWord::get`], of a word that was read before.
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
        let keep = name.floor_char_boundary(name.len().min(bytes.len()));
        bytes[..keep].copy_from_slice(&name.as_bytes()[..keep]);
        for (word, chunk) in self.name.iter().zip(bytes.chunks_exact(8)) {
            word.store(u64::from_le_bytes(chunk.try_into().expect("chunks of eight bytes")));
        }
    }

    pub(crate) fn name(&self) -> String {
        let bytes: Vec<u8> = self.name.iter().flat_map(|word| word.load().to_le_bytes()).collect();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let name = String::from_utf8_lossy(&bytes[..end]);
        // It goes to the terminal of whoever reads the report: nothing in it moves the cursor.
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
