//! The memory of a window, and the seam to its three kinds: mapped into this process; private memory of
//! another process, which the kernel copies; memory of another MPI. No call above asks which.
//!
//! Everything is complete when these functions return, or, of another MPI, when a call completes it.
#![allow(unsafe_code, reason = "copies between buffers and checked target memory")]

use super::calls::Calls;
use super::dynamic::Attachments;
use super::{Communication, Flavour};
use crate::call::Call;
use crate::comm::Comm;
use crate::datatype::{Carrier, Element, Integer};
use crate::error::{Error, Result};
use crate::foreign::{self, Results};
use crate::group::Rank;
use crate::mail::scatter;
use crate::op::Op;
use crate::prim::{JobFailed, ParkWord};
use crate::shm::{
    Direction, Mapping, Part, PartOf, Parts, Piece, PlacedSlice, Process, Span, copy, is_gone,
};
use crate::sync::{RankWords, Sharing};
use bytemuck::{Zeroable, must_cast};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longer than a running launcher takes to report a failure.
const REPORTED_WITHIN: Duration = Duration::from_secs(1);

const LEFT: &str = "the rank has left the job";

/// Pieces in one request to the kernel.
const MOST_PIECES: usize = 512;

/// The parts of all ranks.
pub(crate) struct ExposedMemory {
    /// What the fast paths access.
    parts: Parts,
    /// The mapped parts of a window of an observed job, in which the fast paths find nothing.
    observed: Option<Parts>,
    unmapped: Unmapped,
    ranks: PlacedSlice<RankWords>,
    /// Where operations take effect late.
    late: Option<Arc<LateParts>>,
}

/// What an operation that takes effect late needs of its window, wherever the window's handle is then: the same
/// memory, and calls of its own.
pub(crate) struct LateParts {
    calls: Calls,
    memory: ExposedMemory,
}

impl LateParts {
    pub(crate) fn communication(&self) -> Communication<'_> {
        Communication { calls: &self.calls, memory: &self.memory }
    }
}

/// The memory that is not mapped into this process.
pub(super) enum Unmapped {
    /// All parts are mapped.
    Nothing,
    /// Parts of `MPI_Win_create`; those that are mapped are empty here.
    Private(Box<[Private]>),
    /// Memory of another MPI. The parts begin at address 0, as displacements do; those of `near` are addressed in this
    /// process, for puts and gets.
    Foreign { window: Arc<foreign::ForeignWindow>, parts: Box<[Span]>, near: Parts },
    /// The attachments of each rank.
    Dynamic(Arc<Attachments>),
}

/// Private memory of a rank, by its address in that rank's process.
#[derive(Clone)]
pub(super) struct Private {
    pub(super) span: Span,
    pub(super) process: Process,
}

/// How memory of a target is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Via {
    /// It is mapped into this process from the segment.
    Mapped,
    /// It is private memory of this process.
    Own,
    /// It is private memory of that process.
    Kernel(Process),
    /// It is another MPI's, also where it is this process's own; the address is the number of bytes
    /// from the beginning of the part.
    Foreign,
}

/// How updates of elements exclude each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Atomicity {
    /// By the machine's instructions, where it has some for such elements; otherwise by the target's
    /// exclusion.
    Instructions,
    /// By the target's exclusion.
    Exclusion,
    /// The owner of the memory updates it.
    Owner,
}

/// Bytes of a target's part that an operation may access.
pub(crate) struct Target<'w> {
    pub(crate) rank: u32,
    /// Their address in the process that `via` names.
    pub(crate) at: *mut u8,
    /// The same in bytes from the beginning of the part.
    pub(crate) start: u64,
    via: Via,
    _attached: Option<StaysAttached<'w>>,
}

