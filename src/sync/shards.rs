//! Updates of single elements against updates of many elements at once.
//!
//! Window memory is divided into shards. One element is updated by an atomic instruction between
//! announcing and withdrawing it, both of which are plain loads and stores. Many elements are
//! updated by plain loads and stores under the lock of their shards, once no thread is announced
//! there:
//!
//! ```text
//!   one element                           many elements
//!     announcement = shard                         shard's holder = this rank
//!     mem_sync(ShardAnnounce)              mem_sync(ShardBarrier)
//!     shard has a holder? -> slow path     wait until no announcement names the shard
//!     mem_sync(ShardLook)                  mem_sync(ShardDrained)
//!     the instruction                       the updates
//!     mem_sync(ShardWithdraw)              mem_sync(ShardPre)
//!     announcement = nothing                        holder = none
//!     mem_sync(ShardWithdrawn)
//!     shard has a holder? -> ring its bell
//! ```
//!
//! Either the left side sees the holder, or the right side sees the announcement. This is store buffering, so
//! both sides need full barriers, and again for the bell. The rare side pays for both: its barrier
//! is one of all ranks (`prim/processor.rs`). A thread that finds a holder withdraws and acquires
//! the shard's lock itself ([`slowly`]). So a single update never overlaps a bulk update, and no
//! thread waits while it is announced. Shards are locked in ascending order. The announcements of a failed
//! rank count as empty, and its lock passes to the next rank.

use super::{Line, RobustExclusion};
use crate::prim::{
    Fault, JobFailed, ParkWord, Site, Waiter, Word32, mem_sync, mem_sync_of_all, planted,
};
use std::ops::RangeInclusive;

/// Threads of one rank that can be announced at the same time: the rest take the slow path.
pub const ANNOUNCEMENTS: usize = 14;
/// Shard locks of a job. Shards whose numbers differ by a multiple of it share one, which costs
/// only time.
pub const SHARDS: usize = 1024;
/// Most shards of one update of many elements.
pub const MOST: usize = 8;

/// The announcements of one rank: a line that, except for the bell, only this rank writes.
#[repr(C, align(64))]
#[derive(Default)]
pub struct RankAnnouncements {
    /// The number of a shard plus one, or zero, for each thread.
    announcements: [Word32; ANNOUNCEMENTS],
    /// Rung by threads that withdraw from a shard that this rank holds.
    bell: ParkWord,
}

impl RankAnnouncements {
    /// The announcement of that number; `None` beyond the last.
    #[inline(always)]
    pub fn announcement(&self, number: usize) -> Option<&Word32> {
        self.announcements.get(number)
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
        // ShardBarrier. This rank sees a holder that does not see the store. Fails without it, or
        // as a weaker barrier: models/shards.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::ShardAlone);
    }

    /// Whether all ranks take part. A snapshot.
    #[inline]
    pub fn holds(&self) -> bool {
        self.0.0.load() == 0
    }
}

/// A shard, and the ranks that may be announced in it.
///
/// `R` gives all ranks of the job. It is not their slice, because only an announcement that finds a
/// holder needs that, and loading its address would cost every one.
pub struct Shard<'a, R> {
    /// The index of its lock in the table.
    pub number: u32,
    /// Its lock.
    pub slot: &'a RobustExclusion,
    /// All ranks of the job.
    pub ranks: &'a R,
}

impl<R> Shard<'_, R> {
    /// Whether no bulk update holds the shard.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        self.slot.holder() == 0
    }
}

/// A thread that may update elements of a shard by single instructions, until it withdraws.
///
/// A thread that panics instead stays announced; its rank fails.
#[must_use]
pub struct Announced<'a, R> {
    announcement: &'a Word32,
    shard: Shard<'a, R>,
}

/// Announces the thread of `announcement`. `None` if the shard has a holder: then use [`slowly`].
#[inline(always)]
pub fn announce<'a, R>(announcement: &'a Word32, shard: Shard<'a, R>) -> Option<Announced<'a, R>>
where
    R: AsRef<[RankAnnouncements]>,
{
    if planted(Fault::ShardLooksFirst) && !shard.is_free() {
        return None;
    }
    announcement.store(shard.number + 1);
    // Publishes the announcement before the look: a full barrier, paired with ShardBarrier. Fails without
    // it, or as a weaker barrier: models/shards.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::ShardAnnounce);
    let announced = Announced { announcement, shard };
    if !announced.shard.is_free() && !planted(Fault::ShardLooksFirst) {
        announced.withdraw();
        return None;
    }
    // Observes what the last holder wrote; pairs with its ShardPre.
    // Fails without it: models/shards.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::ShardLook);
    Some(announced)
}

