//! The lock of a part that is another MPI's memory: one word at its rank, to which every rank adds by that MPI.
//! Only updates by one operation need be atomic together there (MPI-4.1 §12.7.1), so nothing else is done to it.
//!
//! 1. A rank that wants the lock adds itself to its holders, and takes that back if it finds one that excludes it.
//!    Of two that exclude each other, the second to add finds the first.
//! 2. A rank waits for holders alone. Only a patient one that wants it shared lets those pass that wait for the
//!    exclusive side: one that holds no other lock, for a while.
//! 3. Each addition is complete when it returns, with what its rank did before.

use super::LockType;
use crate::prim::{Fault, planted};

/// The word, as one rank reaches it.
pub trait FarWord {
    /// Why it cannot be reached.
    type Refusal;
    /// Adds to it; what it was.
    fn add(&self, n: u64) -> Result<u64, Self::Refusal>;
}

/// Ranks that hold the lock, or are about to take that back, and those that wait for the exclusive side. Each field
/// counts more than there are ranks.
const SHARED: u64 = 1;
const EXCLUSIVE: u64 = 1 << 21;
const WAITING: u64 = 1 << 42;
const READERS: u64 = EXCLUSIVE - SHARED;
const WRITERS: u64 = WAITING - EXCLUSIVE;
const WAITERS: u64 = READERS * WAITING;

/// What such a holder adds.
fn unit(lock: LockType) -> u64 {
    match lock {
        LockType::Shared => SHARED,
        LockType::Exclusive => EXCLUSIVE,
    }
}

/// Whether a rank has the lock that has added itself to `others`.
fn is_free(lock: LockType, others: u64, is_patient: bool) -> bool {
    let excluded_by = match lock {
        LockType::Shared if planted(Fault::FarSharedBlind) => 0,
        LockType::Shared if is_patient => WRITERS | WAITERS,
        LockType::Shared => WRITERS,
        LockType::Exclusive if planted(Fault::FarExclusiveBlind) => WRITERS,
        LockType::Exclusive => WRITERS | READERS,
    };
    others & excluded_by == 0
}

/// Takes the lock. Blocks while another holds one that excludes it; calls `pause` before each further look, which
/// returns whether the rank is still patient.
pub fn lock_far<W: FarWord>(
    word: &W,
    lock: LockType,
    mut is_patient: bool,
    mut pause: impl FnMut() -> bool,
) -> Result<(), W::Refusal> {
    let mine = unit(lock);
    if is_free(lock, word.add(mine)?, is_patient) {
        return Ok(());
    }
    let waits = if lock == LockType::Exclusive { WAITING } else { 0 };
    word.add(waits.wrapping_sub(mine))?;
    loop {
        is_patient &= pause();
        if is_free(lock, word.add(0)?, is_patient) {
            if is_free(lock, word.add(mine.wrapping_sub(waits))?, is_patient) {
                return Ok(());
            }
            word.add(waits.wrapping_sub(mine))?;
        }
    }
}

/// Releases it.
pub fn unlock_far<W: FarWord>(word: &W, lock: LockType) -> Result<(), W::Refusal> {
    word.add(unit(lock).wrapping_neg()).map(drop)
}
