//! What a program keeps with a window: name, error handler, attributes. All local.

use super::{Flavour, Win};
use crate::attribute::Keyval;
use crate::call::Call;
use crate::comm::Comm;
use crate::error::Result;
use crate::handler::ErrorHandler;
use std::any::Any;
use std::sync::{Arc, PoisonError, RwLock};

/// Which window an attribute's callback is about. Not the window itself: a callback must not end
/// an epoch that a guard holds open, nor access memory that a guard lends out.
#[derive(Clone, Debug)]
pub struct WindowIdentity {
    pub(super) comm: Comm,
    pub(super) flavour: Flavour,
    pub(super) name: Arc<RwLock<Box<str>>>,
}

/// What loads and stores see of a window's memory beside operations (`MPI_WIN_MODEL`, MPI-4.1
/// §12.2.6).
///
/// The standard has a second model, `MPI_WIN_SEPARATE`, of a public and a private copy; no window
/// of this library is of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryModel {
    /// `MPI_WIN_UNIFIED`: there is one copy, so that what an operation writes is seen by loads, and
    /// what is stored by operations, without a further call to bring copies together.
    Unified,
}

/// A key of window attributes (`MPI_Win_create_keyval`).
pub type WinKeyval<T> = Keyval<WindowIdentity, T>;

impl WindowIdentity {
    pub(super) fn new(comm: &Comm, flavour: Flavour, name: String) -> WindowIdentity {
        let name = Arc::new(RwLock::new(name.into_boxed_str()));
        WindowIdentity { comm: comm.clone(), flavour, name }
    }

    /// `MPI_Win_get_name`
    pub fn name(&self) -> String {
        self.shown().into()
    }

    pub(super) fn shown(&self) -> Box<str> {
        self.name.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The communicator that the window was made over.
    pub fn comm(&self) -> &Comm {
        &self.comm
    }

    /// `MPI_WIN_CREATE_FLAVOR`
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }
}

impl Win {
    /// `MPI_WIN_MODEL`: the same on every machine and for every flavour, because windows are the
    /// target's memory itself.
    pub fn model(&self) -> MemoryModel {
        MemoryModel::Unified
    }

    /// `MPI_Win_get_name`
    pub fn name(&self) -> String {
        self.identity.name()
    }

    /// `MPI_Win_set_name` (MPI-4.1 §7.8): the name that this rank's errors use.
    pub fn set_name(&self, name: &str) {
        *self.identity.name.write().unwrap_or_else(PoisonError::into_inner) = name.into();
    }

    /// `MPI_Win_get_errhandler`; that of the communicator unless another was set.
    pub fn error_handler(&self) -> ErrorHandler {
        self.handler.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// `MPI_Win_set_errhandler` (MPI-4.1 §9.3): what happens with an error of a call on the
    /// window before the call returns it.
    pub fn set_error_handler(&self, handler: ErrorHandler) {
        *self.handler.write().unwrap_or_else(PoisonError::into_inner) = handler;
    }

    /// `MPI_Win_set_attr` (MPI-4.1 §7.7.3): sets this rank's attribute under `key`. One that
    /// exists is deleted first, and stays if its delete callback refuses.
    ///
    /// # Errors
    /// [`Error::Keyval`](crate::Error::Keyval) if the key was freed;
    /// [`Error::Attribute`](crate::Error::Attribute) if the delete callback refuses.
    pub fn set_attribute<T>(&self, key: &WinKeyval<T>, value: T) -> Result<()>
    where
        T: Any + Send + Sync,
    {
        let call = Call::Attribute;
        self.within(call, || self.attributes.set(self.place(call), &self.identity, key, value))
    }

    /// `MPI_Win_get_attr`: this rank's attribute under `key`, if there is one. The predefined
    /// attributes are methods: [`Win::base`], [`Win::size`], [`Win::disp_unit`], [`Win::flavour`],
    /// [`Win::model`].
    pub fn attribute<T: Any + Send + Sync>(&self, key: &WinKeyval<T>) -> Option<Arc<T>> {
        self.attributes.get(key)
    }

    /// `MPI_Win_delete_attr`: whether there was an attribute under `key`.
    ///
    /// # Errors
    /// [`Error::Attribute`](crate::Error::Attribute) if its delete callback refuses: it then stays.
    pub fn delete_attribute<T: Any + Send + Sync>(&self, key: &WinKeyval<T>) -> Result<bool> {
        let call = Call::Attribute;
        self.within(call, || self.attributes.delete(self.place(call), &self.identity, key))
    }

    /// Deletes all attributes of this rank, the latest first: what [`Win::free`] begins with. Local;
    /// does not block.
    ///
    /// # Errors
    /// [`Error::Attribute`](crate::Error::Attribute) if a delete callback refuses: its attribute
    /// stays, and those before it.
    pub fn delete_attributes(&self) -> Result<()> {
        self.attributes.delete_all(&self.place(Call::WinFree), &self.identity)
    }
}
