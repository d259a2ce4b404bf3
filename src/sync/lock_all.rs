//! lock_all and unlock_all (MPI-4.1 §12.5.3), against the exclusive lockers of any target.
//!
//! Until the first `lock_all` of the window, an exclusive locker takes its target's lock alone. From then on it
//! takes the window's lock first.
//!
//! ```text
//!   first lock_all                        exclusive lock
//!     stage = opening                       enter the target
//!     mem_sync(LockAllOpens)                mem_sync(LockAlone)
//!     wait until no target is held          stage is unused? -> granted
//!     mem_sync(LockAllOpened)               leave the target; window first
//!     stage = open
//! ```
//!
//! Either the left side sees the holder, or the right side sees the stage. The left side holds nothing meanwhile.
//!
//! A window that is open is **biased** towards `lock_all` by a rank that holds it. From then on `lock_all` writes a
//! word of its own rank only, and an exclusive locker revokes the bias first (the BRAVO lock of Dice and Kogan):
//!
//! ```text
//!   lock_all                              exclusive lock
//!     own word = reading                    stage = revoking
//!     mem_sync(LockAllReads)                mem_sync(LockAllRevokes)
//!     stage is biased? -> granted           wait until no word is reading
//!     own word = 0; window's lock           mem_sync(LockAllRevoked)
//!                                           stage = open
//!                                           enter the window's lock
//!                                           mem_sync(LockBeside)
//!                                           stage is the same? -> the target
//! ```
//!
//! A rank that revokes holds nothing of this window that it did not hold before, so a `lock_all` passes it while it only
//! waits (README, invariant 6). The window's lock keeps the bias from coming back. The stage has a generation, which
//! each bias begins: a rank that is late cannot end the revocation of a later one. It comes round after 2²⁹ of them.

use super::lock::LockWords;
use super::lock_state::{LockSide, Queueing};
use super::queue::{Locker, OwnNode, QueueNode};
use crate::prim::{
    CachePadded, Fault, JobFailed, ProcSync, Site, Waiter, Word32, cold_call, mem_sync,
    mem_sync_beside, planted, proc_sync,
};

/// The words by which `lock_all` and the exclusive locks of any target exclude each other.
#[repr(C)]
#[derive(Default)]
pub struct LockAllWords {
    lock: CachePadded<LockWords>,
    /// A [`Stage`]. Seldom written, so all lockers share the line.
    stage: CachePadded<Word32>,
}

/// Which ranks take the lock of the window: the kind, and in the upper bits the generation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stage(u32);

/// A rank that locks all targets.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// Its node, which has the word that it alone writes.
    pub node: &'a QueueNode,
    /// What its process knows of the node.
    pub own: &'a OwnNode,
    /// How often it takes the window's lock before it biases the window again.
    pub patience: u32,
}

impl<'a> Reader<'a> {
    /// Of a window of that many ranks. A revocation looks at each of them once: no more than a look for each call that
    /// took the window's lock.
    #[inline(always)]
    pub fn new(node: &'a QueueNode, own: &'a OwnNode, ranks: u32) -> Reader<'a> {
        const LEAST: u32 = 8;
        Reader { node, own, patience: ranks.max(LEAST) }
    }
}

impl Stage {
    const UNUSED: Stage = Stage(0);
    const OPENING: u32 = 1;
    const OPEN: u32 = 2;
    const BIASED: u32 = 3;
    const REVOKING: u32 = 4;
    const KINDS: u32 = 7;

    #[inline(always)]
    fn kind(self) -> u32 {
        self.0 & Self::KINDS
    }

    fn with_kind(self, kind: u32) -> Stage {
        Stage(self.0 & !Self::KINDS | kind)
    }

    /// The next generation, biased.
    fn biased(self) -> Stage {
        Stage(self.0.wrapping_add(Self::KINDS + 1)).with_kind(Self::BIASED)
    }

    /// Whether exclusive lockers take the window's lock.
    #[inline(always)]
    pub(super) fn is_used(self) -> bool {
        self != Self::UNUSED
    }

    /// Whether a `lock_all` may be held by a word of its rank.
    #[inline(always)]
    fn has_readers(self) -> bool {
        self.kind() >= Self::BIASED
    }
}

impl LockAllWords {
    #[inline(always)]
    pub(super) fn stage(&self) -> Stage {
        Stage(self.stage.load())
    }

    /// Whether the stage was `from`, and is `to` now.
    fn change(&self, from: Stage, to: Stage) -> bool {
        self.stage.compare_exchange(from.0, to.0).is_ok()
    }

