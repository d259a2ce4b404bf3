//! Updates of single elements against updates of many elements at once.
//!
//! Window memory is cut into stripes. One element is updated by an instruction, in an announcement
//! that costs no instruction other than loads and stores; many are updated by plain loads and
//! stores, behind the exclusion of their stripes, once nobody is announced there:
//!
//! ```text
//!   one element                           many elements
//!     lane = stripe                         stripe's holder = this rank
//!     mem_sync(StripeAnnounce)              mem_sync(StripeBarrier)
//!     stripe has a holder? -> other way     wait until no lane names the stripe
//!     mem_sync(StripeLook)                  mem_sync(StripeDrained)
//!     the instruction                       the updates
//!     mem_sync(StripeWithdraw)              mem_sync(StripePre)
//!     lane = nothing                        holder = nobody
//!     mem_sync(StripeWithdrawn)
//!     stripe has a holder? -> ring its bell
//! ```
//!
//! Either the one sees the holder, or the other sees the lane: store buffering, so both sides need
//! full barriers, and so they do again for the bell. The side that is rare pays for both: its
//! barrier is one of all ranks (`prim/membarrier.rs`). Whoever finds a holder enters the exclusion itself ([`slowly`]), so
//! an instruction meets neither an update of many nor, there, another instruction's rank.

use super::{Line, RobustExclusion};
use crate::prim::{
    Fault, JobFailed, ParkWord, Site, Waiter, Word32, mem_sync, mem_sync_of_all, planted,
};
use std::ops::RangeInclusive;

/// Threads of one rank that can be announced at the same time: the rest take the slow way.
pub const LANES: usize = 14;
/// Exclusions of a job. Stripes as many numbers apart share one, which costs time and nothing else.
pub const STRIPES: usize = 1024;
/// Most stripes of one update of many elements.
pub const MOST: usize = 8;

/// What one rank announces: a line that, except for the bell, only this rank writes.
#[repr(C, align(64))]
#[derive(Default)]
pub struct RankLanes {
    /// The number of a stripe plus one, or zero, for each thread.
    lanes: [Word32; LANES],
    /// Rung by those who withdraw from a stripe that this rank holds.
    bell: ParkWord,
}

impl RankLanes {
    /// The lane of that number, if there are so many.
    #[inline(always)]
    pub fn lane(&self, number: usize) -> Option<&Word32> {
        self.lanes.get(number)
    }
}

/// Whether all ranks of a job take part in the barriers of all ranks. Zero bytes: they do.
#[repr(C)]
#[derive(Default)]
pub struct Common(Line<Word32>);

impl Common {
    /// Says that the calling rank, which has not announced anything yet, takes no part: from now on
    /// nobody updates many elements at once.
    pub fn opt_out(&self) {
        self.0.0.store(1);
        // Publishes that before the rank's first look at a holder: a full barrier, paired with
        // StripeBarrier. A holder that does not see it is seen.
        // Fails without it, or as less: models/stripes.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::StripeAlone);
    }

    /// Whether they do, as far as this rank knows.
    #[inline]
    pub fn holds(&self) -> bool {
        self.0.0.load() == 0
    }
}

/// A stripe, and the ranks that may be announced in it.
///
/// `R` are all ranks of the job: not their slice, because reading where that is would cost every
/// announcement what only one that meets a holder needs.
pub struct Stripe<'a, R> {
    /// The place of its exclusion in the table.
    pub number: u32,
    /// Its exclusion.
    pub slot: &'a RobustExclusion,
    /// All ranks of the job.
    pub ranks: &'a R,
}

impl<R> Stripe<'_, R> {
    /// Whether nobody updates many of its elements.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        self.slot.holder() == 0
    }
}

/// A thread that may update elements of a stripe by single instructions, until it withdraws.
///
/// One that is dropped instead, by a panic, stays announced: its rank fails.
#[must_use]
pub struct Announced<'a, R> {
    lane: &'a Word32,
    stripe: Stripe<'a, R>,
}

