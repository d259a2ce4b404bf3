//! Updates of single elements against updates of many elements (two or more).
//!
//! Window memory is divided into shards. One element is updated by an atomic instruction between
//! announcing and withdrawing it, both of which are plain loads and stores. Many elements are
//! updated by plain loads and stores under the lock of their shards, once no thread is announced
//! there:
//!
//! ```text
//!   one element                           many elements
//!     announcement = shard                         shard's holder = this rank
//!     mem_sync(ShardAnnounce)              was closed? -> the updates
//!     not open? -> slow path               mem_sync(ShardBarrier)
//!     mem_sync(ShardLook)                  wait until no announcement names the shard
//!     the instruction                      mem_sync(ShardDrained)
//!     mem_sync(ShardWithdraw)              the updates
//!     announcement = nothing               mem_sync(ShardPre)
//!                                                   holder = none, closed
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
//!
//! **Open and closed.** The barrier is dear, so a shard remembers it. A bulk update leaves its shards
//! *closed*: the lock's word has a value that is neither a holder nor zero. A closed shard admits no
//! announcement. So no thread is announced there, and the next bulk update needs the lock alone. A single
//! update in a closed shard acquires the lock, too. After [`REOPENS`] of them without a bulk update the last
//! one leaves the shard *open* (zero), and single updates need no lock again. The lock of a closed shard is
//! released by a plain store; a rank that sleeps on it has executed the barrier of all ranks
//! (`prim/park.rs`).

use super::robust::{LEFT, is_rank};
use super::{Line, RobustExclusion};
use crate::prim::{
    Fault, JobFailed, ParkWord, Site, Waiter, Word32, cold_call, mem_sync, mem_sync_beside,
    mem_sync_of_all, planted,
};
use std::ops::RangeInclusive;

/// Threads of one rank that can be announced at the same time: the rest take the slow path.
pub const ANNOUNCEMENTS: usize = 14;
/// Shard locks of a job. Shards whose numbers differ by a multiple of it share one, which costs
/// only time.
pub const SHARDS: usize = 1024;
/// Most shards of one update of many elements.
pub const MOST: usize = 8;
/// Single updates in a row that reopen a shard. Each costs the lock and the slow half of its call, about 30 ns; the
/// barrier that closes the shard again costs about a microsecond.
const REOPENS: u32 = match () {
    () if cfg!(loom) => 1,
    () if cfg!(feature = "test-hooks") => 4,
    () => 32,
};
/// The word of a closed shard, after a bulk update. Single updates count up from it.
const CLOSED: u32 = LEFT;

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
    /// Whether single updates may be announced: no rank holds the shard, and it is not closed.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        let word = self.slot.holder();
        word == 0 || planted(Fault::ShardClosedIgnored) && word & LEFT != 0
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

/// Announces the thread of `announcement`. `None` if the shard is not open: then use [`slowly`].
#[inline(always)]
pub fn announce<'a, R>(announcement: &'a Word32, shard: Shard<'a, R>) -> Option<Announced<'a, R>>
where
    R: AsRef<[RankAnnouncements]>,
{
    if planted(Fault::ShardLooksFirst) && !shard.is_open() {
        return None;
    }
    try_announce(announcement, shard).map_err(Announced::withdraw).ok()
}

/// [`announce`]: if the shard is not open, an announcement that the caller has to withdraw.
#[inline(always)]
pub fn try_announce<'a, R>(
    announcement: &'a Word32,
    shard: Shard<'a, R>,
) -> Result<Announced<'a, R>, Announced<'a, R>>
where
    R: AsRef<[RankAnnouncements]>,
{
    announcement.store(shard.number + 1);
    // Publishes the announcement before the look: a full barrier, paired with ShardBarrier. Fails without
    // it, or as a weaker barrier: models/shards.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::ShardAnnounce);
    let announced = Announced { announcement, shard };
    if !announced.shard.is_open() && !planted(Fault::ShardLooksFirst) {
        return Err(announced);
    }
    // Observes what the holders wrote before the last one reopened the shard; pairs with their ShardPre.
    // Fails without it: models/shards.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::ShardLook);
    Ok(announced)
}

impl<'s, R: AsRef<[RankAnnouncements]>> Announced<'s, R> {
    /// Ends the announcement.
    #[inline(always)]
    pub fn withdraw(self) {
        if let Some((ranks, holder)) = self.end() {
            ring(ranks, holder);
        }
    }

    /// The same for a caller that makes no other call, and so saves no registers.
    #[inline(always)]
    pub fn withdraw_alone(self) {
        if let Some((ranks, holder)) = self.end() {
            cold_call(move || ring(ranks, holder));
        }
    }

