//! Stores of the program itself to the parts of its windows, which no call reports.
//!
//! The segment has a copy of each part. Operations update it with the part, under the part's lock. So a byte that
//! differs from its copy was stored by the owner.
//!
//! 1. The owner compares before calls that synchronise, and every operation compares the bytes that it accesses.
//!    What differs was stored since the owner's latest comparison. It is recorded with the clock of that
//!    comparison, and judged by all that the owner knows now. Where a call publishes clocks or merges them without
//!    a comparison, less is reported; never more.
//! 2. The records are those of a page: for each of some operations a bit for each byte. They lie beside the shadow's
//!    entries, because a program stores to most bytes of its parts between two calls.
//! 3. A record is forgotten when all ranks of the window know its clock. If a page has too many, the first one
//!    becomes entries of the shadow.
//!
//! A store of the value that was there before is not seen. Parts of more than 64 MiB, and memory that other
//! processes or windows may write without this window's operations, are not compared.

use super::report::{self, Conflict, FoundConflict};
use super::rules::AccessKind;
use super::shadow::{Accessing, GRANULE_BYTES, Judgement};
use super::window::{ByteRun, CheckedWindow};
use super::{CheckState, CheckedAccess, Checker, SITES};
use crate::call::Call;
use crate::prim::{Waiter, Word64, line_by_binding};
use crate::shm::{PageWords, PartWords, read_span};
use std::panic::Location;
use std::sync::{Arc, Weak};

/// Parts of more bytes are not compared.
pub(super) const MOST_PART: u64 = 64 << 20;
/// The owner compares a part of more bytes at collective calls, and not at messages and locks.
const MOST_OFTEN: u64 = 1 << 20;

const LOOKED_FOR: u32 = 1;
const IGNORED: u32 = 2;

const WORDS: usize = PageWords::WORDS;
/// The bytes of a page, a bit for each.
type Bits = [u64; WORDS / 8];

/// Bytes of a page that the owner has stored to.
pub(super) struct StoredPage {
    page: usize,
    bits: Bits,
}

/// How often a call is made, at which the owner compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frequency {
    /// By programs of messages and locks: only short parts are compared.
    Often,
    /// Once in a step of a program.
    Seldom,
    /// The same, by the ranks of the window with that block: this window alone is compared.
    Window(u64),
}

/// The windows whose parts this rank has compared, in a call.
pub(crate) struct Looked {
    windows: Vec<Arc<CheckedWindow>>,
    /// The number of the call and its line.
    site: u32,
}

/// A bit for each byte of a word that is not zero.
fn bytes_in(word: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let set = (((word & LOW) + LOW) | word) & !LOW;
    (set >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The words of a page that bytes from `from` on lie in: for each its number, and its value with those bytes.
fn words_with<'p>(
    page: &'p PageWords,
    from: usize,
    bytes: &'p [u8],
) -> impl Iterator<Item = (&'p Word64, usize, u64)> {
    let (first, end) = (from / 8, (from + bytes.len()).div_ceil(8));
    (first..end).map(move |number| {
        let (begin, stop) = ((number * 8).max(from), (number * 8 + 8).min(from + bytes.len()));
        let word = &page.copy[number];
        let value = match bytes[begin - from..stop - from].try_into() {
            Ok(whole) => u64::from_le_bytes(whole),
            Err(_) => {
                let mut all = word.load().to_le_bytes();
                all[begin % 8..][..stop - begin].copy_from_slice(&bytes[begin - from..stop - from]);
                u64::from_le_bytes(all)
            }
        };
        (word, number, value)
    })
}

/// Updates the copy of a page with bytes from `from` on, and adds those that differ to `bits`.
fn update(page: &PageWords, from: usize, bytes: &[u8], bits: &mut Bits) -> bool {
    if bytes.len() == PageWords::BYTES {
        return !is_same(page, bytes) && update_whole(page, bytes, bits);
    }
    let mut has_changed = false;
    for (word, number, value) in words_with(page, from, bytes) {
        let changed = bytes_in(word.load() ^ value);
        if changed != 0 {
            word.store(value);
            bits[number / 8] |= changed << (number % 8 * 8);
            has_changed = true;
        }
    }
    has_changed
}

/// [`update`] of a whole page.
fn update_whole(page: &PageWords, bytes: &[u8], bits: &mut Bits) -> bool {
    let lines = bytes.chunks_exact(64).zip(page.copy.chunks_exact(8)).zip(bits);
    for ((bytes, words), bits) in lines {
        for (at, (bytes, word)) in bytes.chunks_exact(8).zip(words).enumerate() {
            let value = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            *bits |= bytes_in(word.load() ^ value) << (at * 8);
            word.store(value);
        }
    }
    true
}

/// Whether a whole page is its copy.
fn is_same(page: &PageWords, bytes: &[u8]) -> bool {
    bytes.chunks_exact(64).zip(page.copy.chunks_exact(8)).all(|(bytes, words)| {
        let differs = bytes.chunks_exact(8).zip(words).fold(0, |differs, (chunk, word)| {
            differs | word.load() ^ u64::from_le_bytes(chunk.try_into().expect("eight bytes"))
        });
        differs == 0
    })
}

/// Parts of one page of each run, with the page's number, the first byte in it, and as many bytes of `all`, which
/// has the runs one behind the other.
fn by_pages<'a>(
    runs: &'a [ByteRun],
    all: &'a [u8],
) -> impl Iterator<Item = (usize, usize, &'a [u8])> {
    let mut rest = all;
    runs.iter().flat_map(move |run| {
        let (mut bytes, behind) = rest.split_at(run.bytes as usize);
        rest = behind;
        let mut at = run.start as usize;
        std::iter::from_fn(move || {
            let (page, from) = (at / PageWords::BYTES, at % PageWords::BYTES);
            let (now, later) = bytes.split_at(bytes.len().min(PageWords::BYTES - from));
            (at, bytes) = (at + now.len(), later);
            (!now.is_empty()).then_some((page, from, now))
        })
    })
}

