//! The accumulates between any layouts: the elements of two or three walks, one by one.
//!
//! Each element is updated as [`super::accumulate`] says: by an instruction where its address and
//! size allow one, and else under the exclusion, a batch of elements at a time.
#![allow(unsafe_code, reason = "updates checked target memory, element by element")]

use super::layout::{Layout, Located};
use super::target::Target;
use super::untyped::{Origin, OriginMut};
use super::update::{BATCH, pass_middle};
use crate::call::Call;
use crate::datatype::{Datatype, Element, Entries, Visitor};
use crate::error::Result;
use crate::group::Rank;
use crate::op::functions::update_native;
use crate::op::{Carrier, Op};
use crate::prim::Site;
use crate::shm::{Piece, Recording, copy};
use crate::window::{Via, Win};
use std::ops::Range;

/// An accumulate with its buffers.
struct Combine<'w, 'd> {
    win: &'w Win,
    call: Call,
    op: Op,
    /// Not there for [`Op::NoOp`].
    origin: Option<Origin<'d>>,
    result: Option<OriginMut<'d>>,
    target: Rank,
    disp: u64,
    layout: Layout<'d>,
}

/// An element to be updated under the exclusion.
struct Pending<E> {
    at: *mut u8,
    /// `None` if it is only fetched.
    value: Option<E>,
    /// Where in the result its value before goes.
    into: Option<*mut u8>,
}

impl Win {
    /// As [`Win::accumulate`], from any layout to any other (`MPI_Accumulate`, MPI-2.2 §11.3.4).
    /// All basic elements of both have one predefined datatype.
    ///
    /// # Errors
    /// As [`Win::put_layout`] and [`Win::accumulate`];
    /// [`Error::Datatype`](crate::Error::Datatype) if the basic elements are of several datatypes.
    pub fn accumulate_layout(
        &self,
        origin: Origin<'_>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        self.accumulate_layout_as(Call::Accumulate, origin, op, target, disp, layout)
    }

    /// [`Win::accumulate_layout`] for `call`.
    pub(super) fn accumulate_layout_as(
        &self,
        call: Call,
        origin: Origin<'_>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        let origin = Some(origin);
        Combine { win: self, call, op, origin, result: None, target, disp, layout }.run()
    }

    /// As [`Win::get_accumulate`], with any layouts (`MPI_Get_accumulate`, MPI-4.1 §12.3.4):
    /// `result` receives all elements of `layout`, of which the origin's are combined into the
    /// first. With [`Op::NoOp`] `origin` is not looked at.
    ///
    /// # Errors
    /// As [`Win::accumulate_layout`], for the result too.
    pub fn get_accumulate_layout(
        &self,
        origin: Origin<'_>,
        result: OriginMut<'_>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        let call = Call::GetAccumulate;
        self.get_accumulate_layout_as(call, (origin, result), op, target, disp, layout)
    }

    /// [`Win::get_accumulate_layout`] for `call`.
    pub(super) fn get_accumulate_layout_as(
        &self,
        call: Call,
        (origin, result): (Origin<'_>, OriginMut<'_>),
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        let (origin, result) = (Some(origin).filter(|_| op != Op::NoOp), Some(result));
        Combine { win: self, call, op, origin, result, target, disp, layout }.run()
    }
}

impl Combine<'_, '_> {
    fn run(self) -> Result<()> {
        let Combine { win, call, target, .. } = self;
        if target == Rank::NULL {
            return win.within(call, || win.null_target(call).map(|_| ()));
        }
        match self.datatype() {
            Ok(Some(datatype)) => datatype.visit(self),
            Ok(None) => win.within(call, || {
                // No element anywhere: what remains to be checked is the target.
                win.target_around(call, target, self.disp, &self.layout.range()).map(|_| ())
            }),
            Err(error) => win.within(call, || Err(error)),
        }
    }

    /// The one predefined datatype of everything, if there are elements.
    fn datatype(&self) -> Result<Option<Datatype>> {
        let origin = self.origin.as_ref().map(|origin| origin.layout);
        let result = self.result.as_ref().map(|result| result.layout);
        let mut datatype = None;
        for layout in [Some(self.layout), origin, result].into_iter().flatten() {
            if layout.datatype.elements(1) == Some(0) {
                continue;
            }
            let uniform = layout.datatype.uniform();
            if uniform.is_none() || datatype.is_some() && uniform != datatype {
                let why = "all basic elements of an accumulate, on every side, must have the same \
                           predefined datatype";
                return Err(self.win.unfit(self.call, &layout, why));
            }
            datatype = uniform;
        }
        Ok(datatype)
    }

