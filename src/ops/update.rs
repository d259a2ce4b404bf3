//! The accumulates: one description, one route.
//!
//! Every update of an element is atomic against every other accumulate of the window, whatever calls they are.
//! There are two ways:
//!
//! 1. An element of 1, 2, 4 or 8 bytes, aligned to its size, in mapped memory: one atomic instruction, or a loop
//!    around one. Several such elements are updated together while no other thread updates elements of their shard.
//! 2. Any other element: under the target's accumulate exclusion.
//!
//! The way depends on size, address and memory alone, so two accumulates on the same element take the same way.
//! MPI-2.2 §11.7.1 promises no more: same location, same predefined datatype.
//!
//! [`super::elements`] updates. The fast path serves most accumulates: a few mapped elements, and nothing is wrong.
//! Everything else, and every refusal, is [`Communication::update_slowly`].

use super::borrowed::Buffers;
use super::buffer::{Origin, OriginMut};
use super::elements::Blocks;
use super::late::{LateOperation, Lateness};
use super::layout::{Layout, LocalLayout};
use crate::call::Call;
use crate::check::{AccessKind, CheckedAccess};
use crate::datatype::Operation;
use crate::datatype::{
    Datatype, Element, Integer, Shaped, ShapedMut, TransferSide, Visitor, zip_sides,
};
use crate::error::{Error, Result};
use crate::foreign::Results;
use crate::group::Rank;
use crate::op::Op;
use crate::shm::{Direction, Recording, is_forked};
use crate::window::{Communication, Target};
use std::panic::Location;

/// An accumulate of elements of one predefined datatype, with its buffers.
///
/// ```
/// use onesided::engine::{Origin, Update};
/// use onesided::{Datatype, Op, Rank, WindowOptions};
///
/// # onesided::testing::Job::new(1).run(|universe| -> onesided::Result<()> {
/// let win = WindowOptions::new().allocate_bytes(universe.world(), 8, 8)?;
/// let number = 7_u64;
/// // SAFETY: the number stays where it is, and only this thread uses it.
/// let origin = || unsafe { Origin::new((&raw const number).cast(), 1, Datatype::U64) };
/// let layout = origin().layout();
/// win.lock_all()?;
/// // The fast path first, then the call with all checks.
/// if !win.try_update(&Update::accumulate(origin(), Op::Sum, Rank(0), 0, layout)) {
///     win.accumulate_layout(origin(), Op::Sum, Rank(0), 0, layout)?;
/// }
/// win.unlock_all()?;
/// let mut found = [0_u64];
/// win.load(0, &mut found)?;
/// assert_eq!(found, [7]);
/// win.free()?;
/// # Ok(())
/// # });
/// ```
pub struct Update<'d> {
    pub(super) call: Call,
    pub(super) op: Op,
    /// `None` for [`Op::NoOp`].
    pub(super) origin: Option<LocalLayout<'d>>,
    /// For the values before, in the calls that fetch.
    pub(super) result: Option<LocalLayout<'d>>,
    /// Whether the buffers are valid until the accumulate is complete; otherwise until the call returns.
    pub(super) is_lasting: bool,
    pub(super) target: Rank,
    pub(super) disp: u64,
    /// The target's side.
    pub(super) layout: Layout<'d>,
    /// Where the values before may wait, whose guard keeps their buffer borrowed.
    pub(super) results: Option<&'d Results>,
    /// The program's line.
    pub(super) at: &'static Location<'static>,
}

impl std::fmt::Debug for Update<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Update { call, target, disp, .. } = self;
        let mut all = f.debug_struct("Update");
        all.field("call", call).field("target", target).field("disp", disp).finish_non_exhaustive()
    }
}

