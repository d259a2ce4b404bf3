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

use super::assertions::LatestStore;
use super::attached::{AddressSpace, AttachedParts};
use super::buffers::PendingKey;
use super::late::LateAccesses;
use super::observed::Announcements;
use super::report::{self, Conflict, FoundConflict};
use super::separate::OwnerView;
use super::shadow::{AHEAD, Accessing, BYTES, FEW, GRANULE_BYTES, Granule, Granules, MORE, WORDS};
use super::stores::{MOST_PART, StoredPage, bytes_of, divided, divided_by, mask_of};
use super::threads::are_followed;
use super::written::WrittenPages;
use super::{
    AccessKind, CallLine, CheckState, CheckedAccess, Checker, EpochKind, Holding, OwnBuffers,
};
use crate::call::Call;
use crate::error::Result;
use crate::prim::{Waiter, Word32, Word64, caller_by_binding, expect_access, line_by_binding};
use crate::shm::{OriginWords, PageHead, PageWords, PartWords, PlacedSlice, Segment, Span};
use crate::sync::LockType;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

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
/// Clocks of a target that operations raise.
const RAISED: usize = OF_TARGET - OfTarget::Rung as usize;
const OF_WINDOW: usize = 2;
const FENCES: usize = 2;

/// Bytes of one rank's part, for the shadow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteRun {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

/// What the check needs of a window.
pub(crate) struct CheckedWindow {
    /// The window's block.
    pub(super) block: u64,
    name: Mutex<Arc<str>>,
    /// This rank in the window.
    pub(super) rank: u32,
    /// The ranks of the window, by their numbers in the job.
    pub(super) world: Box<[u32]>,
    /// This rank's part.
    pub(super) own: Span,
    /// The parts that this process has mapped; others are empty.
    mapped: Box<[Span]>,
    /// All parts: those that are not mapped by their addresses in the owners' processes.
    spans: Box<[Span]>,
    /// 1 if another window of this rank exposes some bytes of a part.
    pub(super) has_overlaps: Word32,
    pub(super) ranks: usize,
    /// Numbers of a clock.
    clocks: usize,
    words: PlacedSlice<Word64>,
    /// For each target of its clocks from [`OfTarget::Rung`] on: when this rank has raised it last.
    raised: Box<[Word64]>,
    /// For each target what describes its bytes.
    tables: Box<[PartTables]>,
    pub(super) parts: PlacedSlice<PartWords>,
    /// For each target what each rank has done as its origin.
    pub(super) origins: PlacedSlice<OriginWords>,
    /// Fences of this rank.
    pub(super) fences: Word32,
    pub(super) latest_store: LatestStore,
    pub(super) written_pages: Mutex<WrittenPages>,
    pub(super) late: LateAccesses,
    /// Whether this process takes part in barriers of all ranks.
    pub(super) takes_part: bool,
    /// Whether all pages of a part have one lock.
    pub(super) has_one_lock: bool,
    /// Whether only the unified memory model is checked.
    pub(super) is_unified: bool,
    pub(super) owner_view: OwnerView,
    /// Of a dynamic window.
    pub(super) attached: Option<AttachedParts>,
    /// Which operations concurrent accumulates of one element may have.
    ops: ConcurrentOps,
}

/// What describes the bytes of one rank's part.
struct PartTables {
    /// The words of all granules: the first ones of each, and the others.
    few: PlacedSlice<[Word32; FEW]>,
    more: PlacedSlice<[Word32; MORE]>,
    pages: PlacedSlice<PageWords>,
    /// The heads of these pages.
    heads: PlacedSlice<PageHead>,
}

/// The ranks of a window, and where this rank's part is.
pub(crate) struct WindowRanks<'w> {
    /// This rank in the window.
    pub(crate) rank: u32,
    /// All, by their numbers in the job.
    pub(crate) world: &'w [u32],
    pub(crate) own: Span,
    /// The parts that this process has mapped; others are empty.
    pub(crate) mapped: Box<[Span]>,
    /// All parts: those that are not mapped by their addresses in the owners' processes.
    pub(crate) spans: Box<[Span]>,
    /// Whether ranks may store to each other's parts without a call.
    pub(crate) is_shared: bool,
    /// Whether memory is attached to it later.
    pub(crate) is_dynamic: bool,
    pub(crate) ops: ConcurrentOps,
    /// Whether this process takes part in barriers of all ranks.
    pub(crate) takes_part: bool,
}

/// Which operations concurrent accumulates of one element may have, where the program has given `accumulate_ops`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ConcurrentOps {
    /// Any: it has not.
    #[default]
    Any,
    Same,
    SameOrNoOp,
}

/// Where the tables of a window are behind each other, in bytes.
struct Tables {
    shadow: u64,
    parts: u64,
    origins: u64,
    heads: u64,
    pages: u64,
    end: u64,
}

/// Where the words of a window are: its clocks, what its ranks have done as origins, and the other tables from `at` on; the
/// first granule and the first page of each part, and behind the last one the number of all.
struct TablePlaces {
    words: u64,
    origins: u64,
    at: u64,
    tables: Tables,
    firsts: [Box<[u64]>; 2],
}

impl TablePlaces {
    /// The tables of one rank's part.
    fn of_part(&self, segment: &Arc<Segment>, rank: usize) -> Result<PartTables> {
        let (tables, [granules, _]) =
            (&self.tables, self.firsts.each_ref().map(|all| all[all.len() - 1]));
        let [granule, page] = self.firsts.each_ref().map(|all| all[rank]);
        let [parts_granules, parts_pages] =
            self.firsts.each_ref().map(|all| (all[rank + 1] - all[rank]) as usize);
        let few = |granules: u64| granules * size_of::<[Word32; FEW]>() as u64;
        let (shadow, head) = (self.at + tables.shadow, page * size_of::<PageHead>() as u64);
        let more = shadow + few(granules) + granule * size_of::<[Word32; MORE]>() as u64;
        let of_page = page * size_of::<PageWords>() as u64;
        Ok(PartTables {
            few: segment.place_all(shadow + few(granule), parts_granules)?,
            more: segment.place_all(more, parts_granules)?,
            pages: segment.place_all(self.at + tables.pages + of_page, parts_pages)?,
            heads: segment.place_all(self.at + tables.heads + head, parts_pages)?,
        })
    }
}

