//! Groups: ordered sets of the job's ranks (MPI-2.2 §6.3, MPI-4.1 §7.3).

use crate::call::Call;
use crate::error::{Error, Place, Result};

pub use crate::rank::Rank;
use std::sync::Arc;

/// An ordered set of ranks of the job, cheap to clone. All its functions are local and do not
/// block; `MPI_Group_free` is dropping it.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world().group();
/// let last = world.incl(&[1])?;
/// assert_eq!(world.difference(&last).world_ranks(), [Rank(0)]);
/// assert_eq!(last.translate(&[0], &world)?, [Rank(1)]);
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Debug, Eq)]
pub struct Group {
    /// World ranks, each at most once, in the group's order.
    members: Arc<[u32]>,
}

/// How two groups (MPI-2.2 §6.3.1) or communicators (MPI-2.2 §6.4.1) compare.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world().group();
/// let turned = world.incl(&[1, 0])?;
/// assert_eq!(world.compare(&turned), onesided::Comparison::Similar);
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `MPI_IDENT`: same members, same order; of communicators, the same communicator.
    Identical,
    /// `MPI_CONGRUENT`: two communicators of identical groups. Groups never are.
    Congruent,
    /// `MPI_SIMILAR`: same members, another order.
    Similar,
    /// `MPI_UNEQUAL`
    Unequal,
}

impl PartialEq for Group {
    #[inline]
    fn eq(&self, other: &Group) -> bool {
        // A clone need not be compared member by member.
        Arc::ptr_eq(&self.members, &other.members) || self.members == other.members
    }
}

impl Group {
    /// The group of world ranks `0..n`.
    pub(crate) fn world(n: u32) -> Group {
        Group { members: (0..n).collect() }
    }

    pub(crate) fn of(members: impl IntoIterator<Item = u32>) -> Group {
        Group { members: members.into_iter().collect() }
    }

    /// `MPI_GROUP_EMPTY`
    #[doc(alias = "MPI_GROUP_EMPTY")]
    pub fn empty() -> Group {
        Group::of([])
    }

    /// `MPI_Group_size`
    #[doc(alias = "MPI_Group_size")]
    pub fn size(&self) -> u32 {
        self.members.len() as u32
    }

    /// Its ranks, in ascending order. `ranks().len()` is their number as a `usize`.
    pub fn ranks(&self) -> impl DoubleEndedIterator<Item = Rank> + ExactSizeIterator + use<> {
        (0..self.size()).map(Rank)
    }

    /// Whether the group has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The members as ranks of the world, in the group's order.
    pub fn world_ranks(&self) -> &[Rank] {
        bytemuck::cast_slice(&self.members)
    }

    /// [`Group::world_ranks`] as numbers.
    pub(crate) fn members(&self) -> &[u32] {
        &self.members
    }

    /// The rank that the world's rank `world` has in this group.
    #[inline]
    pub fn rank_of_world(&self, world: impl Into<Rank>) -> Option<Rank> {
        let world = world.into();
        // In most groups a rank has the same number as in the world.
        if self.members.get(world.index()) == Some(&world.0) {
            return Some(world);
        }
        self.members.iter().position(|member| world == *member).map(|i| Rank(i as u32))
    }

