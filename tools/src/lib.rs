//! A mutex, a queue and a counter for the ranks of a communicator, made of [`onesided`]'s window
//! operations.
//!
//! The standard has none of them: "RMA does not define fine-grained mutexes in memory (only logical
//! coarse-grained window locks). MPI provides the primitives (compare and swap, accumulate,
//! send/receive, etc.) needed to implement high-level synchronization operations" (MPI-3, "Lock",
//! rationale).
//!
//! | type | purpose | protocol and its models |
//! | --- | --- | --- |
//! | [`WindowMutex`] | mutual exclusion; fair after a millisecond of contention | `protocol/mcs.rs` |
//! | [`WindowQueue`] | items from any rank to any rank, bounded | `protocol/queue.rs` |
//! | [`DistributedCounter`] | a sum to which all add; unique numbers | `protocol/counter.rs` |
//!
//! Each has a window of its own, on which every rank holds `lock_all` from creation to `free`. So it can
//! be used in any epoch of other windows. Creating and freeing are collective; everything else is local
//! and needs no help of other ranks. Dropping one keeps its memory until the job ends, as with windows.
//!
//! Under another MPI's launcher they need an MPI that mixes different accumulates on one element, as MPICH does.
//!
//! # Errors
//! Errors are `onesided`'s. They name the window (`mutex`, `queue` or `counter`) and the nearest call on
//! a window. That is lock or unlock for a mutex, put or get for a queue, `fetch_and_op` for a counter,
//! and `wait_until` if a wait ends early.

mod counter;
mod mutex;
mod protocol;
mod queue;
#[cfg(test)]
mod stress;
mod words;

pub use counter::DistributedCounter;
pub use mutex::{WindowMutex, WindowMutexGuard};
pub use queue::WindowQueue;
