//! The constructors that pick a part of an array: subarray and distributed array.

use super::build::{equally_long, refuse};
use super::{Constructor, DerivedDatatype, Distribution, Order};
use crate::call::Call;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;

impl DerivedDatatype {
    /// A block of an array (`MPI_Type_create_subarray`, MPI-2.2 §4.1.3): `sizes` elements of the
    /// array and `subsizes` of the block in each dimension, from `starts` on. The extent is that
    /// of the whole array.
    ///
    /// # Errors
    /// [`Error::Count`] if the arguments differ in length; [`Error::Argument`] if there is no dimension,
    /// a size is zero, the block leaves the array, or the array would be larger than 2^63 - 1 bytes.
    pub fn subarray(
        sizes: &[usize],
        subsizes: &[usize],
        starts: &[usize],
        order: Order,
        element: impl Into<DerivedDatatype>,
    ) -> Result<DerivedDatatype> {
        let call = Call::TypeSubarray;
        equally_long(call, "array of subsizes", subsizes.len(), sizes.len())?;
        equally_long(call, "array of starts", starts.len(), sizes.len())?;
        check_sizes(call, sizes)?;
        for (i, ((size, sub), start)) in sizes.iter().zip(subsizes).zip(starts).enumerate() {
            if *sub == 0 || sub > size || *start > size - sub {
                let block = format!("a block of {sub} from {start} on");
                return refuse(call, format!("{block} is none of {size} elements (dimension {i})"));
            }
        }
        let element = element.into();
        let mut part = element.clone();
        for dim in fastest_first(sizes.len(), order) {
            let block = contiguous(call, subsizes[dim], &part)?;
            part = in_dimension(call, &part, sizes[dim], &[(starts[dim], block)])?;
        }
        let constructor = Constructor::Subarray {
            sizes: sizes.into(),
            subsizes: subsizes.into(),
            starts: starts.into(),
            order,
            element,
        };
        DerivedDatatype::lowered(call, constructor, Some(part))
    }

    /// The elements of process `rank` of `size`, of an array of `sizes` elements in each dimension,
    /// which `distributions` distribute over a grid of processes (`MPI_Type_create_darray`, MPI-2.2
    /// §4.1.4). Ranks are counted along the last dimension of the grid first, for either order of the
    /// array. The extent is that of the whole array.
    ///
    /// # Errors
    /// [`Error::Count`] if the arguments differ in length; [`Error::Argument`] if there is no dimension,
    /// a size is zero, a distribution does not cover a dimension, or the array would be larger than 2^63
    /// - 1 bytes; or if the grid does not have `size` processes or has no `rank`.
    pub fn darray(
        size: usize,
        rank: usize,
        sizes: &[usize],
        distributions: &[Distribution],
        grid: &[usize],
        order: Order,
        element: impl Into<DerivedDatatype>,
    ) -> Result<DerivedDatatype> {
        let call = Call::TypeDarray;
        equally_long(call, "array of distributions", distributions.len(), sizes.len())?;
        equally_long(call, "process grid", grid.len(), sizes.len())?;
        check_sizes(call, sizes)?;
        let processes = grid.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
        if processes != Some(size) || rank >= size {
            let problem = format!("process {rank} of {size} is none of the grid {grid:?}");
            return refuse(call, problem);
        }
        let coordinates = coordinates(rank, grid);
        let element = element.into();
        let mut part = element.clone();
        for dim in fastest_first(sizes.len(), order) {
            let share = Share::new(call, sizes[dim], distributions[dim], grid[dim])?;
            let blocks = share.of(call, coordinates[dim], &part)?;
            part = in_dimension(call, &part, sizes[dim], &blocks)?;
        }
        let constructor = Constructor::Darray {
            size,
            rank,
            sizes: sizes.into(),
            distributions: distributions.into(),
            grid: grid.into(),
            order,
            element,
        };
        DerivedDatatype::lowered(call, constructor, Some(part))
    }
}