/// Keeps memory of a dynamic window attached during an operation.
#[allow(dead_code, reason = "held until it is dropped")]
pub(super) enum StaysAttached<'w> {
    Here(Sharing<'w>),
    /// In another MPI's.
    Elsewhere(Box<foreign::AttachmentHold<'w>>),
}

impl<'w> Target<'w> {
    pub(super) fn new(rank: u32, at: *mut u8, start: u64, via: Via) -> Target<'w> {
        Target { rank, at, start, via, _attached: None }
    }

    /// The same, which stays attached during the operation.
    pub(super) fn attached(self, attached: StaysAttached<'w>) -> Target<'w> {
        Target { _attached: Some(attached), ..self }
    }

    /// The bytes from `by` bytes behind the beginning on. `self` keeps them attached.
    pub(crate) fn part(&self, by: i64) -> Target<'_> {
        let at = self.at.wrapping_offset(by as isize);
        let start = self.start.wrapping_add_signed(by);
        Target { at, start, _attached: None, ..*self }
    }

    /// Whether its memory is addressed in this process.
    #[inline(always)]
    pub(crate) fn is_addressed(&self) -> bool {
        matches!(self.via, Via::Mapped | Via::Own)
    }

    #[inline(always)]
    pub(crate) fn atomicity(&self) -> Atomicity {
        match self.via {
            Via::Mapped => Atomicity::Instructions,
            Via::Own | Via::Kernel(_) => Atomicity::Exclusion,
            Via::Foreign => Atomicity::Owner,
        }
    }

    /// The address as a carrier, if the elements there are updated by instructions.
    #[inline]
    pub(crate) fn native<T: Element>(&self) -> Option<*mut T::Carrier> {
        let is_aligned = (self.at as usize).is_multiple_of(size_of::<T>());
        let by_instructions = self.atomicity() == Atomicity::Instructions;
        (T::Carrier::IS_NATIVE && is_aligned && by_instructions).then_some(self.at.cast())
    }
}

impl Private {
    /// Tries whether this process may access the memory.
    pub(super) fn probe(&self) -> std::io::Result<()> {
        match self.span.len() {
            0 => Ok(()),
            bytes => self.process.probe(self.span.base(), bytes as usize),
        }
    }
}

impl Unmapped {
    /// The private part of a rank, empty if it has none.
    fn private(&self, rank: u32) -> Span {
        match self {
            Unmapped::Private(privates) => privates[rank as usize].span,
            Unmapped::Foreign { parts, .. } => parts[rank as usize],
            _ => Span::nothing(),
        }
    }

    /// The window of another MPI, if the memory is its.
    pub(super) fn foreign(&self) -> Option<&Arc<foreign::ForeignWindow>> {
        match self {
            Unmapped::Foreign { window, .. } => Some(window),
            Unmapped::Dynamic(attached) => attached.elsewhere.as_ref(),
            _ => None,
        }
    }
}

/// A rank's part, mapped or private.
pub(super) fn span_of_part(parts: &Parts, unmapped: &Unmapped, rank: u32) -> Span {
    let mapped = parts.part(rank).span;
    if mapped.len() == 0 { unmapped.private(rank) } else { mapped }
}

/// What a rank's part is.
impl ExposedMemory {
    /// `ranks` are the words of the ranks, by which accumulates exclude each other.
    pub(super) fn new(
        parts: Parts,
        unmapped: Unmapped,
        ranks: PlacedSlice<RankWords>,
        is_observed: bool,
    ) -> Result<ExposedMemory> {
        let (parts, observed) = match is_observed {
            false => (parts, None),
            true => {
                let nothing = (0..ranks.len() as u32)
                    .map(|rank| Ok(Part::new(Span::nothing(), parts.part(rank).disp_unit)));
                (Parts::collect(ranks.len() as u32, nothing)?, Some(parts))
            }
        };
        Ok(ExposedMemory { parts, observed, unmapped, ranks, late: None })
    }

    /// The same memory, where operations take effect late, with the calls and the words of the ranks that they need for
    /// that.
    pub(super) fn late(self, calls: Calls, ranks: PlacedSlice<RankWords>) -> ExposedMemory {
        let unmapped = match &self.unmapped {
            Unmapped::Private(privates) => Unmapped::Private(privates.clone()),
            Unmapped::Dynamic(attached) => Unmapped::Dynamic(attached.clone()),
            _ => Unmapped::Nothing,
        };
        let (parts, observed) = (self.parts.clone(), self.observed.clone());
        let memory = ExposedMemory { parts, observed, unmapped, ranks, late: None };
        ExposedMemory { late: Some(Arc::new(LateParts { calls, memory })), ..self }
    }

    /// What an operation needs that takes effect late, if they do.
    pub(crate) fn late_parts(&self) -> Option<&Arc<LateParts>> {
        self.late.as_ref()
    }

    #[inline]
    pub(crate) fn part(&self, rank: u32) -> Part {
        self.mapped_parts().part(rank)
    }

    /// The parts that are mapped into this process.
    #[inline]
    fn mapped_parts(&self) -> &Parts {
        self.observed.as_ref().unwrap_or(&self.parts)
    }

