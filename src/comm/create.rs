//! Communicators made by all ranks of another: dup, create, split.

use super::description::Description;
use super::exchange::Collective;
use super::outcome::{CreationOutcome, OutcomeWords};
use super::shared::{self, SharedBlock};
use super::{Comm, Inner};
use crate::attribute::Attributes;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::foreign;
use crate::group::Group;
use crate::info::Info;
use crate::shm::comm_block_bytes;
use bytemuck::{Pod, Zeroable};
use std::collections::{BTreeMap, HashMap};
use std::panic::Location;
use std::sync::RwLock;

/// By what [`Comm::split_type`] splits (MPI-4.1 §7.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SplitType {
    /// `MPI_COMM_TYPE_SHARED`: ranks that can share memory, which are all; under another MPI's
    /// launcher, where none can, each alone.
    Shared,
}

/// New communicators take over the error handler and neither name nor info of the old one. If one
/// of several that a call makes cannot be made, none is, and every rank gets the error.
impl Comm {
    /// `MPI_Comm_dup` (MPI-2.2 §6.4.2): a communicator of the same ranks in the same order, whose
    /// collectives do not meet those of this one. Attributes are copied as their keys say.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Attribute`] on all ranks if a copy callback of any of them fails;
    /// [`Error::NoMemory`] on all ranks; those of any collective ([`Comm`]).
    #[track_caller]
    pub fn dup(&self) -> Result<Comm> {
        let line = Location::caller();
        self.within(Call::CommDup, || {
            let at = self.place(Call::CommDup);
            let attributes = self.inner.attributes.copy(&at, self);
            let group = self.group();
            let made = self.begin(Call::CommDup, line).and_then(|mut dup| {
                let groups = std::slice::from_ref(&group);
                let blocks = dup.blocks(groups, attributes.is_err())?;
                Ok((blocks[0], dup.split_by(groups)?))
            });
            // The own refusal says more than what all ranks are told.
            let attributes = attributes?;
            let (block, foreign) = made.inspect_err(|_| {
                // What was copied for nothing; the error of the call is the other one.
                let _ = attributes.delete_all(&at, self);
            })?;
            self.child(group, block, foreign, attributes)
        })
    }

    /// `MPI_Comm_dup_with_info` (MPI-4.1 §7.4.2): as [`Comm::dup`]; of the info goes what
    /// [`Comm::set_info`] says.
    ///
    /// # Errors
    /// [`Error::Attribute`] on all ranks if a copy callback of any of them fails;
    /// [`Error::NoMemory`] on all ranks; those of any collective ([`Comm`]).
    #[track_caller]
    pub fn dup_with_info(&self, info: &Info) -> Result<Comm> {
        let _ignored = info;
        self.dup()
    }

    /// `MPI_Comm_create` (MPI-2.2 §6.4.2): a communicator of the ranks of `group` in its order, or
    /// several of disjoint groups. All members of a group give that group; other ranks may give it
    /// too, or an empty one, and get `None`.
    ///
    /// Collective over this communicator; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Group`] on all ranks if the members of a group give different ones, and on a rank
    /// whose group is not part of this communicator (the others then get [`Error::Mismatch`]);
    /// [`Error::NoMemory`] on all ranks; those of any collective ([`Comm`]).
    #[track_caller]
    pub fn create(&self, group: &Group) -> Result<Option<Comm>> {
        self.collectively(Call::CommCreate, |create| {
            let mut mine = vec![u32::MAX; self.size() as usize];
            for (mine, world) in mine.iter_mut().zip(group.members()) {
                *mine = self.rank_of_world(*world).map_or(u32::MAX, |rank| rank.0);
            }
            if let Err(error) = self.check_subgroup(Call::CommCreate, group) {
                return Err(create.refuse(Description::bare(Call::CommCreate), error));
            }
            let all = create.allgather(&mine)?;
            let groups = self.groups_given(&all)?;
            create.make(&groups)
        })
    }