/// How many runs before an access the words of its first block do.
const RUNS_AHEAD: usize = 8;

/// Bytes of the words of a granule.
const SHADOW_BYTES: u64 = WORDS as u64 * 4;

/// Granules of a block.
pub(super) const GRANULES: usize = PageWords::BLOCK_BYTES / GRANULE_BYTES as usize;

/// The block of its page that a byte of a part lies in.
pub(super) fn block_of(start: u64) -> usize {
    start as usize % PageWords::BYTES / PageWords::BLOCK_BYTES
}

/// The granules of a part that a block has.
fn granules_of(page: usize, block: usize) -> Range<u64> {
    let first = (page * PageWords::WORDS + block * GRANULES) as u64;
    first..first + GRANULES as u64
}

/// The words that all granules of a page have together.
pub(super) fn whole_of(head: &PageHead) -> Granule<'_> {
    Granule { few: &head.few, more: &head.more }
}

/// Those of each block of a page.
#[inline]
fn blocks_of<'w>(head: &'w PageHead, page: &'w PageWords) -> Granules<'w> {
    Granules { few: &head.blocks, more: &page.more }
}

/// The words of the block of a byte come into the cache, and the head of its page.
#[inline]
fn expect_block(heads: &[PageHead], start: u64) {
    if let Some(head) = heads.get(divided(start).0) {
        head.is_accessed.expect_read();
        head.blocks[block_of(start)][0].expect_update();
    }
}

/// Accesses the first of some runs of a part, block by block, as long as the words of the blocks are those that another block
/// had before. Returns how many runs that were, and what is left of the next one. A whole page has words of its own, and is left
/// to the caller. Not inlined there: the loop would have too few registers.
#[inline(never)]
fn touch_alike(
    accessing: &mut Accessing<'_>,
    (heads, pages): (&[PageHead], &[PageWords]),
    runs: &[ByteRun],
) -> (usize, Option<ByteRun>) {
    const UNIT: u64 = PageWords::BLOCK_BYTES as u64;
    for (at, run) in runs.iter().enumerate() {
        if let Some(later) = runs.get(at + RUNS_AHEAD) {
            expect_block(heads, later.start);
        }
        let is_long = run.bytes >= PageWords::BYTES as u64;
        let mut left = *run;
        while left.bytes >= UNIT && left.start % UNIT == 0 && !is_long {
            let ((page, _), block) = (divided(left.start), block_of(left.start));
            let (Some(head), Some(page)) = (heads.get(page), pages.get(page)) else { break };
            let is_alike = head.has_only_entries()
                && !head.is_divided(block)
                && accessing.access_alike(blocks_of(head, page), block);
            if !is_alike {
                break;
            }
            left = ByteRun { start: left.start + UNIT, bytes: left.bytes - UNIT };
        }
        if left.bytes != 0 {
            return (at, Some(left));
        }
    }
    (runs.len(), None)
}

/// Accesses all bytes of a run of granules that have words together, and of the runs of as many bytes behind it, as long as
/// their words are the same. Returns the bytes of all.
fn touch_whole<'w>(
    accessing: &mut Accessing<'_>,
    words: impl Iterator<Item = Granule<'w>>,
    run: ByteRun,
    found: &mut Vec<FoundConflict>,
) -> u64 {
    let (alike, is_recorded) = accessing.access(words, BYTES, |at, number, _, of| {
        let start = run.start + at as u64 * run.bytes;
        FoundConflict::add(found, (number, of), start..start + run.bytes);
    });
    if !is_recorded {
        accessing.checker.words.is_full.store(1);
    }
    alike as u64 * run.bytes
}

/// Pages of a part whose stores are looked for.
fn pages_of(bytes: u64) -> u64 {
    if bytes <= MOST_PART { bytes.div_ceil(PageWords::BYTES as u64) } else { 0 }
}

impl CheckedWindow {
    /// Bytes behind the other words of a window of `ranks` ranks with those parts, in a job with clocks of
    /// that many numbers.
    pub(crate) fn bytes(ranks: u32, clocks: u32, parts: impl Iterator<Item = u64>) -> u64 {
        let (granules, pages) = parts.fold((0u64, 0u64), |(granules, pages), bytes| {
            let more = bytes.div_ceil(GRANULE_BYTES);
            (granules.saturating_add(more), pages.saturating_add(pages_of(bytes)))
        });
        Self::tables((ranks as usize, clocks as usize), granules, pages).end
    }

    fn tables((ranks, clocks): (usize, usize), granules: u64, pages: u64) -> Tables {
        let align = align_of::<PartWords>() as u64;
        let shadow = Self::words_of(ranks) as u64 * clocks as u64 * 8;
        let shadow_end = shadow.saturating_add(granules.saturating_mul(SHADOW_BYTES));
        let parts = shadow_end.checked_next_multiple_of(align).unwrap_or(u64::MAX);
        let origins = parts.saturating_add(ranks as u64 * size_of::<PartWords>() as u64);
        let heads = origins.saturating_add((ranks * ranks * size_of::<OriginWords>()) as u64);
        let heads =
            heads.checked_next_multiple_of(align_of::<PageHead>() as u64).unwrap_or(u64::MAX);
        let bytes = |size: usize| pages.saturating_mul(size as u64);
        let pages_start = heads.saturating_add(bytes(size_of::<PageHead>()));
        let end = pages_start.saturating_add(bytes(size_of::<PageWords>()));
        Tables { shadow, parts, origins, heads, pages: pages_start, end }
    }

