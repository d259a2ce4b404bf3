//! What a guard lends of its window: everything but the calls that open epochs.

use super::Window;
use crate::comm::Comm;
use crate::datatype::Element;
use crate::error::Result;

/// A window during an epoch: this rank's own part by copying, and the window's attributes.
///
/// ```compile_fail
/// # use onesided::{FenceAssert, LockAssert, LockType, Rank, Universe, Window};
/// # fn main() -> onesided::Result<()> {
/// # let universe = Universe::init()?;
/// # let mut window = Window::<u64>::allocate(universe.world(), 1)?;
/// let epoch = window.fence(FenceAssert::NONE)?;
/// epoch.window().lock(LockType::Shared, Rank(0), LockAssert::NONE)?; // a second access epoch
/// # Ok(()) }
/// ```
pub struct WindowView<'a, T: Element> {
    pub(super) window: &'a Window<T>,
}

impl<T: Element> WindowView<'_, T> {
    /// As [`Window::len`].
    #[allow(clippy::len_without_is_empty, reason = "a part of no elements is no special case")]
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// As [`Window::name`].
    pub fn name(&self) -> String {
        self.window.name()
    }

    /// As [`Window::comm`].
    pub fn comm(&self) -> &Comm {
        self.window.comm()
    }

    /// As [`Window::load`].
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range)
    pub fn load(&self, disp: u64, to: &mut [T]) -> Result<()> {
        self.window.load(disp, to)
    }

    /// As [`Window::load_one`].
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range)
    pub fn load_one(&self, disp: u64) -> Result<T> {
        self.window.load_one(disp)
    }

    /// As [`Window::store`].
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range)
    pub fn store(&self, disp: u64, from: &[T]) -> Result<()> {
        self.window.store(disp, from)
    }

    /// As [`Window::sync`].
    pub fn sync(&self) {
        self.window.sync();
    }
}
