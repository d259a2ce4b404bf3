//! A mapping of the segment, and checked views of the words in it.
#![allow(unsafe_code, reason = "turns checked offsets into references to words")]

use super::alloc_error::{AllocError, Limit};
use super::copy::{clear, copy, copy_streaming};
use super::heap::HeapWords;
use super::layout::{Observation, SegmentLayout, VERSION};
use super::os::{self, File};
use super::recorder::CallRecorder;
use super::slot::RankSlot;
use super::staging::{Paces, ReadAs, SHORTEST};
use crate::error::{Error, Result};
use crate::prim::{CachePadded, PlacementWords, Word32, Word64};
use crate::sync::channel::MailWords;
use crate::sync::{MAX_RANKS, PostSlot, RankWords, TreeLine, WindowWords};
use memmap2::{MmapRaw, UncheckedAdvice};
use std::mem::offset_of;
use std::sync::Arc;

const MAGIC: u64 = u64::from_le_bytes(*b"onesided");

/// Types that can be viewed in the segment.
///
/// # Safety
/// 1. The type is `repr(C)` and every byte pattern is a valid value of it.
/// 2. Every part that another process, or another thread, may change is a relaxed word.
pub(crate) unsafe trait Shared {}

/// Identifies the segment; written by its creator before any other process maps it.
#[repr(C)]
pub(super) struct Header {
    magic: Word64,
    version: Word32,
    ranks: Word32,
    fingerprint: Word64,
    bytes: Word64,
    nonce: Word64,
    /// 1 once a rank has printed the note about a wrong call that is accepted.
    noted: Word64,
    /// 1 if pages need no reservation.
    is_backed_on_touch: Word64,
    /// More ranks than that combine their arrivals at a barrier.
    uncombined: Word32,
    /// 1 if accesses are checked for conflicts.
    is_checked: Word32,
    /// 1 if then operations take effect only when a call completes them.
    is_late: Word32,
    /// 1 if then the separate memory model is checked, too.
    is_separate: Word32,
    /// 1 if the ranks count their calls.
    is_counted: Word32,
    /// 1 if the launcher writes a trace.
    is_traced: Word32,
    /// 1 if the ranks keep their last calls to themselves.
    is_unrecorded: Word32,
}

impl Header {
    /// The layout of the segment, if it is one of a job of that many ranks.
    fn layout(&self, ranks: u32) -> SegmentLayout {
        let is = |word: &Word32| word.load() == 1;
        let (uncombined, page) = (self.uncombined.load(), os::page_size());
        let observed = Observation {
            is_checked: is(&self.is_checked),
            is_late: is(&self.is_late),
            is_separate: is(&self.is_separate),
            is_counted: is(&self.is_counted),
            is_traced: is(&self.is_traced),
            is_unrecorded: is(&self.is_unrecorded),
        };
        SegmentLayout::new(ranks, uncombined, observed, page, self.bytes.load())
    }
}

