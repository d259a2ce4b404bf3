//! Windows of bytes in the other MPI's memory (module head, invariants 1 to 3).

use super::abi::{self, Handle};
use super::library::{
    ForeignPart, ForeignSource, allocate, checked, create, functions, give_up, is_unified,
    read_word,
};
use super::{ForeignComm, ForeignError, ForeignResult};
use crate::shm::Span;
use std::ffi::c_int;

/// The tags of messages without data.
const POST: c_int = 1;
const COMPLETE: c_int = 2;

/// The kind of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    Shared,
    Exclusive,
}

/// A window of the other MPI, in lock_all until it is freed, with its locks and communicator.
pub(crate) struct ForeignWindow {
    pub(super) data: Handle,
    /// The window for locks, with a word at each rank.
    locks: Handle,
    /// Of this window alone.
    comm: ForeignComm,
    /// The own memory.
    own: Span,
    /// For each rank, the bytes of the other MPI's memory before its part.
    before: Box<[u64]>,
}

impl ForeignWindow {
    /// Creates a window with that part of this rank. Collective; blocks until every rank has called it.
    /// Every rank gets the window, or none does.
    pub(crate) fn make(over: &ForeignComm, part: ForeignPart) -> ForeignResult<ForeignWindow> {
        let comm = over.dup()?;
        let made = ForeignWindow::made(comm, part);
        if !comm.all_agree(made.is_ok())? {
            // The incomplete window stays until the job ends, because freeing it needs all ranks.
            return Err(made.err().unwrap_or_else(ForeignError::elsewhere));
        }
        let mut window = made?;
        let mine = window.before[comm.rank as usize].to_ne_bytes();
        let mut all = vec![0; size_of_val(&*window.before)];
        comm.allgather(&mine, &mut all)?;
        window.before = all.as_chunks().0.iter().map(|one| u64::from_ne_bytes(*one)).collect();
        Ok(window)
    }

    /// This rank's half of [`ForeignWindow::make`].
    fn made(comm: ForeignComm, part: ForeignPart) -> ForeignResult<ForeignWindow> {
        let (data, own, before) = match part.0 {
            ForeignSource::Given(own) => (create(&comm, own)?, own, 0),
            ForeignSource::New { bytes, align } => allocate(&comm, bytes, align)?,
        };
        let (locks, ..) = allocate(&comm, size_of::<u64>() as u64, 0)?;
        if !is_unified(data)? {
            let text = "its windows are not in the unified memory model".into();
            return Err(ForeignError { class: 55, text });
        }
        checked((functions().lock_all)(abi::MODE_NOCHECK, data))?;
        let before = vec![before; comm.size as usize].into();
        let window = ForeignWindow { data, locks, comm, own, before };
        window.sync()?;
        Ok(window)
    }

    /// `MPI_Win_free`: the last call. Collective; blocks until every rank has called it.
    pub(crate) fn free(&self) -> ForeignResult<()> {
        checked((functions().unlock_all)(self.data))?;
        for mut window in [self.data, self.locks] {
            checked((functions().win_free)(&mut window))?;
        }
        self.comm.free()
    }

    /// The own memory.
    pub(crate) fn own(&self) -> Span {
        self.own
    }

    /// The displacement of byte `at` of the part of `rank` in the other MPI's memory.
    pub(super) fn place(&self, rank: u32, at: u64) -> isize {
        (self.before[rank as usize] + at) as isize
    }

    /// Completes the operations on the part of `rank`. If that fails, the other MPI may still access
    /// their buffers, so the job ends.
    pub(crate) fn flush(&self, rank: u32) {
        if let Err(refusal) = checked((functions().flush)(rank as c_int, self.data)) {
            give_up(&refusal);
        }
    }

    pub(super) fn completed(&self, code: c_int, rank: u32) -> ForeignResult<()> {
        checked(code)?;
        self.flush(rank);
        Ok(())
    }

    // Synchronisation.

    /// `MPI_Win_sync`, with progress of the other MPI.
    pub(crate) fn sync(&self) -> ForeignResult<()> {
        self.comm.help();
        checked((functions().sync)(self.data))
    }

    /// An allgather of one byte from each rank; returns them in rank order.
    pub(crate) fn fence(&self, mine: u8) -> ForeignResult<Vec<u8>> {
        let mut all = vec![0; self.comm.size as usize];
        self.sync()?;
        self.comm.allgather(&[mine], &mut all)?;
        self.sync()?;
        Ok(all)
    }

    /// Sends a post to each of `origins`. Does not block.
    pub(crate) fn post(&self, origins: &[u32]) -> ForeignResult<()> {
        self.sync()?;
        origins.iter().try_for_each(|origin| self.comm.notify(*origin, POST))
    }

    /// Blocks until each of `targets` has posted.
    pub(crate) fn start(&self, targets: &[u32]) -> ForeignResult<()> {
        targets.iter().try_for_each(|target| self.comm.hear(*target, POST))
    }

    /// Sends a complete to each of `targets`. Does not block.
    pub(crate) fn complete(&self, targets: &[u32]) -> ForeignResult<()> {
        targets.iter().try_for_each(|target| self.comm.notify(*target, COMPLETE))
    }

    /// Blocks until each of `origins` has completed.
    pub(crate) fn wait(&self, origins: &[u32]) -> ForeignResult<()> {
        origins.iter().try_for_each(|origin| self.comm.hear(*origin, COMPLETE))?;
        self.sync()
    }

    /// [`ForeignWindow::wait`] if that would not block; returns whether it did not.
    pub(crate) fn test(&self, origins: &[u32]) -> ForeignResult<bool> {
        for origin in origins {
            if !self.comm.has_heard(*origin, COMPLETE)? {
                return Ok(false);
            }
        }
        self.wait(origins)?;
        Ok(true)
    }

    /// Locks the part of `rank`; blocks while another holds a lock that excludes it.
    pub(crate) fn lock(&self, lock: Lock, rank: u32) -> ForeignResult<()> {
        let kind = match lock {
            Lock::Shared => abi::LOCK_SHARED,
            Lock::Exclusive => abi::LOCK_EXCLUSIVE,
        };
        checked((functions().lock)(kind, rank as c_int, 0, self.locks))?;
        read_word(self.locks, rank)?;
        self.sync()
    }

    pub(crate) fn unlock(&self, rank: u32) -> ForeignResult<()> {
        self.sync()?;
        checked((functions().unlock)(rank as c_int, self.locks))
    }

    /// Locks all parts, shared, one after another in the order of the ranks. So a rank that holds several
    /// locks taken in that order never waits in a cycle. `MPI_Win_lock_all` requests all locks together
    /// and could.
    pub(crate) fn lock_all(&self) -> ForeignResult<()> {
        (0..self.comm.size).try_for_each(|rank| self.lock(Lock::Shared, rank))
    }

    pub(crate) fn unlock_all(&self) -> ForeignResult<()> {
        (0..self.comm.size).try_for_each(|rank| self.unlock(rank))
    }
}
