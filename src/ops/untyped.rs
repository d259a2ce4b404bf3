//! The buffers of operations, for callers who know the datatype only at run time, such as a C interface.
#![allow(unsafe_code, reason = "vouches for the caller's address and count")]

use super::layout::Layout;
use crate::datatype::{CommittedDatatype, Element, Shaped, ShapedMut};

/// An origin buffer that is read: address, and layout of the elements.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'d> {
    pub(super) start: *const u8,
    pub(super) layout: Layout<'d>,
}

/// An origin buffer that is written.
#[derive(Debug)]
pub struct OriginMut<'d> {
    pub(super) start: *mut u8,
    pub(super) layout: Layout<'d>,
}

impl<'d> Origin<'d> {
    /// `count` instances of `datatype`, a [`Datatype`](crate::Datatype) or a
    /// [`&CommittedDatatype`](CommittedDatatype), with displacement 0 at `start`. No alignment is
    /// needed.
    ///
    /// # Safety
    /// 1. The entries, those of pair types without their padding, are valid for reads until the value
    ///    returned is used for the last time.
    /// 2. Nobody writes them until then.
    pub unsafe fn new(
        start: *const u8,
        count: usize,
        datatype: impl Into<&'d CommittedDatatype>,
    ) -> Origin<'d> {
        Origin { start, layout: Layout::new(count, datatype) }
    }

    /// A slice, which stays borrowed.
    #[inline(always)]
    pub(super) fn of_slice<T: Element>(slice: &'d [T]) -> Origin<'d> {
        Origin { start: slice.as_ptr().cast(), layout: Layout::of_slice::<T>(slice.len()) }
    }

    /// Where the elements lie in the buffer.
    pub fn layout(&self) -> Layout<'d> {
        self.layout
    }

    /// Address, number of instances and datatype.
    pub(crate) fn parts(&self) -> (*const u8, usize, &'d CommittedDatatype) {
        let (count, datatype) = self.layout.parts();
        (self.start, count, datatype)
    }

    /// The elements of a slice, which stays borrowed.
    #[inline]
    pub(crate) fn of<T: Element>(shaped: Shaped<'d, 'd, T>) -> Origin<'d> {
        if let Some(bytes) = shaped.all() {
            return Origin { start: bytes.as_ptr(), layout: Layout::of_slice::<T>(shaped.len()) };
        }
        let (bytes, datatype, count) = shaped.parts();
        Origin { start: bytes.as_ptr(), layout: Layout::new(count, datatype) }
    }

    /// The buffer as a slice, if it lies in memory as one.
    pub(super) fn slice<E: Element>(&self) -> Option<&[E]> {
        let elements = self.layout.plain()? / size_of::<E>();
        if elements == 0 {
            return Some(&[]);
        }
        if self.layout.uniform() != Some(E::DATATYPE) || !self.start.cast::<E>().is_aligned() {
            return None;
        }
        // SAFETY: obligations 1 and 2 of `new`: a block of so many elements from `start` on, which
        // is aligned.
        Some(unsafe { std::slice::from_raw_parts(self.start.cast(), elements) })
    }

    /// The buffer as one element, if it is that and lies in memory as one.
    #[inline(always)]
    pub(super) fn single<E: Element>(&self) -> Option<&E> {
        let start = self.start.cast::<E>();
        if !self.layout.is_single::<E>() || !start.is_aligned() {
            return None;
        }
        // SAFETY: obligations 1 and 2 of `new`: one element at `start`, which is aligned.
        Some(unsafe { &*start })
    }

    /// The first element of the buffer, which has elements of this size; it need not be aligned.
    #[inline]
    pub(super) fn element<E: Element>(&self) -> E {
        // SAFETY: obligations 1 and 2 of `new`; any bytes are an element.
        unsafe { self.start.cast::<E>().read_unaligned() }
    }
}

impl<'d> OriginMut<'d> {
    /// As [`Origin::new`].
    ///
    /// # Safety
    /// 1. The entries, those of pair types without their padding, are valid for reads and writes, and
    ///    initialised, until the value returned is used for the last time.
    /// 2. Nobody else accesses them until then.
    pub unsafe fn new(
        start: *mut u8,
        count: usize,
        datatype: impl Into<&'d CommittedDatatype>,
    ) -> OriginMut<'d> {
        OriginMut { start, layout: Layout::new(count, datatype) }
    }

    /// As [`Origin::of_slice`].
    #[inline(always)]
    pub(super) fn of_slice<T: Element>(slice: &'d mut [T]) -> OriginMut<'d> {
        let layout = Layout::of_slice::<T>(slice.len());
        OriginMut { start: slice.as_mut_ptr().cast(), layout }
    }

    /// As [`Origin::parts`].
    pub(crate) fn parts(&self) -> (*const u8, usize, &'d CommittedDatatype) {
        let (count, datatype) = self.layout.parts();
        (self.start, count, datatype)
    }

    /// The elements of a slice, which stays borrowed.
    #[inline]
    pub(crate) fn of<T: Element>(mut shaped: ShapedMut<'d, 'd, T>) -> OriginMut<'d> {
        let len = shaped.len();
        if let Some(bytes) = shaped.all() {
            return OriginMut { start: bytes.as_mut_ptr(), layout: Layout::of_slice::<T>(len) };
        }
        let (bytes, datatype, count) = shaped.parts();
        OriginMut { start: bytes.as_mut_ptr(), layout: Layout::new(count, datatype) }
    }

    /// As [`Origin::slice`].
    pub(super) fn slice<E: Element>(&mut self) -> Option<&mut [E]> {
        let elements = self.layout.plain()? / size_of::<E>();
        if elements == 0 {
            return Some(&mut []);
        }
        if self.layout.uniform() != Some(E::DATATYPE) || !self.start.cast::<E>().is_aligned() {
            return None;
        }
        // SAFETY: obligations 1 and 2 of `new`, as in `Origin::slice`.
        Some(unsafe { std::slice::from_raw_parts_mut(self.start.cast(), elements) })
    }

    /// As [`Origin::single`].
    #[inline(always)]
    pub(super) fn single<E: Element>(&mut self) -> Option<&mut E> {
        let start = self.start.cast::<E>();
        if !self.layout.is_single::<E>() || !start.is_aligned() {
            return None;
        }
        // SAFETY: obligations 1 and 2 of `new`, as in `Origin::single`.
        Some(unsafe { &mut *start })
    }

    /// Sets the first element, as [`Origin::element`].
    #[inline]
    pub(super) fn set_element<E: Element>(&mut self, value: E) {
        // SAFETY: obligations 1 and 2 of `new`.
        unsafe { self.start.cast::<E>().write_unaligned(value) }
    }
}
