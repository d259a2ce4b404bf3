//! Slices with a selection of their elements.

use super::build::refuse;
use super::{CommittedDatatype, Element, Shape, datatype_of};
use crate::call::Call;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use bytemuck::Pod;
use std::marker::PhantomData;

/// Elements of a slice that an operation reads, in the order in which it reads them: all of them,
/// or those of a [`Shape`] ([`Shape::over`]).
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let mut window = Window::<u32>::allocate(world, 2)?;
/// let (column, pair) = (onesided::Shape::strided(2, 1, 3)?, onesided::Shape::contiguous(2)?);
/// let rows = [1, 2, 3, 4, 5, 6];
/// window.fence_scope(|epoch| epoch.put_shaped(column.over(&rows)?, other, 0, &pair))?;
/// assert_eq!([window.load_one(0)?, window.load_one(1)?], [1, 4]);
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Shaped<'b, 's, T> {
    bytes: &'b [u8],
    /// `None` for all elements.
    shape: Option<&'s CommittedDatatype>,
    element: PhantomData<&'b [T]>,
}

/// Elements of a slice that an operation writes: all of them, or those of a [`Shape`]
/// ([`Shape::over_mut`]).
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let mut window = Window::create(world, vec![1, 4])?;
/// let (column, pair) = (onesided::Shape::strided(2, 1, 3)?, onesided::Shape::contiguous(2)?);
/// let mut rows = [0; 6];
/// window.fence_scope(|epoch| epoch.get_shaped(column.over_mut(&mut rows)?, other, 0, &pair))?;
/// assert_eq!(rows, [1, 0, 0, 4, 0, 0]);
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Debug)]
pub struct ShapedMut<'b, 's, T> {
    bytes: &'b mut [u8],
    /// As in [`Shaped`].
    shape: Option<&'s CommittedDatatype>,
    element: PhantomData<&'b mut [T]>,
}

impl<T: Element> Shape<T> {
    /// The selected elements of `slice`, whose items may contain the `T`s ([`Shape::field`]).
    ///
    /// # Errors
    /// [`Error::Argument`] if the shape leaves the slice.
    pub fn over<'b, S: Pod>(&self, slice: &'b [S]) -> Result<Shaped<'b, '_, T>> {
        self.check(size_of_val(slice))?;
        let bytes = bytemuck::cast_slice(slice);
        Ok(Shaped { bytes, shape: Some(self.datatype()), element: PhantomData })
    }

    /// [`Shape::over`] for elements that an operation writes.
    ///
    /// # Errors
    /// [`Error::Argument`] if the shape leaves the slice.
    pub fn over_mut<'b, S: Pod>(&self, slice: &'b mut [S]) -> Result<ShapedMut<'b, '_, T>> {
        self.check(size_of_val(slice))?;
        let bytes = bytemuck::cast_slice_mut(slice);
        Ok(ShapedMut { bytes, shape: Some(self.datatype()), element: PhantomData })
    }

    /// Checks that a slice of `len` bytes has the elements.
    fn check(&self, len: usize) -> Result<()> {
        // Operations on pairs read their padding too.
        match self.datatype().with_padding().range(1) {
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

/// Datatype and number of its instances.
#[inline]
fn layout<T: Pod>(shape: Option<&CommittedDatatype>, bytes: usize) -> (&CommittedDatatype, usize) {
    match shape {
        Some(datatype) => (datatype, 1),
        None => instances::<T>(bytes),
    }
}

/// The datatype by which `T`s move, and how many instances of it that many bytes are.
#[inline]
fn instances<T: Pod>(bytes: usize) -> (&'static CommittedDatatype, usize) {
    let of = datatype_of::<T>();
    (of.into(), bytes / of.size())
}

/// The number of elements.
#[inline]
fn elements<T: Pod>(shape: Option<&CommittedDatatype>, bytes: usize) -> usize {
    match shape {
        // A shape over a slice; it may select an element several times.
        Some(datatype) => datatype.values() as usize,
        None => bytes.checked_div(size_of::<T>()).unwrap_or(0),
    }
}

impl<'b, 's, T: Pod> Shaped<'b, 's, T> {
    /// The slice, datatype, and number of its instances.
    #[inline]
    pub(crate) fn parts(&self) -> (&'b [u8], &'s CommittedDatatype, usize) {
        let (datatype, count) = layout::<T>(self.shape, self.bytes.len());
        (self.bytes, datatype, count)
    }

    /// The bytes, if all of them are selected.
    #[inline]
    pub(crate) fn all(&self) -> Option<&'b [u8]> {
        if self.shape.is_none() { Some(self.bytes) } else { None }
    }

    /// The number of selected elements.
    #[inline]
    pub fn len(&self) -> usize {
        elements::<T>(self.shape, self.bytes.len())
    }

    /// Whether no element is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'b, 's, T: Pod> ShapedMut<'b, 's, T> {
    /// See [`Shaped::parts`].
    #[inline]
    pub(crate) fn parts(self) -> (&'b mut [u8], &'s CommittedDatatype, usize) {
        let (datatype, count) = layout::<T>(self.shape, self.bytes.len());
        (self.bytes, datatype, count)
    }

    /// See [`Shaped::all`].
    #[inline]
    pub(crate) fn all(&mut self) -> Option<&mut [u8]> {
        if self.shape.is_none() { Some(self.bytes) } else { None }
    }

    /// The number of selected elements.
    #[inline]
    pub fn len(&self) -> usize {
        elements::<T>(self.shape, self.bytes.len())
    }

    /// Whether no element is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'b, T: Pod> From<&'b [T]> for Shaped<'b, '_, T> {
    #[inline]
    fn from(slice: &'b [T]) -> Self {
        Shaped { bytes: bytemuck::cast_slice(slice), shape: None, element: PhantomData }
    }
}

impl<'b, T: Pod> From<&'b mut [T]> for ShapedMut<'b, '_, T> {
    #[inline]
    fn from(slice: &'b mut [T]) -> Self {
        ShapedMut { bytes: bytemuck::cast_slice_mut(slice), shape: None, element: PhantomData }
    }
}

/// Conversions from everything that coerces to a slice.
macro_rules! as_slices {
    ($(($($generic:tt)*) $type:ty;)*) => {$(
        impl<'b, T: Pod, $($generic)*> From<&'b $type> for Shaped<'b, '_, T> {
            #[inline]
            fn from(slice: &'b $type) -> Self {
                Shaped::from(&slice[..])
            }
        }

        impl<'b, T: Pod, $($generic)*> From<&'b mut $type> for ShapedMut<'b, '_, T> {
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

/// A shape as a datatype of the untyped API.
impl<'d, T: Element> From<&'d Shape<T>> for &'d CommittedDatatype {
    #[inline]
    fn from(shape: &'d Shape<T>) -> Self {
        shape.datatype()
    }
}
