//! Messages: two-sided communication between the ranks of a communicator (MPI-2.2 chapter 3,
//! MPI-4.1 §3).
//!
//! A send appends a record to the queue of its pair of ranks (`sync/channel.rs`) and rings the receiver's
//! bell; queues grow without limit. The receiver matches messages and receives in its own memory
//! ([`matching`]). A short message is in its record; if the receive has been posted, it is copied from
//! there straight to the buffer. A longer one is in a block of the segment that its receiver returns
//! (`mail/pool.rs`). If it is too long for that, its record has its address. The receiver then fetches it, by the
//! kernel if it is private memory of the sender, and acknowledges it; then the send is complete. If the
//! kernel refuses that, the sender copies it to memory of the segment. By another MPI, records are messages
//! of its own (`mail/foreign.rs`), those of up to 1 MiB with their data.
//!
//! 1. One thread of the rank handles a whole record, one record at a time ([`mailbox`]). It never waits
//!    for another rank meanwhile, except for the allocator.
//! 2. The thread that finds a long message copies it, while others can look for theirs.
//! 3. A buffer is accessed until its request is done, and no longer ([`slots`]). A rank that withdraws a
//!    message after a failure announces that first. A rank that has read from there since discards the
//!    data.

mod calls;
mod driven;
mod handover;
mod incoming;
mod left;
mod mailbox;
mod matching;
mod owned;
mod probe;
mod receive;
mod request;
mod send;
mod slots;
mod typed;
mod wait;
mod waits;

use crate::group::Rank;

pub(crate) use driven::Driven;
pub use left::numbers_of;
pub use mailbox::WaitingMessages;
pub use owned::Pending;
pub use probe::Message;
pub use request::MessageRequest;
pub use send::EAGER;
pub use slots::MessageSlot;
pub use typed::{Source, Tag};
pub use waits::Waits;

/// Which of a communicator's messages: those of different channels never match.
///
/// ```
/// use onesided::{Rank, engine::Channel};
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// if world.rank() == 0 {
///     world.send(&[7_u32], Rank(1), 3)?;
/// } else {
///     // Messages of `send` are the program's.
///     let found = world.probe_message(Channel::Program, Some(Rank(0)), Some(3), true)?;
///     assert_eq!(found.and_then(|status| status.count::<u32>()), Some(1));
///     world.recv(&mut [0_u32], Rank(0), 3)?;
/// }
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Those of the program.
    Program,
    /// Those that collectives are made of.
    Collective,
    /// Those by which the two sides of a partitioned message agree.
    Partitioned,
    /// Those that partitioned messages are made of.
    Partition,
}

impl Channel {
    /// Whether messages with that context ([`send::message_context`]) are of this channel.
    fn is_of(self, context: [u64; 2]) -> bool {
        const CHANNELS: u64 = 4;
        context[0] % CHANNELS == self as u64
    }
}

/// When a send is complete (MPI-2.2 §3.4).
///
/// ```
/// use onesided::engine::{Channel, Origin, SendMode};
/// use onesided::{Datatype, Rank};
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let number = 7_u32;
/// if world.rank() == 0 {
///     // SAFETY: the number stays where it is, and only this thread uses it.
///     let origin = unsafe { Origin::new((&raw const number).cast(), 1, Datatype::U32) };
///     // Returns when rank 1 has begun to receive.
///     world.send_untyped(Channel::Program, SendMode::Synchronous, origin, Rank(1), 3)?;
/// } else {
///     world.recv(&mut [0_u32], Rank(0), 3)?;
/// }
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMode {
    /// `MPI_Send`: when the buffer can be used again. A message of up to 8 KiB never waits for its
    /// receiver; longer ones may: see [`Comm::send`](crate::Comm::send).
    Standard,
    /// `MPI_Ssend`: when its receive has been posted and has begun to take it.
    Synchronous,
    /// `MPI_Rsend`: as standard. That the receive has been posted is not checked.
    Ready,
    /// `MPI_Bsend`: immediately. The segment is the buffer.
    Buffered,
}

/// What is known of a message that has been received, or found (`MPI_Status`).
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let sent = world.isend(vec![me], other, 7)?;
/// let mut got = [0];
/// let status = world.recv(&mut got, onesided::Source::Any, onesided::Tag::Any)?;
/// assert_eq!((got, status.count::<u32>()), ([other.0], Some(1)));
/// assert_eq!((status.source, status.tag), (other, 7));
/// sent.wait()?;
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The sender, as a rank of the communicator; [`Rank::NULL`] where there is none.
    pub source: Rank,
    /// Its tag.
    pub tag: i32,
    /// Its bytes.
    pub bytes: u64,
    /// The request was cancelled, and nothing has been received.
    pub cancelled: bool,
}

impl Status {
    /// The status of a receive from [`Rank::NULL`], and of a request that has been waited for before
    /// (MPI-2.2 §3.11, §3.7.3).
    pub(crate) const NOTHING: Status =
        Status { source: Rank::NULL, tag: matching::Envelope::ANY_TAG, bytes: 0, cancelled: false };
}
