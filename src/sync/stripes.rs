//! Updates of single elements against updates of many elements at once.
//!
//! Window memory is divided into stripes. One element is updated by an atomic instruction between
//! announcing and withdrawing it, both of which are plain loads and stores. Many elements are
//! updated by plain loads and stores under the lock of their stripes, once no thread is announced
//! there:
//!
//! ```text
//!   one element                           many elements
//!     lane = stripe                         stripe's holder = this rank
//!     mem_sync(StripeAnnounce)              mem_sync(StripeBarrier)
//!     stripe has a holder? -> slow path     wait until no lane names the stripe
//!     mem_sync(StripeLook)                  mem_sync(StripeDrained)
//!     the instruction                       the updates
//!     mem_sync(StripeWithdraw)              mem_sync(StripePre)
//!     lane = nothing                        holder = nobody
//!     mem_sync(StripeWithdrawn)
//!     stripe has a holder? -> ring its bell
//! ```
//!
//! Either the left side sees the holder, or the right side sees the lane. This is store buffering, so
//! both sides need full barriers, and again for the bell. The rare side pays for both: its barrier
//! is one of all ranks (`prim/membarrier.rs`). A thread that finds a holder withdraws and acquires
//! the stripe's lock itself ([`slowly`]). So a single update never overlaps a bulk update, and no
//! thread waits while it is announced. Stripes are locked in ascending order. The lanes of a failed
//! rank count as empty, and its lock passes to the next rank.

use super::{Line, RobustExclusion};
use crate::prim::{
    Fault, JobFailed, ParkWord, Site, Waiter, Word32, mem_sync, mem_sync_of_all, planted,
};
use std::ops::RangeInclusive;

/// Threads of one rank that can be announced at the same time: the rest take the slow path.
pub const LANES: usize = 14;
/// Stripe locks of a job. Stripes whose numbers differ by a multiple of it share one, which costs
/// only time.
pub const STRIPES: usize = 1024;
/// Most stripes of one update of many elements.
pub const MOST: usize = 8;

/// The announcements of one rank: a line that, except for the bell, only this rank writes.
#[repr(C, align(64))]
#[derive(Default)]
pub struct RankLanes {
    /// The number of a stripe plus one, or zero, for each thread.
    lanes: [Word32; LANES],
    /// Rung by threads that withdraw from a stripe that this rank holds.
    bell: ParkWord,
}

impl RankLanes {
    /// The lane of that number; `None` beyond the last.
    #[inline(always)]
    pub fn lane(&self, number: usize) -> Option<&Word32> {
        self.lanes.get(number)
    }
}

/// Whether all ranks of a job take part in barriers of all ranks. Zero bytes: they do.
#[repr(C)]
#[derive(Default)]
pub struct Common(Line<Word32>);

impl Common {
    /// Records that the calling rank, which has not announced anything yet, takes no part: from now
    /// on no rank makes bulk updates.
    pub fn opt_out(&self) {
        self.0.0.store(1);
        // Publishes the store before the rank's first look at a holder: a full barrier, paired with
        // StripeBarrier. This rank sees a holder that does not see the store. Fails without it, or
        // as a weaker barrier: models/stripes.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::StripeAlone);
    }

    /// Whether all ranks take part. A snapshot.
    #[inline]
    pub fn holds(&self) -> bool {
        self.0.0.load() == 0
    }
}

/// A stripe, and the ranks that may be announced in it.
///
/// `R` gives all ranks of the job. It is not their slice, because only an announcement that finds a
/// holder needs that, and loading its address would cost every one.
pub struct Stripe<'a, R> {
    /// The index of its lock in the table.
    pub number: u32,
    /// Its lock.
    pub slot: &'a RobustExclusion,
    /// All ranks of the job.
    pub ranks: &'a R,
}

impl<R> Stripe<'_, R> {
    /// Whether no bulk update holds the stripe.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        self.slot.holder() == 0
    }
}

/// A thread that may update elements of a stripe by single instructions, until it withdraws.
///
/// A thread that panics instead stays announced; its rank fails.
#[must_use]
pub struct Announced<'a, R> {
    lane: &'a Word32,
    stripe: Stripe<'a, R>,
}

