//! Datatypes in the typed API: a selection of a slice's elements.

use super::build::refuse;
use super::{CommittedDatatype, DerivedDatatype, Element, Order};
use crate::call::Call;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use bytemuck::Pod;
use std::marker::PhantomData;

/// A selection of a buffer's elements, in order: a committed datatype whose basic elements are all
/// `T`s.
///
/// ```
/// use onesided::Shape;
///
/// // A block of 2 x 2 at (1, 2) of an array of 3 rows and 5 columns.
/// let block = Shape::<f64>::block_2d([3, 5], [1, 2], [2, 2])?;
/// let array: Vec<f64> = (0..15).map(f64::from).collect();
/// let mut out = [0.0; 4];
/// block.gather(&array, &mut out)?;
/// assert_eq!(out, [7.0, 8.0, 12.0, 13.0]);
/// # Ok::<(), onesided::Error>(())
/// ```
///
/// [`DerivedDatatype`] has all other constructors of `MPI_Type_*`. All functions are local and do not
/// block.
pub struct Shape<T> {
    datatype: CommittedDatatype,
    /// Its bytes, if they are one piece: cached, so that an operation on such a shape costs no more than
    /// one on a slice.
    plain: Option<u64>,
    element: PhantomData<fn() -> T>,
}

impl<T: Element> Shape<T> {
    /// The first `count` elements.
    ///
    /// # Errors
    /// [`Error::Argument`] if that is more than 2^63 - 1 bytes.
    pub fn contiguous(count: usize) -> Result<Shape<T>> {
        Shape::of(DerivedDatatype::contiguous(count, T::DATATYPE)?)
    }

    /// `blocks` blocks of `block_length` elements, whose starts are `stride` elements apart.
    ///
    /// ```
    /// # use onesided::Shape;
    /// let every_third = Shape::<u32>::strided(3, 1, 3)?;
    /// let mut out = [0; 3];
    /// every_third.gather(&[0u32, 1, 2, 3, 4, 5, 6], &mut out)?;
    /// assert_eq!(out, [0, 3, 6]);
    /// # Ok::<(), onesided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] if the shape spans more than 2^63 - 1 bytes.
    pub fn strided(blocks: usize, block_length: usize, stride: usize) -> Result<Shape<T>> {
        let stride = displacement(Call::TypeVector, stride)?;
        Shape::of(DerivedDatatype::vector(blocks, block_length, stride, T::DATATYPE)?)
    }

    /// The elements at `indices`, in that order.
    ///
    /// ```
    /// # use onesided::Shape;
    /// let some = Shape::<u8>::indices(&[4, 0, 3])?;
    /// let mut word = [0; 3];
    /// some.gather(b"tuesday", &mut word)?;
    /// assert_eq!(&word, b"dts");
    /// # Ok::<(), onesided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] if the shape spans more than 2^63 - 1 bytes.
    pub fn indices(indices: &[usize]) -> Result<Shape<T>> {
        let at = |index: &usize| displacement(Call::TypeIndexedBlock, *index);
        let indices = indices.iter().map(at).collect::<Result<Vec<_>>>()?;
        Shape::of(DerivedDatatype::indexed_block(1, &indices, T::DATATYPE)?)
    }

    /// A block of `size` = [rows, columns] from `start` = [row, column] on, of a row-major array of
    /// `array` = [rows, columns].
    ///
    /// # Errors
    /// [`Error::Argument`] if a size is zero, the block leaves the array, or the array would be larger
    /// than 2^63 - 1 bytes.
    pub fn block_2d(array: [usize; 2], start: [usize; 2], size: [usize; 2]) -> Result<Shape<T>> {
        Shape::block(&array, &start, &size)
    }

