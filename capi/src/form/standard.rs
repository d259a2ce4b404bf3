//! The form of the standard ABI: handles are pointers of C, and predefined ones are small numbers.
#![allow(non_camel_case_types, reason = "the standard's names")]

use crate::abi::{MPI_DATATYPE_NULL, MPI_OP_NULL};
use std::ffi::c_int;

/// The name of the ABI.
pub const NAME: &str = "MPI 5.0 standard ABI";

/// The type in C of handles of an object.
pub trait Width {
    type Word: crate::handle::Word;
}

impl<T> Width for T {
    type Word = usize;
}

// A handle that is not predefined: the index of its slot and FIRST, the number of uses, the kind.
pub const FIRST: usize = 0x400;
pub const PLACE_BITS: u32 = 32;
pub const USES_BITS: u32 = 24;
pub const MARK: usize = 0;
/// A slot whose word has reached this number is not reused. A handle has no more bits for it, and would
/// equal that of an object freed long ago.
pub const MOST_USES: u32 = 1 << 24;
/// Whether a handle is an `int` already.
pub const IS_INT: bool = false;

/// The largest number that may be the address of a buffer.
pub const LAST_ADDRESS: usize = usize::MAX;

/// The place of a predefined datatype in a table of 256; larger for other numbers.
#[inline(always)]
pub const fn datatype_place(value: usize) -> usize {
    value.wrapping_sub(MPI_DATATYPE_NULL)
}

/// The place of a predefined operation in a table of 30; larger for other numbers.
#[inline(always)]
pub const fn op_place(value: usize) -> usize {
    value.wrapping_sub(MPI_OP_NULL)
}

/// `MPI_Status`: three members for the program, the others for the library.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MPI_Status {
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
    /// Bytes received, in two halves; whether it was cancelled; two that are not used.
    pub internal: [c_int; 5],
}

const _: () = assert!(size_of::<MPI_Status>() == 32);

impl MPI_Status {
    /// Bytes received, including an incomplete element.
    pub fn bytes(&self) -> u64 {
        let [low, high, ..] = self.internal;
        u64::from(low as u32) | u64::from(high as u32) << 32
    }

    pub fn with_bytes(self, bytes: u64) -> MPI_Status {
        let [_, _, cancelled, a, b] = self.internal;
        let internal = [bytes as c_int, (bytes >> 32) as c_int, cancelled, a, b];
        MPI_Status { internal, ..self }
    }

    pub fn is_cancelled(&self) -> bool {
        self.internal[2] != 0
    }

    pub fn with_cancelled(mut self, cancelled: bool) -> MPI_Status {
        self.internal[2] = cancelled.into();
        self
    }
}
