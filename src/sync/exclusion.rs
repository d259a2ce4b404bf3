//! Mutual exclusion inside a window: for accumulates that need more than one instruction, and for
//! attaching and detaching memory. It uses the exclusive side of [`LockWords`].

use super::lock::LockWords;
use super::lock_state::{LockSide, Queueing};
use crate::prim::{CachePadded, JobFailed, Site, Waiter, mem_sync_beside};

/// A mutual exclusion between ranks. Zero bytes are its initial state: free.
#[repr(C)]
#[derive(Default)]
pub struct Exclusion {
    lock: CachePadded<LockWords>,
}

impl Exclusion {
    /// Runs `f` while no other rank is inside. Blocks while one is.
    ///
    /// `sites` are the MEM_SYNCs after the grant and before the release.
    pub fn run<R>(
        &self,
        sites: (Site, Site),
        waiter: &Waiter<'_>,
        f: impl FnOnce() -> R,
    ) -> Result<R, JobFailed> {
        self.lock.enter(LockSide::RightExclusive, Queueing::Fair, waiter)?;
        let inside = ExclusionGuard { lock: &self.lock, before_release: sites.1 };
        // Observes what earlier holders wrote; pairs with `before_release` of each of them.
        // Fails without it: models/accumulate.rs, by loom_tests/tests/mutants.rs.
        mem_sync_beside(sites.0);
        let result = f();
        drop(inside);
        Ok(result)
    }
}

impl Exclusion {
    /// Excludes ranks from [`Exclusion::run`] until the returned value is dropped. Several ranks may
    /// share it. Blocks while a rank is in `run`.
    ///
    /// `sites` are the MEM_SYNCs after the grant and before the release.
    pub fn share(
        &self,
        sites: (Site, Site),
        waiter: &Waiter<'_>,
    ) -> Result<Sharing<'_>, JobFailed> {
        self.lock.enter(LockSide::Left, Queueing::Fair, waiter)?;
        let sharing = Sharing { lock: &self.lock, before_release: sites.1 };
        // Observes what the last rank in `run` wrote; pairs with its `before_release`.
        // Fails without it: models/directory.rs, by loom_tests/tests/mutants.rs.
        mem_sync_beside(sites.0);
        Ok(sharing)
    }
}

/// Shares an [`Exclusion`] until dropped.
pub struct Sharing<'a> {
    lock: &'a LockWords,
    before_release: Site,
}

impl Drop for Sharing<'_> {
    fn drop(&mut self) {
        // Publishes what this rank did meanwhile; pairs with the grant's site in `run`.
        // Fails without it: models/directory.rs, by loom_tests/tests/mutants.rs.
        mem_sync_beside(self.before_release);
        self.lock.leave(LockSide::Left);
    }
}

/// Releases on drop, so the exclusion stays usable after a panic in `f`.
struct ExclusionGuard<'a> {
    lock: &'a LockWords,
    before_release: Site,
}

impl Drop for ExclusionGuard<'_> {
    fn drop(&mut self) {
        // Publishes what this holder wrote; pairs with the grant's site of later holders.
        // Fails without it: models/accumulate.rs, by loom_tests/tests/mutants.rs.
        mem_sync_beside(self.before_release);
        self.lock.leave(LockSide::RightExclusive);
    }
}