/// The copy of a part.
impl CheckedWindow {
    /// The words of a part that is compared.
    pub(super) fn compared(&self, target: u32) -> Option<&PartWords> {
        (!self.pages_of(target).is_empty()).then(|| &self.parts[target as usize])
    }

    /// This rank compares its part from now on.
    fn expose(&self, checker: &Checker, waiter: &Waiter<'_>, site: u32) {
        let Some(part) = self.compared(self.rank) else { return };
        let since = checker.own_clock();
        // If the job ends, so does the check.
        let _ = part.lock.0.run(SITES, waiter, |_| {
            self.compare();
            part.site.store(site);
            part.since.store(since);
            // Another rank may have ended it already.
            let _ = part.state.compare_exchange(0, LOOKED_FOR);
        });
    }

    /// No rank compares a part any more: it has changed, or may change, in ways that this check does not see.
    pub(crate) fn ignore_stores(&self, target: u32) {
        if let Some(part) = self.compared(target) {
            part.state.store(IGNORED);
        }
    }

    /// [`CheckedWindow::ignore_stores`] if this rank's part overlaps other exposed memory.
    fn ignore_overlapping(&self, start: u64, bytes: u64) -> bool {
        let own = self.own.base() as u64;
        let overlaps = bytes != 0
            && start < own.saturating_add(self.own.len())
            && own < start.saturating_add(bytes);
        if overlaps {
            self.ignore_stores(self.rank);
        }
        overlaps
    }

    /// What differs in this rank's part, which then is its copy. Under the part's lock.
    fn compare(&self) -> Vec<StoredPage> {
        let (mut stored, mut buffer) = (Vec::new(), [0; PageWords::BYTES]);
        for (number, page) in self.pages_of(self.rank).iter().enumerate() {
            let start = (number * PageWords::BYTES) as u64;
            let bytes = (self.own.len() - start).min(PageWords::BYTES as u64) as usize;
            let (bytes, mut bits) = (&mut buffer[..bytes], [0; WORDS / 8]);
            if read_span(self.own, start, bytes) && update(page, 0, bytes, &mut bits) {
                stored.push(StoredPage { page: number, bits });
            }
        }
        stored
    }

    /// What its owner has stored to these runs of a part, which have those bytes now. Under the part's lock.
    pub(super) fn changed(&self, target: u32, runs: &[ByteRun], bytes: &[u8]) -> Vec<StoredPage> {
        let (mut stored, pages) = (Vec::<StoredPage>::new(), self.pages_of(target));
        if self.parts[target as usize].state.load() != LOOKED_FOR {
            return stored;
        }
        for (number, from, bytes) in by_pages(runs, bytes) {
            let (Some(page), mut bits) = (pages.get(number), [0; WORDS / 8]) else { continue };
            if update(page, from, bytes, &mut bits) {
                match stored.last_mut().filter(|last| last.page == number) {
                    Some(last) => last.bits.iter_mut().zip(bits).for_each(|(all, new)| *all |= new),
                    None => stored.push(StoredPage { page: number, bits }),
                }
            }
        }
        stored
    }

