//! The shared file pointer (MPI-4.1 §14.4.4): a word of a window that only the library knows. Its lock also
//! makes accesses in atomic mode exclude one another (MPI-4.1 §14.6.1).

use crate::failure::Outcome;
use onesided::engine::Win;
use onesided::{Comm, LockType, Op, Rank, WindowOptions};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The rank with the word.
const OWNER: Rank = Rank(0);

/// The pointer of a file, in etypes of its view.
pub struct SharedPointer(Mutex<Win>);

impl SharedPointer {
    /// Collective.
    pub fn new(comm: &Comm, start: u64) -> Outcome<SharedPointer> {
        let bytes = if comm.rank() == OWNER { 8 } else { 0 };
        let win = WindowOptions::new().allocate_bytes(comm, bytes, 8)?;
        let pointer = SharedPointer(Mutex::new(win));
        pointer.reset(comm, start)?;
        Ok(pointer)
    }

    /// Waits for other threads of this rank: a window is locked once at a time.
    fn win(&self) -> MutexGuard<'_, Win> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, value: u64, op: Op) -> Outcome<u64> {
        let win = self.win();
        win.lock(LockType::Shared, OWNER)?;
        let mut before = 0;
        let updated = win.fetch_and_op(&value, &mut before, op, OWNER, 0);
        win.unlock(OWNER)?;
        updated?;
        Ok(before)
    }

    /// Moves it forwards, and returns where it was.
    pub fn advance(&self, by: u64) -> Outcome<u64> {
        self.update(by, Op::Sum)
    }

    pub fn get(&self) -> Outcome<u64> {
        self.update(0, Op::NoOp)
    }

    /// Collective: gives it a value, which all ranks see when the call returns.
    pub fn reset(&self, comm: &Comm, value: u64) -> Outcome {
        let set = match comm.rank() == OWNER {
            true => self.update(value, Op::Replace).map(drop),
            false => Ok(()),
        };
        comm.barrier()?;
        set
    }

    /// Calls `access` while no other rank does so.
    pub fn alone<T>(&self, access: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        let win = self.win();
        win.lock(LockType::Exclusive, OWNER)?;
        let accessed = access();
        win.unlock(OWNER)?;
        accessed
    }

    /// Collective.
    pub fn free(self) -> Outcome {
        let win = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(win.free()?)
    }
}
