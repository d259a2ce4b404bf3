//! Compare_and_swap: the accumulate of one integer that writes only what it is told to expect.
#![allow(unsafe_code, reason = "updates checked target memory")]

use crate::call::Call;
use crate::datatype::Integer;
use crate::error::Result;
use crate::group::Rank;
use crate::op::Carrier;
use crate::window::{Via, Win};
use bytemuck::must_cast;

impl Win {
    /// `MPI_Compare_and_swap` (MPI-4.1 §12.3.4): replaces the target's element by `new` if it is
    /// equal to `compare`; `result` receives what it was.
    ///
    /// Atomic against every accumulate. Local; does not block, except for an element at an address
    /// not aligned to its size.
    ///
    /// # Errors
    /// As [`Win::put`].
    #[inline(always)]
    pub fn compare_and_swap<T: Integer>(
        &self,
        new: &T,
        compare: &T,
        result: &mut T,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        if let Some(old) = self.swap_mapped(new, compare, result, target, disp) {
            *result = old;
            return Ok(());
        }
        self.swap_any(new, compare, result, target, disp)
    }

    /// The hot path of `compare_and_swap`, as [`Win::fetch_mapped`].
    #[inline(always)]
    pub(super) fn swap_mapped<T: Integer>(
        &self,
        new: &T,
        compare: &T,
        result: &T,
        target: Rank,
        disp: u64,
    ) -> Option<T> {
        let at = self.mapped_carrier(target, disp, [new, compare, result])?;
        // SAFETY: 1. and 2. by `mapped_carrier`.
        unsafe { self.swap_at(at, *new, *compare) }
    }

    /// As [`Win::fetch_at`], of `compare_and_swap`.
    ///
    /// # Safety
    /// As [`Win::fetch_at`].
    #[inline(always)]
    unsafe fn swap_at<T: Integer>(&self, at: *mut T::Carrier, new: T, compare: T) -> Option<T> {
        let (said, announced) = self.announce(Call::CompareAndSwap, at.cast())?;
        // SAFETY: 1. and 2., and by invariant 4 of `shm`.
        let old = unsafe { T::Carrier::compare_exchange(at, must_cast(compare), must_cast(new)) };
        announced.withdraw();
        said.end();
        Some(must_cast(old))
    }

    /// [`Win::compare_and_swap`] where the hot path has done nothing.
    #[cold]
    fn swap_any<T: Integer>(
        &self,
        new: &T,
        compare: &T,
        result: &mut T,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let call = Call::CompareAndSwap;
        self.within(call, || {
            let bytes = size_of::<T>();
            let Some(target) = self.target(call, target, disp, &(0..bytes as i64))? else {
                return Ok(());
            };
            for buffer in [new, compare, &*result] {
                self.check_apart(call, &target, disp, std::ptr::from_ref(buffer).cast(), bytes)?;
            }
            self.note_operation();
            if target.via == Via::Foreign {
                *result = self.swap_by(&target, new, compare)?;
                return Ok(());
            }
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

    /// As [`Win::fetch_and_op_flush`], of [`Win::compare_and_swap`].
    #[inline(always)]
    pub(crate) fn compare_and_swap_flush<T: Integer>(
        &self,
        new: T,
        compare: T,
        target: Rank,
        disp: u64,
    ) -> Result<T> {
        if let Some(at) = self.mapped_carrier::<T, 0>(target, disp, [])
            // SAFETY: 1. and 2. by `mapped_carrier`.
            && let Some(old) = unsafe { self.swap_at(at, new, compare) }
        {
            self.flush_updated(target);
            return Ok(old);
        }
        let mut before = T::zeroed();
        self.swap_any(&new, &compare, &mut before, target, disp)?;
        self.flush_reached(target);
        Ok(before)
    }
}
