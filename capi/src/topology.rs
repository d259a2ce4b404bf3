//! Virtual topologies (MPI-4.1 chapter 8): the neighbours of ranks. All of it is arithmetic.

use crate::abi::*;
use std::ffi::c_int;

/// The topology of a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    Cart(Grid),
    /// `MPI_Graph_create`: `ends[r]` is where the neighbours of rank r end in `edges`.
    Graph {
        ends: Vec<c_int>,
        edges: Vec<c_int>,
    },
    /// `MPI_Dist_graph_create` and `_adjacent`: the edges of this rank alone.
    Distributed(Edges),
}

/// A grid of ranks, the last dimension the fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    pub dims: Vec<c_int>,
    pub periodic: Vec<bool>,
}

/// The edges of one rank of a distributed graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    pub sources: Vec<c_int>,
    pub destinations: Vec<c_int>,
    /// Those of the sources and of the destinations, unless it has none.
    pub weights: Option<(Vec<c_int>, Vec<c_int>)>,
}

impl Topology {
    /// The neighbours of a rank in the order of the neighbourhood collectives (MPI-4.1 §8.6): the sources,
    /// and the destinations.
    pub fn neighbours(&self, rank: c_int) -> (Vec<c_int>, Vec<c_int>) {
        match self {
            Topology::Cart(grid) => {
                let both = |k| <[c_int; 2]>::from(grid.shift(rank, k, 1));
                let all: Vec<c_int> = (0..grid.dims.len()).flat_map(both).collect();
                (all.clone(), all)
            }
            Topology::Graph { .. } => {
                let all = self.adjacent(rank).to_vec();
                (all.clone(), all)
            }
            Topology::Distributed(edges) => (edges.sources.clone(), edges.destinations.clone()),
        }
    }

    /// The neighbours of a rank of a graph.
    pub fn adjacent(&self, rank: c_int) -> &[c_int] {
        let Topology::Graph { ends, edges } = self else { return &[] };
        let end = |k: usize| ends.get(k).map_or(0, |end| *end as usize);
        let rank = rank as usize;
        let start = rank.checked_sub(1).map_or(0, end);
        &edges[start..end(rank)]
    }
}

impl Grid {
    /// The number of its ranks; `None` on overflow.
    pub fn size(&self) -> Option<c_int> {
        self.dims.iter().try_fold(1, |size: c_int, dim| size.checked_mul(*dim))
    }

    pub fn coordinates(&self, rank: c_int) -> Vec<c_int> {
        let mut rest = rank;
        let mut coordinates: Vec<c_int> = (self.dims.iter().rev())
            .map(|dim| {
                let coordinate = rest % dim;
                rest /= dim;
                coordinate
            })
            .collect();
        coordinates.reverse();
        coordinates
    }

    /// The rank at some coordinates, which wrap around where the grid is periodic; none where they
    /// leave it.
    pub fn rank(&self, coordinates: &[c_int]) -> Option<c_int> {
        let mut rank = 0;
        for ((coordinate, dim), periodic) in coordinates.iter().zip(&self.dims).zip(&self.periodic)
        {
            let within = match periodic {
                true => coordinate.rem_euclid(*dim),
                false if (0..*dim).contains(coordinate) => *coordinate,
                false => return None,
            };
            rank = rank * dim + within;
        }
        Some(rank)
    }

    /// The ranks that many steps before and behind a rank in a dimension, or `MPI_PROC_NULL`.
    pub fn shift(&self, rank: c_int, dimension: usize, steps: c_int) -> (c_int, c_int) {
        let at = |steps: c_int| {
            let mut coordinates = self.coordinates(rank);
            let dim = self.dims[dimension];
            // An overflow is outside the grid.
            let steps = if self.periodic[dimension] { steps % dim } else { steps };
            coordinates[dimension] = coordinates[dimension].saturating_add(steps);
            self.rank(&coordinates).unwrap_or(MPI_PROC_NULL)
        };
        (at(steps.saturating_neg()), at(steps))
    }

    /// The grid of some of its dimensions, and the number of the grid that has a rank.
    pub fn part(&self, remains: &[bool], rank: c_int) -> (Grid, u32) {
        let mut part = Grid { dims: Vec::new(), periodic: Vec::new() };
        let mut number = 0;
        for (k, coordinate) in self.coordinates(rank).into_iter().enumerate() {
            if remains[k] {
                part.dims.push(self.dims[k]);
                part.periodic.push(self.periodic[k]);
            } else {
                number = number * self.dims[k] as u32 + coordinate as u32;
            }
        }
        (part, number)
    }
}