    fn words_of(ranks: usize) -> usize {
        (FENCES + OF_TARGET) * ranks + OF_WINDOW
    }

    /// Of the window whose block is at `block`; the bytes are at `at`.
    pub(crate) fn place(
        segment: &Arc<Segment>,
        (block, at): (u64, u64),
        name: &str,
        of: WindowRanks<'_>,
        parts: impl ExactSizeIterator<Item = u64>,
    ) -> Result<CheckedWindow> {
        let is_dynamic = of.is_dynamic;
        let (ranks, clocks) = (parts.len(), segment.layout().clocks as usize);
        let (mut first, mut first_page) = (vec![0], vec![0]);
        for bytes in parts {
            first.push(first[first.len() - 1] + bytes.div_ceil(GRANULE_BYTES));
            let pages = if of.is_shared { 0 } else { pages_of(bytes) };
            first_page.push(first_page[first_page.len() - 1] + pages);
        }
        let tables = Self::tables((ranks, clocks), first[ranks], first_page[ranks]);
        let firsts = [first.into(), first_page.into()];
        let places = TablePlaces { words: at, origins: at + tables.origins, at, tables, firsts };
        let mut window = Self::placed(segment, (block, name), of, places)?;
        window.attached = is_dynamic.then(|| AttachedParts::new(segment, at));
        Ok(window)
    }

    /// Bytes behind the head of an attachment of that many bytes.
    pub(super) fn bytes_of_attachment(&self, bytes: u64) -> u64 {
        let granules = bytes.div_ceil(GRANULE_BYTES);
        Self::tables((self.ranks, 0), granules, pages_of(bytes)).end
    }

    /// The part of a rank that is an attachment of that many bytes. In the owner's process it is at `own`; `there` it is in this
    /// process, if it is mapped, and otherwise in the owner's. The tables of the window are at `of_window`, its own ones at
    /// `at`.
    pub(super) fn place_attachment(
        &self,
        segment: &Arc<Segment>,
        of_window: u64,
        (rank, at, bytes): (u32, u64, u64),
        (own, there, is_mapped): (Span, Span, bool),
    ) -> Result<CheckedWindow> {
        let (ranks, pages) = (self.ranks, pages_of(bytes));
        let granules = bytes.div_ceil(GRANULE_BYTES);
        let origins = of_window + Self::tables((ranks, self.clocks), 0, 0).origins;
        let tables = Self::tables((ranks, 0), granules, pages);
        let first_of =
            |all: u64| (0..=ranks as u32).map(|of| if of > rank { all } else { 0 }).collect();
        let firsts = [first_of(granules), first_of(pages)];
        let mut spans = vec![Span::nothing(); ranks];
        let mut mapped = spans.clone();
        spans[rank as usize] = there;
        if is_mapped {
            mapped[rank as usize] = there;
        }
        let of = WindowRanks {
            rank: self.rank,
            world: &self.world,
            own,
            mapped: mapped.into(),
            spans: spans.into(),
            is_shared: false,
            is_dynamic: true,
            ops: self.ops,
            takes_part: self.takes_part,
        };
        let places = TablePlaces { words: of_window, origins, at, tables, firsts };
        let part = Self::placed(segment, (self.block, &self.name()), of, places)?;
        part.has_overlaps.store(1);
        Ok(part)
    }

    fn placed(
        segment: &Arc<Segment>,
        (block, name): (u64, &str),
        of: WindowRanks<'_>,
        places: TablePlaces,
    ) -> Result<CheckedWindow> {
        let (ranks, clocks) = (of.world.len(), segment.layout().clocks as usize);
        let part_tables = (0..ranks).map(|rank| places.of_part(segment, rank));
        let part_tables = part_tables.collect::<Result<_>>()?;
        let TablePlaces { words, origins, at, tables, .. } = places;
        Ok(CheckedWindow {
            block,
            name: Mutex::new(name.into()),
            rank: of.rank,
            world: of.world.into(),
            own: of.own,
            mapped: of.mapped,
            spans: of.spans,
            has_overlaps: Word32::default(),
            ranks,
            clocks,
            words: segment.place_all(words, Self::words_of(ranks) * clocks)?,
            raised: (0..ranks * RAISED).map(|_| Word64::default()).collect(),
            tables: part_tables,
            parts: segment.place_all(at + tables.parts, ranks)?,
            origins: segment.place_all(origins, ranks * ranks)?,
            fences: Word32::default(),
            latest_store: LatestStore::default(),
            written_pages: Mutex::new(WrittenPages::new(of.own)),
            late: LateAccesses::default(),
            takes_part: of.takes_part,
            has_one_lock: segment.layout().is_separate,
            is_unified: of.is_shared || of.is_dynamic,
            owner_view: OwnerView::default(),
            attached: None,
            ops: of.ops,
        })
    }

    /// Where the shadow is, and its bytes.
    #[cfg(feature = "test-hooks")]
    pub(crate) fn shadow_bytes(&self) -> (*mut u8, usize) {
        let granules: usize = self.tables.iter().map(|part| part.few.len()).sum();
        let bytes = granules * SHADOW_BYTES as usize;
        (self.tables[0].few.as_ptr().cast_mut().cast(), bytes)
    }

    /// The pages of a part whose stores are looked for.
    #[inline]
    pub(super) fn pages_of(&self, target: u32) -> &[PageWords] {
        &self.tables[target as usize].pages
    }

