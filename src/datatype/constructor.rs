//! The constructor of a derived datatype, with its arguments as given.

use super::{Datatype, DerivedDatatype};

/// Which index of an array varies fastest in memory (MPI-2.2 §4.1.3).
///
/// ```
/// use onesided::{Datatype, DerivedDatatype, Order};
///
/// // The first column of a matrix of 4 rows and 5 columns, as C and Rust store it: each element is a row apart.
/// let column = DerivedDatatype::subarray(&[4, 5], &[4, 1], &[0, 0], Order::C, Datatype::F64)?;
/// let offsets: Vec<i64> = column.commit().pieces(1).map(|(offset, _)| offset).collect();
/// assert_eq!(offsets, [0, 40, 80, 120]);
/// // As Fortran stores it, a column is one piece.
/// let column = DerivedDatatype::subarray(&[4, 5], &[4, 1], &[0, 0], Order::Fortran, Datatype::F64)?;
/// assert_eq!(column.commit().pieces(1).collect::<Vec<_>>(), [(0, 32)]);
/// # Ok::<(), onesided::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// `MPI_ORDER_C`: the last.
    C,
    /// `MPI_ORDER_FORTRAN`: the first.
    Fortran,
}

/// The distribution of one dimension of an array over processes (MPI-2.2 §4.1.4).
///
/// ```
/// use onesided::{Datatype, DerivedDatatype, Distribution, Order};
///
/// // What process 1 of two has of an array of six elements.
/// let of = |distribution| -> onesided::Result<Vec<(i64, u64)>> {
///     let own = DerivedDatatype::darray(2, 1, &[6], &[distribution], &[2], Order::C, Datatype::U8)?;
///     Ok(own.commit().pieces(1).collect())
/// };
/// assert_eq!(of(Distribution::Block(None))?, [(3, 3)]);
/// assert_eq!(of(Distribution::Cyclic(None))?, [(1, 1), (3, 1), (5, 1)]);
/// # Ok::<(), onesided::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distribution {
    /// `MPI_DISTRIBUTE_NONE`: none; the grid has one process in this dimension.
    None,
    /// `MPI_DISTRIBUTE_BLOCK`: one block of the given length for each process; `None` is
    /// `MPI_DISTRIBUTE_DFLT_DARG`, the smallest length that covers the dimension.
    Block(Option<usize>),
    /// `MPI_DISTRIBUTE_CYCLIC`: blocks of the given length, round robin; `None` is
    /// `MPI_DISTRIBUTE_DFLT_DARG`, blocks of one.
    Cyclic(Option<usize>),
}

/// The result of `MPI_Type_get_envelope` and `MPI_Type_get_contents` (MPI-2.2 §4.1.13): the
/// constructor, with its arguments as given.
///
/// Displacements and strides of the variants with an H, and of `Struct`, are in bytes; those of the
/// others are in extents of the element.
///
/// ```
/// use onesided::{Constructor, Datatype, DerivedDatatype};
///
/// let rows = DerivedDatatype::vector(3, 1, 2, Datatype::F64)?;
/// let Constructor::Vector { count, stride, .. } = rows.constructor() else { unreachable!() };
/// assert_eq!((*count, *stride), (3, 2));
/// # Ok::<(), onesided::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are the arguments of the function of that name")]
pub enum Constructor {
    /// `MPI_COMBINER_NAMED`
    Predefined(Datatype),
    /// `MPI_COMBINER_DUP`: [`DerivedDatatype::dup`]
    Dup(DerivedDatatype),
    /// `MPI_COMBINER_CONTIGUOUS`: [`DerivedDatatype::contiguous`]
    Contiguous { count: usize, element: DerivedDatatype },
    /// `MPI_COMBINER_VECTOR`: [`DerivedDatatype::vector`]
    Vector { count: usize, block_length: usize, stride: i64, element: DerivedDatatype },
    /// `MPI_COMBINER_HVECTOR`: [`DerivedDatatype::hvector`]
    Hvector { count: usize, block_length: usize, stride: i64, element: DerivedDatatype },
    /// `MPI_COMBINER_INDEXED`: [`DerivedDatatype::indexed`]
    Indexed { block_lengths: Box<[usize]>, displacements: Box<[i64]>, element: DerivedDatatype },
    /// `MPI_COMBINER_HINDEXED`: [`DerivedDatatype::hindexed`]
    Hindexed { block_lengths: Box<[usize]>, displacements: Box<[i64]>, element: DerivedDatatype },
    /// `MPI_COMBINER_INDEXED_BLOCK`: [`DerivedDatatype::indexed_block`]
    IndexedBlock { block_length: usize, displacements: Box<[i64]>, element: DerivedDatatype },
    /// `MPI_COMBINER_HINDEXED_BLOCK`: [`DerivedDatatype::hindexed_block`]
    HindexedBlock { block_length: usize, displacements: Box<[i64]>, element: DerivedDatatype },
    /// `MPI_COMBINER_STRUCT`: [`DerivedDatatype::structure`]
    Struct {
        block_lengths: Box<[usize]>,
        displacements: Box<[i64]>,
        elements: Box<[DerivedDatatype]>,
    },
    /// `MPI_COMBINER_SUBARRAY`: [`DerivedDatatype::subarray`]
    Subarray {
        sizes: Box<[usize]>,
        subsizes: Box<[usize]>,
        starts: Box<[usize]>,
        order: Order,
        element: DerivedDatatype,
    },
    /// `MPI_COMBINER_DARRAY`: [`DerivedDatatype::darray`]
    Darray {
        size: usize,
        rank: usize,
        sizes: Box<[usize]>,
        distributions: Box<[Distribution]>,
        grid: Box<[usize]>,
        order: Order,
        element: DerivedDatatype,
    },
    /// `MPI_COMBINER_RESIZED`: [`DerivedDatatype::resized`]
    Resized { lower_bound: i64, extent: i64, element: DerivedDatatype },
}

