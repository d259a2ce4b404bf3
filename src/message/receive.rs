//! Receives (MPI-2.2 §3.2.4, §3.7.2).

use super::incoming::TakenMessage;
use super::mailbox::{Arrived, Mailbox, MailboxState};
use super::matching::Envelope;
use super::slots::{RequestStage, Slot};
use super::wait::End;
use super::waits::Waits;
use super::{Channel, MessageRequest, Status};
use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::ops::{Incoming, OriginMut};
use crate::prim::WaitRecord;
use std::panic::Location;

impl Comm {
    /// `MPI_Irecv` (MPI-2.2 §3.7.2): receives a message of `source`, or of any rank, with `tag`, or
    /// any, into the elements of `into`; a shorter message into the first of them. What was promised
    /// to [`OriginMut::new`] has to hold until the request is complete.
    ///
    /// Local; does not block, except while another rank allocates.
    ///
    /// # Errors
    /// [`Error::Peer`]; [`Error::Tag`]; [`Error::Reach`] for elements farther apart than 2⁶³ - 1
    /// bytes.
    pub fn start_receive(
        &self,
        channel: Channel,
        into: OriginMut<'_>,
        source: Option<Rank>,
        tag: Option<i32>,
    ) -> Result<MessageRequest> {
        self.within(Call::Receive, || self.receive_by(Call::Receive, channel, &into, source, tag))
    }

    /// A receive in the call `call`, which is recorded.
    pub(super) fn receive_by(
        &self,
        call: Call,
        channel: Channel,
        into: &OriginMut<'_>,
        source: Option<Rank>,
        tag: Option<i32>,
    ) -> Result<MessageRequest> {
        let slot = self.receiving(call, channel, into, source, tag)?;
        Ok(slot.map_or_else(
            || MessageRequest::complete(self, Status::NOTHING),
            |slot| MessageRequest::pending(self, slot),
        ))
    }

    /// `MPI_Recv` of a short message that comes while this rank spins, if nothing stands in the way: its
    /// status. If not, nothing has been done, and [`Comm::start_receive`] receives it, or says what is
    /// wrong.
    ///
    /// Local; blocks for as long as waits spin, never asleep.
    #[inline]
    pub fn try_receive(
        &self,
        channel: Channel,
        into: OriginMut<'_>,
        source: Option<Rank>,
        tag: Option<i32>,
    ) -> Option<Status> {
        let (context, mailbox) = (self.context(), Mailbox::existing()?);
        let from = match source {
            Some(source) => self.partner(source)?,
            None => Envelope::ANY_SOURCE,
        };
        let mut into = Incoming::of(&into)?;
        if tag.is_some_and(|tag| tag < 0) || !self.is_sound() || mailbox.has_requests() {
            return None;
        }
        let tag = tag.unwrap_or(Envelope::ANY_TAG);
        let wanted = Envelope { context: self.message_context(channel), source: from, tag };
        let (record, mut taken) = (context.enter(Call::Receive, 0), TakenMessage::Otherwise);
        self.waiter().spin(1, || {
            let took = |state: &mut MailboxState| state.take(context, &wanted, &mut into);
            taken = mailbox.try_biased(took).unwrap_or(TakenMessage::Otherwise);
            !matches!(taken, TakenMessage::Nothing)
        });
        record.end();
        let TakenMessage::Message(Envelope { source: from, tag, .. }, bytes) = taken else {
            return None;
        };
        let source = source.or_else(|| self.rank_of_world(from)).unwrap_or(Rank::NULL);
        Some(Status { source, tag, bytes, cancelled: false })
    }

    /// Checks the arguments of a receive, and posts it; `None` if it receives nothing.
    pub(super) fn receiving(
        &self,
        call: Call,
        channel: Channel,
        into: &OriginMut<'_>,
        source: Option<Rank>,
        tag: Option<i32>,
    ) -> Result<Option<Slot>> {
        let Some(wanted) = self.wanted(call, channel, source, tag)? else { return Ok(None) };
        self.post_for(call, into, wanted, |state| state.unexpected.take(&wanted)).map(Some)
    }

    /// Posts a receive, unless `find` has its message in the tables: then it goes to its buffer.
    pub(super) fn post_for(
        &self,
        call: Call,
        into: &OriginMut<'_>,
        wanted: Envelope,
        find: impl FnOnce(&mut MailboxState) -> Option<(Envelope, Arrived)>,
    ) -> Result<Slot> {
        let Some(into) = Incoming::of(into) else { return Err(self.too_far(call)) };
        let (context, mailbox) = (self.context(), Mailbox::of(self.context())?);
        let mut state = mailbox.lock();
        let found = find(&mut state);
        let slot = state.slots.add(RequestStage::Posted { wanted, into });
        let Some((envelope, message)) = found else {
            state.posted.post(wanted, slot);
            return Ok(slot);
        };
        if let Err(error) = state.deliver(context, slot, envelope, message) {
            state.slots.remove(slot);
            return Err(error);
        }
        let pulls = !state.pulls.is_empty();
        drop(state);
        if pulls {
            mailbox.pull_all(context);
        }
        Ok(slot)
    }

    /// What a receive or a probe asks for; `None` for [`Rank::NULL`].
    pub(super) fn wanted(
        &self,
        call: Call,
        channel: Channel,
        source: Option<Rank>,
        tag: Option<i32>,
    ) -> Result<Option<Envelope>> {
        if source == Some(Rank::NULL) {
            return Ok(None);
        }
        if let Some(tag) = tag.filter(|tag| *tag < 0) {
            return Err(Error::Tag { at: self.place(call), tag });
        }
        let source = match source {
            Some(source) => self.peer(call, source)?,
            None => Envelope::ANY_SOURCE,
        };
        let (context, tag) = (self.message_context(channel), tag.unwrap_or(Envelope::ANY_TAG));
        Ok(Some(Envelope { context, source, tag }))
    }

    /// Lets the threads of this rank that wait in [`Comm::progress_until`] ask `done` again, because
    /// something has happened that is not about messages. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Damaged`] if this rank's mailbox is not to be found in the segment.
    pub fn wake(&self) -> Result<()> {
        Mailbox::of(self.context())?.own.ring();
        Ok(())
    }

    /// As [`Comm::progress_for`], of something that is not known.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn progress_until(&self, done: impl FnMut() -> bool) -> Result<()> {
        self.progress_for(Waits::default(), done)
    }

    /// Waits until `done` says so, and handles what has arrived before each of its looks: for waits
    /// for one of several requests, or for steps that follow from requests. `waits` is for reports of
    /// deadlocks.
    ///
    /// Blocks, asleep if need be; `done` is asked whenever something has happened to messages of this
    /// rank, and must not itself wait.
    ///
    /// # Errors
    /// [`Error::RankFailed`] if a rank of the communicator has failed and `done` does not say so then.
    #[track_caller]
    pub fn progress_for(&self, waits: Waits, mut done: impl FnMut() -> bool) -> Result<()> {
        let (call, at) = (waits.call(), Location::caller());
        let wanted = waits.awaited();
        let tell = |record: &WaitRecord| record.say(&wanted);
        self.within(call, || {
            let (context, mailbox) = (self.context(), Mailbox::of(self.context())?);
            loop {
                let seen = mailbox.own.bell().load();
                mailbox.look(context, |_| false)?;
                if done() {
                    return Ok(());
                }
                match mailbox.await_ring(self, at, &tell, seen)? {
                    End::Done => {}
                    End::Failed(_) if done() => return Ok(()),
                    End::Failed(failed) => return Err(self.rank_failed(failed, self.place(call))),
                }
            }
        })
    }
}
