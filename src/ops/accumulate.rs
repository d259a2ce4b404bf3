//! Accumulate, get_accumulate, fetch_and_op over one update routine ([`super::update`]);
//! compare_and_swap is in [`super::swap`].
//!
//! Every element is updated atomically against every other accumulate of the window, whatever
//! mix of calls: an element of 1, 2, 4 or 8 bytes at an address aligned to its size
//! by one atomic instruction, or a loop around one, or, with many others, while nobody else is
//! in its stripe ([`super::bulk`]); any other element, and any in private memory,
//! under the target's accumulate exclusion. Which of the two depends on size and address alone, so
//! two accumulates on the same element always choose the same (MPI-2.2 §11.7.1 promises no more: same location,
//! same predefined datatype).
#![allow(unsafe_code, reason = "updates checked target memory")]

use super::update::Update;
use super::{Layout, Origin, OriginMut};
use crate::call::Call;
use crate::datatype::Element;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::op::Op;
use crate::window::Win;
use std::slice::{from_mut, from_ref};

impl Win {
    /// `MPI_Accumulate` (MPI-2.2 §11.3.4): element by element, replaces the target's value by
    /// `op` of it and the origin's. Atomic per element, not as a whole (§11.7.1).
    ///
    /// Local; blocks at most while another rank updates elements that no instruction can.
    ///
    /// # Errors
    /// As [`Win::put`], and [`Error::Operation`] if `op` is not defined for `T`.
    #[inline(always)]
    pub fn accumulate<T: Element>(
        &self,
        origin: &[T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        self.accumulate_as(Call::Accumulate, origin, op, target, disp)
    }

    /// [`Win::accumulate`] for `call`.
    #[inline(always)]
    pub(super) fn accumulate_as<T: Element>(
        &self,
        call: Call,
        origin: &[T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        match self.accumulate_mapped(call, origin, op, target, disp) {
            Some(()) => Ok(()),
            None => self.accumulate_any(call, origin, op, target, disp),
        }
    }

    /// The hot paths of an accumulate: `None` if nothing has been done.
    #[inline(always)]
    pub(super) fn accumulate_mapped<T: Element>(
        &self,
        call: Call,
        origin: &[T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Option<()> {
        match origin {
            [value] => self.accumulate_one(call, value, op, target, disp),
            _ => self.accumulate_few(call, origin, op, target, disp),
        }
    }

    /// [`Win::accumulate`] where the hot paths have done nothing.
    #[inline(never)]
    fn accumulate_any<T: Element>(
        &self,
        call: Call,
        origin: &[T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        if T::DATATYPE.is_padded() {
            let (origin, layout) = (Origin::of_slice(origin), Layout::of_slice::<T>(origin.len()));
            return self.accumulate_layout_as(call, origin, op, target, disp, layout);
        }
        self.within(call, || {
            let operation = self.operation::<T>(call, op)?;
            let bytes = size_of_val(origin);
            let Some(target) = self.target(call, target, disp, &(0..bytes as i64))? else {
                return Ok(());
            };
            self.check_apart(call, &target, disp, origin.as_ptr().cast(), bytes)?;
            self.note_operation();
            let update = Update { op, operation, call, target };
            let n = origin.len();
            self.recorded(&update, n, || {
                let done = self.update_many(&update, n, origin, &mut [])?;
                self.update(&update, done..n, |i| origin[i], |_, _| ())
            })
        })
    }

    /// `MPI_Get_accumulate` (MPI-4.1 §12.3.4): as [`Win::accumulate`], and `result` receives the
    /// target's values before. With [`Op::NoOp`] `origin` is not read and may be empty.
    ///
    /// # Errors
    /// As [`Win::accumulate`], and [`Error::Count`] if the lengths differ.
    #[inline]
    pub fn get_accumulate<T: Element>(
        &self,
        origin: &[T],
        result: &mut [T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let call = Call::GetAccumulate;
        if let ([value], [before]) = (origin, &mut *result)
            && let Some(old) = self.fetch_mapped(call, value, before, op, target, disp)
        {
            *before = old;
            return Ok(());
        }
        self.fetch(call, origin, result, op, target, disp)
    }

    /// `MPI_Fetch_and_op` (MPI-4.1 §12.3.4): [`Win::get_accumulate`] of one element.
    ///
    /// # Errors
    /// As [`Win::accumulate`].
    #[inline(always)]
    pub fn fetch_and_op<T: Element>(
        &self,
        origin: &T,
        result: &mut T,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let call = Call::FetchAndOp;
        if let Some(old) = self.fetch_mapped(call, origin, result, op, target, disp) {
            *result = old;
            return Ok(());
        }
        self.fetch(call, from_ref(origin), from_mut(result), op, target, disp)
    }

    /// [`Win::fetch_and_op`] and [`Win::flush`] in lock_all. The instruction of the hot path is the
    /// barrier of the flush too, and there is no buffer that the target could overlap.
    #[inline(always)]
    pub(crate) fn fetch_and_op_flush<T: Element>(
        &self,
        origin: T,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<T> {
        let (call, mut before) = (Call::FetchAndOp, T::zeroed());
        let done = match self.mapped_carrier::<T, 0>(target, disp, []) {
            // SAFETY: 1. and 2. by `mapped_carrier`.
            Some(at) => unsafe { self.fetch_at(call, at, origin, op) },
            None => None,
        };
        match done {
            Some(old) if op != Op::NoOp => {
                self.flush_updated(target);
                return Ok(old);
            }
            // A mere load.
            Some(old) => before = old,
            None => self.fetch(call, &[origin], from_mut(&mut before), op, target, disp)?,
        }
        self.flush_reached(target);
        Ok(before)
    }

    /// The hot path of an accumulate of one element: an instruction, or a loop around one, if nothing
    /// is wrong. `None` if nothing has been done.
    #[inline(always)]
    fn accumulate_one<T: Element>(
        &self,
        call: Call,
        origin: &T,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Option<()> {
        let at = self.mapped_carrier(target, disp, [origin])?;
        // SAFETY: 1. and 2. by `mapped_carrier`.
        unsafe { self.accumulate_at(call, at, from_ref(origin), op) }
    }

    /// As [`Win::accumulate_one`], of a few elements.
    #[inline(never)]
    fn accumulate_few<T: Element>(
        &self,
        call: Call,
        origin: &[T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Option<()> {
        let at = self.mapped_few(target, disp, origin.len(), [origin.as_ptr()])?;
        // SAFETY: 1. and 2. by `mapped_few`.
        unsafe { self.accumulate_at(call, at, origin, op) }
    }

    /// Updates the elements from `at` on in an announcement. `None` if nothing has been done; the call
    /// is then still said to be under way, as it is.
    ///
    /// # Safety
    /// 1. There are as many as in `origin`, aligned to their size, in one stripe.
    /// 2. `T::Carrier::IS_NATIVE`.
    #[inline(always)]
    unsafe fn accumulate_at<T: Element>(
        &self,
        call: Call,
        at: *mut T::Carrier,
        origin: &[T],
        op: Op,
    ) -> Option<()> {
        let operation = T::operation(op)?;
        let (said, announced) = self.announce(call, at.cast())?;
        // SAFETY: 1. and 2., and by invariant 4 of `shm`.
        unsafe { (operation.few)(at.cast(), origin.as_ptr(), origin.len()) };
        announced.withdraw();
        said.end();
        Some(())
    }

    /// The hot path of `fetch_and_op` and of as little: one instruction, or a loop around one, if nothing is wrong.
    /// Returns the value before.
    #[inline(always)]
    pub(super) fn fetch_mapped<T: Element>(
        &self,
        call: Call,
        origin: &T,
        result: &T,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Option<T> {
        let at = self.mapped_carrier(target, disp, [origin, result])?;
        // SAFETY: 1. and 2. by `mapped_carrier`.
        unsafe { self.fetch_at(call, at, *origin, op) }
    }

    /// Updates the element at `at` in an announcement, and returns the value before. `None` as of
    /// [`Win::accumulate_at`].
    ///
    /// # Safety
    /// 1. There is one, aligned to its size.
    /// 2. `T::Carrier::IS_NATIVE`.
    #[inline(always)]
    unsafe fn fetch_at<T: Element>(
        &self,
        call: Call,
        at: *mut T::Carrier,
        origin: T,
        op: Op,
    ) -> Option<T> {
        let operation = T::operation(op)?;
        let (said, announced) = self.announce(call, at.cast())?;
        // SAFETY: 1. and 2., and by invariant 4 of `shm`.
        let old = unsafe { (operation.fetch)(at.cast(), origin) };
        announced.withdraw();
        said.end();
        Some(old)
    }

    /// The hot path of a get_accumulate of a few elements, as [`Win::accumulate_few`].
    #[inline(always)]
    fn fetch_few<T: Element>(
        &self,
        call: Call,
        origin: &[T],
        result: &mut [T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Option<()> {
        let n = result.len();
        if origin.len() != n {
            return None;
        }
        let at = self.mapped_few(target, disp, n, [origin.as_ptr(), result.as_ptr()])?;
        let operation = T::operation(op)?;
        let (said, announced) = self.announce(call, at.cast())?;
        for (i, (value, before)) in origin.iter().zip(result).enumerate() {
            // SAFETY: 1. and 2. by `mapped_few`; 3. by invariant 4 of `shm`.
            *before = unsafe { (operation.fetch)(at.wrapping_add(i).cast(), *value) };
        }
        announced.withdraw();
        said.end();
        Some(())
    }

    /// [`Win::get_accumulate`] for `call`.
    pub(super) fn fetch<T: Element>(
        &self,
        call: Call,
        origin: &[T],
        result: &mut [T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        if self.fetch_few(call, origin, result, op, target, disp).is_some() {
            return Ok(());
        }
        let reads_origin = op != Op::NoOp;
        let is_short = reads_origin && origin.len() != result.len();
        if T::DATATYPE.is_padded() && !is_short {
            let layout = Layout::of_slice::<T>(result.len());
            let buffers = (Origin::of_slice(origin), OriginMut::of_slice(result));
            return self.get_accumulate_layout_as(call, buffers, op, target, disp, layout);
        }
        self.within(call, || {
            let operation = self.operation::<T>(call, op)?;
            if is_short {
                let (found, needed) = (origin.len(), result.len());
                let (at, what) = (self.place(call), "origin buffer");
                return Err(Error::Count { at, what, found, needed });
            }
            let bytes = size_of_val(result);
            let Some(target) = self.target(call, target, disp, &(0..bytes as i64))? else {
                return Ok(());
            };
            if reads_origin {
                self.check_apart(call, &target, disp, origin.as_ptr().cast(), bytes)?;
            }
            self.check_apart(call, &target, disp, result.as_ptr().cast(), bytes)?;
            self.note_operation();
            let update = Update { op, operation, call, target };
            let operand = |i: usize| if reads_origin { origin[i] } else { T::zeroed() };
            let n = result.len();
            self.recorded(&update, n, || {
                let done = self.update_many(&update, n, origin, result)?;
                self.update(&update, done..n, operand, |i, old| result[i] = old)
            })
        })
    }
}
