//! What is attached to a dynamic window. The other MPI need not notice an operation on other memory, so each rank
//! publishes a table of its regions, in which operations are looked up before they begin.
//!
//! 1. A rank changes its table under the exclusive side of its lock, a word beside the head. An operation holds the
//!    shared side of its target's lock from the look at the table until it is complete. So no rank accesses memory
//!    after it was detached.
//! 2. A holder waits for the other MPI alone, never for a call of another rank. So a wait for the lock ends.
//! 3. The threads of a process take turns for each target ([`KnownTable`]), and for the own table that suffices.
//! 4. A table is attached, too. The head has its address.

use super::abi::Handle;
use super::library::{allocate, attach, detach, give_up, read_now, write_now};
use super::lock::RemoteLock;
use super::{ForeignComm, ForeignResult, ForeignWindow};
use crate::shm::Span;
use crate::sync::LockType;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The index of the lock, behind the head.
const LOCK: u64 = size_of::<TableHead>() as u64 / 8;

/// How often a table has changed, its number of regions, and its address.
type TableHead = [u64; 3];

/// The first address and the bytes of a region.
pub(crate) type AttachedRun = [u64; 2];

/// The tables of the ranks of a dynamic window.
pub(super) struct AttachedTables {
    /// The window with the head of each rank.
    pub(super) heads: Handle,
    known: Box<[Mutex<KnownTable>]>,
}

/// What this rank knows of a rank's table.
#[derive(Default)]
struct KnownTable {
    /// The changes that it has seen.
    changes: u64,
    /// The table, if it is the own one.
    table: Vec<AttachedRun>,
}

impl Drop for KnownTable {
    /// Other ranks may read it until the window is freed.
    fn drop(&mut self) {
        std::mem::take(&mut self.table).leak();
    }
}

impl AttachedTables {
    /// Collective; blocks until every rank has called it.
    pub(super) fn make(comm: &ForeignComm) -> ForeignResult<AttachedTables> {
        let (heads, ..) = allocate(comm, 8 * (LOCK + 1), 0)?;
        let known = (0..comm.size).map(|_| Mutex::default()).collect();
        Ok(AttachedTables { heads, known })
    }

    fn lock(&self, rank: u32) -> RemoteLock {
        RemoteLock { window: self.heads, rank, index: LOCK }
    }

    fn known(&self, rank: u32) -> MutexGuard<'_, KnownTable> {
        self.known[rank as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The window has been freed.
    pub(super) fn freed(&self, rank: u32) {
        self.known(rank).table = Vec::new();
    }
}

/// While it lives, the memory of a rank stays attached. Dropped, it completes this rank's operations there.
pub(crate) struct AttachmentHold<'w> {
    window: &'w ForeignWindow,
    tables: &'w AttachedTables,
    rank: u32,
    known: MutexGuard<'w, KnownTable>,
    /// The changes of the table.
    changes: u64,
}

impl ForeignWindow {
    fn tables(&self) -> &AttachedTables {
        self.tables.as_ref().expect("only memory of a dynamic window is attached")
    }

    /// What `rank` has attached stays so. Blocks while it attaches or detaches memory, and while another thread
    /// holds it.
    pub(crate) fn hold_attached(&self, rank: u32) -> ForeignResult<AttachmentHold<'_>> {
        let tables = self.tables();
        let known = tables.known(rank);
        if rank != self.comm.rank {
            tables.lock(rank).take(LockType::Shared, true)?;
        }
        let changes = known.changes;
        Ok(AttachmentHold { window: self, tables, rank, known, changes })
    }

    /// Begins a change of what this rank has attached.
    pub(crate) fn change_attached(&self) -> ChangingAttached<'_> {
        let known = self.tables().known(self.comm.rank);
        ChangingAttached { window: self, known }
    }
}

impl AttachmentHold<'_> {
    /// The regions of another rank in the order of their addresses, if they have changed since [`AttachmentHold::seen`].
    pub(crate) fn changed(&mut self) -> ForeignResult<Option<Vec<AttachedRun>>> {
        if self.rank == self.window.comm.rank {
            return Ok(None);
        }
        let mut head: TableHead = [0; 3];
        read_now(self.tables.heads, self.rank, 0, bytemuck::bytes_of_mut(&mut head))?;
        let [changes, regions, address] = head;
        if changes == self.known.changes {
            return Ok(None);
        }
        self.changes = changes;
        let mut table = vec![AttachedRun::default(); regions as usize];
        if !table.is_empty() {
            read_now(self.window.data, self.rank, address, bytemuck::cast_slice_mut(&mut table))?;
        }
        Ok(Some(table))
    }

    /// This rank has recorded the change.
    pub(crate) fn seen(&mut self) {
        self.known.changes = self.changes;
    }
}

impl Drop for AttachmentHold<'_> {
    fn drop(&mut self) {
        self.window.complete_at(self.rank);
        if self.rank != self.window.comm.rank {
            let released = self.tables.lock(self.rank).release(LockType::Shared);
            released.unwrap_or_else(|refusal| give_up(&refusal));
        }
    }
}

/// A change of what this rank has attached.
pub(crate) struct ChangingAttached<'w> {
    window: &'w ForeignWindow,
    known: MutexGuard<'w, KnownTable>,
}

impl ChangingAttached<'_> {
    /// `MPI_Win_attach`; then `regions` are all. Blocks while other ranks access what is attached.
    pub(crate) fn attach(&mut self, memory: Span, regions: &[AttachedRun]) -> ForeignResult<()> {
        attach(self.window.data, memory)?;
        self.publish(regions).inspect_err(|_| {
            // The call already returns another error.
            let _ = detach(self.window.data, memory.base());
        })
    }

    /// `MPI_Win_detach`; then `regions` are left. When it returns, no rank accesses the memory at `start`.
    pub(crate) fn detach(&mut self, start: *mut u8, regions: &[AttachedRun]) -> ForeignResult<()> {
        self.publish(regions)?;
        detach(self.window.data, start)
    }

    /// Makes `regions` the table.
    fn publish(&mut self, regions: &[AttachedRun]) -> ForeignResult<()> {
        let (own, tables) = (self.window.comm.rank, self.window.tables());
        tables.lock(own).take(LockType::Exclusive, true)?;
        let published = self.write(regions, tables.heads, own);
        tables.lock(own).release(LockType::Exclusive)?;
        published
    }

    /// [`ChangingAttached::publish`] under the lock.
    fn write(&mut self, regions: &[AttachedRun], heads: Handle, own: u32) -> ForeignResult<()> {
        let (data, known) = (self.window.data, &mut *self.known);
        let mut old = None;
        if regions.len() > known.table.capacity() {
            let mut more = Vec::<AttachedRun>::with_capacity((2 * regions.len()).max(8));
            let bytes = more.capacity() * size_of::<AttachedRun>();
            attach(data, Span::new(more.as_mut_ptr().cast(), bytes as u64))?;
            old = Some(std::mem::replace(&mut known.table, more));
        }
        known.table.clear();
        known.table.extend_from_slice(regions);
        self.window.sync()?;
        let head = [known.changes + 1, regions.len() as u64, known.table.as_ptr() as u64];
        if let Err(refusal) = write_now(heads, own, 0, bytemuck::bytes_of(&head)) {
            // Other ranks have the address of a table that is not there any more.
            give_up(&refusal);
        }
        known.changes += 1;
        match old.filter(|old| old.capacity() != 0) {
            Some(mut old) => detach(data, old.as_mut_ptr().cast()),
            None => Ok(()),
        }
    }
}
