//! Communication calls: put, get and the accumulates (MPI-2.2 §11.3, MPI-4.1 §12.3).
//!
//! Operations are eager: when the call returns, the bytes are at their place. The synchronisation that
//! ends the epoch only orders them against other accesses. In a job of `rmarun --check=late` they wait for it ([`late`]);
//! so they may under another MPI ([`crate::foreign`]).
//!
//! 1. [`calls`] has the calls. Each describes a [`transfer`], or an accumulate ([`update`]). Its sides
//!    are a [`layout`] at the target and a [`buffer`] of this process; a slice is a layout of one run.
//! 2. Only [`target`] turns (rank, displacement, bytes) into checked memory, and only `window/memory.rs`
//!    asks for the kind of that memory.
//! 3. [`transfer`] moves bytes; [`elements`] updates elements: one, a few, or many.
//! 4. A [`Request`] is complete when its call returns.

mod borrowed;
mod buffer;
mod calls;
mod elements;
mod late;
mod layout;
mod request;
mod target;
mod transfer;
mod update;

pub(crate) use borrowed::Buffers;
pub(crate) use buffer::{
    Buffer, BufferMut, HasDatatype, HeldDatatype, Incoming, Outgoing, Scratch, scratch,
    scratch_beside,
};
pub use buffer::{Origin, OriginMut};
pub use layout::Layout;
pub use request::Request;
pub use transfer::Transfer;
pub use update::Update;
