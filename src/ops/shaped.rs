//! Operations between slices with a shape and targets with one.

use super::layout::Layout;
use super::transfer::Transfer;
use super::untyped::{Origin, OriginMut};
use crate::call::Call;
use crate::datatype::{Element, Shape, Shaped, ShapedMut};
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::op::Op;
use crate::window::Win;

impl Win {
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
        if self.try_transfer(&transfer) {
            return Ok(());
        }
        self.check_len(Call::Put, found, shape)?;
        self.transfer_slowly(&transfer.copied())
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
        if self.try_transfer(&transfer) {
            return Ok(());
        }
        self.check_len(Call::Get, found, shape)?;
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
        self.accumulate_layout(Origin::of(origin), op, target, disp, Layout::new(1, shape))
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
        let call = Call::GetAccumulate;
        if op != Op::NoOp {
            self.check_len(call, origin.len(), shape)?;
        }
        self.check_len(call, result.len(), shape)?;
        let buffers = (Origin::of(origin), OriginMut::of(result));
        self.get_accumulate_layout_as(call, buffers, op, target, disp, Layout::new(1, shape))
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
