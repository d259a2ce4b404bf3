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
//! The target remembers in `seen` how many it has consumed: each is consumed once, and at most
//! 2³¹ - 1 may be outstanding. A notification says that one operation is complete; from whom it
//! came, only a counter of its own can tell.

use super::Line;
use crate::prim::{Fault, JobFailed, ParkWord, Site, Waiter, mem_sync, planted};

/// One counter of one target. It has a line to itself, because its target may spin on it while
/// others are notified; 64 bytes, in windows that ask for counters only.
pub type NotifyCounter = Line<ParkWord>;

/// Counts `times` operations of this origin on the counter's rank, all of them before it.
///
/// Complete at the target when it is counted, without any flush. Never blocks.
pub fn notify(counter: &NotifyCounter, times: u32) {
    // Publishes this origin's operations; pairs with NotifyPost of the target through `counter`.
    // Fails without it: models/notify.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::NotifyPre);
    counter.0.add_and_wake(times);
}

/// Waits until `count` notifications have come that were not consumed, and consumes them.
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

/// As [`wait`], but returns `false` instead of blocking, without any effect.
pub fn test(counter: &NotifyCounter, seen: &mut u32, count: u32) -> bool {
    let awaited = seen.wrapping_add(count);
    if !has_come(counter.0.load(), awaited) {
        return false;
    }
    consumed(seen, awaited);
    true
}

/// How many notifications have come that were not consumed. Only consuming them lets the target
/// read what they tell of.
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
