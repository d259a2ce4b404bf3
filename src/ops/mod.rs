//! What moves: put, get and the accumulates (MPI-2.2 §11.3, MPI-4.1 §12.3).
//!
//! Operations are eager: when the call returns, the bytes are where they should be, and only
//! their order against other accesses is left to the synchronisation that ends the epoch.
//!
//! 1. [`target`] turns (rank, displacement, bytes) into checked memory, and nothing else does.
//! 2. [`transfer`] is put and get: one description, one route, one place that moves bytes. A [`layout`] says
//!    where the elements of either side are; those of a slice are a layout of one run. [`calls`] has the calls.
//! 3. [`accumulate`] and [`swap`] have one update routine under all four accumulates, and [`bulk`]
//!    what keeps single elements and many from each other.
//! 4. [`request`] has the operations with requests, which are complete at once.
//! 5. [`notify`] has operations that count themselves at their target.
//! 6. [`combine`] has the accumulates of any layout on either side; [`blocks`] updates what lies there.
//! 7. [`untyped`] and [`single`] are the same for callers who know the datatype only at run time,
//!    [`at_once`] the hot paths of these alone, [`shaped`] for slices with a shape. [`local`] combines two
//!    of their buffers without a window; [`own`] has loads and stores of the own part.
//! 8. [`packed`] has the buffers of messages, which move as packed bytes.

mod accumulate;
mod at_once;
mod blocks;
mod bulk;
mod calls;
mod combine;
mod foreign;
mod layout;
mod local;
mod notify;
mod own;
mod packed;
mod request;
mod shaped;
mod single;
mod swap;
mod target;
mod transfer;
mod untyped;
mod update;

pub use layout::Layout;
pub(crate) use packed::{Incoming, Outgoing};
pub use request::Request;
pub use transfer::Transfer;
pub use untyped::{Origin, OriginMut};
