//! One chunk through the staging buffers: every rank stages, all meet, all may read all.

use super::reduction::sealed::OpKind;
use super::{Comm, Meeting};
use crate::call::Call;
use crate::datatype::{Datatype, Element};
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::op::Op;
use crate::prim::{Awaited, AwaitedKind, JobFailed, WaitRecord};
use crate::shm::{STAGE_BYTES, Stage};
use crate::sync::{self, BarrierWords, Round};
use bytemuck::{Pod, Zeroable};
use std::ops::Range;
use std::panic::Location;
use std::sync::{MutexGuard, PoisonError, TryLockError};
use std::thread::ThreadId;

/// Describes the call that a chunk belongs to; all ranks must stage the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Description {
    call: u32,
    root: u32,
    /// Number of the operation plus one, or zero.
    op: u32,
    /// Number of the datatype plus one, or zero.
    datatype: u32,
    /// Elements of the call's buffer, which must be as many on every rank; or [`ANY_LENGTH`].
    elements: u64,
    /// Chunks of this call before this one.
    chunk: u64,
    /// A digest of the counts, which must be the same on every rank; or [`REFUSED`]; or zero.
    detail: u64,
    /// Of a short chunk its bytes and a digest of them, which differ from rank to rank ([`guard`]).
    guard: u64,
    /// Which meeting of the communicator it was staged for: a rank that comes out of a damaged
    /// barrier too early finds an older one.
    round: u64,
}

pub(super) const HEAD: u64 = size_of::<Description>() as u64;
/// Payload bytes of one chunk.
pub(super) const CHUNK: usize = (STAGE_BYTES - HEAD) as usize;
/// Numbers of operations from here on are user functions.
const USER_OPS: u32 = 1000;
/// Chunks up to here are guarded: what the library itself tells the other ranks (offsets, sizes,
/// process numbers) is that short, and nobody else checks it.
const GUARDED: usize = 512;
/// The elements of a call whose buffers may differ in length.
const ANY_LENGTH: u64 = u64::MAX;
/// The detail of a call that this rank refuses.
const REFUSED: u64 = u64::MAX;

const REFUSAL: &str = " with arguments that it is refused for";

/// Whether the data of a collective are the caller's.
fn has_data(call: Call) -> bool {
    let within = |first: Call, last: Call| (first as u32..=last as u32).contains(&(call as u32));
    within(Call::Broadcast, Call::Allreduce) || within(Call::Gatherv, Call::Exscan)
}

/// Elements of `T` that fit a chunk.
pub(super) const fn chunk_elements<T>() -> usize {
    CHUNK / size_of::<T>()
}

impl Description {
    /// A call without data.
    pub(super) fn bare(call: Call) -> Self {
        Description { call: call as u32, ..Description::zeroed() }
    }

    /// A call with buffers of `T` whose lengths may differ from rank to rank.
    pub(super) fn typed<T: Element>(call: Call) -> Self {
        let datatype = T::DATATYPE as u32 + 1;
        Description { datatype, elements: ANY_LENGTH, ..Description::bare(call) }
    }

    /// A call with a buffer of `elements` elements of type `T`.
    pub(super) fn of<T: Element>(call: Call, elements: usize) -> Self {
        Description { elements: elements as u64, ..Description::typed::<T>(call) }
    }

    pub(super) fn root(self, root: Rank) -> Self {
        Description { root: root.0, ..self }
    }

    pub(super) fn op(self, op: OpKind) -> Self {
        let op = match op {
            OpKind::Predefined(op) => op as u32 + 1,
            OpKind::User { commutative } => USER_OPS + u32::from(commutative),
        };
        Description { op, ..self }
    }

    pub(super) fn counts(self, counts: &[usize]) -> Self {
        let digest = hash(counts.iter().map(|count| *count as u64)) >> 1;
        Description { detail: digest, ..self }
    }

    /// As it is staged with the chunk `mine`, in that meeting.
    pub(super) fn guarding(&self, mine: &[u8], round: u64) -> Self {
        Description { guard: guard(mine), round, ..*self }
    }

    fn call(&self) -> Call {
        Call::from_word(self.call).unwrap_or(Call::None)
    }

