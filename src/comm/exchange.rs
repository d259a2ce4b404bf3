//! One chunk through the staging area: every rank stages its own, all pass a barrier, and each may read
//! all.

use super::Comm;
use super::Inner;
use super::description::{Description, GUARDED};
use super::rounds::CollectiveEntry;
use crate::call::Call;
use crate::datatype::Element;
use crate::error::{Error, MismatchKind, Result};
use crate::group::Rank;
use crate::shm::{STAGE_INSIDE, STAGE_REST, Segment, StagingBuffer, StagingSlot};
use bytemuck::Zeroable;
use std::ops::Range;
use std::panic::Location;
use std::sync::{MutexGuard, PoisonError, TryLockError};
use std::thread::ThreadId;

/// Bytes of a description.
pub(super) const DESCRIBED: usize = size_of::<Description>();
/// Bytes of one contribution to one barrier.
pub(crate) const CHUNK: usize = STAGE_REST as usize;
/// Contributions of that many bytes lie beside their descriptions.
pub(super) const INSIDE: usize = STAGE_INSIDE as usize;
/// Elements of `T` that fit a chunk.
const fn chunk_elements<T>() -> usize {
    CHUNK / size_of::<T>()
}

pub(super) fn damaged() -> Error {
    Error::Damaged { what: "what a rank has staged for the others" }
}

/// A collective in progress: the right to exchange on the communicator. One thread of a rank has it, from
/// the first chunk of a call to the last.
pub(crate) struct Collective<'a> {
    pub(super) comm: &'a Comm,
    pub(super) call: Call,
    /// The program's line that made the call.
    at: &'static Location<'static>,
    /// The slot of its latest exchange.
    entry: Option<CollectiveEntry>,
    _collective_lock: MutexGuard<'a, ()>,
}

impl<'a> Collective<'a> {
    /// Begins a collective; no other may be in progress on this rank.
    pub(crate) fn begin(
        comm: &'a Comm,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<Collective<'a>> {
        let collective_lock = match comm.inner.collective_lock.try_lock() {
            Ok(collective_lock) => Some(collective_lock),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        match collective_lock.filter(|_| !CollectiveEntry::is_one_alone(comm)) {
            Some(collective_lock) => Ok(Collective::begun(comm, call, at, collective_lock)),
            None => {
                let problem = "another collective of this rank is under way on the communicator";
                Err(comm.problem(call, problem))
            }
        }
    }

    /// [`Collective::begin`] that waits for a collective of another thread: for the calls of a window, which
    /// are independent of those of its communicator.
    pub(crate) fn begin_patiently(
        comm: &'a Comm,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<Collective<'a>> {
        if *comm.inner.thread_inside() == Some(std::thread::current().id()) {
            let problem = "a collective of this thread is under way on the communicator";
            return Err(comm.problem(call, problem));
        }
        let collective_lock =
            comm.inner.collective_lock.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Collective::begun(comm, call, at, collective_lock))
    }

    fn begun(
        comm: &'a Comm,
        call: Call,
        at: &'static Location<'static>,
        collective_lock: MutexGuard<'a, ()>,
    ) -> Collective<'a> {
        *comm.inner.thread_inside() = Some(std::thread::current().id());
        Collective { comm, call, at, entry: None, _collective_lock: collective_lock }
    }
}

impl Inner {
    /// The thread whose collective is in progress.
    fn thread_inside(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.thread_inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Collective<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.entry.take() {
            entry.leave(self.comm);
        }
        *self.comm.inner.thread_inside() = None;
    }
}

impl<'a> Collective<'a> {
    pub(crate) fn comm(&self) -> &'a Comm {
        self.comm
    }

    pub(crate) fn call(&self) -> Call {
        self.call
    }

    /// The program's line that made the call.
    pub(crate) fn at(&self) -> &'static Location<'static> {
        self.at
    }
}

