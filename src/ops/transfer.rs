//! Put and get: one description, one route, and one place that moves bytes.
//!
//! [`Communication::transfer`] is the route. It begins with the fast path: a slice on both sides,
//! mapped, and nothing wrong. [`Communication::transfer_slowly`] is the slow path, for everything else
//! and for errors; a slice of another MPI's memory leaves it first ([`Communication::move_elsewhere`]).
#![allow(unsafe_code, reason = "copies between an origin buffer and checked target memory")]

use super::borrowed::Buffers;
use super::buffer::{Origin, OriginMut};
use super::late::{LateOperation, Lateness};
use super::layout::{Layout, LocalLayout, are_far};
use super::target::are_disjoint;
use crate::call::Call;
use crate::check::{AccessKind, CheckedAccess};
use crate::context::Context;
use crate::datatype::{CommittedDatatype, Element, ShapedMut, TransferSide, zip_strips};
use crate::error::{Error, Result};
use crate::foreign::Results;
use crate::group::Rank;
use crate::prim::Step;
use crate::shm::{
    Direction, ONE_STORE, Pattern, Piece, Recording, Span, Strip, Write, WriteRecords, copy,
    copy_past, copy_strip_past, is_one_store,
};
use crate::window::{Atomicity, Calls, Communication, Target};
use bytemuck::Pod;
use std::ops::Range;
use std::panic::Location;

/// A transfer between the origin's memory and a target.
///
/// Its creator has the right to read the origin's entries (to write them, for a get), by
/// [`Origin::new`] or [`OriginMut::new`], or because they are those of a slice.
///
/// ```
/// use onesided::engine::{Origin, Transfer};
/// use onesided::{Datatype, Rank, WindowOptions};
///
/// # onesided::testing::Job::new(1).run(|universe| -> onesided::Result<()> {
/// let win = WindowOptions::new().allocate_bytes(universe.world(), 8, 8)?;
/// let number = 7_u64;
/// // SAFETY: the number stays where it is, and only this thread uses it.
/// let origin = || unsafe { Origin::new((&raw const number).cast(), 1, Datatype::U64) };
/// let layout = origin().layout();
/// win.lock_all()?;
/// // The fast path first, then the call with all checks.
/// if !win.try_transfer(&Transfer::put_layout(origin(), Rank(0), 0, layout)) {
///     win.put_layout(origin(), Rank(0), 0, layout)?;
/// }
/// win.unlock_all()?;
/// let mut found = [0_u64];
/// win.load(0, &mut found)?;
/// assert_eq!(found, [7]);
/// win.free()?;
/// # Ok(())
/// # });
/// ```
pub struct Transfer<'d> {
    pub(super) call: Call,
    pub(super) direction: Direction,
    /// The origin's side.
    pub(super) own: LocalLayout<'d>,
    /// Whether the origin is valid until the transfer is complete; otherwise until the call returns.
    pub(super) is_lasting: bool,
    pub(super) target: Rank,
    pub(super) disp: u64,
    /// The target's side.
    pub(super) layout: Layout<'d>,
    /// Where the result of a get may wait, whose guard keeps the origin borrowed.
    pub(super) results: Option<&'d Results>,
    /// The program's line.
    pub(super) at: &'static Location<'static>,
}

impl std::fmt::Debug for Transfer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Transfer { call, target, disp, .. } = self;
        let mut all = f.debug_struct("Transfer");
        all.field("call", call).field("target", target).field("disp", disp).finish_non_exhaustive()
    }
}