    fn sentence(&self) -> String {
        let Description { root, op, datatype, elements, chunk, detail, .. } = *self;
        let numbered = |number: u32| (number as usize).checked_sub(1);
        let mut text = self.call().to_string();
        if !has_data(self.call()) {
            // What these exchange among themselves is not what the caller has written.
            return text + if detail == REFUSED { REFUSAL } else { "" };
        }
        if let Some(datatype) = numbered(datatype).and_then(|k| Datatype::ALL.get(k)) {
            text += &match elements {
                ANY_LENGTH => format!(" of {}", datatype.name()),
                _ => format!(" of {elements} {}", datatype.name()),
            };
        }
        if op >= USER_OPS {
            text += " by a user function";
            text += if op == USER_OPS { " that is not commutative" } else { "" };
        } else if let Some(op) = numbered(op).and_then(|k| Op::ALL.get(k)) {
            text += &format!(" by {}", op.name());
        }
        if root != 0 {
            text += &format!(", root {root}");
        }
        if chunk != 0 {
            text += &format!(" (part {})", chunk + 1);
        }
        match detail {
            0 => text,
            REFUSED => text + REFUSAL,
            _ => text + &format!(" with counts (digest {detail:x})"),
        }
    }
}

/// FNV-1a, 64 bits, over whole words.
pub(super) fn hash(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, number| {
        (hash ^ number).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29)
    })
}

/// What guards a chunk: the number of its bytes, and a digest of them; zero for a long one.
fn guard(chunk: &[u8]) -> u64 {
    if chunk.len() > GUARDED {
        return 0;
    }
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    hash(chunk.chunks(8).map(word)) << 16 | chunk.len() as u64
}

pub(super) fn damaged() -> Error {
    Error::Damaged { what: "what a rank has staged for the others" }
}

/// A collective under way: the right to exchange on the communicator, which one thread of a rank
/// has at a time, from the first chunk of a call to its last.
pub(crate) struct Collective<'a> {
    pub(super) comm: &'a Comm,
    pub(super) call: Call,
    /// The program's line that made the call.
    at: &'static Location<'static>,
    meeting: MutexGuard<'a, Meeting>,
}

impl Comm {
    /// Begins a collective, for which no other may be under way on this rank.
    pub(crate) fn begin(
        &self,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<Collective<'_>> {
        let meeting = match self.inner.meeting.try_lock() {
            Ok(meeting) => meeting,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let problem = "another collective of this rank is under way on the communicator";
                return Err(self.problem(call, problem));
            }
        };
        Ok(self.begun(call, at, meeting))
    }

    /// As [`Comm::begin`], but waits for a collective of another thread: for the calls of a window,
    /// which have nothing to do with those of its communicator.
    pub(crate) fn begin_patiently(
        &self,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<Collective<'_>> {
        if *self.thread_inside() == Some(std::thread::current().id()) {
            let problem = "a collective of this thread is under way on the communicator";
            return Err(self.problem(call, problem));
        }
        let meeting = self.inner.meeting.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.begun(call, at, meeting))
    }

    fn begun<'c>(
        &'c self,
        call: Call,
        at: &'static Location<'static>,
        meeting: MutexGuard<'c, Meeting>,
    ) -> Collective<'c> {
        *self.thread_inside() = Some(std::thread::current().id());
        Collective { comm: self, call, at, meeting }
    }

    /// What a rank waits for at a barrier of all ranks that it has come to in round `before`.
    pub(crate) fn arrival(&self, words: &BarrierWords, before: Round) -> Awaited<'_> {
        let (round, come) = words.arrivals(before, self.size());
        Awaited {
            kind: AwaitedKind::Arrival,
            others: self.world_ranks(),
            come,
            awaited: self.size(),
            number: round.number().into(),
            meeting: self.context().meeting(words),
            ..Awaited::default()
        }
    }

    /// The thread whose collective is under way.
    fn thread_inside(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.inner.thread_inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Collective<'_> {
    fn drop(&mut self) {
        *self.comm.thread_inside() = None;
    }
}

