//! Communicators made by all ranks of another: dup, create, split. A new one inherits the error handler,
//! not the name or the info. If one of several cannot be made, none is, and every rank gets the error.

use super::description::Description;
use super::exchange::Collective;
use super::foreign::OtherComm;
use super::handles::Attached;
use super::outcome::{CreationOutcome, OutcomeWords};
use super::shared::{self, SharedBlock};
use super::{Comm, CommMembers, Inner};
use crate::attribute::Attributes;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::foreign::{ForeignComm, ForeignDuplicate};
use crate::group::Group;
use bytemuck::{Pod, Zeroable};
use std::collections::{BTreeMap, HashMap};
use std::panic::Location;

/// The property by which [`Comm::split_type`] splits (MPI-4.1 §7.4.2).
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let near = universe.world().split_type(Some(onesided::SplitType::Shared), 0, &onesided::Info::new())?;
/// assert_eq!(near.expect("all ranks share memory").size(), 2);
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SplitType {
    /// `MPI_COMM_TYPE_SHARED`: ranks that can share memory. These are all ranks; under another MPI's
    /// launcher, those of one node.
    Shared,
}

/// A communicator of the same ranks, with the attributes that its keys copy; in the call of the program at
/// `line`.
pub(super) fn dup(comm: &Comm, line: &'static Location<'static>) -> Result<Comm> {
    let at = comm.place(Call::CommDup);
    let attributes = comm.inner.attached.attributes.copy(&at, comm);
    let group = comm.group();
    let made = Collective::begin(comm, Call::CommDup, line).and_then(|mut dup| {
        let groups = std::slice::from_ref(&group);
        let block = dup.block(groups, attributes.is_err())?;
        Ok((block, dup.split_by(groups)?))
    });
    // This rank's own error has more detail than the common one.
    let attributes = attributes?;
    let (block, foreign) = made.inspect_err(|_| {
        // The copies are not needed; the call already returns another error.
        let _ = attributes.delete_all(&at, comm);
    })?;
    child(comm, group, block, foreign, attributes)
}

/// Whether all of `group` are ranks of this communicator.
pub(super) fn check_subgroup(of: &CommMembers, call: Call, group: &Group) -> Result<()> {
    match group.difference(&of.group).members() {
        [] => Ok(()),
        [world, ..] => {
            let problem = format!("rank {world} of the job is not in the communicator");
            Err(Error::Group { at: of.place(call), problem })
        }
    }
}

/// The different groups of `all`, which has one for each rank, padded with `u32::MAX`. An error if the
/// members of a group disagree. The same result on all ranks.
fn groups_given(of: &CommMembers, all: &[u32]) -> Result<Vec<Group>> {
    let lists: Vec<&[u32]> = all
        .chunks_exact(of.world_ranks().len())
        .map(|list| &list[..list.iter().position(|rank| *rank == u32::MAX).unwrap_or(list.len())])
        .collect();
    if lists.iter().any(|list| list.iter().any(|rank| *rank >= of.size())) {
        return Err(Error::Damaged { what: "group of a communicator" });
    }
    let mut different: Vec<&[u32]> = Vec::new();
    let mut numbers: HashMap<&[u32], usize> = HashMap::new();
    let mut number = |list| {
        *numbers.entry(list).or_insert_with(|| {
            different.push(list);
            different.len() - 1
        })
    };
    let given: Vec<usize> = lists.iter().map(|list| number(list)).collect();
    for (rank, list) in lists.iter().enumerate() {
        if let Some(other) = list.iter().find(|member| given[**member as usize] != given[rank]) {
            let problem =
                format!("rank {rank} gives a group with rank {other}, which gives another group");
            return Err(Error::Group { at: of.place(Call::CommCreate), problem });
        }
    }
    let world = of.world_ranks();
    let group = |list: &&[u32]| Group::of(list.iter().map(|rank| world[*rank as usize]));
    Ok(different.iter().filter(|list| !list.is_empty()).map(group).collect())
}

/// The communicator of `group`, which this rank is in, with the shared block at `block`, or that of
/// another MPI. If all members share the segment, it needs none.
pub(super) fn child(
    comm: &Comm,
    group: Group,
    block: u64,
    other: Option<OtherComm>,
    attributes: Attributes<Comm>,
) -> Result<Comm> {
    let context = comm.context().clone();
    let shared = SharedBlock::at(block, group.size(), &context.segment)?;
    let mut inner = Inner::new(context, group, shared, other);
    inner.attached = Attached::inherited(comm.error_handler(), attributes);
    Ok(inner.handle())
}