    /// The words of each block of a page.
    #[inline]
    pub(super) fn blocks_of(&self, (target, page): (u32, usize)) -> Granules<'_> {
        blocks_of(&self.heads_of(target)[page], &self.pages_of(target)[page])
    }

    /// Their heads.
    #[inline]
    pub(super) fn heads_of(&self, target: u32) -> &[PageHead] {
        &self.tables[target as usize].heads
    }

    pub(super) fn name(&self) -> Arc<str> {
        self.name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The program has named the window.
    pub(crate) fn rename(&self, name: &str) {
        *self.name.lock().unwrap_or_else(PoisonError::into_inner) = name.into();
    }

    /// Where the part of a rank is in this process, if it is; the own part also if it is not mapped from the segment.
    #[inline]
    pub(super) fn span_here(&self, rank: u32) -> Span {
        if rank == self.rank { self.own } else { self.mapped[rank as usize] }
    }

    /// An operation also accesses the shadows of other windows of this rank over the same bytes of the target. Blocks while
    /// others access these parts.
    fn access_by_other_windows(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        (access, target): (&CheckedAccess, u32),
        runs: &[ByteRun],
    ) {
        let all = checker.windows();
        // The parts of a dynamic window are found by that.
        let is_part = |one: &CheckedWindow| {
            one.attached.is_none()
                && all.iter().any(|window| window.attached.is_some() && window.block == one.block)
        };
        for other in all.iter().filter(|other| other.block != self.block && !is_part(other)) {
            let Some(rank) = other.rank_of(self.world[target as usize]) else { continue };
            let of = (self.block, target);
            if other.attached.is_some() {
                self.access_attached((checker, waiter), (access, target, runs), (other, rank));
                continue;
            }
            for run in runs.iter().filter_map(|run| self.shared_with(other, (target, rank), *run)) {
                other.access_besides((checker, waiter), (access, rank, run), of);
            }
        }
    }

    /// [`CheckedWindow::access_by_other_windows`] of a dynamic one.
    fn access_attached(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        (access, target, runs): (&CheckedAccess, u32, &[ByteRun]),
        (other, rank): (&CheckedWindow, u32),
    ) {
        let (of, span) = ((self.block, target), self.spans[target as usize]);
        let in_segment = other.place_of(self.mapped[target as usize]);
        let (space, base) = match in_segment {
            Some(offset) => (AddressSpace::Segment, offset),
            None => (AddressSpace::Owner, span.base() as u64),
        };
        for run in runs {
            let accessed = AccessedBytes {
                runs: vec![ByteRun { start: base + run.start, ..*run }],
                read: &|_, _| false,
                buffers: OwnBuffers::default(),
                epoch: EpochKind::Other,
                buffer_of: Some(of),
            };
            other.in_attachment(waiter, (rank, space), &accessed, |part, accessed| {
                if part.attached.is_none() {
                    let access = (access, rank, accessed.runs[0]);
                    part.access_besides((checker, waiter), access, of);
                }
            });
        }
    }

    /// The rank of the window that is this rank of the job.
    fn rank_of(&self, world: u32) -> Option<u32> {
        self.world.iter().position(|rank| *rank == world).map(|rank| rank as u32)
    }

    /// The bytes of a run of a part that `other` also exposes, as bytes of its part.
    fn shared_with(
        &self,
        other: &CheckedWindow,
        (target, rank): (u32, u32),
        run: ByteRun,
    ) -> Option<ByteRun> {
        let is_mapped = [&self.mapped[target as usize], &other.mapped[rank as usize]];
        let [one, another] = is_mapped.map(|span| span.len() != 0);
        let [here, there] = [self.spans[target as usize], other.spans[rank as usize]];
        let [from, start] = [here, there].map(|span| span.base() as u64);
        let first = (from + run.start).max(start);
        let end = (from + run.start + run.bytes).min(start + there.len());
        let shared = ByteRun { start: first.wrapping_sub(start), bytes: end.saturating_sub(first) };
        (one == another && first < end).then_some(shared)
    }

    /// Another window of this rank exists, which may expose the same bytes.
    pub(super) fn overlaps(&self, other: &CheckedWindow) {
        let meets = |target: u32| {
            let rank = other.rank_of(self.world[target as usize])?;
            if self.attached.is_some() || other.attached.is_some() {
                return Some(ByteRun { start: 0, bytes: 0 });
            }
            let all = ByteRun { start: 0, bytes: self.spans[target as usize].len() };
            self.shared_with(other, (target, rank), all)
        };
        if (0..self.ranks as u32).any(|target| meets(target).is_some()) {
            self.has_overlaps.store(1);
            other.has_overlaps.store(1);
        }
    }

    /// The words of a granule of a part.
    #[inline]
    pub(super) fn granule(&self, target: u32, granule: u64) -> Option<Granule<'_>> {
        self.shadow(target).at(granule as usize)
    }

    /// The words of some granules of a part.
    #[inline]
    fn granules(&self, target: u32, granules: Range<u64>) -> Option<Granules<'_>> {
        self.shadow(target).range(granules.start as usize..granules.end as usize)
    }

    #[inline]
    fn shadow(&self, target: u32) -> Granules<'_> {
        let PartTables { few, more, .. } = &self.tables[target as usize];
        Granules { few, more }
    }

    #[inline]
    fn clock(&self, number: usize) -> &[Word64] {
        &self.words[number * self.clocks..][..self.clocks]
    }

    fn fence_clock(&self, fence: u32, rank: usize) -> &[Word64] {
        self.clock((fence as usize % FENCES) * self.ranks + rank)
    }

    fn of_window(&self, which: OfWindow) -> &[Word64] {
        self.clock(FENCES * self.ranks + which as usize)
    }

    #[inline]
    fn of_target(&self, target: u32, which: OfTarget) -> &[Word64] {
        self.clock_of(target, which as usize)
    }

    #[inline]
    fn clock_of(&self, target: u32, which: usize) -> &[Word64] {
        self.clock(FENCES * self.ranks + OF_WINDOW + target as usize * OF_TARGET + which)
    }
}

/// What synchronises ranks: publishing before it releases others, merging after it.
impl CheckedWindow {
    /// This rank is about to arrive at its fence of that number.
    pub(crate) fn fencing(&self, checker: &Checker, waiter: &Waiter<'_>, fence: u32) {
        self.flushed(checker, waiter, Call::Fence, None);
        self.published(checker);
        checker.publish(self.fence_clock(fence, self.rank as usize));
        self.fences.store(fence.wrapping_add(1));
        self.latest_store.clear();
    }

