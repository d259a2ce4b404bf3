//! Collectives of neighbours (MPI-4.1 §8.6 to §8.9). Each function stands for three of C, and their
//! large-count forms ([`crate::collective`]).

use super::topologies::no_topology;
use crate::abi::*;
use crate::arguments::{Address, ConstPtr, Number};
use crate::collective::{Block, Form};
use crate::comm::{Communicator, rank_of};
use crate::failure::Outcome;
use crate::topology::Topology;
use onesided::Rank;
use std::ffi::c_int;

/// A communicator with a topology, and the neighbours of this rank.
struct Neighbourhood {
    of: &'static Communicator,
    sources: Vec<Rank>,
    destinations: Vec<Rank>,
    /// Neighbours come in pairs, one on each side.
    is_grid: bool,
}

impl Neighbourhood {
    fn of(comm: MPI_Comm) -> Outcome<Neighbourhood> {
        let of = comm.get()?;
        let comm = of.intra()?;
        let topology = of.topology.as_ref().ok_or_else(|| no_topology("topology"))?;
        let (sources, destinations) = topology.neighbours(comm.rank().0 as c_int);
        let rank = |one| rank_of(one, comm.size());
        let ranks = |all: Vec<c_int>| all.into_iter().map(rank).collect::<Outcome<_>>();
        let (sources, destinations) = (ranks(sources), ranks(destinations));
        let is_grid = matches!(topology, Topology::Cart(_));
        Ok(Neighbourhood { sources: sources?, destinations: destinations?, is_grid, of })
    }

    /// Each of `outgoing` goes to its destination, each of `incoming` comes from its source.
    fn exchange(self, outgoing: Vec<Block>, incoming: Vec<Block>, form: impl Form) -> Outcome {
        let mut order: Vec<usize> = (0..outgoing.len()).collect();
        if self.is_grid {
            // What goes to one side comes from the other. If one rank is on both sides, it has to receive
            // first what was sent first.
            order.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
        }
        let Neighbourhood { of, sources, destinations, .. } = self;
        form.start(of, move |over| {
            let to = |k: &usize| (destinations[*k], outgoing[*k].read());
            let sent: Vec<_> = order.iter().map(to).collect();
            let from = sources.iter().zip(&incoming);
            let received: Vec<_> = from.map(|(rank, block)| (*rank, block.write())).collect();
            over.all().start_neighbours(&sent, &received)
        })
    }
}

/// `MPI_Neighbor_allgather`
pub fn neighbor_allgather<C: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    let around = Neighbourhood::of(comm)?;
    let outgoing = vec![Block::new(sendbuf, sendcount, sendtype)?; around.destinations.len()];
    let incoming = Block::equal(recvbuf, recvcount, recvtype, around.sources.len())?;
    around.exchange(outgoing, incoming, form)
}

/// `MPI_Neighbor_allgatherv`
pub fn neighbor_allgatherv<C: Number, D: Number>(
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
    let around = Neighbourhood::of(comm)?;
    let outgoing = vec![Block::new(sendbuf, sendcount, sendtype)?; around.destinations.len()];
    let incoming = Block::placed(recvbuf, recvcounts, displs, recvtype, around.sources.len())?;
    around.exchange(outgoing, incoming, form)
}

/// `MPI_Neighbor_alltoall`
pub fn neighbor_alltoall<C: Number>(
    sendbuf: Address,
    sendcount: C,
    sendtype: MPI_Datatype,
    recvbuf: Address,
    recvcount: C,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    let around = Neighbourhood::of(comm)?;
    let outgoing = Block::equal(sendbuf, sendcount, sendtype, around.destinations.len())?;
    let incoming = Block::equal(recvbuf, recvcount, recvtype, around.sources.len())?;
    around.exchange(outgoing, incoming, form)
}

/// `MPI_Neighbor_alltoallv`
pub fn neighbor_alltoallv<C: Number, D: Number>(
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
    let around = Neighbourhood::of(comm)?;
    let (to, from) = (around.destinations.len(), around.sources.len());
    let outgoing = Block::placed(sendbuf, sendcounts, sdispls, sendtype, to)?;
    let incoming = Block::placed(recvbuf, recvcounts, rdispls, recvtype, from)?;
    around.exchange(outgoing, incoming, form)
}

/// `MPI_Neighbor_alltoallw`
pub fn neighbor_alltoallw<C: Number>(
    sendbuf: Address,
    sendcounts: ConstPtr<C>,
    sdispls: ConstPtr<Aint>,
    sendtypes: ConstPtr<MPI_Datatype>,
    recvbuf: Address,
    recvcounts: ConstPtr<C>,
    rdispls: ConstPtr<Aint>,
    recvtypes: ConstPtr<MPI_Datatype>,
    comm: MPI_Comm,
    form: impl Form,
) -> Outcome {
    let around = Neighbourhood::of(comm)?;
    let (to, from) = (around.destinations.len(), around.sources.len());
    let outgoing = Block::mixed(sendbuf, sendcounts, sdispls, sendtypes, to)?;
    let incoming = Block::mixed(recvbuf, recvcounts, rdispls, recvtypes, from)?;
    around.exchange(outgoing, incoming, form)
}
