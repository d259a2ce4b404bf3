#![doc = include_str!("README.md")]

mod barrier;
pub mod channel;
pub mod clock;
mod exclusion;
mod far_lock;
mod gather;
mod lock;
mod lock_all;
mod lock_state;
pub mod notify;
mod open_epochs;
mod passive;
mod pscw;
mod queue;
mod robust;
pub mod shards;
mod tree;
pub mod watch;

use crate::prim::CachePadded;

#[allow(unused_imports, reason = "`collective` is for the models")]
pub use barrier::{
    Arrivals, Barrier, BarrierWords, FenceKind, Round, await_published, collective, expect_ring,
    fence, first_unsettled, first_unsettled_buffer, is_published, passed,
};
pub use exclusion::{Exclusion, Sharing};
#[allow(unused_imports, reason = "the simulator has no other MPI")]
pub use far_lock::{FarWord, lock_far, unlock_far};
pub use gather::{GatherPlace, Gathering, gather};
pub use lock::LockWords;
pub use lock_all::{
    LockAllWords, Reader, lock_all, lock_all_nocheck, try_lock_all, unlock_all, unlock_all_nocheck,
};
pub use lock_state::{LockSide, MAX_RANKS, Queueing};
pub use open_epochs::OpenEpochs;
pub use passive::{
    LockType, flush, flush_all, flush_beside, flush_local, flush_local_all, lock, lock_nocheck,
    try_lock, unlock, unlock_nocheck, unlock_queued, win_sync,
};
pub use pscw::{PostSlot, PostTable, PscwWords, complete, post, start_one, started, test, wait};
pub use queue::{Locker, OwnNode, QueueNode, holder};
pub use robust::{Found, RobustExclusion, RobustGuard};
pub use tree::{MOST_WITHOUT_TREE, TREES, Tree, TreeLine, tree_lines};
pub use watch::{Bell, Watchers};

/// One 64-byte cache line: a word on which a rank waits shares its line with no other word.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Line<T>(pub T);

/// The synchronisation words of one window that belong to all its ranks.
#[repr(C)]
#[derive(Default)]
pub struct WindowWords {
    /// The barrier of `fence`.
    pub fence: BarrierWords,
    /// How many ranks are inside `watch::until`.
    pub watchers: Watchers,
    /// `lock_all` holders against the exclusive lockers of any target.
    pub lock_all: LockAllWords,
}

/// The synchronisation words of one window that belong to one of its ranks as a target: 384 bytes.
///
/// Lock, accumulates and completes have lines of their own. The last three share one: the table is
/// written once, the open epochs seldom, and only this rank waits on the bell (`shm/layout.rs`
/// asserts the lines).
#[repr(C)]
#[derive(Default)]
pub struct RankWords {
    /// Shared and exclusive locks of this target.
    pub lock: CachePadded<LockWords>,
    /// Accumulates on this target that need more than one instruction.
    pub accumulate: Exclusion,
    /// Post/start and complete/wait of this target.
    pub pscw: PscwWords,
    /// Where this target's post slots are.
    pub table: PostTable,
    /// The epochs that this rank has open, for the checks of other ranks.
    pub open: OpenEpochs,
    /// Rung after a possible change of this rank's part while a rank watches it.
    pub bell: Bell,
}

#[cfg(all(test, not(any(loom, simulated))))]
mod stress;