/// Checks that the array has a dimension and no empty one.
fn check_sizes(call: Call, sizes: &[usize]) -> Result<()> {
    if sizes.is_empty() || sizes.contains(&0) {
        return refuse(call, format!("an array of sizes {sizes:?} has no elements"));
    }
    Ok(())
}

/// The dimensions in the order in which they vary in memory.
fn fastest_first(dims: usize, order: Order) -> Box<dyn Iterator<Item = usize>> {
    match order {
        Order::C => Box::new((0..dims).rev()),
        Order::Fortran => Box::new(0..dims),
    }
}

/// The coordinates of process `rank` in the grid.
fn coordinates(mut rank: usize, grid: &[usize]) -> Vec<usize> {
    let mut coordinates = vec![0; grid.len()];
    for (at, n) in coordinates.iter_mut().zip(grid).rev() {
        (*at, rank) = (rank % n, rank / n);
    }
    coordinates
}

/// [`DerivedDatatype::contiguous`] on behalf of `call`.
fn contiguous(call: Call, count: usize, element: &DerivedDatatype) -> Result<DerivedDatatype> {
    DerivedDatatype::new(call, Constructor::Contiguous { count, element: element.clone() })
}

/// Blocks at those indices of a dimension of `size` elements, with the bounds of the dimension.
fn in_dimension(
    call: Call,
    element: &DerivedDatatype,
    size: usize,
    blocks: &[(usize, DerivedDatatype)],
) -> Result<DerivedDatatype> {
    let extent = i64::try_from(size).ok().and_then(|size| element.extent().checked_mul(size));
    let Some(extent) = extent else {
        return refuse(call, format!("{size} times {element:?} are larger than 2^63 - 1 bytes"));
    };
    let displacements = blocks.iter().map(|(at, _)| *at as i64 * element.extent()).collect();
    let constructor = Constructor::Struct {
        block_lengths: vec![1; blocks.len()].into(),
        displacements,
        elements: blocks.iter().map(|(_, block)| block.clone()).collect(),
    };
    let element = DerivedDatatype::new(call, constructor)?;
    DerivedDatatype::new(call, Constructor::Resized { lower_bound: 0, extent, element })
}

/// The distribution of a dimension: blocks of `block` elements, round robin over `processes`.
struct Share {
    size: usize,
    block: usize,
    processes: usize,
}

impl Share {
    fn new(call: Call, size: usize, by: Distribution, processes: usize) -> Result<Share> {
        let (block, enough) = match by {
            Distribution::None => (size, processes == 1),
            Distribution::Cyclic(block) => (block.unwrap_or(1), true),
            Distribution::Block(block) => {
                let block = block.unwrap_or(size.div_ceil(processes));
                (block, block.saturating_mul(processes) >= size)
            }
        };
        if block == 0 || !enough {
            let problem = format!("{by:?} does not deal {size} elements out to {processes}");
            return refuse(call, problem);
        }
        Ok(Share { size, block: block.min(size), processes })
    }

    /// The blocks of the process at `coordinate`: the full ones, and the rest for the last.
    fn of(
        &self,
        call: Call,
        coordinate: usize,
        element: &DerivedDatatype,
    ) -> Result<Vec<(usize, DerivedDatatype)>> {
        let &Share { size, block, processes } = self;
        let (full, rest) = (size / block, size % block);
        // Block number `full` is the one that is not full.
        let mine = full / processes + usize::from(coordinate < full % processes);
        let mut blocks = Vec::new();
        if mine > 0 {
            // One block has no stride; with two the product cannot overflow.
            let stride = if mine > 1 { (block * processes) as i64 } else { 0 };
            let element = element.clone();
            let vector = Constructor::Vector { count: mine, block_length: block, stride, element };
            blocks.push((coordinate * block, DerivedDatatype::new(call, vector)?));
        }
        if rest > 0 && full % processes == coordinate {
            blocks.push((full * block, contiguous(call, rest, element)?));
        }
        Ok(blocks)
    }
}
