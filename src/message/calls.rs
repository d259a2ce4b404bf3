//! The calls of a communicator for messages, in the standard's order (MPI-2.2 chapter 3, MPI-4.1 §3).

use super::left;
use super::mailbox::Mailbox;
use super::receive::{self, receive, wanted};
use super::request::await_fetched;
use super::send::{message_context, send, send_eagerly};
use super::slots::MessageSlot;
use super::typed::{Source, Tag, receive_and_wait, send_and_receive, send_and_wait};
use super::wait::End;
use super::{Channel, Driven, Message, MessageRequest, Pending, SendMode, Status, Waits, probe};
use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::ops::{Origin, OriginMut};
use crate::prim::WaitRecord;
use crate::shm::is_forked;
use bytemuck::Pod;
use std::panic::Location;
use std::sync::Arc;

impl Comm {
    /// `MPI_Send` (MPI-2.2 §3.2.1): sends the elements of `from` to rank `dest`, with a `tag` that is not
    /// negative.
    ///
    /// Local; returns when the buffer can be used again. A message to another rank blocks,
    /// asleep if need be, until it has been received: one of more than 8 KiB, if blocks of the segment for
    /// its size are in use by messages that have not been received; one of more than 1 MiB always, and a contiguous one of
    /// more than 2 MiB divided by the number of ranks that share a processor, or by half of them if this rank has no request
    /// under way.
    ///
    /// # Errors
    /// [`Error::Peer`], [`Error::Tag`], [`Error::NoMemory`], [`Error::RankFailed`].
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// if me == 0 {
    ///     world.send(&[1.5, 2.5], Rank(1), 7)?;
    /// } else {
    ///     let mut numbers = [0.0; 2];
    ///     world.recv(&mut numbers, Rank(0), 7)?;
    ///     assert_eq!(numbers, [1.5, 2.5]);
    /// }
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Send")]
    #[track_caller]
    pub fn send<T: Pod>(&self, from: &[T], dest: Rank, tag: i32) -> Result<()> {
        self.send_in_mode(SendMode::Standard, from, dest, tag, Location::caller())
    }

