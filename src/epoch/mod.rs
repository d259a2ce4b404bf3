//! The typed face: windows of elements, and epochs as guards.
//!
//! | guard | opened by | reaches | ends by |
//! | --- | --- | --- | --- |
//! | [`FenceEpoch`] | [`Window::fence`] | every rank | `fence` (the next one), `step`, or `close` |
//! | [`AccessEpoch`] | [`AccessSide::start`] | the group's ranks | `complete` |
//! | [`ExposureEpoch`] | [`ExposureSide::post`] | – | `wait`, or `test` when true |
//! | [`LockEpoch`] | [`Window::lock`] | one rank | `unlock` |
//! | [`LockAllEpoch`] | [`Window::lock_all`] | every rank | `unlock_all` |
//! | [`LocalEpoch`] | [`Window::lock_local`] | this rank's part, as a slice | `unlock` |
//!
//! What the types promise:
//!
//! 1. No operation outside an epoch compiles: operations are methods of guards.
//! 2. An origin buffer stays borrowed until its epoch (or batch) ends.
//! 3. Two access epochs on one window do not compile, except locks of several targets, which the
//!    standard allows; two locks of one target are an error at run time.
//! 4. `&mut [T]` of window memory exists only while the library keeps every other rank out.
//!
//! Dropping a guard ends its epoch where that needs no other rank: unlock, unlock_all, complete.
//! Dropping a [`FenceEpoch`] or an [`ExposureEpoch`] leaves the epoch open, because ending it
//! waits for others. While panicking no guard ends its epoch: the rank is about to fail, and the
//! launcher ends the job; a program that catches the panic keeps what it had locked.

mod access;
mod batch;
mod exposed;
mod fence;
mod local;
mod lock;
mod lock_all;
mod pscw;
mod request;
mod shaped;
mod shared;
mod view;
mod waiting;
mod window;

pub use access::Access;
pub use batch::{Batch, LockBatch};
pub use fence::{FenceEpoch, FenceStep};
pub use local::LocalEpoch;
pub use lock::{LockEpoch, LockedTarget};
pub use lock_all::LockAllEpoch;
pub use pscw::{AccessEpoch, AccessSide, ExposureEpoch, ExposureSide};
pub use shared::SharedPart;
pub use view::WindowView;
pub use window::Window;

use exposed::Exposed;
use std::marker::PhantomData;

/// Keeps the origin buffers of an epoch borrowed until the epoch's guard is gone.
///
/// Invariant in `'b`, so that no operation can be given a buffer that is borrowed for less; and
/// with a destructor, so that the borrow lasts until the guard is dropped, used or not.
struct Buffers<'b>(PhantomData<fn(&'b mut ()) -> &'b mut ()>);

impl Buffers<'_> {
    fn new() -> Self {
        Buffers(PhantomData)
    }
}

impl Drop for Buffers<'_> {
    fn drop(&mut self) {}
}
