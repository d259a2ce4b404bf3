//! Windows of bytes in the other MPI's memory (module head, invariants 1 to 3).
#![allow(unsafe_code, reason = "calls functions of a loaded library")]

use super::abi::{self, Handle};
use super::library::{checked, functions, give_up};
use super::{ForeignComm, ForeignError, ForeignResult};
use crate::datatype::{Element, Integer};
use crate::op::Op;
use crate::shm::Span;
use std::ffi::c_int;
use std::ptr::{from_mut, from_ref, null, null_mut};

/// The tags of messages without data.
const POST: c_int = 1;
const COMPLETE: c_int = 2;

/// The kind of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    Shared,
    Exclusive,
}

/// The part that a rank gives a window.
pub(crate) struct ForeignPart(ForeignSource);

enum ForeignSource {
    New { bytes: u64, align: u64 },
    Given(Span),
}

impl ForeignPart {
    /// `bytes` zeroed bytes of the other MPI's memory, aligned to `align`.
    pub(crate) fn new(bytes: u64, align: u64) -> ForeignPart {
        ForeignPart(ForeignSource::New { bytes, align })
    }

    /// Existing memory.
    ///
    /// # Safety
    /// Any rank may access it until the window is freed.
    pub(crate) unsafe fn given(memory: Span) -> ForeignPart {
        ForeignPart(ForeignSource::Given(memory))
    }
}

/// A window of the other MPI, in lock_all until it is freed, with its locks and communicator.
pub(crate) struct ForeignWindow {
    data: Handle,
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
            ForeignSource::New { bytes, align } => {
                // The other MPI's alignment may be smaller.
                let (data, base) = allocate(&comm, bytes.saturating_add(align))?;
                let before = base.align_offset(align as usize);
                let base = base.wrapping_add(before);
                // SAFETY: the own part, which no rank accesses before all have agreed on the window;
                // `align` more bytes were requested.
                unsafe { base.write_bytes(0, bytes as usize) };
                (data, Span::new(base, bytes), before as u64)
            }
        };
        let (locks, _) = allocate(&comm, size_of::<u64>() as u64)?;
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
    fn place(&self, rank: u32, at: u64) -> isize {
        (self.before[rank as usize] + at) as isize
    }

    // Operations: complete at origin and target when they return.

    /// Writes to the part of `rank` from byte `to` on. [`ForeignWindow::flush`] completes it.
    ///
    /// # Safety
    /// Until it is complete, `from` is valid for reads of `bytes` bytes, which are not written.
    pub(crate) unsafe fn put(
        &self,
        from: *const u8,
        rank: u32,
        to: u64,
        bytes: usize,
    ) -> ForeignResult<()> {
        let (n, to, rank) = (bytes as i64, self.place(rank, to), rank as c_int);
        let put = functions().put;
        // SAFETY: a live window in lock_all; of the buffer, the caller's obligation.
        checked(unsafe { put(from.cast(), n, abi::BYTE, rank, to, n, abi::BYTE, self.data) })
    }

    /// Reads from the part of `rank` from byte `from` on. [`ForeignWindow::flush`] completes it.
    ///
    /// # Safety
    /// Until it is complete, `to` is valid for writes of `bytes` bytes, which are not accessed.
    pub(crate) unsafe fn get(
        &self,
        to: *mut u8,
        rank: u32,
        from: u64,
        bytes: usize,
    ) -> ForeignResult<()> {
        let (n, from, rank) = (bytes as i64, self.place(rank, from), rank as c_int);
        let get = functions().get;
        // SAFETY: as in `put`.
        checked(unsafe { get(to.cast(), n, abi::BYTE, rank, from, n, abi::BYTE, self.data) })
    }

    /// Completes the operations on the part of `rank`. If that fails, the other MPI may still access
    /// their buffers, so the job ends.
    pub(crate) fn flush(&self, rank: u32) {
        if let Err(refusal) = checked((functions().flush)(rank as c_int, self.data)) {
            give_up(&refusal);
        }
    }

    /// Combines `origin` into the elements of `rank` from byte `at` on.
    pub(crate) fn accumulate<T: Element>(
        &self,
        origin: &[T],
        op: Op,
        rank: u32,
        at: u64,
    ) -> ForeignResult<()> {
        let (n, datatype) = (origin.len() as i64, abi::datatype(T::DATATYPE));
        // SAFETY: a live window in lock_all; the buffer is a slice until the flush.
        let code = unsafe {
            (functions().accumulate)(
                origin.as_ptr().cast(),
                n,
                datatype,
                rank as c_int,
                self.place(rank, at),
                n,
                datatype,
                abi::op(op),
                self.data,
            )
        };
        self.completed(code, rank)
    }

    /// [`ForeignWindow::accumulate`] whose `result` receives the values before. [`Op::NoOp`] needs no `origin`.
    pub(crate) fn fetch<T: Element>(
        &self,
        origin: &[T],
        result: &mut [T],
        op: Op,
        rank: u32,
        at: u64,
    ) -> ForeignResult<()> {
        let (n, datatype) = (result.len() as i64, abi::datatype(T::DATATYPE));
        let (from, to) = (origin.as_ptr().cast(), result.as_mut_ptr().cast());
        let (at, op, target) = (self.place(rank, at), abi::op(op), rank as c_int);
        let code = if let ([_], [_]) = (origin, &*result) {
            let fetch_and_op = functions().fetch_and_op;
            // SAFETY: a live window in lock_all; the buffers are one element each until the flush.
            unsafe { fetch_and_op(from, to, datatype, target, at, op, self.data) }
        } else {
            let (given, function) = (origin.len() as i64, functions().get_accumulate);
            let (from, given) = if given == n { (from, n) } else { (null(), 0) };
            // SAFETY: as above, of slices of `n` elements; the other MPI reads no origin of NO_OP.
            unsafe {
                function(
                    from, given, datatype, to, n, datatype, target, at, n, datatype, op, self.data,
                )
            }
        };
        self.completed(code, rank)
    }

    /// `MPI_Compare_and_swap`; the value before.
    pub(crate) fn compare_and_swap<T: Integer>(
        &self,
        new: &T,
        compare: &T,
        rank: u32,
        at: u64,
    ) -> ForeignResult<T> {
        let mut before = T::zeroed();
        // SAFETY: a live window in lock_all; the buffers are one element each until the flush.
        let code = unsafe {
            (functions().compare_and_swap)(
                from_ref(new).cast(),
                from_ref(compare).cast(),
                from_mut(&mut before).cast(),
                abi::datatype(T::DATATYPE),
                rank as c_int,
                self.place(rank, at),
                self.data,
            )
        };
        self.completed(code, rank)?;
        Ok(before)
    }

    fn completed(&self, code: c_int, rank: u32) -> ForeignResult<()> {
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
        self.ask(rank)?;
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

    /// Reads a word under a requested lock. An MPI may defer a lock until an operation under it (MPI-4.1
    /// §12.5.3), and it does not see what this library does under it. When the read returns, the lock is
    /// held.
    fn ask(&self, rank: u32) -> ForeignResult<()> {
        let (mut word, target) = (0u64, rank as c_int);
        let place = from_mut(&mut word).cast();
        let fetch_and_op = functions().fetch_and_op;
        // SAFETY: a locked part, which has a word; a place for one until the flush below.
        checked(unsafe {
            fetch_and_op(null(), place, abi::UINT64_T, target, 0, abi::NO_OP, self.locks)
        })?;
        if let Err(refusal) = checked((functions().flush)(target, self.locks)) {
            give_up(&refusal);
        }
        Ok(())
    }
}