impl<'d> Update<'d> {
    /// An accumulate, which fetches if it has a result.
    #[inline(always)]
    #[track_caller]
    pub(super) fn new(
        call: Call,
        (origin, result): (Origin<'d>, Option<OriginMut<'d>>),
        op: Op,
        (target, disp): (Rank, u64),
        layout: Layout<'d>,
    ) -> Update<'d> {
        let is_lasting =
            origin.is_lasting && result.as_ref().is_none_or(|result| result.is_lasting);
        let origin = (op != Op::NoOp || result.is_none()).then(|| LocalLayout::from(&origin));
        let result = result.as_ref().map(LocalLayout::from);
        let (results, at) = (None, Location::caller());
        Update { call, op, origin, result, is_lasting, target, disp, layout, results, at }
    }

    /// Of slices: `result` is as long as `origin`, or it is [`Op::NoOp`].
    #[track_caller]
    pub(super) fn slices<T: Element>(
        call: Call,
        (origin, result): (&'d [T], Option<&'d mut [T]>),
        op: Op,
        target: (Rank, u64),
    ) -> Update<'d> {
        let (origin, result) = (Origin::of_slice(origin), result.map(OriginMut::of_slice));
        let layout = result.as_ref().map_or(origin.layout, |result| result.layout);
        Update::new(call, (origin, result), op, target, layout)
    }

    /// An accumulate between shapes that fetches, and is complete when these buffers are no longer borrowed.
    #[track_caller]
    pub(super) fn shaped_later<'b: 'd, T: Element>(
        buffers: &'d Buffers<'b>,
        (origin, result): (Shaped<'b, 'd, T>, ShapedMut<'b, 'd, T>),
        op: Op,
        target: (Rank, u64),
        layout: Layout<'d>,
    ) -> Update<'d> {
        let (origin, result) = (Origin::of(origin), Some(OriginMut::of(result)));
        let update = Update::new(Call::GetAccumulate, (origin, result), op, target, layout);
        Update { results: Some(buffers.results()), ..update }
    }

    /// The accumulate of [`Win::accumulate_layout`](crate::engine::Win::accumulate_layout).
    #[inline(always)]
    #[track_caller]
    pub fn accumulate(
        origin: Origin<'d>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'d>,
    ) -> Update<'d> {
        Update::new(Call::Accumulate, (origin, None), op, (target, disp), layout)
    }

    /// The accumulate of [`Win::get_accumulate_layout`](crate::engine::Win::get_accumulate_layout).
    #[inline(always)]
    #[track_caller]
    pub fn get_accumulate(
        origin: Origin<'d>,
        result: OriginMut<'d>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'d>,
    ) -> Update<'d> {
        Update::new(Call::GetAccumulate, (origin, Some(result)), op, (target, disp), layout)
    }

    /// The accumulate of [`Win::fetch_and_op_untyped`](crate::engine::Win::fetch_and_op_untyped).
    #[inline(always)]
    #[track_caller]
    pub fn fetch_and_op(
        origin: Origin<'d>,
        result: OriginMut<'d>,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Update<'d> {
        let layout = result.layout;
        Update::new(Call::FetchAndOp, (origin, Some(result)), op, (target, disp), layout)
    }

    /// Whether the buffer that has an element for each of the target has the target's layout.
    #[inline(always)]
    fn is_alike(&self) -> bool {
        match (&self.result, &self.origin) {
            (Some(result), _) => result.layout.is_same(&self.layout),
            (None, Some(origin)) => origin.layout.is_same(&self.layout),
            (None, None) => false,
        }
    }

    #[inline(always)]
    fn tried<'w>(&self, parts: Communication<'w>) -> Try<'w, 'd> {
        let Update { call, op, origin, result, target, disp, at, .. } = *self;
        Try { parts, call, op, origin, result, target, disp, at }
    }

    /// The buffers of this process.
    fn own(&self) -> impl Iterator<Item = &LocalLayout<'d>> {
        self.origin.iter().chain(&self.result)
    }
}

/// The fast path of an accumulate whose buffers have the target's layout, of elements whose type is known. It holds
/// the parts of an [`Update`] by value, so that an inlined attempt needs no memory.
struct Try<'w, 'd> {
    parts: Communication<'w>,
    call: Call,
    op: Op,
    origin: Option<LocalLayout<'d>>,
    result: Option<LocalLayout<'d>>,
    target: Rank,
    disp: u64,
    /// The program's line.
    at: &'static Location<'static>,
}

impl Visitor for Try<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn visit<E: Element>(self) -> bool {
        let Try { parts, call, op, origin, result, target, disp, .. } = self;
        // The buffers that the update was made of.
        let (origin, result) =
            (origin.map(LocalLayout::origin), result.map(LocalLayout::origin_mut));
        let Some(mut result) = result else {
            let Some(origin) = &origin else { return false };
            return match origin.slice::<E>() {
                Some(origin) => parts.try_accumulate(call, origin, op, target, disp),
                None => false,
            };
        };
        let Some(before) = result.single::<E>() else { return false };
        // NO_OP ignores the value.
        let nothing = E::zeroed();
        let value = match &origin {
            Some(origin) => origin.single::<E>(),
            None => Some(&nothing),
        };
        let Some(value) = value else { return false };
        let buffers = [std::ptr::from_ref(value), std::ptr::from_ref(before)];
        match parts.fetch_element(call, *value, buffers, op, target, disp) {
            Some(old) => *before = old,
            None => return false,
        }
        true
    }
}

