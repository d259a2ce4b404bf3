//! Waiting until the memory of a window satisfies a condition (`wait_until`).
//!
//! Plain stores change the memory, and they wake no rank. So the synchronisation call that completes
//! them at the target rings a bell:
//!
//! ```text
//!   watcher                                writer
//!     watchers += 1                          stores to the target's part
//!     seen = bell                            MEM_SYNC of flush, unlock, complete, fence, win_sync
//!     mem_sync(WatchWaiter)                  watchers != 0? -> bell of the target += 1, wake
//!     condition? -> done
//!     wait until bell != seen, and again
//! ```
//!
//! Both barriers must be full (store buffering). Either the watcher's look finds the store, or the writer
//! finds the watcher; then the bell changes after `seen`. While there is no watcher, a writer pays one
//! load of a line that is not written.
//!
//! The writer's full barrier is the MEM_SYNC of its call. `ring` follows it and, where the call
//! blocks (fence), precedes the wait, because the target may be the watcher. A store may stay
//! unnoticed in three cases: no synchronisation follows it; only `flush_local` follows it, which
//! completes nothing at the target; or it goes through another window over the same memory.

use super::Line;
use crate::prim::{Fault, JobFailed, ParkWord, Site, Waiter, Word32, mem_sync, planted};

/// How many ranks (and threads) of a window watch some part of it. One that dies while it watches
/// stays counted, which costs the others only time.
#[repr(C)]
#[derive(Default)]
pub struct Watchers(Line<Word32>);

impl Watchers {
    /// Whether there are any.
    #[inline(always)]
    pub fn are_there(&self) -> bool {
        self.0.0.load() != 0
    }
}

/// How often the memory of one rank has changed while the window had a watcher, modulo 2³².
#[repr(C)]
#[derive(Default)]
pub struct Bell(ParkWord);

/// Waits until `look` returns true; it looks at the part of the rank that owns `bell`.
///
/// `look` reads the memory while other ranks write it, so it uses atomic loads. Afterwards the
/// caller may read what the writer had completed before the store that `look` found. Blocks until
/// then.
pub fn until(
    watchers: &Watchers,
    bell: &Bell,
    look: impl Fn() -> bool,
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    if !look() {
        watch(watchers, bell, look, waiter)?;
    }
    found();
    Ok(())
}

/// The end of every successful look, also of one without a wait.
pub fn found() {
    // Observes what the writer completed before the store that `look` found; pairs with the
    // MEM_SYNC between the two. Fails without it: models/watch.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::WatchPost);
}

#[cold]
fn watch(
    watchers: &Watchers,
    bell: &Bell,
    look: impl Fn() -> bool,
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    let _watching = Watching::begin(watchers);
    let mut looks = !planted(Fault::WatchLooksFirst);
    loop {
        let mut seen = bell.0.load();
        // Publishes this watcher before the look: a full barrier, paired with the MEM_SYNC of the
        // writer. In later iterations it also observes what was stored before the bell rang. Fails
        // without it, or as a weaker barrier: models/watch.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::WatchWaiter);
        if looks && look() {
            return Ok(());
        }
        looks = true;
        if planted(Fault::BellLate) {
            seen = bell.0.load();
        }
        waiter.until(&bell.0, |rung| rung != seen)?;
    }
}

/// Counts as a watcher until dropped.
struct Watching<'a>(&'a Watchers);

impl<'a> Watching<'a> {
    fn begin(watchers: &'a Watchers) -> Watching<'a> {
        watchers.0.0.fetch_add(1);
        Watching(watchers)
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        let watchers = &self.0.0.0;
        watchers.fetch_sub(if planted(Fault::WatchersForgotten) { watchers.load() } else { 1 });
    }
}

/// Wakes the watchers of the parts whose bells are given, because these may have changed.
///
/// The caller has just executed a MEM_SYNC after its stores, as a full barrier. Never blocks.
#[inline]
pub fn ring<'a>(watchers: &Watchers, bells: impl IntoIterator<Item = &'a Bell>) {
    if watchers.are_there() {
        ring_all(bells);
    }
}

#[cold]
fn ring_all<'a>(bells: impl IntoIterator<Item = &'a Bell>) {
    for bell in bells {
        bell.0.add_and_wake(1);
    }
}
