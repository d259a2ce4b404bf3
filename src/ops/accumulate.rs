//! Accumulate, get_accumulate, fetch_and_op, compare_and_swap over one update routine ([`super::update`]).
//!
//! Every element is updated atomically against every other accumulate of the window, whatever
//! mix of calls: an element of 1, 2, 4 or 8 bytes at an address aligned to its size
//! by one atomic instruction, or a loop around one, or, with many others, while nobody else is
//! in its stripe ([`super::bulk`]); any other element, and any in private memory,
//! under the target's accumulate exclusion. Which of the two depends on size and address alone, so
//! two accumulates on the same element always choose the same (MPI-2.2 §11.7.1 promises no more: same location,
//! same predefined datatype).
#![allow(unsafe_code, reason = "updates checked target memory")]

use super::target::are_apart;
use super::update::{Update, update_native};
use crate::call::Call;
use crate::datatype::{Element, Integer};
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::op::{Carrier, Op};
use crate::window::Win;
use bytemuck::must_cast;

/// Elements that an accumulate of the hot path has at most: more make its fixed costs small.
const SHORT: usize = 64;

impl Win {
    /// `MPI_Accumulate` (MPI-2.2 §11.3.4): element by element, replaces the target's value by
    /// `op` of it and the origin's. Atomic per element, not as a whole (§11.7.1).
    ///
    /// Local; blocks at most while another rank updates elements that no instruction can.
    ///
    /// # Errors
    /// As [`Win::put`], and [`Error::Operation`] if `op` is not defined for `T`.
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
    pub(super) fn accumulate_as<T: Element>(
        &self,
        call: Call,
        origin: &[T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        if self.accumulate_mapped(call, origin, op, target, disp).is_some() {
            return Ok(());
        }
        self.within(call, || {
            let operation = self.operation::<T>(call, op)?;
            let bytes = size_of_val(origin);
            let Some(target) = self.target(call, target, disp, bytes as u64)? else {
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
    pub fn get_accumulate<T: Element>(
        &self,
        origin: &[T],
        result: &mut [T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        self.fetch(Call::GetAccumulate, origin, result, op, target, disp)
    }

    /// `MPI_Fetch_and_op` (MPI-4.1 §12.3.4): [`Win::get_accumulate`] of one element.
    ///
    /// # Errors
    /// As [`Win::accumulate`].
    #[inline]
    pub fn fetch_and_op<T: Element>(
        &self,
        origin: &T,
        result: &mut T,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        if let Some(old) = self.fetch_mapped(origin, result, op, target, disp) {
            *result = old;
            return Ok(());
        }
        use std::slice::{from_mut, from_ref};
        self.fetch(Call::FetchAndOp, from_ref(origin), from_mut(result), op, target, disp)
    }

    /// `MPI_Compare_and_swap` (MPI-4.1 §12.3.4): replaces the target's element by `new` if it is
    /// equal to `compare`; `result` receives what it was.
    ///
    /// Atomic against every accumulate. Local; does not block, except for an element at an address
    /// not aligned to its size.
    ///
    /// # Errors
    /// As [`Win::put`].
    pub fn compare_and_swap<T: Integer>(
        &self,
        new: &T,
        compare: &T,
        result: &mut T,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let call = Call::CompareAndSwap;
        let buffers = [new, compare, &*result].map(std::ptr::from_ref);
        if let Some(at) = self.mapped_carrier::<T, 3>(target, disp, buffers) {
            let _call = self.enter(call);
            let (compare, new) = (must_cast(*compare), must_cast(*new));
            // SAFETY: 1. and 2. by `mapped_carrier`; 3. by invariant 4 of `shm`.
            let swap = || unsafe { T::Carrier::compare_exchange(at, compare, new) };
            if let Some(old) = self.announced(at.cast(), swap) {
                self.note_operation();
                *result = must_cast(old);
                return Ok(());
            }
        }
        self.within(call, || {
            let bytes = size_of::<T>();
            let Some(target) = self.target(call, target, disp, bytes as u64)? else {
                return Ok(());
            };
            for buffer in [new, compare, &*result] {
                self.check_apart(call, &target, disp, std::ptr::from_ref(buffer).cast(), bytes)?;
            }
            self.note_operation();
            if let Some(at) = self.native::<T>(&target) {
                let (compare, new) = (must_cast(*compare), must_cast(*new));
                // SAFETY: 1. and 2. by `native`; 3. by invariant 4 of `shm`.
                let swap = || unsafe { T::Carrier::compare_exchange(at, compare, new) };
                *result = must_cast(self.by_instructions(call, at.cast(), swap)?);
                return Ok(());
            }
            let recording = self.record(call, target.rank, target.start, bytes as u64);
            let updated = self.update_excluded(&target, call, 0..1, |_, old: T| {
                *result = old;
                if old == *compare { *new } else { old }
            });
            recording.end();
            updated
        })
    }

    /// The hot path of a short accumulate: an instruction, or a loop around one, for each element, if
    /// nothing is wrong. `None` if nothing has been done.
    #[inline(always)]
    fn accumulate_mapped<T: Element>(
        &self,
        call: Call,
        origin: &[T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Option<()> {
        let bytes = size_of_val(origin);
        let is_short = !origin.is_empty() && origin.len() <= SHORT;
        // Several elements are recorded where somebody may be left to ask.
        let is_recorded = origin.len() > 1 && self.context().records().is_some();
        if !T::Carrier::IS_NATIVE || !is_short || is_recorded {
            return None;
        }
        let at = self.mapped(target, disp, bytes, origin.as_ptr().cast())?;
        let aligned = (at as usize).is_multiple_of(size_of::<T>());
        if !aligned || bytes > self.rest_of_stripe(at) {
            return None;
        }
        let function = T::function(op)?;
        let _call = self.enter(call);
        self.announced(at, || {
            for (i, value) in origin.iter().enumerate() {
                let at = at.cast::<T::Carrier>().wrapping_add(i);
                // SAFETY: 1. and 2. `mapped` has found all elements, aligned; 3. by invariant 4 of
                // `shm`.
                unsafe { update_native(at, op, function, *value) };
            }
        })?;
        self.note_operation();
        Some(())
    }

    /// The hot path of `fetch_and_op`: one instruction, if the machine has it and nothing is
    /// wrong. Returns the value before.
    #[inline(always)]
    fn fetch_mapped<T: Element>(
        &self,
        origin: &T,
        result: &T,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Option<T> {
        if !(T::IS_INTEGER || matches!(op, Op::Replace | Op::NoOp)) {
            return None;
        }
        let buffers = [origin, result].map(std::ptr::from_ref);
        let at = self.mapped_carrier::<T, 2>(target, disp, buffers)?;
        let _call = self.enter(Call::FetchAndOp);
        // SAFETY: 1. and 2. by `mapped_carrier`; 3. by invariant 4 of `shm`.
        let fetch = || unsafe { T::Carrier::fetch_op(at, op, must_cast(*origin)) };
        let old = self.announced(at.cast(), fetch)??;
        self.note_operation();
        Some(must_cast(old))
    }

    /// The address of one element of a target as a carrier, if it is mapped, nothing is wrong, and
    /// the machine updates such elements.
    #[inline(always)]
    fn mapped_carrier<T: Element, const N: usize>(
        &self,
        target: Rank,
        disp: u64,
        buffers: [*const T; N],
    ) -> Option<*mut T::Carrier> {
        if !T::Carrier::IS_NATIVE {
            return None;
        }
        let at = self.mapped(target, disp, size_of::<T>(), buffers[0].cast())?;
        let apart = buffers.iter().all(|buffer| are_apart(buffer.cast(), at, size_of::<T>()));
        (apart && (at as usize).is_multiple_of(size_of::<T>())).then_some(at.cast())
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
        self.within(call, || {
            let operation = self.operation::<T>(call, op)?;
            let reads_origin = op != Op::NoOp;
            if reads_origin && origin.len() != result.len() {
                let (found, needed) = (origin.len(), result.len());
                let (at, what) = (self.place(call), "origin buffer");
                return Err(Error::Count { at, what, found, needed });
            }
            let bytes = size_of_val(result);
            let Some(target) = self.target(call, target, disp, bytes as u64)? else {
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