    /// All ranks have arrived there.
    pub(crate) fn fenced(&self, checker: &Checker, fence: u32) {
        checker.merge((0..self.ranks).map(|rank| self.fence_clock(fence, rank)));
        self.seen(checker);
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
        self.seen(checker);
        self.latest_store.clear();
    }

    /// It is about to release it.
    pub(crate) fn unlocking(
        &self,
        checker: &Checker,
        waiter: &Waiter<'_>,
        target: u32,
        (held, nocheck): (LockType, bool),
    ) {
        self.flushed(checker, waiter, Call::Unlock, Some(target));
        self.published(checker);
        self.releasing(checker, Holding { held, nocheck, target: Some(target) });
        self.latest_store.clear();
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
        self.seen(checker);
        self.latest_store.clear();
    }

    /// It is about to release it.
    pub(crate) fn unlocking_all(&self, checker: &Checker, waiter: &Waiter<'_>, nocheck: bool) {
        self.flushed(checker, waiter, Call::UnlockAll, None);
        self.published(checker);
        self.releasing(checker, Holding { held: LockType::Shared, nocheck, target: None });
        self.latest_store.clear();
        if !nocheck {
            checker.raise([self.of_window(OfWindow::Any)]);
        }
    }

    /// This rank is about to notify its origins of a post.
    pub(crate) fn posting(&self, checker: &Checker) {
        self.published(checker);
        checker.raise([self.of_target(self.rank, OfTarget::Posts)]);
        self.latest_store.clear();
    }

    /// The targets have posted.
    pub(crate) fn started(&self, checker: &Checker, targets: &[u32]) {
        self.starts(checker, targets);
        checker.merge(targets.iter().map(|target| self.of_target(*target, OfTarget::Posts)));
        self.latest_store.clear();
    }

    /// This rank is about to complete its epoch on these targets.
    pub(crate) fn completing(&self, checker: &Checker, waiter: &Waiter<'_>, targets: &[u32]) {
        self.flushed(checker, waiter, Call::Complete, None);
        self.latest_store.clear();
        checker.raise(targets.iter().map(|target| self.of_target(*target, OfTarget::Completes)));
    }

    /// The origins have completed.
    pub(crate) fn waited(&self, checker: &Checker) {
        checker.merge([self.of_target(self.rank, OfTarget::Completes)]);
        self.seen(checker);
        self.latest_store.clear();
        self.unexposed();
    }

    /// This rank's operations on the target, or on all, are complete there by `call`.
    pub(crate) fn flushed(
        &self,
        checker: &Checker,
        waiter: &Waiter<'_>,
        call: Call,
        target: Option<u32>,
    ) {
        if checker.is_late {
            self.late_operations(target);
        }
        if let Some(target) = target {
            self.of_target(target, OfTarget::Rung)[0].expect_update();
        }
        let ranks = target.map_or(0..self.ranks as u32, |target| target..target + 1);
        let is_one = |of: &PendingKey| of.is_at(self.block, target);
        self.completed_here((checker, waiter), call.name(), is_one, |state| {
            checker.complete(state, self.block, target);
            ranks.for_each(|rank| self.raise(checker, state, rank, OfTarget::Rung as usize));
        });
    }

    /// The owner of a part has seen what another rank has announced there.
    pub(crate) fn noticed(&self, checker: &Checker, target: u32) {
        checker.merge([self.of_target(target, OfTarget::Rung)]);
    }

    /// This rank makes the two copies of its part the same (`MPI_Win_sync`), which is also a barrier of the
    /// memory, as a fence of C.
    pub(crate) fn synced(&self, checker: &Checker, waiter: &Waiter<'_>) {
        if are_followed() {
            checker.fence(waiter, (true, true));
        }
        self.published(checker);
        let at = self.of_target(self.rank, OfTarget::Rung);
        checker.merge_announced(at, Announcements::by_sync);
        self.seen(checker);
    }

    /// This rank is about to update elements of the target by an accumulate. Accumulates order what ranks do
    /// before and after them, as atomic variables of a language.
    pub(crate) fn updating(&self, checker: &Checker, target: u32, part: ByteRun) {
        checker.with_state(|state| {
            elements(part).for_each(|which| self.raise(checker, state, target, which));
        });
    }

    /// [`CheckedWindow::updating`] of one element, with the state of this rank.
    #[inline]
    pub(super) fn updating_one(
        &self,
        (checker, state): (&Checker, &mut CheckState),
        target: u32,
        start: u64,
    ) {
        self.raise(checker, state, target, element_of(start));
    }

    /// Publishes the clock of this rank to one of a target, by its number.
    #[inline]
    fn raise(&self, checker: &Checker, state: &mut CheckState, target: u32, which: usize) {
        let raised = &self.raised[target as usize * RAISED + which - OfTarget::Rung as usize];
        // What was raised then counts as published until the number changes.
        if state.threads.changes() != Some(raised.load()) {
            checker.raise_again(state, self.clock_of(target, which), raised);
        }
    }

    /// Words that an accumulate of the element there raises come into the cache, if its clock has grown since the one before.
    #[inline]
    pub(super) fn expect_raise(&self, target: u32, start: u64) {
        for which in [OfTarget::Rung as usize, element_of(start)] {
            self.clock_of(target, which).iter().take(1).for_each(Word64::expect_update);
        }
    }

    /// This rank has fetched elements of the target by an accumulate. Under the lock of their pages.
    pub(crate) fn fetched(&self, checker: &Checker, target: u32, part: ByteRun) {
        let observed = checker.with_state(|state| self.observe((checker, state), target, part));
        checker.fetched((self.block, target), self.elements(target, part), observed);
    }

