//! Sends: standard, synchronous, ready and buffered; nonblocking and persistent (MPI-4.1 §3.4, §3.7 and
//! §3.9). Each function stands for four of C, which differ in the mode, and their large-count
//! forms.

use super::messages::{begin_send, persistent};
use crate::abi::*;
use crate::arguments::{Address, Number, Ptr};
use crate::failure::Outcome;
use onesided::engine::SendMode;
use std::ffi::c_int;

/// `MPI_Isend`, `MPI_Issend`, `MPI_Irsend`, `MPI_Ibsend`
pub fn isend<C: Number>(
    mode: SendMode,
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Ptr<MPI_Request>,
) -> Outcome {
    begin_send(mode, (buf, count, datatype), (dest, tag, comm), request)
}

/// `MPI_Send_init`, `MPI_Ssend_init`, `MPI_Rsend_init`, `MPI_Bsend_init`
pub fn send_init<C: Number>(
    mode: SendMode,
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Ptr<MPI_Request>,
) -> Outcome {
    persistent(mode, (buf, count, datatype), (dest, tag, comm), request)
}
