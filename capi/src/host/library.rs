//! The functions of the other MPI that this library calls itself, by the prototypes of the ABI. An address that one of
//! them gets is that of a value, or of as many values as the call names, and the function uses it during the call.
#![allow(unsafe_code, reason = "finds functions by their names")]

use super::raised;
use crate::abi::*;
use crate::arguments::Address;
use crate::failure::{Failure, Outcome};
use crate::process::real;
use crate::text;
use onesided::Info;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

/// The outcome of a function, which has raised the error.
pub fn checked(code: c_int) -> Outcome {
    if code == MPI_SUCCESS { Ok(()) } else { Err(raised(code)) }
}

/// The place of several values.
fn all<T>(values: &mut [T]) -> Address {
    Address::of(values.as_mut_ptr())
}

/// `MPI_Comm_group`
pub fn comm_group(comm: usize) -> Outcome<usize> {
    let mut group = MPI_GROUP_NULL;
    checked(real!(c"PMPI_Comm_group", fn(usize, &mut usize) -> c_int)(comm, &mut group))?;
    Ok(group)
}

/// `MPI_Group_free`
pub fn free_group(mut group: usize) -> Outcome {
    checked(real!(c"PMPI_Group_free", fn(&mut usize) -> c_int)(&mut group))
}

/// `MPI_Comm_test_inter`
pub fn is_between_groups(comm: usize) -> Outcome<bool> {
    let mut flag = 0;
    checked(real!(c"PMPI_Comm_test_inter", fn(usize, &mut c_int) -> c_int)(comm, &mut flag))?;
    Ok(flag != 0)
}

/// Whether this rank is the first of a communicator.
pub fn is_first(comm: usize) -> bool {
    let mut rank = -1;
    let code = real!(c"PMPI_Comm_rank", fn(usize, &mut c_int) -> c_int)(comm, &mut rank);
    (code, rank) == (MPI_SUCCESS, 0)
}

/// The ranks of `group` as ranks of `of`, if all are there.
pub fn ranks_in(group: usize, of: usize) -> Outcome<Option<Vec<u32>>> {
    let mut size = 0;
    checked(real!(c"PMPI_Group_size", fn(usize, &mut c_int) -> c_int)(group, &mut size))?;
    let mut from: Vec<c_int> = (0..size).collect();
    let mut to = from.clone();
    let name = c"PMPI_Group_translate_ranks";
    let translate = real!(name, fn(usize, c_int, Address, usize, Address) -> c_int);
    checked(translate(group, size, all(&mut from), of, all(&mut to)))?;
    Ok(to.into_iter().map(|rank| u32::try_from(rank).ok()).collect())
}

/// The key of an attribute of the other MPI's objects.
pub type Keyval = c_int;
/// Called when an object with the attribute is freed: with its handle, the key, the value, and the key's state.
pub type Forget = extern "C" fn(usize, c_int, usize, usize) -> c_int;

/// `MPI_Comm_create_keyval`, of an attribute that no duplicate inherits.
pub fn comm_keyval(forget: Forget) -> Outcome<Keyval> {
    let mut key = MPI_KEYVAL_INVALID;
    let name = c"PMPI_Comm_create_keyval";
    let create = real!(name, fn(usize, Forget, &mut c_int, usize) -> c_int);
    checked(create(MPI_COMM_NULL_COPY_FN, forget, &mut key, 0))?;
    Ok(key)
}

/// `MPI_Type_create_keyval`, of the same.
pub fn type_keyval(forget: Forget) -> Outcome<Keyval> {
    let mut key = MPI_KEYVAL_INVALID;
    let name = c"PMPI_Type_create_keyval";
    let create = real!(name, fn(usize, Forget, &mut c_int, usize) -> c_int);
    checked(create(MPI_TYPE_NULL_COPY_FN, forget, &mut key, 0))?;
    Ok(key)
}

