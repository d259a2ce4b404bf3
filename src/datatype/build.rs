//! The constructors that list or repeat blocks.

use super::{Constructor, DerivedDatatype};
use crate::call::Call;
use crate::error::{Error, Place, Result};

impl DerivedDatatype {
    /// `count` adjacent elements (`MPI_Type_contiguous`, MPI-2.2 §4.1.2).
    ///
    /// # Errors
    /// [`Error::Argument`] if the datatype would be larger than 2^63 - 1 bytes.
    pub fn contiguous(
        count: usize,
        element: impl Into<DerivedDatatype>,
    ) -> Result<DerivedDatatype> {
        let element = element.into();
        DerivedDatatype::new(Call::TypeContiguous, Constructor::Contiguous { count, element })
    }

    /// `count` blocks of `block_length` elements, whose starts are `stride` extents of the element
    /// apart (`MPI_Type_vector`, MPI-2.2 §4.1.2).
    ///
    /// # Errors
    /// [`Error::Argument`] if the datatype would be larger than 2^63 - 1 bytes.
    pub fn vector(
        count: usize,
        block_length: usize,
        stride: i64,
        element: impl Into<DerivedDatatype>,
    ) -> Result<DerivedDatatype> {
        let element = element.into();
        let constructor = Constructor::Vector { count, block_length, stride, element };
        DerivedDatatype::new(Call::TypeVector, constructor)
    }

    /// `count` blocks of `block_length` elements, whose starts are `stride` bytes apart
    /// (`MPI_Type_create_hvector`, MPI-2.2 §4.1.2).
    ///
    /// # Errors
    /// [`Error::Argument`] if the datatype would be larger than 2^63 - 1 bytes.
    pub fn hvector(
        count: usize,
        block_length: usize,
        stride: i64,
        element: impl Into<DerivedDatatype>,
    ) -> Result<DerivedDatatype> {
        let element = element.into();
        let constructor = Constructor::Hvector { count, block_length, stride, element };
        DerivedDatatype::new(Call::TypeHvector, constructor)
    }

    /// Blocks of the given numbers of elements at the given displacements, in extents of the element
    /// (`MPI_Type_indexed`, MPI-2.2 §4.1.2).
    ///
    /// # Errors
    /// [`Error::Count`] if the arrays differ in length; [`Error::Argument`] if the datatype would be
    /// larger than 2^63 - 1 bytes.
    pub fn indexed(
        block_lengths: &[usize],
        displacements: &[i64],
        element: impl Into<DerivedDatatype>,
    ) -> Result<DerivedDatatype> {
        let (block_lengths, displacements) =
            blocks(Call::TypeIndexed, block_lengths, displacements)?;
        let element = element.into();
        let constructor = Constructor::Indexed { block_lengths, displacements, element };
        DerivedDatatype::new(Call::TypeIndexed, constructor)
    }

    /// [`DerivedDatatype::indexed`] with displacements in bytes (`MPI_Type_create_hindexed`, MPI-2.2
    /// §4.1.2).
    ///
    /// # Errors
    /// [`Error::Count`] if the arrays differ in length; [`Error::Argument`] if the datatype would be
    /// larger than 2^63 - 1 bytes.
    pub fn hindexed(
        block_lengths: &[usize],
        displacements: &[i64],
        element: impl Into<DerivedDatatype>,
    ) -> Result<DerivedDatatype> {
        let (block_lengths, displacements) =
            blocks(Call::TypeHindexed, block_lengths, displacements)?;
        let element = element.into();
        let constructor = Constructor::Hindexed { block_lengths, displacements, element };
        DerivedDatatype::new(Call::TypeHindexed, constructor)
    }

    /// Blocks of `block_length` elements at the given displacements, in extents of the element
    /// (`MPI_Type_create_indexed_block`, MPI-2.2 §4.1.2).
    ///
    /// # Errors
    /// [`Error::Argument`] if the datatype would be larger than 2^63 - 1 bytes.
    pub fn indexed_block(
        block_length: usize,
        displacements: &[i64],
        element: impl Into<DerivedDatatype>,
    ) -> Result<DerivedDatatype> {
        let (displacements, element) = (displacements.into(), element.into());
        let constructor = Constructor::IndexedBlock { block_length, displacements, element };
        DerivedDatatype::new(Call::TypeIndexedBlock, constructor)
    }

