//! Requests of messages: a send or a receive under way.

use super::mailbox::{Mailbox, MailboxState};
use super::matching::Envelope;
use super::probe::found;
use super::receive::try_await;
use super::send::message_context;
use super::slots::{MessageFailure, MessageSlot, RequestOutcome, RequestStage};
use super::wait::End;
use super::{Channel, Status};
use crate::call::Call;
use crate::check::{Checker, Frequency};
use crate::comm::{Comm, CommMembers};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::mail::damaged;
use crate::prim::{Awaited, AwaitedKind, WaitRecord, Word32, Word64};
use crate::shm::{AllocError, is_forked};
use crate::statistics::Statistics;
use std::fmt;
use std::panic::Location;

/// A send or a receive under way (`MPI_Request`, MPI-2.2 §3.7).
///
/// The buffer belongs to it until it is complete. If it is dropped before, it goes on
/// (`MPI_Request_free`), and the promises about the buffer have to hold until every rank has left the
/// job.
///
/// ```
/// use onesided::engine::{Channel, OriginMut};
/// use onesided::{Datatype, Rank};
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let other = Rank(1 - world.rank().0);
/// let mut number = 0_u32;
/// // SAFETY: nothing else uses the number until the request is complete.
/// let into = unsafe { OriginMut::new((&raw mut number).cast(), 1, Datatype::U32) };
/// let request = world.start_receive(Channel::Program, into, Some(other), Some(3))?;
/// world.send(&[world.rank().0], other, 3)?;
/// let status = request.wait()?;
/// assert_eq!((number, status.source), (other.0, other));
/// # Ok(())
/// # });
/// ```
pub struct MessageRequest {
    begun: Begun,
    /// Whether its outcome has been taken.
    taken: Word32,
}

/// How a request began.
enum Begun {
    /// It was complete.
    Complete(Status),
    /// It went to the process's table.
    UnderWay(Comm, MessageSlot),
}

impl MessageRequest {
    pub(super) fn complete(status: Status) -> MessageRequest {
        MessageRequest { begun: Begun::Complete(status), taken: Word32::default() }
    }

    /// The request of a receive that [`Comm::try_start_receive`] has posted on the same communicator.
    #[inline(always)]
    pub fn pending(comm: &Comm, slot: MessageSlot) -> MessageRequest {
        let begun = Begun::UnderWay(comm.for_requests(), slot);
        MessageRequest { begun, taken: Word32::default() }
    }

    /// The request of a place in the process's table; without one, nothing moves.
    pub(super) fn of(comm: &Comm, slot: Option<MessageSlot>) -> MessageRequest {
        match slot {
            Some(slot) => MessageRequest::pending(comm, slot),
            None => MessageRequest::complete(Status::NOTHING),
        }
    }

    #[inline]
    fn is_taken(&self) -> bool {
        self.taken.load() != 0
    }

    /// Its communicator and its place in the process's table, unless its outcome has been taken or it needs none.
    #[inline]
    pub(super) fn under_way(&self) -> Option<(&Comm, MessageSlot)> {
        match &self.begun {
            Begun::UnderWay(comm, slot) if !self.is_taken() => Some((comm, *slot)),
            _ => None,
        }
    }

    /// The same. Its outcome is taken from now on.
    #[inline]
    pub(super) fn take_under_way(&self) -> Option<(&Comm, MessageSlot)> {
        let under_way = self.under_way();
        self.taken.store(1);
        under_way
    }

    /// The status of a request that was complete when it began; an empty one if its outcome has been taken.
    pub(super) fn known_status(&self) -> Status {
        match self.begun {
            Begun::Complete(status) if !self.is_taken() => status,
            _ => Status::NOTHING,
        }
    }

    /// Whether it is complete; handles what has arrived (MPI-2.2 §3.7.4, progress).
    ///
    /// Local; never blocks. A request whose communicator has lost a rank is complete too: its
    /// outcome is then the error.
    pub fn is_complete(&self) -> bool {
        let Some((comm, slot)) = self.under_way() else { return true };
        // `wait` returns the error.
        is_forked() || look_for(comm.members(), slot).unwrap_or(true)
    }

    /// Whether no thread accesses the buffer any more. Unlike [`MessageRequest::is_complete`], false for
    /// a request that will never be complete.
    pub(super) fn is_settled(&self) -> bool {
        let Some((comm, slot)) = self.under_way() else { return true };
        !is_forked() && Mailbox::of(comm.context()).is_ok_and(|m| m.lock().slots.is_done(slot))
    }

