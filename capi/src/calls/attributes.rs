//! Attributes of communicators, windows and datatypes (MPI-4.1 §7.7, §15.1 for the deprecated names). Each
//! function stands for one of C for each kind of object.

use crate::abi::MPI_KEYVAL_INVALID;
use crate::arguments::{Address, Function, Ptr};
use crate::attribute::{self, Bearer};
use crate::failure::Outcome;
use crate::handle::Handle;
use std::ffi::c_int;

/// `MPI_Comm_create_keyval` and its like
pub fn create_keyval<T: Bearer>(
    copy_attr_fn: Function,
    delete_attr_fn: Function,
    keyval: Ptr<c_int>,
    extra_state: Address,
) -> Outcome {
    keyval.set(attribute::create::<T>(copy_attr_fn, delete_attr_fn, extra_state))
}

/// `MPI_Comm_free_keyval` and its like: frees the key, and resets the program's variable.
pub fn free_keyval<T: Bearer>(keyval: Ptr<c_int>) -> Outcome {
    attribute::free::<T>(keyval.get()?)?;
    keyval.set(MPI_KEYVAL_INVALID)
}

/// `MPI_Comm_set_attr` and its like
pub fn set_attr<T: Bearer>(object: Handle<T>, keyval: c_int, attribute_val: Address) -> Outcome {
    attribute::set(object, keyval, attribute_val)
}

/// `MPI_Comm_get_attr` and its like: the value, if there is one, and whether there is.
pub fn get_attr<T: Bearer>(
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

/// `MPI_Comm_delete_attr` and its like
pub fn delete_attr<T: Bearer>(object: Handle<T>, keyval: c_int) -> Outcome {
    attribute::delete(object, keyval)
}
