//! Progress of operations that are made of messages, whenever this rank handles messages: collectives and
//! partitioned messages. They are driven through a trait, so this module does not know them.
//!
//! One thread at a time advances all of them. Another thread that finds it at work leaves a note and
//! continues; the first thread looks again before it leaves if it finds the note.

use super::mailbox::Mailbox;
use super::request::await_slot;
use super::{MessageRequest, Status};
use crate::call::Call;
use crate::error::Result;
use crate::prim::Word32;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Something made of messages that is under way.
pub(crate) trait Driven: Send + Sync {
    /// Advances without waiting; whether it is done.
    fn drive(&self) -> bool;

    /// This rank leaves the job: no thread will drive it any more.
    fn abandon(&self);

    /// What the program calls it.
    fn name(&self) -> &'static str;
}

/// All that is under way.
#[derive(Default)]
pub(super) struct AllDriven {
    /// Their number, for callers that need not look.
    number: Word32,
    state: Mutex<DriverState>,
}

#[derive(Default)]
struct DriverState {
    all: Vec<Arc<dyn Driven>>,
    /// A thread has taken them and drives them.
    is_taken: bool,
    /// Something has happened that it may not have seen.
    again: bool,
    /// This rank has left the job.
    is_over: bool,
}

/// What a thread has taken, until it has advanced all of it.
struct TakenRequests<'a> {
    from: &'a AllDriven,
    all: Vec<Arc<dyn Driven>>,
}

/// Puts back what is not done, also when a function of the program has panicked.
impl Drop for TakenRequests<'_> {
    fn drop(&mut self) {
        let mut state = self.from.state();
        state.all.append(&mut self.all);
        state.is_taken = false;
        let left = if state.is_over { std::mem::take(&mut state.all) } else { Vec::new() };
        drop(state);
        left.iter().for_each(|driven| driven.abandon());
    }
}

impl AllDriven {
    /// Their number.
    #[inline]
    pub(super) fn number(&self) -> u32 {
        self.number.load()
    }

    /// What the program calls each.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.state().all.iter().map(|driven| driven.name()).collect()
    }

    fn state(&self) -> MutexGuard<'_, DriverState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, driven: Arc<dyn Driven>) {
        self.state().all.push(driven);
        self.number.fetch_add(1);
    }

    /// Takes all, unless another thread has them; that thread then looks again.
    fn take(&self) -> Option<TakenRequests<'_>> {
        let mut state = self.state();
        state.again = state.is_taken;
        if state.is_taken {
            return None;
        }
        state.is_taken = true;
        Some(TakenRequests { from: self, all: std::mem::take(&mut state.all) })
    }

    /// Drives everything; whether something has become complete.
    #[cold]
    fn drive(&self) -> bool {
        let mut done = 0;
        loop {
            let Some(mut taken) = self.take() else { break };
            let before = taken.all.len();
            taken.all.retain(|driven| !driven.drive());
            done += before - taken.all.len();
            drop(taken);
            if !self.state().again {
                break;
            }
        }
        self.number.fetch_sub(done as u32);
        done > 0
    }

    /// This rank leaves the job.
    pub(super) fn abandon(&self) {
        let left = {
            let mut state = self.state();
            state.is_over = true;
            std::mem::take(&mut state.all)
        };
        left.iter().for_each(|driven| driven.abandon());
    }
}

impl Mailbox {
    /// Drives something whenever this rank handles messages, until it is done.
    pub(super) fn add_driven(&self, driven: Arc<dyn Driven>) {
        self.driven.add(driven);
        self.drive();
    }

    /// Advances what is under way, after a look at the messages.
    #[inline]
    pub(super) fn drive(&self) {
        if self.driven.number.load() != 0 && self.driven.drive() {
            // Another thread may wait for it.
            self.own.ring();
        }
    }
}

impl MessageRequest {
    /// [`MessageRequest::is_complete`] without a look at what has arrived.
    pub(crate) fn is_done(&self) -> bool {
        let Some((comm, slot)) = self.under_way() else { return true };
        let mailbox = Mailbox::of(comm.context());
        mailbox.map_or(true, |mailbox| mailbox.lock().slots.is_done(slot)) || comm.has_lost_any()
    }

    /// Its buffer returns to the caller, although it may not be done.
    pub(crate) fn give_up(&self) {
        if let Some((comm, slot)) = self.take_under_way()
            && let Ok(mailbox) = Mailbox::of(comm.context())
        {
            mailbox.give_up(comm.members(), slot);
        }
    }

    /// The outcome of a request that is done, as part of another call.
    pub(crate) fn outcome(&self, call: Call) -> Result<Status> {
        let known = self.known_status();
        self.take_under_way().map_or(Ok(known), |(comm, slot)| {
            await_slot(comm.members(), call, slot, Location::caller())
        })
    }
}