    /// The outcome, once, when it is complete; `None` before, and after.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Truncated`]; [`Error::RankFailed`]; [`Error::NoMemory`] if neither rank can reach the
    /// other's memory and the segment has none left.
    pub fn take(&self) -> Option<Result<Status>> {
        if self.is_taken() || !self.is_complete() {
            return None;
        }
        Some(self.finish(Call::MessageTest, Location::caller()))
    }

    /// `MPI_Wait`: waits until it is complete, and returns its outcome. If its outcome has been taken,
    /// returns an empty status.
    ///
    /// Blocks until a receive has its message. A send blocks only if it is synchronous, or too long for
    /// its record, until its message has been received.
    ///
    /// # Errors
    /// [`Error::Truncated`]; [`Error::RankFailed`]; [`Error::NoMemory`] if neither rank can reach the
    /// other's memory and the segment has none left.
    #[doc(alias = "MPI_Wait")]
    #[track_caller]
    pub fn wait(&self) -> Result<Status> {
        self.finish(Call::MessageWait, Location::caller())
    }

    /// The fast path of [`MessageRequest::wait`], for the only request under way: the status of a message that comes while
    /// this rank spins. `None`: nothing has changed.
    #[inline]
    pub fn try_wait(&self) -> Option<Status> {
        let (comm, slot) = self.under_way()?;
        let status = try_await(comm.members(), slot)?;
        self.taken.store(1);
        Some(status)
    }

    fn finish(&self, call: Call, at: &'static Location<'static>) -> Result<Status> {
        let status = match self.under_way() {
            None => Ok(self.known_status()),
            Some((comm, slot)) => comm.within(call, || await_slot(comm.members(), call, slot, at)),
        };
        self.taken.store(1);
        status
    }

    /// `MPI_Cancel`: completes a receive without a message, and its status shows that it was cancelled.
    /// Anything else does not change: sends are never cancelled.
    ///
    /// Local; never blocks.
    #[doc(alias = "MPI_Cancel")]
    pub fn cancel(&self) {
        let Some((comm, slot)) = self.under_way() else { return };
        let Ok(mailbox) = Mailbox::of(comm.context()) else { return };
        if is_forked() {
            return;
        }
        let mut state = mailbox.lock();
        let Some(RequestStage::Posted { wanted, .. }) = state.slots.stage(slot) else { return };
        let envelope = *wanted;
        if state.posted.withdraw(&envelope, &slot) {
            let failure = Some(MessageFailure::Cancelled);
            state.finish(
                slot,
                RequestOutcome { envelope, is_send: false, bytes: 0, failure, clock: 0 },
            );
        }
        drop(state);
        mailbox.own.ring();
    }
}

impl Drop for MessageRequest {
    #[inline]
    fn drop(&mut self) {
        if let Some((comm, slot)) = self.under_way() {
            forget(comm, slot);
        }
    }
}

/// Nothing will ask for the outcome of a request.
#[cold]
fn forget(comm: &Comm, slot: MessageSlot) {
    if !is_forked()
        && let Ok(mailbox) = Mailbox::of(comm.context())
    {
        mailbox.lock().slots.forget(slot);
    }
}

impl fmt::Debug for MessageRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.begun {
            _ if self.is_taken() => "MessageRequest(taken)",
            Begun::Complete(_) => "MessageRequest(complete)",
            Begun::UnderWay(..) => "MessageRequest(under way)",
        })
    }
}

/// The spins of a wait for the fetch of that many bytes, as a multiple of the usual spins. The fetch
/// takes about as long as they do, and a sleeper would have to be woken.
fn spins_for(bytes: u64) -> u32 {
    const IN_ONE: u64 = 128 << 10;
    const MOST: u64 = 32;
    1 + (bytes / IN_ONE).min(MOST) as u32
}

/// Waits until the receivers have fetched every long message of this rank that `fits` and whose request
/// has been dropped.
pub(super) fn await_fetched(
    members: &CommMembers,
    call: Call,
    at: &'static Location<'static>,
    fits: impl Fn(&Envelope) -> bool,
) -> Result<()> {
    let Some(mailbox) = Mailbox::existing() else { return Ok(()) };
    let own = members.context().rank;
    // Only this rank can fetch what it has sent to itself.
    let left = || mailbox.lock().slots.left_to_fetch(|to, of| to != own && fits(of));
    while let Some(slot) = left() {
        await_slot(members, call, slot, at)?;
    }
    Ok(())
}