impl<'d> Transfer<'d> {
    /// A put of a slice to as many elements.
    #[inline(always)]
    #[track_caller]
    pub(super) fn put<T: Pod>(
        call: Call,
        origin: &'d [T],
        target: Rank,
        disp: u64,
    ) -> Transfer<'d> {
        let layout = Layout::of_slice::<T>(origin.len());
        let own = LocalLayout { zero: origin.as_ptr().cast(), layout };
        let (direction, at) = (Direction::Put, Location::caller());
        let results = None;
        Transfer { call, direction, own, is_lasting: false, target, disp, layout, results, at }
    }

    /// A get of as many elements into a slice.
    #[inline(always)]
    #[track_caller]
    pub(super) fn get<T: Pod>(
        call: Call,
        origin: &'d mut [T],
        target: Rank,
        disp: u64,
    ) -> Transfer<'d> {
        let layout = Layout::of_slice::<T>(origin.len());
        let own = LocalLayout { zero: origin.as_mut_ptr().cast(), layout };
        let (direction, at) = (Direction::Get, Location::caller());
        let results = None;
        Transfer { call, direction, own, is_lasting: false, target, disp, layout, results, at }
    }

    /// [`Transfer::get`] that is complete when these buffers are no longer borrowed.
    #[inline(always)]
    #[track_caller]
    pub(super) fn get_later<'b: 'd, T: Pod>(
        buffers: &'d Buffers<'b>,
        origin: &'b mut [T],
        target: Rank,
        disp: u64,
    ) -> Transfer<'d> {
        let results = Some(buffers.results());
        Transfer { results, ..Transfer::get(Call::Get, origin, target, disp) }
    }

    /// [`Transfer::get_between`], likewise.
    #[inline(always)]
    #[track_caller]
    pub(super) fn get_shaped_later<'b: 'd, T: Element>(
        buffers: &'d Buffers<'b>,
        origin: ShapedMut<'b, 'd, T>,
        target: Rank,
        disp: u64,
        layout: Layout<'d>,
    ) -> Transfer<'d> {
        let (results, origin) = (Some(buffers.results()), OriginMut::of(origin));
        Transfer { results, ..Transfer::get_between(Call::Get, origin, target, disp, layout) }
    }

    /// A put between layouts.
    #[inline(always)]
    #[track_caller]
    pub(super) fn put_between(
        call: Call,
        origin: &Origin<'d>,
        target: Rank,
        disp: u64,
        layout: Layout<'d>,
    ) -> Transfer<'d> {
        Transfer {
            call,
            direction: Direction::Put,
            own: LocalLayout::from(origin),
            is_lasting: origin.is_lasting,
            target,
            disp,
            layout,
            results: None,
            at: Location::caller(),
        }
    }

    /// A get between layouts.
    #[inline(always)]
    #[track_caller]
    pub(super) fn get_between(
        call: Call,
        origin: OriginMut<'d>,
        target: Rank,
        disp: u64,
        layout: Layout<'d>,
    ) -> Transfer<'d> {
        Transfer {
            call,
            direction: Direction::Get,
            own: LocalLayout::from(&origin),
            is_lasting: origin.is_lasting,
            target,
            disp,
            layout,
            results: None,
            at: Location::caller(),
        }
    }

    /// The put of [`Win::put_layout`](crate::engine::Win::put_layout).
    #[inline(always)]
    #[track_caller]
    pub fn put_layout(
        origin: Origin<'d>,
        target: Rank,
        disp: u64,
        layout: Layout<'d>,
    ) -> Transfer<'d> {
        Transfer::put_between(Call::Put, &origin, target, disp, layout)
    }

    /// The get of [`Win::get_layout`](crate::engine::Win::get_layout).
    #[inline(always)]
    #[track_caller]
    pub fn get_layout(
        origin: OriginMut<'d>,
        target: Rank,
        disp: u64,
        layout: Layout<'d>,
    ) -> Transfer<'d> {
        Transfer::get_between(Call::Get, origin, target, disp, layout)
    }

    /// The same for the slow path, so that the fast path has nothing in memory for it.
    #[inline(always)]
    pub(super) fn copied(self) -> Transfer<'d> {
        Transfer { ..self }
    }

    /// What is read, and what is written.
    #[inline(always)]
    fn sides(&self) -> (&Layout<'d>, &Layout<'d>) {
        match self.direction {
            Direction::Put => (&self.own.layout, &self.layout),
            Direction::Get => (&self.layout, &self.own.layout),
        }
    }

    /// The addresses to read and to write, of memory at `own` and `at`.
    #[inline(always)]
    fn directed(&self, at: *mut u8) -> (*const u8, *mut u8) {
        match self.direction {
            Direction::Put => (self.own.zero, at),
            Direction::Get => (at, self.own.zero.cast_mut()),
        }
    }

    #[inline(always)]
    fn middle(&self) -> Step {
        match self.direction {
            Direction::Put => Step::MidPut,
            Direction::Get => Step::MidGet,
        }
    }

    /// The ranges of the own side and of the target's, if what is read fits into what is written. `None`
    /// if nothing is read.
    #[inline(always)]
    fn ranges(&self) -> Option<(Range<i64>, Range<i64>)> {
        let (own, other) = (&self.own.layout, &self.layout);
        let (from, to) = self.sides();
        let ranges = (own.known_range()?, other.known_range()?);
        (from.elements() != 0 && from.fits_into(to)).then_some(ranges)
    }

    /// Moves every strip, which has been checked, with a target at `at`.
    #[inline(always)]
    fn move_strips(&self, at: *mut u8) {
        let ((from, to), bases) = (self.sides(), self.directed(at));
        // SAFETY: 1. `Transfer` for the own side; the target's entries lie in its part. 2. The sides
        // have been found disjoint.
        unsafe { copy_sides(self.middle(), (bases.0, from.side()), (bases.1, to.side())) };
    }

    /// [`Transfer::move_strips`] with a target that is not addressed in this process, by batches of
    /// pieces.
    fn move_pieces(&self, at: *mut u8, move_batch: impl Fn(&[Piece]) -> Result<()>) -> Result<()> {
        if let Some(bytes) = self.own.layout.same_slice(&self.layout) {
            return move_batch(&[Piece { own: self.own.zero.cast_mut(), other: at, bytes }]);
        }
        let (from, to) = self.sides();
        let (mut pieces, mut moved) = (Vec::new(), Ok(()));
        zip_strips(from.side(), to.side(), |strip| {
            for block in 0..strip.blocks {
                if moved.is_err() {
                    return;
                }
                pieces.push(self.piece(strip, block, at));
                if pieces.len() == BATCH {
                    moved = move_batch(&pieces);
                    pieces.clear();
                }
            }
        });
        moved.and_then(|()| move_batch(&pieces))
    }

    /// A block of a strip.
    fn piece(&self, strip: &Strip<'_>, block: usize, at: *mut u8) -> Piece {
        let [from, to] = strip.patterns;
        let (own, other) = match self.direction {
            Direction::Put => (from, to),
            Direction::Get => (to, from),
        };
        let own = self.own.zero.wrapping_offset(own.block(block) as isize).cast_mut();
        Piece { own, other: at.wrapping_offset(other.block(block) as isize), bytes: strip.bytes }
    }
}

