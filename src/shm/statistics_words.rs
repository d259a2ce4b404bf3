//! What the ranks of a counted job count (`rmarun --stats`). Each rank alone writes its words; zero bytes are the
//! initial state.

use crate::prim::{Word32, Word64};

/// What one rank has counted.
#[repr(C, align(128))]
pub(crate) struct StatisticsWords {
    /// When it joined and when it left, in nanoseconds of CLOCK_MONOTONIC; zero before.
    pub(crate) joined: Word64,
    pub(crate) left: Word64,
    /// 1 when one of the tables is full: later kinds of calls or waits are counted in its last record.
    pub(crate) is_full: Word32,
    pub(crate) calls: [CallStatisticsWords; StatisticsWords::CALLS],
    pub(crate) waits: [WaitStatisticsWords; StatisticsWords::WAITS],
}

impl StatisticsWords {
    /// Calls, each on one window.
    pub(crate) const CALLS: usize = 256;
    /// Lines of the program that wait, each in one call on one window.
    pub(crate) const WAITS: usize = 256;
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

/// A call on one window.
#[repr(C)]
pub(crate) struct CallStatisticsWords {
    /// [`super::CallWord::of`] the call and the window.
    pub(crate) what: Word64,
    pub(crate) lasted: TimesWords,
    /// Bytes of all operations together.
    pub(crate) bytes: Word64,
    /// The name that the window had at the first call.
    pub(crate) window: TextWords<{ super::WindowHeader::NAME_BYTES / 8 }>,
}

/// The waits of a call on one window in one line of the program.
#[repr(C)]
pub(crate) struct WaitStatisticsWords {
    pub(crate) what: Word64,
    pub(crate) lasted: TimesWords,
    pub(crate) window: TextWords<{ super::WindowHeader::NAME_BYTES / 8 }>,
    /// The end of file and line; empty if they are unknown.
    pub(crate) line: TextWords<17>,
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
