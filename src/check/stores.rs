//! Stores of the program itself to the parts of its windows, which no call reports.
//!
//! The segment has a copy of each part. Operations update it with the part, under the locks of the pages. So a byte that
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
//! 4. While the owner of a long part waits in a barrier or fence it *rests*: it has compared the part, and stores nothing.
//!    Operations then compare nothing, and mark the pages that they write. The owner renews the copies of these before it
//!    goes on. A rank with several threads does not rest, nor one with receives under way, which would store meanwhile.
//!
//! 5. A part that the library has allocated is *hidden* until the program asks for its address: it cannot store there but by
//!    calls. Until then nothing is compared, and the part has no copy. The call that returns the address makes the copy.
//!
//! A store of the value that was there before is not seen. Parts of more than 64 MiB, and memory that other
//! processes or windows may write without this window's operations, are not compared.

use super::report::{self, Conflict, FoundConflict};
use super::shadow::{Accessing, BYTES, GRANULE_BYTES};
use super::window::{AccessedBytes, ByteRun, CheckedWindow, GRANULES, whole_of};
use super::written::WrittenPages;
use super::{CheckState, CheckedAccess, Checker, threads};
use crate::call::Call;
use crate::prim::{Waiter, Word32, Word64, line_by_binding};
use crate::shm::{
    PageHead, PageWords, PartWords, Span, copy_to_words, is_only_thread, is_same, read_span,
};
use std::panic::Location;
use std::ptr;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

/// Parts of more bytes are not compared.
pub(super) const MOST_PART: u64 = 64 << 20;
/// The owner compares a part of more bytes at collective calls, and not at messages and locks.
const MOST_OFTEN: u64 = 1 << 20;

const LOOKED_FOR: u32 = 1;
const IGNORED: u32 = 2;
const HIDDEN: u32 = 3;

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

/// A part of fewer bytes is compared sooner than its owner rests.
const RESTING: u64 = 64 << 10;

/// The windows whose owner rests in this process.
#[derive(Default)]
pub(crate) struct Resting(Vec<Arc<CheckedWindow>>);