// SAFETY: each is `repr(C)` (1) and made of relaxed words alone (2).
unsafe impl Shared for Header {}
// SAFETY: as above.
unsafe impl Shared for super::slot::RankSlot {}
// SAFETY: as above.
unsafe impl Shared for CallRecorder {}
// SAFETY: as above.
unsafe impl Shared for super::comm_words::CommWords {}
// SAFETY: as above.
unsafe impl Shared for super::comm_words::RegistryWords {}
// SAFETY: as above.
unsafe impl Shared for super::comm_words::StagingSlot {}
// SAFETY: as above.
unsafe impl Shared for super::slot::WindowHeader {}
// SAFETY: as above.
unsafe impl Shared for super::check_words::CheckWords {}
// SAFETY: as above.
unsafe impl Shared for super::check_words::SiteWords {}
// SAFETY: as above.
unsafe impl Shared for super::check_words::OperationWords {}
// SAFETY: as above.
unsafe impl Shared for super::check_words::MoreOperationWords {}
// SAFETY: as above.
unsafe impl Shared for super::check_words::AttachedWords {}
// SAFETY: as above.
unsafe impl Shared for super::check_words::ChainWords {}
// SAFETY: as above.
unsafe impl Shared for super::check_words::ConflictWords {}
// SAFETY: as above.
unsafe impl Shared for super::check_words::PartWords {}
// SAFETY: as above.
unsafe impl Shared for super::check_words::OriginWords {}
// SAFETY: as above.
unsafe impl Shared for [Word32; super::check_words::PageWords::FEW] {}
// SAFETY: as above.
unsafe impl Shared for super::check_words::PageHead {}
// SAFETY: as above.
unsafe impl Shared for super::check_words::PageWords {}
// SAFETY: as above.
unsafe impl Shared for super::statistics_words::StatisticsWords {}
// SAFETY: as above.
unsafe impl Shared for super::statistics_words::TrafficWords {}
// SAFETY: as above.
unsafe impl Shared for super::trace_words::TraceRing {}
// SAFETY: as above.
unsafe impl Shared for HeapWords {}
// SAFETY: as above.
unsafe impl Shared for super::heap::BlockHeader {}
// SAFETY: as above.
unsafe impl Shared for WindowWords {}
// SAFETY: as above.
unsafe impl Shared for RankWords {}
// SAFETY: as above.
unsafe impl Shared for super::directory::DirectoryWords {}
// SAFETY: as above.
unsafe impl Shared for super::directory::Entry {}
// SAFETY: as above; a slot is a padded word.
unsafe impl Shared for PostSlot {}
// SAFETY: as above; a counter is a word with a line to itself.
unsafe impl Shared for crate::sync::notify::NotifyCounter {}
// SAFETY: as above.
unsafe impl Shared for crate::sync::shards::RankAnnouncements {}
// SAFETY: as above.
unsafe impl Shared for super::shards::ShardWords {}
// SAFETY: as above.
unsafe impl Shared for super::notice::Notice {}
// SAFETY: as above.
unsafe impl Shared for crate::sync::channel::MailWords {}
// SAFETY: as above.
unsafe impl Shared for crate::sync::channel::QueueWords {}
// SAFETY: as above.
unsafe impl Shared for crate::sync::channel::BlockWords {}
// SAFETY: as above.
unsafe impl Shared for super::message::MessageWords {}
// SAFETY: as above.
unsafe impl Shared for crate::prim::PlacementWords {}
// SAFETY: as above; `repr(C)` over two relaxed words.
unsafe impl Shared for crate::prim::ParkWord {}
// SAFETY: as above; a line of relaxed words.
unsafe impl Shared for TreeLine {}
// SAFETY: a relaxed word.
unsafe impl Shared for Word32 {}
// SAFETY: as above.
unsafe impl Shared for Word64 {}

/// A mapping with checked views.
pub(crate) struct Mapping {
    map: MmapRaw,
}

impl Mapping {
    /// All `bytes` bytes of a file.
    pub(super) fn of(file: &File, bytes: u64, writable: bool) -> Result<Mapping> {
        Ok(Mapping { map: file.map(bytes, writable)? })
    }

    /// The words at `offset`.
    #[inline]
    pub(crate) fn view<T: Shared>(&self, offset: u64) -> Result<&T> {
        Ok(&self.views(offset, 1)?[0])
    }

    /// `n` equal groups of words from `offset` on.
    #[inline]
    pub(crate) fn views<T: Shared>(&self, offset: u64, n: usize) -> Result<&[T]> {
        let bytes = (n as u64).checked_mul(size_of::<T>() as u64);
        let start = bytes.and_then(|bytes| self.at(offset, bytes)).map(|p| p.cast::<T>());
        let Some(start) = start.filter(|start| start.is_aligned()) else {
            return Err(Error::Damaged { what: "offset" });
        };
        // SAFETY: `at` has checked that the bytes lie inside the mapping, which lives as long as
        // `self`; they are aligned; `T: Shared` is valid for any bytes and changes under a shared
        // reference only through its words.
        Ok(unsafe { std::slice::from_raw_parts(start, n) })
    }