/// The most pieces that are moved by one request.
const BATCH: usize = 1 << 16;

impl<'w> Communication<'w> {
    /// Does a put or a get.
    #[inline(always)]
    pub(super) fn transfer(self, transfer: Transfer<'_>) -> Result<()> {
        match self.try_transfer(&transfer) {
            true => Ok(()),
            false => self.transfer_slowly(&transfer.copied()),
        }
    }

    /// The fast path of [`Communication::transfer`]: whether it is done. If not, nothing is. A caller
    /// that needs stack space for errors, such as the C interface, takes it for the slow path alone.
    #[inline(always)]
    pub fn try_transfer(self, transfer: &Transfer<'_>) -> bool {
        if let Some((bytes, datatype)) = transfer.layout.instance_of_slice(&transfer.own.layout) {
            return self.move_instance(transfer, bytes, datatype);
        }
        let Some(bytes) = transfer.own.layout.same_slice(&transfer.layout) else { return false };
        // A case of its own, so that the compiler knows the size for the checks of one word.
        match is_one_store(bytes) {
            true => self.move_slice::<false>(transfer, ONE_STORE),
            false => self.move_slice::<false>(transfer, bytes),
        }
    }

    /// Moves a slice of that many bytes, if the target's are mapped and nothing is wrong; returns whether
    /// it has. `IN_CALL`: the call is recorded, and ended, by the caller.
    #[inline(always)]
    fn move_slice<const IN_CALL: bool>(self, transfer: &Transfer<'_>, bytes: usize) -> bool {
        let &Transfer { call, direction, own, target, disp, .. } = transfer;
        let part = if IN_CALL { self.reach_in_call(target) } else { self.reach(target) };
        let Some(at) = self.mapped(part, disp, bytes, own.zero) else { return false };
        let context = self.calls.context();
        let in_call = (!IN_CALL).then(|| self.calls.try_operation(call, target, bytes as u64));
        let ((from, to), start) = (transfer.directed(at), || self.memory.start_of(target.0, disp));
        match direction {
            // SAFETY: 1. `Transfer` for the own side, `mapped` for the other. 2. `mapped`.
            Direction::Put => unsafe {
                self.copy_out((context, call), target, start, from, to, bytes)
            },
            // SAFETY: as above.
            Direction::Get => unsafe { copy_past(Step::MidGet, from, to, bytes) },
        }
        if let Some(in_call) = in_call {
            in_call.end();
        }
        true
    }

