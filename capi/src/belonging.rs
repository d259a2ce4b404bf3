//! The owner of a request or of a matched message. Errors are raised on its error handler, and ranks are
//! those of its communicator. Pending operations continue after the communicator is freed (MPI-4.1
//! §7.4.3).

use crate::abi::*;
use crate::comm::{Communicator, Sides};
use crate::handle::Object;
use crate::handler::Handler;
use crate::message::MessageObject;
use crate::raise::Owner;
use crate::request::Request;
use onesided::engine::Status;
use std::sync::{Arc, OnceLock};

/// The owner, and the ranks of its communicator.
pub struct Belonging {
    owner: Owner,
    /// The data of a freed communicator that is still needed.
    freed: OnceLock<Arc<Freed>>,
}

/// The data that a freed communicator leaves to its requests and messages.
struct Freed {
    handler: Handler,
    handle: usize,
    sides: Option<Sides>,
}

impl Belonging {
    /// The owner of the error handler.
    pub fn owner(&self) -> Owner {
        match self.freed.get() {
            None => self.owner,
            Some(freed) => Owner::Freed { handler: freed.handler, handle: freed.handle },
        }
    }

    /// A status of the communicator that messages go through, with the source as the program names it.
    #[inline(always)]
    pub fn translated(&self, status: Status) -> Status {
        match (self.freed.get(), self.owner) {
            (Some(freed), _) => {
                freed.sides.as_ref().map_or(status, |sides| sides.translated(status))
            }
            (None, Owner::Comm(comm)) => comm.find().map_or(status, |comm| comm.translated(status)),
            _ => status,
        }
    }

    fn inherit(&self, freed: &Arc<Freed>) {
        match self.owner {
            // Two objects had the same handle number one after the other; this is the first one.
            Owner::Comm(comm) if comm.value() == freed.handle => {
                drop(self.freed.set(freed.clone()))
            }
            _ => {}
        }
    }
}

/// Passes the data of a freed communicator to its requests and messages.
pub fn leave_behind(handle: MPI_Comm, comm: &Communicator) {
    let sides = comm.inter.as_ref().map(|inter| inter.sides());
    let freed = Arc::new(Freed { handler: comm.handler(), handle: handle.value(), sides });
    Request::table().each(|request| request.belonging.inherit(&freed));
    MessageObject::table().each(|message| message.belonging.inherit(&freed));
}

impl From<Owner> for Belonging {
    fn from(owner: Owner) -> Belonging {
        Belonging { owner, freed: OnceLock::new() }
    }
}
