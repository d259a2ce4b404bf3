//! The operations of an epoch that reaches several ranks.

use super::Window;
use crate::datatype::{Element, Integer, Shape, Shaped, ShapedMut};
use crate::error::Result;
use crate::group::Rank;
use crate::op::Op;

/// Operations on the targets of an access epoch, implemented by its guard.
///
/// Origin buffers are borrowed for `'b`, until the epoch ends: an operation is complete only then
/// (MPI-2.2 §11.3). Every method is local; [`Rank::NULL`] as target makes it do nothing.
///
/// Errors of every method: [`Error::TargetRank`](crate::Error::TargetRank),
/// [`Error::Range`](crate::Error::Range), [`Error::Conflict`](crate::Error::Conflict), and
/// [`Error::Epoch`](crate::Error::Epoch) if the epoch does not reach the target.
pub trait Access<'b, T: Element>: sealed::Guard<T> {
    /// `MPI_Put` (MPI-2.2 §11.3.1): copies `origin` to `target`, from displacement `disp` on.
    ///
    /// # Errors
    /// See the trait.
    #[inline(always)]
    fn put(&self, origin: &'b [T], target: Rank, disp: u64) -> Result<()> {
        self.window().win.put(origin, target, disp)
    }

    /// `MPI_Get` (MPI-2.2 §11.3.2): copies from `target`, from displacement `disp` on, to
    /// `origin`.
    ///
    /// # Errors
    /// See the trait.
    #[inline(always)]
    fn get(&self, origin: &'b mut [T], target: Rank, disp: u64) -> Result<()> {
        self.window().win.get(origin, target, disp)
    }

    /// `MPI_Accumulate` (MPI-2.2 §11.3.4): combines `origin` into `target`, element by element,
    /// each atomically.
    ///
    /// # Errors
    /// See the trait; [`Error::Operation`](crate::Error::Operation).
    #[inline(always)]
    fn accumulate(&self, origin: &'b [T], op: Op, target: Rank, disp: u64) -> Result<()> {
        self.window().win.accumulate(origin, op, target, disp)
    }

    /// `MPI_Get_accumulate` (MPI-4.1 §12.3.4): as [`Access::accumulate`], and `result` receives
    /// the values before. With [`Op::NoOp`] `origin` is not read and may be empty.
    ///
    /// # Errors
    /// See the trait; [`Error::Operation`](crate::Error::Operation),
    /// [`Error::Count`](crate::Error::Count).
    #[inline]
    fn get_accumulate(
        &self,
        origin: &'b [T],
        result: &'b mut [T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        self.window().win.get_accumulate(origin, result, op, target, disp)
    }

    /// `MPI_Fetch_and_op` (MPI-4.1 §12.3.4): one element of [`Access::get_accumulate`].
    ///
    /// # Errors
    /// See the trait; [`Error::Operation`](crate::Error::Operation).
    #[inline(always)]
    fn fetch_and_op(
        &self,
        origin: &'b T,
        result: &'b mut T,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        self.window().win.fetch_and_op(origin, result, op, target, disp)
    }

    /// `MPI_Compare_and_swap` (MPI-4.1 §12.3.4): replaces the element by `new` if it equals
    /// `compare`; `result` receives what it was.
    ///
    /// # Errors
    /// See the trait.
    #[inline(always)]
    fn compare_and_swap(
        &self,
        new: &'b T,
        compare: &'b T,
        result: &'b mut T,
        target: Rank,
        disp: u64,
    ) -> Result<()>
    where
        T: Integer,
    {
        self.window().win.compare_and_swap(new, compare, result, target, disp)
    }

    /// [`Access::put`] that counts itself in counter number `counter` of the target when it is
    /// complete there, without a flush. See [`Win::put_notify`](crate::engine::Win::put_notify).
    ///
    /// # Errors
    /// See the trait; [`Error::Argument`](crate::Error::Argument) for a counter that the target has
    /// not.
    #[inline]
    fn put_notify(&self, origin: &'b [T], target: Rank, disp: u64, counter: u32) -> Result<()> {
        self.window().win.put_notify(origin, target, disp, counter)
    }

    /// [`Access::get`] that counts itself at the target when it has read.
    ///
    /// # Errors
    /// As [`Access::put_notify`].
    #[inline]
    fn get_notify(&self, origin: &'b mut [T], target: Rank, disp: u64, counter: u32) -> Result<()> {
        self.window().win.get_notify(origin, target, disp, counter)
    }

    /// [`Access::accumulate`] that counts itself at the target when it is complete there.
    ///
    /// # Errors
    /// As [`Access::put_notify`]; [`Error::Operation`](crate::Error::Operation).
    #[inline]
    fn accumulate_notify(
        &self,
        origin: &'b [T],
        op: Op,
        target: Rank,
        disp: u64,
        counter: u32,
    ) -> Result<()> {
        self.window().win.accumulate_notify(origin, op, target, disp, counter)
    }

    /// Counts at the target that all operations so far on it are complete there.
    ///
    /// # Errors
    /// As [`Access::put_notify`].
    #[inline]
    fn notify(&self, target: Rank, counter: u32) -> Result<()> {
        self.window().win.notify(target, counter)
    }

    /// [`Access::put`] to the elements of a shape, counted from `disp` on (`MPI_Put`, MPI-2.2
    /// §11.3.1, with derived datatypes). `origin` is a slice, or the elements of one that
    /// [`Shape::over`] means; it has as many elements as `shape`.
    ///
    /// # Errors
    /// See the trait; [`Error::Count`](crate::Error::Count);
    /// [`Error::Datatype`](crate::Error::Datatype) if `shape` means an element twice.
    #[inline]
    fn put_shaped<'s>(
        &self,
        origin: impl Into<Shaped<'b, 's, T>>,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        self.window().win.put_shaped(origin.into(), target, disp, shape)
    }

    /// [`Access::get`] of the elements of a shape, counted from `disp` on. `origin` is a slice,
    /// or the elements of one that [`Shape::over_mut`] means.
    ///
    /// # Errors
    /// As [`Access::put_shaped`], where `origin` means an element twice.
    #[inline]
    fn get_shaped<'s>(
        &self,
        origin: impl Into<ShapedMut<'b, 's, T>>,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        self.window().win.get_shaped(origin.into(), target, disp, shape)
    }

    /// [`Access::accumulate`] into the elements of a shape, counted from `disp` on.
    ///
    /// # Errors
    /// As [`Access::put_shaped`]; [`Error::Operation`](crate::Error::Operation).
    #[inline]
    fn accumulate_shaped<'s>(
        &self,
        origin: impl Into<Shaped<'b, 's, T>>,
        op: Op,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        self.window().win.accumulate_shaped(origin.into(), op, target, disp, shape)
    }

    /// [`Access::get_accumulate`] with the elements of a shape, counted from `disp` on.
    ///
    /// # Errors
    /// As [`Access::accumulate_shaped`], and where `result` means an element twice.
    #[inline]
    fn get_accumulate_shaped<'s>(
        &self,
        origin: impl Into<Shaped<'b, 's, T>>,
        result: impl Into<ShapedMut<'b, 's, T>>,
        op: Op,
        target: Rank,
        disp: u64,
        shape: &Shape<T>,
    ) -> Result<()> {
        let buffers = (origin.into(), result.into());
        self.window().win.get_accumulate_shaped(buffers, op, target, disp, shape)
    }
}

pub(super) mod sealed {
    /// What an access epoch's guard lends to [`super::Access`].
    pub trait Guard<T: crate::datatype::Element> {
        fn window(&self) -> &super::Window<T>;
    }
}