    /// Whether any rank holds the window's lock on a side; see [`LockWords::is_held`].
    pub fn is_held(&self, side: LockSide) -> bool {
        self.lock.is_held(side)
    }

    /// See [`LockWords::mark_release`].
    pub fn mark_release(&self, side: LockSide, mark: u64) {
        self.lock.mark_release(side, mark);
    }

    /// See [`LockWords::released`].
    pub fn released(&self, side: LockSide) -> u64 {
        self.lock.released(side)
    }

    /// Whether any rank holds `lock_all`; `nodes` are those of all ranks. A snapshot, as [`LockWords::is_held`].
    pub fn is_locked_all<'a>(&self, nodes: impl IntoIterator<Item = &'a QueueNode>) -> bool {
        let reads = |node: &QueueNode| node.reading.load() != 0;
        self.is_held(LockSide::LeftOfShared)
            || self.stage().has_readers() && nodes.into_iter().any(reads)
    }

    /// The first `lock_all`: waits for the ranks that hold a target's lock alone.
    #[cold]
    fn open<'a>(
        &self,
        targets: impl IntoIterator<Item = &'a LockWords>,
        waiter: &Waiter<'_>,
    ) -> Result<(), JobFailed> {
        let opening = Stage::UNUSED.with_kind(Stage::OPENING);
        // Another rank may have opened it meanwhile.
        self.change(Stage::UNUSED, opening);
        // Publishes the stage before the looks at the targets: a full barrier, paired with LockAlone. Fails
        // without it, or as a weaker barrier: models/lock_all.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::LockAllOpens);
        for target in targets {
            if target.is_held(LockSide::RightExclusive) && !planted(Fault::NotDrained) {
                target.enter(LockSide::Left, Queueing::Fair, waiter)?;
                target.leave(LockSide::Left);
            }
        }
        // Carry: observes what the holders published (UnlockPre) and publishes it to the ranks that see the stage
        // (LockAllPost). Fails without it: models/lock_all.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::LockAllOpened);
        self.change(opening, opening.with_kind(Stage::OPEN));
        Ok(())
    }

    /// `lock_all` by the rank's own word, while the window is biased.
    #[inline(always)]
    fn read(&self, stage: Stage, reader: Reader<'_>) -> bool {
        let word = &reader.node.reading;
        word.add(1);
        // Publishes the reader before the look at the stage: a full barrier, paired with LockAllRevokes. Fails
        // without it, or as a weaker barrier: models/lock_all.rs, by loom_tests/tests/mutants.rs.
        mem_sync_beside(Site::LockAllReads);
        let is_biased = self.stage() == stage || planted(Fault::RevocationIgnored);
        if !is_biased {
            word.store_and_wake(0);
        }
        is_biased
    }

    /// `lock_all` by the window's lock, if no rank is in the way.
    #[inline(never)]
    fn try_enter_left(&self, reader: Reader<'_>) -> bool {
        let entered = self.lock.try_enter(LockSide::LeftOfShared, Queueing::Fair);
        if entered {
            granted_all();
            self.bias(reader);
        }
        entered
    }

    /// Biases the window, if this rank has taken its lock often since it did that last. Called while it holds the lock.
    fn bias(&self, reader: Reader<'_>) {
        let stage = self.stage();
        let unbiased = &reader.own.unbiased;
        unbiased.store(unbiased.load() + 1);
        if stage.kind() == Stage::OPEN && unbiased.load() >= reader.patience {
            unbiased.store(0);
            self.change(stage, stage.biased());
        }
    }

    /// Ends the bias: waits for the ranks that hold `lock_all` by their own words.
    #[cold]
    fn revoke(
        &self,
        stage: Stage,
        locker: &Locker<'_, '_>,
        waiter: &Waiter<'_>,
    ) -> Result<(), JobFailed> {
        let revoking = stage.with_kind(Stage::REVOKING);
        if stage != revoking {
            // Another rank may revoke it, too.
            self.change(stage, revoking);
        }
        // Publishes the stage before the looks at the readers: a full barrier, paired with LockAllReads. Fails
        // without it, or as a weaker barrier: models/lock_all.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::LockAllRevokes);
        for rank in 0..locker.ranks {
            if !planted(Fault::ReadersNotAwaited) {
                waiter.until(&(locker.node_of)(rank).reading, |reading| reading == 0)?;
            }
        }
        // Carry: observes what the readers published (UnlockAllPre) and publishes it to the ranks that see the
        // stage (LockPost). Fails without it: models/lock_all.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::LockAllRevoked);
        let ended = if planted(Fault::GenerationIgnored) { self.stage() } else { revoking };
        if ended.kind() == Stage::REVOKING {
            self.change(ended, ended.with_kind(Stage::OPEN));
        }
        Ok(())
    }

    /// Enters for an exclusive lock of some target. Blocks while a rank holds `lock_all`.
    pub(super) fn enter_right(
        &self,
        locker: &Locker<'_, '_>,
        queueing: Queueing,
        waiter: &Waiter<'_>,
    ) -> Result<(), JobFailed> {
        loop {
            let stage = self.stage();
            if stage.has_readers() && !planted(Fault::BiasIgnored) {
                self.revoke(stage, locker, waiter)?;
                continue;
            }
            self.lock.enter(LockSide::RightShared, queueing, waiter)?;
            if self.stays(stage) {
                return Ok(());
            }
            self.leave_right();
        }
    }

    /// [`LockAllWords::enter_right`], if it need not block.
    #[inline(always)]
    pub(super) fn try_enter_right(&self, queueing: Queueing) -> bool {
        let stage = self.stage();
        if stage.has_readers() || !self.lock.try_enter(LockSide::RightShared, queueing) {
            return false;
        }
        let stays = self.stays(stage);
        if !stays {
            cold_call(move || self.leave_right());
        }
        stays
    }

    /// Whether the window is not biased, to a rank that has entered the right side of its lock.
    #[inline(always)]
    fn stays(&self, stage: Stage) -> bool {
        // Observes the bias by a rank that held the lock before; pairs with its UnlockAllPre. Fails without it:
        // models/lock_all.rs, by loom_tests/tests/mutants.rs.
        mem_sync_beside(Site::LockBeside);
        self.stage() == stage || planted(Fault::BiasIgnored)
    }

    /// Leaves after [`LockAllWords::enter_right`].
    #[inline(always)]
    pub(super) fn leave_right(&self) {
        self.lock.leave(LockSide::RightShared);
    }
}

