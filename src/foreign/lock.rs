//! Locks in words of the other MPI's windows.

use super::ForeignError;
use super::ForeignResult;
use super::abi::Handle;
use super::library::{add_to_word, progress};
use crate::prim::give_way;
use crate::sync::{FarWord, LockType, lock_far, unlock_far};
use std::time::{Duration, Instant};

/// How long a rank lets others pass that wait for the exclusive side.
const PATIENCE: Duration = Duration::from_millis(100);

/// A lock: a word of a rank in a window of words that is in lock_all.
pub(super) struct RemoteLock {
    pub(super) window: Handle,
    pub(super) rank: u32,
    pub(super) index: u64,
}

impl FarWord for RemoteLock {
    type Refusal = ForeignError;

    fn add(&self, n: u64) -> ForeignResult<u64> {
        add_to_word(self.window, self.rank, self.index, n)
    }
}

impl RemoteLock {
    /// Blocks while another rank holds a lock that excludes it. Meanwhile this rank makes progress.
    pub(super) fn take(&self, lock: LockType, is_patient: bool) -> ForeignResult<()> {
        let began = Instant::now();
        lock_far(self, lock, is_patient, || {
            progress();
            give_way();
            began.elapsed() < PATIENCE
        })
    }

    pub(super) fn release(&self, lock: LockType) -> ForeignResult<()> {
        unlock_far(self, lock)
    }
}
