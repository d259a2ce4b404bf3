//! Virtual topologies: grids and graphs (MPI-4.1 chapter 8). No call reorders ranks.

use super::groups::length;
use crate::abi::*;
use crate::arguments::{ConstPtr, Ptr};
use crate::comm::{Communicator, rank_of};
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::topology::{Grid, Topology, balance};
use onesided::{Comm, Rank};
use std::ffi::c_int;

/// The handle of a communicator with a topology, made from `parent`; null for none.
pub(super) fn with(parent: &Communicator, comm: Option<Comm>, topology: Topology) -> MPI_Comm {
    comm.map_or(Handle::NULL, |comm| {
        let new = Communicator::new(comm, parent.errhandler.share());
        Handle::new(Communicator { topology: Some(topology), ..new })
    })
}

/// A communicator of the first `size` ranks.
fn first_ranks(comm: &Comm, size: c_int) -> Outcome<Option<Comm>> {
    let takes_part = (comm.rank().0 as c_int) < size;
    Ok(comm.split(takes_part.then_some(0), 0)?)
}

#[cold]
pub(super) fn no_topology(kind: &str) -> Failure {
    Failure::new(MPI_ERR_TOPOLOGY, format!("the communicator has no {kind}"))
}

fn grid_of(comm: MPI_Comm) -> Outcome<(&'static Communicator, &'static Grid)> {
    let comm = comm.get()?;
    match &comm.topology {
        Some(Topology::Cart(grid)) => Ok((comm, grid)),
        _ => Err(no_topology("Cartesian topology")),
    }
}

/// A rank of the communicator, not `MPI_PROC_NULL`.
fn member(comm: &Communicator, rank: c_int) -> Outcome<c_int> {
    match rank_of(rank, comm.comm.size())? {
        Rank::NULL => Err(Failure::new(MPI_ERR_RANK, "MPI_PROC_NULL has no place in a topology")),
        Rank(rank) => Ok(rank as c_int),
    }
}

/// The grid that arguments describe, of at most the communicator's ranks.
fn grid(
    comm: &Comm,
    ndims: c_int,
    dims: ConstPtr<c_int>,
    periods: ConstPtr<c_int>,
) -> Outcome<(Grid, c_int)> {
    let ndims = length(ndims)?;
    let periodic = periods.list(ndims)?.into_iter().map(|period| period != 0).collect();
    let grid = Grid { dims: dims.list(ndims)?, periodic };
    if let Some(dim) = grid.dims.iter().find(|dim| **dim <= 0) {
        return Err(Failure::new(MPI_ERR_DIMS, format!("the dimension {dim} is not positive")));
    }
    match grid.size().filter(|size| *size as u32 <= comm.size()) {
        Some(size) => Ok((grid, size)),
        None => {
            let why = format!("a grid of {:?} has more than {} ranks", grid.dims, comm.size());
            Err(Failure::new(MPI_ERR_DIMS, why))
        }
    }
}

/// `MPI_Cart_create`
pub fn cart_create(
    comm_old: MPI_Comm,
    ndims: c_int,
    dims: ConstPtr<c_int>,
    periods: ConstPtr<c_int>,
    _reorder: c_int,
    comm_cart: Ptr<MPI_Comm>,
) -> Outcome {
    let parent = comm_old.get()?;
    let comm = parent.intra()?;
    let (grid, size) = grid(comm, ndims, dims, periods)?;
    comm_cart.set(with(parent, first_ranks(comm, size)?, Topology::Cart(grid)))
}