    /// Copies bytes into the segment.
    #[inline]
    pub(crate) fn write(&self, offset: u64, from: &[u8]) -> Result<()> {
        let to = self.at(offset, from.len() as u64).ok_or_else(no_offset)?;
        // SAFETY: 1. `from` is a slice and `at` has checked `to`. 2. No slice overlaps the segment
        // except an exclusively locked own part, which callers of this do not pass.
        unsafe { copy(from.as_ptr(), to, from.len()) };
        Ok(())
    }

    /// Copies bytes out of the segment.
    #[inline]
    pub(crate) fn read(&self, offset: u64, to: &mut [u8]) -> Result<()> {
        let from = self.at(offset, to.len() as u64).ok_or_else(no_offset)?;
        // SAFETY: 1. `to` is a slice and `at` has checked `from`. 2. As in `write`.
        unsafe { copy(from, to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    /// Sets bytes of the segment to zero.
    pub(crate) fn clear(&self, offset: u64, bytes: u64) -> Result<()> {
        let to = self.at(offset, bytes).ok_or_else(no_offset)?;
        // SAFETY: `at` has checked the range.
        unsafe { clear(to, bytes as usize) };
        Ok(())
    }

    /// The address of `bytes` bytes at `offset`, if they lie inside the mapping.
    #[inline]
    pub(crate) fn at(&self, offset: u64, bytes: u64) -> Option<*mut u8> {
        let end = offset.checked_add(bytes)?;
        (end <= self.map.len() as u64).then(|| self.map.as_mut_ptr().wrapping_add(offset as usize))
    }
}

/// Words of the segment, with the mapping that holds them.
pub(crate) struct PlacedSlice<T> {
    // Keeps the mapping alive; dropped with the pointer below.
    _segment: Arc<Segment>,
    words: *const [T],
}

// SAFETY: a shared reference into the mapping, in effect, and `T: Shared` are words: any thread
// may use and drop them.
unsafe impl<T: Shared> Send for PlacedSlice<T> {}
// SAFETY: as above.
unsafe impl<T: Shared> Sync for PlacedSlice<T> {}

impl<T> std::ops::Deref for PlacedSlice<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `words` was a valid reference into the mapping that `_segment` keeps alive.
        unsafe { &*self.words }
    }
}

impl<T> AsRef<[T]> for PlacedSlice<T> {
    #[inline(always)]
    fn as_ref(&self) -> &[T] {
        self
    }
}

/// One group of words of the segment.
pub(crate) struct Placed<T>(PlacedSlice<T>);

impl<T> Clone for Placed<T> {
    fn clone(&self) -> Placed<T> {
        Placed(PlacedSlice { _segment: self.0._segment.clone(), words: self.0.words })
    }
}

impl<T> std::ops::Deref for Placed<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // Not `&self.0[0]`, which would cost every operation a branch for a length that is always 1.
        // SAFETY: `Segment::place` made a slice of one, valid as for `PlacedSlice`.
        unsafe { &*self.0.words.cast() }
    }
}

/// Advice to the kernel about memory of the segment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Advice {
    /// Back it by huge pages.
    HugePages,
    /// Map its pages now.
    Populate,
    /// Keep it on this node of the machine.
    Node(u32),
}

/// The error for a segment of another build.
pub(crate) const OTHER_VERSION: &str = "the segment was made by another version of the library";

fn not_ours(what: &str) -> Error {
    Error::NotInJob { what: what.to_owned() }
}

/// The segment of a job, mapped into this process.
pub(crate) struct Segment {
    mapping: Mapping,
    file: File,
    layout: SegmentLayout,
    /// Written at each longer copy; the others are read in every call.
    paces: CachePadded<Paces>,
}

impl Segment {
    /// Whether the caller is the first in the job to print the note about a wrong call that is
    /// accepted.
    pub(crate) fn is_first_to_note(&self) -> bool {
        let header = self.mapping.view::<Header>(0);
        header.is_ok_and(|header| header.noted.compare_exchange(0, 1).is_ok())
    }