impl Collective<'_> {
    /// Stages `mine` (at most a chunk), passes the barrier, and checks that all ranks agree.
    ///
    /// Blocks until every rank has staged its chunk.
    pub(super) fn exchange(&mut self, what: &Description, mine: &[u8]) -> Result<Staged<'_>> {
        let (comm, call, at) = (self.comm, self.call, self.at);
        if comm.inner.shared.is_none() {
            let Some(foreign) = comm.foreign() else { return Ok(Staged::of_one(comm, mine)) };
            let staged = Staged::by_foreign(comm, foreign, what, mine)?;
            staged.check(what)?;
            return Ok(staged);
        }
        self.entry.take().into_iter().for_each(|entry| entry.leave(comm));
        let entry = self.entry.insert(CollectiveEntry::start_waiting(comm, call, at)?);
        CollectiveEntry::settle(comm, entry.number, call, at)?;
        let mine = &mine[..mine.len().min(CHUNK)];
        let guarded = what.guarding(mine);
        let write = |segment: &Segment, offset| segment.mapping().write(offset, mine);
        entry.publish_clock(comm, at)?;
        entry.arrive(comm, &guarded, mine.len(), write)?;
        entry.await_round(comm, call, at)?;
        entry.merge_clocks(comm, 0..comm.size())?;
        let staged = entry.staged(comm);
        staged.check(what)?;
        Ok(staged)
    }

    /// Exchanges a buffer of `elements` elements in chunks, one after the other; `mine` holds this rank's
    /// elements, or fewer. `read` is called with each chunk and the range of elements in it; once also
    /// without elements, because the ranks synchronise anyway.
    fn chunks<T: Element>(
        &mut self,
        what: Description,
        elements: usize,
        mine: &[T],
        mut read: impl FnMut(&Staged<'_>, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let mut start = 0;
        loop {
            let end = elements.min(start + chunk_elements::<T>());
            let part = &mine[start.min(mine.len())..end.min(mine.len())];
            read(&self.exchange(&what, bytemuck::cast_slice(part))?, start..end)?;
            if end == elements {
                return Ok(());
            }
            start = end;
        }
    }

    /// `buffer` of the root, a rank of the communicator, replaces that of every rank.
    pub(crate) fn broadcast<T: Element>(&mut self, buffer: &mut [T], root: Rank) -> Result<()> {
        let what = Description::of::<T>(self.call, buffer.len()).root(root);
        if self.comm.rank() == root {
            return self.chunks(what, buffer.len(), buffer, |_, _| Ok(()));
        }
        self.chunks::<T>(what, buffer.len(), &[], |staged, chunk| {
            staged.read(root.0, &mut buffer[chunk])
        })
    }

    /// The contributions of all ranks, of equal length, in rank order.
    pub(crate) fn allgather<T: Element>(&mut self, mine: &[T]) -> Result<Vec<T>> {
        let what = Description::of::<T>(self.call, mine.len());
        let mut all = vec![T::zeroed(); mine.len() * self.comm.ranks().len()];
        self.chunks(what, mine.len(), mine, |staged, chunk| {
            for rank in 0..staged.comm.size() {
                let start = rank as usize * mine.len();
                staged.read(rank, &mut all[start + chunk.start..start + chunk.end])?;
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// The words that each rank contributes, read where they were staged. Of a list, which is as long as the
    /// job is large, the allocator would keep the memory.
    pub(crate) fn gather<const N: usize>(&mut self, mine: &[u64; N]) -> Result<Gathered<'_, N>> {
        const { assert!(N <= chunk_elements::<u64>()) };
        let what = Description::of::<u64>(self.call, N);
        let staged = self.exchange(&what, bytemuck::cast_slice(mine))?;
        if staged.comm.inner.shared.is_none() {
            // What has been read once can be read again.
            (0..staged.comm.size()).try_for_each(|rank| staged.read(rank, &mut [0; N]))?;
        }
        Ok(Gathered(staged))
    }

    /// Refuses a call of this rank, after it has arrived with the others, which would wait for ever
    /// otherwise. They get an error, too, because this rank stages something else.
    pub(super) fn refuse(&mut self, what: Description, error: Error) -> Error {
        // Whatever the others do, this rank reports its own error.
        let _ = self.exchange(&what.refused(), &[]);
        error
    }
}

/// The staged chunks of all ranks, until this rank arrives at the next barrier but one of the slot.
pub(crate) struct Staged<'a> {
    pub(super) comm: &'a Comm,
    /// The number of the collective.
    pub(super) number: u64,
    /// What its ranks publish when they have staged.
    pub(super) round: u32,
    /// The chain that this rank has staged, or zero.
    pub(super) chain: u32,
    /// What the only rank of a communicator has staged, or all ranks under another MPI.
    pub(super) alone: Vec<u8>,
    /// In the latter case, the bytes of each rank there, description included; otherwise zero.
    pub(super) stride: usize,
}

/// What each rank has contributed to [`Collective::gather`], until the next exchange.
pub(crate) struct Gathered<'a, const N: usize>(Staged<'a>);

impl<const N: usize> Gathered<'_, N> {
    /// The words of each rank. Zeros where a rank has damaged them meanwhile.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = [u64; N]> + Clone {
        let Gathered(staged) = self;
        let mapping = staged.segment().mapping();
        // The chunks of equal length are at one distance.
        let chunks = staged.comm.inner.shared.as_ref().map(|shared| {
            let chunk = |rank| shared.chunk(staged.stage(rank), 8 * N as u64, staged.number);
            let [first, second] = [0, 1].map(chunk);
            (first, second - first)
        });
        (0..staged.comm.size()).map(move |rank| {
            let mut words = [0u64; N];
            let read = match chunks {
                Some((first, distance)) => {
                    let from = first + u64::from(rank) * distance;
                    mapping.read(from, bytemuck::cast_slice_mut(&mut words[..]))
                }
                None => staged.read(rank, &mut words),
            };
            read.map_or([0; N], |()| words)
        })
    }
}

