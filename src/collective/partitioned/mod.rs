//! Partitioned communication (MPI-4.1 §4.2): a message that its sender hands over, and its receiver
//! sees arrive, partition by partition.
//!
//! 1. The two sides meet once, by the calls that make them, in their order ([`Channel::Partitioned`],
//!    with the program's tag). The sender sends how many partitions and bytes it has; the receiver
//!    answers which messages they go in, and under which tags.
//! 2. A *group* is the least run of partitions that both sides can tell apart: of 6 and 4 there are
//!    two. It is one message of every start ([`Channel::Partition`], with a tag of its own), which is
//!    sent when the program has handed over the last of its partitions.
//! 3. Any thread of the rank takes it further ([`line`]), as it does collectives.
//!
//! [`Channel::Partitioned`]: crate::message::Channel::Partitioned
//! [`Channel::Partition`]: crate::message::Channel::Partition

mod channel;
mod round;

use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::message::Status;
use crate::prim::WaitRecord;
use channel::PartitionChannel;
pub(in crate::collective) use channel::PartitionSide;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A partitioned send or receive, which can be started again and again (MPI-4.1 §4.2). Clones stand
/// for the same.
///
/// What was promised of the buffer to [`Origin::new`](crate::ops::Origin::new) or
/// [`OriginMut::new`](crate::ops::OriginMut::new) has to hold from each start
/// until it is complete, but for what follows: a partition can be written before it is handed over
/// ([`Partitioned::ready`]), and be read when it has arrived ([`Partitioned::has_arrived`]).
///
/// Dropped while it is under way, it goes on.
#[derive(Clone)]
pub struct Partitioned(Arc<PartitionChannel>);

impl Partitioned {
    /// One side of a partitioned message between this rank and `peer`.
    pub(super) fn new(
        comm: &Comm,
        call: Call,
        side: PartitionSide,
        partitions: u32,
        peer: Rank,
        tag: i32,
    ) -> Result<Partitioned> {
        comm.within(call, || {
            let line = Arc::new(PartitionChannel::new(comm, call, side, partitions, peer, tag)?);
            line.follow()?;
            Ok(Partitioned(line))
        })
    }

    /// Whether it is a send.
    pub fn is_send(&self) -> bool {
        self.0.is_send()
    }

    /// How many partitions it has.
    pub fn partitions(&self) -> u32 {
        self.0.partitions
    }

    /// Whether it has been started, and not been waited for.
    pub fn is_active(&self) -> bool {
        self.0.is_active()
    }

    /// `MPI_Start`: none of its partitions is ready, or has arrived.
    ///
    /// Local; does not block, except while another rank allocates.
    ///
    /// # Errors
    /// [`Error::Argument`] if it has been started, and not been waited for.
    pub fn start(&self) -> Result<()> {
        let line = &self.0;
        line.comm.within(line.call, || {
            line.start()?;
            line.follow()
        })
    }

    /// `MPI_Pready`, `MPI_Pready_range`, `MPI_Pready_list` (MPI-4.1 §4.2.2): hands over partitions of a
    /// send that has been started, from any thread. Those that are refused change nothing.
    ///
    /// Local; does not block, except while another rank allocates.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such partition, if it has been handed over before, if the send
    /// has not been started, or if it is no send.
    pub fn ready(&self, partitions: &[u32]) -> Result<()> {
        let line = &self.0;
        line.comm.within(line.call, || {
            line.ready(partitions)?;
            line.follow()
        })
    }

    /// `MPI_Parrived` (MPI-4.1 §4.2.2): whether a partition of a receive has arrived; of one that has
    /// not been started, yes. Handles what has come.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such partition, or if it is no receive.
    pub fn has_arrived(&self, partition: u32) -> Result<bool> {
        let line = &self.0;
        line.comm.within(line.call, || {
            line.check_receive(partition)?;
            if !line.has_arrived(partition) {
                line.comm.progress();
            }
            Ok(line.has_arrived(partition))
        })
    }

    /// Whether the start is complete, or has been waited for; handles what has come.
    ///
    /// Local; never blocks. When a rank of the communicator has failed it is complete too: its outcome
    /// is then the error.
    pub fn is_complete(&self) -> bool {
        if !self.0.is_complete() {
            self.0.comm.progress();
        }
        self.0.is_complete()
    }

    /// The rank of the world that has to do something before a start is complete. Local; does not block.
    pub fn waits_for(&self) -> Option<u32> {
        self.0.awaited().peer
    }

    /// `MPI_Wait`: waits until a start is complete, after which it can be started again; an empty
    /// status if it has not been started. A send is complete when all its partitions have been handed
    /// over and the buffer can be used again, a receive when all have arrived.
    ///
    /// Blocks until then.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the other side has not as many bytes; [`Error::NoMemory`];
    /// [`Error::RankFailed`].
    #[track_caller]
    pub fn wait(&self) -> Result<Status> {
        let (line, at) = (&*self.0, Location::caller());
        if !line.is_complete() {
            let describe = |record: &WaitRecord| record.set(&line.awaited());
            let waited = line.comm.drive_until(line.call, at, &describe, || line.is_complete());
            line.comm.handled(waited)?;
        }
        line.comm.handled(line.take())
    }
}

impl PartitionChannel {
    /// Refuses what is not as it should be.
    fn check(&self, is_right: bool, problem: impl FnOnce() -> String) -> Result<()> {
        if is_right {
            return Ok(());
        }
        Err(Error::Argument { at: self.comm.place(self.call), problem: problem() })
    }
}

impl fmt::Debug for Partitioned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.0.is_complete() { "complete or inactive" } else { "under way" };
        write!(f, "Partitioned({}, {} partitions, {how})", self.0.call, self.0.partitions)
    }
}