    /// It has read elements by an atomic operation of its language, which acquires.
    pub(super) fn acquired(&self, checker: &Checker, target: u32, part: ByteRun) {
        checker.merge(self.elements(target, part));
    }

    /// The window is about to be freed. Returns blocks of the segment that the caller then frees. Blocks while others access
    /// the parts.
    pub(crate) fn freeing(&self, checker: &Checker, waiter: &Waiter<'_>) -> Vec<u64> {
        checker.settle_all(waiter);
        checker.count_all(waiter);
        self.attached_blocks()
    }

    /// The window is freed. Its block may be another one's already.
    pub(crate) fn freed(&self, checker: &Checker, waiter: &Waiter<'_>) {
        self.detach_all(checker);
        checker.unwatch_parts(self);
        checker.forget(self.block, waiter);
    }

    /// The clock of the first element, and that of what may be seen in the part.
    pub(super) fn clocks_of_element(&self, target: u32, part: ByteRun) -> [&[Word64]; 2] {
        let which = [element_of(part.start), OfTarget::Rung as usize];
        which.map(|which| self.clock_of(target, which))
    }

    /// The clocks of elements.
    pub(super) fn elements(&self, target: u32, part: ByteRun) -> impl Iterator<Item = &[Word64]> {
        elements(part).map(move |which| self.clock_of(target, which))
    }
}

/// The number of the clock of the element at a byte.
#[inline]
fn element_of(start: u64) -> usize {
    OfTarget::Elements as usize + (start / GRANULE_BYTES) as usize % ELEMENTS
}

/// The numbers of the clocks of elements.
fn elements(part: ByteRun) -> impl Iterator<Item = usize> {
    let granules = part.bytes.div_ceil(GRANULE_BYTES).min(ELEMENTS as u64);
    (0..granules).map(move |granule| element_of(part.start + granule * GRANULE_BYTES))
}

/// The runs of bytes of a part that an operation accesses, and how to read them.
pub(crate) struct AccessedBytes<'a> {
    pub(crate) runs: Vec<ByteRun>,
    /// Reads all runs, one behind the other; returns whether that was possible.
    pub(crate) read: &'a dyn Fn(&[ByteRun], &mut [u8]) -> bool,
    /// The operation's buffers in this process; none if the program may use them when the call returns.
    pub(crate) buffers: OwnBuffers,
    /// How the operation reaches its target.
    pub(crate) epoch: EpochKind,
    /// If the bytes are a buffer of an operation, or it accesses them by another window: the block of its window, and its
    /// target.
    pub(crate) buffer_of: Option<(u64, u32)>,
}

impl AccessedBytes<'_> {
    /// Adds a run.
    pub(crate) fn push(&mut self, run: ByteRun) {
        match self.runs.last_mut().filter(|last| last.start + last.bytes == run.start) {
            Some(last) => last.bytes += run.bytes,
            None => self.runs.push(run),
        }
    }
}

/// Accesses.
impl CheckedWindow {
    /// An access of this rank to the part of `target`: reports what it conflicts with, and does it by `act`. Blocks
    /// while another rank accesses the part. After [`Checker::settle`].
    pub(crate) fn access_any<R>(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        of: (&CheckedAccess, u32),
        accessed: &AccessedBytes<'_>,
        act: impl FnOnce() -> R,
    ) -> R {
        match self.attached {
            None => self.access_part((checker, waiter), of, accessed, act),
            Some(_) => self.in_attachment(
                waiter,
                (of.1, AddressSpace::Owner),
                accessed,
                |part, accessed| part.access_part((checker, waiter), of, accessed, act),
            ),
        }
    }

    fn access_part<R>(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        (access, target): (&CheckedAccess, u32),
        accessed: &AccessedBytes<'_>,
        act: impl FnOnce() -> R,
    ) -> R {
        for run in accessed.runs.iter().take(RUNS_AHEAD) {
            expect_block(self.heads_of(target), run.start);
        }
        // A binding may wait for locks of its language to find it.
        let (line, caller) = (line_by_binding(), caller_by_binding());
        let judge = |stored: &[StoredPage]| {
            let of = (access, target, CallLine { text: line.as_deref(), caller });
            self.judge((checker, waiter), of, accessed, stored)
        };
        let done = self.act(waiter, (access.kind, target), accessed, judge, act);
        if self.has_overlaps.load() != 0 {
            self.access_by_other_windows((checker, waiter), (access, target), &accessed.runs);
        }
        if !accessed.buffers.is_empty() {
            self.access_buffers_in_parts((checker, waiter), (access, target), &accessed.buffers);
        }
        done
    }

    /// A byte of a part and what describes it come into the cache.
    pub(crate) fn expect_access(&self, target: u32, start: u64) {
        let (page, from) = divided(start);
        self.parts[target as usize].pages[page % PartWords::LOCKS].0.expect_entry();
        if let Some(at) = self.span_here(target).at(start, 1, 1) {
            expect_access(at);
        }
        if let Some(granule) = self.granule(target, start / GRANULE_BYTES) {
            granule.expect_update();
        }
        if let Some(page) = self.pages_of(target).get(page).filter(|_| !self.is_hidden(target)) {
            page.copy[from / GRANULE_BYTES as usize].expect_update();
        }
    }