impl<'a> Staged<'a> {
    fn of_one(comm: &'a Comm, mine: &[u8]) -> Staged<'a> {
        Staged { comm, number: 0, round: 0, chain: 0, alone: mine.to_vec(), stride: 0 }
    }
}

impl Staged<'_> {
    /// What a rank has staged with its chunk.
    #[inline]
    pub(super) fn description(&self, rank: u32) -> Result<Description> {
        if let Some(shared) = &self.comm.inner.shared {
            return Ok(Description::staged_in(shared.slot(self.stage(rank))));
        }
        let mut description = Description::zeroed();
        self.fetch_staged(rank, 0, bytemuck::bytes_of_mut(&mut description))?;
        Ok(description)
    }

    #[inline]
    fn stage(&self, rank: u32) -> StagingBuffer {
        StagingBuffer { rank, number: self.number }
    }

    /// Whether a rank has staged for this collective. One that comes out of a damaged barrier too early
    /// finds an older number.
    #[inline]
    fn check_published(&self, rank: u32) -> Result<()> {
        let Some(shared) = &self.comm.inner.shared else { return Ok(()) };
        let published = shared.slot(self.stage(rank)).published.load();
        if published == self.round { Ok(()) } else { Err(damaged()) }
    }

    /// Whether all ranks call the same, as `ours` describes it.
    #[inline]
    pub(crate) fn check(&self, ours: &Description) -> Result<()> {
        let is_like = |slot: &StagingSlot| self.is_chained(slot) || ours.is_plainly_in(slot);
        if self.holds_of_others(is_like) { Ok(()) } else { self.check_all(ours) }
    }

    /// Whether all ranks have the chain of this one.
    pub(super) fn is_chain_of_all(&self) -> bool {
        self.holds_of_others(|slot| self.is_chained(slot))
    }

    /// Whether a rank has made the same calls up to this one, by its chain alone.
    #[inline]
    fn is_chained(&self, slot: &StagingSlot) -> bool {
        self.chain != 0 && Description::link_in(slot) == self.chain
    }

    /// Whether all other ranks have staged for this collective, and `holds` of what each has.
    #[inline]
    fn holds_of_others(&self, holds: impl Fn(&StagingSlot) -> bool) -> bool {
        let Some(shared) = &self.comm.inner.shared else { return false };
        let own = self.comm.rank().0;
        let is_known = |slot: &StagingSlot| slot.published.load() == self.round && holds(slot);
        shared.slots(self.number).iter().zip(0..).all(|(slot, rank)| rank == own || is_known(slot))
    }

    #[inline(never)]
    fn check_all(&self, ours: &Description) -> Result<()> {
        let own = self.comm.rank().0;
        let (mut sent, mut received) = ours.pairs();
        for other in (0..self.comm.size()).filter(|other| *other != own) {
            self.check_published(other)?;
            let theirs = self.description(other)?;
            if !theirs.is_like(ours) {
                return self.compare(ours);
            }
            let (sends, receives) = theirs.pairs();
            (sent, received) = (sent.wrapping_add(sends), received.wrapping_add(receives));
            if theirs.is_guarding() {
                self.check_guard(other, &theirs)?;
            }
        }
        if sent == received { Ok(()) } else { self.compare(ours) }
    }

    /// Whether one other rank, which has staged, calls the same.
    #[inline]
    pub(crate) fn check_with(&self, other: u32, ours: &Description) -> Result<()> {
        if let Some(shared) = &self.comm.inner.shared
            && self.is_chained(shared.slot(self.stage(other)))
        {
            return Ok(());
        }
        let theirs = self.description(other)?;
        if theirs.is_like(ours) { Ok(()) } else { self.compare_with(other, &theirs, ours) }
    }