    /// The part of `rank`, which the window need not have.
    #[inline(always)]
    pub(crate) fn part_of(&self, rank: u32) -> PartOf<'_> {
        self.parts.of(rank)
    }

    /// The same, where the fast paths find nothing, too.
    #[inline]
    pub(crate) fn mapped_part_of(&self, rank: u32) -> PartOf<'_> {
        self.mapped_parts().of(rank)
    }

    /// Bytes of a rank's part, mapped or private.
    pub(crate) fn bytes_of(&self, rank: u32) -> u64 {
        span_of_part(self.mapped_parts(), &self.unmapped, rank).len()
    }

    /// This rank's part, if it is addressed in this process.
    pub(crate) fn own(&self, calls: &Calls) -> Span {
        match self.unmapped.foreign() {
            Some(window) => window.own(),
            None => span_of_part(self.mapped_parts(), &self.unmapped, calls.rank().0),
        }
    }

    /// The part of `rank`, if it is addressed in this process and other processes may share it.
    pub(crate) fn shared(&self, rank: u32) -> Span {
        self.unmapped.foreign().map_or_else(|| self.part(rank).span, |window| window.shared(rank))
    }

    /// The first rank whose part is not empty and addressed in this process.
    pub(super) fn first_shared(&self) -> Option<u32> {
        match self.unmapped.foreign() {
            Some(window) => window.first_shared(),
            None => self.mapped_parts().first_with_bytes(),
        }
    }

    pub(crate) fn attached(&self) -> Option<&Attachments> {
        match &self.unmapped {
            Unmapped::Dynamic(attached) => Some(attached),
            _ => None,
        }
    }

    /// Whether the parts are another MPI's.
    #[inline]
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self.unmapped, Unmapped::Foreign { .. })
    }

    /// The words by which accumulates on the part of `rank` exclude each other.
    #[inline]
    pub(crate) fn exclusion(&self, rank: u32) -> &crate::sync::Exclusion {
        &self.ranks[rank as usize].accumulate
    }
}

/// From a displacement to an address.
impl ExposedMemory {
    /// The bytes (not none) around displacement `disp` of a rank of the window, wherever they are; the
    /// address is that of the displacement. Blocks while the rank attaches or detaches memory.
    pub(crate) fn around(
        &self,
        calls: &Calls,
        call: Call,
        rank: u32,
        disp: u64,
        bytes: &Range<i64>,
    ) -> Result<Target<'_>> {
        if let Some(at) = self.mapped_parts().of(rank).around(disp, bytes) {
            return Ok(self.mapped(rank, disp, at));
        }
        let found = self.unmapped(calls, call, rank, disp, bytes)?;
        found.ok_or_else(|| self.out_of_range(calls, call, rank, disp, bytes))
    }

    /// Mapped bytes of a rank: `at` is the address of displacement `disp`.
    #[inline(always)]
    pub(crate) fn mapped(&self, rank: u32, disp: u64, at: *mut u8) -> Target<'_> {
        Target::new(rank, at, self.start_of(rank, disp), Via::Mapped)
    }

    /// The start of displacement `disp` of `target`, a rank of the window, in bytes from the beginning of its
    /// part. The range is not checked here.
    #[inline]
    pub(crate) fn start_of(&self, target: u32, disp: u64) -> u64 {
        disp.wrapping_mul(u64::from(self.part(target).disp_unit))
    }

    /// The bytes around displacement `disp` of `rank`, which has no mapped bytes there.
    fn unmapped(
        &self,
        calls: &Calls,
        call: Call,
        rank: u32,
        disp: u64,
        bytes: &Range<i64>,
    ) -> Result<Option<Target<'_>>> {
        let (unit, start) = (self.part(rank).disp_unit, self.start_of(rank, disp));
        match &self.unmapped {
            Unmapped::Nothing => Ok(None),
            Unmapped::Private(privates) => {
                let private = &privates[rank as usize];
                let at = private.span.around(disp, unit, bytes);
                let via = via(calls, call, rank, private.process)?;
                Ok(at.map(|at| Target::new(rank, at, start, via)))
            }
            Unmapped::Foreign { parts, .. } => {
                let at = parts[rank as usize].around(disp, unit, bytes);
                Ok(at.map(|at| Target::new(rank, at, start, Via::Foreign)))
            }
            Unmapped::Dynamic(attached) => attached.find(calls, call, rank, disp, bytes),
        }
    }

    /// `bytes` bytes (not none) from displacement `disp` of `rank` on, for a put or a get, if they are another MPI's. They
    /// are addressed in this process where they can be and nothing of this rank is under way there.
    #[inline]
    pub(crate) fn elsewhere(&self, rank: u32, disp: u64, bytes: usize) -> Option<Target<'_>> {
        let Unmapped::Foreign { window, parts, near } = &self.unmapped else { return None };
        let (part, bytes) = (parts.get(rank as usize)?, bytes as u64);
        let found = match near.of(rank).at(disp, bytes).filter(|_| window.is_settled(rank)) {
            Some(at) => {
                window.count_copy();
                (at, Via::Own)
            }
            None => (part.at(disp, self.part(rank).disp_unit, bytes)?, Via::Foreign),
        };
        let start = self.start_of(rank, disp);
        (bytes != 0).then(|| Target::new(rank, found.0, start, found.1))
    }

    /// The address in this process of displacement `disp`, around which `bytes` are those of a target; `None` if they have none.
    #[inline]
    pub(crate) fn address_of(
        &self,
        target: &Target<'_>,
        disp: u64,
        bytes: impl FnOnce() -> Range<i64>,
    ) -> Option<*const u8> {
        match &self.unmapped {
            _ if target.is_addressed() => Some(target.at),
            Unmapped::Foreign { near, .. } => {
                near.of(target.rank).around(disp, &bytes()).map(<*mut u8>::cast_const)
            }
            _ => None,
        }
    }

    /// Why a part has no such bytes.
    #[cold]
    fn out_of_range(
        &self,
        calls: &Calls,
        call: Call,
        target: u32,
        displacement: u64,
        range: &Range<i64>,
    ) -> Error {
        let at = calls.place(call);
        // The distance of two `i64`s, each of them perhaps the smallest or largest.
        let bytes = range.end.wrapping_sub(range.start) as u64;
        if calls.flavour() == Flavour::Dynamic {
            let displacement = displacement.saturating_add_signed(range.start);
            return Error::NotAttached { at, target: Rank(target), address: displacement, bytes };
        }
        let (disp_unit, size) = (self.part(target).disp_unit, self.bytes_of(target));
        if range.start != 0 {
            let (start, end) = (range.start, range.end);
            return Error::LayoutRange {
                at,
                target: Rank(target),
                displacement,
                start,
                end,
                disp_unit,
                size,
            };
        }
        Error::Range { at, target: Rank(target), displacement, bytes, disp_unit, size }
    }
}

