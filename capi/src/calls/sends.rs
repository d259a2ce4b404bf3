//! Sends: standard, synchronous, ready and buffered; blocking, nonblocking and persistent (MPI-4.1 §3.4,
//! §3.7 and §3.9).

use super::messages::{begun, persistent, send_as};
use crate::abi::*;
use crate::arguments::{Address, Number, Ptr};
use crate::failure::Outcome;
use crate::request::Work;
use onesided::engine::SendMode;
use std::ffi::c_int;

/// `MPI_Send`
pub fn send<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> Outcome {
    send_as(SendMode::Standard, (buf, count, datatype), (dest, tag, comm))?.wait()?;
    Ok(())
}

/// `MPI_Isend`
pub fn isend<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Ptr<MPI_Request>,
) -> Outcome {
    let send = send_as(SendMode::Standard, (buf, count, datatype), (dest, tag, comm))?;
    begun(comm, Work::Send(send), request)
}

/// `MPI_Send_init`
pub fn send_init<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Ptr<MPI_Request>,
) -> Outcome {
    persistent(SendMode::Standard, (buf, count, datatype), (dest, tag, comm), request)
}

/// `MPI_Ssend`
pub fn ssend<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> Outcome {
    send_as(SendMode::Synchronous, (buf, count, datatype), (dest, tag, comm))?.wait()?;
    Ok(())
}

/// `MPI_Issend`
pub fn issend<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Ptr<MPI_Request>,
) -> Outcome {
    let send = send_as(SendMode::Synchronous, (buf, count, datatype), (dest, tag, comm))?;
    begun(comm, Work::Send(send), request)
}

/// `MPI_Ssend_init`
pub fn ssend_init<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Ptr<MPI_Request>,
) -> Outcome {
    persistent(SendMode::Synchronous, (buf, count, datatype), (dest, tag, comm), request)
}

/// `MPI_Rsend`
pub fn rsend<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> Outcome {
    send_as(SendMode::Ready, (buf, count, datatype), (dest, tag, comm))?.wait()?;
    Ok(())
}

/// `MPI_Irsend`
pub fn irsend<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Ptr<MPI_Request>,
) -> Outcome {
    let send = send_as(SendMode::Ready, (buf, count, datatype), (dest, tag, comm))?;
    begun(comm, Work::Send(send), request)
}

/// `MPI_Rsend_init`
pub fn rsend_init<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Ptr<MPI_Request>,
) -> Outcome {
    persistent(SendMode::Ready, (buf, count, datatype), (dest, tag, comm), request)
}

/// `MPI_Bsend`
pub fn bsend<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> Outcome {
    send_as(SendMode::Buffered, (buf, count, datatype), (dest, tag, comm))?.wait()?;
    Ok(())
}

/// `MPI_Ibsend`
pub fn ibsend<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Ptr<MPI_Request>,
) -> Outcome {
    let send = send_as(SendMode::Buffered, (buf, count, datatype), (dest, tag, comm))?;
    begun(comm, Work::Send(send), request)
}

/// `MPI_Bsend_init`
pub fn bsend_init<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Ptr<MPI_Request>,
) -> Outcome {
    persistent(SendMode::Buffered, (buf, count, datatype), (dest, tag, comm), request)
}
