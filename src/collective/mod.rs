//! Collectives, also between two groups, for programs and for the C interface (MPI-4.1 chapter 6).
//!
//! A collective is put together ([`plan`]) and then *meets* ([`form`]): each rank stages what it calls, and
//! what it gives if that is short, and arrives at a barrier of the staging area (`comm/rounds.rs`). When
//! all have arrived each rank compares what all call, and takes what it gets out of what is staged
//! ([`staged`]). What is long goes on as a *schedule* ([`schedule`]): steps that send, receive, copy and
//! combine, each when the messages before it have come. A blocking call waits at the barrier; of the
//! others, whichever thread of the rank looks for messages takes them further (`message/driven.rs`).
//!
//! 1. Ranks that do not agree get an error, all of the same kind, and nothing has been moved. All blocking
//!    and nonblocking collectives of a communicator have one order. Persistent ones can be started in any
//!    order (MPI-4.1 §6.13), so they do not meet; their messages have tags of their own.
//! 2. Messages go over a channel of their own, with a tag that counts the collectives of the
//!    communicator and names the call.
//! 3. What arrives does not change a plan: a message of the wrong length is an error of this rank, and the
//!    steps go on, because other ranks wait for them. Only when a rank has failed they end.
//! 4. A buffer is accessed until the schedule is complete ([`buffer`]); what a schedule owns lives as
//!    long, whatever becomes of its request.
//! 5. Long parts go straight from who has them to who wants them, fetched by the latter. Trees are for
//!    short messages of many ranks, and for what has to be combined.

mod across;
mod bridge;
mod buffer;
mod calls;
mod duplicate;
mod foreign;
mod form;
mod moves;
mod partitioned;
mod plan;
mod reductions;
mod request;
mod running;
mod scans;
mod schedule;
mod staged;

pub use bridge::{Bridge, Root};
pub use buffer::Combine;
pub use duplicate::DuplicateRequest;
pub use partitioned::Partitioned;
pub use request::CollectiveRequest;
