//! What MPICH's library has besides the standard's functions: those that MPI-3 has removed, Fortran's
//! statuses, and questions for graphics processors.

use crate::abi::*;
use crate::arguments::{ConstPtr, Ptr};
use crate::failure::Outcome;
use std::ffi::c_int;

/// `MPI_Status_c2f` and its like: all forms of a status have the same members.
pub fn status_copy(from: ConstPtr<MPI_Status>, to: Ptr<MPI_Status>) -> Outcome {
    to.set(from.get_at(0)?)
}

/// `MPI_Type_extent`
pub fn type_extent(datatype: MPI_Datatype, extent: Ptr<Aint>) -> Outcome {
    extent.set(super::narrow(datatype.get()?.derived().extent())?)
}

/// `MPI_Type_lb`
pub fn type_lb(datatype: MPI_Datatype, displacement: Ptr<Aint>) -> Outcome {
    displacement.set(super::narrow(datatype.get()?.derived().lower_bound())?)
}

/// `MPI_Type_ub`
pub fn type_ub(datatype: MPI_Datatype, displacement: Ptr<Aint>) -> Outcome {
    let derived = datatype.get()?.derived();
    displacement.set(super::narrow(derived.lower_bound().saturating_add(derived.extent()))?)
}

/// `MPIX_Query_cuda_support` and its like, which return whether there is support: 0
pub fn no_support() -> Outcome {
    Ok(())
}

/// `MPIX_GPU_query_support`
pub fn gpu_query_support(_gpu_type: c_int, is_supported: Ptr<c_int>) -> Outcome {
    is_supported.set(0)
}