    /// Does it as an operation on slices, if it is one.
    fn as_slices<E: Element>(&mut self) -> Option<Result<()>> {
        let Combine { win, call, op, target, disp, .. } = *self;
        let bytes = self.layout.plain()?;
        let origin = match &self.origin {
            Some(origin) => origin.slice::<E>()?,
            None => &[],
        };
        if self.origin.is_some() && size_of_val(origin) != bytes {
            return None;
        }
        let Some(result) = &mut self.result else {
            return Some(win.accumulate_as(call, origin, op, target, disp));
        };
        let result = result.slice::<E>().filter(|result| size_of_val(*result) == bytes)?;
        Some(win.fetch(call, origin, result, op, target, disp))
    }

    /// Every check; the target, if there is something to do.
    fn checked(&self) -> Result<Option<Target<'_>>> {
        let &Combine { win, call, target, disp, ref layout, .. } = self;
        let origin = self.origin.as_ref().map(Located::from);
        let result = self.result.as_ref().map(Located::from);
        for own in [origin, result].iter().flatten() {
            win.check_reach(call, &own.layout)?;
        }
        if let Some(origin) = &origin {
            win.check_fits(call, &origin.layout, layout)?;
        }
        if let Some(result) = &result {
            win.check_fits(call, layout, &result.layout)?;
            win.check_entries_apart(call, &result.layout)?;
        }
        let Some(target) = win.target_around(call, target, disp, &layout.range())? else {
            return Ok(None);
        };
        win.check_entries_apart(call, layout)?;
        for own in [origin, result].iter().flatten() {
            win.check_apart_from(call, &target, disp, layout, own)?;
        }
        win.note_operation();
        Ok(Some(target))
    }

    fn all<E: Element>(&self) -> Result<()> {
        let function = self.win.function::<E>(self.call, self.op)?;
        let Some(target) = self.checked()? else { return Ok(()) };
        let nothing = Layout::new(0, E::DATATYPE);
        let origin = self.origin.as_ref().map_or(nothing, |origin| origin.layout);
        let result = self.result.as_ref().map_or(nothing, |result| result.layout);
        let elements = match self.result {
            Some(_) => self.layout.elements(),
            None => origin.elements(),
        };
        let size = size_of::<E>();
        let entries = |layout: &Layout<'_>,
                       body: &mut dyn FnMut(&mut Entries<'_>) -> Result<()>| {
            layout.datatype.with_entries(layout.count, size, body)
        };
        let update = Update { combine: self, target: &target, function };
        let recording = self.recording(&target);
        let done = entries(&self.layout, &mut |at| {
            entries(&origin, &mut |from| {
                entries(&result, &mut |into| update.all(elements, at, from, into))
            })
        });
        recording.end();
        done
    }

    /// Says that everything from the first element to the last is written.
    fn recording(&self, target: &Target<'_>) -> Recording<'_> {
        let Range { start, end } = self.layout.range();
        let (start, bytes) = (target.start.wrapping_add_signed(start), end.wrapping_sub(start));
        match self.origin {
            Some(_) => self.win.record(self.call, target.rank, start, bytes as u64),
            None => Recording::Nothing,
        }
    }
}

impl Visitor for Combine<'_, '_> {
    type Output = Result<()>;
    fn visit<E: Element>(mut self) -> Result<()> {
        match self.as_slices::<E>() {
            Some(done) => done,
            None => self.win.within(self.call, || self.all::<E>()),
        }
    }
}

/// A checked accumulate and its target.
struct Update<'a, E> {
    combine: &'a Combine<'a, 'a>,
    target: &'a Target<'a>,
    function: fn(E, E) -> E,
}