    /// Creates, reserves and initialises the fixed part of a segment of `bytes` bytes.
    pub(crate) fn create(
        file: File,
        layout: SegmentLayout,
        bytes: u64,
        nonce: u64,
    ) -> Result<Segment> {
        let page = os::page_size();
        file.seal_length()?;
        // The tables of an observed job are sparse.
        let fixed = if file.is_backed_on_touch() { layout.observed } else { layout.arena };
        file.reserve(0, fixed)
            .and_then(|()| file.reserve(layout.arena, page))
            .map_err(|errno| Error::system("reserving the fixed part of the segment", errno))?;
        let mapping = Mapping { map: file.map(bytes, true)? };
        let segment = Segment { mapping, file, layout, paces: CachePadded::default() };
        let header = segment.mapping.view::<Header>(0)?;
        header.version.store(VERSION);
        header.ranks.store(layout.ranks);
        header.uncombined.store(layout.uncombined);
        header.is_checked.store(layout.check.is_some().into());
        header.is_late.store(layout.is_late.into());
        header.is_separate.store(layout.is_separate.into());
        header.is_counted.store((layout.statistics != 0).into());
        header.is_traced.store((layout.trace != 0).into());
        header.is_unrecorded.store(layout.is_unrecorded.into());
        header.fingerprint.store(layout.fingerprint());
        header.bytes.store(bytes);
        header.nonce.store(nonce);
        header.is_backed_on_touch.store(u64::from(segment.file.is_backed_on_touch()));
        segment.heap().initialise()?;
        header.magic.store(MAGIC);
        Ok(segment)
    }

    /// Maps an existing segment and checks that it is the one of this job and of this build.
    pub(crate) fn attach(file: File, ranks: u32, nonce: u64) -> Result<Segment> {
        let bytes = file.len()?;
        let other = || not_ours("the descriptor is not a segment of this job");
        if bytes < os::page_size() {
            return Err(other());
        }
        let mapping = Mapping { map: file.map(bytes, true)? };
        let header = mapping.view::<Header>(0)?;
        let layout = header.layout(ranks);
        if bytes < layout.arena {
            return Err(other());
        }
        if header.magic.load() != MAGIC || header.nonce.load() != nonce {
            return Err(not_ours("the descriptor is not the segment of this job"));
        }
        Segment::checked(mapping, file, layout)
    }

    /// Maps the segment of another job, read-only.
    pub(crate) fn observe(file: File) -> Result<Segment> {
        let bytes = file.len()?;
        if bytes < os::page_size() {
            return Err(not_ours("the descriptor is not a segment"));
        }
        let mapping = Mapping { map: file.map(bytes, false)? };
        let header = mapping.view::<Header>(0)?;
        let ranks = header.ranks.load();
        if header.magic.load() != MAGIC || ranks == 0 || ranks > MAX_RANKS {
            return Err(not_ours("the descriptor is not a segment"));
        }
        let layout = header.layout(ranks);
        if bytes < layout.arena {
            return Err(not_ours(OTHER_VERSION));
        }
        Segment::checked(mapping, file, layout)
    }

    /// Checks what must agree between builds of the library.
    fn checked(mapping: Mapping, file: File, layout: SegmentLayout) -> Result<Segment> {
        let header = mapping.view::<Header>(0)?;
        if header.version.load() != VERSION || header.fingerprint.load() != layout.fingerprint() {
            return Err(not_ours(OTHER_VERSION));
        }
        if header.bytes.load() != mapping.map.len() as u64 || header.ranks.load() != layout.ranks {
            return Err(not_ours("the segment has another size than its header says"));
        }
        Ok(Segment { mapping, file, layout, paces: CachePadded::default() })
    }

    /// Whether each rank can have a processor for itself, of those of the ranks that have joined. The limit of a control group
    /// does not count: it makes no ranks share a cache.
    fn can_be_alone(&self) -> bool {
        let words = self.mapping.view::<PlacementWords>(self.layout.places);
        words.is_ok_and(|words| self.layout.ranks as usize <= words.processors())
    }