/// A pending duplicate: what this rank has done for it.
pub(crate) struct Duplicate {
    attributes: Result<Attributes<Comm>>,
    outcome: CreationOutcome,
    /// That of another MPI.
    foreign: Option<ForeignDuplicate>,
}

/// [`Comm::begin_duplicate`].
pub(super) fn begin_duplicate(comm: &Comm) -> (Duplicate, CreationVote) {
    let copies = || comm.inner.attached.attributes.copy(&comm.place(Call::CommDup), comm);
    let (foreign, attributes) = match comm.foreign().map(ForeignComm::begin_dup).transpose() {
        Ok(foreign) => (foreign, copies()),
        Err(refusal) => (None, Err(comm.refused(Call::CommDup, refusal))),
    };
    let group = &comm.inner.members.group;
    let leads = leads(comm, group);
    let outcome = match leads && attributes.is_ok() {
        true => CreationOutcome::of(shared::allocate(comm.context(), comm.size())),
        false => CreationOutcome::from(OutcomeWords::zeroed()),
    };
    let number = foreign.as_ref().map_or(0, |_| OtherComm::number(comm.context()));
    let refuses = u64::from(attributes.is_err());
    let vote = CreationVote { words: outcome.words, refuses, number };
    (Duplicate { attributes, outcome, foreign }, vote)
}

/// [`Comm::end_duplicate`].
pub(super) fn end_duplicate(
    comm: &Comm,
    mut made: Duplicate,
    vote: &[CreationVote],
) -> Result<Comm> {
    let foreign = made.foreign.take().map(ForeignDuplicate::wait).transpose();
    let foreign = foreign.map_err(|refusal| comm.refused(Call::CommDup, refusal))?;
    let leader = leader(comm, &comm.inner.members.group);
    let words = decided(comm, Call::CommDup, vote, &[leader]);
    let outcome = words.map(|words| CreationOutcome::from(words[0]));
    let bytes = comm.context().segment.layout().comm_block_bytes(comm.size());
    match outcome.and_then(|outcome| outcome.block(comm, Call::CommDup, bytes)) {
        Ok(block) => {
            let number = vote.first().map_or(0, |vote| vote.number);
            let other = foreign.map(|foreign| OtherComm::numbered(foreign, number));
            child(comm, comm.group(), block, other, made.attributes?)
        }
        Err(error) => {
            // The error that all ranks get is the one to report.
            let _ = foreign.map(ForeignComm::free);
            Err(give_duplicate_up(comm, made, error))
        }
    }
}

/// [`Comm::give_duplicate_up`].
pub(super) fn give_duplicate_up(comm: &Comm, made: Duplicate, error: Error) -> Error {
    if made.outcome.words.block != 0 {
        let heap = comm.context().segment.heap();
        let _ = heap.free(made.outcome.words.block, &comm.context().excluded());
    }
    match made.attributes {
        Ok(copies) => {
            let _ = copies.delete_all(&comm.place(Call::CommDup), comm);
            error
        }
        Err(refusal) => refusal,
    }
}

/// What a rank sends to all others during the creation of communicators.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct CreationVote {
    /// The outcome of its allocation, if it leads a group.
    words: OutcomeWords,
    /// Whether it refuses the communicator.
    refuses: u64,
    /// The number that it would give the communicator of another MPI.
    number: u64,
}

