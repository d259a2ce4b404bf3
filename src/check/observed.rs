//! Accumulates whose effect a rank has seen, before their own rank completes them.
//!
//! A rank that fetches an element by an accumulate finds there what an accumulate of another rank has left. That rank has
//! begun it before, and needs no further call for its effect. So it counts as complete at the target (MPI-4.1 §12.3), at this
//! element, for all that is ordered behind the fetch. A queue lock works so: a
//! rank learns by a fetch who waits for it, and later stores to the word.
//!
//! 1. That holds only if the rank did not know otherwise that the accumulate was issued. If it did, as by a message that came
//!    without a flush before, the fetch may also miss the accumulate, in another library. What it may know by what it has read
//!    is not otherwise: by a fetch whose element has the same clock, and by `MPI_Win_sync`, after which loads may see the element.
//! 2. An operation has at most one such element: the first one that is fetched. It has none any more once its rank accesses the
//!    target by the same operation again, because that access was not seen.
//! 3. The separate memory model has two copies of the element, so nothing is observed there.

use super::shadow::{GRANULE_BYTES, entries_with};
use super::stores::mask_of;
use super::window::{ByteRun, CheckedWindow};
use super::{AccessKind, CheckState, Checker, threads};
use crate::prim::Word64;
use crate::shm::OperationWords;
use std::ops::Range;

/// An accumulate that a fetch of this rank has found.
pub(super) struct ObservedAccumulate {
    number: u32,
    /// [`OperationWords::issued`]: the record may be another operation's by now.
    issued: u64,
    element: u64,
}

/// What a rank has learned of the others' clocks only by reading memory: for each number of its clock the latest values that it
/// has learned so.
#[derive(Default)]
pub(super) struct Announcements {
    by_sync: Vec<AnnouncedRange>,
    by_fetch: Vec<AnnouncedRange>,
}

#[derive(Clone, Default)]
struct AnnouncedRange {
    /// The value known before, and the latest one.
    numbers: Range<u64>,
    /// The address of the clock that it was learned from.
    at: usize,
}

/// The address of a clock's words, by which it differs from others.
pub(super) fn address(clock: &[Word64]) -> usize {
    clock.as_ptr().addr()
}

impl Announcements {
    pub(super) fn by_sync(&mut self, at: usize, number: usize, learnt: Range<u64>) {
        Self::add(&mut self.by_sync, at, number, learnt);
    }

    pub(super) fn by_fetch(&mut self, at: usize, number: usize, learnt: Range<u64>) {
        Self::add(&mut self.by_fetch, at, number, learnt);
    }

    fn add(all: &mut Vec<AnnouncedRange>, at: usize, number: usize, learnt: Range<u64>) {
        if all.len() <= number {
            all.resize(number + 1, AnnouncedRange::default());
        }
        let latest = &mut all[number];
        let goes_on = latest.at == at && latest.numbers.end == learnt.start;
        let start = if goes_on { latest.numbers.start } else { learnt.start };
        *latest = AnnouncedRange { numbers: start..learnt.end, at };
    }

    /// Whether a value of a number is known only by a fetch from the clock `element`, or by a sync from the clock `part`.
    fn has(&self, (number, value): (usize, u64), element: &[Word64], part: &[Word64]) -> bool {
        let has = |all: &[AnnouncedRange], at: &[Word64]| {
            all.get(number).is_some_and(|latest| {
                let Range { start, end } = latest.numbers;
                latest.at == address(at) && start < value && value <= end
            })
        };
        has(&self.by_fetch, element) || has(&self.by_sync, part)
    }
}

/// The bytes of a granule, as a number that is not zero.
fn element(granule: u64, mask: u32) -> u64 {
    granule << 8 | u64::from(mask)
}

impl CheckedWindow {
    /// This rank fetches bytes of a granule of the target. Under the lock of the page, behind those accumulates that it finds.
    pub(super) fn observe(
        &self,
        (checker, state): (&Checker, &CheckState),
        target: u32,
        part: ByteRun,
    ) -> Vec<ObservedAccumulate> {
        let number = part.start / GRANULE_BYTES;
        let mask = mask_of(number, part);
        let Some(granule) = self.granule(target, number).filter(|_| !checker.is_separate) else {
            return Vec::new();
        };
        let [element_clock, part_clock] = self.clocks_of_element(target, part);
        let is_new = |number: &u32| {
            let operation = checker.operation_at(*number);
            let rank = operation.rank.load();
            let (at, issued) = threads::required((rank, checker.ranks), operation.issued.load());
            let is_announced = || state.announced.has((at, issued), element_clock, part_clock);
            let is_known = state.threads.clock().get(at).is_none_or(|known| issued <= *known);
            // A late operation takes effect when it is complete.
            let has_effect = || operation.completions(checker.more_at(*number)).next().is_some();
            rank != checker.rank
                && (!checker.is_late || has_effect())
                && AccessKind::of_word((operation.what.load() >> 8) as u8) == AccessKind::Update
                && (!is_known || is_announced())
        };
        let observe = |found: u32| {
            let (operation, element) = (checker.operation_at(found), element(number, mask));
            let issued = operation.issued.load();
            let is_first =
                operation.is_observed_first(checker.more_at(found), (checker.rank, element));
            is_first.then_some(ObservedAccumulate { number: found, issued, element })
        };
        entries_with(checker, granule, mask).filter(is_new).filter_map(observe).collect()
    }
}

impl Checker {
    /// The results of fetches are the program's: it has seen these accumulates.
    pub(super) fn have_seen(
        &self,
        state: &mut CheckState,
        all: impl Iterator<Item = ObservedAccumulate>,
    ) {
        for ObservedAccumulate { number, issued, element } in all {
            let operation = self.operation_at(number);
            if operation.issued.load() == issued {
                let by = (self.rank, self.stamp(&mut state.threads));
                self.more_at(number).have_seen(element, by);
            }
        }
    }

    /// Whether these bytes of an operation's target, which lie in one granule, are complete there for who knows `clock`,
    /// because a rank has seen them.
    pub(super) fn is_seen(&self, number: u32, bytes: &Range<u64>, clock: &[u64]) -> bool {
        let operation = self.operation_at(number);
        let granule = bytes.start / GRANULE_BYTES;
        let part = ByteRun { start: bytes.start, bytes: bytes.end - bytes.start };
        let mask = u64::from(mask_of(granule, part));
        operation.seen(self.more_at(number)).is_some_and(|(element, rank, since)| {
            element >> 8 == granule
                && mask & !element == 0
                && threads::knows(clock, (rank, self.ranks), since)
        })
    }

    /// An open operation accesses its target once more.
    #[inline]
    pub(super) fn accesses_again(&self, number: u32) {
        let operation: &OperationWords = self.operation_at(number);
        if operation.is_observed() {
            operation.forget_observed();
        }
    }
}
