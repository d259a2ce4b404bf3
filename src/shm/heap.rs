//! The allocator of the segment: two-level segregated fit over granules of 128 bytes.
//!
//! Blocks are adjacent in the arena. Each begins with a header granule, which has its size, its
//! physical predecessor and, while free, its neighbours in the free list of its size class.
//! Allocation and release take a bounded number of steps. Offsets are in granules from the start of
//! the segment; zero means "none".
//!
//! Invariants (under the lock):
//! 1. Blocks tile the arena; no two free blocks touch.
//! 2. Where memory must be reserved before it is touched ([`Segment::is_backed_on_touch`]), it is reserved
//!    before it is handed out, except where the caller reserves it, and before a header is written into it.
//! 3. Whole pages inside a free block, after its header, are holes (module `shm`, invariant 3).
//!
//! Also while a rank is inside, and so after it has failed there:
//! 4. From the start of the arena, sizes lead from block to block to its end.
//!
//! From that alone [`Heap::mend`] restores the others. A block that a failed rank had allocated and
//! not used yet stays allocated.

use super::alloc_error::{AllocError, Limit};
use super::layout::GRANULE;
use super::os;
use super::segment::Segment;
use super::size_class::{FIRST, SECOND, class, round_to_class};
use crate::error::{Error, Result};
use crate::prim::{Site, Step, Waiter, Word64, step};
use crate::sync::{Found, Line, RobustExclusion};

const FREE: u64 = 0;
const USED: u64 = 1;
/// Requests from this size on are compared with the memory that is available.
const LARGE: u64 = 1 << 20;

/// The allocator's own words.
#[repr(C)]
pub(crate) struct HeapWords {
    lock: Line<RobustExclusion>,
    /// Granules of all blocks in use.
    used: Word64,
    /// Bit f: some class `[f][_]` has a free block.
    first: Word64,
    /// Bit s of word f: class `[f][s]` has a free block.
    second: [Word64; FIRST],
    heads: [[Word64; SECOND as usize]; FIRST],
}

/// The first granule of a block.
#[repr(C, align(128))]
pub(super) struct BlockHeader {
    /// Granules, this one included.
    size: Word64,
    /// The block that ends where this one begins.
    previous: Word64,
    state: Word64,
    next_free: Word64,
    previous_free: Word64,
}

/// The allocator of a segment.
pub(crate) struct Heap<'a> {
    segment: &'a Segment,
}

impl<'a> Heap<'a> {
    pub(super) fn new(segment: &'a Segment) -> Self {
        Heap { segment }
    }