impl Collective<'_> {
    /// The communicator of `group`, or of the one of several groups that this rank is in.
    pub(super) fn create(&mut self, group: &Group) -> Result<Option<Comm>> {
        let comm = self.comm;
        let mut mine = vec![u32::MAX; comm.ranks().len()];
        for (mine, world) in mine.iter_mut().zip(group.members()) {
            *mine = comm.rank_of_world(*world).map_or(u32::MAX, |rank| rank.0);
        }
        if let Err(error) = check_subgroup(comm.members(), Call::CommCreate, group) {
            return Err(self.refuse(Description::bare(Call::CommCreate), error));
        }
        let all = self.allgather(&mine)?;
        let groups = groups_given(comm.members(), &all)?;
        self.make(&groups)
    }

    /// The communicator of the ranks with the same colour, in the order of their keys.
    pub(super) fn split(&mut self, colour: Option<u32>, key: i32) -> Result<Option<Comm>> {
        let comm = self.comm;
        let wish = [colour.map_or(-1, i64::from), i64::from(key)];
        let mut colours: BTreeMap<i64, Vec<(i64, u32)>> = BTreeMap::new();
        let wishes = self.allgather(&wish)?;
        for (wish, world) in wishes.chunks_exact(2).zip(comm.inner.members.group.members()) {
            colours.entry(wish[0]).or_default().push((wish[1], *world));
        }
        colours.remove(&-1);
        let groups = colours.into_values().map(|mut members| {
            // Stable: equal keys stay in the order of the ranks.
            members.sort_by_key(|(key, _)| *key);
            Group::of(members.into_iter().map(|(_, world)| world))
        });
        self.make(&groups.collect::<Vec<_>>())
    }

    /// Makes the communicators of `groups`, which are disjoint and the same on all ranks; returns
    /// that of this rank.
    fn make(&mut self, groups: &[Group]) -> Result<Option<Comm>> {
        let block = self.block(groups, false)?;
        let other = self.split_by(groups)?;
        let child =
            |k: usize| child(self.comm, groups[k].clone(), block, other, Attributes::default());
        own(self.comm, groups).map(child).transpose()
    }

    /// The offset of the shared block of that group of `groups` that this rank is in, zero without one; or the same
    /// error on all ranks.
    fn block(&mut self, groups: &[Group], refuses: bool) -> Result<u64> {
        let (comm, call) = (self.comm, self.call);
        let own = own(comm, groups);
        let led = own.filter(|k| leads(comm, &groups[*k]));
        let mut mine = match led {
            Some(k) if !refuses => {
                CreationOutcome::of(shared::allocate(comm.context(), groups[k].size()))
            }
            _ => CreationOutcome::from(OutcomeWords::zeroed()),
        };
        let vote = CreationVote { words: mine.words, refuses: u64::from(refuses), number: 0 };
        let leaders: Vec<u32> = groups.iter().map(|group| leader(comm, group)).collect();
        let block = self.send_outcomes(&vote, &leaders).and_then(|words| {
            let mut block = 0;
            for (k, words) in words.into_iter().enumerate() {
                let words = CreationOutcome::from(words);
                let outcome =
                    if led == Some(k) { std::mem::replace(&mut mine, words) } else { words };
                let bytes = comm.context().segment.layout().comm_block_bytes(groups[k].size());
                // Those of other groups may be in other segments.
                match own == Some(k) {
                    true => block = outcome.block(comm, call, bytes)?,
                    false => outcome.check(comm, call, bytes)?,
                }
            }
            Ok(block)
        });
        if block.is_err() && vote.words.block != 0 {
            // The error that all ranks get is the one to report.
            let _ =
                comm.context().segment.heap().free(vote.words.block, &comm.context().excluded());
        }
        block
    }

    /// Sends this rank's outcome to all ranks and returns the leaders' outcomes, unless a rank refuses.
    fn send_outcomes(&mut self, vote: &CreationVote, leaders: &[u32]) -> Result<Vec<OutcomeWords>> {
        let (comm, call) = (self.comm, self.call);
        let staged = self.exchange(&Description::bare(call), bytemuck::bytes_of(vote))?;
        let mut all = vec![CreationVote::zeroed(); comm.ranks().len()];
        for (rank, vote) in all.iter_mut().enumerate() {
            staged.bytes(rank as u32, 0, bytemuck::bytes_of_mut(vote))?;
        }
        decided(comm, call, &all, leaders)
    }
}

/// The leaders' outcomes, from the votes of all ranks, unless a rank refuses.
fn decided(
    comm: &Comm,
    call: Call,
    all: &[CreationVote],
    leaders: &[u32],
) -> Result<Vec<OutcomeWords>> {
    if let Some(rank) = all.iter().position(|vote| vote.refuses != 0) {
        let problem = format!("a copy callback of rank {rank} refuses");
        return Err(Error::Attribute { at: comm.place(call), problem });
    }
    let words =
        |leader: &u32| all.get(*leader as usize).map_or(OutcomeWords::zeroed(), |vote| vote.words);
    Ok(leaders.iter().map(words).collect())
}

/// Which of `groups` this rank is in.
fn own(comm: &Comm, groups: &[Group]) -> Option<usize> {
    let world = comm.context().rank;
    groups.iter().position(|group| group.rank_of_world(world).is_some())
}

/// Whether this rank, a member, allocates for `group`: if all members share the segment. Others use another MPI,
/// which has communicators.
fn leads(comm: &Comm, group: &Group) -> bool {
    leader(comm, group) == comm.rank().0 && comm.context().reaches_all(group.members())
}

/// The rank of `comm` that allocates for `group`, if one does. None for a group of one, which needs no shared block.
fn leader(comm: &Comm, group: &Group) -> u32 {
    match group.members() {
        [first, _, ..] => comm.rank_of_world(*first).map_or(u32::MAX, |rank| rank.0),
        _ => u32::MAX,
    }
}
