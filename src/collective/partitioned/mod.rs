//! Partitioned communication (MPI-4.1 §4.2): a message that becomes ready, and arrives, partition by
//! partition.
//!
//! 1. The two sides agree once, in the calls that create them, in their order ([`Channel::Partitioned`],
//!    with the program's tag). The sender sends its numbers of partitions and bytes; the receiver answers
//!    with the messages and their tags.
//! 2. A *group* is the smallest run of partitions with common ends on both sides: 6 and 4 partitions have
//!    two. Each start sends one message for it ([`Channel::Partition`], with a tag of its own), when the
//!    last of its partitions is ready.
//! 3. Any thread of the rank drives it ([`line`]), as it does collectives.
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

/// A partitioned send or receive, which can be started any number of times (MPI-4.1 §4.2). Clones are
/// handles of the same one.
///
/// The promises of the buffer to [`Origin::new`](crate::ops::Origin::new) or
/// [`OriginMut::new`](crate::ops::OriginMut::new) have to hold from each start until it is complete, with
/// two exceptions. A partition can be written before it is ready ([`Partitioned::ready`]), and be read
/// when it has arrived ([`Partitioned::has_arrived`]).
///
/// If it is dropped while it is active, it continues.
///
/// ```
/// use onesided::engine::{Origin, OriginMut};
/// use onesided::{Datatype, Rank};
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let mut numbers = [0_u64; 4];
/// let start = numbers.as_mut_ptr().cast();
/// if world.rank() == 0 {
///     numbers = [1, 2, 3, 4];
///     // SAFETY: nothing else uses `numbers` until the send is complete.
///     let origin = unsafe { Origin::new(start, 4, Datatype::U64) };
///     let send = world.init_partitioned_send(origin, 2, Rank(1), 7)?;
///     send.start()?;
///     send.ready(&[1])?; // numbers 3 and 4 may travel
///     send.ready(&[0])?;
///     send.wait()?;
/// } else {
///     // SAFETY: nothing else uses `numbers` until the receive is complete.
///     let into = unsafe { OriginMut::new(start, 4, Datatype::U64) };
///     let receive = world.init_partitioned_receive(into, 2, Rank(0), 7)?;
///     receive.start()?;
///     receive.wait()?;
///     assert_eq!(numbers, [1, 2, 3, 4]);
/// }
/// # Ok(())
/// # });
/// ```
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

    /// Whether it was started and has not been waited for.
    pub fn is_active(&self) -> bool {
        self.0.is_active()
    }

    /// `MPI_Start`: none of its partitions is ready, or has arrived.
    ///
    /// Local; does not block, except while another rank allocates.
    ///
    /// # Errors
    /// [`Error::Argument`] if it has been started, and not been waited for.
    #[doc(alias = "MPI_Start")]
    pub fn start(&self) -> Result<()> {
        let line = &self.0;
        line.comm.within(line.call, || {
            line.start()?;
            line.follow()
        })
    }

    /// `MPI_Pready`, `MPI_Pready_range`, `MPI_Pready_list` (MPI-4.1 §4.2.2): marks partitions of an
    /// active send as ready, from any thread. A refused call changes nothing.
    ///
    /// Local; does not block, except while another rank allocates.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such partition, if it is already ready, if the send was not
    /// started, or if it is no send.
    #[doc(alias("MPI_Pready", "MPI_Pready_range", "MPI_Pready_list"))]
    pub fn ready(&self, partitions: &[u32]) -> Result<()> {
        let line = &self.0;
        line.comm.within(line.call, || {
            line.ready(partitions)?;
            line.follow()
        })
    }

    /// `MPI_Parrived` (MPI-4.1 §4.2.2): whether a partition of a receive has arrived; `true` if the
    /// receive was not started. Handles what has arrived.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such partition, or if it is no receive.
    #[doc(alias = "MPI_Parrived")]
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

    /// Whether the start is complete, or has been waited for; handles what has arrived.
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

    /// `MPI_Wait`: waits until a start is complete; then it can be started again. Returns an empty status
    /// if it was not started. A send is complete when all its partitions were ready and the buffer can be
    /// used again, a receive when all have arrived.
    ///
    /// Blocks until then.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the other side has another number of bytes; [`Error::NoMemory`];
    /// [`Error::RankFailed`].
    #[doc(alias = "MPI_Wait")]
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
    /// The error of a call in the wrong state.
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