    /// [`Communication::move_slice`] between a slice and as many elements of one instance of a datatype.
    #[inline(always)]
    fn move_instance(
        self,
        transfer: &Transfer<'_>,
        bytes: usize,
        datatype: &CommittedDatatype,
    ) -> bool {
        let &Transfer { call, direction, own, target, disp, .. } = transfer;
        let Some(range) = datatype.range_of_bytes(bytes as u64) else { return false };
        let found = self.reach(target).and_then(|part| part.around(disp, range));
        let Some(at) = found.filter(|at| are_far((own.zero, &(0..bytes as i64)), (*at, range)))
        else {
            return false;
        };
        match direction {
            // In a job that continues after failures a put is recorded, by the slow path.
            Direction::Put
                if !datatype.is_known_disjoint() || self.calls.context().records().is_some() =>
            {
                return false;
            }
            // SAFETY: 1. `Transfer` for the own side; the target's entries lie in its part. 2. The ranges of
            // both do not overlap.
            Direction::Put => unsafe {
                move_blocks::<true>(self.calls, (call, target), own.zero, at, bytes, datatype)
            },
            // SAFETY: as above.
            Direction::Get => unsafe {
                move_blocks::<false>(self.calls, (call, target), own.zero, at, bytes, datatype)
            },
        }
        true
    }

    /// The slow path of [`Communication::transfer`]: any layouts, unmapped memory, and errors.
    #[inline(never)]
    pub(super) fn transfer_slowly(self, transfer: &Transfer<'_>) -> Result<()> {
        if self.memory.is_elsewhere()
            && let Some(moved) = self.move_elsewhere(transfer)
        {
            return moved;
        }
        let bytes = transfer.own.layout.bytes().unwrap_or(0);
        let call = self.calls.enter_operation(transfer.call, transfer.target, bytes);
        let slice = transfer.own.layout.same_slice(&transfer.layout);
        if slice.is_some_and(|bytes| self.move_slice::<true>(transfer, bytes)) {
            call.end();
            return Ok(());
        }
        let Some((at, start)) = self.mapped_sides(transfer) else {
            return self.calls.handled(self.transfer_checked(transfer));
        };
        self.calls.epochs.operated();
        let recording = match transfer.direction {
            Direction::Put => self.record_around(
                transfer.call,
                transfer.target.0,
                start,
                &transfer.layout.range(),
            ),
            Direction::Get => Recording::Nothing,
        };
        transfer.move_strips(at);
        recording.end();
        drop(call);
        Ok(())
    }

    /// Moves a slice to or from memory of another MPI, if nothing is wrong; `None` if it has not.
    #[inline(never)]
    fn move_elsewhere(self, transfer: &Transfer<'_>) -> Option<Result<()>> {
        let &Transfer { call, own, target: rank, disp, .. } = transfer;
        let bytes = own.layout.same_slice(&transfer.layout)?;
        if !self.calls.epochs.reaches(rank.0) {
            return None;
        }
        let target = self.memory.elsewhere(rank.0, disp, bytes)?;
        let at = self.memory.address_of(&target, disp, || 0..bytes as i64);
        if at.is_some_and(|at| !are_disjoint(own.zero, at, bytes)) {
            return None;
        }
        if !target.is_addressed() {
            self.calls.epochs.operated();
            let in_call = self.calls.try_operation(call, rank, bytes as u64);
            let moved = self.calls.handled(self.move_between(transfer, &target));
            in_call.end();
            return Some(moved);
        }
        self.calls.epochs.operated();
        let in_call = self.calls.try_operation(call, rank, bytes as u64);
        let (from, to) = transfer.directed(target.at);
        // SAFETY: 1. `Transfer` for the own side, `elsewhere` for the other. 2. They are disjoint.
        unsafe { copy_past(transfer.middle(), from, to, bytes) };
        in_call.end();
        Some(Ok(()))
    }

    /// Address and start of the target's displacement, if its entries are mapped and nothing is wrong with
    /// either side.
    #[inline(always)]
    fn mapped_sides(self, transfer: &Transfer<'_>) -> Option<(*mut u8, u64)> {
        let (own_range, range) = transfer.ranges()?;
        let at = self.reach_in_call(transfer.target)?.around(transfer.disp, &range)?;
        let is_disjoint = are_far((transfer.own.zero, &own_range), (at, &range));
        let start = self.memory.start_of(transfer.target.0, transfer.disp);
        (is_disjoint && !transfer.sides().1.overlaps()).then_some((at, start))
    }