/// The three kinds of memory.
impl ExposedMemory {
    /// Copies pieces to a target, or from there. Those of a get that has `results` are there when these are
    /// delivered.
    ///
    /// # Safety
    /// 1. Each own piece is valid for reads, or, of [`Direction::Get`], for writes, that of one with `results` until
    ///    these are delivered or leaked; the other lies in `target`.
    /// 2. No own piece overlaps another one's bytes at the target, or, of [`Direction::Get`], another own piece.
    #[cold]
    pub(crate) unsafe fn move_pieces(
        &self,
        calls: &Calls,
        call: Call,
        (direction, target): (Direction, &Target<'_>),
        pieces: &[Piece],
        results: Option<&Results>,
    ) -> Result<()> {
        match target.via {
            Via::Mapped | Via::Own => {
                for Piece { own, other, bytes } in pieces {
                    let (from, to) = match direction {
                        Direction::Put => (own, other),
                        Direction::Get => (other, own),
                    };
                    // SAFETY: the caller's obligations.
                    unsafe { copy(*from, *to, *bytes) };
                }
                Ok(())
            }
            Via::Kernel(process) => {
                // SAFETY: the caller's obligations.
                if direction == Direction::Put && unsafe { scattered(calls, call, target, pieces) }?
                {
                    return Ok(());
                }
                // SAFETY: the caller's obligations; the window exposes the others.
                let moved = unsafe { process.move_pieces(direction, pieces) };
                moved.map_err(|error| kernel_error(calls, call, target.rank, error))
            }
            Via::Foreign => {
                let (window, rank) = (self.owner(), target.rank);
                // SAFETY: the caller's obligations.
                let moved = unsafe { window.move_pieces(direction, rank, pieces, results) };
                calls.foreign(call, moved)
            }
        }
    }

    /// Reads runs of a target's part, by their first bytes and lengths, one behind the other; returns whether that was
    /// possible.
    pub(crate) fn read(
        &self,
        calls: &Calls,
        call: Call,
        target: &Target<'_>,
        runs: impl Iterator<Item = (u64, usize)>,
        to: &mut [u8],
    ) -> bool {
        let mut rest = to;
        let pieces: Vec<Piece> = runs
            .map(|(start, bytes)| {
                let (own, behind) = std::mem::take(&mut rest).split_at_mut(bytes);
                rest = behind;
                let other = target.part(start.wrapping_sub(target.start) as i64).at;
                Piece { own: own.as_mut_ptr(), other, bytes }
            })
            .collect();
        pieces.chunks(MOST_PIECES).all(|pieces| {
            // SAFETY: 1. Each own piece is a part of `to`; the runs are those of an operation on `target`. 2. They are
            // parts of one slice.
            unsafe { self.move_pieces(calls, call, (Direction::Get, target), pieces, None) }.is_ok()
        })
    }

    /// The window of another MPI that memory belongs to which its [owner](Atomicity::Owner) updates.
    fn owner(&self) -> &Arc<foreign::ForeignWindow> {
        self.unmapped
            .foreign()
            .expect("only a window of another MPI has parts that are another MPI's")
    }

    /// Combines, by the owner, `origin` into as many elements, and fetches the values before into `result`, of
    /// which there are as many or none. With [`Op::NoOp`] `origin` is empty.
    #[cold]
    pub(crate) fn update_by_owner<T: Element>(
        &self,
        calls: &Calls,
        call: Call,
        op: Op,
        target: &Target<'_>,
        (origin, result): (&[T], &mut [T]),
    ) -> Result<()> {
        let (rank, at) = (target.rank, target.at as u64);
        let updated = match (result, op) {
            ([], Op::NoOp) => Ok(()),
            ([], _) => self.owner().accumulate(origin, op, rank, at),
            (result, _) => self.owner().fetch(origin, result, op, rank, at),
        };
        calls.foreign(call, updated)
    }

    /// [`ExposedMemory::update_by_owner`] that fetches `n` elements, which are at `result` when the `results` are
    /// delivered.
    ///
    /// # Safety
    /// The elements at `result` are valid for writes, and not accessed, until the results are delivered or leaked.
    #[cold]
    pub(crate) unsafe fn fetch_by_owner<T: Element>(
        &self,
        (calls, call): (&Calls, Call),
        op: Op,
        target: &Target<'_>,
        (origin, result, n): (&[T], *mut u8, usize),
        results: &Results,
    ) -> Result<()> {
        let (result, at) = ((result, n), (op, target.rank, target.at as u64));
        // SAFETY: the caller's obligation.
        let fetched = unsafe { self.owner().fetch_later(origin, result, at, results) };
        calls.foreign(call, fetched)
    }

    /// Compares and swaps, by the owner, an element; returns the value before.
    #[cold]
    pub(crate) fn swap_by_owner<T: Integer>(
        &self,
        calls: &Calls,
        target: &Target<'_>,
        new: &T,
        compare: &T,
    ) -> Result<T> {
        let at = target.at as u64;
        let swapped = self.owner().compare_and_swap(new, compare, target.rank, at);
        calls.foreign(Call::CompareAndSwap, swapped)
    }

    /// One atomic load of the element at `disp` of the part of `rank`, which is addressed in this process or
    /// another MPI's.
    pub(super) fn load<T: Integer>(
        &self,
        calls: &Calls,
        call: Call,
        rank: u32,
        disp: u64,
    ) -> Result<T> {
        const { assert!(T::Carrier::IS_NATIVE) };
        let bytes = size_of::<T>();
        let found = self.around(calls, call, rank, disp, &(0..bytes as i64))?;
        match found.via {
            Via::Mapped | Via::Own => {}
            Via::Kernel(_) => return Err(calls.wrong_flavour(call, "memory of this process")),
            Via::Foreign => {}
        }
        let (via, start) = (found.via, found.at as u64);
        let found = if rank == calls.rank().0 { self.as_own(found) } else { found };
        if !(found.at as usize).is_multiple_of(bytes) {
            let (at, disp_unit) = (calls.place(call), self.part(rank).disp_unit);
            return Err(Error::Alignment { at, displacement: disp, disp_unit, bytes });
        }
        if via == Via::Foreign {
            let (window, mut now) = (self.owner(), [T::zeroed()]);
            let loaded = window.fetch(&[], &mut now, Op::NoOp, rank, start);
            calls.foreign(call, loaded.and_then(|()| window.sync()))?;
            return Ok(now[0]);
        }
        let at = found.at.cast::<T::Carrier>();
        // SAFETY: 1. asserted above. 2. The part has the element, mapped or in this process's own
        // memory, and its alignment was checked. 3. By invariant 4 of `shm`, and by the obligation
        // of the caller that exposed own memory.
        let now = unsafe { T::Carrier::fetch_op(at, Op::NoOp, T::Carrier::zeroed()) };
        Ok(must_cast(now.expect("every carrier that the machine has can be loaded")))
    }

    /// Own memory, as it is addressed in this process.
    pub(crate) fn as_own<'w>(&self, target: Target<'w>) -> Target<'w> {
        match (&self.unmapped, target.via) {
            (Unmapped::Foreign { window, .. }, Via::Foreign) => {
                let at = window.own().base().wrapping_add(target.at as usize);
                Target { at, via: Via::Own, ..target }
            }
            (Unmapped::Dynamic(_), Via::Foreign) => Target { via: Via::Own, ..target },
            _ => target,
        }
    }
}

