//! The attachments of one rank to a dynamic window: a sorted table in the segment, which other
//! ranks search while its owner attaches and detaches.
//!
//! 1. The entries are sorted by address and do not overlap.
//! 2. A search holds the shared side of `guard` until its access to the region is over; a change of
//!    the table holds the exclusive side. So no rank accesses a region after it was detached.
//! 3. Only the owner changes the table, so the owner may read it without the guard.

use super::AllocError;
use super::layout::GRANULE;
use super::segment::Segment;
use crate::error::{Error, Result};
use crate::prim::{Site, Waiter, Word64};
use crate::sync::{Exclusion, Line, Sharing};

/// The words of one rank's directory. Zero bytes are its initial state: nothing attached.
#[repr(C)]
pub(crate) struct DirectoryWords {
    guard: Exclusion,
    table: Line<Table>,
}

#[repr(C)]
struct Table {
    /// Offset of the block of entries, or zero.
    block: Word64,
    capacity: Word64,
    count: Word64,
    /// [`check_of`] the other words.
    check: Word64,
}

/// One attached region.
#[repr(C)]
pub(super) struct Entry {
    address: Word64,
    bytes: Word64,
    /// Offset in the segment plus one, or zero for private memory.
    offset: Word64,
    /// [`check_of`] the other words.
    check: Word64,
}

