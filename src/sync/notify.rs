//! Notified access: an operation on a target that also counts itself there.
//!
//! ```text
//!   origin                           target
//!     stores to the target's part      wait until the counter has grown by `count`
//!     mem_sync(NotifyPre)              mem_sync(NotifyPost)
//!     counter += 1, wake               may read what was stored, and store itself
//! ```
//!
//! A counter counts all notifications since the window's creation, modulo 2³², and is never reset.
//! The target keeps in `seen` how many it has consumed: each is consumed once, and at most 2³¹ - 1
//! may be outstanding. A notification means that one operation is complete. To know its origin, use
//! one counter for each origin.

use super::Line;
use crate::prim::{Fault, JobFailed, ParkWord, Site, Waiter, mem_sync, planted};

/// One counter of one target: 64 bytes, in windows that ask for counters. It has a line of its own,
/// because its target may spin on it while other counters change.
pub type NotifyCounter = Line<ParkWord>;

/// Counts `times` earlier operations of this origin on the counter's rank.
///
/// They are complete at the target when they are counted, without a flush. Never blocks. Returns the number of the last
/// one.
pub fn notify(counter: &NotifyCounter, times: u32) -> u32 {
    // Publishes this origin's operations; pairs with NotifyPost of the target through `counter`.
    // Fails without it: models/notify.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::NotifyPre);
    counter.0.add_and_wake(times).wrapping_add(times)
}

/// Waits for `count` notifications that were not consumed, and consumes them.
///
/// `count` is less than 2³¹. Blocks until the last of them.
pub fn wait(
    counter: &NotifyCounter,
    seen: &mut u32,
    count: u32,
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    let awaited = seen.wrapping_add(count);
    waiter.until(&counter.0, |come| has_come(come, awaited))?;
    consumed(seen, awaited);
    Ok(())
}

/// [`wait`] that returns `false`, without any effect, instead of blocking.
pub fn test(counter: &NotifyCounter, seen: &mut u32, count: u32) -> bool {
    let awaited = seen.wrapping_add(count);
    if !has_come(counter.0.load(), awaited) {
        return false;
    }
    consumed(seen, awaited);
    true
}

/// How many notifications were not consumed. The target may read the data that they announce only
/// after it has consumed them.
pub fn outstanding(counter: &NotifyCounter, seen: u32) -> u32 {
    counter.0.load().wrapping_sub(seen)
}

fn has_come(come: u32, awaited: u32) -> bool {
    (come.wrapping_sub(awaited) as i32) >= 0
}

fn consumed(seen: &mut u32, awaited: u32) {
    if !planted(Fault::NotifiedTwice) {
        *seen = awaited;
    }
    // Observes the operations that were counted; pairs with their NotifyPre.
    // Fails without it: models/notify.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::NotifyPost);
}