/// `count` blocks of `length` elements, `stride` bytes apart.
pub(super) struct Regular<'a> {
    pub(super) count: u64,
    pub(super) length: u64,
    pub(super) stride: i128,
    pub(super) element: &'a DerivedDatatype,
}

/// Blocks with their own lengths and displacements, of one element datatype.
pub(super) struct Irregular<'a> {
    lengths: Lengths<'a>,
    displacements: &'a [i64],
    /// Bytes of one unit of displacement.
    unit: i64,
    pub(super) element: &'a DerivedDatatype,
}

#[derive(Clone, Copy)]
enum Lengths<'a> {
    All(usize),
    Each(&'a [usize]),
}

impl Irregular<'_> {
    /// The displacement of each block in bytes, and its number of elements; no empty blocks.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (i128, u64)> {
        let block = |(i, at): (usize, &i64)| {
            let length = match self.lengths {
                Lengths::All(length) => length,
                Lengths::Each(lengths) => lengths[i],
            };
            (i128::from(*at) * i128::from(self.unit), length as u64)
        };
        self.displacements.iter().enumerate().map(block).filter(|(_, length)| *length > 0)
    }
}

impl Constructor {
    /// The datatypes in its arguments.
    pub(super) fn elements(&self) -> &[DerivedDatatype] {
        match self {
            Constructor::Predefined(_) => &[],
            Constructor::Struct { elements, .. } => elements,
            Constructor::Dup(element)
            | Constructor::Contiguous { element, .. }
            | Constructor::Vector { element, .. }
            | Constructor::Hvector { element, .. }
            | Constructor::Indexed { element, .. }
            | Constructor::Hindexed { element, .. }
            | Constructor::IndexedBlock { element, .. }
            | Constructor::HindexedBlock { element, .. }
            | Constructor::Subarray { element, .. }
            | Constructor::Darray { element, .. }
            | Constructor::Resized { element, .. } => std::slice::from_ref(element),
        }
    }

    /// The blocks of the constructors that repeat one element at a stride.
    pub(super) fn regular(&self) -> Option<Regular<'_>> {
        let (count, length, stride, element) = match self {
            Constructor::Contiguous { count, element } => (1, *count, 0, element),
            Constructor::Vector { count, block_length, stride, element } => {
                let stride = i128::from(*stride) * i128::from(element.extent());
                (*count, *block_length, stride, element)
            }
            Constructor::Hvector { count, block_length, stride, element } => {
                (*count, *block_length, i128::from(*stride), element)
            }
            _ => return None,
        };
        Some(Regular { count: count as u64, length: length as u64, stride, element })
    }

    /// The blocks of the constructors that list the displacements of one element.
    pub(super) fn irregular(&self) -> Option<Irregular<'_>> {
        let (lengths, displacements, in_bytes, element) = match self {
            Constructor::Indexed { block_lengths, displacements, element } => {
                (Lengths::Each(block_lengths), displacements, false, element)
            }
            Constructor::Hindexed { block_lengths, displacements, element } => {
                (Lengths::Each(block_lengths), displacements, true, element)
            }
            Constructor::IndexedBlock { block_length, displacements, element } => {
                (Lengths::All(*block_length), displacements, false, element)
            }
            Constructor::HindexedBlock { block_length, displacements, element } => {
                (Lengths::All(*block_length), displacements, true, element)
            }
            _ => return None,
        };
        let unit = if in_bytes { 1 } else { element.extent() };
        Some(Irregular { lengths, displacements, unit, element })
    }

    /// The blocks of a struct: displacement, length, element; no empty blocks.
    pub(super) fn members(&self) -> Option<impl Iterator<Item = (i64, u64, &DerivedDatatype)>> {
        let Constructor::Struct { block_lengths, displacements, elements } = self else {
            return None;
        };
        let members = block_lengths.iter().zip(displacements).zip(elements);
        let members = members.map(|((length, at), element)| (*at, *length as u64, element));
        Some(members.filter(|(_, length, _)| *length > 0))
    }
}
