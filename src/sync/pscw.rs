//! Post, start, complete, wait, test (MPI-2.2 §11.4.2).
//!
//! * A post is one increment of the slot of the pair (target, origin). The origin remembers how many
//!   posts of each target it has consumed. So a post for another epoch or by another target is
//!   never mistaken for the awaited one.
//! * The slots of a target are `ranks` padded words, allocated by the target at its first post.
//!   Until then its [`PostTable`] is zero, and origins wait on that.
//! * Completes are one count per target. That is enough: an origin completes only after it has seen
//!   the post, so no complete of a later epoch can arrive before the present `wait` has returned.

use super::Line;
use crate::prim::{
    CachePadded, Fault, JobFailed, ParkWord, ProcSync, Site, Waiter, mem_sync, mem_sync_beside,
    planted, proc_sync,
};

/// How many times a target has posted for one origin, modulo 2³².
pub type PostSlot = CachePadded<ParkWord>;

/// The words of one target.
#[repr(C)]
#[derive(Default)]
pub struct PscwWords {
    /// How many epochs origins have completed on this target, modulo 2³².
    completed: Line<ParkWord>,
}

impl PscwWords {
    /// A hint that this rank is about to complete an epoch on the target.
    #[inline(always)]
    #[allow(dead_code, reason = "a hint, which the models have no use for")]
    pub fn expect_complete(&self) {
        self.completed.0.expect_update();
    }

    /// How many of the awaited origins have completed; this target has consumed `seen` completes.
    #[allow(dead_code, reason = "for reports; the models write none")]
    pub fn come(&self, seen: u32) -> u32 {
        self.completed.0.load().wrapping_sub(seen)
    }
}

/// The offset of one target's post slots: zero until they exist, then fixed.
///
/// Each origin waits on it until the target's first post, and reads it once.
#[repr(C)]
#[derive(Default)]
pub struct PostTable {
    at: ParkWord,
}

impl PostTable {
    /// The offset as this target published it; zero before.
    pub fn own(&self) -> u32 {
        self.at.load()
    }

    /// Clears new slots and publishes their offset. Once per target and window.
    pub fn publish(&self, at: u32, slots: &[PostSlot]) {
        if planted(Fault::TableEarly) {
            self.at.store_and_wake(at);
        }
        for slot in slots {
            slot.store_and_wake(0);
        }
        // Publishes the cleared slots; pairs with TableCarry in `find`.
        // Fails without it: models/pscw.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::TablePre);
        self.at.store_and_wake(at);
    }

    /// Waits until the target has slots, and returns their offset. Blocks until its first post.
    pub fn find(&self, waiter: &Waiter<'_>) -> Result<u32, JobFailed> {
        let at = waiter.until(&self.at, |at| at != 0)?;
        // Observes the cleared slots; pairs with TablePre in `publish`.
        // Fails without it: models/pscw.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::TableCarry);
        Ok(at)
    }
}

/// `MPI_Win_post`: exposes this rank's window to the origins whose slots are given.
///
/// Never blocks. With NOCHECK `slots` is empty: the PROC_SYNC is dropped, the MEM_SYNC stays.
pub fn post<'a>(slots: impl Iterator<Item = &'a PostSlot>) {
    let mut slots = slots.peekable();
    // Publishes this rank's local loads and stores; pairs with StartPost of each origin through
    // its slot. Fails without it: models/pscw.rs, by loom_tests/tests/mutants.rs.
    mem_sync_before(Site::PostPre, slots.peek().is_some());
    for slot in slots {
        proc_sync(ProcSync::Post);
        slot.add_and_wake(1);
    }
}

/// Waits for the next post of one target, of which this origin has consumed `seen` so far.
///
/// Blocks until the target posts. [`started`] must follow before the target is accessed.
pub fn start_one(slot: &PostSlot, seen: &mut u32, waiter: &Waiter<'_>) -> Result<(), JobFailed> {
    let stale = u32::from(planted(Fault::PostStale));
    let awaited = seen.wrapping_add(1).wrapping_sub(stale);
    waiter.until(slot, |posts| (posts.wrapping_sub(awaited) as i32) >= 0)?;
    *seen = seen.wrapping_add(1);
    proc_sync(ProcSync::Start);
    Ok(())
}

/// The MEM_SYNC of `MPI_Win_start`, after the last target's post was seen; with NOCHECK alone.
pub fn started() {
    // Observes what the targets exposed; pairs with their PostPre.
    // Fails without it: models/pscw.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::StartPost);
}

/// `MPI_Win_complete`: ends this origin's epoch at each target. Never blocks.
pub fn complete<'a>(targets: impl Iterator<Item = &'a PscwWords>) {
    let mut targets = targets.peekable();
    // Publishes this origin's accesses; pairs with WaitPost of each target through `completed`.
    // Fails without it: models/pscw.rs, by loom_tests/tests/mutants.rs.
    mem_sync_before(Site::CompletePre, targets.peek().is_some());
    for target in targets {
        proc_sync(ProcSync::Complete);
        target.completed.0.add_and_wake(1);
    }
}

/// The MEM_SYNC before increments of other ranks' words; `notifies`: whether there are any.
#[inline(always)]
fn mem_sync_before(site: Site, notifies: bool) {
    if notifies { mem_sync_beside(site) } else { mem_sync(site) }
}

fn all_complete(completed: u32, awaited: u32) -> bool {
    (completed.wrapping_sub(awaited) as i32) >= 0
}

/// `MPI_Win_wait` for `origins` completes after the `seen` that this target has consumed.
///
/// Blocks until the last of them.
pub fn wait(
    words: &PscwWords,
    origins: u32,
    seen: &mut u32,
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    if planted(Fault::CompletedReset) {
        waiter.until(&words.completed.0, |completed| completed >= origins)?;
        words.completed.0.store_and_wake(0);
    } else {
        let awaited = seen.wrapping_add(origins);
        waiter.until(&words.completed.0, |completed| all_complete(completed, awaited))?;
        *seen = awaited;
    }
    waited();
    Ok(())
}

/// `MPI_Win_test`: [`wait`] that returns `false`, without any effect, instead of blocking.
pub fn test(words: &PscwWords, origins: u32, seen: &mut u32) -> bool {
    let awaited = seen.wrapping_add(origins);
    if !all_complete(words.completed.0.load(), awaited) {
        return false;
    }
    *seen = awaited;
    waited();
    true
}

fn waited() {
    proc_sync(ProcSync::Wait);
    // Observes the origins' accesses; pairs with their CompletePre.
    // Fails without it: models/pscw.rs, by loom_tests/tests/mutants.rs.
    mem_sync(Site::WaitPost);
}