    /// [`Shape::block_2d`] with three dimensions: of an array of planes of rows.
    ///
    /// # Errors
    /// [`Error::Argument`] if a size is zero, the block leaves the array, or the array would be larger
    /// than 2^63 - 1 bytes.
    pub fn block_3d(array: [usize; 3], start: [usize; 3], size: [usize; 3]) -> Result<Shape<T>> {
        Shape::block(&array, &start, &size)
    }

    fn block(array: &[usize], start: &[usize], size: &[usize]) -> Result<Shape<T>> {
        Shape::of(DerivedDatatype::subarray(array, size, start, Order::C, T::DATATYPE)?)
    }

    /// One field of each of `count` adjacent structs `S`; `offset` is the result of
    /// [`core::mem::offset_of`] for the field.
    ///
    /// ```
    /// # use onesided::Shape;
    /// # use std::mem::offset_of;
    /// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    /// #[repr(C)]
    /// struct Particle {
    ///     at: [f64; 3],
    ///     mass: f64,
    /// }
    /// let masses = Shape::<f64>::field::<Particle>(offset_of!(Particle, mass), 2)?;
    /// let particle = |mass| Particle { at: [0.0; 3], mass };
    /// let mut out = [0.0; 2];
    /// masses.gather(&[particle(1.5), particle(2.5)], &mut out)?;
    /// assert_eq!(out, [1.5, 2.5]);
    /// # Ok::<(), onesided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] if the field would leave the struct, or the shape spans more than 2^63 - 1
    /// bytes.
    pub fn field<S>(offset: usize, count: usize) -> Result<Shape<T>> {
        let (field, whole) = (size_of::<T>(), size_of::<S>());
        if offset.checked_add(field).is_none_or(|end| end > whole) {
            let problem =
                format!("a field of {field} bytes at offset {offset} leaves a struct of {whole}");
            return refuse(Call::TypeHvector, problem);
        }
        let first = DerivedDatatype::hindexed_block(1, &[offset as i64], T::DATATYPE)?;
        Shape::of(DerivedDatatype::hvector(count, 1, whole as i64, first)?)
    }

    fn of(datatype: DerivedDatatype) -> Result<Shape<T>> {
        let datatype = datatype.commit();
        Ok(Shape { plain: datatype.plain(1), datatype, element: PhantomData })
    }

    /// The bytes of the elements, if they are adjacent from the displacement on.
    #[inline(always)]
    pub(crate) fn plain(&self) -> Option<u64> {
        self.plain
    }

    /// The number of selected elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.datatype.values() as usize
    }

    /// Whether no element is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The datatype, for the calls of the untyped API.
    #[inline]
    pub fn datatype(&self) -> &CommittedDatatype {
        &self.datatype
    }

    /// Copies the selected elements of `from` to `to`, without gaps.
    ///
    /// # Errors
    /// [`Error::Count`] if `to` does not have exactly their length; [`Error::Argument`] if an element
    /// leaves `from`.
    pub fn gather<S: Pod>(&self, from: &[S], to: &mut [T]) -> Result<()> {
        let whole = self.datatype.with_padding();
        whole.pack(1, bytemuck::cast_slice(from), 0, bytemuck::cast_slice_mut(to))
    }

    /// Copies `from` to the selected elements of `to`.
    ///
    /// # Errors
    /// [`Error::Count`] if `from` does not have exactly their length; [`Error::Argument`] if an element
    /// leaves `to`.
    pub fn scatter<S: Pod>(&self, from: &[T], to: &mut [S]) -> Result<()> {
        let whole = self.datatype.with_padding();
        whole.unpack(1, bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to), 0)
    }
}

/// An index as a displacement.
fn displacement(call: Call, index: usize) -> Result<i64> {
    i64::try_from(index).or_else(|_| refuse(call, format!("{index} is more than 2^63 - 1")))
}

impl<T> Clone for Shape<T> {
    fn clone(&self) -> Shape<T> {
        Shape { datatype: self.datatype.clone(), ..*self }
    }
}

impl<T> std::fmt::Debug for Shape<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.datatype.fmt(f)
    }
}