    /// A transfer whose sides need every check: unmapped memory, layouts that may overlap, or an error.
    #[cold]
    fn transfer_checked(self, transfer: &Transfer<'_>) -> Result<()> {
        let &Transfer { call, ref own, target, disp, ref layout, .. } = transfer;
        if target == Rank::NULL {
            return self.null_target(call).map(|_| ());
        }
        let (from, to) = transfer.sides();
        self.check_reach(call, &own.layout)?;
        // A layout that overflows is refused with its range.
        if layout.known_range().is_some() {
            self.check_fits(call, from, to)?;
        }
        let Some(target) = self.target(call, target, disp, &layout.range())? else {
            return Ok(());
        };
        self.check_entries_disjoint(call, to)?;
        self.check_disjoint_from(call, &target, disp, layout, own)?;
        self.calls.epochs.operated();
        if from.elements() == 0 {
            return Ok(());
        }
        let describe = || {
            let (kind, side) = match transfer.direction {
                Direction::Put => (AccessKind::Put, 1),
                Direction::Get => (AccessKind::Get, 0),
            };
            let access = CheckedAccess { call, kind, datatype: 0, op: 0, at: transfer.at };
            let buffers = std::iter::once((*own, transfer.direction));
            (access, ([from.side(), to.side()], side), buffers)
        };
        let delayed = |late: &Lateness<'_>| LateOperation::transfer(late, transfer);
        self.report(&target, describe, delayed, || self.move_recorded(transfer, &target))
    }

    /// Moves checked bytes, and records a put meanwhile.
    pub(super) fn move_recorded(self, transfer: &Transfer<'_>, target: &Target<'_>) -> Result<()> {
        let &Transfer { call, ref layout, .. } = transfer;
        let is_word =
            target.atomicity() == Atomicity::Instructions && layout.plain() == Some(ONE_STORE);
        let recording = match transfer.direction {
            Direction::Put if !is_word => {
                self.record_around(call, target.rank, target.start, &layout.range())
            }
            _ => Recording::Nothing,
        };
        let moved = self.move_between(transfer, target);
        recording.end();
        moved
    }

    /// Moves checked bytes, for any kind of target.
    fn move_between(self, transfer: &Transfer<'_>, target: &Target<'_>) -> Result<()> {
        if target.is_addressed() {
            transfer.move_strips(target.at);
            return Ok(());
        }
        let (call, to, results) = (transfer.call, (transfer.direction, target), transfer.results);
        // SAFETY: 1. `Transfer` for the own pieces; the target's entries lie in its part. 2. In another process;
        // the own layout of a get has been found not to overlap itself.
        let move_batch = |pieces: &[Piece]| unsafe {
            self.memory.move_pieces(self.calls, call, to, pieces, results)
        };
        transfer.move_pieces(target.at, move_batch)
    }

    /// Copies `bytes` bytes to the part of `target`, where `to` is `start` bytes from its beginning: an
    /// operation of the program, recorded unless it is one instruction.
    ///
    /// # Safety
    /// 1. `from` is valid for reads and `to` for writes of `bytes` bytes.
    /// 2. The ranges do not overlap.
    #[inline(always)]
    unsafe fn copy_out(
        self,
        (context, call): (&Context, Call),
        target: Rank,
        start: impl FnOnce() -> u64,
        from: *const u8,
        to: *mut u8,
        bytes: usize,
    ) {
        if is_one_store(bytes) {
            // SAFETY: the caller's obligations 1 and 2.
            unsafe { copy(from, to, bytes) };
        } else if let Some(records) = context.records() {
            let write = self.write(call, target.0, start(), bytes as u64);
            // SAFETY: as above.
            unsafe { copy_recorded(records, write, from, to) };
        } else {
            // SAFETY: as above.
            unsafe { copy_past(Step::MidPut, from, to, bytes) };
        }
    }

