//! Groups (MPI-4.1 §7.3).

use crate::abi::*;
use crate::arguments::{ConstPtr, Ptr};
use crate::comm::rank_of;
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use onesided::{Comparison, Group, Rank};
use std::ffi::c_int;

/// The handle of a group that a call makes.
pub(super) fn give(group: Group) -> MPI_Group {
    match group.is_empty() {
        true => Handle::predefined(MPI_GROUP_EMPTY),
        false => Handle::new(group),
    }
}

/// A number as C has it.
pub(super) fn comparison(comparison: Comparison) -> c_int {
    match comparison {
        Comparison::Identical => MPI_IDENT,
        Comparison::Congruent => MPI_CONGRUENT,
        Comparison::Similar => MPI_SIMILAR,
        Comparison::Unequal => MPI_UNEQUAL,
    }
}

/// The length of an array of the program.
pub(super) fn length(n: c_int) -> Outcome<usize> {
    usize::try_from(n).map_err(|_| Failure::new(MPI_ERR_ARG, format!("the count {n} is negative")))
}

/// A rank of a list, which must be below `size` and not `MPI_PROC_NULL`.
fn member(rank: c_int, size: u32) -> Outcome<u32> {
    match rank_of(rank, size)? {
        Rank::NULL => Err(Failure::new(MPI_ERR_RANK, "MPI_PROC_NULL is in no group")),
        Rank(rank) => Ok(rank),
    }
}

fn members(group: &Group, n: c_int, ranks: ConstPtr<c_int>) -> Outcome<Vec<u32>> {
    let ranks = ranks.list(length(n)?)?;
    ranks.into_iter().map(|rank| member(rank, group.size())).collect()
}

/// An error of a list of ranks has the class of a wrong rank.
fn of_ranks(group: onesided::Result<Group>) -> Outcome<Group> {
    group.map_err(|error| Failure::new(MPI_ERR_RANK, error.to_string()))
}

/// Triplets of the program, changed so that the last rank of each range belongs to it.
fn ranges(group: &Group, n: c_int, ranges: ConstPtr<[c_int; 3]>) -> Outcome<Vec<(u32, u32, i32)>> {
    let triplet = |[first, last, stride]: [c_int; 3]| {
        let (from, to, step) = (i64::from(first), i64::from(last), i64::from(stride));
        if step == 0 || (to - from).signum() == -step.signum() {
            let why = format!("the stride {stride} does not lead from rank {first} to {last}");
            return Err(Failure::new(MPI_ERR_ARG, why));
        }
        let last = (from + (to - from) / step * step) as c_int;
        Ok((member(first, group.size())?, member(last, group.size())?, stride))
    };
    ranges.list(length(n)?)?.into_iter().map(triplet).collect()
}

/// `MPI_Group_size`
pub fn group_size(group: MPI_Group, size: Ptr<c_int>) -> Outcome {
    size.set(group.get()?.size() as c_int)
}

/// `MPI_Group_rank`
pub fn group_rank(group: MPI_Group, rank: Ptr<c_int>) -> Outcome {
    let own = crate::job::world()?.rank().0;
    let found = group.get()?.rank_of_world(own);
    rank.set(found.map_or(MPI_UNDEFINED, |rank| rank.0 as c_int))
}

/// `MPI_Group_translate_ranks`
pub fn group_translate_ranks(
    group1: MPI_Group,
    n: c_int,
    ranks1: ConstPtr<c_int>,
    group2: MPI_Group,
    ranks2: Ptr<c_int>,
) -> Outcome {
    let (from, to) = (group1.get()?, group2.get()?);
    let mut translated = Vec::new();
    for rank in ranks1.list(length(n)?)? {
        translated.push(match rank_of(rank, from.size())? {
            Rank::NULL => MPI_PROC_NULL,
            Rank(rank) => match from.translate(&[rank], to)?[0] {
                Rank::NULL => MPI_UNDEFINED,
                Rank(rank) => rank as c_int,
            },
        });
    }
    ranks2.set_all(translated)
}

/// `MPI_Group_compare`
pub fn group_compare(group1: MPI_Group, group2: MPI_Group, result: Ptr<c_int>) -> Outcome {
    result.set(comparison(group1.get()?.compare(group2.get()?)))
}

/// `MPI_Group_union`
pub fn group_union(group1: MPI_Group, group2: MPI_Group, newgroup: Ptr<MPI_Group>) -> Outcome {
    newgroup.set(give(group1.get()?.union(group2.get()?)))
}

/// `MPI_Group_intersection`
pub fn group_intersection(
    group1: MPI_Group,
    group2: MPI_Group,
    newgroup: Ptr<MPI_Group>,
) -> Outcome {
    newgroup.set(give(group1.get()?.intersection(group2.get()?)))
}

/// `MPI_Group_difference`
pub fn group_difference(group1: MPI_Group, group2: MPI_Group, newgroup: Ptr<MPI_Group>) -> Outcome {
    newgroup.set(give(group1.get()?.difference(group2.get()?)))
}

/// `MPI_Group_incl`
pub fn group_incl(
    group: MPI_Group,
    n: c_int,
    ranks: ConstPtr<c_int>,
    newgroup: Ptr<MPI_Group>,
) -> Outcome {
    let group = group.get()?;
    newgroup.set(give(of_ranks(group.incl(&members(group, n, ranks)?))?))
}

/// `MPI_Group_excl`
pub fn group_excl(
    group: MPI_Group,
    n: c_int,
    ranks: ConstPtr<c_int>,
    newgroup: Ptr<MPI_Group>,
) -> Outcome {
    let group = group.get()?;
    newgroup.set(give(of_ranks(group.excl(&members(group, n, ranks)?))?))
}

/// `MPI_Group_range_incl`
pub fn group_range_incl(
    group: MPI_Group,
    n: c_int,
    ranges: ConstPtr<[c_int; 3]>,
    newgroup: Ptr<MPI_Group>,
) -> Outcome {
    let group = group.get()?;
    newgroup.set(give(of_ranks(group.range_incl(&self::ranges(group, n, ranges)?))?))
}

/// `MPI_Group_range_excl`
pub fn group_range_excl(
    group: MPI_Group,
    n: c_int,
    ranges: ConstPtr<[c_int; 3]>,
    newgroup: Ptr<MPI_Group>,
) -> Outcome {
    let group = group.get()?;
    newgroup.set(give(of_ranks(group.range_excl(&self::ranges(group, n, ranges)?))?))
}

/// `MPI_Group_free`. Calls that give an empty group may give `MPI_GROUP_EMPTY`, so it may be freed.
pub fn group_free(group: Ptr<MPI_Group>) -> Outcome {
    let handle = group.get()?;
    if handle != Handle::predefined(MPI_GROUP_EMPTY) {
        handle.remove()?;
    }
    group.set(Handle::NULL)
}
