//! Local accesses to this rank's own part, by copying: allowed in any state, because a copy never
//! exposes memory that others write as a Rust reference.
#![allow(unsafe_code, reason = "reads and writes the own part of a window")]

use super::{Flavour, Reached, Via, Win};
use crate::call::Call;
use crate::datatype::Element;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::shm::copy;
use std::ops::Range;

impl Win {
    /// Copies elements of this rank's own part, from displacement `disp` on, into `to`: a local
    /// load. What it sees of other ranks' operations, synchronisation decides (MPI-2.2 §11.7). No
    /// elements may be asked for anywhere, as of a put or get.
    ///
    /// # Errors
    /// [`Error::Range`]; [`Error::NotAttached`] in a dynamic window.
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
        let own = Rank(self.comm.rank());
        let (from, start) = (from.as_ptr().cast(), || self.start_of(own.0, disp));
        // SAFETY: as in `load`.
        unsafe { self.copy_out(Call::LocalAccess, own, start, from, to.at, bytes) };
        Ok(())
    }

    fn own(&self, disp: u64, bytes: u64) -> Result<Reached<'_>> {
        let rank = self.comm.rank();
        let part = self.part(rank);
        if let Some(at) = part.at(disp, bytes) {
            return Ok(Reached { at, via: Via::Mapped, sharing: None });
        }
        // No slice has more than `i64::MAX` bytes.
        let bytes = 0..bytes as i64;
        let reached = self.reach_beyond(Call::LocalAccess, rank, disp, &bytes)?;
        let reached = reached.map(|reached| self.as_own(reached));
        reached.ok_or_else(|| self.out_of_range(Call::LocalAccess, rank, disp, &bytes))
    }

    /// Why a part has no such bytes.
    #[cold]
    pub(crate) fn out_of_range(
        &self,
        call: Call,
        target: u32,
        displacement: u64,
        range: &Range<i64>,
    ) -> Error {
        let at = self.place(call);
        // The distance of two `i64`s, each of them perhaps the smallest or largest.
        let bytes = range.end.wrapping_sub(range.start) as u64;
        if self.flavour == Flavour::Dynamic {
            let displacement = displacement.saturating_add_signed(range.start);
            return Error::NotAttached { at, target, address: displacement, bytes };
        }
        let (disp_unit, size) = (self.part(target).disp_unit, self.bytes_of(target));
        if range.start != 0 {
            let (start, end) = (range.start, range.end);
            return Error::LayoutRange { at, target, displacement, start, end, disp_unit, size };
        }
        Error::Range { at, target, displacement, bytes, disp_unit, size }
    }
}