    /// An operation has written those bytes to these runs. Under the part's lock.
    pub(super) fn written(&self, target: u32, runs: &[ByteRun], bytes: &[u8]) {
        for (number, from, bytes) in by_pages(runs, bytes) {
            if let Some(page) = self.pages_of(target).get(number) {
                words_with(page, from, bytes).for_each(|(word, _, value)| word.store(value));
            }
        }
    }
}

/// The records of a page. Under the lock of the tables.
impl CheckedWindow {
    /// Records stores of the owner of a part between two of its calls, the later one unknown if another rank has
    /// found them. Returns new conflicts with earlier accesses.
    pub(super) fn record_stores(
        &self,
        checker: &Checker,
        state: &mut CheckState,
        target: u32,
        stored: &[StoredPage],
        later: Option<u32>,
    ) -> Vec<Conflict> {
        let (part, rank) = (&self.parts[target as usize], self.world[target as usize]);
        let site = checker.interval(state, part.site.load(), later);
        if let (Some(StoredPage { page, bits }), Some(_)) = (stored.first(), later)
            && let Some((granule, mask)) = masks(bits).next()
        {
            self.latest_store.set(site, &bytes_of((page * WORDS + granule) as u64, mask));
        }
        let since = part.since.load();
        let Some(number) = checker.store_operation(self.block, rank, since, site) else {
            return Vec::new();
        };
        let clock = checker.known_by(rank);
        let (kind, latest) = (AccessKind::Store, (0, Judgement::default()));
        let mut accessing =
            Accessing { checker, clock: &clock, rank, number, kind, datatype: 0, op: 0, latest };
        let (mut found, pages) = (Vec::new(), self.pages_of(target));
        for StoredPage { page: at, bits } in stored {
            let page = &pages[*at];
            if page.is_accessed.load() != 0 {
                self.judge_stores(&mut accessing, target, (*at, bits), &mut found);
            }
            self.add_record(checker, target, *at, number, bits);
        }
        let new = report::record(checker, state, (&self.name, target), number, &found, &clock);
        checker.release(number);
        new
    }

    /// Judges stores to a page against the entries of the shadow.
    fn judge_stores(
        &self,
        accessing: &mut Accessing<'_>,
        target: u32,
        (page, bits): (usize, &Bits),
        found: &mut Vec<FoundConflict>,
    ) {
        for (granule, mask) in masks(bits) {
            let granule = (page * WORDS + granule) as u64;
            let Some(words) = self.granule(target, granule) else { continue };
            accessing.look(words, mask, |number, shared| {
                FoundConflict::add(found, number, bytes_of(granule, shared));
            });
        }
    }

    /// Adds a record to a page.
    fn add_record(&self, checker: &Checker, target: u32, at: usize, number: u32, bits: &Bits) {
        let page = &self.pages_of(target)[at];
        for (other, bytes) in page.numbers.iter().zip(&page.bytes) {
            let found = other.load();
            if found != 0 && self.all_know(checker, found) {
                other.store(0);
                bytes.iter().for_each(|word| word.store(0));
                checker.release(found);
            }
        }
        let is_free = |other: &crate::prim::Word32| other.load() == 0;
        let slot = page.numbers.iter().position(is_free).unwrap_or_else(|| {
            self.spill(checker, target, at);
            0
        });
        page.bytes[slot].iter().zip(bits).for_each(|(word, bits)| word.store(*bits));
        page.numbers[slot].store(number);
        checker.retain(number);
    }

    /// Turns the first record of a page into entries of the shadow.
    fn spill(&self, checker: &Checker, target: u32, at: usize) {
        let page = &self.pages_of(target)[at];
        let number = page.numbers[0].load();
        let (kind, latest) = (AccessKind::Store, (0, Judgement::default()));
        let accessing = Accessing {
            checker,
            clock: &[],
            rank: checker.rank,
            number,
            kind,
            datatype: 0,
            op: 0,
            latest,
        };
        page.is_accessed.store(1);
        for (granule, mask) in masks(&page.bytes[0].each_ref().map(Word64::load)) {
            let words = self.granule(target, (at * WORDS + granule) as u64);
            if !words.is_some_and(|words| accessing.add(words, mask)) {
                checker.words.is_full.store(1);
            }
        }
        checker.release(number);
    }

    /// Whether every rank of the window knows of a store.
    fn all_know(&self, checker: &Checker, number: u32) -> bool {
        let operation = checker.operation_at(number);
        let (owner, issued) = (operation.rank.load(), operation.issued.load());
        self.world.iter().all(|rank| {
            *rank == owner
                || checker.row(*rank).get(owner as usize).is_some_and(|k| k.load() >= issued)
        })
    }