/// `MPI_Dims_create`: fills the zeros of `dims` so that the product is `nodes`, as evenly as can be,
/// in falling order; whether that is possible.
pub fn balance(nodes: c_int, dims: &mut [c_int]) -> bool {
    let given = dims.iter().filter(|dim| **dim > 0).try_fold(1, |a: c_int, b| a.checked_mul(*b));
    let Some(given) = given.filter(|given| nodes % given == 0) else { return false };
    let free = dims.iter().filter(|dim| **dim == 0).count();
    let rest = nodes / given;
    if free == 0 {
        return rest == 1;
    }
    let divisors: Vec<c_int> =
        (1..=rest.isqrt()).filter(|d| rest % d == 0).flat_map(|d| [d, rest / d]).collect();
    let mut best: Option<Vec<c_int>> = None;
    factor(rest, free, rest, &divisors, &mut Vec::new(), &mut best);
    let mut factors = best.unwrap_or_default().into_iter();
    for dim in dims.iter_mut().filter(|dim| **dim == 0) {
        *dim = factors.next().unwrap_or(1);
    }
    true
}

/// Tries all ways to write `rest` as a product of `places` falling factors of at most `most`. Keeps the
/// one with the least largest factor, among these the one with the least second factor, and so on.
fn factor(
    rest: c_int,
    places: usize,
    most: c_int,
    divisors: &[c_int],
    chosen: &mut Vec<c_int>,
    best: &mut Option<Vec<c_int>>,
) {
    if best.as_ref().is_some_and(|best| best[..chosen.len()] < chosen[..]) {
        return;
    }
    if places == 0 {
        if rest == 1 && best.as_ref().is_none_or(|best| *chosen < *best) {
            *best = Some(chosen.clone());
        }
        return;
    }
    for divisor in divisors.iter().filter(|d| **d <= most && rest % **d == 0) {
        chosen.push(*divisor);
        factor(rest / divisor, places - 1, *divisor, divisors, chosen, best);
        chosen.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(dims: &[c_int], periodic: &[bool]) -> Grid {
        Grid { dims: dims.to_vec(), periodic: periodic.to_vec() }
    }

    #[test]
    fn ranks_and_coordinates_are_inverse() {
        let grid = grid(&[2, 3, 4], &[false, true, false]);
        assert_eq!(grid.size(), Some(24));
        for rank in 0..24 {
            assert_eq!(grid.rank(&grid.coordinates(rank)), Some(rank));
        }
        assert_eq!(grid.coordinates(23), [1, 2, 3]);
        assert_eq!(grid.rank(&[0, -1, 0]), Some(8), "wraps around");
        assert_eq!((grid.rank(&[2, 0, 0]), grid.rank(&[0, 0, -1])), (None, None));
    }

    #[test]
    fn shifts_wrap_around_or_leave_the_grid() {
        let grid = grid(&[3, 4], &[false, true]);
        assert_eq!(grid.shift(0, 0, 1), (MPI_PROC_NULL, 4));
        assert_eq!(grid.shift(0, 1, 1), (3, 1));
        assert_eq!(grid.shift(0, 1, -1), (1, 3));
        assert_eq!(grid.shift(0, 0, c_int::MIN), (MPI_PROC_NULL, MPI_PROC_NULL));
        assert_eq!(grid.shift(5, 1, c_int::MAX), (6, 4));
    }

    #[test]
    fn a_part_keeps_some_dimensions() {
        let grid = grid(&[2, 3, 4], &[true, false, true]);
        let (part, number) = grid.part(&[true, false, true], 13);
        assert_eq!(part, self::grid(&[2, 4], &[true, true]));
        assert_eq!((grid.coordinates(13), number), (vec![1, 0, 1], 0));
        assert_eq!(grid.part(&[false, false, false], 13).1, 13);
    }

    #[test]
    fn dimensions_are_as_even_as_can_be() {
        let fill = |nodes, dims: &[c_int]| {
            let mut dims = dims.to_vec();
            balance(nodes, &mut dims).then_some(dims)
        };
        assert_eq!(fill(6, &[0, 0]), Some(vec![3, 2]));
        assert_eq!(fill(7, &[0, 0]), Some(vec![7, 1]));
        assert_eq!(fill(6, &[0, 3, 0]), Some(vec![2, 3, 1]));
        assert_eq!(fill(7, &[0, 3, 0]), None);
        assert_eq!(fill(16, &[0, 0, 0]), Some(vec![4, 2, 2]));
        assert_eq!(fill(12, &[0, 0, 0]), Some(vec![3, 2, 2]));
        assert_eq!(fill(12, &[4, 3]), Some(vec![4, 3]));
        assert_eq!(fill(12, &[4, 2]), None);
        assert_eq!(fill(1, &[0, 0]), Some(vec![1, 1]));
        assert_eq!(fill(720_720, &[0, 0, 0, 0]).map(|dims| dims.iter().product()), Some(720_720));
    }

    #[test]
    fn neighbours_of_a_graph_are_between_its_ends() {
        let graph = Topology::Graph { ends: vec![2, 2, 3], edges: vec![1, 2, 0] };
        assert_eq!(graph.adjacent(0), [1, 2]);
        assert!(graph.adjacent(1).is_empty());
        assert_eq!(graph.neighbours(2), (vec![0], vec![0]));
    }
}