    /// `MPI_Group_incl`: the members at `ranks`, in that order.
    ///
    /// # Errors
    /// [`Error::Group`] for a rank that is not in the group or is named twice.
    #[doc(alias = "MPI_Group_incl")]
    pub fn incl<R: Copy + Into<Rank>>(&self, ranks: &[R]) -> Result<Group> {
        let mut members: Vec<u32> = Vec::with_capacity(ranks.len());
        for rank in ranks {
            let Rank(rank) = (*rank).into();
            let member = *self.members.get(rank as usize).ok_or_else(|| self.no_rank(rank))?;
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
    #[doc(alias = "MPI_Group_excl")]
    pub fn excl<R: Copy + Into<Rank>>(&self, ranks: &[R]) -> Result<Group> {
        Ok(self.difference(&self.incl(ranks)?))
    }

    /// `MPI_Group_range_incl`: [`Group::incl`] of the ranks of all `ranges`, each (first, last,
    /// stride): first, first + stride and so on, up to last or, with a negative stride, down to it.
    ///
    /// # Errors
    /// [`Error::Group`] for a stride of zero or one that leads away from last, and for a rank that is
    /// not in the group or is named twice.
    #[doc(alias = "MPI_Group_range_incl")]
    pub fn range_incl(&self, ranges: &[(u32, u32, i32)]) -> Result<Group> {
        self.incl(&self.ranks_in(ranges)?)
    }

    /// `MPI_Group_range_excl`: [`Group::excl`] of the ranks of all `ranges`, given as for
    /// [`Group::range_incl`].
    ///
    /// # Errors
    /// [`Error::Group`] for a stride of zero or one that leads away from last, and for a rank that is
    /// not in the group or is named twice.
    #[doc(alias = "MPI_Group_range_excl")]
    pub fn range_excl(&self, ranges: &[(u32, u32, i32)]) -> Result<Group> {
        self.excl(&self.ranks_in(ranges)?)
    }

    /// The ranks that `ranges` name, until one is not in the group.
    fn ranks_in(&self, ranges: &[(u32, u32, i32)]) -> Result<Vec<u32>> {
        let mut ranks = Vec::new();
        for (first, last, stride) in ranges {
            let (from, to, step) = (i64::from(*first), i64::from(*last), i64::from(*stride));
            if step == 0 || (to - from).signum() == -step.signum() {
                let problem = format!("stride {stride} does not lead from rank {first} to {last}");
                return Err(self.problem(problem));
            }
            for k in 0..=(to - from) / step {
                let rank = u32::try_from(from + k * step).unwrap_or(u32::MAX);
                if rank >= self.size() {
                    return Err(self.no_rank(rank));
                }
                ranks.push(rank);
            }
        }
        Ok(ranks)
    }

    /// `MPI_Group_union`: this group's members, then the other members of `other`.
    #[doc(alias = "MPI_Group_union")]
    pub fn union(&self, other: &Group) -> Group {
        let new = other.members.iter().filter(|m| !self.members.contains(m));
        Group::of(self.members.iter().chain(new).copied())
    }

    /// `MPI_Group_intersection`: the members that are in `other` too.
    #[doc(alias = "MPI_Group_intersection")]
    pub fn intersection(&self, other: &Group) -> Group {
        Group::of(self.members.iter().filter(|m| other.members.contains(m)).copied())
    }

    /// `MPI_Group_difference`: the members that are not in `other`.
    #[doc(alias = "MPI_Group_difference")]
    pub fn difference(&self, other: &Group) -> Group {
        Group::of(self.members.iter().filter(|m| !other.members.contains(m)).copied())
    }

    /// `MPI_Group_translate_ranks`: for each of `ranks` of this group its rank in `other`, or
    /// [`Rank::NULL`] for `MPI_UNDEFINED`; and for `MPI_PROC_NULL`, itself.
    ///
    /// # Errors
    /// [`Error::Group`] for a rank that is not in this group.
    #[doc(alias = "MPI_Group_translate_ranks")]
    pub fn translate<R: Copy + Into<Rank>>(&self, ranks: &[R], other: &Group) -> Result<Vec<Rank>> {
        let translated = |rank: Rank| match self.members.get(rank.index()) {
            Some(world) => Ok(other.rank_of_world(*world).unwrap_or(Rank::NULL)),
            None if rank == Rank::NULL => Ok(Rank::NULL),
            None => Err(self.no_rank(rank.0)),
        };
        ranks.iter().map(|rank| translated((*rank).into())).collect()
    }

    /// `MPI_Group_compare`
    #[doc(alias = "MPI_Group_compare")]
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
        assert_eq!(a.translate(&[Rank::NULL.0], &a).unwrap(), [Rank::NULL]);
        assert!(a.translate(&[4], &a).is_err());
    }

    #[test]
    fn ranges_go_up_and_down() {
        let a = group(&[10, 11, 12, 13, 14, 15, 16]);
        let incl = |ranges: &[_]| a.range_incl(ranges).map(|group| group.world_ranks().to_vec());
        assert_eq!(incl(&[(1, 6, 2), (4, 0, -4)]).unwrap(), [11, 13, 15, 14, 10]);
        assert_eq!(incl(&[(6, 1, -3), (2, 2, -1), (5, 5, 9)]).unwrap(), [16, 13, 12, 15]);
        assert_eq!(incl(&[(0, 9, 5)]).unwrap(), [10, 15], "last itself need not be a rank");
        assert!(incl(&[]).unwrap().is_empty());
        let rest = a.range_excl(&[(0, 4, 2), (6, 6, 1)]).unwrap();
        assert_eq!(rest, group(&[11, 13, 15]));
        for bad in [(0, 3, 0), (3, 0, 1), (0, 3, -1), (5, 8, 1), (0, u32::MAX, 1)] {
            let error = a.range_incl(&[bad]).unwrap_err();
            assert_eq!(error.class(), crate::ErrorClass::Group, "{bad:?}");
            assert!(a.range_excl(&[bad]).is_err(), "{bad:?}");
        }
        assert!(a.range_incl(&[(0, 4, 2), (4, 5, 1)]).is_err(), "4 is named twice");
    }

    #[test]
    fn compare_tells_order_from_membership() {
        let a = group(&[1, 2]);
        assert_eq!(a.compare(&group(&[1, 2])), Comparison::Identical);
        assert_eq!(a.compare(&group(&[2, 1])), Comparison::Similar);
        assert_eq!(a.compare(&group(&[2, 3])), Comparison::Unequal);
    }
}
