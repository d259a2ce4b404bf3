//! Mutual exclusion inside a window: accumulates that no single instruction can do, and changes of
//! what a rank has attached. The exclusive side of the one lock there is.

use super::lock::LockWords;
use super::lock_state::{Queueing, Side};
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
        self.lock.enter(Side::RightExclusive, Queueing::Fair, waiter)?;
        let inside = Inside { lock: &self.lock, before_release: sites.1 };
        // Observes what earlier holders wrote; pairs with `before_release` of each of them.
        // Fails without it: models/accumulate.rs, by loom_tests/tests/mutants.rs.
        mem_sync_beside(sites.0);
        let result = f();
        drop(inside);
        Ok(result)
    }
}

impl Exclusion {
    /// Keeps ranks out of [`Exclusion::run`] until the value returned is dropped; others may share
    /// it meanwhile. Blocks while a rank is inside.
    ///
    /// `sites` are the MEM_SYNCs after the grant and before the release.
    pub fn share(
        &self,
        sites: (Site, Site),
        waiter: &Waiter<'_>,
    ) -> Result<Sharing<'_>, JobFailed> {
        self.lock.enter(Side::Left, Queueing::Fair, waiter)?;
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
        self.lock.leave(Side::Left, true);
    }
}

/// Releases on drop, so that a panic in `f` leaves the exclusion usable.
struct Inside<'a> {
    lock: &'a LockWords,
    before_release: Site,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        // Publishes what this holder wrote; pairs with the grant's site of later holders.
        // Fails without it: models/accumulate.rs, by loom_tests/tests/mutants.rs.
        mem_sync_beside(self.before_release);
        self.lock.leave(Side::RightExclusive, true);
    }
}
