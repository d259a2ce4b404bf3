//! The constructors of datatypes (MPI-4.1 §5.1.2 to §5.1.7, §19.1.5).

use super::operations::elements;
use crate::abi::*;
use crate::arguments::{ConstPtr, Number, Ptr};
use crate::datatype::{Datatype, Made, Sequence, parameterised};
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use onesided::{DerivedDatatype, Distribution, Order};
use std::ffi::c_int;

/// An argument that is not negative.
fn not_negative<C: Number>(what: &str, value: C) -> Outcome<usize> {
    usize::try_from(value.wide())
        .map_err(|_| Failure::new(MPI_ERR_ARG, format!("the {what} {value} is negative")))
}

/// An array of such arguments.
fn all_not_negative<C: Number>(what: &str, values: &[C]) -> Outcome<Vec<usize>> {
    values.iter().map(|value| not_negative(what, *value)).collect()
}

fn wide<C: Number>(values: &[C]) -> Vec<i64> {
    values.iter().map(|value| value.wide()).collect()
}

/// Returns to the program a datatype whose elements are those of `oldtype`, repeated.
fn give(
    newtype: Ptr<MPI_Datatype>,
    derived: onesided::Result<DerivedDatatype>,
    oldtype: &Datatype,
    times: u64,
    made: Made,
) -> Outcome {
    let sequence = oldtype.sequence().repeated(times);
    newtype.set(Handle::new(Datatype::new(derived?, sequence, made)))
}

/// The sum of lengths. It does not overflow, because the library has accepted the datatype.
fn total(lengths: &[usize]) -> u64 {
    lengths.iter().fold(0, |sum: u64, length| sum.saturating_add(*length as u64))
}

/// `MPI_Type_contiguous`
pub fn type_contiguous<C: Number>(
    count: C,
    oldtype: MPI_Datatype,
    newtype: Ptr<MPI_Datatype>,
) -> Outcome {
    let (n, old) = (elements(count)?, oldtype.get()?);
    let made = Made::new(MPI_COMBINER_CONTIGUOUS).number(count).datatype(oldtype)?;
    give(newtype, DerivedDatatype::contiguous(n, old.derived()), old, n as u64, made)
}

/// `MPI_Type_vector`
pub fn type_vector<C: Number>(
    count: C,
    blocklength: C,
    stride: C,
    oldtype: MPI_Datatype,
    newtype: Ptr<MPI_Datatype>,
) -> Outcome {
    let (n, length) = (elements(count)?, not_negative("block length", blocklength)?);
    let old = oldtype.get()?;
    let made = Made::new(MPI_COMBINER_VECTOR).numbers(&[count, blocklength, stride]);
    let derived = DerivedDatatype::vector(n, length, stride.wide(), old.derived());
    let times = (n as u64).saturating_mul(length as u64);
    give(newtype, derived, old, times, made.datatype(oldtype)?)
}

/// `MPI_Type_create_hvector`
pub fn type_create_hvector<C: Number, D: Number>(
    count: C,
    blocklength: C,
    stride: D,
    oldtype: MPI_Datatype,
    newtype: Ptr<MPI_Datatype>,
) -> Outcome {
    let (n, length) = (elements(count)?, not_negative("block length", blocklength)?);
    let old = oldtype.get()?;
    let made = Made::new(MPI_COMBINER_HVECTOR).numbers(&[count, blocklength]).number(stride);
    let derived = DerivedDatatype::hvector(n, length, stride.wide(), old.derived());
    let times = (n as u64).saturating_mul(length as u64);
    give(newtype, derived, old, times, made.datatype(oldtype)?)
}

/// Lengths and displacements of as many blocks.
fn blocks<C: Number, D: Number>(
    count: C,
    lengths: ConstPtr<C>,
    displacements: ConstPtr<D>,
) -> Outcome<(Vec<C>, Vec<D>)> {
    let n = elements(count)?;
    Ok((lengths.list(n)?, displacements.list(n)?))
}

/// `MPI_Type_indexed`
pub fn type_indexed<C: Number>(
    count: C,
    array_of_blocklengths: ConstPtr<C>,
    array_of_displacements: ConstPtr<C>,
    oldtype: MPI_Datatype,
    newtype: Ptr<MPI_Datatype>,
) -> Outcome {
    let (lengths, at) = blocks(count, array_of_blocklengths, array_of_displacements)?;
    let (each, old) = (all_not_negative("block length", &lengths)?, oldtype.get()?);
    let made = Made::new(MPI_COMBINER_INDEXED).number(count).numbers(&lengths).numbers(&at);
    let derived = DerivedDatatype::indexed(&each, &wide(&at), old.derived());
    give(newtype, derived, old, total(&each), made.datatype(oldtype)?)
}

