//! What a program keeps with a window: name, error handler, attributes. All local.

use super::Flavour;
use crate::attribute::Keyval;
use crate::comm::Comm;
use std::sync::{Arc, PoisonError, RwLock};

/// Identifies the window for an attribute's callback. It is not the window itself: a callback must not
/// end an epoch that a guard holds open, nor access memory that a guard lends out.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(1).run(|universe| -> onesided::Result<()> {
/// use onesided::{KeyvalOptions, WinKeyval, WindowIdentity};
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
///
/// static DELETED: AtomicBool = AtomicBool::new(false);
///
/// let key: WinKeyval<u32> = KeyvalOptions::new()
///     .on_delete(|window: &WindowIdentity, value| {
///         assert_eq!((window.name().as_str(), *value), ("grid", 7));
///         DELETED.store(true, Relaxed);
///         Ok(())
///     })
///     .create();
/// let window = WindowOptions::new().name("grid").allocate::<u8>(universe.world(), 1)?;
/// window.set_attribute(&key, 7)?;
/// window.free()?;
/// assert!(DELETED.load(Relaxed));
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct WindowIdentity {
    comm: Comm,
    flavour: Flavour,
    name: Arc<RwLock<Box<str>>>,
}

/// What loads and stores see of a window's memory beside operations (`MPI_WIN_MODEL`, MPI-4.1
/// §12.2.6).
///
/// The standard's second model, `MPI_WIN_SEPARATE`, has a public and a private copy; no window of this
/// library has it.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let window = Window::<u8>::allocate(universe.world(), 1)?;
/// assert_eq!(window.model(), onesided::MemoryModel::Unified);
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryModel {
    /// `MPI_WIN_UNIFIED`: there is one copy. Loads see what operations write, and operations see what is
    /// stored, without a further call.
    Unified,
}

/// A key of window attributes (`MPI_Win_create_keyval`).
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let window = Window::<u32>::allocate(world, 1)?;
/// let key: onesided::WinKeyval<u32> = onesided::KeyvalOptions::new().create();
/// window.set_attribute(&key, me)?;
/// assert_eq!(window.attribute(&key).as_deref(), Some(&me));
/// window.free()?;
/// # Ok(())
/// # });
/// ```
pub type WinKeyval<T> = Keyval<WindowIdentity, T>;

impl WindowIdentity {
    pub(super) fn new(comm: &Comm, flavour: Flavour, name: String) -> WindowIdentity {
        let name = Arc::new(RwLock::new(name.into_boxed_str()));
        WindowIdentity { comm: comm.clone(), flavour, name }
    }

    /// `MPI_Win_get_name`
    #[doc(alias = "MPI_Win_get_name")]
    pub fn name(&self) -> String {
        self.shown().into()
    }

    pub(super) fn set_name(&self, name: &str) {
        *self.name.write().unwrap_or_else(PoisonError::into_inner) = name.into();
    }

    /// A sentence about the window, which may be gone when it is made, from its latest name.
    pub(super) fn describe<F>(&self, sentence: F) -> impl Fn() -> String + use<F>
    where
        F: Fn(&str) -> String,
    {
        let name = self.name.clone();
        move || sentence(&name.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn shown(&self) -> Box<str> {
        self.name.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The communicator that the window was made over.
    pub fn comm(&self) -> &Comm {
        &self.comm
    }

    /// `MPI_WIN_CREATE_FLAVOR`
    #[doc(alias = "MPI_WIN_CREATE_FLAVOR")]
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }
}
