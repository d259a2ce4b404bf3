//! Operations between shapes on a locked target.

use super::LockedTarget;
use crate::datatype::{Element, Shape, Shaped, ShapedMut};
use crate::error::Result;
use crate::op::Op;

impl<'b, T: Element> LockedTarget<'_, 'b, T> {
    /// [`LockedTarget::put`] to the elements of a shape, counted from `disp` on (`MPI_Put`, MPI-2.2
    /// §11.3.1, with derived datatypes). `origin` is a slice, or a
    /// selection by [`Shape::over`], with as many elements as `shape`.
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them;
    /// [`Error::Count`](crate::Error::Count) if the lengths differ;
    /// [`Error::Datatype`](crate::Error::Datatype) if `shape` selects an element twice.
    #[inline]
    pub fn put_shaped<'s>(
        &self,
        origin: impl Into<Shaped<'b, 's, T>>,
        disp: usize,
        shape: &Shape<T>,
    ) -> Result<()> {
        self.window.win.put_shaped(origin.into(), self.target, disp as u64, shape)
    }

    /// [`LockedTarget::get`] of the elements of a shape, counted from `disp` on. `origin` is a slice,
    /// or a selection by [`Shape::over_mut`].
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them;
    /// [`Error::Count`](crate::Error::Count) if the lengths differ;
    /// [`Error::Datatype`](crate::Error::Datatype) if `origin` selects an element twice.
    #[inline]
    pub fn get_shaped<'s>(
        &self,
        origin: impl Into<ShapedMut<'b, 's, T>>,
        disp: usize,
        shape: &Shape<T>,
    ) -> Result<()> {
        self.window.win.get_shaped(origin.into(), self.target, disp as u64, shape)
    }

    /// [`LockedTarget::accumulate`] into the elements of a shape, counted from `disp` on.
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them;
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T`;
    /// [`Error::Count`](crate::Error::Count) if the lengths differ;
    /// [`Error::Datatype`](crate::Error::Datatype) if `shape` selects an element twice.
    #[inline]
    pub fn accumulate_shaped<'s>(
        &self,
        origin: impl Into<Shaped<'b, 's, T>>,
        op: Op,
        disp: usize,
        shape: &Shape<T>,
    ) -> Result<()> {
        self.window.win.accumulate_shaped(origin.into(), op, self.target, disp as u64, shape)
    }

    /// [`LockedTarget::get_accumulate`] with the elements of a shape, counted from `disp` on.
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range) if the elements leave the window,
    /// [`Error::Conflict`](crate::Error::Conflict) if `origin` overlaps them;
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T`;
    /// [`Error::Count`](crate::Error::Count) if the lengths differ;
    /// [`Error::Datatype`](crate::Error::Datatype) if `shape` or `result` selects an element twice.
    #[inline]
    pub fn get_accumulate_shaped<'s>(
        &self,
        origin: impl Into<Shaped<'b, 's, T>>,
        result: impl Into<ShapedMut<'b, 's, T>>,
        op: Op,
        disp: usize,
        shape: &Shape<T>,
    ) -> Result<()> {
        let buffers = (origin.into(), result.into());
        self.window.win.get_accumulate_shaped(buffers, op, self.target, disp as u64, shape)
    }
}