/// Whether a thread of the target has written the pieces, many of which it writes faster than the kernel.
///
/// # Safety
/// The obligations of [`ExposedMemory::move_pieces`], of [`Direction::Put`].
unsafe fn scattered(
    calls: &Calls,
    call: Call,
    target: &Target<'_>,
    pieces: &[Piece],
) -> Result<bool> {
    let comm = calls.comm();
    let rank = comm.world_ranks()[target.rank as usize];
    let waiter = comm.members().waiter();
    let has_left = || has_left(comm, target.rank).unwrap_or(true);
    let gather = |mapping: &Mapping, offset| {
        let bytes: usize = pieces.iter().map(|piece| piece.bytes).sum();
        let mut to = mapping.at(offset, bytes as u64).ok_or(Error::Damaged { what: "block" })?;
        for piece in pieces {
            // SAFETY: the caller's obligations; the segment has as many bytes there, for this call alone.
            unsafe { copy(piece.own, to, piece.bytes) };
            to = to.wrapping_add(piece.bytes);
        }
        Ok(())
    };
    let written = scatter(calls.context(), rank, pieces, &waiter, has_left, gather)?;
    written.map_err(|failed| calls.job_failed(failed, call))
}

/// How private memory of `target`, of that process, is accessed.
pub(super) fn via(calls: &Calls, call: Call, target: u32, process: Process) -> Result<Via> {
    if target == calls.rank().0 {
        return Ok(Via::Own);
    }
    // Its number may soon be another process's.
    if calls.comm().failed_rank(target).is_some() {
        return Err(gone(calls, call, target, "the rank has failed"));
    }
    if has_left(calls.comm(), target)? {
        return Err(gone(calls, call, target, LEFT));
    }
    Ok(Via::Kernel(process))
}

