//! Collectives that combine (MPI-4.1 §6.9 to §6.11). Each function stands for three of C, and their
//! large-count forms ([`crate::collective`]).

use super::elements;
use crate::abi::*;
use crate::arguments::{Address, ConstPtr, Number};
use crate::collective::{Block, Over, Start, among, combine, over, rooted};
use crate::failure::{Failure, Outcome};
use onesided::engine::Root;
use std::ffi::c_int;

/// Contribution, unless it is in place, and result. If nothing is in place, they are different buffers.
fn both<C: Number>(
    over: &Over,
    sendbuf: Address,
    recvbuf: Address,
    count: C,
    datatype: MPI_Datatype,
) -> Outcome<(Option<Block>, Block)> {
    let result = Block::new(recvbuf, count, datatype)?;
    let mine = over.own(sendbuf, count, datatype)?;
    check_disjoint(sendbuf, recvbuf, &result)?;
    Ok((mine, result))
}

/// Refuses one buffer for both (MPI-4.1 §6.2.2), unless it has no elements.
fn check_disjoint(sendbuf: Address, recvbuf: Address, result: &Block) -> Outcome {
    if sendbuf == recvbuf && result.datatype.bytes(result.count) != Some(0) {
        let why = "the send buffer is the receive buffer; give MPI_IN_PLACE instead";
        return Err(Failure::new(MPI_ERR_BUFFER, why));
    }
    Ok(())
}

/// `MPI_Reduce`
pub fn start_reduce<C: Number>(
    sendbuf: Address,
    recvbuf: Address,
    count: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
    root: c_int,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let (over, root) = rooted(comm, root)?;
    let (mine, result) = match (&over, root) {
        (Over::Two(bridge), Root::Elsewhere) => {
            return Start::new(bridge.clone(), |bridge| bridge.start_reduce_elsewhere());
        }
        (Over::Two(_), Root::Here) => (None, Some(Block::new(recvbuf, count, datatype)?)),
        (Over::One(_), Root::Here) => {
            let (mine, result) = both(&over, sendbuf, recvbuf, count, datatype)?;
            (mine, Some(result))
        }
        _ => (over.own(sendbuf, count, datatype)?, None),
    };
    let combine = combine(op, datatype)?;
    Start::new(over, move |over| {
        let (mine, result) = (mine.as_ref().map(Block::read), result.as_ref().map(Block::write));
        match over {
            Over::One(comm) => comm.start_reduce(mine, result, combine.clone(), among(comm, root)),
            Over::Two(bridge) => bridge.start_reduce(mine, result, combine.clone(), root),
        }
    })
}

/// `MPI_Allreduce`
pub fn start_allreduce<C: Number>(
    sendbuf: Address,
    recvbuf: Address,
    count: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let (over, combine) = (over(comm)?, combine(op, datatype)?);
    let (mine, result) = both(&over, sendbuf, recvbuf, count, datatype)?;
    Start::new(over, move |over| {
        let (mine, result) = (mine.as_ref().map(Block::read), result.write());
        match over {
            Over::One(comm) => comm.start_allreduce(mine, result, combine.clone()),
            Over::Two(bridge) => bridge.start_allreduce(mine, result, combine.clone()),
        }
    })
}

/// `MPI_Scan`
pub fn start_scan<C: Number>(
    sendbuf: Address,
    recvbuf: Address,
    count: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let (comm, combine) = (comm.get()?.intra()?.clone(), combine(op, datatype)?);
    let over = Over::One(comm.clone());
    let (mine, result) = both(&over, sendbuf, recvbuf, count, datatype)?;
    Start::new(comm, move |comm| {
        comm.start_scan(mine.as_ref().map(Block::read), result.write(), combine.clone())
    })
}

/// `MPI_Exscan`
pub fn start_exscan<C: Number>(
    sendbuf: Address,
    recvbuf: Address,
    count: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let (comm, combine) = (comm.get()?.intra()?.clone(), combine(op, datatype)?);
    let over = Over::One(comm.clone());
    let (mine, result) = both(&over, sendbuf, recvbuf, count, datatype)?;
    Start::new(comm, move |comm| {
        comm.start_exscan(mine.as_ref().map(Block::read), result.write(), combine.clone())
    })
}

/// Parts of `counts` elements, one for each rank.
fn reduce_scatter(
    over: Over,
    buffers: (Address, Address),
    counts: Vec<usize>,
    datatype: MPI_Datatype,
    op: MPI_Op,
) -> Outcome<Start> {
    let (sendbuf, recvbuf) = buffers;
    let total = counts.iter().fold(0usize, |sum, count| sum.saturating_add(*count)) as Count;
    let mine = over.own(sendbuf, total, datatype)?;
    let own = counts[over.group().1] as Count;
    let result = Block::new(recvbuf, if mine.is_some() { own } else { total }, datatype)?;
    check_disjoint(sendbuf, recvbuf, &result)?;
    let combine = combine(op, datatype)?;
    Start::new(over, move |over| {
        let (mine, result) = (mine.as_ref().map(Block::read), result.write());
        match over {
            Over::One(comm) => comm.start_reduce_scatter(mine, result, &counts, combine.clone()),
            Over::Two(bridge) => {
                bridge.start_reduce_scatter(mine, result, &counts, combine.clone())
            }
        }
    })
}

/// `MPI_Reduce_scatter`
pub fn start_reduce_scatter<C: Number>(
    sendbuf: Address,
    recvbuf: Address,
    recvcounts: ConstPtr<C>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let over = over(comm)?;
    let (ranks, _) = over.group();
    let counts: Outcome<_> = recvcounts.list(ranks)?.into_iter().map(elements).collect();
    reduce_scatter(over, (sendbuf, recvbuf), counts?, datatype, op)
}

/// `MPI_Reduce_scatter_block`
pub fn start_reduce_scatter_block<C: Number>(
    sendbuf: Address,
    recvbuf: Address,
    recvcount: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let over = over(comm)?;
    let (ranks, _) = over.group();
    let counts = vec![elements(recvcount)?; ranks];
    reduce_scatter(over, (sendbuf, recvbuf), counts, datatype, op)
}