    /// A local load: copies elements of this rank's own part, from displacement `disp` on, into `to`.
    pub(super) fn load<T: Pod>(
        self,
        disp: u64,
        to: &mut [T],
        at: &'static Location<'static>,
    ) -> Result<()> {
        let bytes = size_of_val(to);
        if bytes == 0 {
            return Ok(());
        }
        let _call = self.calls.enter(Call::LocalAccess);
        let from = self.calls.handled(self.own(disp, bytes))?;
        self.report_local(AccessKind::Load, &from, bytes, at, || {
            // SAFETY: 1. `own` has checked the range; `to` is a slice. 2. No slice of the own part
            // exists while a method of the window can be called (`epoch::local`).
            unsafe { copy(from.at, to.as_mut_ptr().cast(), bytes) };
        })
    }

    /// A local store: copies `from` to this rank's own part, from displacement `disp` on.
    pub(super) fn store<T: Pod>(
        self,
        disp: u64,
        from: &[T],
        at: &'static Location<'static>,
    ) -> Result<()> {
        let bytes = size_of_val(from);
        if bytes == 0 {
            return Ok(());
        }
        let _call = self.calls.enter(Call::LocalAccess);
        let to = self.calls.handled(self.own(disp, bytes))?;
        self.report_local(AccessKind::Store, &to, bytes, at, || {
            let (target, from, start) = (Rank(to.rank), from.as_ptr().cast(), || to.start);
            let by = (self.calls.context(), Call::LocalAccess);
            // SAFETY: as in `load`.
            unsafe { self.copy_out(by, target, start, from, to.at, bytes) };
        })
    }

    fn own(self, disp: u64, bytes: usize) -> Result<Target<'w>> {
        let Communication { calls, memory } = self;
        // No slice has more than `i64::MAX` bytes.
        let own =
            memory.around(calls, Call::LocalAccess, calls.rank().0, disp, &(0..bytes as i64))?;
        Ok(memory.as_own(own))
    }

    /// A direct load from mapped memory of a shared window, `start` bytes from its beginning.
    #[inline]
    pub(crate) fn load_shared<T: Pod>(self, part: Span, start: u64, to: &mut [T]) -> bool {
        let bytes = size_of_val(to);
        let Some(from) = part.at(start, 1, bytes as u64) else { return false };
        // SAFETY: 1. `at` has checked the range; `to` is a slice. 2. No slice of a shared window
        // exists (`epoch::local`).
        unsafe { copy(from, to.as_mut_ptr().cast(), bytes) };
        true
    }

    /// A direct store to mapped memory of `rank` in a shared window, `start` bytes from its beginning.
    #[inline]
    pub(crate) fn store_shared<T: Pod>(
        self,
        (rank, part): (Rank, Span),
        start: u64,
        from: &[T],
    ) -> bool {
        let bytes = size_of_val(from);
        let Some(to) = part.at(start, 1, bytes as u64) else { return false };
        let (by, from) = ((self.calls.context(), Call::SharedAccess), from.as_ptr().cast());
        // SAFETY: as in `load_shared`.
        unsafe { self.copy_out(by, rank, || start, from, to, bytes) };
        true
    }

    /// Records, until the record is ended, that this thread is about to write `bytes` bytes of the part
    /// of `target`, from `start` on. Around every write of more than one instruction.
    #[inline(always)]
    pub(super) fn record(self, call: Call, target: u32, start: u64, bytes: u64) -> Recording<'w> {
        match self.calls.context().records() {
            Some(records) => records.begin(self.write(call, target, start, bytes)),
            None => Recording::Nothing,
        }
    }

    /// [`Communication::record`] of the bytes around `start`.
    #[inline(always)]
    pub(super) fn record_around(
        self,
        call: Call,
        target: u32,
        start: u64,
        bytes: &Range<i64>,
    ) -> Recording<'w> {
        let start = start.wrapping_add_signed(bytes.start);
        self.record(call, target, start, bytes.end.wrapping_sub(bytes.start) as u64)
    }

    #[inline(always)]
    fn write(self, call: Call, target: u32, start: u64, bytes: u64) -> Write {
        Write { call, window: self.calls.block(), target, start, bytes }
    }

    /// Returns an error for what does not fit into the other side.
    pub(super) fn check_fits(self, call: Call, from: &Layout<'_>, to: &Layout<'_>) -> Result<()> {
        if from.fits_into(to) {
            return Ok(());
        }
        let why = "its basic elements are not those, or the first of those, of the other side";
        Err(self.unfit(call, from, why))
    }

    /// Refuses a buffer that does not fit the address space.
    pub(super) fn check_reach(self, call: Call, own: &Layout<'_>) -> Result<()> {
        match own.known_range() {
            Some(_) => Ok(()),
            None => {
                let (count, datatype) = own.parts();
                let buffer = format!("the buffer of {count} x {datatype:?}");
                Err(Error::Reach { at: self.calls.place(call), buffer })
            }
        }
    }

    /// Refuses to write two entries to one byte (MPI-2.2 §11.3.1, §11.3.2).
    pub(super) fn check_entries_disjoint(self, call: Call, to: &Layout<'_>) -> Result<()> {
        match to.overlaps() {
            true => Err(self.unfit(call, to, "entries that are written to share a byte")),
            false => Ok(()),
        }
    }

    /// The error of a layout that the call does not accept.
    #[cold]
    pub(super) fn unfit(self, call: Call, layout: &Layout<'_>, why: &'static str) -> Error {
        Error::Datatype { at: self.calls.place(call), datatype: layout.shown(), why }
    }

    /// Refuses an origin an entry of which overlaps a target entry of the same operation.
    pub(super) fn check_disjoint_from(
        self,
        call: Call,
        target: &Target<'_>,
        disp: u64,
        layout: &Layout<'_>,
        own: &LocalLayout<'_>,
    ) -> Result<()> {
        let zero = self.memory.address_of(target, disp, || layout.range());
        if zero.is_none_or(|zero| own.is_disjoint_from(&LocalLayout { zero, layout: *layout })) {
            return Ok(());
        }
        Err(self.conflict(call, target.rank, disp, layout.bytes().unwrap_or(u64::MAX)))
    }
}

