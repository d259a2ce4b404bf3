//! The view of a window during an epoch: everything except the calls that open epochs.

use super::Window;
use crate::comm::Comm;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use bytemuck::Pod;

/// A window during an epoch: this rank's own part by copying, and the window's attributes.
///
/// ```compile_fail
/// # use onesided::{FenceAssert, LockAssert, LockType, Rank, Universe, Window};
/// # fn main() -> onesided::Result<()> {
/// # let universe = Universe::init()?;
/// # let mut window = Window::<u64>::allocate(universe.world(), 1)?;
/// let epoch = window.fence()?;
/// epoch.window().lock(LockType::Shared, Rank(0))?; // a second access epoch
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct WindowView<'a, T: Pod> {
    pub(super) window: &'a Window<T>,
}

impl<T: Pod> WindowView<'_, T> {
    /// Elements of this rank's part.
    #[allow(clippy::len_without_is_empty, reason = "a part of no elements is no special case")]
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// `MPI_Win_get_name`
    #[doc(alias = "MPI_Win_get_name")]
    pub fn name(&self) -> String {
        self.window.name()
    }

    /// The communicator of the window.
    pub fn comm(&self) -> &Comm {
        self.window.comm()
    }

    /// Local load: [`Window::load`] during the epoch.
    ///
    /// # Errors
    /// [`Error::Range`]
    #[track_caller]
    pub fn load(&self, disp: usize, to: &mut [T]) -> Result<()> {
        self.window.load(disp, to)
    }

    /// Local load of one element: [`Window::load_one`] during the epoch.
    ///
    /// # Errors
    /// [`Error::Range`]
    pub fn load_one(&self, disp: usize) -> Result<T> {
        self.window.load_one(disp)
    }

    /// Local store: [`Window::store`] during the epoch.
    ///
    /// # Errors
    /// [`Error::Range`]
    #[track_caller]
    pub fn store(&self, disp: usize, from: &[T]) -> Result<()> {
        self.window.store(disp, from)
    }

    /// `MPI_Win_sync`: [`Window::sync`] during the epoch. Local; never blocks.
    #[doc(alias = "MPI_Win_sync")]
    pub fn sync(&self) {
        self.window.sync();
    }
}
