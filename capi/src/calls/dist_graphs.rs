//! Distributed graphs, of which each rank knows its own edges (MPI-4.1 §8.5.4).

use super::groups::length;
use super::topologies::{no_topology, with};
use crate::abi::*;
use crate::arguments::{ConstPtr, Ptr};
use crate::comm::rank_of;
use crate::failure::{Failure, Outcome};
use crate::info::hints;
use crate::topology::{Edges, Topology};
use onesided::{Comm, Rank};
use std::ffi::c_int;

/// Ranks of a communicator.
fn ranks(comm: &Comm, count: usize, list: ConstPtr<c_int>) -> Outcome<Vec<c_int>> {
    let ranks = list.list(count)?;
    for rank in &ranks {
        if rank_of(*rank, comm.size())? == Rank::NULL {
            return Err(Failure::new(MPI_ERR_RANK, "MPI_PROC_NULL is no neighbour"));
        }
    }
    Ok(ranks)
}

/// That number of weights; none for `MPI_UNWEIGHTED`, and for it alone (MPI-4.1 §8.5.4).
fn weights(count: usize, list: ConstPtr<c_int>) -> Outcome<Option<Vec<c_int>>> {
    match list.address() {
        MPI_UNWEIGHTED => Ok(None),
        MPI_WEIGHTS_EMPTY if count == 0 => Ok(Some(Vec::new())),
        MPI_WEIGHTS_EMPTY => {
            let why = format!("MPI_WEIGHTS_EMPTY is given for {count} edges");
            Err(Failure::new(MPI_ERR_ARG, why))
        }
        0 if count == 0 => Ok(Some(Vec::new())),
        _ => Ok(Some(list.list(count)?)),
    }
}

fn mixed() -> Failure {
    Failure::new(MPI_ERR_ARG, "some edges have weights and some have none")
}

/// `MPI_Dist_graph_create_adjacent`
pub fn dist_graph_create_adjacent(
    comm_old: MPI_Comm,
    indegree: c_int,
    sources: ConstPtr<c_int>,
    sourceweights: ConstPtr<c_int>,
    outdegree: c_int,
    destinations: ConstPtr<c_int>,
    destweights: ConstPtr<c_int>,
    info: MPI_Info,
    _reorder: c_int,
    comm_dist_graph: Ptr<MPI_Comm>,
) -> Outcome {
    let parent = comm_old.get()?;
    let comm = parent.intra()?;
    hints(info)?;
    let (indegree, outdegree) = (length(indegree)?, length(outdegree)?);
    let of_both = match (weights(indegree, sourceweights)?, weights(outdegree, destweights)?) {
        (None, None) => None,
        (Some(sources), Some(destinations)) => Some((sources, destinations)),
        (Some(sources), None) if outdegree == 0 => Some((sources, Vec::new())),
        (None, Some(destinations)) if indegree == 0 => Some((Vec::new(), destinations)),
        // Without edges it does not matter.
        (Some(_), None) if indegree == 0 => None,
        (None, Some(_)) if outdegree == 0 => None,
        _ => return Err(mixed()),
    };
    let edges = Edges {
        sources: ranks(comm, indegree, sources)?,
        destinations: ranks(comm, outdegree, destinations)?,
        weights: of_both,
    };
    comm_dist_graph.set(with(parent, comm.split(Some(0), 0)?, Topology::Distributed(edges)))
}

/// The first number of a rank's edges: whether they have weights. A rank without edges follows the ranks
/// that have some.
const UNWEIGHTED: c_int = 1;
const WEIGHTED: c_int = 2;
const WITHOUT_EDGES: c_int = 4;