    /// `MPI_Comm_split` (MPI-2.2 §6.4.2): one communicator for each colour, of the ranks that give
    /// it, in the order of their keys, and of equal keys in the order of this communicator. `None`
    /// is `MPI_UNDEFINED` and gets `None`.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::NoMemory`] on all ranks; those of any collective ([`Comm`]).
    #[track_caller]
    pub fn split(&self, colour: Option<u32>, key: i32) -> Result<Option<Comm>> {
        self.collectively(Call::CommSplit, |split| {
            let wish = [colour.map_or(-1, i64::from), i64::from(key)];
            let mut colours: BTreeMap<i64, Vec<(i64, u32)>> = BTreeMap::new();
            let wishes = split.allgather(&wish)?;
            for (wish, world) in wishes.chunks_exact(2).zip(self.inner.group.members()) {
                colours.entry(wish[0]).or_default().push((wish[1], *world));
            }
            colours.remove(&-1);
            let groups = colours.into_values().map(|mut members| {
                // Stable: equal keys stay in the order of the ranks.
                members.sort_by_key(|(key, _)| *key);
                Group::of(members.into_iter().map(|(_, world)| world))
            });
            split.make(&groups.collect::<Vec<_>>())
        })
    }

    /// `MPI_Comm_split_type` (MPI-4.1 §7.4.2): as [`Comm::split`], by a property of the machine.
    /// `None` is `MPI_UNDEFINED`. Of the info goes what [`Comm::set_info`] says.
    ///
    /// # Errors
    /// [`Error::NoMemory`] on all ranks; those of any collective ([`Comm`]).
    #[track_caller]
    pub fn split_type(
        &self,
        split_type: Option<SplitType>,
        key: i32,
        info: &Info,
    ) -> Result<Option<Comm>> {
        let _ignored = info;
        // Under another MPI, no rank shares memory with another.
        let machine = self.foreign().map_or(0, |_| self.rank().0);
        self.split(split_type.map(|SplitType::Shared| machine), key)
    }

    /// Whether all of `group` are ranks of this communicator.
    pub(super) fn check_subgroup(&self, call: Call, group: &Group) -> Result<()> {
        match group.difference(&self.inner.group).members() {
            [] => Ok(()),
            [world, ..] => {
                let problem = format!("rank {world} of the job is not in the communicator");
                Err(Error::Group { at: self.place(call), problem })
            }
        }
    }

    /// The different groups of `all`, which holds one of each rank, filled up with `u32::MAX`; if
    /// the members of each agree on it. The same result on all ranks.
    fn groups_given(&self, all: &[u32]) -> Result<Vec<Group>> {
        let lists: Vec<&[u32]> = all
            .chunks_exact(self.size() as usize)
            .map(|list| {
                &list[..list.iter().position(|rank| *rank == u32::MAX).unwrap_or(list.len())]
            })
            .collect();
        if lists.iter().any(|list| list.iter().any(|rank| *rank >= self.size())) {
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
            if let Some(other) = list.iter().find(|member| given[**member as usize] != given[rank])
            {
                let problem = format!(
                    "rank {rank} gives a group with rank {other}, which gives another group"
                );
                return Err(Error::Group { at: self.place(Call::CommCreate), problem });
            }
        }
        let world = self.inner.group.members();
        let group = |list: &&[u32]| Group::of(list.iter().map(|rank| world[*rank as usize]));
        Ok(different.iter().filter(|list| !list.is_empty()).map(group).collect())
    }

    /// The communicator of `group`, which this rank is in, with the shared block at `block`, or that of
    /// another MPI.
    pub(super) fn child(
        &self,
        group: Group,
        block: u64,
        foreign: Option<foreign::ForeignComm>,
        attributes: Attributes<Comm>,
    ) -> Result<Comm> {
        let context = self.context().clone();
        let shared = SharedBlock::at(block, group.size(), &context.segment)?;
        let mut inner = Inner::new(context, group, shared, foreign);
        inner.handler = RwLock::new(self.error_handler());
        inner.attributes = attributes;
        Ok(inner.handle())
    }
}

/// A duplicate that is being made: what this rank has done for it.
pub(crate) struct Duplicate {
    attributes: Result<Attributes<Comm>>,
    outcome: CreationOutcome,
}

/// A duplication in two halves, between which every rank is told what all have said.
impl Comm {
    /// The first half: copies the attributes and, on the first rank, takes the shared block. Waits for nobody
    /// but who is allocating.
    pub(crate) fn begin_duplicate(&self) -> (Duplicate, CreationVote) {
        let attributes = self.inner.attributes.copy(&self.place(Call::CommDup), self);
        let leads = leader(self, &self.inner.group) == self.rank().0;
        let outcome = match leads && attributes.is_ok() {
            true => CreationOutcome::of(shared::allocate(self.context(), self.size())),
            false => CreationOutcome::from(OutcomeWords::zeroed()),
        };
        let vote = CreationVote { words: outcome.words, refuses: u64::from(attributes.is_err()) };
        (Duplicate { attributes, outcome }, vote)
    }