/// `MPI_Win_lock_all`: a shared lock on every target. From the second one of a window on, its cost does not depend
/// on their number. Not collective. Blocks while any target is locked exclusively.
pub fn lock_all<'a>(
    window: &LockAllWords,
    targets: impl IntoIterator<Item = &'a LockWords>,
    reader: Reader<'_>,
    waiter: &Waiter<'_>,
) -> Result<(), JobFailed> {
    let enter = || window.lock.enter(LockSide::LeftOfShared, Queueing::Fair, waiter);
    if planted(Fault::OpenedLate) {
        enter()?;
    }
    if window.stage().kind() <= Stage::OPENING {
        window.open(targets, waiter)?;
    }
    if !planted(Fault::OpenedLate) {
        if try_lock_all(window, reader) {
            return Ok(());
        }
        enter()?;
    }
    granted_all();
    window.bias(reader);
    Ok(())
}

/// [`lock_all`], if it need not block.
#[inline]
pub fn try_lock_all(window: &LockAllWords, reader: Reader<'_>) -> bool {
    let stage = window.stage();
    if stage.kind() != Stage::BIASED {
        return stage.kind() >= Stage::OPEN && window.try_enter_left(reader);
    }
    let entered = window.read(stage, reader);
    if entered {
        granted_all();
    }
    entered
}

#[inline]
fn granted_all() {
    proc_sync(ProcSync::LockGranted);
    // Observes what exclusive holders of any target published; pairs with their UnlockPre, with LockAllOpened, or
    // with the LockAllPost of the rank that biased the window. Fails without it: models/lock_all.rs, by
    // loom_tests/tests/mutants.rs.
    mem_sync_beside(Site::LockAllPost);
}

/// `MPI_Win_lock_all` with NOCHECK: the MEM_SYNC without the PROC_SYNC.
pub fn lock_all_nocheck() {
    // As `lock_nocheck`.
    mem_sync(Site::LockAllPost);
}

/// `MPI_Win_unlock_all` by the rank with that node. Never blocks.
#[inline]
pub fn unlock_all(window: &LockAllWords, node: &QueueNode) {
    // Publishes this holder's accesses; pairs with LockPost of later exclusive holders, or with LockAllRevoked.
    // Fails without it: models/lock_all.rs, by loom_tests/tests/mutants.rs.
    mem_sync_beside(Site::UnlockAllPre);
    proc_sync(ProcSync::LockReleased);
    match node.reading.load() {
        0 => window.lock.leave(LockSide::LeftOfShared),
        _ => node.reading.store_and_wake(0),
    }
}

/// `MPI_Win_unlock_all` of a NOCHECK lock: the MEM_SYNC without the PROC_SYNC.
pub fn unlock_all_nocheck() {
    // As `unlock_nocheck`.
    mem_sync(Site::UnlockAllPre);
}
