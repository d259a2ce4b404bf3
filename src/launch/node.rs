//! A job that another MPI's launcher has started: the ranks of each node share a segment of this library. If all
//! ranks are on one node, the job is then as under rmarun, and the other MPI only begins and ends it.
//!
//! 1. All ranks of a node share its segment or none does: what one cannot is agreed on before a rank uses it.
//! 2. A node's first rank creates segment and notice, and keeps their descriptors open until all others have opened
//!    them. After that they have no name and no owner, so nothing is left of them when the ranks have ended.
//! 3. No process records failures in the notice. The other MPI ends the job if a rank fails. A rank that
//!    sleeps also ends by itself if the launcher is gone, or another rank (`watch.rs`).

use super::watch::{self, ANCESTORS};
use super::{ENV_NODE, Job, JobLauncher, MAX_RANKS, Membership, OnFailure, SegmentKind, Sharers};
use super::{alone, arm, given_size, variable};
use crate::error::{Error, Result};
use crate::foreign::{ForeignComm, ForeignError};
use crate::shm::{File, NoticeBoard, Observation, Segment};
use bytemuck::{Pod, Zeroable};
use std::io::Write;

/// The version of this library, and zeros. A test changes these bytes in a copy of the library.
const VERSION: [u8; 30] = {
    let (text, mut version) = (env!("CARGO_PKG_VERSION").as_bytes(), [0; 30]);
    version.split_at_mut(text.len()).0.copy_from_slice(text);
    version
};

/// What the ranks know of each other first.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
struct Card {
    version: [u8; 30],
    /// 1 if it is to share memory.
    shares: u16,
}

impl Card {
    fn new(shares: bool) -> Card {
        Card { version: VERSION, shares: shares.into() }
    }

    fn version(&self) -> String {
        String::from_utf8_lossy(&self.version).trim_end_matches('\0').into()
    }
}

/// Whether this rank is to share memory with the others of its node.
pub(super) fn wants() -> Result<bool> {
    match variable(ENV_NODE).as_deref() {
        None | Some("shared") => Ok(true),
        Some("none") => Ok(false),
        Some(other) => {
            let other = other.escape_debug();
            let what = format!("{ENV_NODE}={other} is neither 'shared' nor 'none'");
            Err(Error::NotInJob { what })
        }
    }
}

/// Where a node's first rank has the memory of the node; zero bytes if it has none.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct NodeMemory {
    nonce: u64,
    pid: u32,
    is_made: u32,
    /// The descriptors of segment and notice.
    numbers: [i32; 2],
    /// The namespace of the numbers of processes.
    namespace: u64,
}

impl NodeMemory {
    fn of(job: &Job) -> NodeMemory {
        NodeMemory {
            nonce: job.nonce,
            pid: std::process::id(),
            is_made: 1,
            numbers: job.descriptors(),
            namespace: watch::namespace(),
        }
    }

    /// Maps the memory.
    fn attach(&self, ranks: u32) -> Result<(Segment, NoticeBoard)> {
        if self.namespace == 0 || self.namespace != watch::namespace() {
            let what = "its processes have other numbers than those of the node's first rank, or no /proc shows them";
            return Err(Error::NotInJob { what: what.into() });
        }
        let [segment, notice] = self.numbers;
        let segment = File::open_proc(self.pid, segment, true)?;
        let notice = File::open_proc(self.pid, notice, false)?;
        let segment = Segment::attach(segment, ranks, self.nonce)?;
        Ok((segment, NoticeBoard::attach(notice, self.nonce)?))
    }
}

/// This rank's half of the job; `near` are the ranks of its node, in the order of the world.
///
/// Collective; blocks until every rank has called it.
///
/// # Errors
/// [`Error::NotInJob`] if they have different versions of the library, on all ranks that look at each other.
pub(super) fn join(world: ForeignComm, near: ForeignComm) -> Result<Membership> {
    let (rank, ranks, wants) = (world.rank, world.size, wants());
    let members = exchanged(&near, rank)?;
    // Of a large job each rank looks at those of its node, to save memory.
    let is_large = ranks > MAX_RANKS;
    let cards = Card::new(matches!(wants, Ok(true)));
    let cards = exchanged(if is_large { &near } else { &world }, cards)?;
    wants?;
    check_versions(&cards, |place| if is_large { members[place] } else { place as u32 })?;
    let all_want = cards.iter().all(|card| card.shares != 0);
    // Another MPI between the nodes, if there are several.
    let (node, foreign) = (members[0], (near.size < ranks).then_some(world));
    let is_alone = foreign.is_some() && near.size == 1;
    let memory = match all_want && near.size <= MAX_RANKS && !is_alone {
        true => shared(rank, &near)?,
        false => None,
    };
    near.free().map_err(refused)?;
    let Some((segment, notice, launcher)) = memory else {
        let (foreign, sharers) = (Some(world), Sharers::of(&[rank]));
        return Ok(Membership { rank, ranks, foreign, node, sharers, ..alone()? });
    };
    arm(rank)?;
    let sharers = foreign.map_or_else(Sharers::all, |_| Sharers::of(&members));
    let host = None;
    Ok(Membership { rank, ranks, foreign, host, node, sharers, launcher, segment, notice })
}