    /// `MPI_Recv` (MPI-2.2 §3.2.4): receives a message from `source` with `tag` into `into`. A shorter
    /// message fills the first elements; [`Status::count`] returns their number.
    ///
    /// Local; blocks, asleep if need be, until the message is there.
    ///
    /// # Errors
    /// [`Error::Truncated`] for a message that is longer: it is lost, and `into` is as before.
    /// [`Error::Peer`], [`Error::Tag`], [`Error::RankFailed`].
    ///
    /// ```no_run
    /// # fn main() -> onesided::Result<()> {
    /// # let universe = onesided::Universe::init()?;
    /// # let world = universe.world();
    /// use onesided::{Rank, Source, Tag};
    ///
    /// if world.rank() == 0 {
    ///     world.send(&[1.5, 2.5], Rank(1), 7)?;
    /// } else {
    ///     let mut into = [0.0; 4];
    ///     let status = world.recv(&mut into, Source::Any, Tag::Any)?;
    ///     assert_eq!(status.count::<f64>(), Some(2));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "MPI_Recv")]
    #[track_caller]
    pub fn recv<T: Pod>(
        &self,
        into: &mut [T],
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status> {
        let (call, at) = (Call::Receive, Location::caller());
        let (source, tag) = (source.into(), tag.into());
        let (mut into, source, tag) = (OriginMut::of(into.into()), source.known(), tag.known());
        let usual = self.try_receive(Channel::Program, &mut into, source, tag);
        let from = source.unwrap_or(Rank::NULL);
        let into = (into, source, tag);
        usual.map_or_else(
            || {
                self.within_message((call, from, 0), || {
                    receive_and_wait(self.members(), (call, at), Channel::Program, into)
                })
            },
            Ok,
        )
    }

    /// `MPI_Ssend` (MPI-2.2 §3.4): [`Comm::send`] that always blocks until the receive of the message has
    /// begun.
    ///
    /// # Errors
    /// [`Error::Peer`], [`Error::Tag`], [`Error::NoMemory`], [`Error::RankFailed`].
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// if me == 0 {
    ///     world.ssend(&[7], Rank(1), 0)?; // rank 1 has begun to receive
    /// } else {
    ///     let mut number = [0];
    ///     world.recv(&mut number, Rank(0), 0)?;
    /// }
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Ssend")]
    #[track_caller]
    pub fn ssend<T: Pod>(&self, from: &[T], dest: Rank, tag: i32) -> Result<()> {
        self.send_in_mode(SendMode::Synchronous, from, dest, tag, Location::caller())
    }

    fn send_in_mode<T: Pod>(
        &self,
        mode: SendMode,
        from: &[T],
        dest: Rank,
        tag: i32,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let (call, origin) = (Call::Send, Origin::of(from.into()));
        if self.try_send(mode, Channel::Program, &origin, dest, tag) {
            return Ok(());
        }
        let bytes = origin.layout().bytes().unwrap_or(0);
        self.within_message((call, dest, bytes), || {
            let how = (Channel::Program, mode);
            send_and_wait(self.members(), (call, at), how, (origin, dest, tag))
        })
    }

    /// `MPI_Isend` (MPI-2.2 §3.7.2): begins to send `from`, which [`Pending::wait`] returns.
    ///
    /// Local; does not block, except while another rank allocates.
    ///
    /// # Errors
    /// [`Error::Peer`], [`Error::Tag`], [`Error::NoMemory`], [`Error::RankFailed`]; `from` is then lost.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// if me == 0 {
    ///     let sent = world.isend(vec![5, 7], Rank(1), 0)?;
    ///     let (numbers, _) = sent.wait()?; // the vector comes back
    ///     assert_eq!(numbers, [5, 7]);
    /// } else {
    ///     world.recv(&mut [0; 2], Rank(0), 0)?;
    /// }
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Isend")]
    pub fn isend<T: Pod>(&self, from: Vec<T>, dest: Rank, tag: i32) -> Result<Pending<T>> {
        let mode = SendMode::Standard;
        Pending::sending(from, |from| self.start_send(Channel::Program, mode, from, dest, tag))
    }

    /// `MPI_Issend` (MPI-2.2 §3.7.2): [`Comm::isend`] that is complete when the receive has begun.
    ///
    /// # Errors
    /// [`Error::Peer`], [`Error::Tag`], [`Error::NoMemory`], [`Error::RankFailed`]; `from` is then lost.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// if me == 0 {
    ///     world.issend(vec![7], Rank(1), 0)?.wait()?; // rank 1 has begun to receive
    /// } else {
    ///     world.recv(&mut [0], Rank(0), 0)?;
    /// }
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Issend")]
    pub fn issend<T: Pod>(&self, from: Vec<T>, dest: Rank, tag: i32) -> Result<Pending<T>> {
        let mode = SendMode::Synchronous;
        Pending::sending(from, |from| self.start_send(Channel::Program, mode, from, dest, tag))
    }

    /// `MPI_Irecv` (MPI-2.2 §3.7.2): begins to receive into `into`, as [`Comm::recv`] does.
    /// [`Pending::wait`] returns it, with its length unchanged.
    ///
    /// Local; does not block, except while another rank allocates.
    ///
    /// # Errors
    /// [`Error::Peer`], [`Error::Tag`]; `into` is then lost.
    ///
    /// ```no_run
    /// # fn main() -> onesided::Result<()> {
    /// # let universe = onesided::Universe::init()?;
    /// # let world = universe.world();
    /// use onesided::Rank;
    ///
    /// let n = world.size();
    /// let (left, right) = ((world.rank().0 + n - 1) % n, (world.rank().0 + 1) % n);
    /// let receive = world.irecv(vec![0u64; 1000], Rank(left), 0)?;
    /// let send = world.isend(vec![u64::from(world.rank()); 1000], Rank(right), 0)?;
    /// let (halo, _) = receive.wait()?;
    /// assert!(halo.iter().all(|from| *from == u64::from(left)));
    /// send.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "MPI_Irecv")]
    pub fn irecv<T: Pod>(
        &self,
        into: Vec<T>,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Pending<T>> {
        let (source, tag) = (source.into().known(), tag.into().known());
        Pending::receiving(into, |into| self.start_receive(Channel::Program, into, source, tag))
    }

    /// `MPI_Isend`, `MPI_Issend`, `MPI_Irsend` and `MPI_Ibsend` (MPI-2.2 §3.7.2): sends the elements
    /// of `origin` to rank `dest`. What was promised to [`Origin::new`] has to hold until the request
    /// is complete.
    ///
    /// Local; does not block, except while another rank allocates.
    ///
    /// # Errors
    /// [`Error::Peer`]; [`Error::Tag`]; [`Error::Reach`] for elements farther apart than 2⁶³ - 1
    /// bytes; [`Error::NoMemory`]; [`Error::RankFailed`] if `dest` has failed.
    #[doc(alias("MPI_Isend", "MPI_Issend", "MPI_Irsend", "MPI_Ibsend"))]
    pub fn start_send(
        &self,
        channel: Channel,
        mode: SendMode,
        origin: Origin<'_>,
        dest: Rank,
        tag: i32,
    ) -> Result<MessageRequest> {
        let call = Call::Send;
        let bytes = origin.layout().bytes().unwrap_or(0);
        self.within_message((call, dest, bytes), || {
            let sent =
                send(self.members(), (call, false, true), channel, mode, &origin, dest, tag)?;
            Ok(sent.request(self))
        })
    }

    /// `MPI_Irecv` (MPI-2.2 §3.7.2): receives a message with a matching source and tag into the elements
    /// of `into`; a shorter message into the first of them. What was promised to [`OriginMut::new`] has
    /// to hold until the request is complete.
    ///
    /// Local; does not block, except while another rank allocates.
    ///
    /// # Errors
    /// [`Error::Peer`]; [`Error::Tag`]; [`Error::Reach`] for elements farther apart than 2⁶³ - 1
    /// bytes.
    #[doc(alias = "MPI_Irecv")]
    pub fn start_receive(
        &self,
        channel: Channel,
        into: OriginMut<'_>,
        source: Option<Rank>,
        tag: Option<i32>,
    ) -> Result<MessageRequest> {
        if let Some(slot) = self.try_start_receive(channel, &into, source, tag) {
            return Ok(MessageRequest::pending(self, slot));
        }
        let call = Call::Receive;
        self.within_message((call, source.unwrap_or(Rank::NULL), 0), || {
            let slot = receive(self.members(), call, channel, &into, source, tag)?;
            Ok(MessageRequest::of(self, slot))
        })
    }

    /// The fast path of [`Comm::start_receive`]: the place of a receive for which no message waits, for
    /// [`MessageRequest::pending`], so that a caller can make that where it stays. `None`: nothing has changed.
    /// Never blocks.
    #[inline(always)]
    pub fn try_start_receive(
        &self,
        channel: Channel,
        into: &OriginMut<'_>,
        source: Option<Rank>,
        tag: Option<i32>,
    ) -> Option<MessageSlot> {
        match self.is_freed() {
            true => None,
            false => receive::try_post(self.members(), channel, into, source, tag),
        }
    }

    /// `MPI_Send`, `MPI_Ssend`, `MPI_Rsend` and `MPI_Bsend` (MPI-2.2 §3.4): [`Comm::start_send`] and
    /// [`MessageRequest::wait`]. Blocks as [`Comm::send`] does.
    ///
    /// # Errors
    /// [`Error::Peer`]; [`Error::Tag`]; [`Error::Reach`] for elements farther apart than 2⁶³ - 1
    /// bytes; [`Error::NoMemory`]; [`Error::RankFailed`].
    #[doc(alias("MPI_Send", "MPI_Ssend", "MPI_Rsend", "MPI_Bsend"))]
    #[inline(always)]
    #[track_caller]
    pub fn send_untyped(
        &self,
        channel: Channel,
        mode: SendMode,
        origin: Origin<'_>,
        dest: Rank,
        tag: i32,
    ) -> Result<()> {
        match self.try_send(mode, channel, &origin, dest, tag) {
            true => Ok(()),
            false => {
                let (call, at) = (Call::Send, Location::caller());
                let bytes = origin.layout().bytes().unwrap_or(0);
                self.within_message((call, dest, bytes), || {
                    send_and_wait(self.members(), (call, at), (channel, mode), (origin, dest, tag))
                })
            }
        }
    }

    /// `MPI_Recv` (MPI-2.2 §3.2.4): [`Comm::start_receive`] and [`MessageRequest::wait`]. Blocks, asleep if
    /// need be, until the message is there.
    ///
    /// # Errors
    /// [`Error::Truncated`] for a message that is longer: it is gone, and `into` is as before.
    /// [`Error::Peer`]; [`Error::Tag`]; [`Error::Reach`] for elements farther apart than 2⁶³ - 1 bytes;
    /// [`Error::RankFailed`].
    #[doc(alias = "MPI_Recv")]
    #[inline(always)]
    #[track_caller]
    pub fn receive_untyped(
        &self,
        channel: Channel,
        mut into: OriginMut<'_>,
        source: Option<Rank>,
        tag: Option<i32>,
    ) -> Result<Status> {
        match self.try_receive(channel, &mut into, source, tag) {
            Some(status) => Ok(status),
            None => {
                let (call, at) = (Call::Receive, Location::caller());
                self.within_message((call, source.unwrap_or(Rank::NULL), 0), || {
                    receive_and_wait(self.members(), (call, at), channel, (into, source, tag))
                })
            }
        }
    }

    /// The fast path of [`Comm::start_send`], for a short message, which is then complete. Returns whether it is done; if it
    /// is not, nothing has changed. Never blocks.
    #[inline]
    pub fn try_send(
        &self,
        mode: SendMode,
        channel: Channel,
        origin: &Origin<'_>,
        dest: Rank,
        tag: i32,
    ) -> bool {
        let call = Some(Call::Send);
        let sent = || send_eagerly(self.members(), call, channel, origin, dest, tag);
        let is_plain = matches!(mode, SendMode::Standard | SendMode::Ready);
        is_plain && !self.is_freed() && sent().is_some()
    }

    /// The fast path of a receive: the status of a short message that arrives while this rank spins. `None` if it
    /// takes none; nothing has changed then.
    #[inline(always)]
    fn try_receive(
        &self,
        channel: Channel,
        into: &mut OriginMut<'_>,
        source: Option<Rank>,
        tag: Option<i32>,
    ) -> Option<Status> {
        let receive = || receive::try_receive(self.members(), channel, into, source, tag);
        if self.is_freed() { None } else { receive() }
    }

    /// `MPI_Probe` (MPI-2.2 §3.8.1): waits until there is a message from `source` with `tag`, and returns
    /// which a receive with these arguments would take.
    ///
    /// Local; blocks, asleep if need be, until there is one.
    ///
    /// # Errors
    /// [`Error::Peer`], [`Error::Tag`], [`Error::RankFailed`].
    ///
    /// ```
    /// # use onesided::{Rank, Source, Tag};
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// if me == 0 {
    ///     world.send(&[5, 7], Rank(1), 3)?;
    /// } else {
    ///     let status = world.probe(Source::Any, Tag::Any)?;
    ///     let mut numbers = vec![0; status.count::<i32>().expect("whole numbers")];
    ///     world.recv(&mut numbers, status.source, status.tag)?;
    ///     assert_eq!(numbers, [5, 7]);
    /// }
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Probe")]
    #[track_caller]
    pub fn probe(&self, source: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status> {
        let (source, tag) = (source.into().known(), tag.into().known());
        let found = self.probe_message(Channel::Program, source, tag, true)?;
        Ok(found.unwrap_or(Status::NOTHING))
    }

    /// `MPI_Iprobe` (MPI-2.2 §3.8.1): [`Comm::probe`] if that would not block; otherwise `None`. Local;
    /// never blocks.
    ///
    /// # Errors
    /// [`Error::Peer`], [`Error::Tag`], [`Error::RankFailed`].
    ///
    /// ```
    /// # use onesided::{Source, Tag};
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// if me == 0 {
    ///     assert!(world.iprobe(Source::Any, Tag::Any)?.is_none());
    /// }
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Iprobe")]
    pub fn iprobe(&self, source: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Status>> {
        let (source, tag) = (source.into().known(), tag.into().known());
        self.probe_message(Channel::Program, source, tag, false)
    }

    /// `MPI_Probe` and, not `blocking`, `MPI_Iprobe` (MPI-4.1 §3.8.1): the message that a receive
    /// with these arguments would take; `None` if there is none yet.
    ///
    /// Local; blocks, if asked to, until there is one.
    ///
    /// # Errors
    /// [`Error::Peer`]; [`Error::Tag`]; [`Error::RankFailed`] if there is none and a rank of the
    /// communicator has failed.
    #[doc(alias = "MPI_Probe")]
    #[track_caller]
    pub fn probe_message(
        &self,
        channel: Channel,
        source: Option<Rank>,
        tag: Option<i32>,
        blocking: bool,
    ) -> Result<Option<Status>> {
        let (call, at) = (Call::Probe, Location::caller());
        self.within(call, || match wanted(self.members(), call, channel, source, tag)? {
            None => Ok(Some(Status::NOTHING)),
            Some(wanted) => probe::probe(self.members(), call, &wanted, blocking, at),
        })
    }

    /// `MPI_Mprobe` and, not `blocking`, `MPI_Improbe` (MPI-4.1 §3.8.2): [`Comm::probe_message`] that
    /// also takes the message.
    ///
    /// # Errors
    /// [`Error::Peer`]; [`Error::Tag`]; [`Error::RankFailed`] if there is none and a rank of the
    /// communicator has failed.
    #[doc(alias = "MPI_Mprobe")]
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
            let wanted = wanted(self.members(), call, channel, source, tag)?;
            probe::take(self, call, wanted, blocking, at)
        })
    }

    /// `MPI_Sendrecv` (MPI-2.2 §3.10): sends `from` to `dest` and receives a message from `source` into
    /// `into`, in any order.
    ///
    /// Local; blocks until both are done.
    ///
    /// # Errors
    /// [`Error::Peer`], [`Error::Tag`], [`Error::Truncated`], [`Error::NoMemory`], [`Error::RankFailed`].
    /// The outcome of the other half is then not reported.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let (left, right) = (Rank((me + 2) % 3), Rank((me + 1) % 3));
    /// let mut found = [0];
    /// world.sendrecv(&[me], (right, 0), &mut found, (left, 0))?;
    /// assert_eq!(found, [left.0]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Sendrecv")]
    #[track_caller]
    pub fn sendrecv<T: Pod, U: Pod>(
        &self,
        from: &[T],
        (dest, send_tag): (Rank, i32),
        into: &mut [U],
        (source, tag): (impl Into<Source>, impl Into<Tag>),
    ) -> Result<Status> {
        let into = (OriginMut::of(into.into()), source.into().known(), tag.into().known());
        self.sendrecv_untyped((Origin::of(from.into()), dest, send_tag), into)
    }

    /// [`Comm::sendrecv`] of elements of any datatype.
    ///
    /// # Errors
    /// Those of [`Comm::sendrecv`]; [`Error::Reach`] for elements farther apart than 2⁶³ - 1 bytes.
    #[inline]
    #[track_caller]
    pub fn sendrecv_untyped(
        &self,
        from: (Origin<'_>, Rank, i32),
        (mut into, source, tag): (OriginMut<'_>, Option<Rank>, Option<i32>),
    ) -> Result<Status> {
        let (call, at, of) = (Call::SendReceive, Location::caller(), self.members());
        let may_receive = || wanted(of, call, Channel::Program, source, tag).is_ok();
        // A short message goes first. What remains is a receive.
        let (origin, dest, send_tag) = from;
        let is_sent = may_receive()
            && self.try_send(SendMode::Standard, Channel::Program, &origin, dest, send_tag);
        if is_sent && let Some(status) = self.try_receive(Channel::Program, &mut into, source, tag)
        {
            return Ok(status);
        }
        let into = (into, source, tag);
        let bytes = from.0.layout().bytes().unwrap_or(0);
        self.within_message((call, dest, bytes), || match is_sent {
            true => receive_and_wait(of, (call, at), Channel::Program, into),
            false => send_and_receive(of, (call, at), from, into),
        })
    }

    /// Handles what has arrived for this rank (MPI-2.2 §3.5, progress). Local; does not block, except
    /// while another rank allocates.
    pub fn progress(&self) {
        if !is_forked() {
            let context = self.context();
            // The wait for the failed message reports an error.
            let _ = Mailbox::of(context).and_then(|mailbox| mailbox.look(context, |_| false));
        }
    }

    /// [`Comm::progress_for`] where the requests are unknown.
    ///
    /// # Errors
    /// [`Error::RankFailed`] if a rank of the communicator has failed and `done` still returns false.
    #[track_caller]
    pub fn progress_until(&self, done: impl FnMut() -> bool) -> Result<()> {
        self.progress_for(Waits::default(), done)
    }

    /// Waits until `done` returns true, and handles arrived messages before each call of it. For waits
    /// for one of several requests, or for steps that follow from requests. `waits` is for reports of
    /// deadlocks.
    ///
    /// Blocks, asleep if need be. `done` is called after every change of this rank's messages, and must
    /// not wait itself.
    ///
    /// # Errors
    /// [`Error::RankFailed`] if a rank of the communicator has failed and `done` still returns false.
    #[track_caller]
    pub fn progress_for(&self, waits: Waits, done: impl FnMut() -> bool) -> Result<()> {
        let (call, at, wanted) = (waits.call(), Location::caller(), waits.awaited());
        let (of, describe) = (self.members(), |record: &WaitRecord| record.set(&wanted));
        self.within(call, || {
            match Mailbox::of(of.context())?.progress_until(of, at, &describe, done)? {
                End::Done => Ok(()),
                End::Failed { failed, .. } => Err(of.rank_failed(failed, of.place(call))),
            }
        })
    }

    /// Lets the threads of this rank that wait in [`Comm::progress_until`] call `done` again, because
    /// something has changed that is no message. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the segment has lost this rank's mailbox.
    pub fn wake(&self) -> Result<()> {
        Mailbox::of(self.context())?.own.ring();
        Ok(())
    }

    /// `MPI_Comm_disconnect` (MPI-4.1 §11.10.4): [`Comm::free`] after every long message that this rank
    /// has sent on it has been fetched, also those whose requests were dropped before they were complete.
    ///
    /// Blocks until then.
    ///
    /// # Errors
    /// [`Error::Attribute`] if a delete callback refuses; [`Error::Communicator`] for the job's own
    /// communicators; [`Error::RankFailed`].
    #[doc(alias = "MPI_Comm_disconnect")]
    #[track_caller]
    pub fn disconnect(self) -> Result<()> {
        let (call, at, of) = (Call::CommFree, Location::caller(), self.members());
        let own = message_context(of, Channel::Program);
        self.within(call, || await_fetched(of, call, at, |envelope| envelope.context == own))?;
        self.free()
    }

    /// Waits until every long message of this rank has been fetched whose request has been dropped, on
    /// any communicator. A rank that leaves the job calls it (MPI-4.1 §11.2.4).
    ///
    /// # Errors
    /// [`Error::RankFailed`]
    #[track_caller]
    pub fn await_all_fetched(&self) -> Result<()> {
        let (call, at) = (Call::Finalize, Location::caller());
        self.within(call, || await_fetched(self.members(), call, at, |_| true))
    }

    /// The messages that have come to this rank on any communicator, and that nothing has received, in words. Local; does
    /// not block.
    #[doc(hidden)]
    pub fn not_received(&self) -> Option<String> {
        left::not_received(self.context())
    }

    // For what is made of messages: no checks of arguments, no call record of its own, no error handler.

    /// Drives something whenever this rank handles messages, until it is done.
    pub(crate) fn add_driven(&self, driven: Arc<dyn Driven>) -> Result<()> {
        Mailbox::of(self.context())?.add_driven(driven);
        Ok(())
    }

    pub(crate) fn post_send(
        &self,
        call: Call,
        channel: Channel,
        origin: &Origin<'_>,
        dest: Rank,
        tag: i32,
    ) -> Result<MessageRequest> {
        // Other collectives order ranks where these have arrived.
        let orders = channel != Channel::Collective || self.persistent_number().is_some();
        let (how, mode) = ((call, false, orders), SendMode::Standard);
        Ok(send(self.members(), how, channel, mode, origin, dest, tag)?.request(self))
    }

    pub(crate) fn post_receive(
        &self,
        call: Call,
        channel: Channel,
        into: &OriginMut<'_>,
        source: Rank,
        tag: i32,
    ) -> Result<MessageRequest> {
        let slot = receive(self.members(), call, channel, into, Some(source), Some(tag))?;
        Ok(MessageRequest::of(self, slot))
    }

    /// [`Comm::post_receive`] into a vector.
    pub(crate) fn post_receive_owned<T: Pod>(
        &self,
        call: Call,
        channel: Channel,
        into: Vec<T>,
        source: Rank,
        tag: i32,
    ) -> Result<Pending<T>> {
        Pending::receiving(into, |into| self.post_receive(call, channel, &into, source, tag))
    }

    /// Waits until `done` in a call that the program has made at `at`, and drives meanwhile what is under
    /// way. Asleep, it records by `describe` what it waits for. After a rank of the communicator has
    /// failed, `done` becomes true sooner or later.
    pub(crate) fn drive_until(
        &self,
        call: Call,
        at: &'static Location<'static>,
        describe: &dyn Fn(&WaitRecord),
        done: impl Fn() -> bool,
    ) -> Result<()> {
        if is_forked() {
            return Err(Error::Forked { at: self.place(call) });
        }
        let (of, mailbox) = (self.members(), Mailbox::of(self.context())?);
        let _call = of.context().enter(call, 0);
        while let End::Failed { seen, .. } = mailbox.progress_until(of, at, describe, &done)? {
            // Another thread drives it, and rings when it is done.
            let _ = of.context().excluded().until(mailbox.own.bell(), |rung| rung != seen);
        }
        Ok(())
    }
}
