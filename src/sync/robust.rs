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
    /// The rank inside plus one, or zero.
    holder: ParkWord,
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
        let (found, inside) = self.enter(waiter, sites.1)?;
        // Observes what earlier holders wrote: pairs with `before_release` of each of them, and with
        // NoticePre for one that failed. Fails without it: models/robust.rs, by
        // loom_tests/tests/mutants.rs.
        mem_sync_beside(sites.0);
        let result = f(found);
        drop(inside);
        Ok(result)
    }

    /// The rank inside plus one, or zero.
    #[inline(always)]
    pub(super) fn holder(&self) -> u32 {
        self.holder.load()
    }

    /// Enters, until the returned value is dropped. The caller executes the MEM_SYNC after the grant.
    pub(super) fn enter(
        &self,
        waiter: &Waiter<'_>,
        before_release: Site,
    ) -> Result<(Found, RobustGuard<'_>), JobFailed> {
        let found = self.become_holder(waiter)?;
        Ok((found, RobustGuard { holder: &self.holder, before_release }))
    }

    fn become_holder(&self, waiter: &Waiter<'_>) -> Result<Found, JobFailed> {
        let word = &self.holder;
        let has_failed = |holder: u32| {
            holder != 0 && waiter.failed.has_failed(holder - 1) && !planted(Fault::OrphanForever)
        };
        loop {
            let holder = waiter.until(word, |holder| holder == 0 || has_failed(holder))?;
            if holder != 0 && planted(Fault::OrphanTakenTwice) {
                word.store_and_wake(waiter.rank + 1);
                return Ok(Found::Orphaned);
            }
            if word.replace_and_wake(holder, waiter.rank + 1).is_ok() {
                return Ok(if holder == 0 { Found::Whole } else { Found::Orphaned });
            }
        }
    }
}

/// Leaves when dropped.
pub(super) struct RobustGuard<'a> {
    holder: &'a ParkWord,
    before_release: Site,
}

impl Drop for RobustGuard<'_> {
    fn drop(&mut self) {
        // A rank that panics inside has not finished its change: it stays the holder and fails.
        if std::thread::panicking() {
            return;
        }
        // Publishes what this rank wrote; pairs with the grant's site in `run`.
        // Fails without it: models/robust.rs, by loom_tests/tests/mutants.rs.
        mem_sync_beside(self.before_release);
        self.holder.store_and_wake(0);
    }
}