/// Announces the thread of `lane`. `None` if the stripe has a holder: then use [`slowly`].
#[inline(always)]
pub fn announce<'a, R>(lane: &'a Word32, stripe: Stripe<'a, R>) -> Option<Announced<'a, R>>
where
    R: AsRef<[RankLanes]>,
{
    if planted(Fault::StripeLooksFirst) && !stripe.is_free() {
        return None;
    }
    lane.store(stripe.number + 1);
    // Publishes the lane before the look: a full barrier, paired with StripeBarrier. Fails without
    // it, or as a weaker barrier: models/stripes.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::StripeAnnounce);
    let announced = Announced { lane, stripe };
    if !announced.stripe.is_free() && !planted(Fault::StripeLooksFirst) {
        announced.withdraw();
        return None;
    }
    // Observes what the last holder wrote; pairs with its StripePre.
    // Fails without it: models/stripes.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::StripeLook);
    Some(announced)
}

impl<R: AsRef<[RankLanes]>> Announced<'_, R> {
    /// Ends the announcement.
    #[inline(always)]
    pub fn withdraw(self) {
        // Publishes the updates; pairs with StripeDrained of the next holder.
        // Fails without it: models/stripes.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::StripeWithdraw);
        self.lane.store(0);
        // Publishes the empty lane before the look: a full barrier, paired with StripeBarrier of a
        // holder that has seen the announcement. Fails without it, or as a weaker barrier:
        // models/stripes.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::StripeWithdrawn);
        let holder = self.stripe.slot.holder();
        if holder != 0 && !planted(Fault::StripeUnrung) {
            ring(self.stripe.ranks.as_ref(), holder);
        }
    }
}

/// Wakes the holder, a rank plus one, because a lane is empty.
#[cold]
fn ring(ranks: &[RankLanes], holder: u32) {
    // A damaged word may name a rank that does not exist.
    if let Some(rank) = ranks.get(holder as usize - 1) {
        rank.bell.add_and_wake(1);
    }
}

/// Slow path of a single update: runs `f`, which updates elements by single instructions, as the
/// holder of the stripe's lock. Blocks until then.
#[cold]
pub fn slowly<R>(
    slot: &RobustExclusion,
    waiter: &Waiter<'_>,
    f: impl FnOnce() -> R,
) -> Result<R, JobFailed> {
    // No need to drain the lanes: single instructions do not conflict.
    slot.run((Site::StripePost, Site::StripePre), waiter, |_| f())
}

/// Runs `f`, which updates elements of some stripes in any way, while no other thread updates any.
/// Blocks while another one does. Returns `None` and does nothing if a rank takes no part in
/// barriers of all ranks.
///
/// The stripes, at most [`MOST`], have the numbers from `first` on. A rank that waits for one of
/// them holds none with a larger number, so there is no cycle.
pub fn exclusively<R>(
    stripes: &[RobustExclusion],
    first: u32,
    ranks: &[RankLanes],
    common: &Common,
    waiter: &Waiter<'_>,
    f: impl FnOnce() -> R,
) -> Result<Option<R>, JobFailed> {
    let mut held = [const { None }; MOST];
    if !planted(Fault::StripeNotEntered) {
        for (held, stripe) in held.iter_mut().zip(stripes) {
            *held = Some(stripe.enter(waiter, Site::StripePre)?.1);
        }
    }
    // Publishes the holder before the looks at `common` and at the lanes. It is a full barrier of
    // every rank, because natively an announcement has none of its own. Pairs with StripeAnnounce,
    // StripeWithdrawn and StripeAlone. Also observes what earlier holders wrote. Fails without it, or
    // as a weaker barrier: models/stripes.rs, by loom_tests/tests/mutants.rs.
    if !mem_sync_of_all(Site::StripeBarrier) || !common.holds() {
        return Ok(None);
    }
    if !planted(Fault::StripeNotDrained) {
        drain(first + 1..=first + stripes.len() as u32, ranks, waiter)?;
    }
    // Observes the updates of withdrawn threads; pairs with their StripeWithdraw.
    // Fails without it: models/stripes.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::StripeDrained);
    let result = f();
    drop(held);
    Ok(Some(result))
}

/// Waits until no lane of any surviving rank has one of these values. One look at a lane is enough:
/// a later announcement sees the holder.
fn drain(
    values: RangeInclusive<u32>,
    ranks: &[RankLanes],
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    let bell = &ranks[waiter.rank as usize].bell;
    for (rank, announced) in (0..).zip(ranks) {
        waiter.until(bell, |_| {
            // After a ring of the bell: observes the lane that was emptied before. Pairs with
            // StripeWithdrawn. Fails without it: models/stripes.rs, by loom_tests/tests/mutants.rs.
            mem_sync(Site::StripeRung);
            let empty = announced.lanes.iter().all(|lane| !values.contains(&lane.load()));
            empty || waiter.failed.has_failed(rank) && !planted(Fault::StripeDeadAnnounced)
        })?;
    }
    Ok(())
}
