//! This process's view of the shards of the segment (`sync/shards.rs`): the shard of an address, and
//! the announcement of a thread.

use super::layout::SHARD_SHIFT;
use super::segment::{Placed, PlacedSlice, Segment};
use super::thread;
use crate::error::Result;
use crate::prim::{JobFailed, Waiter, Word32, take_part};
use crate::sync::RobustExclusion;
use crate::sync::shards::{self, Common, MOST, RankAnnouncements, SHARDS, Shard};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// Bytes of a shard.
pub(crate) const SHARD_BYTES: usize = 1 << SHARD_SHIFT;

/// The shard locks of the segment. Zero bytes are their initial state.
#[repr(C, align(128))]
pub(crate) struct ShardWords {
    /// Packed, because random updates all over the memory read them all.
    slots: [RobustExclusion; SHARDS],
    common: Common,
}

/// A thread of this process that may update elements of a shard by single instructions.
pub(crate) type ThreadAnnounced<'a> = shards::Announced<'a, PlacedSlice<RankAnnouncements>>;

/// The shards of the segment, for this process.
pub(crate) struct Shards {
    /// Where the segment is mapped.
    base: usize,
    words: Placed<ShardWords>,
    ranks: PlacedSlice<RankAnnouncements>,
    own: Placed<RankAnnouncements>,
    rank: u32,
    takes_part: bool,
}

impl Shards {
    /// For rank `rank`, which has not recorded yet that it has joined.
    pub(crate) fn join(segment: &Arc<Segment>, rank: u32) -> Result<Shards> {
        let layout = segment.layout();
        let announcements = layout.announcements;
        let own = announcements + u64::from(rank) * size_of::<RankAnnouncements>() as u64;
        let words: Placed<ShardWords> = segment.place(layout.shards)?;
        let takes_part = take_part();
        if !takes_part {
            words.common.opt_out();
        }
        // The first call takes microseconds, which the first lock would otherwise pay.
        thread::ask();
        Ok(Shards {
            base: segment.base() as usize,
            words,
            ranks: segment.place_all(announcements, layout.ranks as usize)?,
            own: segment.place(own)?,
            rank,
            takes_part,
        })
    }

    /// Whether one grant covers these bytes: they are in one shard or, if they are not more than a shard has, in
    /// two of a group.
    #[inline(always)]
    pub(crate) fn grants(&self, address: *const u8, bytes: usize) -> bool {
        bytes <= self.rest(1, address) || bytes <= SHARD_BYTES.min(self.rest(MOST, address))
    }

    /// The bytes from `address` to the end of its aligned group of shards.
    #[inline(always)]
    fn rest(&self, shards: usize, address: *const u8) -> usize {
        SHARD_BYTES * shards - (self.offset(address) & (SHARD_BYTES * shards - 1))
    }

    /// The addresses of the aligned group of shards around this one; the size of a group is a power of
    /// two.
    #[inline(always)]
    pub(crate) fn around(&self, shards: usize, address: *const u8) -> Range<usize> {
        let bytes = SHARD_BYTES * shards;
        let start = (address as usize).wrapping_sub(self.offset(address) & (bytes - 1));
        start..start.saturating_add(bytes)
    }

    /// Memory outside the segment belongs to one process, so any shard will do for it.
    #[inline(always)]
    fn offset(&self, address: *const u8) -> usize {
        (address as usize).wrapping_sub(self.base)
    }

    #[inline(always)]
    fn shard(&self, address: *const u8) -> Shard<'_, PlacedSlice<RankAnnouncements>> {
        let number = (self.offset(address) >> SHARD_SHIFT) % SHARDS;
        let slot = &self.words.slots[number];
        Shard { number: number as u32, slot, ranks: &self.ranks }
    }

    #[inline(always)]
    fn announcement(&self) -> Option<&Word32> {
        self.own.announcement(thread::number())
    }

    /// Announces single updates of elements in the shard of `address`. `None` if the thread must use
    /// [`Shards::slowly`].
    #[inline(always)]
    pub(crate) fn announce(&self, address: *const u8) -> Option<ThreadAnnounced<'_>> {
        shards::announce(self.announcement()?, self.shard(address))
    }

    /// [`shards::slowly`] for the shard of an address; where it is closed and has no holder, the fast path of that.
    #[inline]
    pub(crate) fn slowly<'w, R>(
        &self,
        address: *const u8,
        waiter: impl FnOnce() -> Waiter<'w>,
        mut f: impl FnMut() -> R,
    ) -> std::result::Result<R, JobFailed> {
        let slot = self.shard(address).slot;
        if self.takes_part
            && let Some(result) = shards::try_slowly(slot, self.rank, &mut f)
        {
            return Ok(result);
        }
        // From its next update on it has an announcement, if one is free.
        thread::ask();
        shards::slowly(slot, &waiter(), f)
    }

    /// Whether this process takes part in the barriers of all ranks.
    #[inline(always)]
    pub(crate) fn take_part(&self) -> bool {
        self.takes_part
    }

    /// Whether all ranks do that have joined.
    #[inline(always)]
    pub(crate) fn all_take_part(&self) -> bool {
        self.takes_part && self.words.common.holds()
    }

    /// Runs `f`, which updates elements among the `bytes` bytes at `address` in any way, while no other thread
    /// updates elements there. Blocks while one does; `waiter` is needed only then. Returns `None`
    /// and does nothing where elements are updated by instructions only.
    ///
    /// There is at least one byte, and all are in one group of [`MOST`] shards.
    #[inline(always)]
    pub(crate) fn exclusively<'w, R>(
        &self,
        address: *const u8,
        bytes: usize,
        waiter: impl FnOnce() -> Waiter<'w>,
        mut f: impl FnMut() -> R,
    ) -> std::result::Result<Option<R>, JobFailed> {
        let first = self.shard(address);
        if bytes <= self.rest(1, address)
            && self.takes_part
            && let Some(result) = shards::try_exclusively(first.slot, self.rank, &mut f)
        {
            return Ok(Some(result));
        }
        let last = self.shard(address.wrapping_add(bytes - 1));
        if last.number == first.number + 1
            && self.takes_part
            && let both = [first.slot, last.slot]
            && let Some(result) = shards::try_exclusively_in_two(both, self.rank, &mut f)
        {
            return Ok(Some(result));
        }
        self.exclusively_slowly(first.number..=last.number, waiter(), f)
    }

    #[cold]
    fn exclusively_slowly<R>(
        &self,
        numbers: RangeInclusive<u32>,
        waiter: Waiter<'_>,
        f: impl FnOnce() -> R,
    ) -> std::result::Result<Option<R>, JobFailed> {
        let ShardWords { slots, common } = &*self.words;
        let (first, last) = numbers.into_inner();
        let held = &slots[first as usize..=last as usize];
        shards::exclusively(held, first, &self.ranks, common, &waiter, f)
    }
}

const _: () = {
    // A bulk update has each number once, in ascending order.
    assert!(SHARDS.is_multiple_of(MOST) && SHARDS.is_power_of_two());
    assert!(size_of::<RankAnnouncements>() == 64);
};
