//! The communication calls of a window, in the order of the standard (MPI-4.1 §12.3). Each describes what
//! it moves or combines, and passes that to the route of transfers or of updates. Notified access and the
//! accesses to the own part come last.

use super::Layout;
use super::borrowed::Buffers;
use super::buffer::{Origin, OriginMut};
use super::request::Request;
use super::transfer::Transfer;
use super::update::{Swap, Update};
use crate::call::Call;
use crate::datatype::{Element, Integer, Shape, Shaped, ShapedMut};
use crate::error::{Error, Result};
use crate::foreign::Results;
use crate::group::Rank;
use crate::op::Op;
use crate::shm::Direction;
use crate::sync::notify::{self, NotifyCounter};
use crate::window::{Communication, Win};
use bytemuck::Pod;
use std::panic::Location;
use std::ptr::from_ref;
use std::slice::{from_mut as slice_of_mut, from_ref as slice_of};

impl Win {
    // Put and get (MPI-4.1 §12.3.1, §12.3.2).

    /// `MPI_Put` (MPI-2.2 §11.3.1): copies `origin` to the window of `target`, from displacement `disp`
    /// (in the target's displacement units) on.
    ///
    /// Local; does not block, except in a dynamic window while the target attaches or detaches. Nothing
    /// happens for [`Rank::NULL`].
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::TargetRank`], [`Error::Range`], [`Error::Conflict`]; in a dynamic
    /// window [`Error::NotAttached`]; for private memory [`Error::Unreachable`].
    #[doc(alias = "MPI_Put")]
    #[inline(always)]
    #[track_caller]
    pub fn put<T: Pod>(&self, origin: &[T], target: Rank, disp: u64) -> Result<()> {
        self.communication().transfer(Transfer::put(Call::Put, origin, target, disp))
    }

    /// `MPI_Put` from any layout to any other (MPI-2.2 §11.3.1). The entries of the origin, in the order
    /// of its type map, go to the first entries of `layout`, whose displacement 0 is at `disp`.
    ///
    /// Local; blocks only where [`Win::put`] does.
    ///
    /// # Errors
    /// [`Error::Datatype`] if the basic elements of the origin are not the first ones of `layout`, or if
    /// two entries of `layout` share a byte. [`Error::LayoutRange`], [`Error::Epoch`],
    /// [`Error::TargetRank`], [`Error::Range`], [`Error::NotAttached`], [`Error::Conflict`],
    /// [`Error::Unreachable`].
    #[doc(alias = "MPI_Put")]
    #[inline]
    #[track_caller]
    pub fn put_layout(
        &self,
        origin: Origin<'_>,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        self.communication().transfer(Transfer::put_layout(origin, target, disp, layout))
    }

    /// [`Win::put_layout`] of elements to as many of a shape.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn put_shaped<'s, T: Element>(
        &self,
        origin: Shaped<'s, 's, T>,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        let (found, origin, layout) = (origin.len(), Origin::of(origin), Layout::of_shape(shape));
        let transfer = Transfer::put_between(Call::Put, &origin, target, disp, layout);
        self.communication().transfer_shaped(transfer, found, shape)
    }

    /// `MPI_Get` (MPI-2.2 §11.3.2): copies from the window of `target`, from displacement `disp` on (in
    /// the target's displacement units), to `origin`.
    ///
    /// Local; blocks only where [`Win::put`] does. Nothing happens for [`Rank::NULL`].
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::TargetRank`], [`Error::Range`], [`Error::Conflict`]; in a dynamic
    /// window [`Error::NotAttached`]; for private memory [`Error::Unreachable`].
    #[doc(alias = "MPI_Get")]
    #[inline(always)]
    #[track_caller]
    pub fn get<T: Pod>(&self, origin: &mut [T], target: Rank, disp: u64) -> Result<()> {
        self.communication().transfer(Transfer::get(Call::Get, origin, target, disp))
    }

    /// `MPI_Get` from any layout to any other (MPI-2.2 §11.3.2). The entries of `layout`, whose
    /// displacement 0 is at `disp`, go to the first entries of the origin.
    ///
    /// Local; blocks only where [`Win::put`] does.
    ///
    /// # Errors
    /// [`Error::Datatype`] if the basic elements of `layout` are not the first ones of the origin, or if
    /// two entries of the origin share a byte. [`Error::LayoutRange`], [`Error::Epoch`],
    /// [`Error::TargetRank`], [`Error::Range`], [`Error::NotAttached`], [`Error::Conflict`],
    /// [`Error::Unreachable`].
    #[doc(alias = "MPI_Get")]
    #[inline]
    #[track_caller]
    pub fn get_layout(
        &self,
        origin: OriginMut<'_>,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        self.communication().transfer(Transfer::get_layout(origin, target, disp, layout))
    }

    /// [`Win::get`] that may be complete only when these buffers are no longer borrowed.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn get_later<'b, T: Pod>(
        &self,
        buffers: &Buffers<'b>,
        origin: &'b mut [T],
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        self.communication().transfer(Transfer::get_later(buffers, origin, target, disp))
    }

    /// [`Win::get_layout`] of the elements of a shape to as many, likewise.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn get_shaped<'b, 's, T: Element>(
        &self,
        buffers: &Buffers<'b>,
        origin: ShapedMut<'b, 's, T>,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        let (found, layout) = (origin.len(), Layout::of_shape(shape));
        let transfer = Transfer::get_shaped_later(buffers, origin, target, disp, layout);
        self.communication().transfer_shaped(transfer, found, shape)
    }

    /// Does the transfer on the fast path, and returns whether it has. If not, it has changed nothing,
    /// and [`Win::put_layout`] or [`Win::get_layout`] does it or returns the error. For language
    /// bindings.
    #[inline(always)]
    pub fn try_transfer(&self, transfer: &Transfer<'_>) -> bool {
        self.communication().try_transfer(transfer)
    }

    /// The same of [`Win::rput_layout`] and [`Win::rget_layout`]. `None`: nothing has changed.
    #[inline(always)]
    pub fn try_requested<'d>(&self, transfer: Transfer<'d>) -> Option<Request<'d>> {
        let call = match transfer.direction {
            Direction::Put => Call::Rput,
            Direction::Get => Call::Rget,
        };
        let transfer = Transfer { call, ..transfer };
        let is_done = self.calls.is_passive() && self.try_transfer(&transfer);
        is_done.then(Request::complete)
    }

    /// [`Win::put`] and [`Win::flush`] in lock_all.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn put_flush<T: Pod>(&self, from: &[T], target: Rank, disp: u64) -> Result<()> {
        self.transfer_flush(Transfer::put(Call::Put, from, target, disp))
    }

    /// [`Win::get`] and [`Win::flush`] in lock_all.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn get_flush<T: Pod>(&self, to: &mut [T], target: Rank, disp: u64) -> Result<()> {
        self.transfer_flush(Transfer::get(Call::Get, to, target, disp))
    }

    #[inline(always)]
    fn transfer_flush(&self, transfer: Transfer<'_>) -> Result<()> {
        let target = transfer.target;
        self.transfer_announced(transfer)?;
        self.flush_reached(target);
        Ok(())
    }

    /// A transfer that this call itself completes at the target.
    #[inline(always)]
    fn transfer_announced(&self, transfer: Transfer<'_>) -> Result<()> {
        match self.communication().try_transfer(&transfer) {
            true => Ok(()),
            false => self.transfer_announced_slowly(&transfer.copied()),
        }
    }

    #[cold]
    #[inline(never)]
    fn transfer_announced_slowly(&self, transfer: &Transfer<'_>) -> Result<()> {
        self.communication().transfer_slowly(transfer)?;
        self.flushed_slowly(transfer.target);
        Ok(())
    }

    // Accumulates (MPI-4.1 §12.3.4).

    /// `MPI_Accumulate` (MPI-2.2 §11.3.4): element by element, replaces the target's value by `op` of it
    /// and the origin's. Atomic per element, not as a whole (§11.7.1).
    ///
    /// Local; blocks at most while another rank updates elements that no instruction can.
    ///
    /// # Errors
    /// [`Error::Operation`] if `op` is not defined for `T`. [`Error::Epoch`], [`Error::TargetRank`],
    /// [`Error::Range`], [`Error::NotAttached`], [`Error::Conflict`], [`Error::Unreachable`].
    #[doc(alias = "MPI_Accumulate")]
    #[inline(always)]
    #[track_caller]
    pub fn accumulate<T: Element>(
        &self,
        origin: &[T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        self.communication().accumulate(Call::Accumulate, origin, op, target, disp)
    }

    /// `MPI_Accumulate` from any layout to any other (MPI-2.2 §11.3.4). All basic elements of both have
    /// one predefined datatype.
    ///
    /// Local; blocks only where [`Win::accumulate`] does.
    ///
    /// # Errors
    /// [`Error::Datatype`] if the basic elements are of several datatypes, or if two entries of `layout`
    /// share a byte; [`Error::Operation`] if `op` is not defined for them. [`Error::LayoutRange`],
    /// [`Error::Epoch`], [`Error::TargetRank`], [`Error::Range`], [`Error::NotAttached`],
    /// [`Error::Conflict`], [`Error::Unreachable`].
    #[doc(alias = "MPI_Accumulate")]
    #[track_caller]
    pub fn accumulate_layout(
        &self,
        origin: Origin<'_>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        self.communication().update(Update::accumulate(origin, op, target, disp, layout))
    }

    /// [`Win::accumulate_layout`] of elements into as many of a shape.
    #[track_caller]
    pub(crate) fn accumulate_shaped<'s, T: Element>(
        &self,
        origin: Shaped<'s, 's, T>,
        op: Op,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        let parts = self.communication();
        parts.check_len(Call::Accumulate, origin.len(), shape)?;
        let (origin, layout) = (Origin::of(origin), Layout::of_shape(shape));
        parts.update(Update::accumulate(origin, op, target, disp, layout))
    }

    /// The fast path of [`Win::accumulate_layout`] and [`Win::fetch_and_op_untyped`]: whether it is done. If not, nothing has changed. A caller that needs stack space for errors takes it for the slow path
    /// alone.
    #[inline(always)]
    pub fn try_update(&self, update: &Update<'_>) -> bool {
        self.communication().try_update(update)
    }

    /// [`Win::try_update`] in a checked job, where that does nothing: of one element.
    #[inline]
    pub fn try_update_checked(&self, update: &Update<'_>) -> bool {
        self.communication().try_update_checked(update)
    }

    /// [`Win::try_update`] of [`Win::get_accumulate_layout`].
    #[inline(always)]
    pub fn try_fetch(&self, update: &Update<'_>) -> bool {
        self.communication().try_fetch_alike(update)
    }

    /// `MPI_Get_accumulate` (MPI-4.1 §12.3.4): [`Win::accumulate`] that also copies the target's values
    /// before the update to `result`. With [`Op::NoOp`] `origin` is not read and may be empty.
    ///
    /// # Errors
    /// [`Error::Count`] if the lengths differ; [`Error::Operation`] if `op` is not defined for `T`.
    /// [`Error::Epoch`], [`Error::TargetRank`], [`Error::Range`], [`Error::NotAttached`],
    /// [`Error::Conflict`], [`Error::Unreachable`].
    #[doc(alias = "MPI_Get_accumulate")]
    #[inline]
    #[track_caller]
    pub fn get_accumulate<T: Element>(
        &self,
        origin: &[T],
        result: &mut [T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        self.communication().fetch(Call::GetAccumulate, (origin, result), op, target, disp, None)
    }

    /// [`Win::get_accumulate`] that may be complete only when these buffers are no longer borrowed.
    #[inline]
    #[track_caller]
    pub(crate) fn get_accumulate_later<'b, T: Element>(
        &self,
        buffers: &Buffers<'b>,
        (origin, result): (&'b [T], &'b mut [T]),
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let (call, results) = (Call::GetAccumulate, Some(buffers.results()));
        self.communication().fetch(call, (origin, result), op, target, disp, results)
    }

    /// `MPI_Get_accumulate` with any layouts (MPI-4.1 §12.3.4). `result` receives all elements of
    /// `layout`; those of the origin are combined into the first ones. With [`Op::NoOp`] `origin` is not
    /// read.
    ///
    /// # Errors
    /// [`Error::Datatype`] if the basic elements of the three layouts are of several datatypes, or if two
    /// entries of `layout` or `result` share a byte; [`Error::Operation`] if `op` is not defined for
    /// them. [`Error::LayoutRange`], [`Error::Epoch`], [`Error::TargetRank`], [`Error::Range`],
    /// [`Error::NotAttached`], [`Error::Conflict`], [`Error::Unreachable`].
    #[doc(alias = "MPI_Get_accumulate")]
    #[track_caller]
    pub fn get_accumulate_layout(
        &self,
        origin: Origin<'_>,
        result: OriginMut<'_>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        let update = Update::get_accumulate(origin, result, op, target, disp, layout);
        self.communication().update(update)
    }

    /// [`Win::get_accumulate_layout`] of elements into as many of a shape.
    #[track_caller]
    pub(crate) fn get_accumulate_shaped<'b, 's, T: Element>(
        &self,
        buffers: &Buffers<'b>,
        (origin, result): (Shaped<'b, 's, T>, ShapedMut<'b, 's, T>),
        op: Op,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        let (parts, call) = (self.communication(), Call::GetAccumulate);
        if op != Op::NoOp {
            parts.check_len(call, origin.len(), shape)?;
        }
        parts.check_len(call, result.len(), shape)?;
        let (target, layout) = ((target, disp), Layout::of_shape(shape));
        parts.update(Update::shaped_later(buffers, (origin, result), op, target, layout))
    }

    /// `MPI_Fetch_and_op` (MPI-4.1 §12.3.4): [`Win::get_accumulate`] of one element.
    ///
    /// # Errors
    /// [`Error::Operation`] if `op` is not defined for `T`. [`Error::Epoch`], [`Error::TargetRank`],
    /// [`Error::Range`], [`Error::NotAttached`], [`Error::Conflict`], [`Error::Unreachable`].
    #[doc(alias = "MPI_Fetch_and_op")]
    #[inline(always)]
    #[track_caller]
    pub fn fetch_and_op<T: Element>(
        &self,
        origin: &T,
        result: &mut T,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let buffers = (slice_of(origin), slice_of_mut(result));
        self.communication().fetch(Call::FetchAndOp, buffers, op, target, disp, None)
    }

    /// [`Win::fetch_and_op`] that may be complete only when these buffers are no longer borrowed.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn fetch_and_op_later<'b, T: Element>(
        &self,
        buffers: &Buffers<'b>,
        (origin, result): (&'b T, &'b mut T),
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let (own, results) = ((slice_of(origin), slice_of_mut(result)), Some(buffers.results()));
        self.communication().fetch(Call::FetchAndOp, own, op, target, disp, results)
    }

    /// [`Win::fetch_and_op`] of untyped buffers, which hold one element of the same predefined datatype.
    /// With [`Op::NoOp`] `origin` is not read.
    ///
    /// # Errors
    /// [`Error::Datatype`] for anything but one element; [`Error::Operation`] if `op` is not defined for
    /// it. [`Error::Epoch`], [`Error::TargetRank`], [`Error::Range`], [`Error::NotAttached`],
    /// [`Error::Conflict`], [`Error::Unreachable`].
    #[track_caller]
    pub fn fetch_and_op_untyped(
        &self,
        origin: Origin<'_>,
        result: OriginMut<'_>,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let parts = self.communication();
        parts.element_of(Call::FetchAndOp, &result.layout)?;
        parts.update_slowly(&Update::fetch_and_op(origin, result, op, target, disp))
    }

    /// [`Win::fetch_and_op`] and [`Win::flush`] in lock_all. The instruction of the usual path is the
    /// barrier of the flush too, and there is no buffer that the target could overlap.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn fetch_and_op_flush<T: Element>(
        &self,
        origin: T,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<T> {
        let parts = self.communication();
        let old = match parts.fetch_element(Call::FetchAndOp, origin, [], op, target, disp) {
            Some(old) if op != Op::NoOp => {
                self.flush_updated(target);
                return Ok(old);
            }
            // A mere load.
            Some(old) => old,
            None => self.fetch_announced_slowly(origin, op, target, disp)?,
        };
        self.flush_reached(target);
        Ok(old)
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn fetch_announced_slowly<T: Element>(
        &self,
        origin: T,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<T> {
        let old = self.communication().fetch_slowly(origin, op, target, disp)?;
        self.flushed_slowly(target);
        Ok(old)
    }

    /// `MPI_Compare_and_swap` (MPI-4.1 §12.3.4): replaces the target's element by `new` if it is equal to
    /// `compare`; `result` receives what it was.
    ///
    /// Atomic against every accumulate. Local; does not block, except for an element at an address not
    /// aligned to its size.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::TargetRank`], [`Error::Range`], [`Error::NotAttached`],
    /// [`Error::Conflict`], [`Error::Unreachable`].
    #[doc(alias = "MPI_Compare_and_swap")]
    #[inline(always)]
    #[track_caller]
    pub fn compare_and_swap<T: Integer>(
        &self,
        new: &T,
        compare: &T,
        result: &mut T,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let (parts, buffers) =
            (self.communication(), [from_ref(new), from_ref(compare), from_ref(result)]);
        match parts.swap_element((*new, *compare), buffers, target, disp) {
            Some(old) => {
                *result = old;
                Ok(())
            }
            None => {
                let swap = ((*new, *compare), buffers.map(<*const T>::cast));
                let found = parts.swap_slowly(swap, (target, disp), &[], |_| None)?;
                found.into_iter().for_each(|old| *result = old);
                Ok(())
            }
        }
    }

    /// [`Win::compare_and_swap`] of untyped buffers, which hold one element of the same predefined
    /// integer datatype.
    ///
    /// # Errors
    /// [`Error::Datatype`] for anything but one such element. [`Error::Epoch`], [`Error::TargetRank`],
    /// [`Error::Range`], [`Error::NotAttached`], [`Error::Conflict`], [`Error::Unreachable`].
    #[inline]
    #[track_caller]
    pub fn compare_and_swap_untyped(
        &self,
        new: Origin<'_>,
        compare: Origin<'_>,
        result: OriginMut<'_>,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        Swap { new, compare, result, target, disp }.run(self.communication())
    }

    /// The fast path of [`Win::compare_and_swap_untyped`]: whether it is done.
    #[inline]
    pub fn try_compare_and_swap(
        &self,
        new: Origin<'_>,
        compare: Origin<'_>,
        result: OriginMut<'_>,
        target: Rank,
        disp: u64,
    ) -> bool {
        Swap { new, compare, result, target, disp }.try_run(self.communication())
    }

    /// [`Win::try_compare_and_swap`] in a checked job, where that does nothing.
    #[inline]
    #[track_caller]
    pub fn try_compare_and_swap_checked(
        &self,
        new: Origin<'_>,
        compare: Origin<'_>,
        result: OriginMut<'_>,
        target: Rank,
        disp: u64,
    ) -> bool {
        Swap { new, compare, result, target, disp }.try_checked(self.communication())
    }

    /// [`Win::compare_and_swap`] and [`Win::flush`] in lock_all, like [`Win::fetch_and_op_flush`].
    #[inline(always)]
    #[track_caller]
    pub(crate) fn compare_and_swap_flush<T: Integer>(
        &self,
        new: T,
        compare: T,
        target: Rank,
        disp: u64,
    ) -> Result<T> {
        let parts = self.communication();
        if let Some(old) = parts.swap_element((new, compare), [], target, disp) {
            self.flush_updated(target);
            return Ok(old);
        }
        let nowhere = [std::ptr::null(); 3];
        let swap = ((new, compare), nowhere);
        let found = parts.swap_slowly(swap, (target, disp), &[], |_| None)?;
        self.flushed_slowly(target);
        self.flush_reached(target);
        Ok(found.unwrap_or_else(T::zeroed))
    }

    // Calls with requests (MPI-4.1 §12.3.5): legal in a passive target epoch only.

    /// `MPI_Rput` (MPI-4.1 §12.3.5): [`Win::put`] with a request.
    ///
    /// # Errors
    /// [`Error::Epoch`] also outside a passive target epoch. [`Error::TargetRank`], [`Error::Range`],
    /// [`Error::NotAttached`], [`Error::Conflict`], [`Error::Unreachable`].
    #[doc(alias = "MPI_Rput")]
    #[track_caller]
    pub fn rput<'b, T: Pod>(
        &self,
        origin: &'b [T],
        target: Rank,
        disp: u64,
    ) -> Result<Request<'b>> {
        let parts = self.passive(Call::Rput)?;
        parts.transfer(Transfer::put(Call::Rput, origin, target, disp))?;
        Ok(parts.requested())
    }

    /// `MPI_Rput` (MPI-4.1 §12.3.5): [`Win::put_layout`] with a request.
    ///
    /// # Errors
    /// [`Error::Epoch`] also outside a passive target epoch; [`Error::Datatype`] and
    /// [`Error::LayoutRange`] for layouts that do not fit. [`Error::TargetRank`], [`Error::Range`],
    /// [`Error::NotAttached`], [`Error::Conflict`], [`Error::Unreachable`].
    #[doc(alias = "MPI_Rput")]
    #[track_caller]
    pub fn rput_layout<'d>(
        &self,
        origin: Origin<'d>,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<Request<'d>> {
        let parts = self.passive(Call::Rput)?;
        parts.transfer(Transfer::put_between(Call::Rput, &origin, target, disp, layout))?;
        Ok(parts.requested())
    }

    /// `MPI_Rget` (MPI-4.1 §12.3.5): [`Win::get`] with a request.
    ///
    /// # Errors
    /// [`Error::Epoch`] also outside a passive target epoch. [`Error::TargetRank`], [`Error::Range`],
    /// [`Error::NotAttached`], [`Error::Conflict`], [`Error::Unreachable`].
    #[doc(alias = "MPI_Rget")]
    #[track_caller]
    pub fn rget<'b, T: Pod>(
        &self,
        origin: &'b mut [T],
        target: Rank,
        disp: u64,
    ) -> Result<Request<'b>> {
        let parts = self.passive(Call::Rget)?;
        parts.transfer(Transfer::get(Call::Rget, origin, target, disp))?;
        Ok(parts.requested())
    }

    /// `MPI_Rget` (MPI-4.1 §12.3.5): [`Win::get_layout`] with a request.
    ///
    /// # Errors
    /// [`Error::Epoch`] also outside a passive target epoch; [`Error::Datatype`] and
    /// [`Error::LayoutRange`] for layouts that do not fit. [`Error::TargetRank`], [`Error::Range`],
    /// [`Error::NotAttached`], [`Error::Conflict`], [`Error::Unreachable`].
    #[doc(alias = "MPI_Rget")]
    #[track_caller]
    pub fn rget_layout<'d>(
        &self,
        origin: OriginMut<'d>,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<Request<'d>> {
        let parts = self.passive(Call::Rget)?;
        parts.transfer(Transfer::get_between(Call::Rget, origin, target, disp, layout))?;
        Ok(parts.requested())
    }

    /// `MPI_Raccumulate` (MPI-4.1 §12.3.5): [`Win::accumulate`] with a request.
    ///
    /// # Errors
    /// [`Error::Epoch`] also outside a passive target epoch; [`Error::Operation`] if `op` is not defined
    /// for `T`. [`Error::TargetRank`], [`Error::Range`], [`Error::NotAttached`], [`Error::Conflict`],
    /// [`Error::Unreachable`].
    #[doc(alias = "MPI_Raccumulate")]
    #[track_caller]
    pub fn raccumulate<'b, T: Element>(
        &self,
        origin: &'b [T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<Request<'b>> {
        let parts = self.passive(Call::Raccumulate)?;
        parts.accumulate(Call::Raccumulate, origin, op, target, disp)?;
        Ok(parts.requested())
    }

    /// `MPI_Raccumulate` (MPI-4.1 §12.3.5): [`Win::accumulate_layout`] with a request.
    ///
    /// # Errors
    /// [`Error::Epoch`] also outside a passive target epoch; [`Error::Operation`], [`Error::Datatype`]
    /// and [`Error::LayoutRange`] for elements and layouts that do not fit. [`Error::TargetRank`],
    /// [`Error::Range`], [`Error::NotAttached`], [`Error::Conflict`], [`Error::Unreachable`].
    #[doc(alias = "MPI_Raccumulate")]
    #[track_caller]
    pub fn raccumulate_layout<'d>(
        &self,
        origin: Origin<'d>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<Request<'d>> {
        let parts = self.passive(Call::Raccumulate)?;
        let buffers = (origin, None);
        parts.update(Update::new(Call::Raccumulate, buffers, op, (target, disp), layout))?;
        Ok(parts.requested())
    }

    /// `MPI_Rget_accumulate` (MPI-4.1 §12.3.5): [`Win::get_accumulate`] with a request.
    ///
    /// # Errors
    /// [`Error::Epoch`] also outside a passive target epoch; [`Error::Count`] if the lengths differ;
    /// [`Error::Operation`] if `op` is not defined for `T`. [`Error::TargetRank`], [`Error::Range`],
    /// [`Error::NotAttached`], [`Error::Conflict`], [`Error::Unreachable`].
    #[doc(alias = "MPI_Rget_accumulate")]
    #[track_caller]
    pub fn rget_accumulate<'b, T: Element>(
        &self,
        origin: &'b [T],
        result: &'b mut [T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<Request<'b>> {
        let parts = self.passive(Call::RgetAccumulate)?;
        parts.fetch(Call::RgetAccumulate, (origin, result), op, target, disp, None)?;
        Ok(parts.requested())
    }

    /// `MPI_Rget_accumulate` (MPI-4.1 §12.3.5): [`Win::get_accumulate_layout`] with a request.
    ///
    /// # Errors
    /// [`Error::Epoch`] also outside a passive target epoch; [`Error::Operation`], [`Error::Datatype`]
    /// and [`Error::LayoutRange`] for elements and layouts that do not fit. [`Error::TargetRank`],
    /// [`Error::Range`], [`Error::NotAttached`], [`Error::Conflict`], [`Error::Unreachable`].
    #[doc(alias = "MPI_Rget_accumulate")]
    #[track_caller]
    pub fn rget_accumulate_layout<'d>(
        &self,
        origin: Origin<'d>,
        result: OriginMut<'d>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<Request<'d>> {
        let parts = self.passive(Call::RgetAccumulate)?;
        let buffers = (origin, Some(result));
        parts.update(Update::new(Call::RgetAccumulate, buffers, op, (target, disp), layout))?;
        Ok(parts.requested())
    }

    // Notified access (an extension).

    /// [`Win::put`] that adds one to notification counter number `counter` of `target`
    /// ([`WindowOptions::notifications`](crate::WindowOptions::notifications)) when it is complete there:
    /// no flush is needed. The target waits by [`Win::wait_notify`].
    ///
    /// An extension, as in GASPI and in the proposals for notified access in MPI. Everything that this
    /// rank issued to the target before is complete there too. A notification does not identify the
    /// operation or its origin: where that matters, give each origin a counter of its own. At most 2³¹-1
    /// notifications of one counter may be outstanding.
    ///
    /// Local, in any access epoch that reaches the target; blocks only where [`Win::put`] does. For
    /// [`Rank::NULL`] nothing happens, and nothing is counted.
    ///
    /// # Errors
    /// [`Error::Argument`] if the target has no such counter. [`Error::Epoch`], [`Error::TargetRank`],
    /// [`Error::Range`], [`Error::NotAttached`], [`Error::Conflict`], [`Error::Unreachable`].
    #[inline]
    #[track_caller]
    pub fn put_notify<T: Pod>(
        &self,
        origin: &[T],
        target: Rank,
        disp: u64,
        counter: u32,
    ) -> Result<()> {
        let word = self.counter_at(Call::PutNotify, target, counter)?;
        let transfer = Transfer::put(Call::PutNotify, origin, target, disp);
        self.transfer_announced(transfer)?;
        self.count(Call::PutNotify, target, (counter, word))
    }

    /// [`Win::get`] that notifies `target` when it has read, as [`Win::put_notify`] does: the target may
    /// then change what was read.
    ///
    /// # Errors
    /// [`Error::Argument`] if the target has no such counter. [`Error::Epoch`], [`Error::TargetRank`],
    /// [`Error::Range`], [`Error::NotAttached`], [`Error::Conflict`], [`Error::Unreachable`].
    #[track_caller]
    pub fn get_notify<T: Pod>(
        &self,
        origin: &mut [T],
        target: Rank,
        disp: u64,
        counter: u32,
    ) -> Result<()> {
        let word = self.counter_at(Call::GetNotify, target, counter)?;
        let transfer = Transfer::get(Call::GetNotify, origin, target, disp);
        self.transfer_announced(transfer)?;
        self.count(Call::GetNotify, target, (counter, word))
    }

    /// [`Win::accumulate`] that notifies `target` when it is complete there, as [`Win::put_notify`] does.
    ///
    /// # Errors
    /// [`Error::Argument`] if the target has no such counter; [`Error::Operation`] if `op` is not defined
    /// for `T`. [`Error::Epoch`], [`Error::TargetRank`], [`Error::Range`], [`Error::NotAttached`],
    /// [`Error::Conflict`], [`Error::Unreachable`].
    #[track_caller]
    pub fn accumulate_notify<T: Element>(
        &self,
        origin: &[T],
        op: Op,
        target: Rank,
        disp: u64,
        counter: u32,
    ) -> Result<()> {
        let (call, word) =
            (Call::AccumulateNotify, self.counter_at(Call::AccumulateNotify, target, counter)?);
        let parts = self.communication();
        if !parts.try_accumulate(call, origin, op, target, disp) {
            parts.slices_slowly(call, (origin, None), op, (target, disp), None)?;
            self.flushed_slowly(target);
        }
        self.count(call, target, (counter, word))
    }

    /// Notifies `target`, by its counter number `counter`, that everything this rank has issued to it
    /// before is complete there. See [`Win::put_notify`].
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::TargetRank`], [`Error::Argument`].
    pub fn notify(&self, target: Rank, counter: u32) -> Result<()> {
        let (call, calls) = (Call::Notify, &self.calls);
        let word = self.counter_at(call, target, counter)?;
        calls.handled(match target {
            Rank::NULL => calls.check_any_access(call),
            target => calls.check_operation(call, target.0),
        })?;
        if target != Rank::NULL {
            calls.epochs.operated();
            calls.checked(|checker, window| {
                window.flushed(checker, &calls.excluded(), call, Some(target.0));
            });
        }
        self.count(call, target, (counter, word))
    }

    // Accesses to the own part, by copying: allowed in any state.

    /// Copies elements of this rank's own part, from displacement `disp` on, into `to`: a local load.
    /// Synchronisation decides what it sees of other ranks' operations (MPI-2.2 §11.7). An empty `to` is
    /// legal at any displacement.
    ///
    /// # Errors
    /// [`Error::Range`]; [`Error::NotAttached`] in a dynamic window.
    #[track_caller]
    pub fn load<T: Pod>(&self, disp: u64, to: &mut [T]) -> Result<()> {
        self.communication().load(disp, to, Location::caller())
    }

    /// Copies `from` to this rank's own part, from displacement `disp` on: a local store.
    ///
    /// # Errors
    /// [`Error::Range`]; [`Error::NotAttached`] in a dynamic window.
    #[track_caller]
    pub fn store<T: Pod>(&self, disp: u64, from: &[T]) -> Result<()> {
        self.communication().store(disp, from, Location::caller())
    }

    // What several of these calls need.

    /// The parts for a call with a request, in a passive target epoch.
    fn passive(&self, call: Call) -> Result<Communication<'_>> {
        self.calls.handled(self.calls.check_passive(call))?;
        Ok(self.communication())
    }

    /// The counter of a target; `None` for [`Rank::NULL`], which has none and needs none.
    #[inline]
    fn counter_at(&self, call: Call, target: Rank, counter: u32) -> Result<Option<&NotifyCounter>> {
        if target == Rank::NULL {
            return Ok(None);
        }
        self.calls.handled(self.calls.check_rank(call, target))?;
        self.calls.handled(self.counter(call, target.0, counter)).map(Some)
    }

    #[inline]
    fn count(
        &self,
        call: Call,
        target: Rank,
        (number, counter): (u32, Option<&NotifyCounter>),
    ) -> Result<()> {
        let _call = self.calls.enter(call);
        if let Some(counter) = counter {
            if self.calls.handled(self.count_elsewhere(call, target.0, number))? {
                return Ok(());
            }
            let number = notify::notify(counter, 1);
            if let Some(log) = self.calls.context().log() {
                log.notified(self.calls.context().object(counter), number);
            }
            // The operation's MEM_SYNC comes first, as that of a flush would.
            self.ring(target.0);
        }
        Ok(())
    }
}

impl Communication<'_> {
    /// An accumulate of a slice.
    #[inline(always)]
    #[track_caller]
    fn accumulate<T: Element>(
        self,
        call: Call,
        origin: &[T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        match self.try_accumulate(call, origin, op, target, disp) {
            true => Ok(()),
            false => self.slices_slowly(call, (origin, None), op, (target, disp), None),
        }
    }

    /// An accumulate of a slice that fetches into another one.
    #[inline(always)]
    #[track_caller]
    fn fetch<T: Element>(
        self,
        call: Call,
        (origin, result): (&[T], &mut [T]),
        op: Op,
        target: Rank,
        disp: u64,
        results: Option<&Results>,
    ) -> Result<()> {
        if self.try_fetch(call, origin, result, op, target, disp) {
            return Ok(());
        }
        if op != Op::NoOp && origin.len() != result.len() {
            return self.wrong_len(call, origin.len(), result.len());
        }
        self.slices_slowly(call, (origin, Some(result)), op, (target, disp), results)
    }

    /// The slow path of an accumulate of slices. Out of line, so that the fast path stays in registers.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn slices_slowly<T: Element>(
        self,
        call: Call,
        buffers: (&[T], Option<&mut [T]>),
        op: Op,
        target: (Rank, u64),
        results: Option<&Results>,
    ) -> Result<()> {
        if let ([value], None) = &buffers {
            return self.value_slowly(call, value, op, target);
        }
        self.update_slowly(&Update { results, ..Update::slices(call, buffers, op, target) })
    }

    /// The slow path of a fetch_and_op of a value.
    #[cold]
    #[track_caller]
    fn fetch_slowly<T: Element>(self, origin: T, op: Op, target: Rank, disp: u64) -> Result<T> {
        let mut before = T::zeroed();
        let buffers = (slice_of(&origin), Some(slice_of_mut(&mut before)));
        self.slices_slowly(Call::FetchAndOp, buffers, op, (target, disp), None)?;
        Ok(before)
    }

    /// A transfer of as many elements as the shape has. The fast path takes no others.
    #[inline(always)]
    fn transfer_shaped<T: Element>(
        self,
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

    /// Refuses a buffer that does not have the elements of the shape.
    #[inline]
    fn check_len<T: Element>(self, call: Call, found: usize, shape: &Shape<T>) -> Result<()> {
        if found == shape.len() {
            return Ok(());
        }
        self.wrong_len(call, found, shape.len())
    }

    #[cold]
    fn wrong_len(self, call: Call, found: usize, needed: usize) -> Result<()> {
        let (at, what) = (self.calls.place(call), "origin buffer");
        self.calls.handled(Err(Error::Count { at, what, found, needed }))
    }
}
