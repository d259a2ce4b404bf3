//! The accumulates for callers who know the datatype only at run time, such as a C interface: the first lines
//! (`try_…`), of buffers that have the target's layout, and the other halves of the calls of one element.
//!
//! A first half returns whether it is done; if not, nothing is. So a caller that has to make room for errors
//! makes it in the other half alone.

use super::layout::Layout;
use super::untyped::{Origin, OriginMut};
use super::update::Update;
use crate::call::Call;
use crate::datatype::{Datatype, Element, Integer, Visitor};
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::op::Op;
use crate::window::Win;

impl Win {
    /// The first half of [`Win::accumulate_layout`], to a target of the origin's layout.
    #[inline]
    pub fn try_accumulate_alike(
        &self,
        origin: Origin<'_>,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> bool {
        let Some(datatype) = origin.layout.uniform() else { return false };
        let accumulate = Alike { win: self, origin, result: None, op, target, disp };
        match datatype {
            // What programs add up mostly, without the way over the table of all datatypes.
            Datatype::I64 => accumulate.visit::<i64>(),
            Datatype::F64 => accumulate.visit::<f64>(),
            _ => datatype.visit(accumulate),
        }
    }

    /// The first half of [`Win::fetch_and_op_untyped`].
    #[inline]
    pub fn try_fetch_and_op(
        &self,
        origin: Origin<'_>,
        result: OriginMut<'_>,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> bool {
        let Some(datatype) = result.layout.uniform() else { return false };
        let fetch = Alike { win: self, origin, result: Some(result), op, target, disp };
        match (datatype, op) {
            // What programs count with: of an operation that is known, the instruction stands here.
            (Datatype::I64, Op::Sum) => Alike { op: Op::Sum, ..fetch }.visit::<i64>(),
            (Datatype::I32, Op::Sum) => Alike { op: Op::Sum, ..fetch }.visit::<i32>(),
            _ => datatype.visit(fetch),
        }
    }

    /// The first half of [`Win::compare_and_swap_untyped`].
    #[inline]
    pub fn try_compare_and_swap(
        &self,
        new: Origin<'_>,
        compare: Origin<'_>,
        result: OriginMut<'_>,
        target: Rank,
        disp: u64,
    ) -> bool {
        let swap = Swap { win: self, new, compare, result, target, disp };
        match swap.result.layout.uniform() {
            Some(Datatype::I32) => swap.try_of::<i32>(),
            Some(Datatype::U32) => swap.try_of::<u32>(),
            Some(Datatype::I64) => swap.try_of::<i64>(),
            Some(Datatype::U64) => swap.try_of::<u64>(),
            _ => false,
        }
    }

    /// [`Win::fetch_and_op`] of untyped buffers, which hold one element of the same predefined
    /// datatype. With [`Op::NoOp`] `origin` is not looked at.
    ///
    /// # Errors
    /// As [`Win::fetch_and_op`]; [`Error::Datatype`] for anything but one element.
    pub fn fetch_and_op_untyped(
        &self,
        origin: Origin<'_>,
        result: OriginMut<'_>,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let (call, layout) = (Call::FetchAndOp, result.layout);
        self.element_of(call, &layout)?;
        let buffers = (origin, Some(result));
        self.update_slowly(&Update::new(call, buffers, op, target, disp, layout))
    }

    /// [`Win::compare_and_swap`] of untyped buffers, which hold one element of the same predefined
    /// integer datatype.
    ///
    /// # Errors
    /// As [`Win::compare_and_swap`]; [`Error::Datatype`] for anything but one such element.
    #[inline]
    pub fn compare_and_swap_untyped(
        &self,
        new: Origin<'_>,
        compare: Origin<'_>,
        result: OriginMut<'_>,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let call = Call::CompareAndSwap;
        let swap = Swap { win: self, new, compare, result, target, disp };
        match self.element_of(call, &swap.result.layout)? {
            Datatype::I8 => swap.of::<i8>(),
            Datatype::I16 => swap.of::<i16>(),
            Datatype::I32 => swap.of::<i32>(),
            Datatype::I64 => swap.of::<i64>(),
            Datatype::U8 => swap.of::<u8>(),
            Datatype::U16 => swap.of::<u16>(),
            Datatype::U32 => swap.of::<u32>(),
            Datatype::U64 => swap.of::<u64>(),
            _ => Err(self.no_element(call, &swap.result.layout, "it has to be an integer")),
        }
    }

    /// The datatype of the one element that a layout has.
    #[inline]
    fn element_of(&self, call: Call, layout: &Layout<'_>) -> Result<Datatype> {
        match layout.uniform() {
            Some(datatype) if layout.values() == 1 => Ok(datatype),
            _ => Err(self.no_element(call, layout, "it has to be one element")),
        }
    }

    #[cold]
    fn no_element(&self, call: Call, layout: &Layout<'_>, why: &'static str) -> Error {
        let datatype = layout.shown();
        let error = Error::Datatype { at: self.place(call), datatype, why };
        self.handled::<()>(Err(error)).expect_err("it is one")
    }
}

/// An accumulate of buffers that have the target's layout.
struct Alike<'w, 'd> {
    win: &'w Win,
    origin: Origin<'d>,
    /// Of one that fetches: one element.
    result: Option<OriginMut<'d>>,
    op: Op,
    target: Rank,
    disp: u64,
}

impl Visitor for Alike<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn visit<E: Element>(mut self) -> bool {
        let Alike { win, op, target, disp, .. } = self;
        let Some(result) = &mut self.result else {
            let of = |origin: &[E]| win.try_accumulate(Call::Accumulate, origin, op, target, disp);
            return self.origin.slice::<E>().is_some_and(of);
        };
        let Some(before) = result.single::<E>() else { return false };
        // Of NO_OP not looked at, and then nobody's.
        let nothing = E::zeroed();
        let value = if op == Op::NoOp { Some(&nothing) } else { self.origin.single::<E>() };
        let Some(value) = value else { return false };
        let buffers = [std::ptr::from_ref(value), std::ptr::from_ref(before)];
        let old = win.fetch_element(Call::FetchAndOp, *value, buffers, op, target, disp);
        old.map(|old| *before = old).is_some()
    }
}

/// A compare_and_swap with its buffers.
struct Swap<'w, 'd> {
    win: &'w Win,
    new: Origin<'d>,
    compare: Origin<'d>,
    result: OriginMut<'d>,
    target: Rank,
    disp: u64,
}

impl Swap<'_, '_> {
    #[inline(always)]
    fn try_of<T: Integer>(mut self) -> bool {
        let Swap { win, target, disp, .. } = self;
        let (new, compare) = (self.new.single::<T>(), self.compare.single::<T>());
        let (Some(new), Some(compare)) = (new, compare) else { return false };
        let Some(before) = self.result.single::<T>() else { return false };
        let buffers = [new, compare, before].map(std::ptr::from_ref);
        let old = win.swap_element((*new, *compare), buffers, target, disp);
        old.map(|old| *before = old).is_some()
    }

    #[inline]
    fn of<T: Integer>(mut self) -> Result<()> {
        let Swap { win, target, disp, .. } = self;
        let (new, compare) = (self.new.element::<T>(), self.compare.element::<T>());
        if let Some([before]) = self.result.slice::<T>() {
            return win.swap_slowly(&new, &compare, before, target, disp);
        }
        let mut before = T::zeroed();
        win.swap_slowly(&new, &compare, &mut before, target, disp)?;
        self.result.set_element(before);
        Ok(())
    }
}
