//! Which pages of this rank's part its process may have written since their latest comparison.
//!
//! The kernel records the first write to a page that is protected, which costs as much as some comparisons of it. So a page
//! is protected when it has been compared without a difference as often as its patience, and each recorded write doubles
//! that. Pages that a program stores to in every step are compared in each; those that only other ranks write, rarely.
//!
//! A page is protected before it is compared: a store that the comparison does not see is recorded.

use crate::shm::{PageWords, Span, TrackedMemory, page_size};
use std::ops::Range;

/// A part of fewer bytes is compared sooner than the kernel reports.
const LEAST: u64 = 64 << 10;
/// Comparisons without a difference before a page is protected: at first, and at most.
const PATIENCE: (u8, u8) = (2, 128);

/// The pages of this rank's part.
pub(super) struct WrittenPages {
    part: Span,
    /// The first pages, if the kernel records writes to them, since [`WrittenPages::find`] has been called.
    tracked: Option<TrackedMemory>,
    /// Of each of those.
    histories: Vec<PageHistory>,
    is_begun: bool,
    /// The pages that are to be compared.
    due: Vec<usize>,
}

#[derive(Clone)]
struct PageHistory {
    is_protected: bool,
    /// Comparisons without a difference, since there was one.
    same: u8,
    patience: u8,
}

impl PageHistory {
    /// The kernel has found it without protection.
    fn found(&mut self) {
        if self.is_protected {
            let patience = self.patience.saturating_mul(2).min(PATIENCE.1);
            *self = PageHistory { is_protected: false, same: 0, patience };
        }
    }

    fn compared(&mut self, is_same: bool) {
        self.same = if is_same { self.same.saturating_add(1) } else { 0 };
    }

    fn is_quiet(&self) -> bool {
        !self.is_protected && self.same >= self.patience
    }
}

impl WrittenPages {
    pub(super) fn new(part: Span) -> WrittenPages {
        let (histories, due) = (Vec::new(), Vec::new());
        WrittenPages { part, tracked: None, histories, is_begun: false, due }
    }

    /// Finds the pages that may have been written. Returns whether there are any.
    pub(super) fn find(&mut self) -> bool {
        if !self.is_begun {
            self.begin();
        }
        let histories = &mut self.histories;
        if let Some(tracked) = &self.tracked
            && histories.iter().any(|of| of.is_protected)
        {
            let mut found = |pages: Range<usize>| {
                histories[pages].iter_mut().for_each(PageHistory::found);
            };
            if !tracked.unprotected(&mut found) {
                self.give_up();
            }
        }
        self.due.clear();
        let is_due = |(number, of): (usize, &PageHistory)| (!of.is_protected).then_some(number);
        self.due.extend(self.histories.iter().enumerate().filter_map(is_due));
        self.due.extend(
            self.histories.len()..self.part.len().div_ceil(PageWords::BYTES as u64) as usize,
        );
        self.protect();
        !self.due.is_empty()
    }

    /// Calls `is_same` with each of the pages that have been found: whether it is as it was at the comparison before.
    pub(super) fn compare(&mut self, mut is_same: impl FnMut(usize) -> bool) {
        for number in &self.due {
            let is_same = is_same(*number);
            if let Some(history) = self.histories.get_mut(*number) {
                history.compared(is_same);
            }
        }
    }

    fn begin(&mut self) {
        self.is_begun = true;
        let can_be_tracked = self.part.len() > LEAST && page_size() == PageWords::BYTES as u64;
        self.tracked = can_be_tracked.then(|| TrackedMemory::new(self.part)).flatten();
        let pages = self.tracked.as_ref().map_or(0, TrackedMemory::pages);
        self.histories =
            vec![PageHistory { is_protected: false, same: 0, patience: PATIENCE.0 }; pages];
    }

    /// The kernel fails: all pages are compared from now on.
    fn give_up(&mut self) {
        (self.tracked, self.histories) = (None, Vec::new());
    }

    /// Protects those of the pages that have been found that rarely change.
    fn protect(&mut self) {
        let Some(tracked) = &self.tracked else { return };
        let (histories, mut is_done) = (&mut self.histories, true);
        let is_quiet = |number: &usize| histories.get(*number).is_some_and(PageHistory::is_quiet);
        let quiet: Vec<usize> = self.due.iter().copied().filter(is_quiet).collect();
        for run in quiet.chunk_by(|one, next| one + 1 == *next) {
            let pages = run[0]..run[0] + run.len();
            is_done &= tracked.protect(&pages);
            histories[pages].iter_mut().for_each(|history| history.is_protected = true);
        }
        if !is_done {
            self.give_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGES: usize = 40;

    /// A part of that many pages and some bytes, and its memory.
    fn part() -> (&'static mut [u8], WrittenPages) {
        let page = PageWords::BYTES;
        let memory = vec![0u8; (PAGES + 2) * page].leak();
        let first = memory.as_ptr().align_offset(page);
        let memory = &mut memory[first..][..PAGES * page + 100];
        let span = Span::new(memory.as_mut_ptr(), memory.len() as u64);
        (memory, WrittenPages::new(span))
    }

    /// The pages that are compared now; some of them have changed.
    fn compared(pages: &mut WrittenPages, changed: &[usize]) -> Vec<usize> {
        let (mut all, found) = (Vec::new(), pages.find());
        pages.compare(|page| {
            all.push(page);
            !changed.contains(&page)
        });
        assert_eq!(found, !all.is_empty());
        all
    }

    #[test]
    fn a_page_that_does_not_change_is_compared_when_it_is_written() {
        let (memory, mut pages) = part();
        let all: Vec<usize> = (0..=PAGES).collect();
        for _ in 0..PATIENCE.0 {
            assert_eq!(compared(&mut pages, &[7]), all);
        }
        // Now the quiet ones are protected, and compared once more.
        assert_eq!(compared(&mut pages, &[7]), all);
        if pages.tracked.is_none() {
            println!("the kernel records no writes here");
            assert_eq!(compared(&mut pages, &[]), all);
            return;
        }
        // The last one is no whole page.
        assert_eq!(compared(&mut pages, &[7]), [7, PAGES]);
        memory[3 * PageWords::BYTES] = 0;
        memory[5 * PageWords::BYTES - 1] = 1;
        // It has lost its protection, and has to be the same twice as often.
        for _ in 0..=2 * PATIENCE.0 {
            assert_eq!(compared(&mut pages, &[7]), [3, 4, 7, PAGES]);
        }
        assert_eq!(compared(&mut pages, &[7]), [7, PAGES]);
        // By a system call.
        let mut file = std::fs::File::open("/proc/self/exe").unwrap();
        let to = &mut memory[10 * PageWords::BYTES..][..8];
        std::io::Read::read_exact(&mut file, to).unwrap();
        assert_eq!(compared(&mut pages, &[7]), [7, 10, PAGES]);
    }

    proptest! {
        #[test]
        fn a_page_is_compared_after_each_store_to_it(
            steps in prop::collection::vec((prop::collection::vec(0..PAGES, 0..3), any::<bool>()), 1..60)
        ) {
            let (memory, mut pages) = part();
            for (stored, is_changed) in steps {
                for page in &stored {
                    memory[page * PageWords::BYTES + 8] ^= 1;
                }
                let all = compared(&mut pages, if is_changed { &stored } else { &[] });
                prop_assert!(stored.iter().all(|page| all.contains(page)), "{all:?}");
            }
        }
    }
}
