//! Groups: ordered sets of the job's ranks (MPI-2.2 §6.3).

use crate::call::Call;
use crate::error::{Error, Place, Result};
use std::sync::Arc;

/// A rank, in the group that the call it is given to works on.
///
/// A type of its own, so that a rank and a displacement cannot change places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u32);

impl Rank {
    /// `MPI_PROC_NULL`: as a target, the operation does nothing (MPI-2.2 §11.3).
    pub const NULL: Rank = Rank(u32::MAX);
}

impl std::fmt::Display for Rank {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Rank::NULL { f.write_str("MPI_PROC_NULL") } else { self.0.fmt(f) }
    }
}

/// An ordered set of ranks of the job, cheap to clone. All its functions are local.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// World ranks, each at most once, in the group's order.
    members: Arc<[u32]>,
}

/// How two groups compare (MPI-2.2 §6.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `MPI_IDENT`: same members, same order.
    Identical,
    /// `MPI_SIMILAR`: same members, another order.
    Similar,
    /// `MPI_UNEQUAL`
    Unequal,
}

impl Group {
    /// The group of world ranks `0..n`.
    pub(crate) fn world(n: u32) -> Group {
        Group { members: (0..n).collect() }
    }

    fn of(members: impl IntoIterator<Item = u32>) -> Group {
        Group { members: members.into_iter().collect() }
    }

    /// `MPI_Group_size`
    pub fn size(&self) -> u32 {
        self.members.len() as u32
    }

    /// Whether the group is `MPI_GROUP_EMPTY`.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The members as ranks of the world, in the group's order.
    pub fn world_ranks(&self) -> &[u32] {
        &self.members
    }

    /// The rank that the world's rank `world` has in this group.
    pub fn rank_of_world(&self, world: u32) -> Option<Rank> {
        self.members.iter().position(|m| *m == world).map(|i| Rank(i as u32))
    }

    /// `MPI_Group_incl`: the members at `ranks`, in that order.
    ///
    /// # Errors
    /// [`Error::Group`] for a rank that is not in the group or is named twice.
    pub fn incl(&self, ranks: &[u32]) -> Result<Group> {
        let mut members: Vec<u32> = Vec::with_capacity(ranks.len());
        for rank in ranks {
            let member = *self.members.get(*rank as usize).ok_or_else(|| self.no_rank(*rank))?;
            if members.contains(&member) {
                return Err(self.problem(format!("rank {rank} is named twice")));
            }
            members.push(member);
        }
        Ok(Group::of(members))
    }

    /// `MPI_Group_excl`: the members not at `ranks`, in the group's order.
    ///
    /// # Errors
    /// [`Error::Group`] for a rank that is not in the group or is named twice.
    pub fn excl(&self, ranks: &[u32]) -> Result<Group> {
        Ok(self.difference(&self.incl(ranks)?))
    }

    /// `MPI_Group_union`: this group's members, then those of `other` that it lacks.
    pub fn union(&self, other: &Group) -> Group {
        let new = other.members.iter().filter(|m| !self.members.contains(m));
        Group::of(self.members.iter().chain(new).copied())
    }

    /// `MPI_Group_intersection`: the members that are in `other` too.
    pub fn intersection(&self, other: &Group) -> Group {
        Group::of(self.members.iter().filter(|m| other.members.contains(m)).copied())
    }

    /// `MPI_Group_difference`: the members that are not in `other`.
    pub fn difference(&self, other: &Group) -> Group {
        Group::of(self.members.iter().filter(|m| !other.members.contains(m)).copied())
    }

    /// `MPI_Group_translate_ranks`: for each of `ranks` of this group its rank in `other`, or
    /// [`Rank::NULL`] for MPI_UNDEFINED.
    ///
    /// # Errors
    /// [`Error::Group`] for a rank that is not in this group.
    pub fn translate(&self, ranks: &[u32], other: &Group) -> Result<Vec<Rank>> {
        ranks
            .iter()
            .map(|rank| {
                let world = self.members.get(*rank as usize).ok_or_else(|| self.no_rank(*rank))?;
                Ok(other.rank_of_world(*world).unwrap_or(Rank::NULL))
            })
            .collect()
    }

    /// `MPI_Group_compare`
    pub fn compare(&self, other: &Group) -> Comparison {
        if self.members == other.members {
            Comparison::Identical
        } else if self.size() == other.size() && self.difference(other).is_empty() {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    fn no_rank(&self, rank: u32) -> Error {
        self.problem(format!("there is no rank {rank} in a group of {}", self.size()))
    }

    fn problem(&self, problem: String) -> Error {
        let at = Place { call: Call::Group, window: None, rank: None };
        Error::Group { at, problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(members: &[u32]) -> Group {
        Group::of(members.iter().copied())
    }

    #[test]
    fn set_operations_keep_the_first_groups_order() {
        let (a, b) = (group(&[4, 2, 7, 1]), group(&[1, 9, 2]));
        assert_eq!(a.union(&b), group(&[4, 2, 7, 1, 9]));
        assert_eq!(a.intersection(&b), group(&[2, 1]));
        assert_eq!(a.difference(&b), group(&[4, 7]));
        assert_eq!(a.difference(&a).size(), 0);
    }

    #[test]
    fn incl_excl_and_translate_use_ranks_of_the_group() {
        let a = group(&[4, 2, 7, 1]);
        assert_eq!(a.incl(&[3, 0]).unwrap(), group(&[1, 4]));
        assert_eq!(a.excl(&[3, 0]).unwrap(), group(&[2, 7]));
        assert!(a.incl(&[4]).is_err() && a.incl(&[1, 1]).is_err() && a.excl(&[9]).is_err());
        let to = a.translate(&[0, 1], &group(&[2, 3])).unwrap();
        assert_eq!(to, [Rank::NULL, Rank(0)]);
    }

    #[test]
    fn compare_tells_order_from_membership() {
        let a = group(&[1, 2]);
        assert_eq!(a.compare(&group(&[1, 2])), Comparison::Identical);
        assert_eq!(a.compare(&group(&[2, 1])), Comparison::Similar);
        assert_eq!(a.compare(&group(&[2, 3])), Comparison::Unequal);
    }
}