impl Collective<'_> {
    /// Stages `mine` (at most a chunk), meets the others, and checks that they agree.
    ///
    /// Blocks until every rank has staged its chunk.
    pub(super) fn exchange(&mut self, what: &Description, mine: &[u8]) -> Result<Staged<'_>> {
        let comm = self.comm;
        let Some(room) = &comm.inner.room else {
            return match &comm.inner.foreign {
                Some(foreign) => self.exchange_by(foreign, what, mine),
                None => Ok(Staged { comm, odd: false, alone: mine.to_vec(), stride: 0 }),
            };
        };
        let (before, words) = (self.meeting.round, &room.words.barrier);
        let call = self.call;
        let lost = |failed| comm.rank_failed(failed, comm.place(call));
        if words.is_given_up(before) {
            // Nobody meets here any more; and others may still read what this rank staged before.
            return Err(lost(JobFailed));
        }
        let odd = self.meeting.odd;
        self.meeting.odd = !odd;
        let staged = Staged { comm, odd, alone: Vec::new(), stride: 0 };
        let context = comm.context();
        let mapping = context.segment.mapping();
        let own = || Stage { rank: comm.rank(), odd };
        let mine = &mine[..mine.len().min(CHUNK)];
        let round = u64::from(before.number());
        let guarded = what.guarding(mine, round);
        room.write(mapping, own(), 0, bytemuck::bytes_of(&guarded))?;
        room.write(mapping, own(), HEAD, mine)?;
        let tell = |record: &WaitRecord| record.say(&comm.arrival(words, before));
        let waiter = comm.telling_waiter(self.at, &tell);
        sync::collective(words, comm.size(), &mut self.meeting.round, &waiter).map_err(lost)?;
        staged.check(what, round)?;
        Ok(staged)
    }

    /// Exchanges a buffer of `elements` elements in chunks, one after the other; `mine` holds this
    /// rank's elements, or fewer. `read` is called with each chunk and the range of elements in it;
    /// also once for no elements, because the ranks meet all the same.
    pub(super) fn chunks<T: Element>(
        &mut self,
        mut what: Description,
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
            what.chunk += 1;
            start = end;
        }
    }

    /// Refuses a call of this rank, but not without meeting the others: they would wait for ever.
    /// They get an error too, because what is staged here differs from what they stage.
    pub(super) fn refuse(&mut self, what: Description, error: Error) -> Error {
        // Whatever the others do, this rank's own fault is what it is told.
        let _ = self.exchange(&Description { detail: REFUSED, ..what }, &[]);
        error
    }
}

/// The staged chunks of all ranks, until this rank exchanges again.
pub(super) struct Staged<'a> {
    pub(super) comm: &'a Comm,
    pub(super) odd: bool,
    /// What the only rank of a communicator has staged, or all ranks, if another MPI has brought it.
    pub(super) alone: Vec<u8>,
    /// In that case, how many bytes each rank has there, description included; else zero.
    pub(super) stride: usize,
}

impl Staged<'_> {
    pub(super) fn check(&self, ours: &Description, round: u64) -> Result<()> {
        for other in 0..self.comm.size() {
            let mut theirs = Description::zeroed();
            self.copy(other, 0, bytemuck::bytes_of_mut(&mut theirs))?;
            let guarded = std::mem::take(&mut theirs.guard);
            if std::mem::take(&mut theirs.round) != round {
                return Err(damaged());
            }
            if theirs == *ours {
                self.check_guard(other, guarded)?;
            } else {
                return Err(Error::Mismatch {
                    at: self.comm.place(ours.call()),
                    ours: ours.sentence(),
                    other,
                    theirs: theirs.sentence(),
                });
            }
        }
        Ok(())
    }

    /// Checks that a short chunk is what its rank has staged.
    fn check_guard(&self, rank: u32, guarded: u64) -> Result<()> {
        if guarded == 0 {
            return Ok(());
        }
        let mut chunk = [0; GUARDED];
        let Some(chunk) = chunk.get_mut(..(guarded & 0xFFFF) as usize) else {
            return Err(damaged());
        };
        self.copy(rank, HEAD, chunk)?;
        if guard(chunk) == guarded { Ok(()) } else { Err(damaged()) }
    }

    /// Copies from element `first` on of the chunk that `rank` staged.
    pub(super) fn read<T: Element>(&self, rank: u32, first: usize, to: &mut [T]) -> Result<()> {
        self.bytes(rank, first * size_of::<T>(), bytemuck::cast_slice_mut(to))
    }

    /// Copies what the chunk with elements `chunk` of `rank` has of the elements from `start` on
    /// that `to` is to hold.
    pub(super) fn read_part<T: Element>(
        &self,
        rank: u32,
        chunk: Range<usize>,
        start: usize,
        to: &mut [T],
    ) -> Result<()> {
        let part = chunk.start.max(start)..chunk.end.min(start + to.len());
        if part.is_empty() {
            return Ok(());
        }
        self.read(rank, part.start - chunk.start, &mut to[part.start - start..part.end - start])
    }

    /// Copies from byte `first` on of the chunk that `rank` staged.
    pub(super) fn bytes(&self, rank: u32, first: usize, to: &mut [u8]) -> Result<()> {
        if self.comm.inner.room.is_none() && self.stride == 0 {
            to.copy_from_slice(&self.alone[first..first + to.len()]);
            return Ok(());
        }
        self.copy(rank, HEAD + first as u64, to)
    }

    fn copy(&self, rank: u32, first: u64, to: &mut [u8]) -> Result<()> {
        let Some(room) = &self.comm.inner.room else { return self.brought(rank, first, to) };
        let mapping = self.comm.context().segment.mapping();
        room.read(mapping, Stage { rank, odd: self.odd }, first, to)
    }
}
