//! This process's view of the stripes of the segment (`sync/stripes.rs`): which stripe an address
//! is in, and which lane a thread announces itself in.

use super::layout::STRIPE_SHIFT;
use super::segment::{Placed, PlacedSlice, Segment};
use crate::error::Result;
use crate::prim::{JobFailed, Waiter, Word32, take_part};
use crate::sync::RobustExclusion;
use crate::sync::stripes::{self, Announced, Common, LANES, MOST, RankLanes, STRIPES, Stripe};
use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a stripe.
pub(crate) const STRIPE_BYTES: usize = 1 << STRIPE_SHIFT;

/// What the segment has for its stripes, but for the lanes. Zero bytes are the initial state.
#[repr(C, align(128))]
pub(crate) struct StripeWords {
    /// Packed, because whoever updates elements all over the memory reads them all.
    slots: [RobustExclusion; STRIPES],
    common: Common,
}

/// A thread has not asked for a lane.
const NOT_ASKED: usize = LANES;
/// A thread has none, and gets none.
const NONE: usize = LANES + 1;

thread_local! {
    /// The number of the lane of this thread, or why it has none.
    static LANE: Cell<usize> = const { Cell::new(NOT_ASKED) };
    static CLAIM: Cell<Option<Claim>> = const { Cell::new(None) };
}

/// One bit for each lane of this rank that a thread has.
static CLAIMED: Mutex<u32> = Mutex::new(0);

fn claimed() -> std::sync::MutexGuard<'static, u32> {
    CLAIMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the lane of a thread back when the thread ends.
struct Claim(usize);

impl Drop for Claim {
    fn drop(&mut self) {
        LANE.set(NONE);
        *claimed() &= !(1 << self.0);
    }
}

/// Looks for a lane for this thread, once.
#[cold]
fn claim() {
    if LANE.get() != NOT_ASKED {
        return;
    }
    LANE.set(NONE);
    let free = {
        let mut claimed = claimed();
        let free = claimed.trailing_ones() as usize;
        if free >= LANES {
            return;
        }
        *claimed |= 1 << free;
        free
    };
    let claim = Claim(free);
    // Where the thread is ending, the lane goes back at once.
    if CLAIM.try_with(|of_thread| of_thread.set(Some(claim))).is_ok() {
        LANE.set(free);
    }
}

/// Takes the lane from the only thread of a process that was forked: its parent's thread has it.
/// Neither allocates nor takes a lock.
pub(super) fn forget_lane() {
    LANE.set(NONE);
}

/// The stripes of the segment, for this process.
pub(crate) struct Stripes {
    /// Where the segment is mapped.
    base: usize,
    words: Placed<StripeWords>,
    ranks: PlacedSlice<RankLanes>,
    own: Placed<RankLanes>,
}

impl Stripes {
    /// For rank `rank`, which has not said yet that it has joined.
    pub(crate) fn join(segment: &Arc<Segment>, rank: u32) -> Result<Stripes> {
        let layout = segment.layout();
        let lanes = layout.lanes;
        let own = lanes + u64::from(rank) * size_of::<RankLanes>() as u64;
        let words: Placed<StripeWords> = segment.place(layout.stripes)?;
        if !take_part() {
            words.common.opt_out();
        }
        Ok(Stripes {
            base: segment.base() as usize,
            words,
            ranks: segment.place_all(lanes, layout.ranks as usize)?,
            own: segment.place(own)?,
        })
    }

    /// The bytes from `address` to the end of its stripe.
    #[inline(always)]
    pub(crate) fn rest(&self, address: *const u8) -> usize {
        STRIPE_BYTES - (self.offset(address) & (STRIPE_BYTES - 1))
    }

    /// The bytes from `address` to where the next update of many elements begins.
    pub(crate) fn rest_of_many(&self, address: *const u8) -> usize {
        let most = STRIPE_BYTES * MOST;
        most - (self.offset(address) & (most - 1))
    }

    /// Memory that is not of the segment belongs to one process; which of its stripes it is in does
    /// not matter.
    #[inline(always)]
    fn offset(&self, address: *const u8) -> usize {
        (address as usize).wrapping_sub(self.base)
    }

    #[inline(always)]
    fn stripe(&self, address: *const u8) -> Stripe<'_> {
        let number = (self.offset(address) >> STRIPE_SHIFT) % STRIPES;
        let slot = &self.words.slots[number];
        Stripe { number: number as u32, slot, ranks: &self.ranks }
    }

    #[inline(always)]
    fn lane(&self) -> Option<&Word32> {
        self.own.lane(LANE.get())
    }

    /// Lets the thread update elements around `address`, in the same stripe, by single instructions.
    /// `None` if it must go by [`Stripes::slowly`].
    #[inline(always)]
    pub(crate) fn announce(&self, address: *const u8) -> Option<Announced<'_>> {
        stripes::announce(self.lane()?, self.stripe(address))
    }

    /// As [`stripes::slowly`].
    #[cold]
    pub(crate) fn slowly<R>(
        &self,
        address: *const u8,
        waiter: &Waiter<'_>,
        f: impl FnOnce() -> R,
    ) -> std::result::Result<R, JobFailed> {
        claim();
        stripes::slowly(self.stripe(address), waiter, f)
    }

    /// Whether many elements can be updated at once, as far as this rank knows.
    pub(crate) fn are_common(&self) -> bool {
        self.words.common.holds()
    }

    /// As [`stripes::exclusively`], of the `bytes` bytes at `address`, not none and no more than
    /// [`Stripes::rest_of_many`].
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
    // An update of many elements meets no number twice, and meets them in order.
    assert!(STRIPES.is_multiple_of(MOST) && STRIPES.is_power_of_two());
    assert!(size_of::<RankLanes>() == 64);
};