/// The beginning of [`Communication::update_slowly`], likewise: one element in a shard that is not open, or of a job that is
/// counted or checked; whether its call still has to be recorded.
struct TrySlowly<'w, 'd>(Try<'w, 'd>, bool);

impl Visitor for TrySlowly<'_, '_> {
    type Output = bool;

    #[inline]
    fn visit<E: Element>(self) -> bool {
        let TrySlowly(Try { parts, call, op, origin, result, target, disp, at }, enters) = self;
        let directions = [
            origin.is_some().then_some(Direction::Put),
            result.is_some().then_some(Direction::Get),
        ];
        let (origin, mut result) =
            (origin.map(LocalLayout::origin), result.map(LocalLayout::origin_mut));
        let (mut nothing, none) = (E::zeroed(), E::zeroed());
        let value = match &origin {
            Some(origin) => origin.single::<E>(),
            None => Some(&none),
        };
        let before = match &mut result {
            Some(result) => result.single::<E>(),
            None => Some(&mut nothing),
        };
        let (Some(value), Some(before)) = (value, before) else { return false };
        let buffers = [std::ptr::from_ref(value), std::ptr::from_ref(before)];
        let of = (call, op, at, enters);
        let old = parts.fetch_element_slowly(of, *value, (buffers, directions), target, disp);
        old.map(|old| *before = old).is_some()
    }
}

/// The fast path of a get_accumulate, likewise.
struct TryFetch<'w, 'd>(Try<'w, 'd>);

impl Visitor for TryFetch<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn visit<E: Element>(self) -> bool {
        let Try { parts, call, op, origin, result, target, disp, .. } = self.0;
        let (origin, result) =
            (origin.map(LocalLayout::origin), result.map(LocalLayout::origin_mut));
        let origin = match &origin {
            Some(origin) => origin.slice::<E>(),
            None => Some(&[][..]),
        };
        let (Some(origin), Some(mut result)) = (origin, result) else { return false };
        match result.slice::<E>() {
            Some(before) => parts.try_fetch(call, origin, before, op, target, disp),
            None => false,
        }
    }
}

impl<'w> Communication<'w> {
    /// Does an accumulate.
    #[inline]
    pub(super) fn update(self, update: Update<'_>) -> Result<()> {
        match update.is_alike() && self.try_alike(&update) {
            true => Ok(()),
            false => self.update_slowly(&update),
        }
    }

    /// [`Communication::try_update`] or [`Communication::try_fetch_alike`], out of line.
    #[inline(never)]
    fn try_alike(self, update: &Update<'_>) -> bool {
        match update.call {
            Call::GetAccumulate => self.try_fetch_alike(update),
            _ => self.try_update(update),
        }
    }

    /// The fast path of [`Communication::update`] for several elements that are fetched. Returns whether it is done;
    /// if it is not, nothing has changed.
    #[inline(always)]
    pub(super) fn try_fetch_alike(self, update: &Update<'_>) -> bool {
        let Some(datatype) = update.layout.uniform().filter(|_| update.is_alike()) else {
            return false;
        };
        match datatype {
            Datatype::F64 => TryFetch(update.tried(self)).visit::<f64>(),
            _ => datatype.visit(TryFetch(update.tried(self))),
        }
    }

    /// The fast path of [`Communication::update`]. Returns whether it is done; if it is not, nothing has changed.
    #[inline(always)]
    pub(super) fn try_update(self, update: &Update<'_>) -> bool {
        let Some(datatype) = update.layout.uniform().filter(|_| update.is_alike()) else {
            return false;
        };
        let (op, fetches) = (update.op, update.result.is_some());
        match (datatype, op) {
            // Most programs add and count with these. They do not look up the table of all datatypes, and a known
            // operation becomes one instruction here.
            (Datatype::I64, Op::Sum) if fetches => {
                Try { op: Op::Sum, ..update.tried(self) }.visit::<i64>()
            }
            (Datatype::I32, Op::Sum) if fetches => {
                Try { op: Op::Sum, ..update.tried(self) }.visit::<i32>()
            }
            (Datatype::I64, _) if !fetches => update.tried(self).visit::<i64>(),
            (Datatype::F64, _) => update.tried(self).visit::<f64>(),
            _ => datatype.visit(update.tried(self)),
        }
    }

