//! The status of ranks and windows, for reports.

use super::layout::GRANULE;
use super::record::WriteRecords;
use super::recorder::CallRecorder;
use super::statistics_words::TextWords;
use crate::call::Call;
use crate::prim::{WaitRecord, Word32, Word64};

/// The status of one rank. Written by that rank, read by the launcher.
#[repr(C, align(128))]
pub(crate) struct RankSlot {
    /// Set once the rank has mapped the segment.
    pub(crate) joined: Flag,
    /// Set once the rank has finalized.
    pub(crate) finished: Flag,
    /// Set before that if it has not done what `--strict` makes an error.
    pub(crate) has_left: Flag,
    /// The process that has joined, by its number in its own namespace.
    pub(crate) pid: Word32,
    /// How many of its threads make no calls, besides one that makes all: of the harness of a test, and the one
    /// that writes for other ranks.
    pub(crate) idle_threads: Word32,
    /// What it waits for while it sleeps.
    pub(crate) wait: WaitRecord,
    /// The writes of its threads, in a job that continues after a failure.
    pub(crate) writing: WriteRecords,
    /// Its last calls, but for a job that keeps none. The launcher adds its looks.
    pub(crate) calls: CallRecorder,
    /// Where the callers of these calls are, of a program in C.
    pub(crate) program: ProgramWords,
}

/// The file of a program, as it is mapped in the rank's process.
#[repr(C)]
pub(crate) struct ProgramWords {
    /// What is added to the addresses that the file has.
    bias: Word64,
    path: TextWords<{ ProgramWords::PATH_BYTES / 8 }>,
}

impl ProgramWords {
    /// The longest path kept, in bytes.
    const PATH_BYTES: usize = 256;

    /// Nothing, if the path is too long.
    pub(crate) fn set(&self, bias: u64, path: &str) {
        if path.len() <= ProgramWords::PATH_BYTES {
            self.bias.store(bias);
            self.path.set(path);
        }
    }

    /// Both; `None` if they are not recorded.
    pub(crate) fn get(&self) -> Option<(u64, String)> {
        let path = Some(self.path.get()).filter(|path| !path.is_empty())?;
        Some((self.bias.load(), path))
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

/// A call, its window and a number in one word, so that recording them costs one store.
///
/// From the lowest bit: the call in 8 bits; the window in 46 ([`WindowHeader::mark`]); whether target and bytes are
/// recorded with it; the last bits of the number.
#[repr(transparent)]
#[derive(Default)]
pub(crate) struct CallWord(Word64);

impl CallWord {
    const CALL_BITS: u32 = 8;
    const OPERATION: u64 = 1 << 54;
    const NUMBER_SHIFT: u32 = 55;

    /// Records `call`, on the window whose block or mark is `window` (zero for none), for a word that usually has the
    /// value already: a load is cheaper than a store.
    #[inline]
    pub(crate) fn set_if_changed(&self, call: Call, window: u64) {
        if self.0.load() != Self::of(call, window) {
            self.0.store(Self::of(call, window));
        }
    }

    /// Records `call` with a number.
    #[inline(always)]
    pub(super) fn set_numbered(&self, call: Call, window: u64, number: u64) {
        self.0.store(Self::of(call, window) | number << Self::NUMBER_SHIFT);
    }

    /// [`CallWord::set_numbered`] of an operation.
    #[inline(always)]
    pub(super) fn set_operation(&self, call: Call, window: u64, number: u64) {
        let word = Self::of(call, window) | Self::OPERATION;
        self.0.store(word | number << Self::NUMBER_SHIFT);
    }

    /// A word without a number.
    #[inline(always)]
    pub(crate) fn of(call: Call, window: u64) -> u64 {
        window << Self::CALL_BITS | u64::from(call as u32)
    }

    /// The word, if it has this number.
    #[inline]
    pub(super) fn word_of(&self, number: u64) -> Option<u64> {
        let word = self.0.load();
        ((word ^ number << Self::NUMBER_SHIFT) >> Self::NUMBER_SHIFT == 0).then_some(word)
    }

    /// The call, and the block or mark of its window, or zero.
    pub(crate) fn get(&self) -> (Call, u64) {
        CallWord::read(self.0.load())
    }

    /// [`CallWord::get`] of a word that was read before.
    pub(crate) fn read(word: u64) -> (Call, u64) {
        let call = Call::from_word((word & ((1 << Self::CALL_BITS) - 1)) as u32);
        (call.unwrap_or(Call::None), (word & (Self::OPERATION - 1)) >> Self::CALL_BITS)
    }

    /// Whether a word that was read before is that of an operation.
    pub(super) fn is_operation(word: u64) -> bool {
        word & Self::OPERATION != 0
    }
}

/// The fixed head of a window's block.
#[repr(C, align(128))]
pub(crate) struct WindowHeader {
    name: [Word64; WindowHeader::NAME_BYTES / 8],
    /// What makes it another window than the one before in the same block.
    serial: Word64,
}

impl WindowHeader {
    /// Longest window name kept for reports, in bytes.
    pub(crate) const NAME_BYTES: usize = 64;

    /// How calls record the window whose block is at `block`, which is that number among those over its
    /// communicator: the bits of a block's offset that are zero tell it from earlier ones there.
    pub(crate) fn mark(block: u64, number: u32) -> u64 {
        if block == 0 { 0 } else { block | Self::serial_of(number) }
    }

    fn serial_of(number: u32) -> u64 {
        u64::from(number) % (GRANULE - 1) + 1
    }

    /// Begins a window of that number.
    pub(crate) fn begin(&self, number: u32, name: &str) {
        self.serial.store(Self::serial_of(number));
        self.set_name(name);
    }

    /// The block that a recorded mark names.
    pub(crate) fn block_of(mark: u64) -> u64 {
        mark & !(GRANULE - 1)
    }

    /// Whether it is still the window of that mark.
    pub(crate) fn has_mark(&self, mark: u64) -> bool {
        let serial = mark & (GRANULE - 1);
        serial == 0 || serial == self.serial.load()
    }

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
        let header = WindowHeader { name: Default::default(), serial: Word64::default() };
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
