//! Messages: two-sided communication between the ranks of a communicator (MPI-2.2 chapter 3,
//! MPI-4.1 §3).
//!
//! A send appends a record to the queue of its pair of ranks (`sync/channel.rs`) and rings the
//! receiver's bell; queues grow without limit. Which message goes to which receive is the receiver's
//! to decide, in its own memory ([`matching`]). A short message is in its record, from which it is
//! copied straight to its buffer if the receive has been posted. Of a long one the record has the place where
//! it is: the receiver fetches it, by the kernel if it is private memory of the sender, and acknowledges it;
//! then the send is complete. Where the kernel refuses that, the sender brings it in a block of the
//! segment.
//!
//! 1. A record is handled whole, by one thread of the rank at a time ([`mailbox`]). That thread never
//!    waits for another rank meanwhile, except for the allocator.
//! 2. Long messages are copied by the thread that finds them, while others can look for theirs.
//! 3. A buffer is accessed until its request is done, and no longer ([`slots`]). A rank that takes
//!    back what it has offered, because a rank has failed, announces it first, and a rank that has read from
//!    there since discards what it has read.

mod calls;
mod driven;
mod handover;
mod incoming;
mod mailbox;
mod matching;
mod outgoing;
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
pub use owned::Pending;
pub use probe::Message;
pub use request::MessageRequest;
pub use typed::{Source, Tag};
pub use waits::Waits;

/// Which of a communicator's messages: they never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Those of the program.
    Program,
    /// Those that collectives are made of.
    Collective,
    /// Those by which the two sides of a partitioned message meet.
    Partitioned,
    /// Those that partitioned messages are made of.
    Partition,
}

/// When a send is complete (MPI-2.2 §3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMode {
    /// `MPI_Send`: when the buffer can be used again. A short message never waits for its receiver.
    Standard,
    /// `MPI_Ssend`: when its receive has been posted and has begun to take it.
    Synchronous,
    /// `MPI_Rsend`: as standard. That the receive has been posted is not checked.
    Ready,
    /// `MPI_Bsend`: at once. The segment is the buffer.
    Buffered,
}

/// What is known of a message that has been received, or found (`MPI_Status`).
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
    /// Of a receive from [`Rank::NULL`], and of a request that has been waited for before
    /// (MPI-2.2 §3.11, §3.7.3).
    pub(crate) const NOTHING: Status =
        Status { source: Rank::NULL, tag: matching::Envelope::ANY_TAG, bytes: 0, cancelled: false };
}
