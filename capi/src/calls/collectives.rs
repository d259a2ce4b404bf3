//! Collectives that move (MPI-4.1 chapter 6). Each function stands for three of C, and their
//! large-count forms ([`crate::collective`]).

use crate::abi::*;
use crate::arguments::{Address, ConstPtr, Number};
use crate::collective::{Block, Over, Start, among, bystander, over, read, rooted, write};
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
        return bystander(bridge);
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

/// `parts` are those of the root.
fn gather(
    over: Over,
    mine: Option<Block>,
    parts: Option<Vec<Block>>,
    root: Root,
) -> Outcome<Start> {
    Start::new(over, move |over| {
        let (mine, parts) = (mine.as_ref().map(Block::read), parts.as_deref().map(write));
        match over {
            Over::One(comm) => comm.start_gather(mine, parts.as_deref(), among(comm, root)),
            Over::Two(bridge) => bridge.start_gather(mine, parts.as_deref(), root),
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
    let parts = || Block::equal(recvbuf, recvcount, recvtype, over.parts());
    let parts = (root == Root::Here).then(parts).transpose()?;
    gather(over, mine, parts, root)
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
    let parts = (root == Root::Here).then(parts).transpose()?;
    gather(over, mine, parts, root)
}

/// `parts` are those of the root.
fn scatter(
    over: Over,
    parts: Option<Vec<Block>>,
    mine: Option<Block>,
    root: Root,
) -> Outcome<Start> {
    Start::new(over, move |over| {
        let (mine, parts) = (mine.as_ref().map(Block::write), parts.as_deref().map(read));
        match over {
            Over::One(comm) => comm.start_scatter(parts.as_deref(), mine, among(comm, root)),
            Over::Two(bridge) => bridge.start_scatter(parts.as_deref(), mine, root),
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
    let parts = || Block::equal(sendbuf, sendcount, sendtype, over.parts());
    let parts = (root == Root::Here).then(parts).transpose()?;
    scatter(over, parts, mine, root)
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
    let parts = (root == Root::Here).then(parts).transpose()?;
    scatter(over, parts, mine, root)
}

fn allgather(over: Over, mine: Option<Block>, parts: Vec<Block>) -> Outcome<Start> {
    Start::new(over, move |over| {
        let mine = mine.as_ref().map(Block::read);
        match over {
            Over::One(comm) => comm.start_allgather(mine, &write(&parts)),
            Over::Two(bridge) => bridge.start_allgather(mine, &write(&parts)),
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
    let parts = Block::equal(recvbuf, recvcount, recvtype, over.parts())?;
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
    allgather(over, mine, parts)
}

/// `outgoing` says what goes out, unless that is in place.
fn alltoall(
    over: Over,
    sendbuf: Address,
    outgoing: impl FnOnce() -> Outcome<Vec<Block>>,
    incoming: Vec<Block>,
) -> Outcome<Start> {
    let outgoing = (!over.is_in_place(sendbuf)?).then(outgoing).transpose()?;
    Start::new(over, move |over| {
        let outgoing = outgoing.as_deref().map(read);
        let (outgoing, incoming) = (outgoing.as_deref(), write(&incoming));
        match over {
            Over::One(comm) => comm.start_alltoall(outgoing, &incoming),
            Over::Two(bridge) => bridge.start_alltoall(outgoing, &incoming),
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
    let ranks = over.parts();
    let incoming = Block::equal(recvbuf, recvcount, recvtype, ranks)?;
    alltoall(over, sendbuf, || Block::equal(sendbuf, sendcount, sendtype, ranks), incoming)
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
    let outgoing = || Block::placed(sendbuf, sendcounts, sdispls, sendtype, ranks);
    alltoall(over, sendbuf, outgoing, incoming)
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
    let outgoing = || Block::mixed(sendbuf, sendcounts, sdispls, sendtypes, ranks);
    alltoall(over, sendbuf, outgoing, incoming)
}