    /// The second half: `said` is what all ranks have said, in rank order.
    pub(crate) fn end_duplicate(&self, made: Duplicate, vote: &[CreationVote]) -> Result<Comm> {
        let leader = leader(self, &self.inner.group);
        let words = decided(self, Call::CommDup, vote, &[leader]);
        let outcome = words.map(|words| CreationOutcome::from(words[0]));
        let bytes = comm_block_bytes(self.size());
        match outcome.and_then(|outcome| outcome.block(self, Call::CommDup, bytes)) {
            Ok(block) => self.child(self.group(), block, None, made.attributes?),
            Err(error) => Err(self.give_duplicate_up(made, error)),
        }
    }

    /// Undoes the first half, because of an error; the one to report, which is the own refusal if this
    /// rank has refused.
    pub(crate) fn give_duplicate_up(&self, made: Duplicate, error: Error) -> Error {
        if made.outcome.words.block != 0 {
            let heap = self.context().segment.heap();
            let _ = heap.free(made.outcome.words.block, &self.context().excluded());
        }
        match made.attributes {
            Ok(copies) => {
                let _ = copies.delete_all(&self.place(Call::CommDup), self);
                error
            }
            Err(refusal) => refusal,
        }
    }
}

/// What a rank tells all others while communicators are made.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct CreationVote {
    /// The outcome of its allocation, if it leads a group.
    words: OutcomeWords,
    /// Whether it does not want the communicator that it could have.
    refuses: u64,
}

impl Collective<'_> {
    /// Makes the communicators of `groups`, which are disjoint and the same on all ranks; returns
    /// that of this rank.
    fn make(&mut self, groups: &[Group]) -> Result<Option<Comm>> {
        let blocks = self.blocks(groups, false)?;
        let world = self.comm.context().rank;
        let own = groups.iter().position(|group| group.rank_of_world(world).is_some());
        let foreign = self.split_by(groups)?;
        let child = |k: usize| {
            self.comm.child(groups[k].clone(), blocks[k], foreign, Attributes::default())
        };
        own.map(child).transpose()
    }

    /// The offsets of the shared blocks of `groups`, or the same error on all ranks.
    fn blocks(&mut self, groups: &[Group], refuses: bool) -> Result<Vec<u64>> {
        let (comm, call) = (self.comm, self.call);
        let leaders: Vec<u32> = groups.iter().map(|group| leader(comm, group)).collect();
        let led = leaders.iter().position(|leader| *leader == comm.rank().0);
        let mut mine = match led {
            Some(k) if !refuses => {
                CreationOutcome::of(shared::allocate(comm.context(), groups[k].size()))
            }
            _ => CreationOutcome::from(OutcomeWords::zeroed()),
        };
        let vote = CreationVote { words: mine.words, refuses: u64::from(refuses) };
        let blocks = self.tell(&vote, &leaders).and_then(|words| {
            let outcomes = words.into_iter().enumerate().map(|(k, words)| {
                let words = CreationOutcome::from(words);
                let outcome =
                    if led == Some(k) { std::mem::replace(&mut mine, words) } else { words };
                outcome.block(comm, call, comm_block_bytes(groups[k].size()))
            });
            outcomes.collect::<Result<Vec<_>>>()
        });
        if blocks.is_err() && vote.words.block != 0 {
            // The error that all ranks get is the one to report.
            let _ =
                comm.context().segment.heap().free(vote.words.block, &comm.context().excluded());
        }
        blocks
    }

    /// Tells all ranks and returns what the leaders tell, unless a rank refuses.
    fn tell(&mut self, vote: &CreationVote, leaders: &[u32]) -> Result<Vec<OutcomeWords>> {
        let (comm, call) = (self.comm, self.call);
        let staged = self.exchange(&Description::bare(call), bytemuck::bytes_of(vote))?;
        let mut all = vec![CreationVote::zeroed(); comm.size() as usize];
        for (rank, vote) in all.iter_mut().enumerate() {
            staged.bytes(rank as u32, 0, bytemuck::bytes_of_mut(vote))?;
        }
        decided(comm, call, &all, leaders)
    }
}

/// What the leaders tell, of what all ranks have said, unless a rank refuses.
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

/// The rank of `comm` that allocates for `group`; no rank for a group of one, which needs no shared block, nor
/// where another MPI has communicators.
fn leader(comm: &Comm, group: &Group) -> u32 {
    match group.members() {
        _ if comm.foreign().is_some() => u32::MAX,
        [first, _, ..] => comm.rank_of_world(*first).map_or(u32::MAX, |rank| rank.0),
        _ => u32::MAX,
    }
}
