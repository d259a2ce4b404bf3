//! Datatypes: inquiries, commit, duplicate and free (MPI-4.1 §5.1).

use super::communicators::name;
use crate::abi::*;
use crate::arguments::{Number, Ptr, Text, TextBuffer};
use crate::attribute;
use crate::datatype::Made;
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use std::ffi::c_int;

/// `MPI_Type_commit`
pub fn type_commit(datatype: Ptr<MPI_Datatype>) -> Outcome {
    datatype.get()?.get()?.commit();
    Ok(())
}

/// `MPI_Type_free`
pub fn type_free(datatype: Ptr<MPI_Datatype>) -> Outcome {
    let handle = datatype.get()?;
    if handle.get()?.lasts() {
        return Err(Failure::new(MPI_ERR_TYPE, "a predefined datatype cannot be freed"));
    }
    attribute::delete_all_of(handle)?;
    handle.remove()?;
    datatype.set(Handle::NULL)
}

/// `MPI_Type_size`, `MPI_Type_size_x`
pub fn type_size<C: Number>(datatype: MPI_Datatype, size: Ptr<C>) -> Outcome {
    let bytes = i64::try_from(datatype.get()?.sequence().size).ok().and_then(C::narrow);
    size.set(bytes.map_or_else(|| super::narrow(MPI_UNDEFINED.into()), Ok)?)
}

/// `MPI_Type_get_extent`, `MPI_Type_get_extent_x`
pub fn type_get_extent<C: Number>(datatype: MPI_Datatype, lb: Ptr<C>, extent: Ptr<C>) -> Outcome {
    let derived = datatype.get()?.derived();
    lb.set(super::narrow(derived.lower_bound())?)?;
    extent.set(super::narrow(derived.extent())?)
}

/// `MPI_Type_get_true_extent`, `MPI_Type_get_true_extent_x`
pub fn type_get_true_extent<C: Number>(
    datatype: MPI_Datatype,
    true_lb: Ptr<C>,
    true_extent: Ptr<C>,
) -> Outcome {
    let derived = datatype.get()?.derived();
    true_lb.set(super::narrow(derived.true_lower_bound())?)?;
    true_extent.set(super::narrow(derived.true_extent())?)
}

/// `MPI_Type_get_name`
pub fn type_get_name(
    datatype: MPI_Datatype,
    type_name: TextBuffer,
    resultlen: Ptr<c_int>,
) -> Outcome {
    let name = match datatype == MPI_Datatype::NULL {
        true => "MPI_DATATYPE_NULL".into(),
        false => datatype.get()?.name(),
    };
    resultlen.set(type_name.write(&name, MPI_MAX_OBJECT_NAME as usize)?)
}

/// `MPI_Type_set_name`
pub fn type_set_name(datatype: MPI_Datatype, type_name: Text) -> Outcome {
    datatype.get()?.set_name(name(type_name)?);
    Ok(())
}

/// A datatype without large counts; only for these do the calls without `_c` succeed (MPI-4.1 §5.1.13).
fn small(datatype: MPI_Datatype) -> Outcome<&'static Made> {
    let made = datatype.get()?.made();
    if !made.large_counts.is_empty() {
        let why = "the datatype was made with large counts, which only the call with _c tells";
        return Err(Failure::new(MPI_ERR_TYPE, why));
    }
    Ok(made)
}

/// `MPI_Type_get_envelope`
pub fn type_get_envelope(
    datatype: MPI_Datatype,
    num_integers: Ptr<c_int>,
    num_addresses: Ptr<c_int>,
    num_datatypes: Ptr<c_int>,
    combiner: Ptr<c_int>,
) -> Outcome {
    let made = small(datatype)?;
    num_integers.set(super::narrow(made.integers.len() as i64)?)?;
    num_addresses.set(super::narrow(made.addresses.len() as i64)?)?;
    num_datatypes.set(super::narrow(made.datatypes.len() as i64)?)?;
    combiner.set(made.combiner)
}

/// `MPI_Type_get_envelope_c`
pub fn type_get_envelope_c(
    datatype: MPI_Datatype,
    num_integers: Ptr<Count>,
    num_addresses: Ptr<Count>,
    num_large_counts: Ptr<Count>,
    num_datatypes: Ptr<Count>,
    combiner: Ptr<c_int>,
) -> Outcome {
    let made = datatype.get()?.made();
    num_integers.set(made.integers.len() as Count)?;
    num_addresses.set(made.addresses.len() as Count)?;
    num_large_counts.set(made.large_counts.len() as Count)?;
    num_datatypes.set(made.datatypes.len() as Count)?;
    combiner.set(made.combiner)
}

/// The program's array for one list of arguments.
struct Capacity<T> {
    what: &'static str,
    most: i64,
    place: Ptr<T>,
}

impl<T: Copy> Capacity<T> {
    fn new<C: Number>(what: &'static str, most: C, place: Ptr<T>) -> Capacity<T> {
        Capacity { what, most: most.wide(), place }
    }

    /// Refuses an array that is too short, or null.
    fn check(&self, needed: usize) -> Outcome {
        let Capacity { what, most, .. } = self;
        if i64::try_from(needed).is_ok_and(|needed| needed <= *most) {
            return self.place.given_for(needed);
        }
        let why = format!("there is room for {most} {what}, and the datatype has {needed}");
        Err(Failure::new(MPI_ERR_ARG, why))
    }
}

