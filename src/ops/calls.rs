//! The calls: each describes what it moves or combines, and [`Win::transfer`] or the route of the accumulates
//! does it.

use super::Layout;
use super::transfer::Transfer;
use super::untyped::{Origin, OriginMut};
use super::update::Update;
use crate::call::Call;
use crate::datatype::{Element, Integer, Shape, Shaped, ShapedMut};
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::op::Op;
use crate::window::Win;
use std::ptr::from_ref;
use std::slice::{from_mut as slice_of_mut, from_ref as slice_of};

impl Win {
    /// `MPI_Put` (MPI-2.2 §11.3.1): copies `origin` to the window of `target`, from displacement
    /// `disp` (in the target's displacement units) on.
    ///
    /// Local; does not block, except in a dynamic window while the target attaches or detaches.
    /// Nothing happens for [`Rank::NULL`].
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::TargetRank`],
    /// [`Error::Range`] or, in a dynamic window,
    /// [`Error::NotAttached`],
    /// [`Error::Conflict`]; of private memory
    /// [`Error::Unreachable`].
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
    /// As [`Win::put`]; [`Error::LayoutRange`];
    /// [`Error::Datatype`] if the origin's elements are not those, or the first of
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
        self.accumulate_slice(Call::Accumulate, origin, op, target, disp)
    }

    /// An accumulate of a slice.
    #[inline(always)]
    pub(super) fn accumulate_slice<T: Element>(
        &self,
        call: Call,
        origin: &[T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        match self.try_accumulate(call, origin, op, target, disp) {
            true => Ok(()),
            false => self.update_slowly(&Update::slice(call, origin, op, target, disp)),
        }
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
        self.fetch_slice(Call::GetAccumulate, (origin, result), op, target, disp)
    }

    /// An accumulate of a slice that fetches into another one.
    #[inline(always)]
    pub(super) fn fetch_slice<T: Element>(
        &self,
        call: Call,
        (origin, result): (&[T], &mut [T]),
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        if self.try_fetch(call, origin, result, op, target, disp) {
            return Ok(());
        }
        if op != Op::NoOp && origin.len() != result.len() {
            return self.wrong_len(call, origin.len(), result.len());
        }
        self.update_slowly(&Update::fetching(call, (origin, result), op, target, disp))
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
        let buffers = (slice_of(origin), slice_of_mut(result));
        self.fetch_slice(Call::FetchAndOp, buffers, op, target, disp)
    }

    /// [`Win::fetch_and_op`] and [`Win::flush`] in lock_all. The instruction of the usual path is the
    /// barrier of the flush too, and there is no buffer that the target could overlap.
    #[inline(always)]
    pub(crate) fn fetch_and_op_flush<T: Element>(
        &self,
        origin: T,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<T> {
        match self.fetch_element(Call::FetchAndOp, origin, [], op, target, disp) {
            Some(old) if op != Op::NoOp => {
                self.flush_updated(target);
                Ok(old)
            }
            // A mere load.
            Some(old) => {
                self.flush_reached(target);
                Ok(old)
            }
            None => {
                let old = self.fetch_slowly(origin, op, target, disp)?;
                self.flush_reached(target);
                Ok(old)
            }
        }
    }

    /// The other half of a fetch_and_op of a value.
    #[cold]
    fn fetch_slowly<T: Element>(&self, origin: T, op: Op, target: Rank, disp: u64) -> Result<T> {
        let mut before = T::zeroed();
        let buffers = (slice_of(&origin), slice_of_mut(&mut before));
        self.update_slowly(&Update::fetching(Call::FetchAndOp, buffers, op, target, disp))?;
        Ok(before)
    }

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
        let buffers = [from_ref(new), from_ref(compare), from_ref(result)];
        match self.swap_element((*new, *compare), buffers, target, disp) {
            Some(old) => {
                *result = old;
                Ok(())
            }
            None => self.swap_slowly(new, compare, result, target, disp),
        }
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
        if let Some(old) = self.swap_element((new, compare), [], target, disp) {
            self.flush_updated(target);
            return Ok(old);
        }
        let mut before = T::zeroed();
        self.swap_slowly(&new, &compare, &mut before, target, disp)?;
        self.flush_reached(target);
        Ok(before)
    }

    /// As [`Win::accumulate`], from any layout to any other (`MPI_Accumulate`, MPI-2.2 §11.3.4).
    /// All basic elements of both have one predefined datatype.
    ///
    /// # Errors
    /// As [`Win::put_layout`] and [`Win::accumulate`]; [`Error::Datatype`] if the basic elements are of
    /// several datatypes.
    pub fn accumulate_layout(
        &self,
        origin: Origin<'_>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        let buffers = (origin, None);
        self.update_slowly(&Update::new(Call::Accumulate, buffers, op, target, disp, layout))
    }

    /// As [`Win::get_accumulate`], with any layouts (`MPI_Get_accumulate`, MPI-4.1 §12.3.4):
    /// `result` receives all elements of `layout`, of which the origin's are combined into the
    /// first. With [`Op::NoOp`] `origin` is not looked at.
    ///
    /// # Errors
    /// As [`Win::accumulate_layout`], for the result too.
    pub fn get_accumulate_layout(
        &self,
        origin: Origin<'_>,
        result: OriginMut<'_>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        let buffers = (origin, Some(result));
        self.update_slowly(&Update::new(Call::GetAccumulate, buffers, op, target, disp, layout))
    }

    /// [`Win::put_layout`] of elements to as many of a shape.
    #[inline(always)]
    pub(crate) fn put_shaped<'s, T: Element>(
        &self,
        origin: Shaped<'s, 's, T>,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        let (found, origin, layout) = (origin.len(), Origin::of(origin), Layout::of_shape(shape));
        let transfer = Transfer::put_between(Call::Put, &origin, target, disp, layout);
        self.transfer_shaped(transfer, found, shape)
    }

    /// [`Win::get_layout`] of the elements of a shape to as many.
    #[inline(always)]
    pub(crate) fn get_shaped<'s, T: Element>(
        &self,
        origin: ShapedMut<'s, 's, T>,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        let (found, origin, layout) =
            (origin.len(), OriginMut::of(origin), Layout::of_shape(shape));
        let transfer = Transfer::get_between(Call::Get, origin, target, disp, layout);
        self.transfer_shaped(transfer, found, shape)
    }

    /// [`Win::transfer`] of as many elements as a shape has, which only then is done by its first lines.
    #[inline(always)]
    fn transfer_shaped<T: Element>(
        &self,
        transfer: Transfer<'_>,
        found: usize,
        shape: &Shape<T>,
    ) -> Result<()> {
        if self.try_transfer(&transfer) {
            return Ok(());
        }
        self.check_len(transfer.call, found, shape)?;
        self.transfer_slowly(&transfer.copied())
    }

    /// [`Win::accumulate_layout`] of elements into as many of a shape.
    pub(crate) fn accumulate_shaped<'s, T: Element>(
        &self,
        origin: Shaped<'s, 's, T>,
        op: Op,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        self.check_len(Call::Accumulate, origin.len(), shape)?;
        self.accumulate_layout(Origin::of(origin), op, target, disp, Layout::of_shape(shape))
    }

    /// [`Win::get_accumulate_layout`] of elements into as many of a shape.
    pub(crate) fn get_accumulate_shaped<'s, T: Element>(
        &self,
        (origin, result): (Shaped<'s, 's, T>, ShapedMut<'s, 's, T>),
        op: Op,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        if op != Op::NoOp {
            self.check_len(Call::GetAccumulate, origin.len(), shape)?;
        }
        self.check_len(Call::GetAccumulate, result.len(), shape)?;
        let (origin, result) = (Origin::of(origin), OriginMut::of(result));
        self.get_accumulate_layout(origin, result, op, target, disp, Layout::of_shape(shape))
    }

    /// Refuses a buffer that does not have the elements of the shape.
    #[inline]
    fn check_len<T: Element>(&self, call: Call, found: usize, shape: &Shape<T>) -> Result<()> {
        if found == shape.len() {
            return Ok(());
        }
        self.wrong_len(call, found, shape.len())
    }

    #[cold]
    fn wrong_len(&self, call: Call, found: usize, needed: usize) -> Result<()> {
        let (at, what) = (self.place(call), "origin buffer");
        self.handled(Err(Error::Count { at, what, found, needed }))
    }
}
