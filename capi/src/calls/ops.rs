//! Reduction operations (MPI-4.1 §6.9).

use super::operations::{check_buffer, elements};
use crate::abi::*;
use crate::arguments::{Address, Function, Number, Ptr};
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::op::{Operation, Reduction, UserFunction};
use std::ffi::c_int;

/// `MPI_Op_create`; `MPI_Op_create_c`, whose functions take large counts
pub fn op_create(large: bool, function: Function, commute: c_int, op: Ptr<MPI_Op>) -> Outcome {
    if function.address() == 0 {
        return Err(Failure::new(MPI_ERR_ARG, "the function is null"));
    }
    let function = UserFunction::new(function, large);
    op.set(Handle::new(Operation::User { function, commutative: commute != 0 }))
}

/// `MPI_Op_free`
pub fn op_free(op: Ptr<MPI_Op>) -> Outcome {
    let handle = op.get()?;
    if let Operation::Predefined(_) = handle.get()? {
        return Err(Failure::new(MPI_ERR_OP, "a predefined operation cannot be freed"));
    }
    handle.remove()?;
    op.set(Handle::NULL)
}

/// `MPI_Op_commutative`
pub fn op_commutative(op: MPI_Op, commute: Ptr<c_int>) -> Outcome {
    commute.set(op.get()?.is_commutative().into())
}

/// `MPI_Reduce_local`
pub fn reduce_local<C: Number>(
    inbuf: Address,
    inoutbuf: Address,
    count: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
) -> Outcome {
    let (n, reduction) = (elements(count)?, Reduction::new(op, datatype)?);
    check_buffer(inbuf, n, reduction.datatype())?;
    check_buffer(inoutbuf, n, reduction.datatype())?;
    if inbuf == inoutbuf && reduction.datatype().bytes(n) != Some(0) {
        return Err(Failure::new(MPI_ERR_BUFFER, "both buffers are the same"));
    }
    reduction.combine(inbuf, inoutbuf, n)
}