/// A checksum of an entry: its words become an address without any further check.
fn check_of(words: [u64; 3]) -> u64 {
    words
        .into_iter()
        .fold(0, |sum: u64, word| (sum.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// A run of bytes of the owner's address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// First byte, as an address in the owner's process.
    pub(crate) address: u64,
    /// Length in bytes; not zero.
    pub(crate) bytes: u64,
    /// Where the region is in the segment; `None` for private memory.
    pub(crate) offset: Option<u64>,
}

/// Why a region cannot be attached.
#[derive(Debug)]
pub(crate) enum AttachError {
    /// It overlaps this one, which is attached.
    Overlaps(Region),
    /// No memory for the table, damage, or failure of the job.
    Other(AllocError),
}

impl<E: Into<AllocError>> From<E> for AttachError {
    fn from(error: E) -> Self {
        AttachError::Other(error.into())
    }
}

/// Entries of the first table.
const FIRST_CAPACITY: u64 = GRANULE / size_of::<Entry>() as u64;
const READING: (Site, Site) = (Site::LookPost, Site::LookPre);
const CHANGING: (Site, Site) = (Site::AttachPost, Site::AttachPre);

impl Region {
    fn end(&self) -> u64 {
        self.address + self.bytes
    }

    /// Extends this region by `next` if the two are adjacent, also in the segment if they lie there.
    fn absorb(&mut self, next: Region) -> bool {
        let behind = self.offset.map(|offset| offset.wrapping_add(self.bytes));
        let is_next = next.address == self.end() && next.offset == behind;
        if is_next {
            self.bytes += next.bytes;
        }
        is_next
    }
}

impl Entry {
    fn region(&self) -> Result<Region> {
        let words = [self.address.load(), self.bytes.load(), self.offset.load()];
        if self.check.load() != check_of(words) {
            return Err(Error::Damaged { what: "attachment" });
        }
        let [address, bytes, offset] = words;
        Ok(Region { address, bytes, offset: offset.checked_sub(1) })
    }

    fn set(&self, region: Region) {
        let offset = region.offset.map_or(0, |offset| offset + 1);
        self.address.store(region.address);
        self.bytes.store(region.bytes);
        self.offset.store(offset);
        self.check.store(check_of([region.address, region.bytes, offset]));
    }
}

impl Table {
    /// Block, capacity and count.
    fn words(&self) -> Result<[u64; 3]> {
        let words = [self.block.load(), self.capacity.load(), self.count.load()];
        if self.check.load() != check_of(words) {
            return Err(Error::Damaged { what: "table of attachments" });
        }
        Ok(words)
    }

    fn set(&self, words: [u64; 3]) {
        self.block.store(words[0]);
        self.capacity.store(words[1]);
        self.count.store(words[2]);
        self.check.store(check_of(words));
    }
}

impl DirectoryWords {
    /// Resets the guard after a failure. If the owner has failed, nothing stays attached, and the block
    /// of its table is returned, to be freed. No other rank uses the directory meanwhile.
    pub(crate) fn recover(&self, segment: &Segment, owner_lives: bool) -> Result<Option<u64>> {
        // A table that the owner was changing when it failed is lost.
        let orphan = self.table.0.words().ok().map(|[block, ..]| block);
        let bytes = if owner_lives { size_of::<Exclusion>() } else { size_of::<Self>() } as u64;
        let at = segment.offset_of(std::ptr::from_ref(self).cast(), bytes);
        segment.mapping().clear(at.ok_or(Error::Damaged { what: "directory" })?, bytes)?;
        Ok(orphan.filter(|block| *block != 0 && !owner_lives))
    }

    /// The region that holds `bytes` bytes at `address`, and the guard that keeps it attached. Several
    /// adjacent regions count as one. (Not private memory beside memory of the segment, because the
    /// two are accessed in different ways.)
    ///
    /// Blocks while the owner attaches or detaches.
    pub(crate) fn find(
        &self,
        segment: &Segment,
        address: u64,
        bytes: u64,
        waiter: &Waiter<'_>,
    ) -> std::result::Result<Option<(Region, Sharing<'_>)>, AllocError> {
        let sharing = self.guard.share(READING, waiter)?;
        let entries = self.entries(segment)?;
        let behind = entries.partition_point(|entry| entry.address.load() <= address);
        let first = behind.checked_sub(1).and_then(|at| entries.get(at..));
        let (Some([entry, others @ ..]), Some(end)) = (first, address.checked_add(bytes)) else {
            return Ok(None);
        };
        let mut region = entry.region()?;
        for other in others {
            if end <= region.end() || !region.absorb(other.region()?) {
                break;
            }
        }
        Ok((end <= region.end()).then_some((region, sharing)))
    }

    /// Adds a region to the caller's own directory.
    ///
    /// Blocks while other ranks access memory that is attached.
    pub(crate) fn attach(
        &self,
        segment: &Segment,
        region: Region,
        waiter: &Waiter<'_>,
    ) -> std::result::Result<(), AttachError> {
        self.guard.run(CHANGING, waiter, || {
            let at = self.place_for(segment, region)?;
            self.grow(segment, waiter)?;
            let [block, capacity, count] = self.table.0.words()?;
            self.table.0.set([block, capacity, count + 1]);
            let entries = segment.mapping().views::<Entry>(block, count as usize + 1)?;
            for k in (at..count as usize).rev() {
                entries[k + 1].set(entries[k].region()?);
            }
            entries[at].set(region);
            Ok(())
        })?
    }

    /// Removes the region that starts at `address`, if any, from the caller's own directory. When it
    /// returns, no rank accesses the region any more.
    ///
    /// Blocks while other ranks access memory that is attached.
    pub(crate) fn detach(
        &self,
        segment: &Segment,
        address: u64,
        waiter: &Waiter<'_>,
    ) -> std::result::Result<Option<Region>, AllocError> {
        self.guard.run(CHANGING, waiter, || {
            let entries = self.entries(segment)?;
            let Some(at) = entries.iter().position(|entry| entry.address.load() == address) else {
                return Ok(None);
            };
            let region = entries[at].region()?;
            for k in at + 1..entries.len() {
                entries[k - 1].set(entries[k].region()?);
            }
            let [block, capacity, _] = self.table.0.words()?;
            self.table.0.set([block, capacity, entries.len() as u64 - 1]);
            Ok(Some(region))
        })?
    }

    /// The regions, in the order of their addresses. Only the owner, or who has replaced them, calls it.
    pub(crate) fn regions(&self, segment: &Segment) -> Result<Vec<Region>> {
        self.entries(segment)?.iter().map(Entry::region).collect()
    }

    /// Makes the directory one of these regions, which are in the order of their addresses and do not overlap.
    pub(crate) fn replace(
        &self,
        segment: &Segment,
        regions: &[Region],
        waiter: &Waiter<'_>,
    ) -> std::result::Result<(), AllocError> {
        self.guard.run(CHANGING, waiter, || {
            let [block, capacity, _] = self.table.0.words()?;
            self.table.0.set([block, capacity, 0]);
            for (count, region) in (0..).zip(regions) {
                self.grow(segment, waiter)?;
                let [block, capacity, _] = self.table.0.words()?;
                segment.mapping().views::<Entry>(block, count as usize + 1)?[count as usize]
                    .set(*region);
                self.table.0.set([block, capacity, count + 1]);
            }
            Ok(())
        })?
    }

    /// The block of the caller's own table, if it has one.
    pub(crate) fn block(&self) -> Option<u64> {
        Some(self.table.0.block.load()).filter(|block| *block != 0)
    }

    /// The index of `region` in the order, if it overlaps no other.
    fn place_for(
        &self,
        segment: &Segment,
        region: Region,
    ) -> std::result::Result<usize, AttachError> {
        let entries = self.entries(segment)?;
        let at = entries.partition_point(|entry| entry.address.load() < region.address);
        let before = at.checked_sub(1).map(|k| entries[k].region()).transpose()?;
        let after = entries.get(at).map(Entry::region).transpose()?;
        let overlapped = before
            .filter(|before| before.end() > region.address)
            .or(after.filter(|after| after.address < region.end()));
        overlapped.map_or(Ok(at), |other| Err(AttachError::Overlaps(other)))
    }

    /// Makes room for one more entry.
    fn grow(&self, segment: &Segment, waiter: &Waiter<'_>) -> std::result::Result<(), AllocError> {
        let [old, capacity, count] = self.table.0.words()?;
        if count < capacity {
            return Ok(());
        }
        let more = (2 * capacity).max(FIRST_CAPACITY);
        let block = segment.heap().allocate(more * size_of::<Entry>() as u64, waiter)?;
        let new = segment.mapping().views(block, more as usize)?;
        for (entry, place) in self.entries(segment)?.iter().zip(new) {
            Entry::set(place, entry.region()?);
        }
        self.table.0.set([block, more, count]);
        if old == 0 { Ok(()) } else { segment.heap().free(old, waiter) }
    }

    fn entries<'s>(&self, segment: &'s Segment) -> Result<&'s [Entry]> {
        match self.table.0.words()? {
            [0, ..] => Ok(&[]),
            [block, _, count] => segment.mapping().views(block, count as usize),
        }
    }
}
