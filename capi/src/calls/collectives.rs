//! Collectives that move (MPI-4.1 chapter 6). Each function stands for three of C, and their
//! large-count forms ([`crate::collective`]).

use crate::abi::*;
use crate::arguments::{Address, ConstPtr, Number};
use crate::collective::{Block, Over, Parts, Start, among, over, read, rooted, write};
use crate::failure::Outcome;
use onesided::engine::Root;
use std::ffi::c_int;

/// `MPI_Barrier`
pub fn start_barrier(comm: MPI_Comm) -> Outcome<Start> {
    let comm = comm.get()?.messages().clone();
    Start::new(comm, |comm| comm.start_barrier())
}

/// `MPI_Bcast`
pub fn start_bcast<C: Number>(
    buffer: Address,
    count: C,
    datatype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let (over, root) = rooted(comm, root)?;
    if let (Over::Two(bridge), Root::Elsewhere) = (&over, root) {
        return Start::new(bridge.clone(), |bridge| bridge.start_broadcast(None, Root::Elsewhere));
    }
    let buffer = Block::new(buffer, count, datatype)?;
    match over {
        Over::One(comm) => {
            let root = among(&comm, root);
            Start::new(comm, move |comm| comm.start_broadcast(buffer.write(), root))
        }
        Over::Two(bridge) => {
            Start::new(bridge, move |bridge| bridge.start_broadcast(Some(buffer.write()), root))
        }
    }
}

/// What this rank gives the root, or gets from it.
fn own_part<C: Number>(
    over: &Over,
    start: Address,
    count: C,
    datatype: MPI_Datatype,
    root: Root,
) -> Outcome<Option<Block>> {
    if over.takes_part(root) { over.own(start, count, datatype) } else { Ok(None) }
}

/// `parts` are those of the root; `is_equal`: whether they have the same number of elements.
fn gather(
    over: Over,
    mine: Option<Block>,
    parts: Option<Parts>,
    root: Root,
    is_equal: bool,
) -> Outcome<Start> {
    Start::new(over, move |over| {
        let mine = mine.as_ref().map(Block::read);
        let (all, list) = match &parts {
            None => (None, None),
            Some(Parts::Equal(all)) => (Some(all.write()), None),
            Some(Parts::Listed(list)) => (None, Some(write(list))),
        };
        match over {
            Over::One(comm) if is_equal => comm.start_gather(mine, all, among(comm, root)),
            Over::One(comm) => comm.start_gatherv(mine, list.as_deref(), among(comm, root)),
            Over::Two(bridge) => bridge.start_gather(mine, list.as_deref(), root),
        }
    })
}

/// `MPI_Gather`
pub fn start_gather<C: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let (over, root) = rooted(comm, root)?;
    let mine = own_part(&over, sendbuf, sendcount, sendtype, root)?;
    let parts = || Parts::equal(&over, recvbuf, recvcount, recvtype);
    let parts = (root == Root::Here).then(parts).transpose()?;
    gather(over, mine, parts, root, true)
}

/// `MPI_Gatherv`
pub fn start_gatherv<C: Number, D: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcounts: ConstPtr<C>,
    displs: ConstPtr<D>,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let (over, root) = rooted(comm, root)?;
    let mine = own_part(&over, sendbuf, sendcount, sendtype, root)?;
    let parts = || Block::placed(recvbuf, recvcounts, displs, recvtype, over.parts());
    let parts = (root == Root::Here).then(parts).transpose()?.map(Parts::Listed);
    gather(over, mine, parts, root, false)
}

/// The start of a scatter.
fn scatter(
    over: Over,
    parts: Option<Parts>,
    mine: Option<Block>,
    root: Root,
    is_equal: bool,
) -> Outcome<Start> {
    Start::new(over, move |over| {
        let mine = mine.as_ref().map(Block::write);
        let (all, list) = match &parts {
            None => (None, None),
            Some(Parts::Equal(all)) => (Some(all.read()), None),
            Some(Parts::Listed(list)) => (None, Some(read(list))),
        };
        match over {
            Over::One(comm) if is_equal => comm.start_scatter(all, mine, among(comm, root)),
            Over::One(comm) => comm.start_scatterv(list.as_deref(), mine, among(comm, root)),
            Over::Two(bridge) => bridge.start_scatter(list.as_deref(), mine, root),
        }
    })
}

/// `MPI_Scatter`
pub fn start_scatter<C: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let (over, root) = rooted(comm, root)?;
    let mine = own_part(&over, recvbuf, recvcount, recvtype, root)?;
    let parts = || Parts::equal(&over, sendbuf, sendcount, sendtype);
    let parts = (root == Root::Here).then(parts).transpose()?;
    scatter(over, parts, mine, root, true)
}

