//! The accumulates of untyped buffers as they mostly are: one block on both sides, of the same
//! elements, mapped, and nothing is wrong. [`super::transfer`] has put and get.
//!
//! Each says whether it is done. If not it has done nothing, and the caller goes by [`super::untyped`],
//! [`super::single`] or a layout, which know all cases, and why an operation is refused. So a caller that
//! has to make room for errors, as a C interface has, makes it in the other way alone.

use super::untyped::{Origin, OriginMut};
use crate::call::Call;
use crate::datatype::{Datatype, Element, Integer, Visitor};
use crate::group::Rank;
use crate::op::Op;
use crate::window::Win;

impl Win {
    /// As [`Win::put_at_once`], for [`Win::accumulate_untyped`].
    #[inline]
    pub fn accumulate_at_once(&self, origin: Origin<'_>, op: Op, target: Rank, disp: u64) -> bool {
        let Some(datatype) = origin.layout.uniform() else { return false };
        let accumulate = Accumulate { win: self, origin, op, target, disp };
        match datatype {
            // What programs add up mostly, without the way over the table of all datatypes.
            Datatype::I64 => accumulate.visit::<i64>(),
            Datatype::F64 => accumulate.visit::<f64>(),
            _ => datatype.visit(accumulate),
        }
    }

    /// As [`Win::put_at_once`], for [`Win::fetch_and_op_untyped`].
    #[inline]
    pub fn fetch_and_op_at_once(
        &self,
        origin: Origin<'_>,
        result: OriginMut<'_>,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> bool {
        let Some(datatype) = result.layout.uniform() else { return false };
        let fetch = Fetch { win: self, origin, result, op, target, disp };
        match (datatype, op) {
            // What programs count with: of an operation that is known, the instruction stands here.
            (Datatype::I64, Op::Sum) => Fetch { op: Op::Sum, ..fetch }.visit::<i64>(),
            (Datatype::I32, Op::Sum) => Fetch { op: Op::Sum, ..fetch }.visit::<i32>(),
            _ => datatype.visit(fetch),
        }
    }

    /// As [`Win::put_at_once`], for [`Win::compare_and_swap_untyped`].
    #[inline]
    pub fn compare_and_swap_at_once(
        &self,
        new: Origin<'_>,
        compare: Origin<'_>,
        result: OriginMut<'_>,
        target: Rank,
        disp: u64,
    ) -> bool {
        match result.layout.uniform() {
            Some(Datatype::I32) => self.swap_one::<i32>(new, compare, result, target, disp),
            Some(Datatype::U32) => self.swap_one::<u32>(new, compare, result, target, disp),
            Some(Datatype::I64) => self.swap_one::<i64>(new, compare, result, target, disp),
            Some(Datatype::U64) => self.swap_one::<u64>(new, compare, result, target, disp),
            _ => false,
        }
    }

    #[inline(always)]
    fn swap_one<T: Integer>(
        &self,
        new: Origin<'_>,
        compare: Origin<'_>,
        mut result: OriginMut<'_>,
        target: Rank,
        disp: u64,
    ) -> bool {
        let (Some(new), Some(compare)) = (new.single::<T>(), compare.single::<T>()) else {
            return false;
        };
        let Some(before) = result.single::<T>() else { return false };
        let Some(old) = self.swap_mapped(new, compare, before, target, disp) else { return false };
        *before = old;
        true
    }
}

/// An accumulate with its buffer.
struct Accumulate<'w, 'd> {
    win: &'w Win,
    origin: Origin<'d>,
    op: Op,
    target: Rank,
    disp: u64,
}

impl Visitor for Accumulate<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn visit<E: Element>(self) -> bool {
        let Accumulate { win, origin, op, target, disp } = self;
        let Some(elements) = origin.slice::<E>() else { return false };
        win.accumulate_mapped(Call::Accumulate, elements, op, target, disp).is_some()
    }
}

/// A fetch_and_op with its buffers.
struct Fetch<'w, 'd> {
    win: &'w Win,
    origin: Origin<'d>,
    result: OriginMut<'d>,
    op: Op,
    target: Rank,
    disp: u64,
}

impl Visitor for Fetch<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn visit<E: Element>(mut self) -> bool {
        let Fetch { win, op, target, disp, .. } = self;
        let Some(before) = self.result.single::<E>() else { return false };
        // Of NO_OP not looked at, and then nobody's.
        let nothing = E::zeroed();
        let value = if op == Op::NoOp { Some(&nothing) } else { self.origin.single::<E>() };
        let Some(value) = value else { return false };
        let old = win.fetch_mapped(Call::FetchAndOp, value, before, op, target, disp);
        let Some(old) = old else { return false };
        *before = old;
        true
    }
}