impl<R: AsRef<[RankAnnouncements]>> Announced<'_, R> {
    /// Ends the announcement.
    #[inline(always)]
    pub fn withdraw(self) {
        // Publishes the updates; pairs with ShardDrained of the next holder.
        // Fails without it: models/shards.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::ShardWithdraw);
        self.announcement.store(0);
        // Publishes the empty announcement before the look: a full barrier, paired with ShardBarrier of a
        // holder that has seen the announcement. Fails without it, or as a weaker barrier:
        // models/shards.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::ShardWithdrawn);
        let holder = self.shard.slot.holder();
        if holder != 0 && !planted(Fault::ShardUnrung) {
            ring(self.shard.ranks.as_ref(), holder);
        }
    }
}

/// Wakes the holder, a rank plus one, because an announcement is empty.
#[cold]
fn ring(ranks: &[RankAnnouncements], holder: u32) {
    // A damaged word may name a rank that does not exist.
    if let Some(rank) = ranks.get(holder as usize - 1) {
        rank.bell.add_and_wake(1);
    }
}

/// Slow path of a single update: runs `f`, which updates elements by single instructions, as the
/// holder of the shard's lock. Blocks until then.
#[cold]
pub fn slowly<R>(
    slot: &RobustExclusion,
    waiter: &Waiter<'_>,
    f: impl FnOnce() -> R,
) -> Result<R, JobFailed> {
    // No need to drain the announcements: single instructions do not conflict.
    slot.run((Site::ShardPost, Site::ShardPre), waiter, |_| f())
}

/// Runs `f`, which updates elements of some shards in any way, while no other thread updates any.
/// Blocks while another one does. Returns `None` and does nothing if a rank takes no part in
/// barriers of all ranks.
///
/// The shards, at most [`MOST`], have the numbers from `first` on. A rank that waits for one of
/// them holds none with a larger number, so there is no cycle.
pub fn exclusively<R>(
    shards: &[RobustExclusion],
    first: u32,
    ranks: &[RankAnnouncements],
    common: &Common,
    waiter: &Waiter<'_>,
    f: impl FnOnce() -> R,
) -> Result<Option<R>, JobFailed> {
    let mut held = [const { None }; MOST];
    if !planted(Fault::ShardNotEntered) {
        for (held, shard) in held.iter_mut().zip(shards) {
            *held = Some(shard.enter(waiter, Site::ShardPre)?.1);
        }
    }
    // Publishes the holder before the looks at `common` and at the announcements. It is a full barrier of
    // every rank, because natively an announcement has none of its own. Pairs with ShardAnnounce,
    // ShardWithdrawn and ShardAlone. Also observes what earlier holders wrote. Fails without it, or
    // as a weaker barrier: models/shards.rs, by loom_tests/tests/mutants.rs.
    if !mem_sync_of_all(Site::ShardBarrier) || !common.holds() {
        return Ok(None);
    }
    if !planted(Fault::ShardNotDrained) {
        drain(first + 1..=first + shards.len() as u32, ranks, waiter)?;
    }
    // Observes the updates of withdrawn threads; pairs with their ShardWithdraw.
    // Fails without it: models/shards.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::ShardDrained);
    let result = f();
    drop(held);
    Ok(Some(result))
}

/// Waits until no announcement of any surviving rank has one of these values. One look at an announcement is enough:
/// a later announcement sees the holder.
fn drain(
    values: RangeInclusive<u32>,
    ranks: &[RankAnnouncements],
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    let bell = &ranks[waiter.rank as usize].bell;
    for (rank, announced) in (0..).zip(ranks) {
        waiter.until(bell, |_| {
            // After a ring of the bell: observes the announcement that was emptied before. Pairs with
            // ShardWithdrawn. Fails without it: models/shards.rs, by loom_tests/tests/mutants.rs.
            mem_sync(Site::ShardRung);
            let empty = announced
                .announcements
                .iter()
                .all(|announcement| !values.contains(&announcement.load()));
            empty || waiter.failed.has_failed(rank) && !planted(Fault::ShardDeadAnnounced)
        })?;
    }
    Ok(())
}
