//! Probes (MPI-4.1 §3.8): what has arrived, without receiving it or as a message in hand.

use super::mailbox::{Arrived, Mailbox, MailboxState};
use super::matching::Envelope;
use super::request::awaited_message;
use super::wait::End;
use super::{Channel, MessageRequest, Status};
use crate::call::Call;
use crate::comm::Comm;
use crate::error::Result;
use crate::group::Rank;
use crate::ops::OriginMut;
use crate::shm::is_forked;
use std::fmt;
use std::panic::Location;

/// A message in hand (`MPI_Message`): no other receive takes it. Dropped, it is received into nothing.
pub struct Message {
    comm: Comm,
    /// `None` of [`Rank::NULL`], and once it has been received.
    found: Option<(Envelope, Arrived)>,
}

impl Message {
    /// `MPI_Imrecv` (MPI-4.1 §3.8.3): receives it. What was promised to [`OriginMut::new`] has to hold
    /// until the request is complete.
    ///
    /// Local; does not block, except while another rank allocates.
    ///
    /// # Errors
    /// As [`Comm::start_receive`].
    pub fn start_receive(mut self, into: OriginMut<'_>) -> Result<MessageRequest> {
        let comm = self.comm.clone();
        comm.within(Call::Receive, || {
            let Some((envelope, message)) = self.found.take() else {
                return Ok(MessageRequest::complete(&comm, Status::NOTHING));
            };
            let found = |_: &mut MailboxState| Some((envelope, message));
            let slot = comm.post_for(Call::Receive, &into, envelope, found)?;
            Ok(MessageRequest::pending(&comm, slot))
        })
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        let Some((envelope, message)) = self.found.take().filter(|_| !is_forked()) else { return };
        let context = self.comm.context();
        if let Ok(mailbox) = Mailbox::of(context) {
            // A sender that waits for it is told, if there is memory to do so.
            let _ = mailbox.lock().acknowledge(context, envelope.source, message.token());
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found.as_ref().map(|(envelope, message)| (envelope, message.bytes));
        f.debug_tuple("Message").field(&found).finish()
    }
}

impl Comm {
    /// `MPI_Probe` and, not `blocking`, `MPI_Iprobe` (MPI-4.1 §3.8.1): the message that a receive
    /// with these arguments would take; `None` if there is none yet.
    ///
    /// Local; blocks, if asked to, until there is one.
    ///
    /// # Errors
    /// [`Error::Peer`](crate::Error::Peer); [`Error::Tag`](crate::Error::Tag);
    /// [`Error::RankFailed`](crate::Error::RankFailed) if there is none and a rank of the communicator
    /// has failed.
    #[track_caller]
    pub fn probe_message(
        &self,
        channel: Channel,
        source: Option<Rank>,
        tag: Option<i32>,
        blocking: bool,
    ) -> Result<Option<Status>> {
        let (call, at) = (Call::Probe, Location::caller());
        self.within(call, || {
            let Some(wanted) = self.wanted(call, channel, source, tag)? else {
                return Ok(Some(Status::NOTHING));
            };
            self.find(call, &wanted, blocking, at, |state| {
                let (envelope, message) = state.unexpected.first(&wanted)?;
                Some((envelope, message.bytes))
            })
            .map(|found| found.map(|(envelope, bytes)| self.found(&envelope, bytes)))
        })
    }

    /// `MPI_Mprobe` and, not `blocking`, `MPI_Improbe` (MPI-4.1 §3.8.2): as [`Comm::probe_message`],
    /// and takes the message.
    ///
    /// # Errors
    /// As [`Comm::probe_message`].
    #[track_caller]
    pub fn match_message(
        &self,
        channel: Channel,
        source: Option<Rank>,
        tag: Option<i32>,
        blocking: bool,
    ) -> Result<Option<(Message, Status)>> {
        let (call, at) = (Call::MatchProbe, Location::caller());
        self.within(call, || {
            let Some(wanted) = self.wanted(call, channel, source, tag)? else {
                return Ok(Some((Message { comm: self.clone(), found: None }, Status::NOTHING)));
            };
            let found =
                self.find(call, &wanted, blocking, at, |state| state.unexpected.take(&wanted))?;
            Ok(found.map(|(envelope, message)| {
                let status = self.found(&envelope, message.bytes);
                let comm = self.for_requests();
                (Message { comm, found: Some((envelope, message)) }, status)
            }))
        })
    }

    fn found(&self, envelope: &Envelope, bytes: u64) -> Status {
        let source = self.rank_of_world(envelope.source).unwrap_or(Rank::NULL);
        Status { source, tag: envelope.tag, bytes, cancelled: false }
    }

    /// Looks, again and again if it is to block, until `take` finds what is wanted.
    fn find<R>(
        &self,
        call: Call,
        wanted: &Envelope,
        blocking: bool,
        at: &'static Location<'static>,
        take: impl Fn(&mut MailboxState) -> Option<R>,
    ) -> Result<Option<R>> {
        let (context, mailbox) = (self.context(), Mailbox::of(self.context())?);
        let is_there = |state: &MailboxState| state.unexpected.first(wanted).is_some();
        let awaited = awaited_message(wanted, self.world_ranks());
        loop {
            mailbox.look(context, is_there)?;
            // Another thread may have taken it meanwhile.
            let found = take(&mut mailbox.lock());
            if found.is_some() || !blocking && !self.has_lost_any() {
                return Ok(found);
            }
            if let End::Failed(failed) = mailbox.until(self, at, &awaited, 1, is_there)? {
                return Err(self.rank_failed(failed, self.place(call)));
            }
        }
    }
}
