//! The numbers of the MPI 5.0 standard ABI that the engine uses; `tests/launcher/another_mpi.rs` compares them
//! with the whole table, `capi/abi/constants.txt`.

use crate::datatype::Datatype;
use crate::op::Op;
use std::ffi::c_int;

/// `MPI_Status`, of which the first number is the source.
pub(super) type ForeignStatus = [c_int; 8];

/// In C an opaque pointer. Here a number, because it crosses threads and is never dereferenced.
pub(super) type Handle = usize;

pub(super) const SUCCESS: c_int = 0;
pub(super) const THREAD_SERIALIZED: c_int = 2048;
pub(super) const THREAD_MULTIPLE: c_int = 4096;
pub(super) const COMM_NULL: Handle = 0x100;
pub(super) const COMM_WORLD: Handle = 0x101;
pub(super) const COMM_SELF: Handle = 0x102;
pub(super) const GROUP_NULL: Handle = 0x108;
pub(super) const WIN_NULL: Handle = 0x110;
pub(super) const MESSAGE_NULL: Handle = 0x128;
pub(super) const INFO_NULL: Handle = 0x130;
pub(super) const ERRORS_RETURN: Handle = 0x143;
pub(super) const REQUEST_NULL: Handle = 0x180;
pub(super) const BYTE: Handle = 0x247;
pub(super) const UINT64_T: Handle = 0x259;
pub(super) const NO_OP: Handle = 0x3d;
pub(super) const OP_NULL: Handle = 0x20;
pub(super) const COMM_TYPE_SHARED: c_int = 221;
pub(super) const ANY_SOURCE: c_int = -1;
pub(super) const ANY_TAG: c_int = -2;
pub(super) const UNDEFINED: c_int = -32766;
pub(super) const MODE_NOCHECK: c_int = 1024;
pub(super) const WIN_MODEL: c_int = 605;
pub(super) const WIN_UNIFIED: c_int = 321;
pub(super) const MAX_ERROR_STRING: usize = 512;
pub(super) const MAX_LIBRARY_VERSION_STRING: usize = 8192;

pub(super) fn datatype(datatype: Datatype) -> Handle {
    match datatype {
        Datatype::I8 => 0x240,
        Datatype::I16 => 0x248,
        Datatype::I32 => 0x250,
        Datatype::I64 => 0x258,
        Datatype::U8 => 0x241,
        Datatype::U16 => 0x249,
        Datatype::U32 => 0x251,
        Datatype::U64 => UINT64_T,
        Datatype::F32 => 0x210,
        Datatype::F64 => 0x214,
        Datatype::C32 => 0x212,
        Datatype::C64 => 0x216,
        Datatype::FloatInt => 0x228,
        Datatype::DoubleInt => 0x229,
        Datatype::LongInt => 0x22a,
        Datatype::TwoInt => 0x22b,
        Datatype::ShortInt => 0x22c,
        Datatype::LongDouble => 0x220,
        Datatype::LongDoubleComplex => 0x224,
        Datatype::LongDoubleInt => 0x22d,
        Datatype::I128 => 0x2e1,
    }
}

pub(super) fn op(op: Op) -> Handle {
    match op {
        Op::Sum => 0x21,
        Op::Min => 0x22,
        Op::Max => 0x23,
        Op::Prod => 0x24,
        Op::Band => 0x28,
        Op::Bor => 0x29,
        Op::Bxor => 0x2a,
        Op::Land => 0x30,
        Op::Lor => 0x31,
        Op::Lxor => 0x32,
        Op::Minloc => 0x38,
        Op::Maxloc => 0x39,
        Op::Replace => 0x3c,
        Op::NoOp => NO_OP,
    }
}
