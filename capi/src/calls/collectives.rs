//! Collectives that move (MPI-4.1 chapter 6). Each function stands for three of C, and their
//! large-count forms ([`crate::collective`]).

use crate::abi::*;
use crate::arguments::{Address, ConstPtr, Number};
use crate::collective::{Block, Start, group, read, root_of, write};
use crate::failure::Outcome;
use onesided::{Comm, Rank};
use std::ffi::c_int;

/// `MPI_Barrier`
pub fn start_barrier(comm: MPI_Comm) -> Outcome<Start> {
    let comm = comm.get()?;
    let comm = comm.inter.as_ref().map_or(&comm.comm, |inter| &inter.both).clone();
    Start::new(move || comm.start_barrier())
}

/// `MPI_Bcast`
pub fn start_bcast<C: Number>(
    buffer: Address,
    count: C,
    datatype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> Outcome<Start> {
    let (comm, ranks) = group(comm)?;
    let (buffer, root) = (Block::new(buffer, count, datatype)?, root_of(root, ranks)?);
    Start::new(move || comm.start_broadcast(buffer.write(), root))
}

/// `parts` are those of the root.
fn gather(
    comm: Comm,
    mine: Option<Block>,
    parts: Option<Vec<Block>>,
    root: Rank,
) -> Outcome<Start> {
    Start::new(move || {
        let parts = parts.as_deref().map(write);
        comm.start_gather(mine.as_ref().map(Block::read), parts.as_deref(), root)
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
    let (comm, ranks) = group(comm)?;
    let root = root_of(root, ranks)?;
    let mine = Block::unless_in_place(sendbuf, sendcount, sendtype)?;
    let parts = || Block::equal(recvbuf, recvcount, recvtype, ranks);
    let parts = (comm.rank() == root.0).then(parts).transpose()?;
    gather(comm, mine, parts, root)
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
    let (comm, ranks) = group(comm)?;
    let root = root_of(root, ranks)?;
    let mine = Block::unless_in_place(sendbuf, sendcount, sendtype)?;
    let parts = || Block::placed(recvbuf, recvcounts, displs, recvtype, ranks);
    let parts = (comm.rank() == root.0).then(parts).transpose()?;
    gather(comm, mine, parts, root)
}

/// `parts` are those of the root.
fn scatter(
    comm: Comm,
    parts: Option<Vec<Block>>,
    mine: Option<Block>,
    root: Rank,
) -> Outcome<Start> {
    Start::new(move || {
        let parts = parts.as_deref().map(read);
        comm.start_scatter(parts.as_deref(), mine.as_ref().map(Block::write), root)
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
    let (comm, ranks) = group(comm)?;
    let root = root_of(root, ranks)?;
    let mine = Block::unless_in_place(recvbuf, recvcount, recvtype)?;
    let parts = || Block::equal(sendbuf, sendcount, sendtype, ranks);
    let parts = (comm.rank() == root.0).then(parts).transpose()?;
    scatter(comm, parts, mine, root)
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
    let (comm, ranks) = group(comm)?;
    let root = root_of(root, ranks)?;
    let mine = Block::unless_in_place(recvbuf, recvcount, recvtype)?;
    let parts = || Block::placed(sendbuf, sendcounts, displs, sendtype, ranks);
    let parts = (comm.rank() == root.0).then(parts).transpose()?;
    scatter(comm, parts, mine, root)
}

fn allgather(comm: Comm, mine: Option<Block>, parts: Vec<Block>) -> Outcome<Start> {
    Start::new(move || comm.start_allgather(mine.as_ref().map(Block::read), &write(&parts)))
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
    let (comm, ranks) = group(comm)?;
    let mine = Block::unless_in_place(sendbuf, sendcount, sendtype)?;
    allgather(comm, mine, Block::equal(recvbuf, recvcount, recvtype, ranks)?)
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
    let (comm, ranks) = group(comm)?;
    let mine = Block::unless_in_place(sendbuf, sendcount, sendtype)?;
    allgather(comm, mine, Block::placed(recvbuf, recvcounts, displs, recvtype, ranks)?)
}

/// `outgoing` says what goes out, unless that is in place.
fn alltoall(
    comm: Comm,
    sendbuf: Address,
    outgoing: impl FnOnce() -> Outcome<Vec<Block>>,
    incoming: Vec<Block>,
) -> Outcome<Start> {
    let outgoing = (!sendbuf.is_in_place()).then(outgoing).transpose()?;
    Start::new(move || {
        let outgoing = outgoing.as_deref().map(read);
        comm.start_alltoall(outgoing.as_deref(), &write(&incoming))
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
    let (comm, ranks) = group(comm)?;
    let incoming = Block::equal(recvbuf, recvcount, recvtype, ranks)?;
    alltoall(comm, sendbuf, || Block::equal(sendbuf, sendcount, sendtype, ranks), incoming)
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
    let (comm, ranks) = group(comm)?;
    let incoming = Block::placed(recvbuf, recvcounts, rdispls, recvtype, ranks)?;
    let outgoing = || Block::placed(sendbuf, sendcounts, sdispls, sendtype, ranks);
    alltoall(comm, sendbuf, outgoing, incoming)
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
    let (comm, ranks) = group(comm)?;
    let incoming = Block::mixed(recvbuf, recvcounts, rdispls, recvtypes, ranks)?;
    let outgoing = || Block::mixed(sendbuf, sendcounts, sdispls, sendtypes, ranks);
    alltoall(comm, sendbuf, outgoing, incoming)
}
