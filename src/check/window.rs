//! A window of a checked job: the words for clocks beside its synchronisation words, and its shadow.
//!
//! | synchronisation | publishes to | merges |
//! | --- | --- | --- |
//! | fence | the own words of this fence; two sets in turn, as no rank passes the next fence before all have merged | those of all ranks |
//! | exclusive lock, unlock | of the target: exclusive, any; of the window: exclusive | of the target: any; of the window: any |
//! | shared lock, unlock | of the target: any | of the target: exclusive |
//! | lock_all, unlock_all | of the window: any | of the window: exclusive |
//! | post, start | the posts of the target | those of each target |
//! | accumulate, fetch | of the element, if the call updates it | of the element, if the call fetches it |
//! | what completes operations at a target; notification, wait for a value | of the target: rung | of this rank: rung |
//! | complete, wait | the completes of each target | those of this rank |
//!
//! A lock or start with NOCHECK synchronises nothing.

use super::report::{self, FoundConflict};
use super::shadow::{Accessing, GRANULE_BYTES, Judgement, WORDS};
use super::{AccessKind, CheckedAccess, Checker, SITES};
use crate::error::Result;
use crate::prim::{Waiter, Word32, Word64, line_by_binding};
use crate::shm::{PlacedSlice, Segment};
use crate::sync::LockType;
use std::sync::Arc;

/// Clocks of a target.
#[derive(Clone, Copy)]
enum OfTarget {
    Exclusive,
    Any,
    Posts,
    Completes,
    /// Of what is complete at the target and announced: notifications, waits for values.
    Rung,
    /// The first of those of its elements that accumulates update, by their addresses.
    Elements,
}

/// Clocks of the window's locks.
#[derive(Clone, Copy)]
enum OfWindow {
    Exclusive,
    Any,
}

/// Clocks for the elements of a target: those with the same remainder share one.
const ELEMENTS: usize = 16;
const OF_TARGET: usize = 5 + ELEMENTS;
const OF_WINDOW: usize = 2;
const FENCES: usize = 2;

/// Bytes of one rank's part, for the shadow.
#[derive(Clone, Copy)]
pub(crate) struct ByteRun {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

/// What the check needs of a window.
pub(crate) struct CheckedWindow {
    /// The window's block.
    block: u64,
    name: String,
    /// This rank in the window.
    rank: u32,
    ranks: usize,
    /// Numbers of a clock.
    clocks: usize,
    words: PlacedSlice<Word64>,
    shadow: PlacedSlice<Word32>,
    /// The first granule of each rank's part, and after the last one the number of all.
    first: Box<[u64]>,
}

impl CheckedWindow {
    /// Bytes behind the other words of a window of `ranks` ranks with those parts, in a job with clocks of
    /// that many numbers.
    pub(crate) fn bytes(ranks: u32, clocks: u32, parts: impl Iterator<Item = u64>) -> u64 {
        let words = Self::words_of(ranks as usize) as u64 * u64::from(clocks) * 8;
        let granules =
            parts.fold(0, |sum: u64, bytes| sum.saturating_add(bytes.div_ceil(GRANULE_BYTES)));
        words.saturating_add(granules.saturating_mul(WORDS as u64 * 4))
    }

    fn words_of(ranks: usize) -> usize {
        (FENCES + OF_TARGET) * ranks + OF_WINDOW
    }

    /// Of the window whose block is at `block`; the bytes are at `at`.
    pub(crate) fn place(
        segment: &Arc<Segment>,
        (block, at): (u64, u64),
        name: &str,
        rank: u32,
        parts: impl ExactSizeIterator<Item = u64>,
    ) -> Result<CheckedWindow> {
        let (ranks, clocks) = (parts.len(), segment.layout().ranks as usize);
        let mut first = vec![0];
        for bytes in parts {
            first.push(first[first.len() - 1] + bytes.div_ceil(GRANULE_BYTES));
        }
        let numbers = Self::words_of(ranks) * clocks;
        let granules = first[ranks] as usize;
        Ok(CheckedWindow {
            block,
            name: name.to_owned(),
            rank,
            ranks,
            clocks,
            words: segment.place_all(at, numbers)?,
            shadow: segment.place_all(at + numbers as u64 * 8, granules * WORDS)?,
            first: first.into(),
        })
    }

