//! The ranks of a node of a program that has initialised another MPI: which of them have loaded this library.
//!
//! A collective of the other MPI would wait for ever for a rank that has not. So they gather at a socket, whose
//! name has the launcher's process, with a limit of time: all have begun their job, which the other MPI's
//! initialisation waits for. The first one listens, and answers all others at once: who they are, if all have come.
//! A rank that comes later listens itself, and is alone there. The name is an abstract one, of which nothing is left.

use super::node::{join_within as join_near, refused, wants};
use super::{
    ENV_NODE, Membership, NODE_RANKS, PMI_DESCRIPTOR, STANDARD_LIBRARY, number, variable, watch,
};
use crate::error::{Error, Result};
use crate::foreign::{self, ForeignComm};
use crate::prim::give_way;
use crate::shm::{own_user, peer_of, peer_of_number};
use bytemuck::{Pod, Zeroable};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// How long the first rank waits for the others.
const LIMIT: Duration = Duration::from_secs(10);
/// How much longer they wait for its answer.
const GRACE: Duration = Duration::from_secs(5);

/// What a rank gives.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arrival {
    /// This rank in the other MPI.
    rank: u32,
    /// 1 if it is to share memory.
    shares: u32,
}

/// This rank's half of a job of those of its node.
///
/// Blocks until all of them have called it, at most for some seconds.
pub(crate) fn join_within() -> Result<Option<Membership>> {
    let wants = wants();
    let (rank, ranks) =
        foreign::adopt(STANDARD_LIBRARY).map_err(|what| Error::NotInJob { what })?;
    let mine = Arrival { rank, shares: u32::from(matches!(wants, Ok(true))) };
    let together = match ranks {
        1 => Some(vec![rank]).filter(|_| mine.shares != 0),
        _ => gather(mine)?,
    };
    wants?;
    let Some(together) = together else { return Ok(None) };
    join_near(rank, ForeignComm::near_among(&together).map_err(refused)?)
}

/// The ranks of this node, in order, if all have come and share memory.
fn gather(mine: Arrival) -> Result<Option<Vec<u32>>> {
    let Some(name) = NODE_RANKS.into_iter().find(|name| variable(name).is_some()) else {
        let names = NODE_RANKS.join(" or ");
        let what = format!("the launcher does not set {names}, the number of ranks on this node");
        return Err(Error::NotInJob { what });
    };
    let expected: u32 = number(name)?;
    if expected == 1 {
        return Ok(Some(vec![mine.rank]).filter(|_| mine.shares != 0));
    }
    let address = SocketAddr::from_abstract_name(place_of_job());
    gather_at(&address.map_err(unreachable)?, mine, expected, LIMIT).map_err(unreachable)
}

fn unreachable(why: io::Error) -> Error {
    let what = format!("the ranks of the node cannot find each other by a socket ({why})");
    Error::NotInJob { what }
}

/// A name that is the same for the ranks of a job on a node.
fn place_of_job() -> String {
    let by_socket = number(PMI_DESCRIPTOR).ok().and_then(peer_of_number);
    let launcher = by_socket.map_or_else(std::os::unix::process::parent_id, |(pid, _)| pid);
    format!("onesided-node-{}-{launcher}-{}", own_user(), watch::began(launcher))
}

fn gather_at(
    address: &SocketAddr,
    mine: Arrival,
    expected: u32,
    limit: Duration,
) -> io::Result<Option<Vec<u32>>> {
    let end = Instant::now() + limit;
    loop {
        match UnixListener::bind_addr(address) {
            Ok(listener) => return lead(&listener, mine, expected, end),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            Err(error) => return Err(error),
        }
        match UnixStream::connect_addr(address) {
            Ok(first) => return follow(first, mine, limit),
            // It does not listen yet, or not any more.
            Err(error) if error.kind() != ErrorKind::ConnectionRefused => return Err(error),
            Err(error) if Instant::now() > end => return Err(error),
            Err(_) => give_way(),
        }
    }
}

