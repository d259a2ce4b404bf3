//! Sends and receives as they mostly are: a short message in one block, the thread that the tables
//! favour, no request under way, and nothing is wrong.
//!
//! Each says whether it is done. If not it has done nothing, and the call goes by the tables
//! ([`super::send`], [`super::receive`]), which know all cases, and why a call is refused.

use super::incoming::Taken;
use super::mailbox::{Mailbox, State};
use super::matching::Envelope;
use super::outgoing::{Head, Kind};
use super::send::EAGER;
use super::{Channel, Status};
use crate::call::Call;
use crate::comm::Comm;
use crate::context::Context;
use crate::error::Result;
use crate::group::Rank;
use crate::ops::{Incoming, Origin, OriginMut, Outgoing};
use crate::shm::is_forked;

impl Comm {
    /// A standard send ([`Comm::start_send`], and its wait), if nothing is in the way: whether it is
    /// done. Local; never blocks.
    #[inline]
    pub fn send_at_once(&self, channel: Channel, origin: Origin<'_>, dest: Rank, tag: i32) -> bool {
        let context = self.context();
        let (Some(to), Some(mailbox)) = (self.partner(dest), Mailbox::existing()) else {
            return false;
        };
        let Some(from) = Outgoing::of(&origin) else { return false };
        let bytes = from.bytes();
        if tag < 0 || bytes > EAGER || !self.is_sound() {
            return false;
        }
        let of = self.message_context(channel);
        let head = Head { kind: Kind::Data, tag, context: of, bytes, token: 0, place: 0 };
        let said = context.enter(Call::Send, 0);
        let fill = |offset| from.pack_into(&context.segment, offset);
        let put = mailbox.in_favour(|state| state.put_at_once(context, to, &head, fill));
        said.end();
        put == Some(true)
    }

    /// A receive ([`Comm::start_receive`], and its wait), if nothing is in the way and the message
    /// comes while this rank spins: its status.
    #[inline]
    pub fn receive_at_once(
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
        let (said, mut taken) = (context.enter(Call::Receive, 0), Taken::Otherwise);
        self.waiter().spin(1, || {
            let took = |state: &mut State| state.take(context, &wanted, &mut into);
            taken = mailbox.in_favour(took).unwrap_or(Taken::Otherwise);
            !matches!(taken, Taken::Nothing)
        });
        said.end();
        let Taken::Message(Envelope { source: from, tag, .. }, bytes) = taken else { return None };
        let source = source.or_else(|| self.rank_of_world(from)).unwrap_or(Rank::NULL);
        Some(Status { source, tag, bytes, cancelled: false })
    }

    /// The rank of the job that a rank of the communicator is, if it is another one than this.
    #[inline]
    fn partner(&self, rank: Rank) -> Option<u32> {
        self.world_rank(rank.0).filter(|partner| *partner != self.context().rank)
    }

    /// Whether nothing is wrong with the communicator.
    #[inline]
    fn is_sound(&self) -> bool {
        !is_forked() && !self.is_freed() && !self.has_lost_any()
    }
}

impl State {
    /// Takes the next message of the queues that are known, if it is what is wanted and no table has
    /// anything that would come first.
    #[inline]
    fn take(&mut self, context: &Context, wanted: &Envelope, into: &mut Incoming) -> Taken {
        let is_first = self.posted.is_empty() && self.unexpected.is_empty() && self.owed.is_empty();
        if !is_first {
            return Taken::Otherwise;
        }
        self.sources.take(&context.segment, wanted, into)
    }

    /// As [`State::put`] of a message, if the queue is there and has room; whether it was.
    #[inline]
    fn put_at_once(
        &mut self,
        context: &Context,
        to: u32,
        head: &Head,
        fill: impl FnOnce(u64) -> Result<()>,
    ) -> bool {
        match self.queues.get_mut(to as usize) {
            Some(Some(queue)) => queue.put_at_once(&context.segment, head, fill),
            _ => false,
        }
    }
}