/// Moves a slice of `all` bytes at `own` to as many elements of one instance of `datatype` at `at`; if
/// not `PUT`, from there. The call has passed its checks. All that it needs is in registers.
///
/// # Safety
/// 1. The bytes at `own` and the entries at `at` are valid for reads and writes, as the direction needs it.
/// 2. They do not overlap.
#[inline(never)]
unsafe fn move_blocks<const PUT: bool>(
    calls: &Calls,
    (call, target): (Call, Rank),
    own: *const u8,
    at: *mut u8,
    all: usize,
    datatype: &CommittedDatatype,
) {
    calls.epochs.operated();
    let in_call = calls.try_operation(call, target, all as u64);
    let (from, to) = if PUT { (own, at) } else { (at.cast_const(), own.cast_mut()) };
    let middle = if PUT { Step::MidPut } else { Step::MidGet };
    match datatype.blocks() {
        Some(Strip { patterns: [pattern], bytes, blocks }) => {
            let slice = Pattern::even(0, bytes as i64);
            let patterns = if PUT { [slice, pattern] } else { [pattern, slice] };
            // SAFETY: 1. and 2. of the caller.
            unsafe { copy_strip_past(middle, from, to, &Strip { patterns, bytes, blocks }) };
        }
        None => {
            let (slice, typed) =
                (TransferSide::Packed(all as u64), TransferSide::Typed(datatype, 1));
            let sides = if PUT { (slice, typed) } else { (typed, slice) };
            // SAFETY: as above.
            unsafe { copy_sides(middle, (from, sides.0), (to, sides.1)) };
        }
    }
    in_call.end();
}

/// A recorded copy. Out of line, so that a job that records nothing pays only a branch.
///
/// # Safety
/// The obligations of [`Communication::copy_out`], of the bytes of `write`.
#[cold]
#[inline(never)]
unsafe fn copy_recorded(records: &WriteRecords, write: Write, from: *const u8, to: *mut u8) {
    // SAFETY: the caller's obligations 1 and 2.
    let copied = || unsafe { copy_past(Step::MidPut, from, to, write.bytes as usize) };
    match records.own() {
        Some(record) => {
            record.begin(write);
            copied();
            record.end();
        }
        None => {
            let recording = records.begin(write);
            copied();
            recording.end();
        }
    }
}

/// Copies entry by entry between sides whose displacement 0 lies there.
///
/// # Safety
/// 1. The entries that both have are valid for reads, and for writes.
/// 2. No entry of one overlaps an entry of the other.
#[inline(never)]
pub(super) unsafe fn copy_sides(
    middle: Step,
    from: (*const u8, TransferSide<'_>),
    to: (*mut u8, TransferSide<'_>),
) {
    zip_strips(from.1, to.1, |strip| {
        // SAFETY: 1. and 2. of the caller.
        unsafe { copy_strip_past(middle, from.0, to.0, strip) };
    });
}
