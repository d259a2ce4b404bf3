//! Collectives, also between two groups, for programs and for the C interface (MPI-4.1 chapter 6).
//!
//! A collective has a plan ([`plan`]) and begins in the staging area ([`form`]). Each rank stages a
//! description of its call and, if it is short, its contribution. Then it arrives at a barrier
//! (`comm/rounds.rs`). When all have arrived, each rank compares the descriptions and takes its result
//! from the staged data ([`staged`]). Long data continues as a *schedule* ([`schedule`]): steps that
//! send, receive, copy and combine, each after the messages before it have arrived. A blocking call waits
//! at the barrier. A nonblocking one is driven by any thread of the rank that looks for messages
//! (`message/driven.rs`).
//!
//! 1. Ranks that disagree all get an error. Where all wait for all, it is of the same kind, and nothing has
//!    been moved. A rank that *goes ahead* (`comm/rounds.rs`) reports it later. All blocking and nonblocking
//!    collectives of a communicator have one order. Persistent ones can be started in any
//!    order (MPI-4.1 §6.13), so they do not use the staging area; their messages have tags of their own.
//! 2. Messages use a channel of their own. Their tag has the number of the collective and the call.
//! 3. A message does not change a plan. If its length is wrong, this rank has an error, and the steps
//!    continue, because other ranks wait for them. They end only when a rank has failed.
//! 4. A buffer is accessed until the schedule is complete ([`buffer`]). What a schedule owns lives as
//!    long, even if its request is dropped.
//! 5. The receiver of a long part fetches it directly from its owner. Trees are for short messages of
//!    many ranks, and for reductions.

mod across;
mod bridge;
mod buffer;
mod calls;
mod duplicate;
mod foreign;
mod form;
mod moves;
mod partitioned;
mod pieces;
mod plan;
mod reductions;
mod request;
mod running;
mod scans;
mod schedule;
mod short;
mod staged;

pub use bridge::{Bridge, Root};
pub use buffer::Combine;
pub use duplicate::DuplicateRequest;
pub use partitioned::Partitioned;
pub use request::CollectiveRequest;