/// The error of an access by the kernel to the memory of `target`. If its process is gone, the rank has
/// failed, and the launcher is about to report it: that failure is the error, not the access.
#[cold]
fn kernel_error(calls: &Calls, call: Call, target: u32, source: std::io::Error) -> Error {
    if is_gone(&source) {
        if let Err(failed) = await_report(calls.comm(), target) {
            return calls.job_failed(failed, call);
        }
        // It had not left when that was asked.
        return gone(calls, call, target, LEFT);
    }
    unreachable(calls, call, target, source)
}

#[cold]
fn gone(calls: &Calls, call: Call, target: u32, why: &str) -> Error {
    unreachable(calls, call, target, std::io::Error::other(why))
}

fn unreachable(calls: &Calls, call: Call, target: u32, source: std::io::Error) -> Error {
    Error::Unreachable { at: calls.place(call), rank: calls.rank(), owner: Rank(target), source }
}

/// The kernel reports that the process of `rank` is gone: waits up to one second for the launcher to report
/// the failure. Does not wait for a rank that has left in good order, which is not reported.
#[cold]
pub(super) fn await_report(comm: &Comm, rank: u32) -> std::result::Result<(), JobFailed> {
    let (never, began) = (ParkWord::default(), Instant::now());
    let left = || has_left(comm, rank).unwrap_or_default();
    comm.waiter().until(&never, |_| left() || began.elapsed() > REPORTED_WITHIN)?;
    Ok(())
}

/// Whether `rank` has left the job in good order.
fn has_left(comm: &Comm, rank: u32) -> Result<bool> {
    let world = comm.world_ranks()[rank as usize];
    let number = comm.context().number_of(world)?;
    Ok(comm.context().segment.slot(number)?.finished.is_set())
}
