//! A mutex, a queue and a counter for the ranks of a communicator, made of window operations.
//!
//! The standard has none of them: "RMA does not define fine-grained mutexes in memory (only logical
//! coarse-grained window locks). MPI provides the primitives (compare and swap, accumulate,
//! send/receive, etc.) needed to implement high-level synchronization operations" (MPI-3, "Lock",
//! rationale).
//!
//! | type | purpose | protocol and its models |
//! | --- | --- | --- |
//! | [`WindowMutex`] | mutual exclusion; fair after a millisecond of contention | `sync/mcs.rs` |
//! | [`WindowQueue`] | items from any rank to any rank, bounded | `sync/queue.rs` |
//! | [`DistributedCounter`] | a sum to which all add; unique numbers | `sync/counter.rs` |
//!
//! Each has a window of its own, on which every rank holds `lock_all` from creation to `free`. So it can
//! be used in any epoch of other windows. Creating and freeing are collective; everything else is local
//! and needs no help of other ranks. Dropping one keeps its memory until the job ends, as with windows.

mod counter;
mod mutex;
mod queue;
mod words;

pub use counter::DistributedCounter;
pub use mutex::{WindowMutex, WindowMutexGuard};
pub use queue::WindowQueue;
