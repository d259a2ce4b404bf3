//! Collectives that move (MPI-4.1 chapter 6). Each function stands for three of C, and their
//! large-count forms ([`crate::collective`]).

use crate::abi::*;
use crate::arguments::{Address, ConstPtr, Number};
use crate::collective::{
    Block, Form, Over, Parts, among, of_all, origin, origin_mut, outcome, read, rooted, write,
};
use crate::comm::Communicator;
use crate::failure::Outcome;
use onesided::Rank;
use onesided::engine::Root;
use std::ffi::c_int;

/// `MPI_Barrier`
pub fn barrier(comm: MPI_Comm, form: impl Form) -> Outcome {
    if let Some(comm) = form.waiting(comm) {
        return outcome(comm.start_barrier());
    }
    form.start(comm.get()?, |over| over.all().start_barrier())
}

/// `MPI_Bcast`
pub fn bcast<C: Number>(
    buffer: Address,
    count: C,
    datatype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    if let Some(comm) = form.waiting(comm)
        && let Some(buffer) = origin_mut(buffer, count, datatype)
        && let Some(root) = u32::try_from(root).ok().filter(|root| *root < comm.size())
    {
        return outcome(comm.start_broadcast(buffer, Rank(root)));
    }
    let (of, root) = rooted(comm, root)?;
    let buffer = match root {
        // It means nothing on the other ranks of the root's group.
        Root::Elsewhere => Block::new(buffer, 0, MPI_Datatype::predefined(MPI_BYTE))?,
        _ => Block::new(buffer, count, datatype)?,
    };
    form.start(of, move |over| match over {
        Over::One(comm) => comm.start_broadcast(buffer.write(), among(comm, root)),
        Over::Two(bridge) => bridge.start_broadcast(Some(buffer.write()), root),
    })
}

/// What this rank gives the root, or gets from it.
fn own_part<C: Number>(
    over: Over<'_>,
    start: Address,
    count: C,
    datatype: MPI_Datatype,
    root: Root,
) -> Outcome<Option<Block>> {
    if over.takes_part(root) { over.own(start, count, datatype) } else { Ok(None) }
}