/// `MPI_Comm_get_attr`
pub fn comm_attribute(comm: usize, key: Keyval) -> Outcome<Option<usize>> {
    let (mut value, mut flag) = (0, 0);
    let name = c"PMPI_Comm_get_attr";
    let get = real!(name, fn(usize, c_int, &mut usize, &mut c_int) -> c_int);
    checked(get(comm, key, &mut value, &mut flag))?;
    Ok((flag != 0).then_some(value))
}

/// `MPI_Comm_set_attr`
pub fn set_comm_attribute(comm: usize, key: Keyval, value: usize) -> Outcome {
    checked(real!(c"PMPI_Comm_set_attr", fn(usize, c_int, usize) -> c_int)(comm, key, value))
}

/// `MPI_Type_set_attr`
pub fn set_type_attribute(datatype: usize, key: Keyval, value: usize) -> Outcome {
    checked(real!(c"PMPI_Type_set_attr", fn(usize, c_int, usize) -> c_int)(datatype, key, value))
}

/// A number for a communicator, by its first rank, which counts. Collective.
pub fn number_of_first(comm: usize) -> Outcome<u32> {
    static COUNTED: Mutex<u32> = Mutex::new(0);
    let mut number = {
        let mut counted = COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
        *counted = counted.wrapping_add(1);
        *counted
    };
    let broadcast = real!(c"PMPI_Bcast", fn(&mut u32, c_int, usize, c_int, usize) -> c_int);
    checked(broadcast(&mut number, 1, MPI_UINT32_T, 0, comm))?;
    Ok(number)
}

/// `MPI_Win_create_dynamic`: a window without memory. Collective.
pub fn create_window(info: usize, comm: usize) -> Outcome<usize> {
    let mut win = MPI_WIN_NULL;
    let create = real!(c"PMPI_Win_create_dynamic", fn(usize, usize, &mut usize) -> c_int);
    checked(create(info, comm, &mut win))?;
    Ok(win)
}

/// `MPI_Win_free`. Collective.
pub fn free_window(mut win: usize) -> Outcome {
    checked(real!(c"PMPI_Win_free", fn(&mut usize) -> c_int)(&mut win))
}

/// What an info has.
pub fn pairs(info: usize) -> Outcome<Vec<(String, String)>> {
    if info == MPI_INFO_NULL {
        return Ok(Vec::new());
    }
    let mut many = 0;
    checked(real!(c"PMPI_Info_get_nkeys", fn(usize, &mut c_int) -> c_int)(info, &mut many))?;
    (0..many).map(|k| pair(info, k)).collect()
}

fn pair(info: usize, k: c_int) -> Outcome<(String, String)> {
    let mut key = vec![0u8; MPI_MAX_INFO_KEY as usize + 1];
    let nth = real!(c"PMPI_Info_get_nthkey", fn(usize, c_int, Address) -> c_int);
    checked(nth(info, k, all(&mut key)))?;
    let mut value = vec![0u8; MPI_MAX_INFO_VAL as usize + 1];
    let (mut space, mut flag) = (value.len() as c_int, 0);
    let name = c"PMPI_Info_get_string";
    let get = real!(name, fn(usize, Address, &mut c_int, Address, &mut c_int) -> c_int);
    checked(get(info, all(&mut key), &mut space, all(&mut value), &mut flag))?;
    Ok((shown(key), shown(value)))
}

/// `MPI_Info_create`, with these pairs.
pub fn new_info(pairs: &Info) -> Outcome<usize> {
    let mut info = MPI_INFO_NULL;
    checked(real!(c"PMPI_Info_create", fn(&mut usize) -> c_int)(&mut info))?;
    let set = real!(c"PMPI_Info_set", fn(usize, Address, Address) -> c_int);
    for (key, value) in pairs.iter() {
        let [mut key, mut value] = [key, value].map(ended);
        checked(set(info, all(&mut key), all(&mut value)))?;
    }
    Ok(info)
}

/// A text with a zero byte at its end.
fn ended(text: &str) -> Vec<u8> {
    let mut bytes = text::bytes_of(text);
    bytes.push(0);
    bytes
}

