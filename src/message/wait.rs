//! Waiting for messages: look, handle what is there, and sleep on this rank's bell.

use super::mailbox::{Mailbox, MailboxState, Pull};
use super::matching::Envelope;
use super::slots::{MessageFailure, MessageSlot, RequestOutcome, RequestStage};
use crate::comm::CommMembers;
use crate::context::Context;
use crate::error::Result;
use crate::mail::{Head, RecordKind, mail_of};
use crate::prim::{JobFailed, WaitRecord, Waiter, give_way};
use crate::shm::{AllocError, is_gone};
use std::panic::Location;

/// How a wait for messages ends.
pub(super) enum End {
    /// It has what it waited for.
    Done,
    /// A rank of the communicator has failed first; the bell was `seen` before.
    Failed { failed: JobFailed, seen: u32 },
}

impl Mailbox {
    /// Handles what has arrived, without waiting, until `enough`; whether it is.
    pub(super) fn look(
        &self,
        context: &Context,
        enough: impl Fn(&MailboxState) -> bool + Copy,
    ) -> Result<bool> {
        let seen = self.own.look();
        let found = {
            let mut state = self.lock();
            state.drain(context, self, seen, enough)?;
            (!state.pulls.is_empty(), enough(&state))
        };
        self.follow(context, found, enough)
    }