/// `MPI_Dims_create`
pub fn dims_create(nnodes: c_int, ndims: c_int, dims: Ptr<c_int>) -> Outcome {
    let mut wanted = dims.list(length(ndims)?)?;
    if nnodes <= 0 {
        return Err(Failure::new(MPI_ERR_ARG, format!("{nnodes} is no number of ranks")));
    }
    if let Some(dim) = wanted.iter().find(|dim| **dim < 0) {
        return Err(Failure::new(MPI_ERR_DIMS, format!("the dimension {dim} is negative")));
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let given = wanted.clone();
    if !balance(nnodes, &mut wanted) {
        let why = format!("{nnodes} ranks cannot be shared out to a grid of {given:?}");
        return Err(Failure::new(MPI_ERR_DIMS, why));
    }
    dims.set_all(wanted)
}

/// `MPI_Topo_test`
pub fn topo_test(comm: MPI_Comm, status: Ptr<c_int>) -> Outcome {
    status.set(match &comm.get()?.topology {
        None => MPI_UNDEFINED,
        Some(Topology::Cart(_)) => MPI_CART,
        Some(Topology::Graph { .. }) => MPI_GRAPH,
        Some(Topology::Distributed(_)) => MPI_DIST_GRAPH,
    })
}

/// `MPI_Cartdim_get`
pub fn cartdim_get(comm: MPI_Comm, ndims: Ptr<c_int>) -> Outcome {
    ndims.set(grid_of(comm)?.1.dims.len() as c_int)
}

/// `MPI_Cart_get`
pub fn cart_get(
    comm: MPI_Comm,
    maxdims: c_int,
    dims: Ptr<c_int>,
    periods: Ptr<c_int>,
    coords: Ptr<c_int>,
) -> Outcome {
    let (comm, grid) = grid_of(comm)?;
    let count = length(maxdims)?.min(grid.dims.len());
    [dims, periods, coords].into_iter().try_for_each(|list| list.given_for(count))?;
    dims.set_all(grid.dims[..count].iter().copied())?;
    periods.set_all(grid.periodic[..count].iter().map(|periodic| c_int::from(*periodic)))?;
    coords.set_all(grid.coordinates(comm.comm.rank().0 as c_int).into_iter().take(count))
}

/// `MPI_Cart_rank`
pub fn cart_rank(comm: MPI_Comm, coords: ConstPtr<c_int>, rank: Ptr<c_int>) -> Outcome {
    let (_, grid) = grid_of(comm)?;
    let coordinates = coords.list(grid.dims.len())?;
    match grid.rank(&coordinates) {
        Some(found) => rank.set(found),
        None => {
            let why = format!("{coordinates:?} is outside the grid of {:?}", grid.dims);
            Err(Failure::new(MPI_ERR_ARG, why))
        }
    }
}

/// `MPI_Cart_coords`
pub fn cart_coords(comm: MPI_Comm, rank: c_int, maxdims: c_int, coords: Ptr<c_int>) -> Outcome {
    let (comm, grid) = grid_of(comm)?;
    let rank = member(comm, rank)?;
    coords.set_all(grid.coordinates(rank).into_iter().take(length(maxdims)?))
}

/// `MPI_Cart_shift`
pub fn cart_shift(
    comm: MPI_Comm,
    direction: c_int,
    disp: c_int,
    rank_source: Ptr<c_int>,
    rank_dest: Ptr<c_int>,
) -> Outcome {
    let (comm, grid) = grid_of(comm)?;
    let Some(dimension) = usize::try_from(direction).ok().filter(|k| *k < grid.dims.len()) else {
        let why = format!("there is no dimension {direction} of {}", grid.dims.len());
        return Err(Failure::new(MPI_ERR_ARG, why));
    };
    let (source, dest) = grid.shift(comm.comm.rank().0 as c_int, dimension, disp);
    rank_source.set(source)?;
    rank_dest.set(dest)
}

/// `MPI_Cart_sub`
pub fn cart_sub(comm: MPI_Comm, remain_dims: ConstPtr<c_int>, newcomm: Ptr<MPI_Comm>) -> Outcome {
    let (comm, grid) = grid_of(comm)?;
    let remains = remain_dims.list(grid.dims.len())?.into_iter().map(|one| one != 0);
    let (part, number) = grid.part(&remains.collect::<Vec<_>>(), comm.comm.rank().0 as c_int);
    newcomm.set(with(comm, comm.comm.split(Some(number), 0)?, Topology::Cart(part)))
}

/// `MPI_Cart_map`
pub fn cart_map(
    comm: MPI_Comm,
    ndims: c_int,
    dims: ConstPtr<c_int>,
    periods: ConstPtr<c_int>,
    newrank: Ptr<c_int>,
) -> Outcome {
    let comm = comm.get()?.intra()?;
    let (_, size) = grid(comm, ndims, dims, periods)?;
    newrank.set(place(comm, size))
}

/// The rank of this one among the first `size`.
fn place(comm: &Comm, size: c_int) -> c_int {
    let rank = comm.rank().0 as c_int;
    if rank < size { rank } else { MPI_UNDEFINED }
}

/// The graph that arguments describe, of at most the communicator's ranks.
fn graph(
    comm: &Comm,
    nnodes: c_int,
    indx: ConstPtr<c_int>,
    edges: ConstPtr<c_int>,
) -> Outcome<Topology> {
    let nodes = length(nnodes)?;
    if nodes > comm.ranks().len() {
        let why = format!("a graph of {nodes} ranks is larger than the communicator");
        return Err(Failure::new(MPI_ERR_ARG, why));
    }
    let ends = indx.list(nodes)?;
    if !ends.is_sorted() || ends.first().is_some_and(|first| *first < 0) {
        return Err(Failure::new(MPI_ERR_ARG, "the ends of the lists of neighbours do not rise"));
    }
    let edges = edges.list(ends.last().map_or(0, |last| *last as usize))?;
    if let Some(edge) = edges.iter().find(|edge| !(0..nnodes).contains(*edge)) {
        return Err(Failure::new(MPI_ERR_RANK, format!("the graph has no rank {edge}")));
    }
    Ok(Topology::Graph { ends, edges })
}

/// `MPI_Graph_create`
pub fn graph_create(
    comm_old: MPI_Comm,
    nnodes: c_int,
    indx: ConstPtr<c_int>,
    edges: ConstPtr<c_int>,
    _reorder: c_int,
    comm_graph: Ptr<MPI_Comm>,
) -> Outcome {
    let parent = comm_old.get()?;
    let comm = parent.intra()?;
    let graph = graph(comm, nnodes, indx, edges)?;
    comm_graph.set(with(parent, first_ranks(comm, nnodes)?, graph))
}

/// `MPI_Graph_map`
pub fn graph_map(
    comm: MPI_Comm,
    nnodes: c_int,
    indx: ConstPtr<c_int>,
    edges: ConstPtr<c_int>,
    newrank: Ptr<c_int>,
) -> Outcome {
    let comm = comm.get()?.intra()?;
    graph(comm, nnodes, indx, edges)?;
    newrank.set(place(comm, nnodes))
}

type Lists = (&'static [c_int], &'static [c_int]);

fn graph_of(comm: MPI_Comm) -> Outcome<Lists> {
    match &comm.get()?.topology {
        Some(Topology::Graph { ends, edges }) => Ok((ends, edges)),
        _ => Err(no_topology("graph topology")),
    }
}

/// `MPI_Graphdims_get`
pub fn graphdims_get(comm: MPI_Comm, nnodes: Ptr<c_int>, nedges: Ptr<c_int>) -> Outcome {
    let (ends, edges) = graph_of(comm)?;
    nnodes.set(ends.len() as c_int)?;
    nedges.set(edges.len() as c_int)
}

/// `MPI_Graph_get`
pub fn graph_get(
    comm: MPI_Comm,
    maxindex: c_int,
    maxedges: c_int,
    indx: Ptr<c_int>,
    edges: Ptr<c_int>,
) -> Outcome {
    let (ends, all) = graph_of(comm)?;
    let ends = &ends[..length(maxindex)?.min(ends.len())];
    let all = &all[..length(maxedges)?.min(all.len())];
    indx.given_for(ends.len())?;
    edges.given_for(all.len())?;
    indx.set_all(ends.iter().copied())?;
    edges.set_all(all.iter().copied())
}

/// The neighbours of a rank of a graph.
fn adjacent(comm: MPI_Comm, rank: c_int) -> Outcome<&'static [c_int]> {
    graph_of(comm)?;
    let comm = comm.get()?;
    let rank = member(comm, rank)?;
    Ok(comm.topology.as_ref().map_or(&[], |graph| graph.adjacent(rank)))
}

/// `MPI_Graph_neighbors_count`
pub fn graph_neighbors_count(comm: MPI_Comm, rank: c_int, nneighbors: Ptr<c_int>) -> Outcome {
    nneighbors.set(adjacent(comm, rank)?.len() as c_int)
}

/// `MPI_Graph_neighbors`
pub fn graph_neighbors(
    comm: MPI_Comm,
    rank: c_int,
    maxneighbors: c_int,
    neighbors: Ptr<c_int>,
) -> Outcome {
    neighbors.set_all(adjacent(comm, rank)?.iter().copied().take(length(maxneighbors)?))
}