    /// Copies bytes to `to`, a place of the segment. `read_as`: what the rank does that reads them there.
    ///
    /// # Safety
    /// The obligations of [`copy`].
    #[inline(always)]
    pub(crate) unsafe fn stage(&self, from: *const u8, to: *mut u8, bytes: usize, read_as: ReadAs) {
        if bytes < SHORTEST {
            // SAFETY: the caller's obligations.
            return unsafe { copy(from, to, bytes) };
        }
        // SAFETY: the caller's obligations.
        unsafe { self.stage_long(from, to, bytes, read_as) };
    }

    /// [`Segment::stage`] of [`SHORTEST`] bytes and more. Apart, so that shorter messages stay short.
    ///
    /// # Safety
    /// The obligations of [`copy`].
    #[cold]
    #[inline(never)]
    unsafe fn stage_long(&self, from: *const u8, to: *mut u8, bytes: usize, read_as: ReadAs) {
        let cycles = self.layout.may_cycle_buffers();
        let way = self.paces.begin(bytes, read_as, || self.can_be_alone(), cycles);
        if way.streams {
            // SAFETY: the caller's obligations.
            unsafe { copy_streaming(from, to, bytes) };
        } else {
            // SAFETY: the caller's obligations.
            unsafe { copy(from, to, bytes) };
        }
        self.paces.end(bytes, way);
    }

    /// Whether its first words still identify it. Otherwise they have been overwritten, and probably
    /// also the words after them, by which ranks are woken.
    pub(crate) fn is_whole(&self) -> bool {
        self.mapping.view::<Header>(0).is_ok_and(|header| header.magic.load() == MAGIC)
    }

    pub(crate) fn layout(&self) -> &SegmentLayout {
        &self.layout
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Views of words and addresses of bytes.
    pub(crate) fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// The words at `offset`, with the mapping.
    pub(crate) fn place<T: Shared>(self: &Arc<Self>, offset: u64) -> Result<Placed<T>> {
        Ok(Placed(self.place_all(offset, 1)?))
    }

    /// Where a rank records its calls: in its status, unless the job keeps none.
    pub(crate) fn recorder(self: &Arc<Self>, rank: u32) -> Result<Placed<CallRecorder>> {
        if !self.layout.is_unrecorded {
            return self.place(self.slot_offset(rank) + offset_of!(RankSlot, calls) as u64);
        }
        // For as long as the process lives, which makes one.
        let words: &'static [CallRecorder] = Box::leak(Box::new([CallRecorder::default()]));
        Ok(Placed(PlacedSlice { _segment: self.clone(), words }))
    }

    /// `n` equal groups of words from `offset` on, with the mapping.
    pub(crate) fn place_all<T: Shared>(
        self: &Arc<Self>,
        offset: u64,
        n: usize,
    ) -> Result<PlacedSlice<T>> {
        let words: *const [T] = self.mapping.views(offset, n)?;
        Ok(PlacedSlice { _segment: self.clone(), words })
    }

    /// The allocator.
    pub(crate) fn heap(&self) -> super::Heap<'_> {
        super::Heap::new(self)
    }

    /// The offset of the `bytes` bytes at `address` of this process, if they lie in the segment.
    pub(crate) fn offset_of(&self, address: *const u8, bytes: u64) -> Option<u64> {
        let offset = (address as u64).checked_sub(self.mapping.map.as_ptr() as u64)?;
        self.mapping.at(offset, bytes).map(|_| offset)
    }

    /// Its address in this process.
    pub(crate) fn base(&self) -> *const u8 {
        self.mapping.map.as_ptr()
    }