/// `MPI_Type_create_hindexed`
pub fn type_create_hindexed<C: Number, D: Number>(
    count: C,
    array_of_blocklengths: ConstPtr<C>,
    array_of_displacements: ConstPtr<D>,
    oldtype: MPI_Datatype,
    newtype: Ptr<MPI_Datatype>,
) -> Outcome {
    let (lengths, at) = blocks(count, array_of_blocklengths, array_of_displacements)?;
    let (each, old) = (all_not_negative("block length", &lengths)?, oldtype.get()?);
    let made = Made::new(MPI_COMBINER_HINDEXED).number(count).numbers(&lengths).numbers(&at);
    let derived = DerivedDatatype::hindexed(&each, &wide(&at), old.derived());
    give(newtype, derived, old, total(&each), made.datatype(oldtype)?)
}

/// `MPI_Type_create_indexed_block`
pub fn type_create_indexed_block<C: Number>(
    count: C,
    blocklength: C,
    array_of_displacements: ConstPtr<C>,
    oldtype: MPI_Datatype,
    newtype: Ptr<MPI_Datatype>,
) -> Outcome {
    let at = array_of_displacements.list(elements(count)?)?;
    let (length, old) = (not_negative("block length", blocklength)?, oldtype.get()?);
    let made = Made::new(MPI_COMBINER_INDEXED_BLOCK).numbers(&[count, blocklength]).numbers(&at);
    let derived = DerivedDatatype::indexed_block(length, &wide(&at), old.derived());
    let times = (at.len() as u64).saturating_mul(length as u64);
    give(newtype, derived, old, times, made.datatype(oldtype)?)
}

/// `MPI_Type_create_hindexed_block`
pub fn type_create_hindexed_block<C: Number, D: Number>(
    count: C,
    blocklength: C,
    array_of_displacements: ConstPtr<D>,
    oldtype: MPI_Datatype,
    newtype: Ptr<MPI_Datatype>,
) -> Outcome {
    let at = array_of_displacements.list(elements(count)?)?;
    let (length, old) = (not_negative("block length", blocklength)?, oldtype.get()?);
    let made = Made::new(MPI_COMBINER_HINDEXED_BLOCK).numbers(&[count, blocklength]).numbers(&at);
    let derived = DerivedDatatype::hindexed_block(length, &wide(&at), old.derived());
    let times = (at.len() as u64).saturating_mul(length as u64);
    give(newtype, derived, old, times, made.datatype(oldtype)?)
}

/// `MPI_Type_create_struct`
pub fn type_create_struct<C: Number, D: Number>(
    count: C,
    array_of_blocklengths: ConstPtr<C>,
    array_of_displacements: ConstPtr<D>,
    array_of_types: ConstPtr<MPI_Datatype>,
    newtype: Ptr<MPI_Datatype>,
) -> Outcome {
    let (lengths, at) = blocks(count, array_of_blocklengths, array_of_displacements)?;
    let handles = array_of_types.list(lengths.len())?;
    let each = all_not_negative("block length", &lengths)?;
    let made = Made::new(MPI_COMBINER_STRUCT).number(count).numbers(&lengths).numbers(&at);
    let made = made.datatypes(&handles)?;
    let members: Outcome<Vec<&Datatype>> = handles.iter().map(|handle| handle.get()).collect();
    let members = members?;
    let derived: Vec<_> = members.iter().map(|member| member.derived().clone()).collect();
    let derived = DerivedDatatype::structure(&each, &wide(&at), &derived)?;
    let sequences = members
        .iter()
        .zip(&each)
        .map(|(member, length)| member.sequence().repeated(*length as u64));
    let sequence = Sequence::joined(sequences.collect());
    newtype.set(Handle::new(Datatype::new(derived, sequence, made)))
}

/// `MPI_ORDER_C` or `MPI_ORDER_FORTRAN`
fn order_of(order: c_int) -> Outcome<Order> {
    match order {
        MPI_ORDER_C => Ok(Order::C),
        MPI_ORDER_FORTRAN => Ok(Order::Fortran),
        _ => {
            let why = format!("{order} is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN");
            Err(Failure::new(MPI_ERR_ARG, why))
        }
    }
}

/// `MPI_Type_create_subarray`
pub fn type_create_subarray<C: Number>(
    ndims: c_int,
    array_of_sizes: ConstPtr<C>,
    array_of_subsizes: ConstPtr<C>,
    array_of_starts: ConstPtr<C>,
    order: c_int,
    oldtype: MPI_Datatype,
    newtype: Ptr<MPI_Datatype>,
) -> Outcome {
    let (n, old) = (not_negative("number of dimensions", ndims)?, oldtype.get()?);
    let (sizes, subsizes) = (array_of_sizes.list(n)?, array_of_subsizes.list(n)?);
    let starts = array_of_starts.list(n)?;
    let made = Made::new(MPI_COMBINER_SUBARRAY).integer(ndims).numbers(&sizes);
    let made = made.numbers(&subsizes).numbers(&starts).integer(order);
    let block = all_not_negative("size of the block", &subsizes)?;
    let derived = DerivedDatatype::subarray(
        &all_not_negative("size of the array", &sizes)?,
        &block,
        &all_not_negative("start", &starts)?,
        order_of(order)?,
        old.derived(),
    );
    let times = block.iter().fold(1, |all: u64, size| all.saturating_mul(*size as u64));
    give(newtype, derived, old, times, made.datatype(oldtype)?)
}

