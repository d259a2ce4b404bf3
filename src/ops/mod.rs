//! What moves: put, get and the accumulates (MPI-2.2 §11.3, MPI-4.1 §12.3).
//!
//! Operations are eager: when the call returns, the bytes are where they should be, and only
//! their order against other accesses is left to the synchronisation that ends the epoch.
//!
//! 1. [`target`] turns (rank, displacement, count) into checked memory, and nothing else does.
//! 2. [`transfer`] has put and get, the two directions of one copy.
//! 3. [`accumulate`] and [`swap`] have one update routine under all four accumulates, and [`bulk`]
//!    what keeps single elements and many from each other.
//! 4. [`request`] has the operations with requests, which are complete at once.
//! 5. [`notify`] has operations that count themselves at their target.
//! 6. [`scatter`] and [`combine`] are put and get, and the accumulates, of any [`layout`] on either
//!    side; [`blocks`] updates what lies there. Slices on both sides never come this far; where one
//!    side is a slice, [`slices`] is the short way.
//! 7. [`untyped`] and [`single`] are the same for callers who know the datatype only at run time,
//!    [`at_once`] the hot paths of these alone, [`shaped`] for slices with a shape. [`local`] combines two of their buffers without a window.
//! 8. [`packed`] has the buffers of messages, which move as packed bytes.

mod accumulate;
mod at_once;
mod blocks;
mod bulk;
mod combine;
mod foreign;
mod layout;
mod local;
mod notify;
mod packed;
mod request;
mod scatter;
mod shaped;
mod single;
mod slices;
mod swap;
mod target;
mod transfer;
mod untyped;
mod update;

pub use layout::Layout;
pub(crate) use packed::{Incoming, Outgoing};
pub use request::Request;
pub use untyped::{Origin, OriginMut};