    /// Advises the kernel about `bytes` bytes at `offset`; returns whether it accepts that.
    pub(crate) fn advise(&self, offset: u64, bytes: u64, advice: Advice) -> bool {
        let advice = match advice {
            Advice::Node(node) => {
                let start = self.mapping.at(offset, bytes);
                return start.is_some_and(|start| super::numa::place(start, bytes, node));
            }
            // Without this check the kernel accepts the advice and ignores it.
            Advice::HugePages if !os::gives_huge_pages() => return false,
            Advice::HugePages => memmap2::Advice::HugePage,
            Advice::Populate => memmap2::Advice::PopulateWrite,
        };
        let (offset, bytes) = (offset as usize, bytes as usize);
        bytes == 0 || self.mapping.map.advise_range(advice, offset, bytes).is_ok()
    }

    /// Whether pages need no reservation: see [`File::is_backed_on_touch`]. The same on all ranks.
    pub(crate) fn is_backed_on_touch(&self) -> bool {
        let header = self.mapping.view::<Header>(0);
        header.is_ok_and(|header| header.is_backed_on_touch.load() == 1)
    }

    /// Makes `bytes` bytes at `offset` safe to touch, by [`Segment::reserve`] where that is needed.
    pub(super) fn back(&self, offset: u64, bytes: u64) -> std::result::Result<(), AllocError> {
        if self.is_backed_on_touch() { Ok(()) } else { self.reserve(offset, bytes) }
    }

    /// Reserves `bytes` bytes at `offset`; new pages come from the NUMA node of this rank.
    pub(crate) fn reserve(&self, offset: u64, bytes: u64) -> std::result::Result<(), AllocError> {
        if bytes == 0 {
            return Ok(());
        }
        // Through the mapping, which is slower, if the program has closed the descriptor.
        let reserved = self.file.reserve(offset, bytes).is_ok()
            || !self.file.is_still_there() && self.advise(offset, bytes, Advice::Populate);
        if reserved { Ok(()) } else { Err(AllocError::Short { available: 0, limit: Limit::File }) }
    }

    /// Releases whole pages; they read as zero from now on.
    pub(crate) fn give_back(&self, offset: u64, bytes: u64) -> Result<()> {
        if self.mapping.at(offset, bytes).is_none() {
            return Err(Error::Damaged { what: "offset" });
        }
        let remove = UncheckedAdvice::Remove;
        // SAFETY: the bytes are inside the mapping and unused. They are words, not Rust objects, and
        // valid as the zeros that they become.
        let removed = unsafe {
            self.mapping.map.unchecked_advise_range(remove, offset as usize, bytes as usize)
        };
        // Through the mapping, which stays this file's even if the descriptor is closed. The kernel
        // denies it for memory that the program has locked.
        removed.or_else(|_| self.file.punch(offset, bytes))
    }

    /// [`Segment::reserve`] that maps the pages into this process, which huge pages need.
    pub(crate) fn touch(&self, offset: u64, bytes: u64) -> std::result::Result<(), AllocError> {
        // A kernel before Linux 5.14 only reserves. A shortage of memory is reported by either.
        let touched = self.advise(offset, bytes, Advice::Populate);
        if touched { Ok(()) } else { self.reserve(offset, bytes) }
    }

    /// Length of the segment in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.mapping.map.len() as u64
    }

    /// The offset of the status of one rank; `rank` is below the number of ranks.
    pub(crate) fn slot_offset(&self, rank: u32) -> u64 {
        self.layout.slots + u64::from(rank) * size_of::<RankSlot>() as u64
    }

    /// The status of one rank; `rank` is below the number of ranks.
    pub(crate) fn slot(&self, rank: u32) -> Result<&RankSlot> {
        self.mapping.view(self.slot_offset(rank))
    }

    /// The words by which one rank is notified of messages; `rank` is below the number of ranks.
    pub(crate) fn mail(&self, rank: u32) -> Result<&MailWords> {
        self.mapping.view(self.layout.mail + u64::from(rank) * size_of::<MailWords>() as u64)
    }

    /// The words by which tests signal between ranks.
    #[cfg(feature = "test-hooks")]
    pub(crate) fn signals(&self) -> Result<&[PostSlot]> {
        self.mapping.views(self.layout.signals, super::layout::SIGNALS as usize)
    }
}

#[cold]
fn no_offset() -> Error {
    Error::Damaged { what: "offset" }
}
