//! Waiting until the memory of a window satisfies a condition (`wait_until`).
//!
//! The memory itself is changed by plain stores, so it cannot wake anybody. What can is the
//! synchronisation that completes those stores at the target, which its origin calls anyway:
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
//! Both barriers must be full: either the watcher's look finds the store, or the writer finds the
//! watcher (store buffering), and then the bell has changed since `seen` or will change. A writer
//! pays one load of a line that nobody writes while nobody watches.
//!
//! The writer's full barrier is the MEM_SYNC that its call has in any case. `ring` comes after it
//! and, where the call blocks (fence), before it blocks: the target may be the one that watches.
//! A store that no synchronisation follows may stay unnoticed; so may one that is followed by
//! `flush_local` only, which completes nothing at the target, or that goes through another window
//! over the same memory, whose ranks do not look at this window's watchers.

use super::Line;
use crate::prim::{Fault, JobFailed, ParkWord, Site, Waiter, Word32, mem_sync, planted};

/// How many ranks (and threads) of a window watch some part of it. One that dies while it watches
/// stays counted, which costs the others time and nothing else.
#[repr(C)]
#[derive(Default)]
pub struct Watchers(Line<Word32>);

/// How often the memory of one rank has changed while somebody watched the window, modulo 2³².
#[repr(C)]
#[derive(Default)]
pub struct Bell(ParkWord);

/// Waits until `look` finds what it looks for in the part of the rank whose bell is given.
///
/// `look` reads the memory as other ranks write it: by atomic loads. What a writer completed
/// before it began to write what `look` found can be read afterwards. Blocks until then.
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

/// The end of every successful look, also of one that nobody waited for.
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
        // writer. In later turns also: observes what was stored before the bell was rung.
        // Fails without it, or as less: models/watch.rs, by loom_tests/tests/mutants.rs.
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

/// One that is counted among the watchers, until dropped.
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

/// Tells whoever watches one of the parts whose bells are given that it may have changed.
///
/// The caller has just executed a MEM_SYNC after its stores, as a full barrier. Never blocks.
#[inline]
pub fn ring<'a>(watchers: &Watchers, bells: impl IntoIterator<Item = &'a Bell>) {
    if watchers.0.0.load() != 0 {
        ring_all(bells);
    }
}

#[cold]
fn ring_all<'a>(bells: impl IntoIterator<Item = &'a Bell>) {
    for bell in bells {
        bell.0.add_and_wake(1);
    }
}
