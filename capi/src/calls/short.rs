//! Short collectives of C, with buffers of predefined datatypes and nothing wrong. Each returns the outcome, or
//! `None` if it has done nothing; then the function whose name begins with `start_` does it, or explains.

use super::operations::PAGE;
use crate::abi::*;
use crate::arguments::{Address, Number};
use crate::datatype::{Kind, known};
use crate::failure::{Failure, Outcome};
use crate::op::Operation;
use onesided::engine::{Origin, OriginMut};
use onesided::{Comm, Op, Rank};
use std::ffi::c_int;

/// A buffer that is read, and the kind of its elements.
#[inline(always)]
fn origin<C: Number>(
    start: Address,
    count: C,
    datatype: MPI_Datatype,
) -> Option<(Origin<'static>, u16)> {
    let ((datatype, kind), count) = (known(datatype)?, usize::try_from(count.wide()).ok()?);
    if start.value() < PAGE { None } else { Some((start.origin(count, datatype), kind)) }
}

/// A buffer that is written.
#[inline(always)]
fn origin_mut<C: Number>(
    start: Address,
    count: C,
    datatype: MPI_Datatype,
) -> Option<OriginMut<'static>> {
    let ((datatype, _), count) = (known(datatype)?, usize::try_from(count.wide()).ok()?);
    if start.value() < PAGE { None } else { Some(start.origin_mut(count, datatype)) }
}

/// A communicator whose collectives can be short ones.
#[inline(always)]
fn intra(comm: MPI_Comm) -> Option<&'static Comm> {
    comm.find().filter(|comm| comm.inter.is_none()).map(|comm| &comm.comm)
}

/// Contribution and operation of a reduction of numbers.
#[inline(always)]
fn contribution<C: Number>(
    start: Address,
    count: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
) -> Option<(Origin<'static>, Op)> {
    let (mine, kind) = origin(start, count, datatype)?;
    let op = Operation::known(op, kind).filter(|op| op.is_reduction())?;
    // Those of Fortran are combined by a function of this library.
    (kind != Kind::FortranPair as u16).then_some((mine, op))
}

fn outcome(done: Option<onesided::Result<()>>) -> Option<Outcome> {
    done.map(|done| done.map_err(Failure::from))
}

/// `MPI_Barrier`.
#[inline(always)]
pub fn try_barrier(comm: MPI_Comm) -> Option<Outcome> {
    outcome(intra(comm)?.try_barrier())
}

/// `MPI_Bcast`.
#[inline(always)]
pub fn try_bcast<C: Number>(
    buffer: Address,
    count: C,
    datatype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> Option<Outcome> {
    let buffer = origin_mut(buffer, count, datatype)?;
    outcome(intra(comm)?.try_broadcast(buffer, Rank(root as u32)))
}

/// `MPI_Reduce`.
#[inline(always)]
pub fn try_reduce<C: Number>(
    sendbuf: Address,
    recvbuf: Address,
    count: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
    root: c_int,
    comm: MPI_Comm,
) -> Option<Outcome> {
    let (comm, (mine, op)) = (intra(comm)?, contribution(sendbuf, count, datatype, op)?);
    let root = Rank(root as u32);
    let result = match comm.rank() == root {
        true if sendbuf == recvbuf => return None,
        true => Some(origin_mut(recvbuf, count, datatype)?),
        false => None,
    };
    outcome(comm.try_reduce(mine, result, op, root))
}

/// `MPI_Allreduce`.
#[inline(always)]
pub fn try_allreduce<C: Number>(
    sendbuf: Address,
    recvbuf: Address,
    count: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Option<Outcome> {
    let (mine, op) = contribution(sendbuf, count, datatype, op)?;
    let result = origin_mut(recvbuf, count, datatype).filter(|_| sendbuf != recvbuf)?;
    outcome(intra(comm)?.try_allreduce(mine, result, op))
}

/// What a rank sends to, or gets from, all ranks together.
#[inline(always)]
fn of_all<C: Number>(count: C, comm: &Comm) -> Option<Count> {
    count.wide().checked_mul(comm.size().into())
}

/// `MPI_Allgather`.
#[inline(always)]
pub fn try_allgather<C: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Option<Outcome> {
    let (comm, (mine, _)) = (intra(comm)?, origin(sendbuf, sendcount, sendtype)?);
    let all = origin_mut(recvbuf, of_all(recvcount, comm)?, recvtype)?;
    outcome(comm.try_allgather(mine, all))
}

/// `MPI_Alltoall`.
#[inline(always)]
pub fn try_alltoall<C: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Option<Outcome> {
    let comm = intra(comm)?;
    let (outgoing, _) = origin(sendbuf, of_all(sendcount, comm)?, sendtype)?;
    let incoming = origin_mut(recvbuf, of_all(recvcount, comm)?, recvtype)?;
    outcome(comm.try_alltoall(outgoing, incoming))
}
