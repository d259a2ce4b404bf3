//! What a sleeping wait for requests records about them.

use super::MessageRequest;
use super::mailbox::Mailbox;
use super::matching::Envelope;
use super::slots::RequestStage;
use crate::call::Call;
use crate::prim::{Awaited, AwaitedKind};

/// What [`Comm::progress_for`](crate::Comm::progress_for) waits for, as a report of a deadlock
/// names it: none, or one of some requests. Ranks are those of the world.
///
/// ```
/// use onesided::engine::{Channel, OriginMut, Waits};
/// use onesided::{Datatype, Rank};
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let other = Rank(1 - world.rank().0);
/// let mut found = [[0_u32]; 2];
/// let [first, second] = &mut found;
/// let receive = |into: &mut [u32; 1], tag| {
///     // SAFETY: nothing else uses the number until the request is complete.
///     let into = unsafe { OriginMut::new(into.as_mut_ptr().cast(), 1, Datatype::U32) };
///     world.start_receive(Channel::Program, into, Some(other), Some(tag))
/// };
/// let requests = [receive(first, 1)?, receive(second, 2)?];
/// world.send(&[7_u32], other, 2)?;
/// world.send(&[5_u32], other, 1)?;
///
/// let mut waits = Waits::for_any();
/// requests.iter().for_each(|request| waits.add(request.waits_for()));
/// world.progress_for(waits, || requests.iter().any(|request| request.is_complete()))?;
/// for request in &requests {
///     request.wait()?;
/// }
/// assert_eq!(found, [[5], [7]]);
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Waits {
    any: bool,
    some: bool,
    requests: u32,
    ranks: Vec<u32>,
    by_program: bool,
}

impl Waits {
    /// One of the requests that are added, as `MPI_Waitany`.
    pub fn for_any() -> Waits {
        Waits { any: true, ..Waits::default() }
    }

    /// One of the requests that are added, for `MPI_Waitsome`.
    pub fn for_some() -> Waits {
        Waits { some: true, ..Waits::default() }
    }

    /// A generalized request, which the program itself completes.
    pub fn for_program() -> Waits {
        let mut waits = Waits::default();
        waits.add_program();
        waits
    }

    /// One more request, which waits for `ranks`.
    pub fn add(&mut self, ranks: impl IntoIterator<Item = u32>) {
        self.requests += 1;
        self.ranks.extend(ranks);
    }

    /// One more request, which the program itself completes.
    pub fn add_program(&mut self) {
        self.requests += 1;
        self.by_program = true;
    }

    pub(super) fn call(&self) -> Call {
        match (self.some, self.any) {
            (true, _) => Call::WaitSome,
            (false, true) => Call::WaitAny,
            (false, false) => Call::MessageWait,
        }
    }

    pub(super) fn awaited(&self) -> Awaited<'_> {
        let kind = if self.by_program { AwaitedKind::Program } else { AwaitedKind::Requests };
        Awaited { kind, others: &self.ranks, awaited: self.requests, ..Awaited::default() }
    }
}

impl MessageRequest {
    /// The ranks of the world that it waits for: the wait ends after one of them has acted. Local; does
    /// not block.
    pub fn waits_for(&self) -> Vec<u32> {
        let Some((comm, slot)) = self.under_way() else { return Vec::new() };
        let Ok(mailbox) = Mailbox::of(comm.context()) else { return Vec::new() };
        match mailbox.lock().slots.stage(slot) {
            Some(
                RequestStage::Posted { wanted: envelope, .. }
                | RequestStage::Promised { envelope, .. },
            ) => match envelope.source {
                Envelope::ANY_SOURCE => comm.world_ranks().to_vec(),
                source => vec![source],
            },
            Some(RequestStage::Offered { to, .. }) => vec![*to],
            _ => Vec::new(),
        }
    }
}
