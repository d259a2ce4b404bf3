//! What a program attaches to a communicator: name, error handler, attributes. Each rank has its own.

use super::Comm;
use crate::attribute::Attributes;
use crate::handler::ErrorHandler;
use std::fmt;
use std::sync::{PoisonError, RwLock};

/// A rank's name, error handler and attributes of a communicator.
#[derive(Default)]
pub(super) struct Attached {
    name: RwLock<String>,
    handler: RwLock<ErrorHandler>,
    pub(super) attributes: Attributes<Comm>,
}

impl Attached {
    /// Those of a communicator that is made from another one.
    pub(super) fn inherited(handler: ErrorHandler, attributes: Attributes<Comm>) -> Attached {
        Attached { name: RwLock::default(), handler: RwLock::new(handler), attributes }
    }

    pub(super) fn name(&self) -> String {
        self.name.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_name(&self, name: &str) {
        *self.name.write().unwrap_or_else(PoisonError::into_inner) = name.to_owned();
    }

    pub(super) fn handler(&self) -> ErrorHandler {
        self.handler.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_handler(&self, handler: ErrorHandler) {
        let mut current = self.handler.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *current, handler);
        // It belongs to the program, and may look at the handler when it is dropped.
        drop(current);
        drop(old);
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comm = f.debug_struct("Comm");
        comm.field("name", &self.name()).field("rank", &self.rank().0);
        comm.field("members", &self.inner.members.group.members()).finish()
    }
}
