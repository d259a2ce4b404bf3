//! The typed API: windows of elements, and epochs as guards.
//!
//! The crate's front page (`lib.rs`) has the table of guards and the four promises of their types.

mod access;
mod batch;
mod exposed;
mod fence;
mod local;
mod lock;
mod lock_all;
mod pscw;
mod shared;
mod view;
mod waiting;
mod window;

pub use access::{Access, PassiveAccess};
pub use batch::Batch;
pub use fence::{FenceEpoch, FenceStep};
pub use local::LocalEpoch;
pub use lock::LockEpoch;
pub use lock_all::LockAllEpoch;
pub use pscw::{AccessEpoch, AccessSide, ExposureEpoch, ExposureSide};
pub use shared::SharedPart;
pub use view::WindowView;
pub use window::Window;

use std::marker::PhantomData;

/// Keeps the origin buffers of an epoch borrowed until the epoch's guard is gone.
///
/// Invariant in `'b`, so that no operation can be given a buffer that is borrowed for less; and
/// with a destructor, so that the borrow lasts until the guard is dropped, used or not.
#[derive(Debug)]
struct Buffers<'b>(PhantomData<fn(&'b mut ()) -> &'b mut ()>);

impl Buffers<'_> {
    fn new() -> Self {
        Buffers(PhantomData)
    }
}

impl Drop for Buffers<'_> {
    fn drop(&mut self) {}
}
