//! The program's functions for a data representation (MPI-4.1 §14.5.3).
#![allow(unsafe_code, reason = "calls functions of the C program")]

use crate::abi::*;
use crate::arguments::{Address, Function};
use crate::entry::calling_back;
use crate::failure::{Failure, Outcome};
use std::ffi::c_int;

type Extent = extern "C" fn(MPI_Datatype, *mut Aint, Address) -> c_int;
/// With a count as `int`, or as `MPI_Count`.
type Convert<C> = extern "C" fn(Address, MPI_Datatype, C, Address, Count, Address) -> c_int;

/// `MPI_Datarep_extent_function`
pub struct ExtentFunction(Extent);

impl ExtentFunction {
    /// That of an argument; none for a null pointer.
    pub fn of(function: Function) -> Option<ExtentFunction> {
        match function.address() {
            0 => None,
            address => {
                // SAFETY: the C program gives it as a function of this type, by the parameter's type, and it lives
                // as long as the program.
                let function = unsafe { std::mem::transmute::<usize, Extent>(address) };
                Some(ExtentFunction(function))
            }
        }
    }

    /// The bytes of a predefined datatype in a file.
    pub fn call(&self, datatype: MPI_Datatype, extra_state: Address) -> Outcome<u64> {
        let mut extent = 0;
        let code = calling_back(|| (self.0)(datatype, &mut extent, extra_state));
        match u64::try_from(extent) {
            Ok(extent) if code == MPI_SUCCESS => Ok(extent),
            Ok(_) => Err(failed("extent function", code)),
            Err(_) => {
                let why = format!("the extent function gives {extent} bytes for a datatype");
                Err(Failure::new(MPI_ERR_CONVERSION, why))
            }
        }
    }
}

/// `MPI_Datarep_conversion_function`
pub struct ConversionFunction {
    address: usize,
    /// Whether its count is an `MPI_Count`.
    large: bool,
}

impl ConversionFunction {
    /// That of an argument; none for `MPI_CONVERSION_FN_NULL`.
    pub fn of(function: Function, large: bool) -> Option<ConversionFunction> {
        let address = function.address();
        (address != MPI_CONVERSION_FN_NULL).then_some(ConversionFunction { address, large })
    }

    /// Converts `count` predefined datatypes between the program's buffer and those side by side in `file`.
    pub fn call(
        &self,
        user: Address,
        datatype: MPI_Datatype,
        count: u64,
        file: &mut [u8],
        extra_state: Address,
    ) -> Outcome {
        let file = Address::of(file.as_ptr());
        let code = if self.large {
            // SAFETY: the C program has given it to the call whose parameter has this type, and it lives as long as
            // the program.
            let function = unsafe { std::mem::transmute::<usize, Convert<Count>>(self.address) };
            calling_back(|| function(user, datatype, count as Count, file, 0, extra_state))
        } else {
            let Ok(count) = c_int::try_from(count) else {
                let why = format!("{count} elements are more than an int counts");
                return Err(Failure::new(MPI_ERR_COUNT, why));
            };
            // SAFETY: as above.
            let function = unsafe { std::mem::transmute::<usize, Convert<c_int>>(self.address) };
            calling_back(|| function(user, datatype, count, file, 0, extra_state))
        };
        if code == MPI_SUCCESS { Ok(()) } else { Err(failed("conversion function", code)) }
    }
}

fn failed(what: &str, code: c_int) -> Failure {
    Failure::new(MPI_ERR_CONVERSION, format!("the {what} of the program returned {code}"))
}