/// The job of the ranks `near` of a node, of a program that uses another MPI; `None`, on all of them, if they cannot
/// share memory. `rank` is this one in that MPI.
///
/// Collective; blocks until every rank has called it.
///
/// # Errors
/// [`Error::NotInJob`] on all ranks if they have different versions of the library.
pub(super) fn join_within(rank: u32, near: ForeignComm) -> Result<Option<Membership>> {
    let members = exchanged(&near, rank)?;
    let cards = exchanged(&near, Card::new(true))?;
    check_versions(&cards, |place| members[place])?;
    let memory = if near.size <= MAX_RANKS { shared(rank, &near)? } else { None };
    let Some((segment, notice, launcher)) = memory else { return Ok(None) };
    arm(near.rank)?;
    let (rank, ranks, host) = (near.rank, near.size, Some(near));
    let (foreign, sharers) = (None, Sharers::all());
    let made =
        Membership { rank, ranks, foreign, host, node: 0, sharers, launcher, segment, notice };
    Ok(Some(made))
}

/// The memory of a node and the launcher of its ranks; `None`, on all of them, if they share none.
#[allow(clippy::type_complexity, reason = "three fields of one structure")]
fn shared(
    rank: u32,
    near: &ForeignComm,
) -> Result<Option<(Segment, NoticeBoard, Option<JobLauncher>)>> {
    let ancestor = common_ancestor(&exchanged(near, watch::ancestors())?);
    let makes = near.rank == 0;
    let job = makes.then(|| create(near.size, ancestor)).and_then(|made| usable(rank, made));
    let offered = exchanged(near, job.as_ref().map_or_else(NodeMemory::zeroed, NodeMemory::of))?;
    let made = Some(offered[0]).filter(|memory| memory.is_made != 0);
    let memory = made.and_then(|made| usable(rank, made.attach(near.size)));
    let all_can = near.all_agree(memory.is_some()).map_err(refused)?;
    let launcher = Some(JobLauncher::Other(ancestor));
    Ok(memory.filter(|_| all_can).map(|(segment, notice)| (segment, notice, launcher)))
}

/// The memory of a node, on its first rank.
fn create(ranks: u32, ancestor: Option<u32>) -> Result<Job> {
    let began = ancestor.map_or(0, watch::began);
    let bytes = given_size()?;
    let (kind, observed) = (SegmentKind::Memfd, Observation::default());
    Job::watched(ranks, &kind, bytes, (OnFailure::End, began), observed)
}

/// Reports on standard error why a rank has no memory of the node, so that all of its ranks go on without it.
fn usable<T>(rank: u32, outcome: Result<T>) -> Option<T> {
    let note = |why: &Error| {
        let line = format!(
            "onesided: rank {rank} cannot share memory with the other ranks of the node ({why}), so these use the \
             other MPI, which is slower; {ENV_NODE}=none asks for that without this line\n"
        );
        // Standard error may be closed.
        let _ = std::io::stderr().write_all(line.as_bytes());
    };
    outcome.inspect_err(note).ok()
}

/// What each rank gives, in rank order.
fn exchanged<T: Pod>(comm: &ForeignComm, mine: T) -> Result<Vec<T>> {
    let mut all = vec![T::zeroed(); comm.size as usize];
    let gathered =
        comm.allgather(bytemuck::bytes_of(&mine), bytemuck::must_cast_slice_mut(&mut all));
    gathered.map_err(refused)?;
    Ok(all)
}

pub(super) fn refused(refusal: ForeignError) -> Error {
    Error::NotInJob { what: format!("the other MPI reports: {}", refusal.text()) }
}

/// `rank` is that of a card's place.
fn check_versions(cards: &[Card], rank: impl Fn(usize) -> u32) -> Result<()> {
    let Some(place) = cards.iter().position(|card| card.version != cards[0].version) else {
        return Ok(());
    };
    let [(other, version), (first, expected)] =
        [place, 0].map(|place| (rank(place), cards[place].version()));
    let what = format!(
        "rank {other} has version {version} of the library and rank {first} version {expected}, and all need the \
         same"
    );
    Err(Error::NotInJob { what })
}

/// The nearest process from which all ranks descend, of those from which each does.
fn common_ancestor(ancestors: &[[u32; ANCESTORS]]) -> Option<u32> {
    let (first, others) = ancestors.split_first()?;
    let is_common = |pid: &&u32| others.iter().all(|others| others.contains(pid));
    first.iter().filter(|pid| **pid != 0).find(is_common).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_different_versions_are_named() {
        let mut cards = [Card::new(true); 3];
        cards[2].version[..8].copy_from_slice(b"9.8.7-rc");
        let rank = |place| 10 * place as u32;
        assert!(check_versions(&cards[..2], rank).is_ok());
        let error = check_versions(&cards, rank).unwrap_err().to_string();
        assert!(error.contains("rank 20 has version 9.8.7-rc of"), "{error}");
        let own = concat!("rank 0 version ", env!("CARGO_PKG_VERSION"), ",");
        assert!(error.contains(own), "{error}");
    }

    #[test]
    fn the_nearest_common_ancestor_is_found() {
        let of = |chains: &[&[u32]]| {
            let padded =
                |chain: &&[u32]| std::array::from_fn(|i| chain.get(i).copied().unwrap_or(0));
            common_ancestor(&chains.iter().map(padded).collect::<Vec<_>>())
        };
        assert_eq!(of(&[&[7, 3, 1], &[7, 3, 1]]), Some(7));
        assert_eq!(of(&[&[9, 7, 3, 1], &[7, 3, 1], &[8, 3, 1]]), Some(3));
        assert_eq!(of(&[&[7, 3], &[8, 4]]), None, "zeros at the end are no process");
        assert_eq!(of(&[&[7, 3]]), Some(7));
    }
}
