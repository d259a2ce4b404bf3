//! Whose a request is, or a message in hand: its errors are raised on that object's error handler, and it
//! names ranks as that communicator does. What is under way goes on when the communicator has been freed
//! (MPI-4.1 §7.4.3).

use crate::abi::*;
use crate::comm::{Communicator, Sides};
use crate::handle::Object;
use crate::handler::Handler;
use crate::message::MessageObject;
use crate::raise::Owner;
use crate::request::Request;
use onesided::engine::Status;
use std::sync::{Arc, OnceLock};

/// Whose it is.
pub struct Belonging {
    owner: Owner,
    /// Of a communicator that has been freed, what is still needed of it.
    freed: OnceLock<Arc<Freed>>,
}

/// What a communicator leaves to those that belonged to it.
struct Freed {
    handler: Handler,
    handle: usize,
    sides: Option<Sides>,
}

impl Belonging {
    /// Whose error handler is asked.
    pub fn owner(&self) -> Owner {
        match self.freed.get() {
            None => self.owner,
            Some(freed) => Owner::Freed { handler: freed.handler, handle: freed.handle },
        }
    }

    /// A status of the communicator that messages go through, with the source as the program names it.
    pub fn told(&self, status: Status) -> Status {
        match (self.freed.get(), self.owner) {
            (Some(freed), _) => freed.sides.as_ref().map_or(status, |sides| sides.told(status)),
            (None, Owner::Comm(comm)) => comm.find().map_or(status, |comm| comm.told(status)),
            _ => status,
        }
    }

    fn inherit(&self, freed: &Arc<Freed>) {
        match self.owner {
            // Of two objects whose handles were the same number, the first was meant.
            Owner::Comm(comm) if comm.value() == freed.handle => {
                drop(self.freed.set(freed.clone()))
            }
            _ => {}
        }
    }
}

/// A communicator has been freed: tells all that belong to it what they need of it.
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
