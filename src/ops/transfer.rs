//! Put and get: the two directions of one copy.
#![allow(unsafe_code, reason = "copies between an origin buffer and checked target memory")]

use crate::call::Call;
use crate::datatype::Element;
use crate::error::Result;
use crate::group::Rank;
use crate::shm::copy;
use crate::window::Win;

impl Win {
    /// `MPI_Put` (MPI-2.2 §11.3.1): copies `origin` to the window of `target`, from displacement
    /// `disp` (in the target's displacement units) on.
    ///
    /// Local; never blocks. Nothing happens for [`Rank::NULL`].
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch), [`Error::TargetRank`](crate::Error::TargetRank),
    /// [`Error::Range`](crate::Error::Range), [`Error::Conflict`](crate::Error::Conflict).
    #[inline]
    pub fn put<T: Element>(&self, origin: &[T], target: Rank, disp: u64) -> Result<()> {
        let _call = self.enter(Call::Put);
        let bytes = size_of_val(origin);
        let Some(target) = self.target(Call::Put, target, disp, bytes as u64)? else {
            return Ok(());
        };
        let origin: *const u8 = origin.as_ptr().cast();
        self.check_apart(Call::Put, target, disp, origin, bytes)?;
        self.note_operation();
        // SAFETY: 1. `origin` was a slice; `target` has been checked. 2. `check_apart`.
        unsafe { copy(origin, target.at, bytes) };
        Ok(())
    }

    /// `MPI_Get` (MPI-2.2 §11.3.2): copies from the window of `target`, from displacement `disp`
    /// (in the target's displacement units) on, to `origin`.
    ///
    /// Local; never blocks. Nothing happens for [`Rank::NULL`].
    ///
    /// # Errors
    /// As [`Win::put`].
    #[inline]
    pub fn get<T: Element>(&self, origin: &mut [T], target: Rank, disp: u64) -> Result<()> {
        let _call = self.enter(Call::Get);
        let bytes = size_of_val(origin);
        let Some(target) = self.target(Call::Get, target, disp, bytes as u64)? else {
            return Ok(());
        };
        let origin: *mut u8 = origin.as_mut_ptr().cast();
        self.check_apart(Call::Get, target, disp, origin, bytes)?;
        self.note_operation();
        // SAFETY: 1. `origin` was a slice; `target` has been checked. 2. `check_apart`.
        unsafe { copy(target.at, origin, bytes) };
        Ok(())
    }
}
