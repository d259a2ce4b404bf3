//! What a program keeps with a communicator: name, error handler, attributes, info; comparison.

use super::{Comm, CommKeyval};
use crate::call::Call;
use crate::error::Result;
use crate::group::Comparison;
use crate::handler::ErrorHandler;
use crate::info::Info;
use std::any::Any;
use std::fmt;
use std::sync::{Arc, PoisonError};

use super::description::Description;

/// Names, handlers and attributes are local: each rank has its own.
impl Comm {
    /// `MPI_Comm_get_name` (MPI-4.1 §7.8): empty unless one was set; `MPI_COMM_WORLD` and
    /// `MPI_COMM_SELF` for the job's own. Local; does not block.
    pub fn name(&self) -> String {
        self.inner.name.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// `MPI_Comm_set_name`: for all handles of the communicator on this rank. Duplicates do not
    /// take it over. Local; does not block.
    pub fn set_name(&self, name: &str) {
        *self.inner.name.write().unwrap_or_else(PoisonError::into_inner) = name.to_owned();
    }

    /// `MPI_Comm_get_errhandler` (MPI-4.1 §9.3): that of the communicator it was made from unless
    /// another was set; [`ErrorHandler::Return`] to begin with. Local; does not block.
    pub fn error_handler(&self) -> ErrorHandler {
        self.inner.handler.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// `MPI_Comm_set_errhandler`: what happens with an error of a call on the communicator before
    /// the call returns it. Communicators and windows made from it later take it over. Local;
    /// does not block.
    ///
    /// A function that holds a handle of the communicator keeps it alive, and its rank in the job,
    /// until another handler is set.
    pub fn set_error_handler(&self, handler: ErrorHandler) {
        let mut current = self.inner.handler.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *current, handler);
        // What it holds is the program's, and may look at the handler when it is dropped.
        drop(current);
        drop(old);
    }

    /// `MPI_Comm_set_attr` (MPI-4.1 §7.7.2): sets this rank's attribute under `key`. One that
    /// exists is deleted first, and stays if its delete callback refuses. Local; does not block.
    ///
    /// A value that holds a handle of the communicator keeps it alive, and its rank in the job,
    /// until the attribute is deleted. The job's own communicators drop theirs when it ends.
    ///
    /// # Errors
    /// [`Error::Keyval`](crate::Error::Keyval) if the key was freed;
    /// [`Error::Attribute`](crate::Error::Attribute) if the delete callback refuses;
    /// [`Error::Communicator`](crate::Error::Communicator) if the communicator was freed.
    pub fn set_attribute<T>(&self, key: &CommKeyval<T>, value: T) -> Result<()>
    where
        T: Any + Send + Sync,
    {
        let call = Call::Attribute;
        self.within(call, || self.inner.attributes.set(self.place(call), self, key, value))
    }

    /// `MPI_Comm_get_attr`: this rank's attribute under `key`, if there is one. Local; does not
    /// block.
    pub fn attribute<T: Any + Send + Sync>(&self, key: &CommKeyval<T>) -> Option<Arc<T>> {
        self.inner.attributes.get(key)
    }

    /// `MPI_Comm_delete_attr`: whether there was an attribute under `key`. Local; does not block.
    ///
    /// # Errors
    /// [`Error::Attribute`](crate::Error::Attribute) if its delete callback refuses: it then
    /// stays; [`Error::Communicator`](crate::Error::Communicator) if the communicator was freed.
    pub fn delete_attribute<T: Any + Send + Sync>(&self, key: &CommKeyval<T>) -> Result<bool> {
        let call = Call::Attribute;
        self.within(call, || self.inner.attributes.delete(self.place(call), self, key))
    }

    /// Deletes all attributes of this rank, the latest first: what [`Comm::free`] begins with, and the
    /// end of the job for its own communicator of one rank (MPI-4.1 §11.2.4). Local; does not block.
    ///
    /// # Errors
    /// [`Error::Attribute`](crate::Error::Attribute) if a delete callback refuses: its attribute
    /// stays, and those before it.
    pub fn delete_attributes(&self) -> Result<()> {
        self.inner.attributes.delete_all(&self.place(Call::Finalize), self)
    }

    /// Drops what the program keeps with one of the job's own communicators, without callbacks.
    /// It may hold handles, which would keep the rank in the job for ever.
    pub(crate) fn let_go(&self) {
        self.set_error_handler(ErrorHandler::Return);
        self.inner.attributes.clear();
    }

    /// `MPI_Comm_set_info` (MPI-4.1 §7.4.4). The standard's hints for communicators are about
    /// messages, which this library does not have; they are ignored, like unknown ones.
    ///
    /// Collective; blocks until every rank has called it. The info may differ from rank to rank.
    ///
    /// # Errors
    /// Those of any collective ([`Comm`]).
    #[track_caller]
    pub fn set_info(&self, info: &Info) -> Result<()> {
        let _ignored = info;
        self.collectively(Call::CommSetInfo, |set| {
            set.exchange(&Description::bare(Call::CommSetInfo), &[]).map(drop)
        })
    }

    /// `MPI_Comm_get_info`: the hints that are in use, which are none ([`Comm::set_info`]). Local;
    /// does not block.
    pub fn info(&self) -> Info {
        Info::new()
    }

    /// `MPI_Comm_compare` (MPI-2.2 §6.4.1): [`Comparison::Identical`] for handles of the same
    /// communicator, else by the groups: [`Comparison::Congruent`] if they are identical. Local;
    /// does not block.
    pub fn compare(&self, other: &Comm) -> Comparison {
        if Arc::ptr_eq(&self.inner, &other.inner) {
            return Comparison::Identical;
        }
        match self.inner.group.compare(&other.inner.group) {
            Comparison::Identical => Comparison::Congruent,
            by_groups => by_groups,
        }
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comm = f.debug_struct("Comm");
        comm.field("name", &self.name()).field("rank", &self.rank().0);
        comm.field("members", &self.inner.group.members()).finish()
    }
}
