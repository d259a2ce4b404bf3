//! Mutual exclusion that survives its holder, for what every rank needs as long as the job lives: the
//! allocator, the registry of communicators and the shards of the memory.
//!
//! The word names the holder. If that rank fails, the next one takes over and learns it
//! ([`Found::Orphaned`]), because the guarded data may be half changed. It is not fair: critical
//! sections are short, so a holder is either running or dead.

use crate::prim::{Fault, JobFailed, ParkWord, Site, Waiter, mem_sync_beside, planted};

/// An exclusion between the ranks of a job. Zero bytes are its initial state: no rank is inside.
#[repr(C)]
#[derive(Default)]
pub struct RobustExclusion {
    /// The rank inside plus one. If there is none: zero, or what the last rank inside has left
    /// ([`RobustGuard::leave`]), with the bit [`LEFT`].
    holder: ParkWord,
}

/// The bit of a value that a rank has left. No rank has such a number.
pub(super) const LEFT: u32 = 1 << 31;

/// Whether the value of the word names a rank inside.
#[inline(always)]
pub(super) fn is_rank(holder: u32) -> bool {
    holder != 0 && holder & LEFT == 0
}

/// The state of the guarded data when a rank enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// As the last rank inside left it.
    Whole,
    /// As a rank that failed inside left it.
    Orphaned,
}

impl RobustExclusion {
    /// Runs `f` while no other rank of the job is inside. Blocks while a living rank is.
    ///
    /// `sites` are the MEM_SYNCs after the grant and before the release.
    pub fn run<R>(
        &self,
        sites: (Site, Site),
        waiter: &Waiter<'_>,
        f: impl FnOnce(Found) -> R,
    ) -> Result<R, JobFailed> {
        let (found, inside) = self.begin(sites, waiter)?;
        let result = f(found);
        drop(inside);
        Ok(result)
    }

    /// [`RobustExclusion::run`], until the returned value is dropped.
    #[inline]
    pub fn begin(
        &self,
        sites: (Site, Site),
        waiter: &Waiter<'_>,
    ) -> Result<(Found, RobustGuard<'_>), JobFailed> {
        let (found, inside) = self.enter(waiter, sites.1)?;
        // Observes what earlier holders wrote: pairs with `before_release` of each of them, and with
        // NoticePre for one that failed. Fails without it: models/robust.rs, by
        // loom_tests/tests/mutants.rs.
        mem_sync_beside(sites.0);
        Ok((found, inside))
    }

    /// Waits while a rank is inside, at most about as long as a few short critical sections: before [`RobustExclusion::run`]
    /// where few ranks want the same exclusion, so that the rank inside does not enter again at once.
    #[inline]
    pub fn hold_off(&self, waiter: &Waiter<'_>) {
        if is_rank(self.holder.load()) {
            waiter.backoff.hold_off(0, || is_rank(self.holder.load()));
        }
    }

    /// A rank is about to enter: the word comes into the cache.
    #[inline]
    pub fn expect_entry(&self) {
        self.holder.expect_update();
    }

    /// The rank inside plus one, or zero, or a value that was left.
    #[inline(always)]
    pub(super) fn holder(&self) -> u32 {
        self.holder.load()
    }

    /// Enters as `rank` if the word has a value that was left, and returns that: the fast path of
    /// [`RobustExclusion::enter`]. The caller executes the MEM_SYNC after the grant, and then
    /// [`RobustExclusion::release`].
    #[inline(always)]
    pub(super) fn try_enter_left(&self, rank: u32) -> Option<u32> {
        let left = self.holder.load();
        let is_left = left & LEFT != 0 || planted(Fault::ShardOpenEntered) && left == 0;
        let enters = is_left && self.holder.replace_and_wake(left, rank + 1).is_ok();
        enters.then_some(left)
    }

    /// Leaves `value` in the word: zero, or one with the bit [`LEFT`].
    #[inline(always)]
    pub(super) fn release(&self, before_release: Site, value: u32) {
        // Publishes what this rank wrote; pairs with the grant's site in `run`.
        // Fails without it: models/robust.rs, by loom_tests/tests/mutants.rs.
        mem_sync_beside(before_release);
        self.holder.store_and_wake(value);
    }

    /// [`RobustExclusion::release`] by a plain store, of a rank that takes part in barriers of all ranks.
    #[inline(always)]
    pub(super) fn release_plainly(&self, before_release: Site, value: u32) {
        // As in `release`.
        mem_sync_beside(before_release);
        self.holder.release_and_wake(value);
    }

    /// Enters, until the returned value is dropped. The caller executes the MEM_SYNC after the grant.
    #[inline]
    pub(super) fn enter(
        &self,
        waiter: &Waiter<'_>,
        before_release: Site,
    ) -> Result<(Found, RobustGuard<'_>), JobFailed> {
        let before = self.become_holder(waiter)?;
        let (found, left) = match is_rank(before) {
            true => (Found::Orphaned, 0),
            false => (Found::Whole, before),
        };
        Ok((found, RobustGuard { of: self, before_release, left, is_plain: false }))
    }

    /// Returns the value of the word before.
    #[inline]
    fn become_holder(&self, waiter: &Waiter<'_>) -> Result<u32, JobFailed> {
        let before = self.holder.load();
        let is_free = !is_rank(before);
        match is_free && self.holder.replace_and_wake(before, waiter.rank + 1).is_ok() {
            true => Ok(before),
            false => self.become_holder_slowly(waiter),
        }
    }

    /// [`RobustExclusion::become_holder`] where a rank is or was inside.
    #[cold]
    #[inline(never)]
    fn become_holder_slowly(&self, waiter: &Waiter<'_>) -> Result<u32, JobFailed> {
        let word = &self.holder;
        let has_failed =
            |holder: u32| waiter.failed.has_failed(holder - 1) && !planted(Fault::OrphanForever);
        waiter.backoff.hold_off(u32::MAX, || is_rank(word.load()));
        loop {
            let is_free = |holder| !is_rank(holder) || has_failed(holder);
            let holder = waiter.until_left(word, is_free)?;
            if is_rank(holder) && planted(Fault::OrphanTakenTwice) {
                word.store_and_wake(waiter.rank + 1);
                return Ok(holder);
            }
            if word.replace_and_wake(holder, waiter.rank + 1).is_ok() {
                return Ok(holder);
            }
        }
    }
}

/// Leaves when dropped.
#[must_use]
pub struct RobustGuard<'a> {
    of: &'a RobustExclusion,
    before_release: Site,
    /// The value of the word after the release; zero after a rank that failed inside.
    left: u32,
    /// Whether that is by [`RobustExclusion::release_plainly`].
    is_plain: bool,
}

impl RobustGuard<'_> {
    /// The value that the word had before, and will have again; zero after a rank that failed inside.
    pub(super) fn left(&self) -> u32 {
        self.left
    }

    /// Leaves by a plain store: of a rank that takes part in barriers of all ranks.
    #[inline]
    pub fn leave_plainly(&mut self) {
        self.is_plain = true;
    }

    /// Leaves another value than before: zero, or one with the bit [`LEFT`].
    pub(super) fn leave(&mut self, value: u32) {
        self.left = value;
    }
}

impl Drop for RobustGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // A rank that panics inside has not finished its change: it stays the holder and fails.
        if std::thread::panicking() {
            return;
        }
        match self.is_plain {
            true => self.of.release_plainly(self.before_release, self.left),
            false => self.of.release(self.before_release, self.left),
        }
    }
}
