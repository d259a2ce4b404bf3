//! Attributes of communicators, windows and datatypes (MPI-4.1 §7.7, §15.1 for the deprecated names).

use crate::abi::*;
use crate::arguments::{Address, Function, Ptr};
use crate::attribute::{self, Bearer};
use crate::failure::Outcome;
use crate::handle::Handle;
use std::ffi::c_int;

/// Writes an attribute's value, if there is one, and whether there is.
fn answer<T: Bearer>(
    object: Handle<T>,
    keyval: c_int,
    attribute_val: Address,
    flag: Ptr<c_int>,
) -> Outcome {
    let value = attribute::get(object, keyval)?;
    if let Some(value) = value {
        attribute_val.place().set(value)?;
    }
    flag.set(value.is_some().into())
}

/// Frees a key, and the program's variable of it with it.
fn free_keyval<T: Bearer>(keyval: Ptr<c_int>) -> Outcome {
    attribute::free::<T>(keyval.get()?)?;
    keyval.set(MPI_KEYVAL_INVALID)
}

/// `MPI_Comm_create_keyval`
pub fn comm_create_keyval(
    comm_copy_attr_fn: Function,
    comm_delete_attr_fn: Function,
    comm_keyval: Ptr<c_int>,
    extra_state: Address,
) -> Outcome {
    use crate::comm::Communicator as T;
    comm_keyval.set(attribute::create::<T>(comm_copy_attr_fn, comm_delete_attr_fn, extra_state))
}

/// `MPI_Comm_free_keyval`
pub fn comm_free_keyval(comm_keyval: Ptr<c_int>) -> Outcome {
    free_keyval::<crate::comm::Communicator>(comm_keyval)
}

/// `MPI_Comm_set_attr`
pub fn comm_set_attr(comm: MPI_Comm, comm_keyval: c_int, attribute_val: Address) -> Outcome {
    attribute::set(comm, comm_keyval, attribute_val)
}

/// `MPI_Comm_get_attr`
pub fn comm_get_attr(
    comm: MPI_Comm,
    comm_keyval: c_int,
    attribute_val: Address,
    flag: Ptr<c_int>,
) -> Outcome {
    answer(comm, comm_keyval, attribute_val, flag)
}

/// `MPI_Comm_delete_attr`
pub fn comm_delete_attr(comm: MPI_Comm, comm_keyval: c_int) -> Outcome {
    attribute::delete(comm, comm_keyval)
}

/// `MPI_Win_create_keyval`
pub fn win_create_keyval(
    win_copy_attr_fn: Function,
    win_delete_attr_fn: Function,
    win_keyval: Ptr<c_int>,
    extra_state: Address,
) -> Outcome {
    use crate::window::Window as T;
    win_keyval.set(attribute::create::<T>(win_copy_attr_fn, win_delete_attr_fn, extra_state))
}

/// `MPI_Win_free_keyval`
pub fn win_free_keyval(win_keyval: Ptr<c_int>) -> Outcome {
    free_keyval::<crate::window::Window>(win_keyval)
}

/// `MPI_Win_set_attr`
pub fn win_set_attr(win: MPI_Win, win_keyval: c_int, attribute_val: Address) -> Outcome {
    attribute::set(win, win_keyval, attribute_val)
}

/// `MPI_Win_get_attr`
pub fn win_get_attr(
    win: MPI_Win,
    win_keyval: c_int,
    attribute_val: Address,
    flag: Ptr<c_int>,
) -> Outcome {
    answer(win, win_keyval, attribute_val, flag)
}

/// `MPI_Win_delete_attr`
pub fn win_delete_attr(win: MPI_Win, win_keyval: c_int) -> Outcome {
    attribute::delete(win, win_keyval)
}

/// `MPI_Type_create_keyval`
pub fn type_create_keyval(
    type_copy_attr_fn: Function,
    type_delete_attr_fn: Function,
    type_keyval: Ptr<c_int>,
    extra_state: Address,
) -> Outcome {
    use crate::datatype::Datatype as T;
    type_keyval.set(attribute::create::<T>(type_copy_attr_fn, type_delete_attr_fn, extra_state))
}

/// `MPI_Type_free_keyval`
pub fn type_free_keyval(type_keyval: Ptr<c_int>) -> Outcome {
    free_keyval::<crate::datatype::Datatype>(type_keyval)
}

/// `MPI_Type_set_attr`
pub fn type_set_attr(
    datatype: MPI_Datatype,
    type_keyval: c_int,
    attribute_val: Address,
) -> Outcome {
    attribute::set(datatype, type_keyval, attribute_val)
}

/// `MPI_Type_get_attr`
pub fn type_get_attr(
    datatype: MPI_Datatype,
    type_keyval: c_int,
    attribute_val: Address,
    flag: Ptr<c_int>,
) -> Outcome {
    answer(datatype, type_keyval, attribute_val, flag)
}

/// `MPI_Type_delete_attr`
pub fn type_delete_attr(datatype: MPI_Datatype, type_keyval: c_int) -> Outcome {
    attribute::delete(datatype, type_keyval)
}

/// `MPI_Keyval_create`, deprecated
pub fn keyval_create(
    copy_fn: Function,
    delete_fn: Function,
    keyval: Ptr<c_int>,
    extra_state: Address,
) -> Outcome {
    comm_create_keyval(copy_fn, delete_fn, keyval, extra_state)
}

/// `MPI_Keyval_free`, deprecated
pub fn keyval_free(keyval: Ptr<c_int>) -> Outcome {
    comm_free_keyval(keyval)
}

/// `MPI_Attr_put`, deprecated
pub fn attr_put(comm: MPI_Comm, keyval: c_int, attribute_val: Address) -> Outcome {
    comm_set_attr(comm, keyval, attribute_val)
}

/// `MPI_Attr_get`, deprecated
pub fn attr_get(
    comm: MPI_Comm,
    keyval: c_int,
    attribute_val: Address,
    flag: Ptr<c_int>,
) -> Outcome {
    comm_get_attr(comm, keyval, attribute_val, flag)
}

/// `MPI_Attr_delete`, deprecated
pub fn attr_delete(comm: MPI_Comm, keyval: c_int) -> Outcome {
    comm_delete_attr(comm, keyval)
}
