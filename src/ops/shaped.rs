//! Operations between slices with a shape and targets with one.

use super::layout::Layout;
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
        if let Some(bytes) = origin.all()
            && shape.plain() == Some(bytes.len() as u64)
        {
            return self.put_as(Call::Put, bytes, target, disp);
        }
        self.put_scattered(origin, target, disp, shape)
    }

    /// [`Win::put_shaped`], not of a slice on both sides.
    #[inline(never)]
    fn put_scattered<'s, T: Element>(
        &self,
        origin: Shaped<'s, 's, T>,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        if let Some(bytes) = origin.all()
            && self.put_slice(bytes, target, disp, shape.datatype())
        {
            return Ok(());
        }
        self.put_from_any(origin, target, disp, shape)
    }

    /// As [`Win::put_scattered`], of what is no slice or needs a further look; apart, so that short
    /// puts of slices do not pay for its room on the stack.
    #[inline(never)]
    fn put_from_any<'s, T: Element>(
        &self,
        origin: Shaped<'s, 's, T>,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        self.check_len(Call::Put, origin.len(), shape)?;
        self.put_layout(Origin::of(origin), target, disp, Layout::new(1, shape))
    }

    /// [`Win::get_layout`] of the elements of a shape to as many.
    #[inline(always)]
    pub(crate) fn get_shaped<'s, T: Element>(
        &self,
        mut origin: ShapedMut<'s, 's, T>,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        if let Some(bytes) = origin.all()
            && shape.plain() == Some(bytes.len() as u64)
        {
            return self.get_as(Call::Get, bytes, target, disp);
        }
        self.get_scattered(origin, target, disp, shape)
    }

    /// [`Win::get_shaped`], not of a slice on both sides.
    #[inline(never)]
    fn get_scattered<'s, T: Element>(
        &self,
        mut origin: ShapedMut<'s, 's, T>,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        if let Some(bytes) = origin.all()
            && self.get_slice(bytes, target, disp, shape.datatype())
        {
            return Ok(());
        }
        self.get_to_any(origin, target, disp, shape)
    }

    /// As [`Win::put_from_any`], the other way.
    #[inline(never)]
    fn get_to_any<'s, T: Element>(
        &self,
        origin: ShapedMut<'s, 's, T>,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        self.check_len(Call::Get, origin.len(), shape)?;
        self.get_layout(OriginMut::of(origin), target, disp, Layout::new(1, shape))
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
