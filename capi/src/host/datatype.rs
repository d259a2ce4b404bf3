//! Datatypes that the program has made in the other MPI: made again here, by the same constructors, when a window of this
//! library first needs them, and forgotten when the program frees them.

use super::DATATYPES;
use super::library::{self, Contents, Keyval};
use crate::abi::*;
use crate::arguments::{Address, ConstPtr, Ptr};
use crate::calls;
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

/// The key of the datatypes that are known here.
pub fn keep() -> Outcome<Keyval> {
    extern "C" fn forget(theirs: usize, _: c_int, ours: usize, _: usize) -> c_int {
        DATATYPES.remove(theirs);
        let _ = MPI_Datatype::predefined(ours).remove();
        MPI_SUCCESS
    }
    library::type_keyval(forget)
}

/// The datatype of this library, which has `key` in the other MPI until it is freed there.
pub fn translate(theirs: usize, key: Keyval) -> Outcome<MPI_Datatype> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one_at_a_time = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = DATATYPES.find(theirs) {
        return Ok(MPI_Datatype::predefined(known));
    }
    let ours = made(theirs)?;
    ours.get()?.commit();
    library::set_type_attribute(theirs, key, ours.value())?;
    DATATYPES.insert(theirs, ours.value());
    Ok(ours)
}

/// Makes it again; a handle of its own, or that of a predefined datatype.
fn made(theirs: usize) -> Outcome<MPI_Datatype> {
    let contents = library::contents(theirs)?;
    if contents.combiner == MPI_COMBINER_NAMED {
        return Ok(MPI_Datatype::predefined(theirs));
    }
    let parts: Outcome<Vec<MPI_Datatype>> =
        contents.datatypes.iter().map(|part| made(*part)).collect();
    let ours = parts.and_then(|parts| {
        let ours = made_of(&contents, &parts);
        parts.into_iter().for_each(forget);
        ours
    });
    for part in contents.datatypes {
        if library::contents(part)?.combiner != MPI_COMBINER_NAMED {
            library::free_type(part)?;
        }
    }
    ours
}

/// Frees a part, of which the whole has a copy.
fn forget(part: MPI_Datatype) {
    if !part.is_predefined() {
        let _ = part.remove();
    }
}

/// An array of an argument.
fn array<T>(values: &[T]) -> ConstPtr<T>
where
    T: Copy,
{
    Address::of(values.as_ptr()).place().read_only()
}

/// By the constructor and its arguments, `parts` among them.
fn made_of(contents: &Contents, parts: &[MPI_Datatype]) -> Outcome<MPI_Datatype> {
    let Contents { combiner, integers, addresses, large_counts, .. } = contents;
    let mut made = MPI_Datatype::NULL;
    let to: Ptr<MPI_Datatype> = Address::of(&raw mut made).place();
    // The numbers in the order of the constructor, whichever of its forms was called.
    let numbers = integers.iter().map(|n| Count::from(*n));
    let numbers = numbers.chain(addresses.iter().map(|n| *n as Count));
    let numbers: Vec<Count> = numbers.chain(large_counts.iter().copied()).collect();
    let number = |k: usize| numbers.get(k).copied().unwrap_or_default();
    let many = number(0).max(0) as usize;
    let behind = |k: usize| array(numbers.get(k..).unwrap_or_default());
    let part = parts.first().copied().unwrap_or_default();
    match *combiner {
        MPI_COMBINER_DUP => calls::type_contiguous(1 as Count, part, to),
        MPI_COMBINER_CONTIGUOUS => calls::type_contiguous(number(0), part, to),
        MPI_COMBINER_VECTOR => calls::type_vector(number(0), number(1), number(2), part, to),
        MPI_COMBINER_HVECTOR => {
            calls::type_create_hvector(number(0), number(1), number(2), part, to)
        }
        MPI_COMBINER_INDEXED => {
            calls::type_indexed(number(0), behind(1), behind(1 + many), part, to)
        }
        MPI_COMBINER_HINDEXED => {
            calls::type_create_hindexed(number(0), behind(1), behind(1 + many), part, to)
        }
        MPI_COMBINER_INDEXED_BLOCK => {
            calls::type_create_indexed_block(number(0), number(1), behind(2), part, to)
        }
        MPI_COMBINER_HINDEXED_BLOCK => {
            calls::type_create_hindexed_block(number(0), number(1), behind(2), part, to)
        }
        MPI_COMBINER_STRUCT => {
            let (lengths, at) = (behind(1), behind(1 + many));
            calls::type_create_struct(number(0), lengths, at, array(parts), to)
        }
        MPI_COMBINER_RESIZED => calls::type_create_resized(part, number(0), number(1), to),
        MPI_COMBINER_SUBARRAY | MPI_COMBINER_DARRAY => array_of(contents, part, to),
        MPI_COMBINER_F90_REAL => calls::type_create_f90_real(integers[0], integers[1], to),
        MPI_COMBINER_F90_COMPLEX => calls::type_create_f90_complex(integers[0], integers[1], to),
        MPI_COMBINER_F90_INTEGER => calls::type_create_f90_integer(integers[0], to),
        other => {
            let why = format!("a datatype by the constructor with the number {other} is not known");
            Err(Failure::new(MPI_ERR_TYPE, why))
        }
    }?;
    Ok(made)
}

/// A part of an array of several dimensions. The form with large counts has its sizes apart.
fn array_of(contents: &Contents, part: MPI_Datatype, to: Ptr<MPI_Datatype>) -> Outcome {
    let Contents { combiner, integers, large_counts, .. } = contents;
    let is_dealt = *combiner == MPI_COMBINER_DARRAY;
    let head = if is_dealt { 3 } else { 1 };
    let too_few = || Failure::new(MPI_ERR_TYPE, "a datatype of an array lacks arguments");
    let (order, integers) = integers.split_last().ok_or_else(too_few)?;
    let (first, rest) = integers.split_at_checked(head).ok_or_else(too_few)?;
    let dims = first[head - 1];
    let n = dims.max(0) as usize;
    let sized = if is_dealt { n } else { 3 * n };
    let (sizes, rest) = match large_counts.is_empty() {
        true => {
            let (sizes, rest) = rest.split_at_checked(sized).ok_or_else(too_few)?;
            (sizes.iter().map(|size| Count::from(*size)).collect(), rest)
        }
        false => (large_counts.clone(), rest),
    };
    if sizes.len() < sized || is_dealt && rest.len() < 3 * n {
        return Err(too_few());
    }
    if !is_dealt {
        let [sizes, subsizes, starts] = [0, n, 2 * n].map(|k| array(&sizes[k..]));
        return calls::type_create_subarray(dims, sizes, subsizes, starts, *order, part, to);
    }
    let [distribs, dargs, psizes] = [0, n, 2 * n].map(|k| array(&rest[k..]));
    let (size, rank, sizes) = (first[0], first[1], array(&sizes));
    calls::type_create_darray(size, rank, dims, sizes, distribs, dargs, psizes, *order, part, to)
}
