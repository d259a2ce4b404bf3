//! Windows of bytes in the other MPI's memory (module head, invariants 1 to 4).

use super::abi::{self, Handle};
use super::attached::AttachedTables;
use super::flight::{Effect, Flight};
use super::library::{
    ForeignPart, ForeignSource, add_to_word, all_flushed, allocate, allocate_shared, called,
    create, create_dynamic, flushed, is_unified, shared_base,
};
use super::lock::RemoteLock;
use super::{ForeignComm, ForeignError, ForeignResult};
use crate::prim::Word32;
use crate::shm::Span;
use crate::sync::LockType;
use std::ffi::c_int;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The tags of messages without data.
const POST: c_int = 1;
const COMPLETE: c_int = 2;

/// Copies between two that let the other MPI make progress.
const COPIES: u32 = 1024;

/// Where the parts of the other MPI's memory begin in this process; null if they are not there. The spans have no
/// length.
fn shared_bases(
    comm: &ForeignComm,
    window: Handle,
    source: &ForeignSource,
) -> ForeignResult<Box<[Span]>> {
    let base = |rank| match source {
        ForeignSource::Shared { .. } => shared_base(window, rank),
        // It need not know that.
        _ => Ok(shared_base(window, rank).unwrap_or(std::ptr::null_mut())),
    };
    let has_some = !matches!(source, ForeignSource::Given(_) | ForeignSource::Nothing);
    let ranks = 0..if has_some { comm.size } else { 0 };
    ranks.map(|rank| Ok(Span::new(base(rank)?, 0))).collect()
}

/// A window of the other MPI, in lock_all until it is freed, with its locks and communicator.
pub(crate) struct ForeignWindow {
    pub(super) data: Handle,
    /// The window for locks, with a word at each rank, in lock_all; and how many this rank has.
    locks: Handle,
    locked: Word32,
    /// The window with the notification counters, in lock_all, if any rank has some.
    notices: Option<Handle>,
    /// What is attached, if it is dynamic.
    pub(super) tables: Option<AttachedTables>,
    /// Of this window alone.
    pub(super) comm: ForeignComm,
    /// The own memory.
    own: Span,
    /// The parts of all ranks, in this process; empty where they are not there, and none of given memory.
    shared: Box<[Span]>,
    /// For each rank, the bytes of the other MPI's memory before its part.
    before: Box<[u64]>,
    /// What is under way to each part. Locked from the beginning of an operation to the end of its call,
    /// and while its part is flushed, so that a thread that meets a flush has its operations complete too.
    flights: Box<[Mutex<Flight>]>,
    /// For each rank, 1 while operations on its part are under way, so that others need not lock its flight to see that.
    /// What another thread has begun counts once the program has synchronised with it.
    under_way: Box<[Word32]>,
    /// Puts and gets that were copies.
    copies: Word32,
}

impl ForeignWindow {
    /// Creates a window with that part of this rank and as many notification counters; `None` if no rank has
    /// any. Collective; blocks until every rank has called it. Every rank gets the window, or none does.
    pub(crate) fn make(
        over: &ForeignComm,
        part: ForeignPart,
        counters: Option<u64>,
    ) -> ForeignResult<ForeignWindow> {
        let comm = over.dup()?;
        let made = ForeignWindow::made(comm, part, counters);
        if !comm.all_agree(made.is_ok())? {
            // The incomplete window stays until the job ends, because freeing it needs all ranks.
            return Err(made.err().unwrap_or_else(ForeignError::elsewhere));
        }
        let mut window = made?;
        let mine = [window.before[comm.rank as usize], window.own.len()];
        let mut all = vec![[0u64; 2]; window.before.len()];
        comm.allgather(bytemuck::bytes_of(&mine), bytemuck::cast_slice_mut(&mut all))?;
        window.before = all.iter().map(|[before, _]| *before).collect();
        let mut end = std::ptr::null_mut::<u8>();
        for (shared, [before, bytes]) in window.shared.iter_mut().zip(all) {
            *shared = match (shared.base(), bytes) {
                // The other MPI gives it no address; in one run it has that of the next part.
                (_, 0) => Span::new(end, 0),
                (base, _) if base.is_null() => Span::nothing(),
                (base, _) => Span::new(base.wrapping_add(before as usize), bytes),
            };
            end = shared.base().wrapping_add(shared.len() as usize);
        }
        Ok(window)
    }