    /// The path of a checked job, in which [`Communication::try_update`] finds nothing, likewise.
    #[inline]
    pub(super) fn try_update_checked(self, update: &Update<'_>) -> bool {
        let datatype = update.layout.uniform().filter(|_| update.is_alike());
        match datatype.filter(|_| self.calls.check().is_some() && !is_forked()) {
            Some(datatype) => datatype.visit(TrySlowly(update.tried(self), true)),
            None => false,
        }
    }

    /// The slow path of every accumulate: any layouts, any memory, and the reason of a refusal.
    #[inline(never)]
    pub(super) fn update_slowly(self, update: &Update<'_>) -> Result<()> {
        let bytes = update.layout.bytes().unwrap_or(0);
        self.calls.within_operation((update.call, update.target, bytes), || {
            let datatype = update.layout.uniform().filter(|_| update.is_alike());
            if datatype.is_some_and(|datatype| datatype.visit(TrySlowly(update.tried(self), false)))
            {
                return Ok(());
            }
            self.update_any(update)
        })
    }

    /// [`Communication::update_slowly`] after its beginning, in a call that is recorded.
    #[cold]
    #[inline(never)]
    pub(super) fn update_in_call(self, update: &Update<'_>) -> Result<()> {
        self.update_any(update)
    }

    #[inline(always)]
    fn update_any(self, update: &Update<'_>) -> Result<()> {
        match self.datatype_of(update) {
            Ok(Some(datatype)) => datatype.visit(SlowUpdate { parts: self, update }),
            _ if update.target == Rank::NULL => self.null_target(update.call).map(|_| ()),
            // There is no element. Only the target remains to be checked.
            Ok(None) => {
                let Update { call, target, disp, ref layout, .. } = *update;
                self.target(call, target, disp, &layout.range()).map(|_| ())
            }
            Err(error) => Err(error),
        }
    }

    /// The one predefined datatype of everything, if there are elements.
    fn datatype_of(self, update: &Update<'_>) -> Result<Option<Datatype>> {
        let mut datatype = None;
        for layout in [&update.layout].into_iter().chain(update.own().map(|own| &own.layout)) {
            if layout.is_empty() {
                continue;
            }
            let uniform = layout.uniform();
            if uniform.is_none() || datatype.is_some() && uniform != datatype {
                let why = "all basic elements of an accumulate, on every side, must have the same \
                           predefined datatype";
                return Err(self.unfit(update.call, layout, why));
            }
            datatype = uniform;
        }
        Ok(datatype)
    }

    pub(super) fn operation<T: Element>(self, call: Call, op: Op) -> Result<&'static Operation<T>> {
        T::operation(op).ok_or_else(|| {
            let (op, datatype) = (op.name(), T::DATATYPE.name());
            Error::Operation { at: self.calls.place(call), op, datatype }
        })
    }

    /// Every check of an update; the target, if there is something to do.
    fn target_of(self, update: &Update<'_>) -> Result<Option<Target<'w>>> {
        let &Update { call, target, disp, ref layout, .. } = update;
        for own in update.own() {
            self.check_reach(call, &own.layout.with_padding())?;
        }
        // A layout that reaches farther than an offset can express is refused with its range.
        let is_known = layout.known_range().is_some();
        if let Some(origin) = update.origin.as_ref().filter(|_| is_known) {
            self.check_fits(call, &origin.layout, layout)?;
        }
        if let Some(result) = &update.result {
            if is_known {
                self.check_fits(call, layout, &result.layout)?;
            }
            self.check_entries_disjoint(call, &result.layout)?;
        }
        let Some(target) = self.target(call, target, disp, &layout.range())? else {
            return Ok(None);
        };
        self.check_entries_disjoint(call, layout)?;
        for own in update.own() {
            self.check_disjoint_from(call, &target, disp, layout, own)?;
        }
        self.calls.epochs.operated();
        Ok(Some(target))
    }
}

/// The rest of [`Communication::update_slowly`], of elements whose type is known.
struct SlowUpdate<'w, 'd> {
    parts: Communication<'w>,
    update: &'w Update<'d>,
}

impl Visitor for SlowUpdate<'_, '_> {
    type Output = Result<()>;

