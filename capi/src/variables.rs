//! Variables that programs by MPICH's ABI read, where the standard ABI has constants, and the function that they
//! pass for copies of attributes.
#![allow(unsafe_code, non_upper_case_globals, non_snake_case, reason = "exports C's names")]

use crate::abi::*;
use crate::arguments::{Address, Ptr};
use std::ffi::c_int;

#[unsafe(no_mangle)]
pub static MPI_UNWEIGHTED: usize = crate::abi::MPI_UNWEIGHTED;
#[unsafe(no_mangle)]
pub static MPI_WEIGHTS_EMPTY: usize = crate::abi::MPI_WEIGHTS_EMPTY;
#[unsafe(no_mangle)]
pub static MPI_T_PVAR_ALL_HANDLES: usize = crate::abi::MPI_T_PVAR_ALL_HANDLES;
#[unsafe(no_mangle)]
pub static MPI_F_STATUS_IGNORE: usize = MPI_STATUS_IGNORE;
#[unsafe(no_mangle)]
pub static MPI_F_STATUSES_IGNORE: usize = MPI_STATUSES_IGNORE;
#[unsafe(no_mangle)]
pub static MPI_F08_STATUS_IGNORE: usize = MPI_STATUS_IGNORE;
#[unsafe(no_mangle)]
pub static MPI_F08_STATUSES_IGNORE: usize = MPI_STATUSES_IGNORE;

/// `MPI_DUP_FN`
#[unsafe(no_mangle)]
pub extern "C" fn MPIR_Dup_fn(
    _object: c_int,
    _keyval: c_int,
    _extra_state: Address,
    value: Address,
    copied: Ptr<Address>,
    flag: Ptr<c_int>,
) -> c_int {
    match copied.set(value).and_then(|()| flag.set(1)) {
        Ok(()) => MPI_SUCCESS,
        Err(failure) => failure.code,
    }
}
