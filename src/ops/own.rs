//! Local accesses to this rank's own part, by copying: allowed in any state, because a copy never
//! exposes memory that others write as a Rust reference.
#![allow(unsafe_code, reason = "reads and writes the own part of a window")]

use crate::call::Call;
use crate::datatype::Element;
use crate::error::Result;
use crate::shm::copy;
use crate::window::{Target, Win};

impl Win {
    /// Copies elements of this rank's own part, from displacement `disp` on, into `to`: a local
    /// load. What it sees of other ranks' operations, synchronisation decides (MPI-2.2 §11.7). No
    /// elements may be asked for anywhere, as of a put or get.
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range); [`Error::NotAttached`](crate::Error::NotAttached) in a dynamic window.
    pub fn load<T: Element>(&self, disp: u64, to: &mut [T]) -> Result<()> {
        let bytes = size_of_val(to);
        if bytes == 0 {
            return Ok(());
        }
        let _call = self.enter(Call::LocalAccess);
        let from = self.handled(self.own(disp, bytes as u64))?;
        // SAFETY: 1. `own` has checked the range; `to` is a slice. 2. No slice of the own part
        // exists while a method of the window can be called (`epoch::local`).
        unsafe { copy(from.at, to.as_mut_ptr().cast(), bytes) };
        Ok(())
    }

    /// Copies `from` to this rank's own part, from displacement `disp` on: a local store.
    ///
    /// # Errors
    /// As [`Win::load`].
    pub fn store<T: Element>(&self, disp: u64, from: &[T]) -> Result<()> {
        let bytes = size_of_val(from);
        if bytes == 0 {
            return Ok(());
        }
        let _call = self.enter(Call::LocalAccess);
        let to = self.handled(self.own(disp, bytes as u64))?;
        let own = self.comm().rank();
        let (from, start) = (from.as_ptr().cast(), || self.start_of(own.0, disp));
        // SAFETY: as in `load`.
        unsafe {
            self.copy_out((self.context(), Call::LocalAccess), own, start, from, to.at, bytes)
        };
        Ok(())
    }

    fn own(&self, disp: u64, bytes: u64) -> Result<Target<'_>> {
        // No slice has more than `i64::MAX` bytes.
        let own = self.memory(Call::LocalAccess, self.comm().rank().0, disp, &(0..bytes as i64))?;
        Ok(self.as_own(own))
    }
}