/// A text that ends with a zero byte.
fn shown(mut bytes: Vec<u8>) -> String {
    bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    text::of_bytes(&bytes)
}

/// A request that is complete: a send to no rank.
pub fn complete_request() -> Outcome<usize> {
    let mut request = MPI_REQUEST_NULL;
    let name = c"PMPI_Isend";
    let send = real!(name, fn(usize, c_int, usize, c_int, c_int, usize, &mut usize) -> c_int);
    checked(send(0, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &mut request))?;
    Ok(request)
}

/// The kinds of objects on which errors are raised.
#[derive(Clone, Copy)]
pub enum Of {
    Window,
    Communicator,
}

/// The other MPI's code for an error class, whose text becomes that sentence. There is one for each class.
pub fn error_code(class: c_int, sentence: &str) -> c_int {
    static CODES: Mutex<BTreeMap<c_int, c_int>> = Mutex::new(BTreeMap::new());
    let mut codes = CODES.lock().unwrap_or_else(PoisonError::into_inner);
    let code = *codes.entry(class).or_insert_with(|| {
        let (add, mut code) = (real!(c"PMPI_Add_error_code", fn(c_int, &mut c_int) -> c_int), 0);
        if add(class, &mut code) == MPI_SUCCESS { code } else { class }
    });
    if code != class {
        let mut text = text::bytes_of(sentence);
        text.truncate(MPI_MAX_ERROR_STRING as usize - 1);
        text.push(0);
        // The class has a text without it.
        let _ = real!(c"PMPI_Add_error_string", fn(c_int, Address) -> c_int)(code, all(&mut text));
    }
    code
}

/// `MPI_Win_call_errhandler`, or that of communicators.
pub fn raise(of: Of, object: usize, code: c_int) {
    match of {
        Of::Window => real!(c"PMPI_Win_call_errhandler", fn(usize, c_int) -> c_int)(object, code),
        Of::Communicator => {
            real!(c"PMPI_Comm_call_errhandler", fn(usize, c_int) -> c_int)(object, code)
        }
    };
}

/// How a datatype was made: its constructor, and the arguments.
#[derive(Default)]
pub struct Contents {
    pub combiner: c_int,
    pub integers: Vec<c_int>,
    pub addresses: Vec<Aint>,
    pub large_counts: Vec<Count>,
    /// Each is to be freed, unless it is predefined.
    pub datatypes: Vec<usize>,
}

/// `MPI_Type_get_envelope_c` and `MPI_Type_get_contents_c`
pub fn contents(datatype: usize) -> Outcome<Contents> {
    type Many<'a> = &'a mut Count;
    let (mut many, mut combiner) = ([0; 4], 0);
    let [integers, addresses, large, datatypes] = &mut many;
    let name = c"PMPI_Type_get_envelope_c";
    let envelope = real!(name, fn(usize, Many, Many, Many, Many, &mut c_int) -> c_int);
    checked(envelope(datatype, integers, addresses, large, datatypes, &mut combiner))?;
    let [integers, addresses, large, datatypes] = many;
    let mut contents = Contents {
        combiner,
        integers: vec![0; integers as usize],
        addresses: vec![0; addresses as usize],
        large_counts: vec![0; large as usize],
        datatypes: vec![MPI_DATATYPE_NULL; datatypes as usize],
    };
    if combiner == MPI_COMBINER_NAMED {
        return Ok(contents);
    }
    let name = c"PMPI_Type_get_contents_c";
    type To = Address;
    let get = real!(name, fn(usize, Count, Count, Count, Count, To, To, To, To) -> c_int);
    let given = &mut contents;
    let to = [all(&mut given.integers), all(&mut given.addresses), all(&mut given.large_counts)];
    let parts = all(&mut given.datatypes);
    checked(get(datatype, integers, addresses, large, datatypes, to[0], to[1], to[2], parts))?;
    Ok(contents)
}

/// `MPI_Type_free`
pub fn free_type(mut datatype: usize) -> Outcome {
    checked(real!(c"PMPI_Type_free", fn(&mut usize) -> c_int)(&mut datatype))
}