    #[cold]
    fn compare_with(&self, other: u32, theirs: &Description, ours: &Description) -> Result<()> {
        let Err(kind) = ours.joined(theirs) else { return Ok(()) };
        let at = self.comm.place(ours.call());
        let (ours, theirs) = (ours.sentence(), theirs.sentence());
        Err(Error::Mismatch { at, kind, ours, other: Rank(other), theirs })
    }

    /// What this rank itself has staged.
    pub(super) fn own(&self) -> Result<Description> {
        self.description(self.comm.rank().0)
    }

    /// [`Staged::check`] where not all descriptions are alike.
    #[cold]
    fn compare(&self, ours: &Description) -> Result<()> {
        let (comm, ranks) = (self.comm, self.comm.size());
        (0..ranks).try_for_each(|rank| self.check_published(rank))?;
        let all = (0..ranks).map(|rank| self.description(rank)).collect::<Result<Vec<_>>>()?;
        let mut found = Description::disagreement(&all, comm.rank().0);
        let sum = |of: fn(&Description) -> u64| all.iter().map(of).fold(0, u64::wrapping_add);
        if found.is_none() && sum(|one| one.pairs().0) != sum(|one| one.pairs().1) {
            found = Some((MismatchKind::Length, ours.partner(comm.rank().0, ranks)));
        }
        let Some((kind, other)) = found else { return Ok(()) };
        Err(Error::Mismatch {
            at: comm.place(ours.call()),
            kind,
            ours: ours.sentence(),
            other: Rank(other),
            theirs: all[other as usize].sentence(),
        })
    }

    /// Checks that a short chunk is what its rank has staged.
    fn check_guard(&self, rank: u32, theirs: &Description) -> Result<()> {
        let mut chunk = [0; GUARDED];
        let Some(chunk) = chunk.get_mut(..theirs.length as usize) else {
            return Err(damaged());
        };
        self.bytes(rank, 0, chunk)?;
        if theirs.vouches_for(chunk) { Ok(()) } else { Err(damaged()) }
    }

    /// Copies the first elements of the chunk that `rank` staged.
    fn read<T: Element>(&self, rank: u32, to: &mut [T]) -> Result<()> {
        self.bytes(rank, 0, bytemuck::cast_slice_mut(to))
    }

    /// Copies from byte `first` on of the chunk that `rank` staged.
    pub(crate) fn bytes(&self, rank: u32, first: usize, to: &mut [u8]) -> Result<()> {
        if self.comm.inner.shared.is_some() {
            let from = self.place(rank, first as u64, to.len() as u64)?;
            return self.comm.context().segment.mapping().read(from, to);
        }
        if self.stride == 0 {
            to.copy_from_slice(&self.alone[first..first + to.len()]);
            return Ok(());
        }
        self.fetch_staged(rank, DESCRIBED as u64 + first as u64, to)
    }

    /// Whether another MPI has transferred it.
    pub(crate) fn is_foreign(&self) -> bool {
        self.stride != 0
    }

    pub(crate) fn segment(&self) -> &Segment {
        &self.comm.context().segment
    }

    /// Whether every contribution is complete.
    pub(crate) fn is_whole(&self) -> Result<bool> {
        for rank in 0..self.comm.size() {
            if u64::from(self.description(rank)?.length) > self.comm.longest_staged() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// All ranks have arrived at a long collective and agree. If all have called [`Comm::take_longs`] there, they have
    /// buffers for longer data from now on.
    pub(crate) fn learn_longs(&self) -> Result<()> {
        let shared = self.comm.shared()?;
        for rank in 0..self.comm.size() {
            if !self.description(rank)?.has_longs() {
                return Ok(());
            }
        }
        shared.learn_longs(self.segment());
        Ok(())
    }

    /// Where bytes of a chunk are in the segment.
    #[inline]
    pub(crate) fn place(&self, rank: u32, first: u64, bytes: u64) -> Result<u64> {
        let shared = self.comm.shared()?;
        let stage = self.stage(rank);
        let length = Description::length_in(shared.slot(stage));
        if first + bytes > u64::from(length).min(shared.longest()) {
            return Err(damaged());
        }
        let buffer = Description::buffer_in(shared.slot(stage));
        Ok(first + shared.chunk(stage, length.into(), buffer))
    }
}
