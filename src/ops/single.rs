//! The accumulates of one element, for callers who know the datatype only at run time.

use super::layout::Layout;
use super::untyped::{Origin, OriginMut};
use crate::call::Call;
use crate::datatype::{Datatype, Integer};
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::op::Op;
use crate::window::Win;

impl Win {
    /// [`Win::fetch_and_op`] of untyped buffers, which hold one element of the same predefined
    /// datatype. With [`Op::NoOp`] `origin` is not looked at. [`Win::fetch_and_op_at_once`] is its hot path.
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
        self.get_accumulate_layout_as(call, (origin, result), op, target, disp, layout)
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
    #[inline]
    fn of<T: Integer>(mut self) -> Result<()> {
        let Swap { win, target, disp, .. } = self;
        let (new, compare) = (self.new.element::<T>(), self.compare.element::<T>());
        if let Some([before]) = self.result.slice::<T>() {
            return win.compare_and_swap(&new, &compare, before, target, disp);
        }
        let mut before = T::zeroed();
        win.compare_and_swap(&new, &compare, &mut before, target, disp)?;
        self.result.set_element(before);
        Ok(())
    }
}