/// Handles what has arrived, until a request is done; whether it is done or never will be.
fn look_for(of: &CommMembers, slot: MessageSlot) -> Result<bool> {
    let (context, mailbox) = (of.context(), Mailbox::of(of.context())?);
    if mailbox.look(context, |state| state.slots.is_done(slot))? {
        return Ok(true);
    }
    Ok(of.has_lost_any())
}

/// Waits until a request is done, and takes its outcome.
pub(super) fn await_slot(
    of: &CommMembers,
    call: Call,
    slot: MessageSlot,
    at: &'static Location<'static>,
) -> Result<Status> {
    let mailbox = Mailbox::of(of.context())?;
    let spins = match mailbox.lock().slots.stage(slot) {
        Some(RequestStage::Offered { bytes, .. }) => spins_for(*bytes),
        _ => 1,
    };
    let describe = |record: &WaitRecord| match mailbox.lock().slots.stage(slot) {
        Some(stage) => record.set(&awaited(stage, of.world_ranks())),
        None => record.set(&Awaited::default()),
    };
    let is_done = |state: &MailboxState| state.slots.is_done(slot);
    let outcome = match mailbox.until(of, at, &describe, spins, is_done)? {
        End::Done => {
            let mut state = mailbox.lock();
            // Mostly its envelope and length are all of interest; they are read in their place.
            let plain = match state.slots.stage(slot) {
                Some(RequestStage::Done(outcome)) => plain_status(of, outcome),
                _ => None,
            };
            if let Some(status) = plain {
                state.slots.remove(slot);
                return Ok(status);
            }
            state.slots.take(slot)
        }
        End::Failed { failed, .. } => match mailbox.give_up(of, slot) {
            None => return Err(of.rank_failed(failed, of.place(call))),
            outcome => outcome,
        },
    };
    outcome.map_or(Ok(Status::NOTHING), |outcome| status(of, call, outcome))
}

/// What a rank records that waits for a request in that stage.
fn awaited<'a>(stage: &RequestStage, world: &'a [u32]) -> Awaited<'a> {
    match stage {
        RequestStage::Posted { wanted, .. } => awaited_message(wanted, world),
        RequestStage::Promised { envelope, .. } => awaited_message(envelope, world),
        RequestStage::Offered { to, envelope, .. } => {
            let (kind, number) = (AwaitedKind::Receipt, envelope.tag as u64);
            Awaited { kind, peer: Some(*to), number, ..Awaited::default() }
        }
        RequestStage::Pulling | RequestStage::Done(_) => Awaited::default(),
    }
}

/// The status of a request that is done, if nothing was wrong and no check, trace or statistics need more of it.
#[inline]
fn plain_status(of: &CommMembers, outcome: &RequestOutcome) -> Option<Status> {
    let RequestOutcome { envelope, bytes, failure, clock, .. } = outcome;
    let is_plain = failure.is_none() && *clock == 0 && of.context().statistics().is_none();
    is_plain.then(|| found(of, envelope, *bytes))
}

/// Publishes the clock of this rank for the receiver of a message, or for its sender if that waits for the receive,
/// in a checked job: the block where it is, which the other rank frees; zero unless it `orders` them. In a traced job,
/// what identifies the message.
pub(super) fn publish_clock(
    context: &Context,
    orders: bool,
) -> std::result::Result<u64, AllocError> {
    if !orders && context.checker().is_some() {
        return Ok(0);
    }
    let publish = |checker: &Checker| {
        let (segment, clocks) = (&context.segment, checker.clocks());
        let spare = checker.take_clock_block();
        let allocate = || segment.heap().allocate(clocks as u64 * 8, &context.excluded());
        let block = spare.map_or_else(allocate, Ok)?;
        let words = segment.mapping().views(block, clocks)?;
        if spare.is_none() {
            // The receiver may read more of them than this rank has in use.
            words.iter().for_each(|word: &Word64| word.store(0));
        }
        checker.publish(words);
        Ok(block)
    };
    let published = context.synchronising(None, Frequency::Often, publish);
    published.unwrap_or_else(|| Ok(context.statistics().map_or(0, Statistics::sent)))
}

/// A message that is not in its record has been sent to that rank of the job. In a traced job both count these; a
/// checked one has no arrows of messages.
pub(super) fn publish_long(context: &Context, to: u32) {
    if let (Some(statistics), None) = (context.statistics(), context.checker()) {
        statistics.long_sent(to);
    }
}

