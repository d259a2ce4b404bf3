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

#[cfg(test)]
mod tests {
    use super::*;
    use onesided::{Distribution, Order};

    fn basic(name: &str) -> DerivedDatatype {
        BASICS.iter().find(|basic| basic.name == name).unwrap().derived()
    }

    /// The pieces of an instance in "external32", and its extent.
    fn of(datatype: onesided::Result<DerivedDatatype>) -> (Vec<(i64, u64)>, i64) {
        let file = layout(&datatype.unwrap(), &|basic| Ok(basic.external())).unwrap();
        (file.commit().pieces(1).collect(), file.extent())
    }

    #[test]
    fn counts_are_of_elements_of_the_file_and_displacements_of_bytes() {
        type D = DerivedDatatype;
        // 4 and 12 bytes there.
        let (long, pair) = (&basic("MPI_LONG"), &basic("MPI_DOUBLE_INT"));
        let array = |order| D::subarray(&[2, 2], &[2, 1], &[0, 1], order, long);
        let two = |second, extent| (vec![(0, 4), (second, 4)], extent);
        assert_eq!(of(D::contiguous(3, long)), (vec![(0, 12)], 12));
        assert_eq!(of(D::contiguous(2, pair)), (vec![(0, 24)], 24));
        assert_eq!(of(D::vector(2, 1, 2, long)), two(8, 12));
        assert_eq!(of(D::hvector(2, 1, 16, long)), two(16, 20));
        assert_eq!(of(D::indexed(&[1, 1], &[0, 2], long)), two(8, 12));
        assert_eq!(of(D::hindexed(&[1, 1], &[0, 16], long)), two(16, 20));
        assert_eq!(of(D::indexed_block(1, &[0, 2], long)), two(8, 12));
        assert_eq!(of(D::hindexed_block(1, &[0, 16], long)), two(16, 20));
        let both = [long.clone(), pair.clone()];
        assert_eq!(of(D::structure(&[1, 1], &[0, 8], &both)), (vec![(0, 4), (8, 12)], 20));
        assert_eq!(of(D::resized(0, 10, long)), (vec![(0, 4)], 10));
        assert_eq!(of(long.dup()), (vec![(0, 4)], 4));
        assert_eq!(of(array(Order::C)), (vec![(4, 4), (12, 4)], 16));
        assert_eq!(of(array(Order::Fortran)), (vec![(8, 8)], 16));
        let dealt = [Distribution::Cyclic(None)];
        let dealt = D::darray(2, 1, &[4], &dealt, &[2], Order::C, long);
        assert_eq!(of(dealt), (vec![(4, 4), (12, 4)], 16));
    }
}
