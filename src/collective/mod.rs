//! Collectives made of messages: those that are started now and complete later (MPI-4.1 §6.12), and
//! those of untyped buffers.
//!
//! The staged collectives of a communicator (`comm`) need every rank in the call at the same time.
//! These are *schedules* ([`schedule`]): steps that send, receive, copy and combine, each when the
//! messages before it have come. Whichever thread of the rank looks for messages takes them further
//! (`message/driven.rs`), so nobody need wait in the call.
//!
//! 1. Messages go over a channel of their own, with a tag that counts the collectives of the
//!    communicator and says which call it is. Ranks start them in the same order, so the tags agree;
//!    ranks that do not agree about the call wait for each other, and the launcher finds them blocked.
//! 2. A schedule is put together before anything of it is sent ([`plan`]), and is not changed by what
//!    arrives: a message of the wrong length is an error of this rank, and the steps go on, because
//!    other ranks wait for them. Only when a rank has failed they end.
//! 3. A buffer is accessed until the schedule is complete ([`buffer`]); what a schedule owns lives as
//!    long, whatever becomes of its request.
//! 4. Nobody waits for a rank but for what that rank alone can give: parts go straight from who has
//!    them to who wants them, fetched by the latter if they are long. Trees are for short messages of
//!    many ranks, and for what has to be combined.

mod across;
mod bridge;
mod buffer;
mod duplicate;
mod moves;
mod partitioned;
mod plan;
mod reductions;
mod request;
mod running;
mod scans;
mod schedule;
mod typed;

pub use bridge::{Bridge, Root};
pub use buffer::Combine;
pub use duplicate::DuplicateRequest;
pub use partitioned::Partitioned;
pub use request::CollectiveRequest;