impl Resting {
    /// The owner goes on. Blocks while operations on its parts are under way.
    pub(crate) fn end(&self, waiter: &Waiter<'_>) {
        self.0.iter().for_each(|window| window.renew(waiter));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The windows whose parts this rank has compared, in a call.
pub(crate) struct Looked {
    windows: Vec<Arc<CheckedWindow>>,
    /// The number of the call and its line.
    site: u32,
    rests: bool,
}

/// Bytes of operations that need no buffer for a page.
const SHORT: usize = 64;

/// A bit for each byte of a word that is not zero.
fn bytes_in(word: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let set = (((word & LOW) + LOW) | word) & !LOW;
    (set >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Calls `each` with the words of a page that bytes from `from` on lie in: the word, its number, and its value with
/// those bytes.
#[inline]
fn words_with(
    page: &PageWords,
    from: usize,
    bytes: &[u8],
    mut each: impl FnMut(&Word64, usize, u64),
) {
    let (begin, behind) = (from / 8, (from + bytes.len()) / 8);
    let aligned = bytes.len().min(from.wrapping_neg() % 8);
    let (head, rest) = bytes.split_at(aligned);
    let (whole, tail) = rest.split_at(rest.len() / 8 * 8);
    let mut partial = |number: usize, at: usize, some: &[u8]| {
        let mut all = page.copy[number].load().to_le_bytes();
        all[at..at + some.len()].copy_from_slice(some);
        each(&page.copy[number], number, u64::from_le_bytes(all));
    };
    if !head.is_empty() {
        partial(begin, from % 8, head);
    }
    if !tail.is_empty() {
        partial(behind, 0, tail);
    }
    let first = begin + usize::from(!head.is_empty());
    let words = page.copy[first.min(WORDS)..].iter().zip(first..);
    for (bytes, (word, number)) in whole.chunks_exact(8).zip(words) {
        each(word, number, u64::from_le_bytes(bytes.try_into().expect("eight bytes")));
    }
}

/// Updates the copy of a page with bytes from `from` on. Returns those that differ, if there are any.
fn update(page: &PageWords, from: usize, bytes: &[u8]) -> Option<Bits> {
    let mut differs = 0;
    words_with(page, from, bytes, |word, _, value| differs |= word.load() ^ value);
    if differs == 0 {
        return None;
    }
    let mut bits = [0; WORDS / 8];
    words_with(page, from, bytes, |word, number, value| {
        bits[number / 8] |= bytes_in(word.load() ^ value) << (number % 8 * 8);
        word.store(value);
    });
    Some(bits)
}

/// [`update`] with a run of a mapped part that lies in the page. Most have not changed, and are only compared.
fn update_from(part: Span, page: &PageWords, ByteRun { start, bytes }: ByteRun) -> Option<Bits> {
    let ((_, from), bytes) = (divided(start), bytes as usize);
    if is_same(part, start, (&page.copy, from), bytes)? {
        return None;
    }
    let mut buffer = [0; PageWords::BYTES];
    read_span(part, start, &mut buffer[..bytes]).then(|| update(page, from, &buffer[..bytes]))?
}

/// The page of a byte of a part, and where it is there.
#[inline]
pub(super) fn divided(start: u64) -> (usize, usize) {
    (start as usize / PageWords::BYTES, start as usize % PageWords::BYTES)
}

/// The only one of some runs, if all its bytes lie in one page.
#[inline]
pub(super) fn in_one_page(runs: &[ByteRun]) -> Option<ByteRun> {
    let [run] = *runs else { return None };
    let page = PageWords::BYTES as u64;
    (run.bytes != 0 && run.start % page + run.bytes <= page).then_some(run)
}

/// Divides runs at the ends of pages.
fn by_pages(runs: &[ByteRun]) -> impl Iterator<Item = ByteRun> {
    runs.iter().flat_map(|run| divided_by(PageWords::BYTES as u64, *run))
}

/// Divides a run at multiples of `unit` bytes.
pub(super) fn divided_by(unit: u64, run: ByteRun) -> impl Iterator<Item = ByteRun> {
    let (mut at, end) = (run.start, run.start + run.bytes);
    std::iter::from_fn(move || {
        let bytes = (end - at).min(unit - at % unit);
        at += bytes;
        (bytes != 0).then(|| ByteRun { start: at - bytes, bytes })
    })
}

impl AccessedBytes<'_> {
    /// Reads all runs, and calls `each` with the parts of one page of each: the page's number, the first byte in it,
    /// and the bytes. Returns whether all could be read.
    fn read_pages(&self, each: impl FnMut(usize, usize, &[u8])) -> bool {
        let bytes: u64 = self.runs.iter().map(|run| run.bytes).sum();
        // For an element no page has to be cleared.
        match bytes <= SHORT as u64 {
            true => self.read_by(&mut [0; SHORT], each),
            false => self.read_by(&mut [0; PageWords::BYTES], each),
        }
    }

    /// [`AccessedBytes::read_pages`] by a buffer for a page or for all.
    fn read_by(&self, buffer: &mut [u8], mut each: impl FnMut(usize, usize, &[u8])) -> bool {
        let mut read = |together: &[ByteRun]| {
            let all = together.iter().map(|run| run.bytes as usize).sum();
            let mut rest = &mut buffer[..all];
            if !(self.read)(together, rest) {
                return false;
            }
            for ByteRun { start, bytes } in together {
                let (now, behind) = rest.split_at_mut(*bytes as usize);
                let (page, from) = divided(*start);
                each(page, from, now);
                rest = behind;
            }
            true
        };
        let (mut together, mut bytes) = (Vec::new(), 0);
        for run in by_pages(&self.runs) {
            if bytes + run.bytes > PageWords::BYTES as u64 {
                if !read(&together) {
                    return false;
                }
                together.clear();
                bytes = 0;
            }
            bytes += run.bytes;
            together.push(run);
        }
        read(&together)
    }
}

/// The copy of a part.
impl CheckedWindow {
    /// The words of a part that is compared.
    pub(super) fn compared(&self, target: u32) -> Option<&PartWords> {
        (!self.pages_of(target).is_empty()).then(|| &self.parts[target as usize])
    }

    /// This rank compares its part from now on, or, if that is hidden, from [`CheckedWindow::shown`] on.
    fn expose(&self, checker: &Checker, waiter: &Waiter<'_>, (site, hidden): (u32, bool)) {
        let Some(part) = self.compared(self.rank) else { return };
        let since = checker.own_stamp();
        // If the job ends, so does the check.
        let _ = self.alone_at_own(waiter, || {
            part.site.store(site);
            part.since.store(since);
            // Another rank may have ended it already.
            let _ = part.state.compare_exchange(0, HIDDEN);
        });
        if !hidden {
            self.shown(waiter);
        }
    }

    /// The program gets the address of this rank's part. Blocks while operations on the part are under way.
    pub(crate) fn shown(&self, waiter: &Waiter<'_>) {
        if !self.is_hidden(self.rank) {
            return;
        }
        let mut written = self.written_pages();
        written.find();
        // If the job ends, so does the check.
        let _ = self.alone_at_own(waiter, || {
            self.compare(&mut written);
            // Another rank may have ended it already.
            let _ = self.parts[self.rank as usize].state.compare_exchange(HIDDEN, LOOKED_FOR);
        });
    }

    /// Whether a part is hidden. It stays what it is under the lock of one of its pages.
    pub(super) fn is_hidden(&self, target: u32) -> bool {
        self.parts[target as usize].state.load() == HIDDEN
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

    /// What differs in pages of this rank's part, which then are their copies. Under the locks of its pages.
    fn compare(&self, written: &mut WrittenPages) -> Vec<StoredPage> {
        let (mut stored, pages, heads) =
            (Vec::new(), self.pages_of(self.rank), self.heads_of(self.rank));
        written.compare(|number| {
            // A thread that has come later than this one's rest.
            if heads[number].is_stale.load() != 0 {
                return false;
            }
            let differing = update_from(self.own, &pages[number], self.run_of(number));
            let is_same = differing.is_none();
            stored.extend(differing.map(|bits| StoredPage { page: number, bits }));
            is_same
        });
        stored
    }

    fn written_pages(&self) -> MutexGuard<'_, WrittenPages> {
        self.written_pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the owner may rest.
    fn may_rest(&self) -> bool {
        self.own.len() > RESTING && !self.is_hidden(self.rank)
    }

    fn own_pages(&self) -> impl Iterator<Item = (&PageWords, &PageHead)> {
        self.pages_of(self.rank).iter().zip(self.heads_of(self.rank))
    }

    /// The bytes of a page of this rank's part.
    fn run_of(&self, page: usize) -> ByteRun {
        let start = (page * PageWords::BYTES) as u64;
        ByteRun { start, bytes: (self.own.len() - start).min(PageWords::BYTES as u64) }
    }

    /// This rank rests no more: its part's copy is what operations have left there meanwhile.
    fn renew(&self, waiter: &Waiter<'_>) {
        // If the job ends, so does the check.
        let _ = self.alone_at_own(waiter, || {
            for (number, (page, head)) in self.own_pages().enumerate() {
                if head.is_stale.load() != 0 {
                    let ByteRun { start, bytes } = self.run_of(number);
                    copy_to_words(self.own, start, (&page.copy, 0), bytes as usize);
                    head.is_stale.store(0);
                }
            }
            self.parts[self.rank as usize].rests.store(0);
        });
    }

    /// Whether the owner of a part rests. Under the lock of one of its pages.
    pub(super) fn is_resting(&self, target: u32) -> bool {
        self.parts[target as usize].rests.load() != 0
    }

    /// What its owner has stored to the bytes of a part that an operation is about to access. Under the locks of its pages.
    pub(super) fn changed(&self, target: u32, accessed: &AccessedBytes<'_>) -> Vec<StoredPage> {
        let (mut stored, pages) = (Vec::<StoredPage>::new(), self.pages_of(target));
        let is_looked_for = || self.parts[target as usize].state.load() == LOOKED_FOR;
        if !is_looked_for() || self.is_resting(target) {
            return stored;
        }
        let span = self.span_here(target);
        if let Some(run) = in_one_page(&accessed.runs)
            && let (number, from) = divided(run.start)
            && let Some(page) = pages.get(number)
            && is_same(span, run.start, (&page.copy, from), run.bytes as usize) == Some(true)
        {
            return stored;
        }
        let mut add = |number: usize, differing: Option<Bits>| {
            let Some(bits) = differing else { return };
            match stored.last_mut().filter(|last| last.page == number) {
                Some(last) => last.bits.iter_mut().zip(bits).for_each(|(all, new)| *all |= new),
                None => stored.push(StoredPage { page: number, bits }),
            }
        };
        if span.len() == 0 {
            accessed.read_pages(|number, from, bytes| {
                add(number, pages.get(number).and_then(|page| update(page, from, bytes)));
            });
        } else {
            for run in by_pages(&accessed.runs) {
                let (number, _) = divided(run.start);
                add(number, pages.get(number).and_then(|page| update_from(span, page, run)));
            }
        }
        // A store that its compiler reports comes after the owner has changed the state (`own`).
        if is_looked_for() { stored } else { Vec::new() }
    }

    /// An operation has written these bytes. Under the locks of its pages.
    pub(super) fn written(&self, target: u32, accessed: &AccessedBytes<'_>) {
        let (pages, span) = (self.pages_of(target), self.span_here(target));
        if self.is_hidden(target) {
            return;
        }
        if self.is_resting(target) {
            let heads = self.heads_of(target);
            let touched =
                by_pages(&accessed.runs).filter_map(|run| heads.get(divided(run.start).0));
            return touched.for_each(|head| head.is_stale.store(1));
        }
        if span.len() == 0 {
            accessed.read_pages(|number, from, bytes| {
                if let Some(page) = pages.get(number) {
                    words_with(page, from, bytes, |word, _, value| word.store(value));
                }
            });
            return;
        }
        let copy = |run: ByteRun| {
            let (number, from) = divided(run.start);
            if let Some(page) = pages.get(number) {
                copy_to_words(span, run.start, (&page.copy, from), run.bytes as usize);
            }
        };
        match in_one_page(&accessed.runs) {
            Some(run) => copy(run),
            None => by_pages(&accessed.runs).for_each(copy),
        }
    }
}

/// The records of a page. Under the locks of its pages.
impl CheckedWindow {
    /// Records stores of the owner of a part between two of its calls, the later one unknown if another rank has
    /// found them. Returns new conflicts with earlier accesses.
    pub(super) fn record_stores(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        state: &mut CheckState,
        target: u32,
        stored: &[StoredPage],
        later: Option<u32>,
    ) -> Vec<Conflict> {
        let (part, rank) = (&self.parts[target as usize], self.world[target as usize]);
        let since = part.since.load();
        let operation = checker.exclusively(waiter, || {
            let site = checker.interval(state, part.site.load(), later);
            (site, checker.store_operation(self.block, rank, since, site))
        });
        let Some((site, number)) = operation else { return Vec::new() };
        if let (Some(StoredPage { page, bits }), Some(_)) = (stored.first(), later)
            && let Some((granule, mask)) = masks(bits).next()
        {
            let of = (site, CheckedAccess::store().word());
            self.latest_store.set(of, &bytes_of((page * WORDS + granule) as u64, mask));
        }
        let Some(number) = number else { return Vec::new() };
        let clock = checker.known_by(rank);
        let mut accessing =
            Accessing::new((checker, waiter), (rank, &clock), number, &CheckedAccess::store());
        if later.is_some() && self.is_separate(checker) {
            accessing.separate(self.seen_by(checker, target));
        }
        let (mut found, heads) = (Vec::new(), self.heads_of(target));
        for StoredPage { page: at, bits } in stored {
            if heads[*at].is_accessed.load() != 0 {
                self.judge_stores(&mut accessing, target, (*at, bits), &mut found);
            }
            self.add_record(&mut accessing, (target, *at), (number, bits));
        }
        let first = stored.first().and_then(|StoredPage { page, bits }| {
            let (granule, mask) = masks(bits).next()?;
            Some(bytes_of((page * WORDS + granule) as u64, mask))
        });
        self.find_disjoint(&mut accessing, target, first, &mut found);
        let record =
            || report::record(checker, state, (&self.name(), target), number, &found, &clock);
        let new = match found.is_empty() {
            true => None,
            false => checker.exclusively(waiter, record),
        };
        if self.is_separate(checker) && later.is_some() {
            state.unpublished.push((self.block, number));
        } else {
            // Of stores that another rank has found it is not known what has published them.
            if self.is_separate(checker) {
                let more = checker.more_at(number);
                checker.operation_at(number).publish(more, threads::ALWAYS);
            }
            accessing.release(number, 1);
        }
        accessing.finish(state);
        new.unwrap_or_default()
    }

    /// Judges stores to a page against the entries of the shadow.
    fn judge_stores(
        &self,
        accessing: &mut Accessing<'_>,
        target: u32,
        (page, bits): (usize, &Bits),
        found: &mut Vec<FoundConflict>,
    ) {
        let (head, blocks) = (&self.heads_of(target)[page], self.blocks_of((target, page)));
        let (has_blocks, has_granules) = (head.has_blocks.load() != 0, head.has_granules.load());
        // Granules that share their words with the one before, none of whose entries conflicts.
        let mut harmless = None;
        for (at, mask) in masks(bits) {
            let (granule, block) = ((page * WORDS + at) as u64, at / GRANULES);
            let (words, sharing) = match has_blocks {
                false => (Some(whole_of(head)), Some(None)),
                true if has_granules >> block & 1 == 0 => (blocks.at(block), Some(Some(block))),
                true => (self.granule(target, granule), None),
            };
            let Some(words) = words.filter(|_| sharing.is_none() || sharing != harmless) else {
                continue;
            };
            harmless = sharing;
            accessing.look(words, BYTES, |number, bytes, finding| {
                harmless = None;
                if bytes & mask != 0 {
                    FoundConflict::add(found, (number, finding), bytes_of(granule, bytes & mask));
                }
            });
        }
    }

    /// Adds a record of operation `number` to a page.
    fn add_record(
        &self,
        accessing: &mut Accessing<'_>,
        (target, at): (u32, usize),
        (number, bits): (u32, &Bits),
    ) {
        let (head, page) = (&self.heads_of(target)[at], &self.pages_of(target)[at]);
        for (other, bytes) in head.numbers.iter().zip(&page.bytes) {
            let found = other.load();
            if found != 0 && self.all_know(accessing.checker, found) {
                other.store(0);
                bytes.iter().for_each(|word| word.store(0));
                accessing.release(found, 1);
            }
        }
        let is_free = |other: &Word32| other.load() == 0;
        let slot = head.numbers.iter().position(is_free).unwrap_or_else(|| {
            self.spill(accessing, target, at);
            0
        });
        page.bytes[slot].iter().zip(bits).for_each(|(word, bits)| word.store(*bits));
        head.numbers[slot].store(number);
        accessing.checker.retain(number, 1);
    }

    /// Turns the first record of a page into entries of the shadow.
    fn spill(&self, accessing: &mut Accessing<'_>, target: u32, at: usize) {
        let (head, page) = (&self.heads_of(target)[at], &self.pages_of(target)[at]);
        let number = head.numbers[0].load();
        head.is_accessed.store(1);
        self.divide(accessing, (target, at));
        for (granule, mask) in masks(&page.bytes[0].each_ref().map(Word64::load)) {
            self.divide_block(accessing, (target, at), granule / GRANULES);
            let words = self.granule(target, (at * WORDS + granule) as u64);
            if !words.is_some_and(|words| accessing.add(words, number, mask)) {
                accessing.checker.words.is_full.store(1);
            }
        }
        accessing.release(number, 1);
    }

    /// Whether every rank of the window knows of a store.
    fn all_know(&self, checker: &Checker, number: u32) -> bool {
        let operation = checker.operation_at(number);
        let (owner, issued) = (operation.rank.load(), operation.issued.load());
        let (at, stored) = threads::required((owner, checker.ranks), issued);
        let knows =
            |rank: u32| checker.row(rank).get(at).is_some_and(|known| known.load() >= stored);
        self.world.iter().all(|rank| *rank == owner || knows(*rank))
    }

    /// Judges an access to bytes of a part against the records of its pages, and records that it was there.
    pub(super) fn touch_pages(
        &self,
        accessing: &mut Accessing<'_>,
        target: u32,
        part: ByteRun,
        found: &mut Vec<FoundConflict>,
    ) {
        let (heads, pages) = (self.heads_of(target), self.pages_of(target));
        let end = part.start + part.bytes;
        let bytes = PageWords::BYTES as u64;
        for at in part.start / bytes..end.div_ceil(bytes).min(pages.len() as u64) {
            let head = &heads[at as usize];
            if head.is_accessed.load() == 0 {
                head.is_accessed.store(1);
            }
            for (number, stored) in head.numbers.iter().zip(0..) {
                let number = number.load();
                if number == 0 {
                    continue;
                }
                let Some(finding) = accessing.judge(number).found else { continue };
                let stored = &pages[at as usize].bytes[stored];
                for (granule, mask) in masks(&stored.each_ref().map(Word64::load)) {
                    let granule = at * WORDS as u64 + granule as u64;
                    let shared = mask & mask_of(granule, part);
                    if shared != 0 {
                        FoundConflict::add(found, (number, finding), bytes_of(granule, shared));
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
    /// A window of this rank exists from now on; `hidden` if the program does not know where its part is.
    pub(crate) fn watch(&self, window: &Arc<CheckedWindow>, waiter: &Waiter<'_>, hidden: bool) {
        let mut state = self.state();
        let site = self.text_of(&mut state, waiter, "the window's creation");
        for other in state.windows.iter().filter_map(Weak::upgrade) {
            if other.ignore_overlapping(window.own.base() as u64, window.own.len()) {
                window.ignore_stores(window.rank);
            }
            window.overlaps(&other);
        }
        for (start, bytes) in &state.attached {
            window.ignore_overlapping(*start, *bytes);
        }
        if state.threads.used() > 1 {
            window.ignore_stores(window.rank);
        }
        state.windows.retain(|other| other.strong_count() != 0);
        state.windows.push(Arc::downgrade(window));
        drop(state);
        window.expose(self, waiter, (site, hidden));
        self.watch_parts(window);
    }

    /// This rank has attached memory to a dynamic window, without tables for it.
    pub(super) fn attached(&self, start: u64, bytes: u64) {
        let mut state = self.state();
        state.attached.push((start, bytes));
        for window in state.windows.iter().filter_map(Weak::upgrade) {
            window.ignore_overlapping(start, bytes);
        }
    }

    /// The stamp of this thread now.
    pub(super) fn own_stamp(&self) -> u64 {
        self.stamp(&mut self.state().threads)
    }

    /// Looks for stores of the program before a call that synchronises, made at `at`. With `rests` this rank rests from
    /// now on. Blocks while operations on this rank's parts are under way.
    pub(crate) fn look(
        &self,
        waiter: &Waiter<'_>,
        (call, rests): (Call, bool),
        at: Option<&'static Location<'static>>,
        frequency: Frequency,
    ) -> Option<Looked> {
        self.settle(waiter);
        let is_looked_at = |window: &Arc<CheckedWindow>| {
            let part = window.compared(window.rank);
            let is_due = match frequency {
                Frequency::Often => window.own.len() <= MOST_OFTEN,
                Frequency::Seldom => true,
                Frequency::Window(block) => block == window.block,
            };
            part.is_some_and(|part| is_due && matches!(part.state.load(), LOOKED_FOR | HIDDEN))
        };
        let windows: Vec<_> = self.windows().into_iter().filter(is_looked_at).collect();
        if windows.is_empty() {
            return None;
        }
        let site = self.site_of_call(waiter, call, at);
        // Another thread might store meanwhile.
        let rests = rests && windows.iter().any(|window| window.may_rest()) && is_only_thread();
        for window in windows.iter().filter(|window| !window.is_hidden(window.rank)) {
            let mut written = window.written_pages();
            let begins_to_rest = rests && window.may_rest();
            if !written.find() && !begins_to_rest {
                continue;
            }
            let new = window.alone_at_own(waiter, || {
                let stored = window.compare(&mut written);
                if begins_to_rest {
                    window.parts[window.rank as usize].rests.store(1);
                }
                if stored.is_empty() {
                    return Vec::new();
                }
                let state = &mut self.state();
                window.record_stores((self, waiter), state, window.rank, &stored, Some(site))
            });
            report::print(&new.unwrap_or_default());
        }
        Some(Looked { windows, site, rests })
    }

    /// The number of a call and its line, as a text.
    fn site_of_call(
        &self,
        waiter: &Waiter<'_>,
        call: Call,
        at: Option<&'static Location<'static>>,
    ) -> u32 {
        // A binding may wait for locks of its language to find it.
        let line = line_by_binding();
        let state = &mut *self.state();
        let key = (call as u32, at.map_or(0, |at| ptr::from_ref(at).addr()));
        if line.is_none()
            && let Some(number) = state.calls.get(&key)
        {
            return *number;
        }
        let is_by_binding = line.is_some();
        let line = line.or_else(|| at.map(ToString::to_string));
        let text =
            line.map_or_else(|| call.name().into(), |line| format!("{} at {line}", call.name()));
        let number = self.text_of(state, waiter, &text);
        if !is_by_binding {
            state.calls.insert(key, number);
        }
        number
    }

    /// What that call publishes is published. Returns the windows whose owner rests until it returns to the program.
    pub(crate) fn looked(&self, looked: Option<Looked>) -> Resting {
        let Some(Looked { mut windows, site, rests }) = looked else { return Resting::default() };
        let since = self.own_stamp();
        for window in &windows {
            let part = &window.parts[window.rank as usize];
            part.site.store(site);
            part.since.store(since);
        }
        windows.retain(|window| rests && window.may_rest());
        Resting(windows)
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
        let number = self.take_operation()?;
        let operation = self.operation_at(number);
        operation.rank.store(rank);
        operation.what.store(CheckedAccess::store().word());
        operation.site.store(site);
        operation.entries.store(1);
        operation.issued.store(since);
        operation.begin(self.more_at(number));
        operation.completed.store(since);
        operation.window.store(window);
        Some(number)
    }

    /// What a rank knows of the others' clocks.
    pub(super) fn row(&self, rank: u32) -> &[Word64] {
        let clocks = self.clocks;
        self.known.get(rank as usize * clocks..).map_or(&[], |rest| &rest[..clocks])
    }

    fn known_by(&self, rank: u32) -> Vec<u64> {
        self.row(rank).iter().take(self.width()).map(Word64::load).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EpochKind, OwnBuffers};
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
        fn accessed_bytes_are_read_page_by_page(runs in prop::collection::vec((0..20_000u64, 0..9_000u64), 1..4)) {
            let runs: Vec<_> = runs.iter().map(|(start, bytes)| ByteRun { start: *start, bytes: *bytes }).collect();
            let expected: Vec<u64> = runs.iter().flat_map(|run| run.start..run.start + run.bytes).collect();
            let read = |runs: &[ByteRun], to: &mut [u8]| {
                let all = runs.iter().flat_map(|run| run.start..run.start + run.bytes);
                to.iter_mut().zip(all).for_each(|(byte, at)| *byte = at as u8);
                true
            };
            let accessed = AccessedBytes { runs, read: &read, buffers: OwnBuffers::default(), epoch: EpochKind::Other, buffer_of: None };
            let mut found = Vec::new();
            let is_read = accessed.read_pages(|page, from, bytes| {
                assert!(from + bytes.len() <= PageWords::BYTES);
                found.extend((page * PageWords::BYTES + from..).map(|at| at as u64).zip(bytes.to_vec()));
            });
            prop_assert!(is_read);
            prop_assert!(found.into_iter().eq(expected.into_iter().map(|at| (at, at as u8))));
        }

        #[test]
        fn words_of_a_page_get_their_bytes(from in 0..PageWords::BYTES, bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let bytes = &bytes[..bytes.len().min(PageWords::BYTES - from)];
            let page = PageWords {
                bytes: std::array::from_fn(|_| std::array::from_fn(|_| Word64::default())),
                more: std::array::from_fn(|_| std::array::from_fn(|_| Word32::default())),
                copy: std::array::from_fn(|_| Word64::default()),
            };
            let mut expected = [0u8; PageWords::BYTES];
            expected[from..from + bytes.len()].copy_from_slice(bytes);
            let bits = update(&page, from, bytes);
            prop_assert_eq!(bits.is_some(), bytes.iter().any(|byte| *byte != 0));
            let bits = bits.unwrap_or([0; WORDS / 8]);
            let found = page.copy.iter().flat_map(|word| word.load().to_le_bytes());
            prop_assert!(found.eq(expected));
            let is_set = |at: usize| bits[at / 64] >> (at % 64) & 1 == 1;
            prop_assert!((0..PageWords::BYTES).all(|at| is_set(at) == (expected[at] != 0)));
        }
    }
}
