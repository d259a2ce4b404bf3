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

use crate::ops::Buffers;