    fn words(&self) -> Result<&'a HeapWords> {
        self.segment.mapping().view(self.segment.layout().heap)
    }

    fn block(&self, at: u64) -> Result<&'a BlockHeader> {
        let offset = at.checked_mul(GRANULE).ok_or(Error::Damaged { what: "block" })?;
        self.segment.mapping().view(offset)
    }

    /// [`Heap::block`] with its size, checked against the next block's header: the two disagree only
    /// if one was overwritten.
    fn sized(&self, at: u64) -> Result<(&'a BlockHeader, u64)> {
        let (header, end) = self.extent(at)?;
        let follows = end == self.end_of_arena() || self.block(end)?.previous.load() == at;
        let size = follows.then_some(end - at);
        Ok((header, size.ok_or(Error::Damaged { what: "size of a block" })?))
    }

    /// [`Heap::block`] with its end, which is inside the arena.
    fn extent(&self, at: u64) -> Result<(&'a BlockHeader, u64)> {
        let header = self.listed(at)?;
        let end = at.checked_add(header.size.load());
        let end = end.filter(|end| (at + 1..=self.end_of_arena()).contains(end));
        Ok((header, end.ok_or(Error::Damaged { what: "size of a block" })?))
    }

    /// [`Heap::block`] of a number found in a list or a header.
    fn listed(&self, at: u64) -> Result<&'a BlockHeader> {
        let inside = at >= self.segment.layout().arena / GRANULE;
        if inside { self.block(at) } else { Err(Error::Damaged { what: "block" }) }
    }

    fn end_of_arena(&self) -> u64 {
        self.segment.bytes() / GRANULE
    }

    /// Makes the whole arena one free block. The arena's first page is reserved.
    pub(super) fn initialise(&self) -> Result<()> {
        let start = self.segment.layout().arena / GRANULE;
        let header = self.block(start)?;
        header.size.store(self.end_of_arena() - start);
        header.previous.store(0);
        self.list(start, header)
    }

    /// Allocates `bytes` bytes and returns their offset, aligned to a granule. Of the memory
    /// returned, [`Heap::dirty_edges`] may hold old bytes; the rest reads as zero.
    ///
    /// Blocks while another rank allocates.
    pub(crate) fn allocate(
        &self,
        bytes: u64,
        waiter: &Waiter<'_>,
    ) -> std::result::Result<u64, AllocError> {
        self.allocate_front(bytes, bytes, waiter)
    }

    /// Whether the segment and the machine's free memory have that many bytes. Does not block.
    pub(crate) fn check_space(&self, bytes: u64) -> std::result::Result<(), AllocError> {
        let all = self.segment.bytes() - self.segment.layout().arena;
        if bytes > all {
            return Err(AllocError::Short { available: all, limit: Limit::Segment });
        }
        if bytes >= LARGE {
            let available = self.available()?;
            if bytes > available {
                return Err(AllocError::Short { available, limit: Limit::Machine });
            }
        }
        Ok(())
    }

    /// [`Heap::allocate`] that reserves no whole page after the first `front` bytes: their users do
    /// that ([`Segment::reserve`]).
    pub(crate) fn allocate_front(
        &self,
        bytes: u64,
        front: u64,
        waiter: &Waiter<'_>,
    ) -> std::result::Result<u64, AllocError> {
        self.check_space(bytes)?;
        let sites = (Site::HeapPost, Site::HeapPre);
        let [granules, front] = [bytes, front].map(|bytes| bytes.div_ceil(GRANULE).max(1) + 1);
        let words = self.words()?;
        let block = words.lock.0.run(sites, waiter, |found| {
            self.mend(found)?;
            self.take(granules, front)
        })??;
        Ok((block + 1) * GRANULE)
    }

    /// Bytes of the blocks in use, with their headers.
    pub(crate) fn used(&self) -> Result<u64> {
        Ok(self.words()?.used.load() * GRANULE)
    }

    /// Bytes of memory that further blocks can have: what the machine has available, without what blocks in
    /// use have not touched yet.
    pub(crate) fn available(&self) -> Result<u64> {
        let available = os::available_memory()?;
        if !self.segment.is_backed_on_touch() || !self.segment.file().is_still_there() {
            return Ok(available);
        }
        let owned = self.segment.layout().arena + self.used()?;
        let untouched = owned.saturating_sub(self.segment.file().bytes_in_memory()?);
        Ok(available.saturating_sub(untouched))
    }

    /// Frees what [`Heap::allocate`] returned. Blocks while another rank allocates.
    pub(crate) fn free(
        &self,
        offset: u64,
        waiter: &Waiter<'_>,
    ) -> std::result::Result<(), AllocError> {
        let sites = (Site::HeapPost, Site::HeapPre);
        let at = (offset / GRANULE).checked_sub(1).ok_or(Error::Damaged { what: "block" })?;
        self.words()?.lock.0.run(sites, waiter, |found| {
            self.mend(found)?;
            self.give_back(at)
        })??;
        Ok(())
    }

    /// The two ranges of an allocation that may hold old bytes: before its first whole page and
    /// after its last.
    pub(crate) fn dirty_edges(offset: u64, bytes: u64) -> [(u64, u64); 2] {
        let page = os::page_size();
        let end = offset + bytes;
        let first = offset.next_multiple_of(page).min(end);
        let last = (end / page * page).max(first);
        [(offset, first - offset), (last, end - last)]
    }

    /// Restores invariants 1 to 3, if a rank has failed inside.
    fn mend(&self, found: Found) -> Result<()> {
        if found == Found::Whole {
            return Ok(());
        }
        let words = self.words()?;
        words.first.store(0);
        words.second.iter().for_each(|classes| classes.store(0));
        words.heads.as_flattened().iter().for_each(|head| head.store(0));
        let (mut at, mut previous) = (self.segment.layout().arena / GRANULE, 0);
        let mut used = 0;
        while at < self.end_of_arena() {
            let (header, mut end) = self.extent(at)?;
            if header.state.load() == FREE {
                while end < self.end_of_arena() {
                    let (next, next_end) = self.extent(end)?;
                    if next.state.load() != FREE {
                        break;
                    }
                    end = next_end;
                }
                header.size.store(end - at);
                self.list(at, header)?;
                self.punch(at, end, at + 1, end)?;
            } else {
                used += end - at;
            }
            header.previous.store(previous);
            (previous, at) = (at, end);
        }
        words.used.store(used);
        Ok(())
    }

    fn take(&self, granules: u64, front: u64) -> std::result::Result<u64, AllocError> {
        let words = self.words()?;
        let Some(at) = self.find(words, granules)? else {
            let available = self.largest_free(words)?.saturating_sub(1) * GRANULE;
            return Err(AllocError::Short { available, limit: Limit::Block });
        };
        let (header, size) = self.sized(at)?;
        let rest = size.checked_sub(granules).filter(|_| header.state.load() == FREE);
        let rest = rest.ok_or(Error::Damaged { what: "size of a free block" })?;
        step(Step::HeapFound);
        // Invariant 2: the block or its front, and the header of the rest after it.
        let behind = if rest == 0 { 0 } else { GRANULE };
        let reserved = self.segment.back(at * GRANULE, front * GRANULE);
        let reserved = reserved.and_then(|()| self.segment.back((at + granules) * GRANULE, behind));
        if let Err(short) = reserved {
            // Invariant 3, where a part of it has been reserved.
            self.punch(at, at + granules + 1, at + 1, at + size)?;
            return Err(short);
        }
        self.unlist(at, header)?;
        step(Step::HeapUnlisted);
        if rest != 0 {
            // Invariant 4: before the block ends there.
            let behind = self.block(at + granules)?;
            behind.size.store(rest);
            behind.previous.store(at);
            step(Step::HeapSplit);
            self.list(at + granules, behind)?;
            self.set_previous_of(at + granules + rest, at + granules)?;
            header.size.store(granules);
        }
        header.state.store(USED);
        words.used.store(words.used.load() + granules);
        Ok(at)
    }

    fn give_back(&self, at: u64) -> Result<()> {
        let (header, size) = self.sized(at)?;
        if header.state.load() != USED {
            return Err(Error::Damaged { what: "state of a block that is freed" });
        }
        // From here on it is free, even if this rank fails.
        header.state.store(FREE);
        let used = &self.words()?.used;
        used.store(used.load().saturating_sub(size));
        let (mut start, mut end) = (at, at + size);
        if let Some((next, size)) = self.free_at(end)? {
            self.unlist(end, next)?;
            end += size;
        }
        let previous = header.previous.load();
        if previous != 0
            && let Some((header, size)) = self.free_at(previous)?
        {
            if previous.wrapping_add(size) != at {
                return Err(Error::Damaged { what: "predecessor of a block" });
            }
            self.unlist(previous, header)?;
            start = previous;
        }
        step(Step::HeapMerging);
        let merged = self.block(start)?;
        merged.size.store(end - start);
        self.set_previous_of(end, start)?;
        self.list(start, merged)?;
        step(Step::HeapListed);
        self.punch(at, at + size + 1, start + 1, end)
    }

    /// Invariant 3: punches the whole pages that touch granules `from..to` and lie inside
    /// `inside..end`.
    fn punch(&self, from: u64, to: u64, inside: u64, end: u64) -> Result<()> {
        let page = os::page_size();
        let down = |bytes: u64| bytes / page * page;
        let first = down(from * GRANULE).max((inside * GRANULE).next_multiple_of(page));
        let last = (to * GRANULE).next_multiple_of(page).min(down(end * GRANULE));
        if first < last { self.segment.give_back(first, last - first) } else { Ok(()) }
    }

    /// The block at `at` and its size, if it is a free block of the arena.
    fn free_at(&self, at: u64) -> Result<Option<(&'a BlockHeader, u64)>> {
        if at >= self.end_of_arena() {
            return Ok(None);
        }
        match self.listed(at)?.state.load() {
            FREE => self.sized(at).map(Some),
            _ => Ok(None),
        }
    }

    fn set_previous_of(&self, at: u64, previous: u64) -> Result<()> {
        if at < self.end_of_arena() {
            self.block(at)?.previous.store(previous);
        }
        Ok(())
    }

    /// A free block of at least `granules`, from the smallest class whose blocks all fit. If there is
    /// none, the first block of the request's own class, if it is large enough.
    fn find(&self, words: &HeapWords, granules: u64) -> Result<Option<u64>> {
        if let Some(at) = self.find_in_classes_that_fit(words, granules)? {
            return Ok(Some(at));
        }
        let (first, second) = class(granules);
        let head = words.heads.get(first).map_or(0, |heads| heads[second].load());
        let fits = head != 0 && self.sized(head)?.1 >= granules;
        Ok(fits.then_some(head))
    }

    fn find_in_classes_that_fit(&self, words: &HeapWords, granules: u64) -> Result<Option<u64>> {
        let (first, second) = class(round_to_class(granules));
        if first >= FIRST {
            return Ok(None);
        }
        let here = words.second[first].load() & (u64::MAX << second);
        if here != 0 {
            return self.head(words, first, here.trailing_zeros() as usize).map(Some);
        }
        let above = words.first.load() & u64::MAX.checked_shl(first as u32 + 1).unwrap_or(0);
        if above == 0 {
            return Ok(None);
        }
        let first = above.trailing_zeros() as usize;
        let classes = words.second.get(first).ok_or(Error::Damaged { what: "class bits" })?.load();
        self.head(words, first, classes.trailing_zeros() as usize).map(Some)
    }

    fn head(&self, words: &HeapWords, first: usize, second: usize) -> Result<u64> {
        let head = words.heads.get(first).and_then(|heads| heads.get(second));
        match head.map(Word64::load) {
            Some(at) if at != 0 => Ok(at),
            _ => Err(Error::Damaged { what: "free list" }),
        }
    }

    /// Granules of the largest class's first block: what a report can promise.
    fn largest_free(&self, words: &HeapWords) -> Result<u64> {
        let Some(first) = words.first.load().checked_ilog2() else { return Ok(0) };
        let classes = words.second.get(first as usize).map_or(0, Word64::load);
        let Some(second) = classes.checked_ilog2() else { return Ok(0) };
        let at = self.head(words, first as usize, second as usize)?;
        Ok(self.sized(at)?.1)
    }

    fn list(&self, at: u64, header: &BlockHeader) -> Result<()> {
        let words = self.words()?;
        let (first, second) = class(header.size.load());
        let head = words.heads.get(first).map(|heads| &heads[second]);
        let head = head.ok_or(Error::Damaged { what: "size of a block" })?;
        let next = head.load();
        header.state.store(FREE);
        header.next_free.store(next);
        header.previous_free.store(0);
        if next != 0 {
            self.listed(next)?.previous_free.store(at);
        }
        head.store(at);
        words.first.store(words.first.load() | 1 << first);
        words.second[first].store(words.second[first].load() | 1 << second);
        Ok(())
    }

    fn unlist(&self, at: u64, header: &BlockHeader) -> Result<()> {
        let words = self.words()?;
        let (next, previous) = (header.next_free.load(), header.previous_free.load());
        if next != 0 {
            let behind = self.listed(next)?;
            if behind.previous_free.load() != at {
                return Err(Error::Damaged { what: "free list" });
            }
            behind.previous_free.store(previous);
        }
        if previous != 0 {
            self.listed(previous)?.next_free.store(next);
            return Ok(());
        }
        let (first, second) = class(header.size.load());
        let heads = words.heads.get(first).ok_or(Error::Damaged { what: "size of a block" })?;
        if heads[second].load() != at {
            return Err(Error::Damaged { what: "free list" });
        }
        heads[second].store(next);
        if next == 0 {
            let rest = words.second[first].load() & !(1 << second);
            words.second[first].store(rest);
            if rest == 0 {
                words.first.store(words.first.load() & !(1 << first));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "heap_tests.rs"]
mod tests;