/// The distribution of one dimension.
fn distribution(distribution: c_int, argument: c_int) -> Outcome<Distribution> {
    let block = match argument {
        MPI_DISTRIBUTE_DFLT_DARG => None,
        _ => Some(not_negative("argument of a distribution", argument)?),
    };
    Ok(match distribution {
        MPI_DISTRIBUTE_NONE => Distribution::None,
        MPI_DISTRIBUTE_BLOCK => Distribution::Block(block),
        MPI_DISTRIBUTE_CYCLIC => Distribution::Cyclic(block),
        _ => {
            let why = format!("{distribution} is no distribution");
            return Err(Failure::new(MPI_ERR_ARG, why));
        }
    })
}

/// `MPI_Type_create_darray`
pub fn type_create_darray<C: Number>(
    size: c_int,
    rank: c_int,
    ndims: c_int,
    array_of_gsizes: ConstPtr<C>,
    array_of_distribs: ConstPtr<c_int>,
    array_of_dargs: ConstPtr<c_int>,
    array_of_psizes: ConstPtr<c_int>,
    order: c_int,
    oldtype: MPI_Datatype,
    newtype: Ptr<MPI_Datatype>,
) -> Outcome {
    let (n, old) = (not_negative("number of dimensions", ndims)?, oldtype.get()?);
    let (sizes, distribs) = (array_of_gsizes.list(n)?, array_of_distribs.list(n)?);
    let (dargs, psizes) = (array_of_dargs.list(n)?, array_of_psizes.list(n)?);
    let made = Made::new(MPI_COMBINER_DARRAY).integers(&[size, rank, ndims]).numbers(&sizes);
    let made = made.integers(&distribs).integers(&dargs).integers(&psizes).integer(order);
    let dealt = distribs.iter().zip(&dargs).map(|(how, argument)| distribution(*how, *argument));
    let derived = DerivedDatatype::darray(
        not_negative("number of processes", size)?,
        not_negative("rank", rank)?,
        &all_not_negative("size of the array", &sizes)?,
        &dealt.collect::<Outcome<Vec<_>>>()?,
        &all_not_negative("size of the grid", &psizes)?,
        order_of(order)?,
        old.derived(),
    )?;
    let times = derived.size().checked_div(old.sequence().size).unwrap_or(0);
    give(newtype, Ok(derived), old, times, made.datatype(oldtype)?)
}

/// `MPI_Type_create_resized`
pub fn type_create_resized<C: Number>(
    oldtype: MPI_Datatype,
    lb: C,
    extent: C,
    newtype: Ptr<MPI_Datatype>,
) -> Outcome {
    let old = oldtype.get()?;
    let made = Made::new(MPI_COMBINER_RESIZED).numbers(&[lb, extent]).datatype(oldtype)?;
    let derived = DerivedDatatype::resized(lb.wide(), extent.wide(), old.derived());
    give(newtype, derived, old, 1, made)
}

/// The first of some kinds of numbers with enough digits and a large enough exponent; `MPI_UNDEFINED`
/// requires nothing.
fn real(p: c_int, r: c_int, kinds: [usize; 3]) -> Outcome<usize> {
    const DIGITS: [(c_int, c_int); 3] = [(6, 37), (15, 307), (33, 4931)];
    let nothing = p == MPI_UNDEFINED && r == MPI_UNDEFINED;
    let (digits, range) = (p.max(0), r.max(0));
    let enough = |(most, widest): &(c_int, c_int)| digits <= *most && range <= *widest;
    match DIGITS.iter().position(enough).filter(|_| !nothing) {
        Some(k) => Ok(kinds[k]),
        None => {
            let why = format!("no number has {p} decimal digits and a decimal exponent of {r}");
            Err(Failure::new(MPI_ERR_ARG, why))
        }
    }
}

/// `MPI_Type_create_f90_real`
pub fn type_create_f90_real(p: c_int, r: c_int, newtype: Ptr<MPI_Datatype>) -> Outcome {
    let like = real(p, r, [MPI_REAL4, MPI_REAL8, MPI_REAL16])?;
    newtype.set(parameterised(MPI_COMBINER_F90_REAL, &[p, r], like)?)
}

/// `MPI_Type_create_f90_complex`
pub fn type_create_f90_complex(p: c_int, r: c_int, newtype: Ptr<MPI_Datatype>) -> Outcome {
    let like = real(p, r, [MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32])?;
    newtype.set(parameterised(MPI_COMBINER_F90_COMPLEX, &[p, r], like)?)
}

/// `MPI_Type_create_f90_integer`
pub fn type_create_f90_integer(r: c_int, newtype: Ptr<MPI_Datatype>) -> Outcome {
    let like = match r {
        ..=2 => MPI_INTEGER1,
        3..=4 => MPI_INTEGER2,
        5..=9 => MPI_INTEGER4,
        10..=18 => MPI_INTEGER8,
        19..=38 => MPI_INTEGER16,
        _ => {
            let why = format!("no integer has a decimal range of {r} digits");
            return Err(Failure::new(MPI_ERR_ARG, why));
        }
    };
    newtype.set(parameterised(MPI_COMBINER_F90_INTEGER, &[r], like)?)
}