    fn visit<E: Element>(self) -> Result<()> {
        let SlowUpdate { parts, update } = self;
        parts.operation::<E>(update.call, update.op)?;
        if update.target == Rank::NULL {
            return parts.null_target(update.call).map(|_| ());
        }
        let Some(target) = parts.target_of(update)? else { return Ok(()) };
        let describe = || {
            let kind = if update.op == Op::NoOp { AccessKind::Fetch } else { AccessKind::Update };
            let (call, datatype, at) = (update.call, E::DATATYPE as u8, update.at);
            let access = CheckedAccess { call, kind, datatype, op: update.op as u8 + 1, at };
            let read = update.origin.iter().map(|own| (*own, Direction::Put));
            let written = update.result.iter().map(|own| (*own, Direction::Get));
            (access, ([update.layout.with_padding().side()], 0), read.chain(written))
        };
        let delayed = |late: &Lateness<'_>| LateOperation::update(late, update);
        parts.report(&target, describe, delayed, || self.update::<E>(&target))
    }
}

/// An update that was reported before, of elements of the target.
pub(super) struct Updating<'w, 'd> {
    pub(super) parts: Communication<'w>,
    pub(super) update: &'w Update<'d>,
    pub(super) target: &'w Target<'w>,
}

impl Visitor for Updating<'_, '_> {
    type Output = Result<()>;

    fn visit<E: Element>(self) -> Result<()> {
        let Updating { parts, update, target } = self;
        SlowUpdate { parts, update }.update::<E>(target)
    }
}

impl SlowUpdate<'_, '_> {
    /// Updates the elements, and fetches them before if there is a result.
    fn update<E: Element>(&self, target: &Target<'_>) -> Result<()> {
        let &SlowUpdate { parts, update } = self;
        parts.report_updating(target, update.layout.range());
        let recording = self.recording::<E>(target);
        let is_short = update.origin.as_ref().map(|origin| origin.layout.elements())
            < Some(update.layout.elements());
        // The origin is shorter: all elements are fetched, and then those that it has are updated.
        let fetched = match update.result.is_some() && is_short {
            true => self.walk::<E>(target, None),
            false => Ok(()),
        };
        let done = match (&update.origin, fetched) {
            (Some(origin), Ok(())) => self.walk::<E>(target, Some(origin)),
            (_, fetched) => fetched,
        };
        recording.end();
        if update.result.is_some() {
            parts.report_fetched(target, update.layout.range());
        }
        done
    }

    /// Records that everything from the first element to the last is written, unless that is one instruction.
    fn recording<E: Element>(&self, target: &Target<'_>) -> Recording<'_> {
        let &SlowUpdate { parts, update } = self;
        let is_one = update.layout.is_single::<E>() && target.native::<E>().is_some();
        match update.op == Op::NoOp || is_one {
            true => Recording::Nothing,
            false => {
                parts.record_around(update.call, target.rank, target.start, &update.layout.range())
            }
        }
    }

    /// Updates the elements that the sides have in common, from the first on.
    fn walk<E: Element>(
        &self,
        target: &Target<'_>,
        origin: Option<&LocalLayout<'_>>,
    ) -> Result<()> {
        let Update { call, ref layout, ref result, .. } = *self.update;
        let op = if origin.is_some() { self.update.op } else { Op::NoOp };
        // Where each element lies, pairs with their padding, which no operation touches.
        let layout = layout.with_padding();
        // A side that does not exist counts as long as the target, and is never read.
        let absent = TransferSide::Packed(layout.bytes().unwrap_or(u64::MAX));
        let [from, into] = [origin, result.as_ref()].map(|own| match own {
            Some(own) => own.layout.with_padding().side(),
            None => absent,
        });
        let sides = [from, layout.side(), into];
        let mut blocks = Blocks::<E> {
            parts: self.parts,
            results: self.update.results,
            call,
            op,
            operation: self.parts.operation(call, op)?,
            target,
            origin: origin.map(|origin| origin.zero),
            result: result.as_ref().map(|result| result.zero.cast_mut()),
            scratch: Vec::new(),
            done: 0,
        };
        let mut done = Ok(());
        zip_sides(sides, |strip| {
            done = blocks.strip(strip);
            done.is_ok()
        });
        done
    }
}

/// A compare_and_swap of untyped buffers.
pub(super) struct Swap<'d> {
    pub(super) new: Origin<'d>,
    pub(super) compare: Origin<'d>,
    pub(super) result: OriginMut<'d>,
    pub(super) target: Rank,
    pub(super) disp: u64,
}

