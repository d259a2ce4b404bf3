//! The form of MPICH's ABI: handles are numbers of 32 bits, of which bit 31 marks those that are not
//! predefined. Only files and objects of the tool interface have pointers.
#![allow(non_camel_case_types, reason = "the standard's names")]

use crate::abi::PREDEFINED;
use std::ffi::c_int;

/// The name of the ABI.
pub const NAME: &str = "MPICH's ABI (libmpi.so.12)";

/// The type in C of handles of an object.
pub trait Width {
    type Word: crate::handle::Word;
}

/// Types with handles of that width.
macro_rules! width {
    ($word:ty: $($object:ty),*) => {
        $(impl Width for $object {
            type Word = $word;
        })*
    };
}

width!(u32: crate::comm::Communicator, crate::window::Window, onesided::Group, crate::datatype::Datatype);
width!(u32: crate::info::InfoObject, crate::op::Operation, crate::handler::Handler);
width!(u32: crate::session::Session, crate::message::MessageObject, crate::request::Request);
width!(usize: crate::file::File, crate::tool::Nothing, crate::tool::Session);
width!(usize: crate::tool::ReadHandle, crate::tool::ControlHandle);

// A handle that is not predefined: the index of its slot and FIRST, the number of uses, the kind with MARK.
pub const FIRST: usize = 0;
pub const PLACE_BITS: u32 = 21;
pub const USES_BITS: u32 = 6;
pub const MARK: usize = 16;
/// A slot whose word has reached this number is not reused. A handle has fewer bits of the word, so it can
/// equal that of an object freed 32 uses ago.
pub const MOST_USES: u32 = u32::MAX - 1;
/// Whether a handle is an `int` already.
pub const IS_INT: bool = true;

/// The largest number that may be the address of a buffer: `MPI_IN_PLACE` is -1.
pub const LAST_ADDRESS: usize = usize::MAX - 4096;

/// The place of a predefined datatype in a table of 256; larger for other numbers. A number of a basic one
/// ends with its place, after its size; those of pairs are counted.
#[inline(always)]
pub fn datatype_place(value: usize) -> usize {
    let place = (value & 0xff) | if value >> 31 == 0 { 0 } else { PAIRS };
    if DATATYPES[place] as usize == value { place } else { usize::MAX }
}

/// The first place of pairs.
const PAIRS: usize = 0xf0;

/// The numbers of the datatypes by their places.
static DATATYPES: [u32; 256] = {
    let mut values = [0; 256];
    let mut k = 0;
    while k < PREDEFINED.len() {
        let (kind, value, _) = PREDEFINED[k];
        if matches!(kind.as_bytes(), b"MPI_Datatype") {
            let place = (value & 0xff) | if value >> 31 == 0 { 0 } else { PAIRS };
            values[place] = value as u32;
        }
        k += 1;
    }
    values
};

/// The place of a predefined operation in a table of 30; larger for other numbers.
#[inline(always)]
pub const fn op_place(value: usize) -> usize {
    value.wrapping_sub(0x5800_0000)
}

/// `MPI_Status`: two members for the library, three for the program.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MPI_Status {
    /// Bytes received: the lower half; the upper one, above a bit for whether it was cancelled.
    pub internal: [c_int; 2],
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
}

const _: () = assert!(size_of::<MPI_Status>() == 20);

impl MPI_Status {
    /// Bytes received, including an incomplete element.
    pub fn bytes(&self) -> u64 {
        let [low, high] = self.internal;
        u64::from(low as u32) | u64::from(high as u32 >> 1) << 32
    }

    pub fn with_bytes(self, bytes: u64) -> MPI_Status {
        let high = (bytes >> 32 << 1) as c_int | c_int::from(self.is_cancelled());
        MPI_Status { internal: [bytes as c_int, high], ..self }
    }

    pub fn is_cancelled(&self) -> bool {
        self.internal[1] & 1 != 0
    }

    pub fn with_cancelled(mut self, cancelled: bool) -> MPI_Status {
        self.internal[1] = self.internal[1] & !1 | c_int::from(cancelled);
        self
    }
}