    /// This rank's half of [`ForeignWindow::make`].
    fn made(
        comm: ForeignComm,
        part: ForeignPart,
        counters: Option<u64>,
    ) -> ForeignResult<ForeignWindow> {
        let (data, own, before) = match part.0 {
            ForeignSource::Given(own) => (create(&comm, own)?, own, 0),
            ForeignSource::New { bytes, align } => allocate(&comm, bytes, align)?,
            ForeignSource::Shared { bytes, align } => allocate_shared(&comm, bytes, align)?,
            ForeignSource::Nothing => (create_dynamic(&comm)?, Span::nothing(), 0),
        };
        let is_dynamic = matches!(part.0, ForeignSource::Nothing);
        let tables = is_dynamic.then(|| AttachedTables::make(&comm)).transpose()?;
        let shared = shared_bases(&comm, data, &part.0)?;
        let (locks, ..) = allocate(&comm, size_of::<u64>() as u64, 0)?;
        let word = size_of::<u64>() as u64;
        let notices = counters.map(|n| allocate(&comm, n * word, 0)).transpose()?;
        let notices = notices.map(|(notices, ..)| notices);
        if !is_unified(data)? {
            let text = "its windows are not in the unified memory model".into();
            return Err(ForeignError { class: 55, text });
        }
        let heads = tables.as_ref().map(|tables: &AttachedTables| tables.heads);
        for window in [data, locks].into_iter().chain(notices).chain(heads) {
            called(|mpi| (mpi.lock_all)(abi::MODE_NOCHECK, window))?;
        }
        let before = vec![before; comm.size as usize].into();
        let flights = (0..comm.size).map(|_| Mutex::default()).collect();
        let under_way = (0..comm.size).map(|_| Word32::default()).collect();
        let window = ForeignWindow {
            data,
            locks,
            locked: Word32::default(),
            notices,
            tables,
            comm,
            own,
            shared,
            before,
            flights,
            under_way,
            copies: Word32::default(),
        };
        window.sync()?;
        Ok(window)
    }

    /// `MPI_Win_free`: the last call. Collective; blocks until every rank has called it.
    pub(crate) fn free(&self) -> ForeignResult<()> {
        let heads = self.tables.as_ref().map(|tables| tables.heads);
        let windows = || [self.data, self.locks].into_iter().chain(self.notices).chain(heads);
        windows().try_for_each(|window| called(|mpi| (mpi.unlock_all)(window)))?;
        (0..self.comm.size).for_each(|rank| self.flight(rank).land());
        for mut window in windows() {
            called(|mpi| (mpi.win_free)(&mut window))?;
        }
        let _ = self.tables.as_ref().map(|tables| tables.freed(self.comm.rank));
        self.comm.free()
    }

    /// The own memory, in which this rank's operations are complete.
    pub(crate) fn own(&self) -> Span {
        self.complete_at(self.comm.rank);
        self.own
    }

    /// The same of any rank of the window; no bytes if that shares no memory with this one.
    pub(crate) fn shared(&self, rank: u32) -> Span {
        self.complete_at(rank);
        self.shared.get(rank as usize).copied().unwrap_or_else(Span::nothing)
    }

    /// The first rank with bytes there.
    pub(crate) fn first_shared(&self) -> Option<u32> {
        self.shared.iter().position(|part| part.len() != 0).map(|rank| rank as u32)
    }

    /// The displacement of byte `at` of the part of `rank` in the other MPI's memory.
    pub(super) fn place(&self, rank: u32, at: u64) -> isize {
        (self.before[rank as usize] + at) as isize
    }

    // Completion (invariants 1 and 2).

    fn flight(&self, rank: u32) -> MutexGuard<'_, Flight> {
        self.flights[rank as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of `rank`, if it is addressed in this process; otherwise no bytes. Puts and gets are copies there.
    pub(crate) fn near(&self, rank: u32) -> Span {
        match self.shared.get(rank as usize) {
            // Intel MPI 2021.19 has no address even of this one, in a window by `allocate`.
            _ if rank == self.comm.rank => self.own,
            Some(part) => *part,
            None => Span::nothing(),
        }
    }

    /// Whether no operation of this rank on the part of `rank`, a rank of the window, is under way.
    #[inline]
    pub(crate) fn is_settled(&self, rank: u32) -> bool {
        self.under_way[rank as usize].load() == 0
    }

    /// A put or a get is about to be a copy. A program that looks for a value by nothing else also lets the other MPI
    /// make progress now and then.
    #[inline]
    pub(crate) fn count_copy(&self) {
        let copies = self.copies.load().wrapping_add(1);
        self.copies.store(copies);
        if copies.is_multiple_of(COPIES) {
            self.comm.help();
        }
    }

    /// Begins an operation on those bytes of the part of `rank`.
    pub(super) fn begin(
        &self,
        rank: u32,
        runs: &[Range<u64>],
        access: Effect,
        bytes: usize,
    ) -> MutexGuard<'_, Flight> {
        let mut flight = self.flight(rank);
        if !flight.admits(runs, access, bytes) {
            self.land(rank, &mut flight);
        }
        flight
    }

    /// Adds an operation that has begun.
    pub(super) fn add(
        &self,
        rank: u32,
        flight: &mut Flight,
        runs: &[Range<u64>],
        access: Effect,
        bytes: usize,
    ) {
        flight.add(runs, access, bytes);
        self.under_way[rank as usize].store(1);
    }

    /// Completes the operations on the part of `rank`.
    pub(super) fn land(&self, rank: u32, flight: &mut Flight) {
        flushed(self.data, rank as c_int);
        self.landed(rank, flight);
    }

