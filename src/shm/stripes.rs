//! This process's view of the stripes of the segment (`sync/stripes.rs`): the stripe of an address, and
//! the lane of a thread.

use super::layout::STRIPE_SHIFT;
use super::segment::{Placed, PlacedSlice, Segment};
use super::thread;
use crate::error::Result;
use crate::prim::{JobFailed, Waiter, Word32, take_part};
use crate::sync::RobustExclusion;
use crate::sync::stripes::{self, Common, MOST, RankLanes, STRIPES, Stripe};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a stripe.
pub(crate) const STRIPE_BYTES: usize = 1 << STRIPE_SHIFT;

/// The stripe locks of the segment. Zero bytes are their initial state.
#[repr(C, align(128))]
pub(crate) struct StripeWords {
    /// Packed, because random updates all over the memory read them all.
    slots: [RobustExclusion; STRIPES],
    common: Common,
}

/// A thread of this process that may update elements of a stripe by single instructions.
pub(crate) type Announced<'a> = stripes::Announced<'a, PlacedSlice<RankLanes>>;

/// The stripes of the segment, for this process.
pub(crate) struct Stripes {
    /// Where the segment is mapped.
    base: usize,
    words: Placed<StripeWords>,
    ranks: PlacedSlice<RankLanes>,
    own: Placed<RankLanes>,
    takes_part: bool,
}

impl Stripes {
    /// For rank `rank`, which has not recorded yet that it has joined.
    pub(crate) fn join(segment: &Arc<Segment>, rank: u32) -> Result<Stripes> {
        let layout = segment.layout();
        let lanes = layout.lanes;
        let own = lanes + u64::from(rank) * size_of::<RankLanes>() as u64;
        let words: Placed<StripeWords> = segment.place(layout.stripes)?;
        let takes_part = take_part();
        if !takes_part {
            words.common.opt_out();
        }
        // The first call takes microseconds, which the first lock would otherwise pay.
        thread::ask();
        Ok(Stripes {
            base: segment.base() as usize,
            words,
            ranks: segment.place_all(lanes, layout.ranks as usize)?,
            own: segment.place(own)?,
            takes_part,
        })
    }

    /// The bytes from `address` to the end of its stripe.
    #[inline(always)]
    pub(crate) fn rest(&self, address: *const u8) -> usize {
        STRIPE_BYTES - (self.offset(address) & (STRIPE_BYTES - 1))
    }

    /// The addresses of the aligned group of stripes around this one; the size of a group is a power of
    /// two.
    #[inline(always)]
    pub(crate) fn around(&self, stripes: usize, address: *const u8) -> Range<usize> {
        let bytes = STRIPE_BYTES * stripes;
        let start = (address as usize).wrapping_sub(self.offset(address) & (bytes - 1));
        start..start.saturating_add(bytes)
    }

    /// Memory outside the segment belongs to one process, so any stripe will do for it.
    #[inline(always)]
    fn offset(&self, address: *const u8) -> usize {
        (address as usize).wrapping_sub(self.base)
    }

    #[inline(always)]
    fn stripe(&self, address: *const u8) -> Stripe<'_, PlacedSlice<RankLanes>> {
        let number = (self.offset(address) >> STRIPE_SHIFT) % STRIPES;
        let slot = &self.words.slots[number];
        Stripe { number: number as u32, slot, ranks: &self.ranks }
    }

    #[inline(always)]
    fn lane(&self) -> Option<&Word32> {
        self.own.lane(thread::number())
    }

    /// Announces single updates of elements in the stripe of `address`. `None` if the thread must use
    /// [`Stripes::slowly`].
    #[inline(always)]
    pub(crate) fn announce(&self, address: *const u8) -> Option<Announced<'_>> {
        stripes::announce(self.lane()?, self.stripe(address))
    }

    /// [`stripes::slowly`] for the stripe of an address.
    #[cold]
    pub(crate) fn slowly<R>(
        &self,
        address: *const u8,
        waiter: &Waiter<'_>,
        f: impl FnOnce() -> R,
    ) -> std::result::Result<R, JobFailed> {
        // From its next update on it has a lane, if one is free.
        thread::ask();
        stripes::slowly(self.stripe(address).slot, waiter, f)
    }

    /// Whether this process takes part in the barriers of all ranks.
    pub(crate) fn take_part(&self) -> bool {
        self.takes_part
    }

    /// Whether bulk updates are possible. A snapshot.
    pub(crate) fn are_common(&self) -> bool {
        self.words.common.holds()
    }

    /// [`stripes::exclusively`] for the `bytes` bytes at `address`: at least one, all in one group of
    /// [`MOST`] stripes.
    pub(crate) fn exclusively<R>(
        &self,
        address: *const u8,
        bytes: usize,
        waiter: &Waiter<'_>,
        f: impl FnOnce() -> R,
    ) -> std::result::Result<Option<R>, JobFailed> {
        let StripeWords { slots, common } = &*self.words;
        let first = self.stripe(address).number;
        let last = self.stripe(address.wrapping_add(bytes - 1)).number;
        let held = &slots[first as usize..=last as usize];
        stripes::exclusively(held, first, &self.ranks, common, waiter, f)
    }
}

const _: () = {
    // A bulk update has each number once, in ascending order.
    assert!(STRIPES.is_multiple_of(MOST) && STRIPES.is_power_of_two());
    assert!(size_of::<RankLanes>() == 64);
};