impl Swap<'_> {
    /// The fast path. Returns whether it is done; if it is not, nothing has changed.
    #[inline(always)]
    pub(super) fn try_run(self, parts: Communication<'_>) -> bool {
        match self.result.layout.uniform() {
            Some(Datatype::I32) => self.try_of::<i32>(parts),
            Some(Datatype::U32) => self.try_of::<u32>(parts),
            Some(Datatype::I64) => self.try_of::<i64>(parts),
            Some(Datatype::U64) => self.try_of::<u64>(parts),
            _ => false,
        }
    }

    /// The path of a checked job, in which the fast path finds nothing, likewise.
    #[track_caller]
    pub(super) fn try_checked(self, parts: Communication<'_>) -> bool {
        match self.result.layout.uniform().filter(|_| parts.calls.check().is_some() && !is_forked())
        {
            Some(Datatype::I32) => self.try_checked_of::<i32>(parts),
            Some(Datatype::U32) => self.try_checked_of::<u32>(parts),
            Some(Datatype::I64) => self.try_checked_of::<i64>(parts),
            Some(Datatype::U64) => self.try_checked_of::<u64>(parts),
            _ => false,
        }
    }

    /// The slow path.
    #[track_caller]
    pub(super) fn run(self, parts: Communication<'_>) -> Result<()> {
        let (call, layout) = (Call::CompareAndSwap, self.result.layout);
        match parts.element_of(call, &layout)? {
            Datatype::I8 => self.of::<i8>(parts),
            Datatype::I16 => self.of::<i16>(parts),
            Datatype::I32 => self.of::<i32>(parts),
            Datatype::I64 => self.of::<i64>(parts),
            Datatype::U8 => self.of::<u8>(parts),
            Datatype::U16 => self.of::<u16>(parts),
            Datatype::U32 => self.of::<u32>(parts),
            Datatype::U64 => self.of::<u64>(parts),
            _ => parts.calls.handled(Err(parts.unfit(call, &layout, "it has to be an integer"))),
        }
    }

    #[inline(always)]
    fn try_of<T: Integer>(mut self, parts: Communication<'_>) -> bool {
        let (new, compare) = (self.new.single::<T>(), self.compare.single::<T>());
        let (Some(new), Some(compare)) = (new, compare) else { return false };
        let Some(before) = self.result.single::<T>() else { return false };
        let buffers = [new, compare, before].map(std::ptr::from_ref);
        let old = parts.swap_element((*new, *compare), buffers, self.target, self.disp);
        old.map(|old| *before = old).is_some()
    }

    #[inline]
    #[track_caller]
    fn try_checked_of<T: Integer>(mut self, parts: Communication<'_>) -> bool {
        let (new, compare) = (self.new.single::<T>(), self.compare.single::<T>());
        let (Some(new), Some(compare)) = (new, compare) else { return false };
        let Some(before) = self.result.single::<T>() else { return false };
        let buffers = [new, compare, before].map(std::ptr::from_ref);
        let old = parts.swap_element_checked((*new, *compare), buffers, (self.target, self.disp));
        old.map(|old| *before = old).is_some()
    }

    #[track_caller]
    fn of<T: Integer>(mut self, parts: Communication<'_>) -> Result<()> {
        let Swap { target, disp, .. } = self;
        let values = (self.new.element::<T>(), self.compare.element::<T>());
        let places = [self.new.start, self.compare.start, self.result.start];
        let buffers = [
            (LocalLayout::from(&self.new), Direction::Put),
            (LocalLayout::from(&self.compare), Direction::Put),
            (LocalLayout::from(&self.result), Direction::Get),
        ];
        let delayed = |late: &Lateness<'_>| LateOperation::swap::<T>(late, &self);
        let found = parts.swap_slowly((values, places), (target, disp), &buffers, delayed)?;
        found.into_iter().for_each(|before| self.result.set_element(before));
        Ok(())
    }
}

impl Communication<'_> {
    /// The datatype of the one element that a layout has.
    pub(super) fn element_of(self, call: Call, layout: &Layout<'_>) -> Result<Datatype> {
        match layout.uniform() {
            Some(datatype) if layout.values() == 1 => Ok(datatype),
            _ => self.calls.handled(Err(self.unfit(call, layout, "it has to be one element"))),
        }
    }
}