/// `parts` are those of the root; `is_equal`: whether they have the same number of elements.
fn gather_parts(
    of: &'static Communicator,
    mine: Option<Block>,
    parts: Option<Parts>,
    root: Root,
    is_equal: bool,
    form: impl Form,
) -> Outcome {
    form.start(of, move |over| {
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
pub fn gather<C: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    let (of, root) = rooted(comm, root)?;
    let over = of.over();
    let mine = own_part(over, sendbuf, sendcount, sendtype, root)?;
    let parts = || Parts::equal(over, recvbuf, recvcount, recvtype);
    let parts = (root == Root::Here).then(parts).transpose()?;
    gather_parts(of, mine, parts, root, true, form)
}

/// `MPI_Gatherv`
pub fn gatherv<C: Number, D: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcounts: ConstPtr<C>,
    displs: ConstPtr<D>,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    let (of, root) = rooted(comm, root)?;
    let over = of.over();
    let mine = own_part(over, sendbuf, sendcount, sendtype, root)?;
    let parts = || Block::placed(recvbuf, recvcounts, displs, recvtype, over.parts());
    let parts = (root == Root::Here).then(parts).transpose()?.map(Parts::Listed);
    gather_parts(of, mine, parts, root, false, form)
}

/// The start of a scatter.
fn scatter_parts(
    of: &'static Communicator,
    parts: Option<Parts>,
    mine: Option<Block>,
    root: Root,
    is_equal: bool,
    form: impl Form,
) -> Outcome {
    form.start(of, move |over| {
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
pub fn scatter<C: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    let (of, root) = rooted(comm, root)?;
    let over = of.over();
    let mine = own_part(over, recvbuf, recvcount, recvtype, root)?;
    let parts = || Parts::equal(over, sendbuf, sendcount, sendtype);
    let parts = (root == Root::Here).then(parts).transpose()?;
    scatter_parts(of, parts, mine, root, true, form)
}

/// `MPI_Scatterv`
pub fn scatterv<C: Number, D: Number>(
    sendbuf: Address,
    sendcounts: ConstPtr<C>,
    displs: ConstPtr<D>,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    let (of, root) = rooted(comm, root)?;
    let over = of.over();
    let mine = own_part(over, recvbuf, recvcount, recvtype, root)?;
    let parts = || Block::placed(sendbuf, sendcounts, displs, sendtype, over.parts());
    let parts = (root == Root::Here).then(parts).transpose()?.map(Parts::Listed);
    scatter_parts(of, parts, mine, root, false, form)
}

fn allgather_parts(
    of: &'static Communicator,
    mine: Option<Block>,
    parts: Parts,
    form: impl Form,
) -> Outcome {
    form.start(of, move |over| {
        let mine = mine.as_ref().map(Block::read);
        match (over, &parts) {
            (Over::One(comm), Parts::Equal(all)) => comm.start_allgather(mine, all.write()),
            (Over::One(comm), Parts::Listed(list)) => comm.start_allgatherv(mine, &write(list)),
            (Over::Two(bridge), parts) => bridge.start_allgather(mine, &write(parts.list())),
        }
    })
}

/// `MPI_Allgather`
pub fn allgather<C: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    if let Some(comm) = form.waiting(comm)
        && let Some((mine, _)) = origin(sendbuf, sendcount, sendtype)
        && let Some(all) = of_all(recvcount, comm)
        && let Some(all) = origin_mut(recvbuf, all, recvtype)
    {
        return outcome(comm.start_allgather(Some(mine), all));
    }
    let of = comm.get()?;
    let over = of.over();
    let mine = over.own(sendbuf, sendcount, sendtype)?;
    let parts = Parts::equal(over, recvbuf, recvcount, recvtype)?;
    allgather_parts(of, mine, parts, form)
}

/// `MPI_Allgatherv`
pub fn allgatherv<C: Number, D: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcounts: ConstPtr<C>,
    displs: ConstPtr<D>,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    let of = comm.get()?;
    let over = of.over();
    let mine = over.own(sendbuf, sendcount, sendtype)?;
    let parts = Block::placed(recvbuf, recvcounts, displs, recvtype, over.parts())?;
    allgather_parts(of, mine, Parts::Listed(parts), form)
}

/// What goes out, unless it is in place.
fn given(
    over: Over<'_>,
    sendbuf: Address,
    parts: impl FnOnce() -> Outcome<Parts>,
) -> Outcome<Option<Parts>> {
    (!over.is_in_place(sendbuf)?).then(parts).transpose()
}

/// `incoming` is replaced by what comes in.
fn alltoall_parts(
    of: &'static Communicator,
    outgoing: Option<Parts>,
    incoming: Parts,
    form: impl Form,
) -> Outcome {
    form.start(of, move |over| match (over, &outgoing, &incoming) {
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
pub fn alltoall<C: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    if let Some(comm) = form.waiting(comm)
        && let (Some(sent), Some(received)) = (of_all(sendcount, comm), of_all(recvcount, comm))
        && let Some((outgoing, _)) = origin(sendbuf, sent, sendtype)
        && let Some(incoming) = origin_mut(recvbuf, received, recvtype)
    {
        return outcome(comm.start_alltoall(Some(outgoing), incoming));
    }
    let of = comm.get()?;
    let over = of.over();
    let incoming = Parts::equal(over, recvbuf, recvcount, recvtype)?;
    let outgoing = || Parts::equal(over, sendbuf, sendcount, sendtype);
    alltoall_parts(of, given(over, sendbuf, outgoing)?, incoming, form)
}

/// `MPI_Alltoallv`
pub fn alltoallv<C: Number, D: Number>(
    sendbuf: Address,
    sendcounts: ConstPtr<C>,
    sdispls: ConstPtr<D>,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcounts: ConstPtr<C>,
    rdispls: ConstPtr<D>,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    let of = comm.get()?;
    let over = of.over();
    let ranks = over.parts();
    let incoming = Block::placed(recvbuf, recvcounts, rdispls, recvtype, ranks)?;
    let outgoing =
        || Block::placed(sendbuf, sendcounts, sdispls, sendtype, ranks).map(Parts::Listed);
    alltoall_parts(of, given(over, sendbuf, outgoing)?, Parts::Listed(incoming), form)
}

/// `MPI_Alltoallw`
pub fn alltoallw<C: Number, D: Number>(
    sendbuf: Address,
    sendcounts: ConstPtr<C>,
    sdispls: ConstPtr<D>,
    sendtypes: ConstPtr<MPI_Datatype>,
    recvbuf: Address,
    recvcounts: ConstPtr<C>,
    rdispls: ConstPtr<D>,
    recvtypes: ConstPtr<MPI_Datatype>,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    let of = comm.get()?;
    let over = of.over();
    let ranks = over.parts();
    let incoming = Block::mixed(recvbuf, recvcounts, rdispls, recvtypes, ranks)?;
    let outgoing =
        || Block::mixed(sendbuf, sendcounts, sdispls, sendtypes, ranks).map(Parts::Listed);
    alltoall_parts(of, given(over, sendbuf, outgoing)?, Parts::Listed(incoming), form)
}
