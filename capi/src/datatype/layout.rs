//! Where the elements of a datatype lie in a file: the same constructors, of elements as large as the representation of
//! the file makes them (MPI-4.1 §14.5.1). Displacements in bytes stay as they are.

use super::basic::{BASICS, Basic};
use crate::abi::*;
use crate::failure::{Failure, Outcome};
use onesided::{Constructor, Datatype, DerivedDatatype};

/// The layout of a datatype in a file where a predefined one has as many bytes as `bytes_of` gives it, without padding.
pub fn layout(
    datatype: &DerivedDatatype,
    bytes_of: &dyn Fn(&Basic) -> Outcome<u64>,
) -> Outcome<DerivedDatatype> {
    // Each predefined datatype has its name, and no other datatype of C has one.
    if let Some(name) = datatype.name()
        && let Some(basic) = BASICS.iter().find(|basic| basic.name == name)
    {
        return Ok(DerivedDatatype::contiguous(bytes_of(basic)? as usize, Datatype::U8)?);
    }
    let of = |element: &DerivedDatatype| layout(element, bytes_of);
    Ok(match datatype.constructor() {
        Constructor::Dup(element) => of(element)?,
        Constructor::Contiguous { count, element } => {
            DerivedDatatype::contiguous(*count, of(element)?)?
        }
        Constructor::Vector { count, block_length, stride, element } => {
            DerivedDatatype::vector(*count, *block_length, *stride, of(element)?)?
        }
        Constructor::Hvector { count, block_length, stride, element } => {
            DerivedDatatype::hvector(*count, *block_length, *stride, of(element)?)?
        }
        Constructor::Indexed { block_lengths, displacements, element } => {
            DerivedDatatype::indexed(block_lengths, displacements, of(element)?)?
        }
        Constructor::Hindexed { block_lengths, displacements, element } => {
            DerivedDatatype::hindexed(block_lengths, displacements, of(element)?)?
        }
        Constructor::IndexedBlock { block_length, displacements, element } => {
            DerivedDatatype::indexed_block(*block_length, displacements, of(element)?)?
        }
        Constructor::HindexedBlock { block_length, displacements, element } => {
            DerivedDatatype::hindexed_block(*block_length, displacements, of(element)?)?
        }
        Constructor::Struct { block_lengths, displacements, elements } => {
            let elements = elements.iter().map(of).collect::<Outcome<Vec<_>>>()?;
            DerivedDatatype::structure(block_lengths, displacements, &elements)?
        }
        Constructor::Resized { lower_bound, extent, element } => {
            DerivedDatatype::resized(*lower_bound, *extent, of(element)?)?
        }
        other => return array(other, &of),
    })
}

/// [`layout`] of the constructors of arrays.
fn array(
    constructor: &Constructor,
    of: &dyn Fn(&DerivedDatatype) -> Outcome<DerivedDatatype>,
) -> Outcome<DerivedDatatype> {
    Ok(match constructor {
        Constructor::Subarray { sizes, subsizes, starts, order, element } => {
            DerivedDatatype::subarray(sizes, subsizes, starts, *order, of(element)?)?
        }
        Constructor::Darray { size, rank, sizes, distributions, grid, order, element } => {
            DerivedDatatype::darray(*size, *rank, sizes, distributions, grid, *order, of(element)?)?
        }
        other => {
            let why = format!("no layout in a file is known for {other:?}");
            return Err(Failure::new(MPI_ERR_INTERN, why));
        }
    })
}