/// `MPI_Dist_graph_create`
pub fn dist_graph_create(
    comm_old: MPI_Comm,
    n: c_int,
    sources: ConstPtr<c_int>,
    degrees: ConstPtr<c_int>,
    destinations: ConstPtr<c_int>,
    weights: ConstPtr<c_int>,
    info: MPI_Info,
    _reorder: c_int,
    comm_dist_graph: Ptr<MPI_Comm>,
) -> Outcome {
    let parent = comm_old.get()?;
    let comm = parent.intra()?;
    hints(info)?;
    let n = length(n)?;
    let sources = ranks(comm, n, sources)?;
    let degrees = degrees.list(n)?.into_iter().map(length).collect::<Outcome<Vec<_>>>()?;
    let total = degrees.iter().sum();
    let destinations = ranks(comm, total, destinations)?;
    let weights = self::weights(total, weights)?;
    let from =
        sources.iter().zip(&degrees).flat_map(|(from, many)| std::iter::repeat_n(from, *many));
    let of_weights = if weights.is_some() { WEIGHTED } else { UNWEIGHTED };
    let mut given = vec![if total == 0 { of_weights | WITHOUT_EDGES } else { of_weights }];
    for (k, (from, to)) in from.zip(&destinations).enumerate() {
        given.extend([*from, *to, weights.as_ref().map_or(0, |weights| weights[k])]);
    }
    let edges = edges_of(comm.rank().0 as c_int, &comm.allgatherv(&given)?)?;
    comm_dist_graph.set(with(parent, comm.split(Some(0), 0)?, Topology::Distributed(edges)))
}

/// The edges of a rank, from the edges of all ranks; the same error on all ranks.
fn edges_of(own: c_int, given: &[Vec<c_int>]) -> Outcome<Edges> {
    let has = |what| given.iter().any(|list| list.first() == Some(&what));
    if has(WEIGHTED) && has(UNWEIGHTED) {
        return Err(mixed());
    }
    let mut edges = Edges::default();
    let (mut of_sources, mut of_destinations) = (Vec::new(), Vec::new());
    for edge in given.iter().flat_map(|list| list[1..].chunks_exact(3)) {
        if edge[1] == own {
            edges.sources.push(edge[0]);
            of_sources.push(edge[2]);
        }
        if edge[0] == own {
            edges.destinations.push(edge[1]);
            of_destinations.push(edge[2]);
        }
    }
    let weighted = has(WEIGHTED) || has(WEIGHTED | WITHOUT_EDGES) && !has(UNWEIGHTED);
    edges.weights = weighted.then_some((of_sources, of_destinations));
    Ok(edges)
}

fn edges_in(comm: MPI_Comm) -> Outcome<&'static Edges> {
    match &comm.get()?.topology {
        Some(Topology::Distributed(edges)) => Ok(edges),
        _ => Err(no_topology("distributed graph topology")),
    }
}

/// `MPI_Dist_graph_neighbors_count`
pub fn dist_graph_neighbors_count(
    comm: MPI_Comm,
    indegree: Ptr<c_int>,
    outdegree: Ptr<c_int>,
    weighted: Ptr<c_int>,
) -> Outcome {
    let edges = edges_in(comm)?;
    indegree.set(edges.sources.len() as c_int)?;
    outdegree.set(edges.destinations.len() as c_int)?;
    weighted.set(edges.weights.is_some().into())
}

/// `MPI_Dist_graph_neighbors`
pub fn dist_graph_neighbors(
    comm: MPI_Comm,
    maxindegree: c_int,
    sources: Ptr<c_int>,
    sourceweights: Ptr<c_int>,
    maxoutdegree: c_int,
    destinations: Ptr<c_int>,
    destweights: Ptr<c_int>,
) -> Outcome {
    let edges = edges_in(comm)?;
    let (most_in, most_out) = (length(maxindegree)?, length(maxoutdegree)?);
    let mut lists =
        vec![(sources, &edges.sources, most_in), (destinations, &edges.destinations, most_out)];
    if let Some((of_sources, of_destinations)) = &edges.weights {
        let weights =
            [(sourceweights, of_sources, most_in), (destweights, of_destinations, most_out)];
        let wanted =
            |place: Ptr<c_int>| ![MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY].contains(&place.address());
        lists.extend(weights.into_iter().filter(|(place, ..)| wanted(*place)));
    }
    lists.iter().try_for_each(|(place, list, most)| place.given_for(*most.min(&list.len())))?;
    lists.iter().try_for_each(|(place, list, most)| place.set_all(list.iter().copied().take(*most)))
}