/// Such a message has been found: returns what identifies it in a traced job, otherwise zero.
pub(super) fn found_long(context: &Context, from: u32) -> u64 {
    match (context.statistics(), context.checker()) {
        (Some(statistics), None) => statistics.long_found(from),
        _ => 0,
    }
}

/// Merges the clock of a message that has been received, or publishes the event in a traced job.
fn merge_clock(context: &Context, block: u64) {
    if block == 0 {
        return;
    }
    if context.checker().is_none() {
        return context.statistics().into_iter().for_each(|log| log.received(block));
    }
    let stays = |checker: &Checker| checker.keep_clock_block(block);
    if learn_clock(context, block) && !context.checker().is_some_and(stays) {
        // A block that stays costs memory alone.
        let _ = context.segment.heap().free(block, &context.excluded());
    }
}

/// Merges the clock of a message that has been found, in a checked job. Returns whether there is one.
pub(super) fn learn_clock(context: &Context, block: u64) -> bool {
    if block == 0 {
        return false;
    }
    let merge = |checker: &Checker| {
        let words = context.segment.mapping().views(block, checker.clocks());
        words.map(|words| checker.merge([words])).is_ok()
    };
    context.synchronising(None, Frequency::Often, merge).unwrap_or(false)
}

/// What a call returns for a request that is done.
fn status(of: &CommMembers, call: Call, outcome: RequestOutcome) -> Result<Status> {
    let RequestOutcome { envelope, is_send, bytes, failure, clock } = outcome;
    merge_clock(of.context(), clock);
    let known = found(of, &envelope, bytes);
    let is_received = !is_send && envelope.context == message_context(of, Channel::Program);
    match failure {
        None => {
            if let (true, Some(statistics)) = (is_received, of.context().statistics()) {
                statistics.received_bytes(bytes);
            }
            Ok(known)
        }
        Some(MessageFailure::Cancelled) => {
            Ok(Status { source: Rank::NULL, bytes: 0, cancelled: true, ..known })
        }
        Some(MessageFailure::Truncated(capacity)) => {
            let Status { source: from, tag, .. } = known;
            Err(Error::Truncated { at: of.place(call), from, tag, sent: bytes, capacity })
        }
        Some(MessageFailure::Damaged) => Err(damaged()),
        Some(MessageFailure::NoMemory) => {
            let limit = "the segment, by which ranks that cannot reach each other's memory \
                         send long messages; see rmarun --segment-size";
            Err(Error::NoMemory { at: of.place(call), requested: bytes, available: 0, limit })
        }
    }
}

/// What a rank records that waits for a message.
pub(super) fn awaited_message<'a>(wanted: &Envelope, world: &'a [u32]) -> Awaited<'a> {
    let any = wanted.source == Envelope::ANY_SOURCE;
    Awaited {
        kind: AwaitedKind::Message,
        peer: (!any).then_some(wanted.source),
        others: if any { world } else { &[] },
        number: u64::try_from(wanted.tag).unwrap_or(Awaited::ANY),
        ..Awaited::default()
    }
}

impl Mailbox {
    /// Withdraws a request that will never be done: its buffer is not accessed any more. Returns its
    /// outcome if it was done after all.
    #[cold]
    pub(super) fn give_up(&self, of: &CommMembers, slot: MessageSlot) -> Option<RequestOutcome> {
        loop {
            let seen = self.own.bell().load();
            {
                let mut state = self.lock();
                match state.slots.stage(slot)? {
                    RequestStage::Done(_) => return state.slots.take(slot),
                    RequestStage::Posted { wanted, .. } => {
                        let wanted = *wanted;
                        state.posted.withdraw(&wanted, &slot);
                        state.slots.remove(slot);
                        return None;
                    }
                    RequestStage::Promised { .. } => {
                        state.slots.remove(slot);
                        return None;
                    }
                    RequestStage::Offered { payload, .. } => {
                        let is_offered = payload.is_some();
                        state.slots.remove(slot);
                        if is_offered {
                            self.own.withdraw();
                        }
                        return None;
                    }
                    RequestStage::Pulling => {}
                }
            }
            // Otherwise another thread is copying, and does not wait for another rank.
            self.pull_all(of.context());
            // If the job ends, the buffer is returned nevertheless.
            let _ = of.context().excluded().until(self.own.bell(), |rung| rung != seen);
        }
    }
}
