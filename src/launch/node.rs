//! A job that another MPI's launcher has started on one machine: its ranks share a segment of this library, as
//! under rmarun, and the other MPI only begins and ends the job.
//!
//! 1. All ranks share the segment or none does: what one cannot is agreed on before a rank uses it.
//! 2. The first rank creates segment and notice, and keeps their descriptors open until all others have opened
//!    them. After that they have no name and no owner, so nothing is left of them when the ranks have ended.
//! 3. No process records failures in the notice. The other MPI ends the job if a rank fails. A rank that
//!    sleeps also ends by itself if the launcher is gone, or another rank (`watch.rs`).

use super::watch::{self, ANCESTORS};
use super::{ENV_NODE, Job, JobLauncher, MAX_RANKS, Membership, OnFailure, SegmentKind};
use super::{arm, given_size, variable};
use crate::error::{Error, Result};
use crate::foreign::{ForeignComm, ForeignError};
use crate::shm::{File, NoticeBoard, Observation, Segment};
use bytemuck::{Pod, Zeroable};
use std::io::Write;

/// What the ranks know of each other first.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
struct Card {
    /// The version of this library: its three numbers.
    version: [u16; 3],
    /// 1 if it is on the node of the first rank, and is to share memory.
    shares: u16,
}

impl Card {
    fn new(shares: bool) -> Card {
        let numbers = [
            env!("CARGO_PKG_VERSION_MAJOR"),
            env!("CARGO_PKG_VERSION_MINOR"),
            env!("CARGO_PKG_VERSION_PATCH"),
        ];
        let version = numbers.map(|number| number.parse().expect("a number of a version"));
        Card { version, shares: shares.into() }
    }

    fn version(&self) -> String {
        self.version.map(|number| number.to_string()).join(".")
    }
}

/// Whether this rank is to share memory with the others of its node.
fn wants() -> Result<bool> {
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

/// Where the first rank has the memory of the job; zero bytes if it has none.
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
            let what =
                "its processes have other numbers than those of rank 0, or no /proc shows them";
            return Err(Error::NotInJob { what: what.into() });
        }
        let [segment, notice] = self.numbers;
        let segment = File::open_proc(self.pid, segment, true)?;
        let notice = File::open_proc(self.pid, notice, false)?;
        let segment = Segment::attach(segment, ranks, self.nonce)?;
        Ok((segment, NoticeBoard::attach(notice, self.nonce)?))
    }
}

/// This rank's half of a job whose ranks all share memory; `None`, on all ranks, if they do not. `node` is the first
/// rank of this one's node.
///
/// Collective; blocks until every rank has called it.
///
/// # Errors
/// [`Error::NotInJob`], on all ranks, if they have different versions of the library.
pub(super) fn share(world: &ForeignComm, node: u32) -> Result<Option<Membership>> {
    let (rank, ranks) = (world.rank, world.size);
    if ranks > MAX_RANKS {
        return Ok(None);
    }
    let wants = wants();
    let cards = exchanged(world, Card::new(node == 0 && matches!(wants, Ok(true))))?;
    wants?;
    check_versions(&cards)?;
    if cards.iter().any(|card| card.shares == 0) {
        return Ok(None);
    }
    let ancestor = common_ancestor(&exchanged(world, watch::ancestors())?);
    let job = (rank == 0).then(|| create(ranks, ancestor)).and_then(|made| usable(rank, made));
    let offered = exchanged(world, job.as_ref().map_or_else(NodeMemory::zeroed, NodeMemory::of))?;
    let made = Some(offered[0]).filter(|memory| memory.is_made != 0);
    let memory = made.and_then(|made| usable(rank, made.attach(ranks)));
    let all_can = world.all_agree(memory.is_some()).map_err(refused)?;
    let Some((segment, notice)) = memory.filter(|_| all_can) else { return Ok(None) };
    arm(rank)?;
    let launcher = Some(JobLauncher::Other(ancestor));
    Ok(Some(Membership { rank, ranks, foreign: None, node: 0, launcher, segment, notice }))
}

/// The memory of the job, on the first rank.
fn create(ranks: u32, ancestor: Option<u32>) -> Result<Job> {
    let began = ancestor.map_or(0, watch::began);
    let bytes = given_size()?;
    let (kind, observed) = (SegmentKind::Memfd, Observation::default());
    Job::watched(ranks, &kind, bytes, (OnFailure::End, began), observed)
}

/// Reports on standard error why a rank has no memory of the node, so that all ranks go on without it.
fn usable<T>(rank: u32, outcome: Result<T>) -> Option<T> {
    let note = |why: &Error| {
        let line = format!(
            "onesided: rank {rank} cannot share memory with the other ranks of the node ({why}), so all ranks use the \
             other MPI, which is slower; {ENV_NODE}=none asks for that without this line\n"
        );
        // Standard error may be closed.
        let _ = std::io::stderr().write_all(line.as_bytes());
    };
    outcome.inspect_err(note).ok()
}

/// What each rank gives, in rank order.
fn exchanged<T: Pod>(world: &ForeignComm, mine: T) -> Result<Vec<T>> {
    let mut all = vec![T::zeroed(); world.size as usize];
    let gathered =
        world.allgather(bytemuck::bytes_of(&mine), bytemuck::must_cast_slice_mut(&mut all));
    gathered.map_err(refused)?;
    Ok(all)
}

fn refused(refusal: ForeignError) -> Error {
    Error::NotInJob { what: format!("the other MPI reports: {}", refusal.text()) }
}

fn check_versions(cards: &[Card]) -> Result<()> {
    let other = cards.iter().zip(0..).find(|(card, _)| card.version != cards[0].version);
    let Some((card, rank)) = other else { return Ok(()) };
    let (version, first) = (card.version(), cards[0].version());
    let what = format!(
        "rank {rank} has version {version} of the library and rank 0 version {first}, and all need the same"
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
        let cards = [0, 0, 1].map(|patch| Card { version: [1, 2, patch], shares: 1 });
        assert!(check_versions(&cards[..2]).is_ok());
        let error = check_versions(&cards).unwrap_err().to_string();
        assert!(error.contains("rank 2 has version 1.2.1"), "{error}");
        assert!(error.contains("rank 0 version 1.2.0,"), "{error}");
        assert_eq!(Card::new(true).version(), env!("CARGO_PKG_VERSION"));
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
