//! Mutual exclusion that outlives its holder: for what every rank of a job needs as long as the job
//! goes on, the allocator, the registry of communicators, and the stripes of the memory.
//!
//! The word holds who is inside. Where that rank has failed, the next one takes its place, and is
//! told so, because what the dead rank was changing may be half changed. Not fair: what is done
//! inside is short, and a rank that waits is waiting for one that is at work or dead.

use crate::prim::{Fault, JobFailed, ParkWord, Site, Waiter, mem_sync_beside, planted};

/// An exclusion between the ranks of a job. Zero bytes are its initial state: nobody is inside.
#[repr(C)]
#[derive(Default)]
pub struct RobustExclusion {
    /// The rank inside plus one, or zero.
    holder: ParkWord,
}

/// In what state a rank finds what the exclusion guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// As the last rank inside left it.
    Whole,
    /// As a rank that failed inside left it.
    Orphaned,
}

impl RobustExclusion {
    /// Runs `f` while no other rank of the job is inside. Blocks while one is that lives.
    ///
    /// `sites` are the MEM_SYNCs after the grant and before the release.
    pub fn run<R>(
        &self,
        sites: (Site, Site),
        waiter: &Waiter<'_>,
        f: impl FnOnce(Found) -> R,
    ) -> Result<R, JobFailed> {
        let (found, inside) = self.enter(waiter, sites.1)?;
        // Observes what earlier ranks inside wrote: pairs with `before_release` of each of them, and
        // with NoticePre for one that failed. Fails without it: models/robust.rs, by
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

    /// Enters, until what is returned is dropped; the MEM_SYNC after the grant is the caller's.
    pub(super) fn enter(
        &self,
        waiter: &Waiter<'_>,
        before_release: Site,
    ) -> Result<(Found, Inside<'_>), JobFailed> {
        let found = self.become_holder(waiter)?;
        Ok((found, Inside { holder: &self.holder, before_release }))
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
pub(super) struct Inside<'a> {
    holder: &'a ParkWord,
    before_release: Site,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        // A rank that panics inside has not finished what it was changing: it fails, as the holder.
        if std::thread::panicking() {
            return;
        }
        // Publishes what this rank wrote; pairs with the grant's site in `run`.
        // Fails without it: models/robust.rs, by loom_tests/tests/mutants.rs.
        mem_sync_beside(self.before_release);
        self.holder.store_and_wake(0);
    }
}