/// A window of bytes, and this rank's memory of it.
fn allocate(comm: &ForeignComm, bytes: u64) -> ForeignResult<(Handle, *mut u8)> {
    let (mut base, mut window) = (null_mut::<u8>(), abi::WIN_NULL);
    let Ok(size) = isize::try_from(bytes) else {
        return Err(ForeignError { class: 52, text: format!("{bytes} bytes are too many") });
    };
    let place = from_mut(&mut base).cast();
    // SAFETY: a live communicator; places for an address and a handle.
    checked(unsafe {
        (functions().win_allocate)(size, 1, abi::INFO_NULL, comm.handle, place, &raw mut window)
    })?;
    returns_errors(window)?;
    Ok((window, base))
}

/// A window over given memory of this rank.
fn create(comm: &ForeignComm, part: Span) -> ForeignResult<Handle> {
    let (base, bytes, mut window) = (part.base().cast(), part.len() as isize, abi::WIN_NULL);
    let function = functions().win_create;
    // SAFETY: a live communicator; a place for a handle; the promise of `ForeignPart::given`.
    checked(unsafe { function(base, bytes, 1, abi::INFO_NULL, comm.handle, &raw mut window) })?;
    returns_errors(window)?;
    Ok(window)
}

fn returns_errors(window: Handle) -> ForeignResult<()> {
    checked((functions().win_errors)(window, abi::ERRORS_RETURN))
}

/// Whether operations and stores work on the same copy of the memory.
fn is_unified(window: Handle) -> ForeignResult<bool> {
    let (mut model, mut found) = (null_mut::<c_int>(), 0);
    let place = from_mut(&mut model).cast();
    // SAFETY: a live window; places for an address and an int.
    checked(unsafe { (functions().win_attribute)(window, abi::WIN_MODEL, place, &raw mut found) })?;
    // SAFETY: an existing attribute is the address of an int.
    Ok(found != 0 && unsafe { *model } == abi::WIN_UNIFIED)
}