    /// Judges an access to bytes of a part against the records of its pages, and records that it was there.
    pub(super) fn touch_pages(
        &self,
        accessing: &mut Accessing<'_>,
        target: u32,
        part: ByteRun,
        found: &mut Vec<FoundConflict>,
    ) {
        let pages = self.pages_of(target);
        let end = part.start + part.bytes;
        let bytes = PageWords::BYTES as u64;
        for at in part.start / bytes..end.div_ceil(bytes).min(pages.len() as u64) {
            let page = &pages[at as usize];
            page.is_accessed.store(1);
            for (number, stored) in page.numbers.iter().zip(&page.bytes) {
                let number = number.load();
                if number == 0 || !accessing.conflicts_with(number) {
                    continue;
                }
                for (granule, mask) in masks(&stored.each_ref().map(Word64::load)) {
                    let granule = at * WORDS as u64 + granule as u64;
                    let shared = mask & mask_of(granule, part);
                    if shared != 0 {
                        FoundConflict::add(found, number, bytes_of(granule, shared));
                    }
                }
            }
        }
    }
}

/// The granules of a page with bytes that are set, and those bytes.
fn masks(bits: &Bits) -> impl Iterator<Item = (usize, u32)> {
    (0..WORDS).filter_map(|granule| {
        let mask = (bits[granule / 8] >> (granule % 8 * 8)) as u32 & 0xff;
        (mask != 0).then_some((granule, mask))
    })
}

/// The bytes of a granule that a run has.
pub(super) fn mask_of(granule: u64, ByteRun { start, bytes }: ByteRun) -> u32 {
    let (begin, end) = (granule * GRANULE_BYTES, (granule + 1) * GRANULE_BYTES);
    let (from, to) = (start.clamp(begin, end) - begin, (start + bytes).clamp(begin, end) - begin);
    (1u32 << to) - (1u32 << from)
}

/// From the first to the last of these bytes of a granule, in bytes from the beginning of the part.
pub(super) fn bytes_of(granule: u64, mask: u32) -> std::ops::Range<u64> {
    let at = granule * GRANULE_BYTES;
    at + u64::from(mask.trailing_zeros())..at + u64::from(u32::BITS - mask.leading_zeros())
}

/// What this rank does at its calls.
impl Checker {
    /// A window of this rank exists from now on.
    pub(crate) fn watch(&self, window: &Arc<CheckedWindow>, waiter: &Waiter<'_>) {
        let mut state = self.state();
        let site = self.site_of(&mut state, waiter, "the window's creation".into());
        for other in state.windows.iter().filter_map(Weak::upgrade) {
            if other.ignore_overlapping(window.own.base() as u64, window.own.len()) {
                window.ignore_stores(window.rank);
            }
        }
        for (start, bytes) in &state.attached {
            window.ignore_overlapping(*start, *bytes);
        }
        state.windows.retain(|other| other.strong_count() != 0);
        state.windows.push(Arc::downgrade(window));
        drop(state);
        window.expose(self, waiter, site);
    }

    /// This rank has attached memory to a dynamic window.
    pub(crate) fn attached(&self, start: u64, bytes: u64) {
        let mut state = self.state();
        state.attached.push((start, bytes));
        for window in state.windows.iter().filter_map(Weak::upgrade) {
            window.ignore_overlapping(start, bytes);
        }
    }

    fn own_clock(&self) -> u64 {
        self.state().clock[self.rank as usize]
    }

    /// Looks for stores of the program before a call that synchronises, made at `at`. Blocks while operations on
    /// this rank's parts are under way.
    pub(crate) fn look(
        &self,
        waiter: &Waiter<'_>,
        call: Call,
        at: Option<&'static Location<'static>>,
        frequency: Frequency,
    ) -> Option<Looked> {
        let is_looked_at = |window: &Arc<CheckedWindow>| {
            let part = window.compared(window.rank);
            let is_due = match frequency {
                Frequency::Often => window.own.len() <= MOST_OFTEN,
                Frequency::Seldom => true,
                Frequency::Window(block) => block == window.block,
            };
            part.is_some_and(|part| is_due && part.state.load() == LOOKED_FOR)
        };
        let all = self.state().windows.iter().filter_map(Weak::upgrade).collect::<Vec<_>>();
        let windows: Vec<_> = all.into_iter().filter(is_looked_at).collect();
        if windows.is_empty() {
            return None;
        }
        let line = line_by_binding().or_else(|| at.map(ToString::to_string));
        let text =
            line.map_or_else(|| call.name().into(), |line| format!("{} at {line}", call.name()));
        let site = self.site_of(&mut self.state(), waiter, text);
        for window in &windows {
            let part = &window.parts[window.rank as usize];
            // If the job ends, so does the check.
            let stored = part.lock.0.run(SITES, waiter, |_| window.compare()).unwrap_or_default();
            if !stored.is_empty() {
                let mut state = self.state();
                let new = self.words.lock.0.run(SITES, waiter, |_| {
                    window.record_stores(self, &mut state, window.rank, &stored, Some(site))
                });
                drop(state);
                report::print(&new.unwrap_or_default());
            }
        }
        Some(Looked { windows, site })
    }