    fn clock(&self, number: usize) -> &[Word64] {
        &self.words[number * self.clocks..][..self.clocks]
    }

    fn fence_clock(&self, fence: u32, rank: usize) -> &[Word64] {
        self.clock((fence as usize % FENCES) * self.ranks + rank)
    }

    fn of_window(&self, which: OfWindow) -> &[Word64] {
        self.clock(FENCES * self.ranks + which as usize)
    }

    fn of_target(&self, target: u32, which: OfTarget) -> &[Word64] {
        self.clock_of(target, which as usize)
    }

    fn clock_of(&self, target: u32, which: usize) -> &[Word64] {
        self.clock(FENCES * self.ranks + OF_WINDOW + target as usize * OF_TARGET + which)
    }
}

/// What synchronises ranks: publishing before it releases others, merging after it.
impl CheckedWindow {
    /// This rank is about to arrive at its fence of that number.
    pub(crate) fn fencing(&self, checker: &Checker, fence: u32) {
        self.flushed(checker, None);
        checker.publish(self.fence_clock(fence, self.rank as usize));
    }

    /// All ranks have arrived there.
    pub(crate) fn fenced(&self, checker: &Checker, fence: u32) {
        checker.merge((0..self.ranks).map(|rank| self.fence_clock(fence, rank)));
    }

    /// This rank has got a lock of a target.
    pub(crate) fn locked(&self, checker: &Checker, target: u32, held: LockType) {
        let all = match held {
            LockType::Shared => [self.of_target(target, OfTarget::Exclusive); 2],
            LockType::Exclusive => {
                [self.of_target(target, OfTarget::Any), self.of_window(OfWindow::Any)]
            }
        };
        checker.merge(all);
    }

    /// It is about to release it.
    pub(crate) fn unlocking(&self, checker: &Checker, target: u32, held: LockType, nocheck: bool) {
        self.flushed(checker, Some(target));
        let any = self.of_target(target, OfTarget::Any);
        match held {
            _ if nocheck => {}
            LockType::Shared => checker.raise([any]),
            LockType::Exclusive => checker.raise([
                any,
                self.of_target(target, OfTarget::Exclusive),
                self.of_window(OfWindow::Exclusive),
            ]),
        }
    }

    /// This rank holds lock_all.
    pub(crate) fn locked_all(&self, checker: &Checker) {
        checker.merge([self.of_window(OfWindow::Exclusive)]);
    }

    /// It is about to release it.
    pub(crate) fn unlocking_all(&self, checker: &Checker, nocheck: bool) {
        self.flushed(checker, None);
        if !nocheck {
            checker.raise([self.of_window(OfWindow::Any)]);
        }
    }

    /// This rank is about to post.
    pub(crate) fn posting(&self, checker: &Checker) {
        checker.raise([self.of_target(self.rank, OfTarget::Posts)]);
    }

    /// The targets have posted.
    pub(crate) fn started(&self, checker: &Checker, targets: &[u32]) {
        checker.merge(targets.iter().map(|target| self.of_target(*target, OfTarget::Posts)));
    }

    /// This rank is about to complete its epoch on these targets.
    pub(crate) fn completing(&self, checker: &Checker, targets: &[u32]) {
        self.flushed(checker, None);
        checker.raise(targets.iter().map(|target| self.of_target(*target, OfTarget::Completes)));
    }

    /// The origins have completed.
    pub(crate) fn waited(&self, checker: &Checker) {
        checker.merge([self.of_target(self.rank, OfTarget::Completes)]);
    }

    /// This rank's operations on the target, or on all, are complete there.
    pub(crate) fn flushed(&self, checker: &Checker, target: Option<u32>) {
        checker.complete(self.block, target);
        match target {
            Some(target) => checker.raise([self.of_target(target, OfTarget::Rung)]),
            None => checker
                .raise((0..self.ranks as u32).map(|rank| self.of_target(rank, OfTarget::Rung))),
        }
    }

