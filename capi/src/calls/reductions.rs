//! Collectives that combine (MPI-4.1 §6.9 to §6.11). Each function stands for three of C, and their
//! large-count forms ([`crate::collective`]).

use super::elements;
use crate::abi::*;
use crate::arguments::{Address, ConstPtr, Number};
use crate::collective::{
    Block, Form, Over, among, combine, known_combine, origin, origin_mut, outcome, rooted,
};
use crate::comm::Communicator;
use crate::failure::{Failure, Outcome};
use onesided::engine::{CollectiveRequest, Combine, Origin, OriginMut, Root};
use onesided::{Comm, Op, Rank};
use std::ffi::c_int;

/// Contribution, unless it is in place, and result. If nothing is in place, they are different buffers.
fn both<C: Number>(
    over: Over<'_>,
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

/// Contribution and operation in the usual case: numbers in a buffer other than that of the result.
#[inline(always)]
fn contribution<C: Number>(
    sendbuf: Address,
    recvbuf: Address,
    count: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
) -> Option<(Origin<'static>, Combine)> {
    let (mine, kind) = origin(sendbuf, count, datatype)?;
    let combine = known_combine(op, kind)?;
    (sendbuf != recvbuf).then_some((mine, combine))
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
pub fn reduce<C: Number>(
    sendbuf: Address,
    recvbuf: Address,
    count: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
    root: c_int,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    if let Some(comm) = form.waiting(comm)
        && let Some((mine, combine)) = contribution(sendbuf, recvbuf, count, datatype, op)
        && let Some(root) = u32::try_from(root).ok().filter(|root| *root < comm.size())
    {
        if comm.rank() != Rank(root) {
            return outcome(comm.start_reduce(Some(mine), None, combine, Rank(root)));
        }
        if let Some(result) = origin_mut(recvbuf, count, datatype) {
            return outcome(comm.start_reduce(Some(mine), Some(result), combine, Rank(root)));
        }
    }
    let (of, root) = rooted(comm, root)?;
    let over = of.over();
    let (mine, result) = match (over, root) {
        // The other ranks of the root's group.
        (Over::Two(_), Root::Elsewhere) => (None, None),
        (Over::Two(_), Root::Here) => (None, Some(Block::new(recvbuf, count, datatype)?)),
        (Over::One(_), Root::Here) => {
            let (mine, result) = both(over, sendbuf, recvbuf, count, datatype)?;
            (mine, Some(result))
        }
        _ => (over.own(sendbuf, count, datatype)?, None),
    };
    let combine = match root {
        // The operation means nothing there.
        Root::Elsewhere => Combine::of(Op::Sum),
        _ => combine(op, datatype)?,
    };
    form.start(of, move |over| {
        let (mine, result) = (mine.as_ref().map(Block::read), result.as_ref().map(Block::write));
        match over {
            Over::One(comm) => comm.start_reduce(mine, result, combine.clone(), among(comm, root)),
            Over::Two(bridge) => bridge.start_reduce(mine, result, combine.clone(), root),
        }
    })
}

/// `MPI_Allreduce`
pub fn allreduce<C: Number>(
    sendbuf: Address,
    recvbuf: Address,
    count: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    if let Some(comm) = form.waiting(comm)
        && let Some((mine, combine)) = contribution(sendbuf, recvbuf, count, datatype, op)
        && let Some(result) = origin_mut(recvbuf, count, datatype)
    {
        return outcome(comm.start_allreduce(Some(mine), result, combine));
    }
    let (of, combine) = (comm.get()?, combine(op, datatype)?);
    let (mine, result) = both(of.over(), sendbuf, recvbuf, count, datatype)?;
    form.start(of, move |over| {
        let (mine, result) = (mine.as_ref().map(Block::read), result.write());
        match over {
            Over::One(comm) => comm.start_allreduce(mine, result, combine.clone()),
            Over::Two(bridge) => bridge.start_allreduce(mine, result, combine.clone()),
        }
    })
}

/// What starts a scan among the ranks of one group.
type StartScan =
    fn(&Comm, Option<Origin<'_>>, OriginMut<'_>, Combine) -> onesided::Result<CollectiveRequest>;

fn scan_by<C: Number>(
    (sendbuf, recvbuf): (Address, Address),
    count: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    form: impl Form,
    start: StartScan,
) -> Outcome {
    let (of, combine) = (comm.get()?, combine(op, datatype)?);
    of.intra()?;
    let (mine, result) = both(of.over(), sendbuf, recvbuf, count, datatype)?;
    form.start(of, move |over| {
        start(over.all(), mine.as_ref().map(Block::read), result.write(), combine.clone())
    })
}

/// `MPI_Scan`
pub fn scan<C: Number>(
    sendbuf: Address,
    recvbuf: Address,
    count: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    scan_by((sendbuf, recvbuf), count, datatype, op, comm, form, Comm::start_scan)
}

/// `MPI_Exscan`
pub fn exscan<C: Number>(
    sendbuf: Address,
    recvbuf: Address,
    count: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    scan_by((sendbuf, recvbuf), count, datatype, op, comm, form, Comm::start_exscan)
}

/// Parts of `counts` elements, one for each rank.
fn scatter_combined(
    of: &'static Communicator,
    buffers: (Address, Address),
    counts: Vec<usize>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    form: impl Form,
) -> Outcome {
    let ((sendbuf, recvbuf), over) = (buffers, of.over());
    let total = counts.iter().fold(0usize, |sum, count| sum.saturating_add(*count)) as Count;
    let mine = over.own(sendbuf, total, datatype)?;
    let own = counts[over.group().1] as Count;
    let result = Block::new(recvbuf, if mine.is_some() { own } else { total }, datatype)?;
    check_disjoint(sendbuf, recvbuf, &result)?;
    let combine = combine(op, datatype)?;
    form.start(of, move |over| {
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
pub fn reduce_scatter<C: Number>(
    sendbuf: Address,
    recvbuf: Address,
    recvcounts: ConstPtr<C>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    let of = comm.get()?;
    let (ranks, _) = of.over().group();
    let counts: Outcome<_> = recvcounts.list(ranks)?.into_iter().map(elements).collect();
    scatter_combined(of, (sendbuf, recvbuf), counts?, datatype, op, form)
}

/// `MPI_Reduce_scatter_block`
pub fn reduce_scatter_block<C: Number>(
    sendbuf: Address,
    recvbuf: Address,
    recvcount: C,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    let of = comm.get()?;
    let (ranks, _) = of.over().group();
    let counts = vec![elements(recvcount)?; ranks];
    scatter_combined(of, (sendbuf, recvbuf), counts, datatype, op, form)
}
