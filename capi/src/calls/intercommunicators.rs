//! Intercommunicators (MPI-4.1 §7.6). The two sides find each other by communicators of
//! `MPI_Comm_create_group`. First the leaders create one for the two of them, with the program's tag, and
//! exchange their groups there. Then the members of both groups create the one that they keep, with a tag
//! on which the leaders agree. So threads may create several at the same time with the same tag, if each
//! uses communicators of its own.

use super::sessions::asked;
use crate::abi::*;
use crate::arguments::{Ptr, Text};
use crate::comm::{Communicator, Inter, rank_of};
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::handler::{HandlerRef, Kind};
use crate::info::hints;
use crate::job;
use onesided::{Comm, Group, Rank};
use std::ffi::c_int;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

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

/// What the members of one side know after the exchange of their leaders.
struct OtherGroup {
    remote: Group,
    /// Whether the own side comes first.
    first: bool,
    /// The tag that both sides use from now on.
    tag: u32,
}

/// Lets the leaders exchange their groups. `other_leader` returns a communicator of both, and the other
/// leader as a rank of the job.
fn exchange_in_groups(
    local: &Comm,
    leader: Rank,
    tag: u32,
    other_leader: impl FnOnce() -> Outcome<(Comm, u32)>,
) -> Outcome<OtherGroup> {
    let world = job::world()?;
    // Whether it has succeeded, whether the own side comes first, a tag, and the other side's ranks.
    let mut known = vec![0];
    let mut failure = None;
    if local.rank().0 == leader.0 {
        match other_leader().and_then(|(peers, other)| exchange(&peers, local, other, tag)) {
            Ok(all_ranks) => known = all_ranks,
            Err(error) => failure = Some(error),
        }
    }
    local.broadcast_vec(&mut known, leader)?;
    match known[..] {
        [1, first, tag, ref ranks @ ..] => {
            Ok(OtherGroup { remote: group_of(&world, ranks)?, first: first != 0, tag })
        }
        _ => Err(failure.unwrap_or_else(|| {
            Failure::new(MPI_ERR_COMM, "the leaders of the two groups have not met")
        })),
    }
}

/// A number that this rank has not used for long.
fn number() -> u32 {
    static LAST: Mutex<u32> = Mutex::new(0);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    *last = last.wrapping_add(1);
    *last
}

/// The two leaders, whose communicator is `peers`, exchange their groups.
fn exchange(peers: &Comm, local: &Comm, other: u32, tag: u32) -> Outcome<Vec<u32>> {
    let world = job::world()?;
    let own = world.rank().0;
    if own == other {
        return Err(Failure::new(MPI_ERR_COMM, "both groups have the same leader"));
    }
    let leads = own < other;
    let pair = peers.create_group(&group_of(&world, &[own.min(other), own.max(other)])?, tag)?;
    let own_ranks: Vec<u32> = std::iter::once(number())
        .chain(local.group().world_ranks().iter().map(|rank| rank.0))
        .collect();
    let all_ranks = pair.allgatherv(&own_ranks);
    pair.free()?;
    let all_ranks = all_ranks?;
    // The first leader's tag, which no other exchange of that leader uses now.
    let tag = OWN | (own.min(other) & 0xFFF) << 19 | all_ranks[0][0] & 0x7_FFFF;
    let mut known = vec![1, u32::from(leads), tag];
    known.extend(&all_ranks[usize::from(leads)][1..]);
    Ok(known)
}

/// The intercommunicator of a local group, in a communicator of its own, and a remote one.
fn join(local: Comm, other: OtherGroup, handler: HandlerRef) -> Outcome<MPI_Comm> {
    let (own, OtherGroup { remote, first, tag }) = (local.group(), other);
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
        return Err(Failure::new(MPI_ERR_TAG, format!("the tag {} is negative", OneOf(tag, TAGS))));
    };
    let tag = tag | OWN;
    // Significant at the leader alone.
    let other = exchange_in_groups(local, leader, tag, || {
        let peers = peer_comm.get()?;
        let Rank(remote) = a_rank(remote_leader, peers.peers().size())?;
        Ok((peers.messages().clone(), peers.peers().world_ranks()[remote as usize].0))
    })?;
    let own = local.split(Some(0), 0)?;
    let Some(own) = own else { return newintercomm.set(Handle::NULL) };
    newintercomm.set(join(own, other, parent.errhandler.share())?)
}

/// A valid rank.
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
        let other = exchange_in_groups(&local, leader, tag, || {
            let remote = remote_group.get()?;
            let Rank(rank) = a_rank(remote_leader, remote.size())?;
            Ok((job::world()?, remote.world_ranks()[rank as usize].0))
        })?;
        newintercomm.set(join(local, other, handler)?)
    })
}

/// `MPI_Intercomm_merge`
pub fn intercomm_merge(intercomm: MPI_Comm, high: c_int, newintracomm: Ptr<MPI_Comm>) -> Outcome {
    let comm = intercomm.get()?;
    let inter = comm.inter()?;
    let key = 2 * c_int::from(high != 0) + c_int::from(!inter.first);
    newintracomm.set(comm.child(inter.both.split(Some(0), key)?))
}