    /// [`Mailbox::look`] at the known queues, for `times` the usual spins of a wait. It does not read the
    /// bell, whose line stays with the ranks that ring it; so a message moves few cache lines.
    fn spin(
        &self,
        context: &Context,
        (waiter, times): (&Waiter<'_>, u32),
        enough: impl Fn(&MailboxState) -> bool + Copy,
    ) -> Result<bool> {
        let mut looked = Ok(false);
        waiter.spin(times, || {
            looked = self.look_at_known(context, enough);
            !matches!(looked, Ok(false))
        });
        looked
    }

    #[inline]
    fn look_at_known(
        &self,
        context: &Context,
        enough: impl Fn(&MailboxState) -> bool + Copy,
    ) -> Result<bool> {
        let found = {
            let mut state = self.lock();
            if enough(&state) {
                return Ok(true);
            }
            if !state.has_news(context) {
                return Ok(false);
            }
            state.drain_known(context, enough)?;
            (!state.pulls.is_empty(), enough(&state))
        };
        self.follow(context, found, enough)
    }

    /// Continues a look, which may have found bytes to copy out of other processes, and `enough` or not.
    /// Returns whether it is enough in the end.
    fn follow(
        &self,
        context: &Context,
        found: (bool, bool),
        enough: impl Fn(&MailboxState) -> bool,
    ) -> Result<bool> {
        let is_enough = match found {
            (false, is_enough) => is_enough,
            (true, _) => {
                self.pull_all(context);
                enough(&self.lock())
            }
        };
        self.drive();
        Ok(is_enough)
    }

    /// Waits until `enough`, in a call that the program has made at `at`; asleep, the rank records by `describe` what
    /// it waits for. It spins for that many times the usual spins.
    pub(super) fn until(
        &self,
        of: &CommMembers,
        at: &'static Location<'static>,
        describe: &dyn Fn(&WaitRecord),
        spins: u32,
        enough: impl Fn(&MailboxState) -> bool + Copy,
    ) -> Result<End> {
        let waiter = of.recording_waiter(at, describe);
        let spin = || self.spin(of.context(), (&waiter, spins), enough);
        self.wait(of, at, describe, spin, || self.look(of.context(), enough))
    }

    /// Waits until `done`, which is called after every change of this rank's messages, and handles what
    /// has arrived before each call. Asleep, the rank records by `describe` what it waits for.
    pub(super) fn progress_until(
        &self,
        of: &CommMembers,
        at: &'static Location<'static>,
        describe: &dyn Fn(&WaitRecord),
        mut done: impl FnMut() -> bool,
    ) -> Result<End> {
        let look = || {
            self.look(of.context(), |_| false)?;
            Ok(done())
        };
        self.wait(of, at, describe, || Ok(false), look)
    }

    /// The loop of every wait for messages: until `spin` or `look` finds what it waits for, or a rank of
    /// the communicator has failed and `look` finds nothing after that. It reads the bell between them.
    fn wait(
        &self,
        of: &CommMembers,
        at: &'static Location<'static>,
        describe: &dyn Fn(&WaitRecord),
        mut spin: impl FnMut() -> Result<bool>,
        mut look: impl FnMut() -> Result<bool>,
    ) -> Result<End> {
        loop {
            if spin()? {
                return Ok(End::Done);
            }
            let seen = self.own.bell().load();
            if look()? {
                return Ok(End::Done);
            }
            if let Err(failed) = self.await_ring(of, at, describe, seen)? {
                return Ok(if look()? { End::Done } else { End::Failed { failed, seen } });
            }
        }
    }

    /// Waits until the bell changes, or a rank of the communicator has failed; in that case handles
    /// everything that had been sent by then. Asleep, the rank records by `describe` what it waits for.
    fn await_ring(
        &self,
        of: &CommMembers,
        at: &'static Location<'static>,
        describe: &dyn Fn(&WaitRecord),
        seen: u32,
    ) -> Result<std::result::Result<(), JobFailed>> {
        if of.context().foreign.is_some() {
            // Another MPI rings no bell: the next look asks it.
            give_way();
            return Ok(Ok(()));
        }
        // Its look does the progress that it owes.
        let waiter = Waiter { progress: None, ..of.recording_waiter(at, describe) };
        let waited = waiter.until(self.own.bell(), |rung| rung != seen);
        let Err(failed) = waited else { return Ok(Ok(())) };
        // A rank may have failed between a message and its ring.
        self.lock().look_again();
        self.look(of.context(), |_| false)?;
        Ok(Err(failed))
    }

    /// Copies bytes out of other processes. Each of those requests goes on, whatever the outcome.
    #[cold]
    pub(super) fn pull_all(&self, context: &Context) {
        while let Some(pull) = { self.lock().pulls.pop() } {
            let Pull { slot, envelope, bytes, .. } = pull;
            let mut end = PullEnd { mailbox: self, slot, envelope, bytes, is_known: false };
            end.is_known = self.pull(context, pull).is_ok();
        }
    }

    fn pull(&self, context: &Context, pull: Pull) -> Result<()> {
        let Pull { slot, mut into, envelope, bytes, clock, token, address } = pull;
        let source = envelope.source;
        let is_denied = self.lock().is_denied || !context.reaches(source);
        let pulled = match is_denied {
            true => Err(None),
            false => {
                let pulled = into.pull(context.process(source)?, address, bytes);
                pulled.map_err(|error| Some(is_gone(&error)))
            }
        };
        // If the sender has withdrawn the message, it may have written there since.
        if pulled.is_ok() && !mail_of(&context.segment, context.number_of(source)?)?.has_withdrawn()
        {
            let mut state = self.lock();
            state.finish(
                slot,
                RequestOutcome { envelope, is_send: false, bytes, failure: None, clock },
            );
            return state.acknowledge(context, source, token);
        }
        // The sender copies the bytes, if it can. If it has failed, the wait for it ends.
        let mut state = self.lock();
        state.is_denied |= pulled == Err(Some(false));
        state.slots.replace(slot, RequestStage::Promised { envelope, bytes, into });
        let wanted = Head::control(RecordKind::Wanted, token, slot.token(), 0);
        match state.put(context, source, &wanted, None) {
            Err(AllocError::Other(error)) => Err(error),
            Err(_) => {
                let failure = Some(MessageFailure::NoMemory);
                state.finish(
                    slot,
                    RequestOutcome { envelope, is_send: false, bytes, failure, clock: 0 },
                );
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

/// The end of a pull, also by an error or a panic: nothing accesses the buffer any more.
struct PullEnd<'a> {
    mailbox: &'a Mailbox,
    slot: MessageSlot,
    envelope: Envelope,
    bytes: u64,
    is_known: bool,
}

impl Drop for PullEnd<'_> {
    fn drop(&mut self) {
        let PullEnd { mailbox, slot, envelope, bytes, is_known } = *self;
        if !is_known {
            let failure = Some(MessageFailure::Damaged);
            mailbox.lock().finish(
                slot,
                RequestOutcome { envelope, is_send: false, bytes, failure, clock: 0 },
            );
        }
        // Another thread may wait for it.
        mailbox.own.ring();
    }
}
