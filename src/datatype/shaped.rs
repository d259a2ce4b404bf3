//! Slices together with the elements of them that an operation means.

use super::build::refuse;
use super::{CommittedDatatype, Element, Shape};
use crate::call::Call;
use crate::error::Result;
use bytemuck::Pod;
use std::marker::PhantomData;

/// Elements of a slice that an operation reads, in the order in which it reads them: all of them,
/// or those of a [`Shape`] ([`Shape::over`]).
#[derive(Clone, Copy)]
pub struct Shaped<'b, 's, T> {
    bytes: &'b [u8],
    datatype: &'s CommittedDatatype,
    count: usize,
    element: PhantomData<&'b [T]>,
}

/// Elements of a slice that an operation writes: all of them, or those of a [`Shape`]
/// ([`Shape::over_mut`]).
pub struct ShapedMut<'b, 's, T> {
    bytes: &'b mut [u8],
    datatype: &'s CommittedDatatype,
    count: usize,
    element: PhantomData<&'b mut [T]>,
}

impl<T: Element> Shape<T> {
    /// The elements of `slice` that the shape means; `slice` may be of anything that contains `T`s
    /// ([`Shape::field`]).
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) if the shape leaves the slice.
    pub fn over<'b, S: Pod>(&self, slice: &'b [S]) -> Result<Shaped<'b, '_, T>> {
        self.check(size_of_val(slice))?;
        let bytes = bytemuck::cast_slice(slice);
        Ok(Shaped { bytes, datatype: self.datatype(), count: 1, element: PhantomData })
    }

    /// As [`Shape::over`], to be written.
    ///
    /// # Errors
    /// As [`Shape::over`].
    pub fn over_mut<'b, S: Pod>(&self, slice: &'b mut [S]) -> Result<ShapedMut<'b, '_, T>> {
        self.check(size_of_val(slice))?;
        let bytes = bytemuck::cast_slice_mut(slice);
        Ok(ShapedMut { bytes, datatype: self.datatype(), count: 1, element: PhantomData })
    }

    /// Refuses a slice of `len` bytes that does not have the elements.
    fn check(&self, len: usize) -> Result<()> {
        match self.datatype().range(1) {
            Some(range) if range.is_empty() || range.start >= 0 && range.end <= len as i64 => {
                Ok(())
            }
            range => {
                let problem =
                    format!("{self:?}, with bytes {range:?}, leaves a slice of {len} bytes");
                refuse(Call::None, problem)
            }
        }
    }
}

impl<'b, 's, T: Element> Shaped<'b, 's, T> {
    /// First byte, datatype, and number of its instances.
    #[inline]
    pub(crate) fn parts(&self) -> (&'b [u8], &'s CommittedDatatype, usize) {
        (self.bytes, self.datatype, self.count)
    }

    /// How many elements it means.
    #[inline]
    pub fn len(&self) -> usize {
        // Elements of a slice, or of a shape, whose number has been checked.
        self.datatype.elements(self.count).unwrap_or(0) as usize
    }

    /// Whether it means none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'b, 's, T: Element> ShapedMut<'b, 's, T> {
    /// As [`Shaped::parts`].
    #[inline]
    pub(crate) fn parts(self) -> (&'b mut [u8], &'s CommittedDatatype, usize) {
        (self.bytes, self.datatype, self.count)
    }

    /// How many elements it means.
    #[inline]
    pub fn len(&self) -> usize {
        // As in `Shaped`.
        self.datatype.elements(self.count).unwrap_or(0) as usize
    }

    /// Whether it means none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'b, T: Element> From<&'b [T]> for Shaped<'b, '_, T> {
    #[inline]
    fn from(slice: &'b [T]) -> Self {
        let (bytes, count) = (bytemuck::cast_slice(slice), slice.len());
        Shaped { bytes, datatype: T::DATATYPE.into(), count, element: PhantomData }
    }
}

impl<'b, T: Element> From<&'b mut [T]> for ShapedMut<'b, '_, T> {
    #[inline]
    fn from(slice: &'b mut [T]) -> Self {
        let count = slice.len();
        let bytes = bytemuck::cast_slice_mut(slice);
        ShapedMut { bytes, datatype: T::DATATYPE.into(), count, element: PhantomData }
    }
}

/// What coerces to a slice elsewhere.
macro_rules! as_slices {
    ($(($($generic:tt)*) $type:ty;)*) => {$(
        impl<'b, T: Element, $($generic)*> From<&'b $type> for Shaped<'b, '_, T> {
            #[inline]
            fn from(slice: &'b $type) -> Self {
                Shaped::from(&slice[..])
            }
        }

        impl<'b, T: Element, $($generic)*> From<&'b mut $type> for ShapedMut<'b, '_, T> {
            #[inline]
            fn from(slice: &'b mut $type) -> Self {
                ShapedMut::from(&mut slice[..])
            }
        }
    )*};
}
as_slices! {
    (const N: usize) [T; N];
    () Vec<T>;
}

/// A shape where the calls that take any datatype need one.
impl<'d, T: Element> From<&'d Shape<T>> for &'d CommittedDatatype {
    #[inline]
    fn from(shape: &'d Shape<T>) -> Self {
        shape.datatype()
    }
}