/// Announces the thread whose lane it is. `None` if the stripe has a holder: then [`slowly`].
#[inline(always)]
pub fn announce<'a, R>(lane: &'a Word32, stripe: Stripe<'a, R>) -> Option<Announced<'a, R>>
where
    R: AsRef<[RankLanes]>,
{
    if planted(Fault::StripeLooksFirst) && !stripe.is_free() {
        return None;
    }
    lane.store(stripe.number + 1);
    // Publishes the lane before the look: a full barrier, paired with StripeBarrier.
    // Fails without it, or as less: models/stripes.rs, by loom_tests/tests/mutants.rs.
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
        // Publishes that before the look: a full barrier, paired with StripeBarrier of a holder
        // that has seen the lane. Fails without it, or as less: models/stripes.rs, by
        // loom_tests/tests/mutants.rs.
        mem_sync(Site::StripeWithdrawn);
        let holder = self.stripe.slot.holder();
        if holder != 0 && !planted(Fault::StripeUnrung) {
            ring(self.stripe.ranks.as_ref(), holder);
        }
    }
}

/// Tells the holder, a rank plus one, that a lane is empty.
#[cold]
fn ring(ranks: &[RankLanes], holder: u32) {
    // A word that was damaged may name a rank that there is not.
    if let Some(rank) = ranks.get(holder as usize - 1) {
        rank.bell.add_and_wake(1);
    }
}

/// Runs `f`, which updates elements of the stripe whose exclusion is given by single instructions,
/// although it has a holder: as the next one. Blocks until then.
#[cold]
pub fn slowly<R>(
    slot: &RobustExclusion,
    waiter: &Waiter<'_>,
    f: impl FnOnce() -> R,
) -> Result<R, JobFailed> {
    // Needs nobody drained: instructions do not disturb each other.
    slot.run((Site::StripePost, Site::StripePre), waiter, |_| f())
}

/// Runs `f`, which updates elements of some stripes in any way, while nobody else updates any.
/// Blocks while others do. `None`, and nothing has been done, if a rank takes no part in barriers
/// of all ranks.
///
/// The stripes, at most [`MOST`], have the numbers from `first` on; whoever waits for one of them
/// holds none of a larger number, so that nobody waits in a circle.
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
    // Publishes the holder before the looks at `common` and at the lanes, as a full barrier of this
    // rank and of every other one: natively those that announce themselves have none of their own.
    // Pairs with StripeAnnounce, StripeWithdrawn and StripeAlone. Observes what earlier holders
    // wrote, too. Fails without it, or as less: models/stripes.rs, by loom_tests/tests/mutants.rs.
    if !mem_sync_of_all(Site::StripeBarrier) || !common.holds() {
        return Ok(None);
    }
    if !planted(Fault::StripeNotDrained) {
        drain(first + 1..=first + stripes.len() as u32, ranks, waiter)?;
    }
    // Observes what those updated who have withdrawn; pairs with their StripeWithdraw.
    // Fails without it: models/stripes.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::StripeDrained);
    let result = f();
    drop(held);
    Ok(Some(result))
}

/// Waits until no lane of any rank that lives has one of these values. One look at a lane is
/// enough: whoever announces itself later sees the holder.
fn drain(
    values: RangeInclusive<u32>,
    ranks: &[RankLanes],
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    let bell = &ranks[waiter.rank as usize].bell;
    for (rank, announced) in (0..).zip(ranks) {
        waiter.until(bell, |_| {
            // Behind a ring of the bell: observes the lane that was emptied before. Pairs with
            // StripeWithdrawn. Fails without it: models/stripes.rs, by loom_tests/tests/mutants.rs.
            mem_sync(Site::StripeRung);
            let empty = announced.lanes.iter().all(|lane| !values.contains(&lane.load()));
            empty || waiter.failed.has_failed(rank) && !planted(Fault::StripeDeadAnnounced)
        })?;
    }
    Ok(())
}
