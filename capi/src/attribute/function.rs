//! The program's functions for an attribute's key (MPI-4.1 §7.7.2 to §7.7.4). Those of communicators,
//! windows and datatypes differ only in their first parameter, a handle.
#![allow(unsafe_code, reason = "calls functions of the C program")]

use crate::abi::*;
use crate::arguments::{Address, Function};
use crate::entry::calling_back;
use std::ffi::c_int;

/// `MPI_X_copy_attr_function`
#[derive(Clone, Copy)]
pub enum CopyFunction {
    /// `MPI_X_DUP_FN`
    Dup,
    User(Copy),
}

type Copy =
    extern "C" fn(usize, c_int, Address, Address, attribute_out: *mut Address, *mut c_int) -> c_int;
type Delete = extern "C" fn(usize, c_int, Address, Address) -> c_int;

/// `MPI_X_delete_attr_function`
#[derive(Clone, Copy)]
pub struct DeleteFunction(Delete);

impl CopyFunction {
    /// That of an argument; none for `MPI_X_NULL_COPY_FN`.
    pub fn of(function: Function) -> Option<CopyFunction> {
        match function.address() {
            MPI_NULL_COPY_FN => None,
            MPI_DUP_FN => Some(CopyFunction::Dup),
            address => {
                // SAFETY: the C program gives it as a function of this type, by the parameter's type, and it
                // lives as long as the program.
                let function = unsafe { std::mem::transmute::<usize, Copy>(address) };
                Some(CopyFunction::User(function))
            }
        }
    }

    /// Calls it; returns its code, and the copy's value, if any.
    pub fn call(
        self,
        object: usize,
        keyval: c_int,
        extra_state: Address,
        value: Address,
    ) -> (c_int, Option<Address>) {
        match self {
            CopyFunction::Dup => (MPI_SUCCESS, Some(value)),
            CopyFunction::User(function) => {
                let (mut copied, mut flag) = (Address::NULL, 0);
                let code = calling_back(|| {
                    function(object, keyval, extra_state, value, &mut copied, &mut flag)
                });
                (code, (flag != 0).then_some(copied))
            }
        }
    }
}

impl DeleteFunction {
    /// That of an argument; none for `MPI_X_NULL_DELETE_FN`.
    pub fn of(function: Function) -> Option<DeleteFunction> {
        match function.address() {
            MPI_NULL_DELETE_FN => None,
            address => {
                // SAFETY: as in `CopyFunction::of`.
                let function = unsafe { std::mem::transmute::<usize, Delete>(address) };
                Some(DeleteFunction(function))
            }
        }
    }

    /// What it returns.
    pub fn call(self, object: usize, keyval: c_int, value: Address, extra_state: Address) -> c_int {
        calling_back(|| (self.0)(object, keyval, value, extra_state))
    }
}