impl<E: Element> Update<'_, E> {
    /// Updates the first `elements` elements; where the origin has no more, fetches only.
    fn all(
        &self,
        elements: u64,
        at: &mut Entries<'_>,
        from: &mut Entries<'_>,
        into: &mut Entries<'_>,
    ) -> Result<()> {
        let origin = self.combine.origin.as_ref().map(|origin| origin.start);
        let result = self.combine.result.as_ref().map(|result| result.start);
        let Combine { win, call, .. } = *self.combine;
        let mut pending = Vec::new();
        for i in 0..elements {
            pass_middle(i as usize..i as usize + 1);
            let Some(at) = at.next() else { break };
            let at = self.target.at.wrapping_offset(at as isize);
            let value =
                origin.and_then(|start| Some((start, from.next()?))).map(|(start, from)| {
                    // SAFETY: 1. an entry of the origin. 2. `value` is new.
                    unsafe { load(start.wrapping_offset(from as isize)) }
                });
            let into = result.and_then(|start| Some(start.wrapping_offset(into.next()? as isize)));
            if self.is_native(at) {
                let (op, operand) = match value {
                    Some(value) => (self.combine.op, value),
                    None => (Op::NoOp, E::zeroed()),
                };
                // SAFETY: 1. to 3. `is_native`; an entry of the target.
                let update = || unsafe { update_native(at.cast(), op, self.function, operand) };
                let old = win.by_instructions(call, at, update)?;
                if let Some(into) = into {
                    // SAFETY: an entry of the result.
                    unsafe { store(into, old) };
                }
                continue;
            }
            pending.push(Pending { at, value, into });
            if pending.len() == BATCH {
                self.excluded(&pending)?;
                pending.clear();
            }
        }
        if pending.is_empty() { Ok(()) } else { self.excluded(&pending) }
    }

    /// Whether the element at `at` is updated by instructions.
    #[inline(always)]
    fn is_native(&self, at: *mut u8) -> bool {
        E::Carrier::IS_NATIVE
            && self.target.via == Via::Mapped
            && (at as usize).is_multiple_of(size_of::<E>())
    }

    /// Updates elements under one grant of the target's exclusion; blocks while it is held.
    fn excluded(&self, pending: &[Pending<E>]) -> Result<()> {
        let Combine { win, call, .. } = *self.combine;
        let sites = (Site::AccumulatePost, Site::AccumulatePre);
        let exclusion = &win.words_of(self.target.rank).accumulate;
        let updated = exclusion.run(sites, &win.excluded(), || match self.target.via {
            Via::Mapped | Via::Own => {
                pending.iter().for_each(|element| self.one_excluded(element));
                Ok(())
            }
            Via::Kernel(_) => self.by_the_kernel(pending),
        });
        updated.map_err(|failed| win.job_failed(failed, call))?
    }

    /// The new value of an element, if it gets one; hands out the old one.
    fn step(&self, element: &Pending<E>, old: E) -> Option<E> {
        if let Some(into) = element.into {
            // SAFETY: an entry of the result.
            unsafe { store(into, old) };
        }
        element.value.map(|value| (self.function)(old, value))
    }

    fn one_excluded(&self, element: &Pending<E>) {
        // SAFETY: 1. an entry of the target. 2. `old` is new.
        let old = unsafe { load(element.at) };
        if let Some(new) = self.step(element, old) {
            // SAFETY: an entry of the target.
            unsafe { store(element.at, new) };
        }
    }

    /// As [`Update::one_excluded`], of all, in another process.
    fn by_the_kernel(&self, pending: &[Pending<E>]) -> Result<()> {
        let Via::Kernel(process) = self.target.via else { return Ok(()) };
        let failed =
            |error| self.combine.win.kernel_error(self.combine.call, self.target.rank, error);
        let mut values = vec![E::zeroed(); pending.len()];
        let own = values.as_mut_ptr();
        let piece = |i: usize| {
            let (own, bytes) = (own.wrapping_add(i).cast(), size_of::<E>());
            Piece { own, other: pending[i].at, bytes }
        };
        let pieces: Vec<_> = (0..pending.len()).map(piece).collect();
        // SAFETY: 1. and 2. the elements of `values`, one by one.
        unsafe { process.read_pieces(&pieces) }.map_err(failed)?;
        let mut changed = Vec::with_capacity(pieces.len());
        for (element, piece) in pending.iter().zip(&pieces) {
            // SAFETY: 1. an element of `values`. 2. `old` is new.
            let old = unsafe { load(piece.own) };
            if let Some(new) = self.step(element, old) {
                // SAFETY: an element of `values`.
                unsafe { store(piece.own, new) };
                changed.push(*piece);
            }
        }
        // SAFETY: elements of `values`; the window exposes the others.
        unsafe { process.write_pieces(&changed) }.map_err(failed)
    }
}

/// The element at an address, aligned or not.
///
/// # Safety
/// `from` is valid for reads of an `E`.
#[inline(always)]
unsafe fn load<E: Element>(from: *const u8) -> E {
    let mut value = E::zeroed();
    // SAFETY: 1. the caller's obligation. 2. `value` is new.
    unsafe { copy(from, (&raw mut value).cast(), size_of::<E>()) };
    value
}

/// Writes an element to an address, aligned or not.
///
/// # Safety
/// `to` is valid for writes of an `E`.
#[inline(always)]
unsafe fn store<E: Element>(to: *mut u8, value: E) {
    // SAFETY: 1. the caller's obligation. 2. `value` is this function's own.
    unsafe { copy((&raw const value).cast(), to, size_of::<E>()) };
}