    /// An access of this rank that was judged before, and does it by `act`. Blocks while another rank accesses the part.
    pub(crate) fn take_effect<R>(
        &self,
        checker: &Checker,
        waiter: &Waiter<'_>,
        (kind, target): (AccessKind, u32),
        accessed: &AccessedBytes<'_>,
        act: impl FnOnce() -> R,
    ) -> R {
        let in_part = |part: &CheckedWindow, accessed: &AccessedBytes<'_>| {
            let judge = |stored: &[StoredPage]| match stored.is_empty() {
                true => Vec::new(),
                false => {
                    let state = &mut *checker.state();
                    part.record_stores((checker, waiter), state, target, stored, None)
                }
            };
            part.act(waiter, (kind, target), accessed, judge, act)
        };
        match self.attached {
            None => in_part(self, accessed),
            Some(_) => self.in_attachment(waiter, (target, AddressSpace::Owner), accessed, in_part),
        }
    }

    /// Does an access by `act`, after `judge` has had the stores of the owner that it finds.
    pub(super) fn act<R>(
        &self,
        waiter: &Waiter<'_>,
        (kind, target): (AccessKind, u32),
        accessed: &AccessedBytes<'_>,
        judge: impl FnOnce(&[StoredPage]) -> Vec<Conflict>,
        act: impl FnOnce() -> R,
    ) -> R {
        let is_compared = self.compared(target).is_some();
        let (mut act, mut done, mut new) = (Some(act), None, Vec::new());
        // If the job ends, so does the check.
        let _ = self.alone_at(waiter, target, &accessed.runs, || {
            let stored = match is_compared {
                true => self.changed(target, accessed),
                false => Vec::new(),
            };
            new = judge(&stored);
            if is_compared {
                done = act.take().map(|act| act());
                if !kind.only_reads() {
                    self.written(target, accessed);
                }
            }
        });
        report::print(&new);
        match act {
            Some(act) => act(),
            None => done.expect("it was run under the lock"),
        }
    }

    /// The program itself has accessed the part of a rank, at that line. Blocks while another rank accesses the part.
    pub(super) fn own_access(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        (access, target, line): (&CheckedAccess, u32, &str),
        accessed: &AccessedBytes<'_>,
    ) {
        let access = (access, target, CallLine { text: Some(line), caller: None });
        let judge = || self.judge((checker, waiter), access, accessed, &[]);
        let new = self.alone_at(waiter, target, &accessed.runs, judge);
        report::print(&new.unwrap_or_default());
    }

    /// The operation of an accumulate, by its number, if others must not be concurrent with it.
    pub(super) fn op_of(&self, access: &CheckedAccess) -> u8 {
        match self.ops {
            ConcurrentOps::Any => 0,
            ConcurrentOps::SameOrNoOp if access.kind == AccessKind::Fetch => 0,
            _ => access.op,
        }
    }

    /// Judges and records an access, after the stores of the owner that it has found. Returns new conflicts. Under the
    /// locks of the pages.
    pub(super) fn judge(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        (access, target, line): (&CheckedAccess, u32, CallLine<'_>),
        accessed: &AccessedBytes<'_>,
        stored: &[StoredPage],
    ) -> Vec<Conflict> {
        let mut new = Vec::new();
        let access = &CheckedAccess { op: self.op_of(access), ..*access };
        let state = &mut *checker.state();
        if !stored.is_empty() {
            new = self.record_stores((checker, waiter), state, target, stored, None);
        }
        let of = accessed.buffer_of.unwrap_or((self.block, target));
        if accessed.buffer_of.is_none() {
            state.requests.begin(access);
        }
        let number = checker.operation((state, waiter), (of, self.block), access, line);
        let Some(number) = number else { return new };
        if access.kind == AccessKind::Store && target == self.rank {
            self.stores(checker, number, &accessed.runs);
        }
        let clock = state.threads.take_clock();
        let of_this = (checker.rank, &*clock);
        let mut accessing = Accessing::new((checker, waiter), of_this, number, access);
        let mut found = Vec::new();
        match self.is_separate(checker) {
            true => {
                accessing.separate(self.seen_by(checker, target));
                self.touch_all(&mut accessing, target, &accessed.runs, &mut found);
                let first = accessed.runs.first();
                let first = first.map(|run| run.start..run.start + run.bytes.max(1));
                self.find_disjoint(&mut accessing, target, first, &mut found);
            }
            false => self.touch_all(&mut accessing, target, &accessed.runs, &mut found),
        }
        accessing.finish(state);
        if !found.is_empty() {
            let of = (&*self.name(), target);
            let record = || report::record(checker, state, of, number, &found, &clock);
            new.extend(checker.exclusively(waiter, record).unwrap_or_default());
        }
        state.threads.put_back(clock);
        if access.kind.updates() && accessed.buffer_of.is_none() {
            let (of, first) = ((number, target), accessed.runs.first());
            new.extend(self.updates((checker, waiter), state, of, accessed.epoch, first));
        }
        if !accessed.buffers.is_empty() {
            let of = (access, checker.operation_at(number).site.load(), target);
            new.extend(self.use_buffers((checker, waiter), state, of, &accessed.buffers));
        }
        if access.kind.updates() {
            self.may_be_seen(checker, state, target);
        }
        new
    }

    /// A rank that waits for a value may see one that this rank has put to the target, before its flush.
    #[inline]
    pub(super) fn may_be_seen(&self, checker: &Checker, state: &mut CheckState, target: u32) {
        self.raise(checker, state, target, OfTarget::Rung as usize);
    }

    /// Accesses some runs of bytes, against the records of their pages and the shadow.
    fn touch_all(
        &self,
        accessing: &mut Accessing<'_>,
        target: u32,
        runs: &[ByteRun],
        found: &mut Vec<FoundConflict>,
    ) {
        let (pages, mut left) = ((self.heads_of(target), self.pages_of(target)), runs);
        loop {
            let (done, Some(run)) = touch_alike(accessing, pages, left) else { return };
            left = &left[done + 1..];
            self.touch_pages(accessing, target, run, found);
            self.touch(accessing, target, run, found);
        }
    }

    /// Accesses a run of bytes, page by page where the part has heads of pages.
    fn touch(
        &self,
        accessing: &mut Accessing<'_>,
        target: u32,
        part: ByteRun,
        found: &mut Vec<FoundConflict>,
    ) {
        let heads = self.heads_of(target);
        let (bytes, end) = (PageWords::BYTES as u64, part.start + part.bytes);
        let mut start = part.start;
        while start < end {
            let (page, from) = divided(start);
            let run = ByteRun { start, bytes: (end - start).min(bytes - from as u64) };
            let Some(head) = heads.get(page) else {
                let behind = ByteRun { start, bytes: end - start };
                return self.touch_granules(accessing, target, behind, found);
            };
            let is_whole = run.bytes == bytes;
            if is_whole && head.has_blocks.load() == 0 {
                let whole = heads[page..].iter().take(((end - start) / bytes) as usize);
                let alike = whole.take_while(|head| head.has_blocks.load() == 0);
                let words = alike.map(whole_of);
                start += touch_whole(accessing, words, run, found).max(bytes);
                continue;
            }
            start += run.bytes;
            self.divide(accessing, (target, page));
            self.touch_blocks(accessing, (target, page), run, found);
            if is_whole {
                self.unite(accessing, (target, page));
            }
        }
    }

    /// Accesses a run of bytes of a page, block by block.
    fn touch_blocks(
        &self,
        accessing: &mut Accessing<'_>,
        (target, page): (u32, usize),
        part: ByteRun,
        found: &mut Vec<FoundConflict>,
    ) {
        let has_granules = &self.heads_of(target)[page].has_granules;
        // Blocks behind each other whose granules have words of their own: granules with the same entries get the same ones.
        let mut divided: Option<ByteRun> = None;
        for run in divided_by(PageWords::BLOCK_BYTES as u64, part) {
            let block = block_of(run.start);
            let is_whole = run.bytes == PageWords::BLOCK_BYTES as u64;
            if is_whole && has_granules.load() >> block & 1 == 0 {
                if let Some(before) = divided.take() {
                    self.touch_divided(accessing, (target, page), before, found);
                }
                let words = self.blocks_of((target, page)).at(block);
                touch_whole(accessing, words.into_iter(), run, found);
                continue;
            }
            self.divide_block(accessing, (target, page), block);
            match &mut divided {
                Some(before) => before.bytes += run.bytes,
                None => divided = Some(run),
            }
        }
        if let Some(run) = divided {
            self.touch_divided(accessing, (target, page), run, found);
        }
    }

    /// Accesses a run of bytes in blocks of a page whose granules have words of their own.
    fn touch_divided(
        &self,
        accessing: &mut Accessing<'_>,
        of_page: (u32, usize),
        part: ByteRun,
        found: &mut Vec<FoundConflict>,
    ) {
        self.touch_granules(accessing, of_page.0, part, found);
        for run in divided_by(PageWords::BLOCK_BYTES as u64, part) {
            if run.bytes == PageWords::BLOCK_BYTES as u64 {
                self.unite_block(accessing, of_page, block_of(run.start));
            }
        }
    }

    /// Each block of a page gets its own words.
    pub(super) fn divide(&self, accessing: &mut Accessing<'_>, (target, page): (u32, usize)) {
        let head = &self.heads_of(target)[page];
        if head.has_blocks.load() == 0 {
            head.has_blocks.store(1);
            accessing.divide(whole_of(head), self.blocks_of((target, page)));
        }
    }

    /// Each granule of a block of a page that is divided gets its own words.
    pub(super) fn divide_block(
        &self,
        accessing: &mut Accessing<'_>,
        (target, page): (u32, usize),
        block: usize,
    ) {
        let has_granules = &self.heads_of(target)[page].has_granules;
        if has_granules.load() >> block & 1 == 1 {
            return;
        }
        has_granules.store(has_granules.load() | 1 << block);
        let whole = self.blocks_of((target, page)).at(block);
        if let Some((whole, granules)) = whole.zip(self.granules(target, granules_of(page, block)))
        {
            accessing.divide(whole, granules);
        }
    }

    /// If all blocks of a page have the same entries, the page has them instead.
    fn unite(&self, accessing: &mut Accessing<'_>, (target, page): (u32, usize)) {
        let (head, blocks) = (&self.heads_of(target)[page], self.blocks_of((target, page)));
        if head.has_granules.load() == 0 && accessing.unite(blocks, whole_of(head)) {
            head.has_blocks.store(0);
        }
    }

    /// If all granules of a block have the same entries, of all bytes, the block has them instead.
    fn unite_block(
        &self,
        accessing: &mut Accessing<'_>,
        (target, page): (u32, usize),
        block: usize,
    ) {
        let has_granules = &self.heads_of(target)[page].has_granules;
        let whole = self.blocks_of((target, page)).at(block);
        if let Some((granules, whole)) = self.granules(target, granules_of(page, block)).zip(whole)
            && accessing.unite(granules, whole)
        {
            has_granules.store(has_granules.load() & !(1 << block));
        }
    }

    /// Accesses the granules of a run of bytes.
    fn touch_granules(
        &self,
        accessing: &mut Accessing<'_>,
        target: u32,
        part: ByteRun,
        found: &mut Vec<FoundConflict>,
    ) {
        let (mut granule, last) = (part.start / GRANULE_BYTES, part.start + part.bytes);
        // Behind the granules of which all bytes are accessed.
        let whole = last / GRANULE_BYTES;
        while granule * GRANULE_BYTES < last {
            let mask = mask_of(granule, part);
            let is_whole = granule < whole && mask.count_ones() as u64 == GRANULE_BYTES;
            let until = if is_whole { whole } else { granule + 1 };
            let Some(words) = self.granules(target, granule..until) else { break };
            let each = if is_whole { accessing.access_each(words) } else { 0 };
            if each != 0 {
                granule += each as u64;
                continue;
            }
            words.at(AHEAD).into_iter().for_each(|later| accessing.expect(later));
            let (granules, is_recorded) =
                accessing.access(words.iter(), mask, |at, number, shared, of| {
                    FoundConflict::add(found, (number, of), bytes_of(granule + at as u64, shared));
                });
            if !is_recorded {
                accessing.checker.words.is_full.store(1);
            }
            granule += granules as u64;
        }
    }
}
