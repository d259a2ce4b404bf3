//! What moves: put, get and the accumulates (MPI-2.2 §11.3, MPI-4.1 §12.3).
//!
//! Operations are eager: when the call returns, the bytes are where they should be, and only
//! their order against other accesses is left to the synchronisation that ends the epoch.
//!
//! 1. [`target`] turns (rank, displacement, bytes) into checked memory, and nothing else does; [`memory`] is the
//!    seam to it, wherever it is.
//! 2. [`transfer`] is put and get: one description, one route, one place that moves bytes. A [`layout`] says
//!    where the elements of either side are; those of a slice are a layout of one run.
//! 3. [`update`] is the accumulates, in the same way: [`atomic`] updates one element or a few, [`bulk`] all
//!    others.
//! 4. [`calls`] has the calls, [`request`] those with requests, which are complete at once, [`notify`] those
//!    that count themselves at their target, [`own`] loads and stores of the own part.
//! 5. [`untyped`] has the buffers of callers who know the datatype only at run time, [`single`] what these
//!    call for accumulates; [`local`] combines two such buffers without a window.
//! 6. [`packed`] has the buffers of messages, which move as packed bytes.

mod atomic;
mod bulk;
mod calls;
mod layout;
mod local;
mod memory;
mod notify;
mod own;
mod packed;
mod request;
mod single;
mod target;
mod transfer;
mod untyped;
mod update;

pub use layout::Layout;
pub(crate) use packed::{Incoming, Outgoing};
pub use request::Request;
pub use transfer::Transfer;
pub use untyped::{Origin, OriginMut};