/// The first rank of those that gather.
fn lead(
    listener: &UnixListener,
    mine: Arrival,
    expected: u32,
    end: Instant,
) -> io::Result<Option<Vec<u32>>> {
    let (mut others, mut all) = (Vec::new(), vec![mine]);
    // The same descriptor: how long it waits for a connection.
    let limited = UnixStream::from(OwnedFd::from(listener.try_clone()?));
    while (all.len() as u32) < expected {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        limited.set_read_timeout(Some(left))?;
        match listener.accept() {
            Ok((mut other, _)) => {
                other.set_read_timeout(Some(left))?;
                let mut arrival = Arrival::zeroed();
                let is_of_user = peer_of(&other).is_some_and(|(_, user)| user == own_user());
                if is_of_user && other.read_exact(bytemuck::bytes_of_mut(&mut arrival)).is_ok() {
                    others.push(other);
                    all.push(arrival);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                break;
            }
            Err(error) => return Err(error),
        }
    }
    let together = together(&all, expected);
    let mut answer = vec![together.as_ref().map_or(0, |ranks| ranks.len() as u32)];
    answer.extend(together.iter().flatten());
    for mut other in others {
        // A rank that has ended has the other MPI end the job.
        let _ = other.write_all(bytemuck::cast_slice(&answer));
    }
    Ok(together)
}

/// The ranks, in order, if each of the node has come, once, and all share memory.
fn together(all: &[Arrival], expected: u32) -> Option<Vec<u32>> {
    let mut ranks: Vec<u32> = all.iter().map(|one| one.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    if ranks.len() as u32 != expected {
        report(&format!(
            "{} of the {expected} ranks of this node have loaded libonesided_node.so (ranks {ranks:?}), so all use the \
             other MPI for their windows; LD_PRELOAD must name it for every rank, and {ENV_NODE}=none asks for that \
             without this line",
            ranks.len()
        ));
        return None;
    }
    all.iter().all(|one| one.shares != 0).then_some(ranks)
}

/// Another rank.
fn follow(mut first: UnixStream, mine: Arrival, limit: Duration) -> io::Result<Option<Vec<u32>>> {
    first.set_read_timeout(Some(limit + GRACE))?;
    first.write_all(bytemuck::bytes_of(&mine))?;
    let mut many = 0u32;
    first.read_exact(bytemuck::bytes_of_mut(&mut many))?;
    let mut ranks = vec![0; many as usize];
    first.read_exact(bytemuck::cast_slice_mut(&mut ranks))?;
    Ok(Some(ranks).filter(|ranks| !ranks.is_empty()))
}

fn report(sentence: &str) {
    // Standard error may be closed.
    let _ = io::stderr().write_all(format!("onesided: {sentence}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(
        name: &str,
        arrivals: &[Arrival],
        expected: u32,
        limit: Duration,
    ) -> Vec<Option<Vec<u32>>> {
        let name = format!("onesided-test-{name}-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(name).unwrap();
        std::thread::scope(|scope| {
            let all: Vec<_> = arrivals
                .iter()
                .map(|one| scope.spawn(|| gather_at(&address, *one, expected, limit).unwrap()))
                .collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        })
    }

    #[test]
    fn all_ranks_of_a_node_find_each_other() {
        let arrivals = [7, 3, 5, 4].map(|rank| Arrival { rank, shares: 1 });
        let all = gathered("all", &arrivals, 4, LIMIT);
        assert_eq!(all, vec![Some(vec![3, 4, 5, 7]); 4]);
    }

    #[test]
    fn one_that_shares_no_memory_keeps_all_from_it() {
        let arrivals = [0, 1, 2].map(|rank| Arrival { rank, shares: u32::from(rank != 1) });
        assert_eq!(gathered("refused", &arrivals, 3, LIMIT), vec![None; 3]);
    }

    #[test]
    fn one_that_does_not_come_is_not_awaited_for_ever() {
        let arrivals = [0, 1].map(|rank| Arrival { rank, shares: 1 });
        assert_eq!(gathered("missing", &arrivals, 3, Duration::from_millis(500)), vec![None; 2]);
    }
}