/// Writes the contents of a datatype, all or nothing.
fn set_contents(
    made: &Made,
    integers: &Capacity<c_int>,
    addresses: &Capacity<Aint>,
    large_counts: Option<&Capacity<Count>>,
    datatypes: &Capacity<MPI_Datatype>,
) -> Outcome {
    if made.combiner == MPI_COMBINER_NAMED {
        let why = "a predefined datatype has no contents";
        return Err(Failure::new(MPI_ERR_TYPE, why));
    }
    integers.check(made.integers.len())?;
    addresses.check(made.addresses.len())?;
    datatypes.check(made.datatypes.len())?;
    if let Some(large_counts) = large_counts {
        large_counts.check(made.large_counts.len())?;
        large_counts.place.set_all(made.large_counts.iter().copied())?;
    }
    integers.place.set_all(made.integers.iter().copied())?;
    addresses.place.set_all(made.addresses.iter().copied())?;
    datatypes.place.set_all(made.datatypes.iter().map(|part| part.handle()))
}

/// `MPI_Type_get_contents`
pub fn type_get_contents(
    datatype: MPI_Datatype,
    max_integers: c_int,
    max_addresses: c_int,
    max_datatypes: c_int,
    array_of_integers: Ptr<c_int>,
    array_of_addresses: Ptr<Aint>,
    array_of_datatypes: Ptr<MPI_Datatype>,
) -> Outcome {
    set_contents(
        small(datatype)?,
        &Capacity::new("integers", max_integers, array_of_integers),
        &Capacity::new("addresses", max_addresses, array_of_addresses),
        None,
        &Capacity::new("datatypes", max_datatypes, array_of_datatypes),
    )
}

/// `MPI_Type_get_contents_c`
pub fn type_get_contents_c(
    datatype: MPI_Datatype,
    max_integers: Count,
    max_addresses: Count,
    max_large_counts: Count,
    max_datatypes: Count,
    array_of_integers: Ptr<c_int>,
    array_of_addresses: Ptr<Aint>,
    array_of_large_counts: Ptr<Count>,
    array_of_datatypes: Ptr<MPI_Datatype>,
) -> Outcome {
    set_contents(
        datatype.get()?.made(),
        &Capacity::new("integers", max_integers, array_of_integers),
        &Capacity::new("addresses", max_addresses, array_of_addresses),
        Some(&Capacity::new("large counts", max_large_counts, array_of_large_counts)),
        &Capacity::new("datatypes", max_datatypes, array_of_datatypes),
    )
}

/// The predefined datatype of a class and size.
fn of_size(typeclass: c_int, size: i64) -> Option<usize> {
    Some(match (typeclass, size) {
        (MPI_TYPECLASS_INTEGER, 1) => MPI_INTEGER1,
        (MPI_TYPECLASS_INTEGER, 2) => MPI_INTEGER2,
        (MPI_TYPECLASS_INTEGER, 4) => MPI_INTEGER4,
        (MPI_TYPECLASS_INTEGER, 8) => MPI_INTEGER8,
        (MPI_TYPECLASS_INTEGER, 16) => MPI_INTEGER16,
        (MPI_TYPECLASS_REAL, 2) => MPI_REAL2,
        (MPI_TYPECLASS_REAL, 4) => MPI_REAL4,
        (MPI_TYPECLASS_REAL, 8) => MPI_REAL8,
        (MPI_TYPECLASS_REAL, 16) => MPI_REAL16,
        (MPI_TYPECLASS_COMPLEX, 4) => MPI_COMPLEX4,
        (MPI_TYPECLASS_COMPLEX, 8) => MPI_COMPLEX8,
        (MPI_TYPECLASS_COMPLEX, 16) => MPI_COMPLEX16,
        (MPI_TYPECLASS_COMPLEX, 32) => MPI_COMPLEX32,
        _ => return None,
    })
}

/// `MPI_Type_match_size`
pub fn type_match_size(typeclass: c_int, size: c_int, datatype: Ptr<MPI_Datatype>) -> Outcome {
    match of_size(typeclass, size.into()) {
        Some(value) => datatype.set(Handle::predefined(value)),
        None => {
            let why = format!("no predefined datatype of class {typeclass} has {size} bytes");
            Err(Failure::new(MPI_ERR_ARG, why))
        }
    }
}

/// `MPI_Type_get_value_index`: the null handle if no such pair is predefined.
pub fn type_get_value_index(
    value_type: MPI_Datatype,
    index_type: MPI_Datatype,
    pair_type: Ptr<MPI_Datatype>,
) -> Outcome {
    value_type.get()?;
    index_type.get()?;
    let pair = match (value_type.value(), index_type.value()) {
        (MPI_FLOAT, MPI_INT) => MPI_FLOAT_INT,
        (MPI_DOUBLE, MPI_INT) => MPI_DOUBLE_INT,
        (MPI_LONG, MPI_INT) => MPI_LONG_INT,
        (MPI_INT, MPI_INT) => MPI_2INT,
        (MPI_SHORT, MPI_INT) => MPI_SHORT_INT,
        (MPI_LONG_DOUBLE, MPI_INT) => MPI_LONG_DOUBLE_INT,
        (MPI_REAL, MPI_REAL) => MPI_2REAL,
        (MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION) => MPI_2DOUBLE_PRECISION,
        (MPI_INTEGER, MPI_INTEGER) => MPI_2INTEGER,
        _ => MPI_DATATYPE_NULL,
    };
    pair_type.set(Handle::predefined(pair))
}

/// `MPI_Type_dup`
pub fn type_dup(oldtype: MPI_Datatype, newtype: Ptr<MPI_Datatype>) -> Outcome {
    let made = Made::new(MPI_COMBINER_DUP).datatype(oldtype)?;
    let new = oldtype.get()?.duplicate(made, attribute::copy_of(oldtype)?)?;
    newtype.set(Handle::new(new))
}