    /// The owner of a part has seen what another rank has announced there.
    pub(crate) fn noticed(&self, checker: &Checker, target: u32) {
        checker.merge([self.of_target(target, OfTarget::Rung)]);
    }

    /// This rank is about to update elements of the target by an accumulate. Accumulates order what ranks do
    /// before and after them, as atomic variables of a language.
    pub(crate) fn updating(&self, checker: &Checker, target: u32, part: ByteRun) {
        checker.raise(self.elements(target, part));
    }

    /// This rank has fetched elements of the target by an accumulate.
    pub(crate) fn fetched(&self, checker: &Checker, target: u32, part: ByteRun) {
        checker.merge(self.elements(target, part));
    }

    /// The window is freed.
    pub(crate) fn freed(&self, checker: &Checker, waiter: &Waiter<'_>) {
        checker.forget(self.block, waiter);
    }

    /// The clocks of elements.
    fn elements(&self, target: u32, part: ByteRun) -> impl Iterator<Item = &[Word64]> {
        let first = (part.start / GRANULE_BYTES) as usize;
        let granules = part.bytes.div_ceil(GRANULE_BYTES) as usize;
        (0..granules.min(ELEMENTS)).map(move |granule| {
            self.clock_of(target, OfTarget::Elements as usize + (first + granule) % ELEMENTS)
        })
    }
}

/// Accesses.
impl CheckedWindow {
    /// An access of this rank to pieces of the part of `target`, which `each` passes on. Reports what it conflicts
    /// with. Blocks while another rank does the same.
    pub(crate) fn access(
        &self,
        checker: &Checker,
        waiter: &Waiter<'_>,
        access: &CheckedAccess,
        target: u32,
        each: impl FnOnce(&mut dyn FnMut(ByteRun)),
    ) {
        let (mut new, line) = (Vec::new(), line_by_binding());
        let mut state = checker.state();
        // If the job ends, so does the check.
        let _ = checker.words.lock.0.run(SITES, waiter, |_| {
            std::mem::take(&mut state.closed)
                .into_iter()
                .for_each(|number| checker.release(number));
            let number = checker.operation(&mut state, self.block, target, access, line.as_deref());
            let Some(number) = number else { return };
            let datatype = u32::from(access.datatype);
            let mut accessing = Accessing {
                checker,
                state: &state,
                number,
                kind: access.kind,
                datatype,
                latest: (0, Judgement::default()),
            };
            let mut found = Vec::new();
            each(&mut |part| self.touch(&mut accessing, target, part, &mut found));
            new = report::record(checker, &mut state, (&self.name, target), number, &found);
        });
        drop(state);
        if matches!(access.kind, AccessKind::Put | AccessKind::Update) {
            // A rank that waits for a value may see this one before its flush.
            checker.raise([self.of_target(target, OfTarget::Rung)]);
        }
        report::print(&new);
    }

    /// Accesses a run of bytes.
    fn touch(
        &self,
        accessing: &mut Accessing<'_>,
        target: u32,
        part: ByteRun,
        found: &mut Vec<FoundConflict>,
    ) {
        let [first, end] = [self.first[target as usize], self.first[target as usize + 1]];
        let ByteRun { start, bytes } = part;
        let (begin, stop) = (start / GRANULE_BYTES, (start + bytes).div_ceil(GRANULE_BYTES));
        for granule in begin..stop.min(end - first) {
            let from = start.max(granule * GRANULE_BYTES) - granule * GRANULE_BYTES;
            let to = (start + bytes).min((granule + 1) * GRANULE_BYTES) - granule * GRANULE_BYTES;
            let mask = (1u32 << to) - (1u32 << from);
            let words = &self.shadow[(first + granule) as usize * WORDS..][..WORDS];
            let is_recorded = accessing.access(words, mask, |number, shared| {
                let at = granule * GRANULE_BYTES;
                let start = at + u64::from(shared.trailing_zeros());
                let end = at + u64::from(u32::BITS - shared.leading_zeros());
                FoundConflict::add(found, number, start..end);
            });
            if !is_recorded {
                accessing.checker.words.is_full.store(1);
            }
        }
    }
}