    /// Records that the operations on the part of `rank` are complete.
    fn landed(&self, rank: u32, flight: &mut Flight) {
        flight.land();
        self.under_way[rank as usize].store(0);
    }

    /// Completes the operations on the part of `rank`, if any are under way. A number that is no rank has
    /// no part.
    pub(crate) fn complete_at(&self, rank: u32) {
        if rank < self.comm.size && !self.is_settled(rank) {
            let mut flight = self.flight(rank);
            if !flight.is_empty() {
                self.land(rank, &mut flight);
            }
        }
    }

    /// [`ForeignWindow::complete_at`] for all parts.
    pub(crate) fn complete_all(&self) {
        self.complete_each(0..self.comm.size);
    }

    /// [`ForeignWindow::complete_at`] for several ranks of the window, together.
    fn complete_each(&self, ranks: impl Iterator<Item = u32>) {
        let mut ranks: Vec<u32> = ranks.filter(|rank| !self.is_settled(*rank)).collect();
        if let [rank] = ranks[..] {
            self.complete_at(rank);
        } else if !ranks.is_empty() {
            // Threads lock them in one order.
            ranks.sort_unstable();
            let flights: Vec<_> = ranks.iter().map(|rank| (*rank, self.flight(*rank))).collect();
            all_flushed(self.data);
            flights.into_iter().for_each(|(rank, mut flight)| self.landed(rank, &mut flight));
        }
    }

    /// Returns when the part of `rank` has had more landings than those.
    pub(super) fn await_landing(&self, rank: u32, landings: u64) {
        let mut flight = self.flight(rank);
        if flight.landings == landings {
            self.land(rank, &mut flight);
        }
    }

    // Notification.

    /// Completes the operations on the part of `rank`, and adds one to a counter that it has.
    pub(crate) fn count(&self, rank: u32, counter: u32) -> ForeignResult<()> {
        self.complete_at(rank);
        self.order()?;
        self.notices
            .map_or(Ok(0), |notices| add_to_word(notices, rank, counter.into(), 1))
            .map(drop)
    }

    /// How often a counter of this rank was counted; what was complete before can be read.
    pub(crate) fn counted(&self, counter: u32) -> ForeignResult<u64> {
        let (rank, index) = (self.comm.rank, counter.into());
        let come = self.notices.map_or(Ok(0), |notices| add_to_word(notices, rank, index, 0))?;
        self.sync()?;
        Ok(come)
    }

    // Synchronisation.

    /// `MPI_Win_sync`, with progress of the other MPI.
    pub(crate) fn sync(&self) -> ForeignResult<()> {
        self.comm.help();
        self.order()
    }

    /// `MPI_Win_sync`: orders this rank's copies to and from memory that it shares (MPI-4.1 §12.5.4) and its messages.
    fn order(&self) -> ForeignResult<()> {
        called(|mpi| (mpi.sync)(self.data))
    }

    /// An allgather of one byte from each rank; returns them in rank order.
    pub(crate) fn fence(&self, mine: u8) -> ForeignResult<Vec<u8>> {
        let mut all = vec![0; self.comm.size as usize];
        self.complete_all();
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
        targets.iter().try_for_each(|target| self.comm.hear(*target, POST))?;
        self.order()
    }

    /// Completes the operations on `targets`, and sends a complete to each of them.
    pub(crate) fn complete(&self, targets: &[u32]) -> ForeignResult<()> {
        self.complete_each(targets.iter().copied());
        self.order()?;
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

    /// Locks the part of `rank`; blocks while another holds a lock that excludes it. Meanwhile this rank makes
    /// progress.
    pub(crate) fn lock(&self, lock: LockType, rank: u32) -> ForeignResult<()> {
        self.take(lock, rank)?;
        self.sync()
    }

    fn take(&self, lock: LockType, rank: u32) -> ForeignResult<()> {
        RemoteLock { window: self.locks, rank, index: 0 }.take(lock, self.locked.load() == 0)?;
        self.locked.fetch_add(1);
        self.flight(rank).lock = Some(lock);
        Ok(())
    }

    /// Completes the operations on the part of `rank`, and unlocks it, unless its lock was only asserted.
    pub(crate) fn unlock(&self, rank: u32) -> ForeignResult<()> {
        self.complete_at(rank);
        self.sync()?;
        self.release(rank)
    }

    fn release(&self, rank: u32) -> ForeignResult<()> {
        let lock = self.flight(rank).lock.take();
        lock.map_or(Ok(()), |lock| {
            self.locked.fetch_sub(1);
            RemoteLock { window: self.locks, rank, index: 0 }.release(lock)
        })
    }

    /// Locks all parts, shared, one after another.
    pub(crate) fn lock_all(&self) -> ForeignResult<()> {
        (0..self.comm.size).try_for_each(|rank| self.take(LockType::Shared, rank))?;
        self.sync()
    }

    pub(crate) fn unlock_all(&self) -> ForeignResult<()> {
        self.complete_all();
        self.sync()?;
        (0..self.comm.size).try_for_each(|rank| self.release(rank))
    }
}
