//! Intercommunicators (MPI-4.1 §7.6). Two sides find each other by communicators that their members
//! make (`MPI_Comm_create_group`): the leaders one of the two of them, in which each tells the other
//! its group, and then all of both groups the one in which they stay.

use super::sessions::asked;
use crate::abi::*;
use crate::arguments::{Ptr, Text};
use crate::comm::{Communicator, Inter, rank_of};
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::handler::{Held, Kind};
use crate::info::hints;
use crate::job;
use onesided::{Comm, Group, Rank};
use std::ffi::c_int;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Tags of the library's own, which no program can give.
const OWN: u32 = 1 << 31;

/// A tag for a text of the program.
pub(super) fn tag_of(text: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish() as u32 | OWN
}

/// Ranks of the job, as a group.
fn group_of(world: &Comm, ranks: &[u32]) -> Outcome<Group> {
    Ok(world.group().incl(ranks)?)
}

/// What the members of one side know after their leaders have met: the other side, and whether the own
/// one comes first.
fn meet(
    local: &Comm,
    leader: Rank,
    tag: u32,
    other_leader: impl FnOnce() -> Outcome<u32>,
) -> Outcome<(Group, bool)> {
    let world = job::world()?;
    // Whether it has gone well, whether the own side comes first, and the other side's ranks.
    let mut known = vec![0];
    let mut failure = None;
    if local.rank() == leader.0 {
        match other_leader().and_then(|other| exchange(&world, local, other, tag)) {
            Ok(told) => known = told,
            Err(error) => failure = Some(error),
        }
    }
    local.broadcast_vec(&mut known, leader)?;
    match known[..] {
        [1, first, ref ranks @ ..] => Ok((group_of(&world, ranks)?, first != 0)),
        _ => Err(failure.unwrap_or_else(|| {
            Failure::new(MPI_ERR_COMM, "the leaders of the two groups have not met")
        })),
    }
}

/// The leaders tell each other their groups.
fn exchange(world: &Comm, local: &Comm, other: u32, tag: u32) -> Outcome<Vec<u32>> {
    let own = world.rank();
    if own == other {
        return Err(Failure::new(MPI_ERR_COMM, "both groups have the same leader"));
    }
    let pair = world.create_group(&group_of(world, &[own.min(other), own.max(other)])?, tag)?;
    let told = pair.allgatherv(local.group().world_ranks());
    pair.free()?;
    let told = told?;
    let mut known = vec![1, u32::from(own < other)];
    known.extend(&told[usize::from(own < other)]);
    Ok(known)
}

/// The intercommunicator of a local group, in a communicator of its own, and a remote one.
fn join(local: Comm, remote: Group, first: bool, tag: u32, handler: Held) -> Outcome<MPI_Comm> {
    let own = local.group();
    if !own.intersection(&remote).is_empty() {
        return Err(Failure::new(MPI_ERR_COMM, "the two groups have a member in common"));
    }
    let union = if first { own.union(&remote) } else { remote.union(&own) };
    let both = job::world()?.create_group(&union, tag)?;
    let inter = Some(Inter::new(&local, both, remote, first)?);
    Ok(Handle::new(Communicator { inter, ..Communicator::new(local, handler) }))
}

/// `MPI_Intercomm_create`
pub fn intercomm_create(
    local_comm: MPI_Comm,
    local_leader: c_int,
    peer_comm: MPI_Comm,
    remote_leader: c_int,
    tag: c_int,
    newintercomm: Ptr<MPI_Comm>,
) -> Outcome {
    let parent = local_comm.get()?;
    let local = parent.intra()?;
    let leader = a_rank(local_leader, local.size())?;
    let Ok(tag) = u32::try_from(tag) else {
        return Err(Failure::new(MPI_ERR_TAG, format!("the tag {tag} is negative")));
    };
    let tag = tag | OWN;
    // Significant at the leader alone.
    let (remote, first) = meet(local, leader, tag, || {
        let peers = peer_comm.get()?.peers();
        let Rank(remote) = a_rank(remote_leader, peers.size())?;
        Ok(peers.world_ranks()[remote as usize])
    })?;
    let own = local.split(Some(0), 0)?;
    let Some(own) = own else { return newintercomm.set(Handle::NULL) };
    newintercomm.set(join(own, remote, first, tag, parent.errhandler.share())?)
}

/// A rank that is one.
fn a_rank(rank: c_int, size: u32) -> Outcome<Rank> {
    match rank_of(rank, size)? {
        Rank::NULL => Err(Failure::new(MPI_ERR_RANK, "MPI_PROC_NULL leads nobody")),
        rank => Ok(rank),
    }
}

/// `MPI_Intercomm_create_from_groups`
pub fn intercomm_create_from_groups(
    local_group: MPI_Group,
    local_leader: c_int,
    remote_group: MPI_Group,
    remote_leader: c_int,
    stringtag: Text,
    info: MPI_Info,
    errhandler: MPI_Errhandler,
    newintercomm: Ptr<MPI_Comm>,
) -> Outcome {
    asked(errhandler, Kind::Comm, Handle::<Communicator>::NULL, |handler| {
        let group = local_group.get()?;
        let leader = a_rank(local_leader, group.size())?;
        hints(info)?;
        let tag = tag_of(&stringtag.read()?);
        let local = job::world()?.create_group(group, tag)?;
        let (remote, first) = meet(&local, leader, tag, || {
            let remote = remote_group.get()?;
            let Rank(rank) = a_rank(remote_leader, remote.size())?;
            Ok(remote.world_ranks()[rank as usize])
        })?;
        newintercomm.set(join(local, remote, first, tag, handler)?)
    })
}

/// `MPI_Intercomm_merge`
pub fn intercomm_merge(intercomm: MPI_Comm, high: c_int, newintracomm: Ptr<MPI_Comm>) -> Outcome {
    let comm = intercomm.get()?;
    let inter = comm.inter()?;
    let key = 2 * c_int::from(high != 0) + c_int::from(!inter.first);
    newintracomm.set(comm.child(inter.both.split(Some(0), key)?))
}