    /// Ends the announcement. Returns the holder to wake, a rank plus one, if there is one.
    #[inline(always)]
    fn end(self) -> Option<(&'s [RankAnnouncements], u32)> {
        // Publishes the updates; pairs with ShardDrained of the next holder.
        // Fails without it: models/shards.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::ShardWithdraw);
        self.announcement.store(0);
        // Publishes the empty announcement before the look: a full barrier, paired with ShardBarrier of a
        // holder that has seen the announcement. Fails without it, or as a weaker barrier:
        // models/shards.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::ShardWithdrawn);
        let holder = self.shard.slot.holder();
        let rings = is_rank(holder) && !planted(Fault::ShardUnrung);
        rings.then(|| (self.shard.ranks.as_ref(), holder))
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
    let (_, mut inside) = slot.enter(waiter, Site::ShardPre)?;
    // Observes what earlier holders wrote; pairs with their ShardPre.
    // Fails without it: models/shards.rs, by loom_tests/tests/mutants.rs.
    mem_sync_beside(Site::ShardPost);
    let left = inside.left();
    if left != 0 {
        inside.leave(counted(left));
    }
    Ok(f())
}

/// What a single update leaves in a closed shard, where it has found `left`.
#[inline(always)]
fn counted(left: u32) -> u32 {
    if left + 1 < CLOSED + REOPENS { left + 1 } else { 0 }
}

/// The fast path of [`slowly`]: runs `f` as `rank`, which takes part in barriers of all ranks, in a shard that is closed.
/// `None` as of [`try_exclusively`].
#[inline(always)]
pub fn try_slowly<R>(shard: &RobustExclusion, rank: u32, f: impl FnOnce() -> R) -> Option<R> {
    in_closed(shard, rank, counted, f)
}

/// The fast path of [`exclusively`]: runs `f` as `rank`, which takes part in barriers of all ranks, in one shard, which
/// is closed. `None`, and nothing has changed, if it is open or has a holder.
#[inline(always)]
pub fn try_exclusively<R>(shard: &RobustExclusion, rank: u32, f: impl FnOnce() -> R) -> Option<R> {
    in_closed(shard, rank, |_| CLOSED, f)
}

/// [`try_exclusively`] in two shards. A rank that finds the second one taken leaves the first.
#[inline(always)]
pub fn try_exclusively_in_two<R>(
    [first, second]: [&RobustExclusion; 2],
    rank: u32,
    f: impl FnOnce() -> R,
) -> Option<R> {
    try_exclusively(first, rank, || try_exclusively(second, rank, f))?
}

/// A thread that panics in `f` stays the holder; its rank fails.
#[inline(always)]
fn in_closed<R>(
    shard: &RobustExclusion,
    rank: u32,
    leaves: impl FnOnce(u32) -> u32,
    f: impl FnOnce() -> R,
) -> Option<R> {
    let left = shard.try_enter_left(rank)?;
    // Observes what earlier holders wrote; pairs with their ShardPre.
    // Fails without it: models/shards.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::ShardDrained);
    let result = f();
    shard.release_plainly(Site::ShardPre, leaves(left));
    Some(result)
}

/// Runs `f`, which updates elements of some shards in any way, while no other thread updates any.
/// Blocks while another one does. Returns `None` and does nothing if a rank takes no part in
/// barriers of all ranks and a shard is open.
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
    let mut open = planted(Fault::ShardNotEntered);
    if !planted(Fault::ShardNotEntered) {
        for (held, shard) in held.iter_mut().zip(shards) {
            let inside = shard.enter(waiter, Site::ShardPre)?.1;
            let is_open = inside.left() == 0;
            open = if planted(Fault::ShardOneClosed) { is_open } else { open | is_open };
            *held = Some(inside);
        }
    }
    if open && !close(first + 1..=first + shards.len() as u32, ranks, common, waiter)? {
        return Ok(None);
    }
    held.iter_mut().flatten().for_each(|inside| inside.leave(CLOSED));
    // Observes the updates of withdrawn threads and of earlier holders; pairs with their ShardWithdraw and
    // ShardPre. Fails without it: models/shards.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::ShardDrained);
    let result = f();
    drop(held);
    Ok(Some(result))
}

/// Waits until no thread is announced in the shards of these values, whose holder the calling rank is. Returns
/// `false` if a rank takes no part in barriers of all ranks.
#[cold]
fn close(
    values: RangeInclusive<u32>,
    ranks: &[RankAnnouncements],
    common: &Common,
    waiter: &Waiter<'_>,
) -> Result<bool, JobFailed> {
    // Publishes the holder before the looks at `common` and at the announcements. It is a full barrier of
    // every rank, because natively an announcement has none of its own. Pairs with ShardAnnounce,
    // ShardWithdrawn and ShardAlone. Fails without it, or as a weaker barrier: models/shards.rs, by
    // loom_tests/tests/mutants.rs.
    if !mem_sync_of_all(Site::ShardBarrier) || !common.holds() {
        return Ok(false);
    }
    if !planted(Fault::ShardNotDrained) {
        drain(values, ranks, waiter)?;
    }
    Ok(true)
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
