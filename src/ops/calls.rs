//! The calls that move: each says what it moves, and [`Win::transfer`] does it.

use super::Layout;
use super::transfer::Transfer;
use super::untyped::{Origin, OriginMut};
use crate::call::Call;
use crate::datatype::Element;
use crate::error::Result;
use crate::group::Rank;
use crate::window::Win;

impl Win {
    /// `MPI_Put` (MPI-2.2 §11.3.1): copies `origin` to the window of `target`, from displacement
    /// `disp` (in the target's displacement units) on.
    ///
    /// Local; does not block, except in a dynamic window while the target attaches or detaches.
    /// Nothing happens for [`Rank::NULL`].
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch), [`Error::TargetRank`](crate::Error::TargetRank),
    /// [`Error::Range`](crate::Error::Range) or, in a dynamic window,
    /// [`Error::NotAttached`](crate::Error::NotAttached),
    /// [`Error::Conflict`](crate::Error::Conflict); of private memory
    /// [`Error::Unreachable`](crate::Error::Unreachable).
    #[inline(always)]
    pub fn put<T: Element>(&self, origin: &[T], target: Rank, disp: u64) -> Result<()> {
        self.transfer(Transfer::put(Call::Put, origin, target, disp))
    }

    /// `MPI_Get` (MPI-2.2 §11.3.2): copies from the window of `target`, from displacement `disp` on
    /// (in the target's displacement units), to `origin`.
    ///
    /// Local; does not block, except as [`Win::put`]. Nothing happens for [`Rank::NULL`].
    ///
    /// # Errors
    /// As [`Win::put`].
    #[inline(always)]
    pub fn get<T: Element>(&self, origin: &mut [T], target: Rank, disp: u64) -> Result<()> {
        self.transfer(Transfer::get(Call::Get, origin, target, disp))
    }

    /// As [`Win::put`], from any layout to any other (`MPI_Put`, MPI-2.2 §11.3.1). The entries of
    /// the origin, in the order of its type map, go to the first entries of `layout`, whose
    /// displacement 0 is at `disp`.
    ///
    /// # Errors
    /// As [`Win::put`]; [`Error::LayoutRange`](crate::Error::LayoutRange);
    /// [`Error::Datatype`](crate::Error::Datatype) if the origin's elements are not those, or the first of
    /// those, of `layout`, or if two entries of `layout` share a byte.
    #[inline]
    pub fn put_layout(
        &self,
        origin: Origin<'_>,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        self.transfer(Transfer::put_between(Call::Put, &origin, target, disp, layout))
    }

    /// As [`Win::get`], from any layout to any other (`MPI_Get`, MPI-2.2 §11.3.2). The entries of
    /// `layout`, whose displacement 0 is at `disp`, go to the first entries of the origin.
    ///
    /// # Errors
    /// As [`Win::put_layout`], with the sides exchanged.
    #[inline]
    pub fn get_layout(
        &self,
        origin: OriginMut<'_>,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        self.transfer(Transfer::get_between(Call::Get, origin, target, disp, layout))
    }
}
