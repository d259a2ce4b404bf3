//! The queues of the segment by which ranks send each other records (`sync/channel.rs`), and blocks for what
//! is long ([`pool`]): those of messages, and those of puts of many pieces to private memory ([`scatter`]). By
//! another MPI the records are messages of its own ([`foreign`]).

pub(crate) mod foreign;
mod incoming;
mod outgoing;
mod pool;
mod scatter;

pub(crate) use incoming::{Sources, mail_of};
pub(crate) use outgoing::{Head, OutgoingQueue, RecordKind, damaged};
pub use pool::longest_staged;
pub(crate) use pool::{BlockPool, LONGEST, fits_caches, give_back};
pub(crate) use scatter::{scatter, serve};