/// `MPI_Scatterv`
pub fn start_scatterv<C: Number, D: Number>(
    sendbuf: Address,
    sendcounts: ConstPtr<C>,
    displs: ConstPtr<D>,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let (over, root) = rooted(comm, root)?;
    let mine = own_part(&over, recvbuf, recvcount, recvtype, root)?;
    let parts = || Block::placed(sendbuf, sendcounts, displs, sendtype, over.parts());
    let parts = (root == Root::Here).then(parts).transpose()?.map(Parts::Listed);
    scatter(over, parts, mine, root, false)
}

fn allgather(over: Over, mine: Option<Block>, parts: Parts) -> Outcome<Start> {
    Start::new(over, move |over| {
        let mine = mine.as_ref().map(Block::read);
        match (over, &parts) {
            (Over::One(comm), Parts::Equal(all)) => comm.start_allgather(mine, all.write()),
            (Over::One(comm), Parts::Listed(list)) => comm.start_allgatherv(mine, &write(list)),
            (Over::Two(bridge), parts) => bridge.start_allgather(mine, &write(parts.list())),
        }
    })
}

/// `MPI_Allgather`
pub fn start_allgather<C: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let over = over(comm)?;
    let mine = over.own(sendbuf, sendcount, sendtype)?;
    let parts = Parts::equal(&over, recvbuf, recvcount, recvtype)?;
    allgather(over, mine, parts)
}

/// `MPI_Allgatherv`
pub fn start_allgatherv<C: Number, D: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcounts: ConstPtr<C>,
    displs: ConstPtr<D>,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let over = over(comm)?;
    let mine = over.own(sendbuf, sendcount, sendtype)?;
    let parts = Block::placed(recvbuf, recvcounts, displs, recvtype, over.parts())?;
    allgather(over, mine, Parts::Listed(parts))
}

/// `outgoing` describes what goes out, unless that is in place; `incoming`, what comes in.
fn alltoall(
    over: Over,
    sendbuf: Address,
    outgoing: impl FnOnce(&Over) -> Outcome<Parts>,
    incoming: Parts,
) -> Outcome<Start> {
    let is_given = !over.is_in_place(sendbuf)?;
    let outgoing = is_given.then(|| outgoing(&over)).transpose()?;
    Start::new(over, move |over| match (over, &outgoing, &incoming) {
        (Over::One(comm), None, Parts::Equal(incoming)) => {
            comm.start_alltoall(None, incoming.write())
        }
        (Over::One(comm), Some(Parts::Equal(outgoing)), Parts::Equal(incoming)) => {
            comm.start_alltoall(Some(outgoing.read()), incoming.write())
        }
        (over, outgoing, incoming) => {
            let outgoing = outgoing.as_ref().map(|parts| read(parts.list()));
            let (outgoing, incoming) = (outgoing.as_deref(), write(incoming.list()));
            match over {
                Over::One(comm) => comm.start_alltoallv(outgoing, &incoming),
                Over::Two(bridge) => bridge.start_alltoall(outgoing, &incoming),
            }
        }
    })
}

/// `MPI_Alltoall`
pub fn start_alltoall<C: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let over = over(comm)?;
    let incoming = Parts::equal(&over, recvbuf, recvcount, recvtype)?;
    alltoall(over, sendbuf, |over| Parts::equal(over, sendbuf, sendcount, sendtype), incoming)
}

/// `MPI_Alltoallv`
pub fn start_alltoallv<C: Number, D: Number>(
    sendbuf: Address,
    sendcounts: ConstPtr<C>,
    sdispls: ConstPtr<D>,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcounts: ConstPtr<C>,
    rdispls: ConstPtr<D>,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let over = over(comm)?;
    let ranks = over.parts();
    let incoming = Block::placed(recvbuf, recvcounts, rdispls, recvtype, ranks)?;
    let outgoing =
        |_: &Over| Block::placed(sendbuf, sendcounts, sdispls, sendtype, ranks).map(Parts::Listed);
    alltoall(over, sendbuf, outgoing, Parts::Listed(incoming))
}

/// `MPI_Alltoallw`
pub fn start_alltoallw<C: Number, D: Number>(
    sendbuf: Address,
    sendcounts: ConstPtr<C>,
    sdispls: ConstPtr<D>,
    sendtypes: ConstPtr<MPI_Datatype>,
    recvbuf: Address,
    recvcounts: ConstPtr<C>,
    rdispls: ConstPtr<D>,
    recvtypes: ConstPtr<MPI_Datatype>,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let over = over(comm)?;
    let ranks = over.parts();
    let incoming = Block::mixed(recvbuf, recvcounts, rdispls, recvtypes, ranks)?;
    let outgoing =
        |_: &Over| Block::mixed(sendbuf, sendcounts, sdispls, sendtypes, ranks).map(Parts::Listed);
    alltoall(over, sendbuf, outgoing, Parts::Listed(incoming))
}
