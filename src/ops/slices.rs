//! Put and get between a slice and as many elements of one instance of a datatype: the short way.
#![allow(unsafe_code, reason = "copies between a slice and checked target memory")]

use super::layout::are_far;
use super::scatter::copy_sides;
use crate::call::Call;
use crate::datatype::{CommittedDatatype, Side};
use crate::group::Rank;
use crate::prim::Step;
use crate::shm::{Lane, Recording, Strip, copy_strip_past};
use crate::window::Win;

impl Win {
    /// Puts the elements of a slice to those of one instance of `datatype`, which has the same
    /// basic elements, if it has as many, all are mapped, and nothing is wrong.
    #[inline(always)]
    pub(super) fn put_slice(
        &self,
        origin: &[u8],
        target: Rank,
        disp: u64,
        datatype: &CommittedDatatype,
    ) -> bool {
        if !datatype.is_known_apart() {
            return false;
        }
        let from = origin.as_ptr();
        let Some(at) = self.mapped_slice(from, origin.len(), target, disp, datatype) else {
            return false;
        };
        let _call = self.enter(Call::Put);
        self.note_operation();
        let recording = match datatype.range_of_bytes(origin.len() as u64) {
            Some(range) => self.record_around(Call::Put, target, disp, range),
            None => Recording::Nothing,
        };
        match datatype.blocks() {
            Some(Strip { lanes: [to], bytes, blocks }) => {
                let strip = Strip { lanes: [Lane::even(0, bytes as i64), to], bytes, blocks };
                // SAFETY: 1. the bytes of a slice; the target's entries, by `mapped_slice`. 2. It
                // has found them apart.
                unsafe { copy_strip_past(Step::MidPut, from, at, &strip) };
            }
            None => {
                let side = Side::Packed(origin.len() as u64);
                // SAFETY: as above.
                unsafe { copy_sides(Step::MidPut, (from, side), (at, Side::Typed(datatype, 1))) };
            }
        }
        recording.end();
        true
    }

    /// [`Win::put_slice`] the other way.
    #[inline(always)]
    pub(super) fn get_slice(
        &self,
        origin: &mut [u8],
        target: Rank,
        disp: u64,
        datatype: &CommittedDatatype,
    ) -> bool {
        let to = origin.as_mut_ptr();
        let Some(at) = self.mapped_slice(to, origin.len(), target, disp, datatype) else {
            return false;
        };
        let _call = self.enter(Call::Get);
        self.note_operation();
        match datatype.blocks() {
            Some(Strip { lanes: [from], bytes, blocks }) => {
                let strip = Strip { lanes: [from, Lane::even(0, bytes as i64)], bytes, blocks };
                // SAFETY: as in `put_slice`.
                unsafe { copy_strip_past(Step::MidGet, at, to, &strip) };
            }
            None => {
                let side = Side::Packed(origin.len() as u64);
                // SAFETY: as in `put_slice`.
                unsafe { copy_sides(Step::MidGet, (at, Side::Typed(datatype, 1)), (to, side)) };
            }
        }
        true
    }

    /// The address of the displacement, if `datatype` has `bytes` bytes of entries there that are
    /// mapped, and do not come near the slice.
    #[inline(always)]
    fn mapped_slice(
        &self,
        slice: *const u8,
        bytes: usize,
        target: Rank,
        disp: u64,
        datatype: &CommittedDatatype,
    ) -> Option<*mut u8> {
        let range = datatype.range_of_bytes(bytes as u64)?;
        let zero = self.mapped_around(target, disp, range)?;
        are_far((slice, &(0..bytes as i64)), (zero, range)).then_some(zero)
    }
}