    /// [`DerivedDatatype::indexed_block`] with displacements in bytes
    /// (`MPI_Type_create_hindexed_block`, MPI-4.1 §5.1.2).
    ///
    /// # Errors
    /// [`Error::Argument`] if the datatype would be larger than 2^63 - 1 bytes.
    pub fn hindexed_block(
        block_length: usize,
        displacements: &[i64],
        element: impl Into<DerivedDatatype>,
    ) -> Result<DerivedDatatype> {
        let (displacements, element) = (displacements.into(), element.into());
        let constructor = Constructor::HindexedBlock { block_length, displacements, element };
        DerivedDatatype::new(Call::TypeHindexedBlock, constructor)
    }

    /// Blocks of the given numbers of elements, each of its own datatype, at the given displacements in
    /// bytes (`MPI_Type_create_struct`, MPI-2.2 §4.1.2).
    ///
    /// The extent is rounded up to a multiple of the strictest alignment of a basic element (the epsilon
    /// of MPI-2.2 §4.1.6). So it is the extent of a `repr(C)` struct. As in MPICH, only this constructor
    /// does so, and not if a member was [resized](DerivedDatatype::resized). To the letter of the
    /// standard, a vector whose stride in bytes is no multiple of the alignment would be padded too.
    ///
    /// # Errors
    /// [`Error::Count`] if the arrays differ in length; [`Error::Argument`] if the datatype would be
    /// larger than 2^63 - 1 bytes.
    pub fn structure(
        block_lengths: &[usize],
        displacements: &[i64],
        elements: &[DerivedDatatype],
    ) -> Result<DerivedDatatype> {
        let call = Call::TypeStruct;
        let (block_lengths, displacements) = blocks(call, block_lengths, displacements)?;
        equally_long(call, "array of datatypes", elements.len(), block_lengths.len())?;
        let elements = elements.into();
        DerivedDatatype::new(call, Constructor::Struct { block_lengths, displacements, elements })
    }

    /// The same elements with the given lower bound and extent, in bytes (`MPI_Type_create_resized`,
    /// MPI-2.2 §4.1.7). Datatypes made of it keep these bounds for their parts.
    ///
    /// # Errors
    /// [`Error::Argument`] if the datatype would be larger than 2^63 - 1 bytes.
    pub fn resized(
        lower_bound: i64,
        extent: i64,
        element: impl Into<DerivedDatatype>,
    ) -> Result<DerivedDatatype> {
        let element = element.into();
        DerivedDatatype::new(
            Call::TypeResized,
            Constructor::Resized { lower_bound, extent, element },
        )
    }

    /// A duplicate, as [`DerivedDatatype::constructor`] then returns (`MPI_Type_dup`, MPI-2.2 §4.1.10).
    /// For everything else `Clone` is enough.
    ///
    /// # Errors
    /// [`Error::Argument`] if datatypes are nested too deeply.
    pub fn dup(&self) -> Result<DerivedDatatype> {
        DerivedDatatype::new(Call::TypeDup, Constructor::Dup(self.clone()))
    }
}

/// Lengths of blocks and their displacements.
type BlockList = (Box<[usize]>, Box<[i64]>);

/// Checks that the two have the same length.
fn blocks(call: Call, lengths: &[usize], displacements: &[i64]) -> Result<BlockList> {
    equally_long(call, "array of displacements", displacements.len(), lengths.len())?;
    Ok((lengths.into(), displacements.into()))
}

/// Checks that an array is as long as another.
pub(super) fn equally_long(
    call: Call,
    what: &'static str,
    found: usize,
    needed: usize,
) -> Result<()> {
    if found == needed {
        return Ok(());
    }
    let at = Place { call, window: None, rank: None };
    Err(Error::Count { at, what, found, needed })
}

/// The error for an invalid argument.
pub(super) fn refuse<T>(call: Call, problem: String) -> Result<T> {
    Err(Error::Argument { at: Place { call, window: None, rank: None }, problem })
}
