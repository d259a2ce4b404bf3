//! Communicators and groups (MPI-4.1 chapter 7).

use crate::abi::*;
use crate::arguments::Ptr;
use crate::failure::Outcome;
use crate::handle::Handle;
use std::ffi::c_int;

/// `MPI_Comm_rank`
pub fn comm_rank(comm: MPI_Comm, rank: Ptr<c_int>) -> Outcome {
    rank.set(comm.get()?.comm.rank() as c_int)
}

/// `MPI_Comm_size`
pub fn comm_size(comm: MPI_Comm, size: Ptr<c_int>) -> Outcome {
    size.set(comm.get()?.comm.size() as c_int)
}

/// `MPI_Comm_group`
pub fn comm_group(comm: MPI_Comm, group: Ptr<MPI_Group>) -> Outcome {
    group.set(Handle::new(comm.get()?.comm.group()))
}

/// `MPI_Barrier`
pub fn barrier(comm: MPI_Comm) -> Outcome {
    Ok(comm.get()?.comm.barrier()?)
}
