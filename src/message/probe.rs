//! Probes (MPI-4.1 §3.8): find a message without receiving it, or take it as a handle.

use super::mailbox::{Arrived, Mailbox, MailboxState};
use super::matching::Envelope;
use super::receive::post_for;
use super::request::{awaited_message, learn_clock};
use super::wait::End;
use super::{MessageRequest, Status};
use crate::call::Call;
use crate::comm::{Comm, CommMembers};
use crate::error::Result;
use crate::group::Rank;
use crate::ops::OriginMut;
use crate::shm::is_forked;
use std::fmt;
use std::panic::Location;

/// A matched message (`MPI_Message`): no other receive takes it. If it is dropped, its data is discarded.
///
/// ```
/// use onesided::engine::{Channel, OriginMut};
/// use onesided::{Datatype, Rank};
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// if world.rank() == 0 {
///     world.send(&[5_u32, 7], Rank(1), 3)?;
/// } else {
///     // From any rank with any tag; no other thread can receive it any more.
///     let found = world.match_message(Channel::Program, None, None, true)?;
///     let (message, status) = found.expect("it blocks until there is one");
///     let mut numbers = vec![0_u32; status.count::<u32>().expect("whole numbers")];
///     // SAFETY: nothing else uses the numbers until the request is complete.
///     let into = unsafe { OriginMut::new(numbers.as_mut_ptr().cast(), numbers.len(), Datatype::U32) };
///     message.start_receive(into)?.wait()?;
///     assert_eq!(numbers, [5, 7]);
/// }
/// # Ok(())
/// # });
/// ```
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
    /// [`Error::Reach`](crate::Error::Reach) for elements farther apart than 2⁶³ - 1 bytes.
    #[doc(alias = "MPI_Imrecv")]
    pub fn start_receive(mut self, into: OriginMut<'_>) -> Result<MessageRequest> {
        let comm = self.comm.clone();
        comm.within(Call::Receive, || {
            let Some((envelope, message)) = self.found.take() else {
                return Ok(MessageRequest::complete(Status::NOTHING));
            };
            let found = |_: &mut MailboxState| Some((envelope, message));
            let slot = post_for(comm.members(), Call::Receive, &into, envelope, found)?;
            Ok(MessageRequest::pending(&comm, slot))
        })
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        let Some((envelope, message)) = self.found.take().filter(|_| !is_forked()) else { return };
        let context = self.comm.context();
        if let Ok(mailbox) = Mailbox::of(context) {
            // If there is no memory to notify its sender, the next look tries again.
            let _ = message.discard(context, &mut mailbox.lock(), envelope.source);
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found.as_ref().map(|(envelope, message)| (envelope, message.bytes));
        f.debug_tuple("Message").field(&found).finish()
    }
}

/// The message that a receive with these arguments would take; `None` if there is none and it does not
/// block.
pub(super) fn probe(
    of: &CommMembers,
    call: Call,
    wanted: &Envelope,
    blocking: bool,
    at: &'static Location<'static>,
) -> Result<Option<Status>> {
    let first = |state: &mut MailboxState| {
        let (envelope, message) = state.unexpected.first(wanted)?;
        // Its sender is before the probe. No other thread receives the message meanwhile.
        learn_clock(of.context(), message.clock);
        Some((envelope, message.bytes))
    };
    let found = find(of, call, wanted, blocking, at, first)?;
    Ok(found.map(|(envelope, bytes)| self::found(of, &envelope, bytes)))
}

/// Takes the message that [`probe`] finds, for a handle of `comm`; an empty one for [`Rank::NULL`].
pub(super) fn take(
    comm: &Comm,
    call: Call,
    wanted: Option<Envelope>,
    blocking: bool,
    at: &'static Location<'static>,
) -> Result<Option<(Message, Status)>> {
    let Some(wanted) = wanted else {
        return Ok(Some((Message { comm: comm.clone(), found: None }, Status::NOTHING)));
    };
    let of = comm.members();
    let take = |state: &mut MailboxState| {
        let taken = state.unexpected.take(&wanted)?;
        learn_clock(of.context(), taken.1.clock);
        Some(taken)
    };
    Ok(find(of, call, &wanted, blocking, at, take)?.map(|(envelope, message)| {
        let status = self::found(of, &envelope, message.bytes);
        (Message { comm: comm.for_requests(), found: Some((envelope, message)) }, status)
    }))
}

/// What is known of a message that has been found or received.
#[inline]
pub(super) fn found(of: &CommMembers, envelope: &Envelope, bytes: u64) -> Status {
    let source = of.rank_of_world(envelope.source).unwrap_or(Rank::NULL);
    Status { source, tag: envelope.tag, bytes, cancelled: false }
}

/// Looks, repeatedly if it blocks, until `take` finds what is wanted.
fn find<R>(
    of: &CommMembers,
    call: Call,
    wanted: &Envelope,
    blocking: bool,
    at: &'static Location<'static>,
    take: impl Fn(&mut MailboxState) -> Option<R>,
) -> Result<Option<R>> {
    let (context, mailbox) = (of.context(), Mailbox::of(of.context())?);
    let is_there = |state: &MailboxState| state.unexpected.first(wanted).is_some();
    let awaited = awaited_message(wanted, of.world_ranks());
    loop {
        mailbox.look(context, is_there)?;
        // Another thread may have taken it meanwhile.
        let found = take(&mut mailbox.lock());
        if found.is_some() || !blocking && !of.has_lost_any() {
            return Ok(found);
        }
        if let End::Failed { failed, .. } =
            mailbox.until(of, at, &|record| record.set(&awaited), 1, is_there)?
        {
            return Err(of.rank_failed(failed, of.place(call)));
        }
    }
}
