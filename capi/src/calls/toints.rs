//! Handles as integers (MPI-5.0 §20.4), for Fortran and other languages. Each function stands for one of
//! C for each kind of handle.

use crate::handle::{Handle, Object};
use std::ffi::c_int;

/// `MPI_Comm_toint` and its like
pub fn to_int<T: Object>(handle: Handle<T>) -> c_int {
    handle.to_int()
}

/// `MPI_Comm_fromint` and its like
pub fn from_int<T: Object>(value: c_int) -> Handle<T> {
    Handle::from_int(value)
}