    /// That call returns to the program.
    pub(crate) fn looked(&self, looked: Option<Looked>) {
        let Some(Looked { windows, site }) = looked else { return };
        let since = self.own_clock();
        for window in windows {
            let part = &window.parts[window.rank as usize];
            part.site.store(site);
            part.since.store(since);
        }
    }

    /// The number of a call of the program with its line.
    fn site_of(&self, state: &mut CheckState, waiter: &Waiter<'_>, text: String) -> u32 {
        match state.lines.get(&text) {
            Some(number) => *number,
            None => {
                let number = self.words.lock.0.run(SITES, waiter, |_| self.text(state, &text));
                number.unwrap_or_default()
            }
        }
    }

    /// The number of what stands for a store between two calls, of which the later one may be unknown. Under the
    /// lock.
    fn interval(&self, state: &mut CheckState, earlier: u32, later: Option<u32>) -> u32 {
        let key = (earlier, later.unwrap_or_default());
        if let Some(number) = state.intervals.get(&key) {
            return *number;
        }
        let name = |number| report::text_of(&self.sites, number).unwrap_or_else(|| "a call".into());
        let text = match later {
            Some(later) => format!("between {} and {}", name(earlier), name(later)),
            None => format!("after {}", name(earlier)),
        };
        let number = self.text(state, &text);
        state.intervals.insert(key, number);
        number
    }

    /// The operation that stands for stores of a rank. It has one entry until the caller releases that. Under the
    /// lock; `None` if the table is full.
    fn store_operation(&self, window: u64, rank: u32, since: u64, site: u32) -> Option<u32> {
        let next = |number: u32| self.operation_at(number).entries.load();
        let number = self.take(&self.words.operations, self.operations.len(), next)?;
        let operation = self.operation_at(number);
        let (call, kind) = (Call::None, AccessKind::Store);
        let access = CheckedAccess { call, kind, datatype: 0, op: 0, at: Location::caller() };
        operation.rank.store(rank);
        operation.what.store(access.word());
        operation.site.store(site);
        operation.entries.store(1);
        operation.issued.store(since);
        operation.completed.store(since);
        operation.window.store(window);
        Some(number)
    }

    /// What a rank knows of the others' clocks.
    pub(super) fn row(&self, rank: u32) -> &[Word64] {
        let ranks = self.ranks;
        self.known.get(rank as usize * ranks..).map_or(&[], |rest| &rest[..ranks])
    }

    fn known_by(&self, rank: u32) -> Vec<u64> {
        self.row(rank).iter().map(Word64::load).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bit_for_each_byte_that_is_not_zero(bytes in any::<[bool; 8]>(), value in 1..=255u8) {
            let word = u64::from_le_bytes(bytes.map(|is_set| if is_set { value } else { 0 }));
            let bits = (0..8).filter(|byte| bytes[*byte]).map(|byte| 1 << byte).sum::<u64>();
            prop_assert_eq!(bytes_in(word), bits);
        }

        #[test]
        fn runs_are_divided_at_pages(runs in prop::collection::vec((0..20_000u64, 0..9_000u64), 1..4)) {
            let runs: Vec<_> = runs.iter().map(|(start, bytes)| ByteRun { start: *start, bytes: *bytes }).collect();
            let expected = runs.iter().flat_map(|run| run.start..run.start + run.bytes);
            let all: Vec<u8> = expected.clone().map(|at| at as u8).collect();
            let found = by_pages(&runs, &all).flat_map(|(page, from, bytes)| {
                assert!(from + bytes.len() <= PageWords::BYTES);
                (page * PageWords::BYTES + from..).map(|at| at as u64).zip(bytes.to_vec())
            });
            prop_assert!(found.eq(expected.map(|at| (at, at as u8))));
        }
    }
}
