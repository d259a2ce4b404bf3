//! The functions of `MPI_Op_create`.
#![allow(unsafe_code, reason = "calls a function of the C program")]

use crate::abi::*;
use crate::arguments::{Address, Function};
use crate::entry::calling_back;
use std::ffi::c_int;

/// A function of the program that combines two buffers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UserFunction {
    function: Function,
    /// Whether its length is an `MPI_Count`.
    large: bool,
}

impl UserFunction {
    pub fn new(function: Function, large: bool) -> UserFunction {
        UserFunction { function, large }
    }

    /// Replaces the instances at `inout` by the function of them and those at `input`.
    pub fn call(self, input: Address, inout: Address, count: usize, datatype: MPI_Datatype) {
        if self.large {
            return self.call_as::<Count>(input, inout, count as Count, datatype);
        }
        // At most what an `int` can count.
        const MOST: usize = c_int::MAX as usize;
        let extent = datatype.get().map_or(0, |datatype| datatype.derived().extent());
        let mut done = 0;
        while done < count {
            let part = (count - done).min(MOST);
            let offset = (done as i64).wrapping_mul(extent) as isize;
            let (input, inout) = (input.offset(offset), inout.offset(offset));
            self.call_as::<c_int>(input, inout, part as c_int, datatype);
            done += part;
        }
    }

    /// Calls it as an `MPI_User_function` or an `MPI_User_function_c`.
    fn call_as<C>(self, input: Address, inout: Address, mut count: C, mut datatype: MPI_Datatype) {
        type Called<C> = extern "C" fn(Address, Address, *mut C, *mut MPI_Datatype);
        // SAFETY: the C program gave the function as one of this type (MPI-4.1 §6.9.5), by one of two calls
        // for the two types, and it lives as long as the program.
        let function: Called<C> = unsafe { std::mem::transmute(self.function.address()) };
        calling_back(|| function(input, inout, &mut count, &mut datatype));
    }
}
