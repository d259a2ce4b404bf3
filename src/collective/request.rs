//! Requests of collectives.

use super::form::CollectiveForm;
use super::schedule::{Lent, Schedule};
use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, Place, Result};
use crate::group::Rank;
use crate::message::Driven;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// A pending collective (MPI-4.1 §6.12), which returns a `B` when it is complete.
///
/// It makes progress in every call of this rank that looks for messages:
/// [`CollectiveRequest::is_complete`], [`CollectiveRequest::wait`],
/// [`Comm::progress`](crate::Comm::progress), every receive, probe and wait for a message; and while this
/// rank waits for others in any other call (MPI-4.1 §2.9).
///
/// If it is dropped before it is complete, it continues like that with its buffers, because other ranks
/// may wait for it.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let sum = universe.world().iallreduce(vec![1], Op::Sum)?;
/// // Other work of this rank stands here.
/// assert_eq!(sum.wait()?, [2]);
/// # Ok(())
/// # });
/// ```
pub struct CollectiveRequest<B = ()> {
    call: Call,
    rank: Rank,
    /// `None` if it was complete when it was started.
    schedule: Option<Arc<Schedule>>,
    /// What it returns, of one that was complete then, until that is taken.
    retained: Mutex<Option<Returned>>,
    gives: PhantomData<fn() -> B>,
}

/// What the request returns; `None` for nothing.
type Returned = Option<Box<dyn Any + Send>>;
/// The outcome, and what the request returns.
pub(super) type CollectiveOutcome = (Result<()>, Returned);

impl<B: Any> CollectiveRequest<B> {
    /// Of what is complete.
    pub(super) fn complete(comm: &Comm, form: CollectiveForm) -> CollectiveRequest<B> {
        CollectiveRequest::done(comm, form.short.call, form.retained.result)
    }

    /// Of a call that was complete when it returned `result`.
    #[inline]
    pub(super) fn done(comm: &Comm, call: Call, result: Returned) -> CollectiveRequest<B> {
        let (retained, rank) = (Mutex::new(Some(result)), comm.rank());
        CollectiveRequest { call, rank, schedule: None, retained, gives: PhantomData }
    }

    /// In a call that the program has made at `at`; if the call waits, complete on return.
    pub(super) fn start(
        schedule: Schedule,
        waits: bool,
        at: &'static Location<'static>,
    ) -> Result<CollectiveRequest<B>> {
        let (call, rank) = (schedule.call, schedule.comm.rank());
        let schedule = Arc::new(schedule);
        let lent = waits.then(|| Lent(&schedule));
        if !schedule.drive() {
            schedule.comm.add_driven(schedule.clone())?;
        }
        if waits {
            schedule.wait(at)?;
        }
        drop(lent);
        let (schedule, retained) = (Some(schedule), Mutex::default());
        Ok(CollectiveRequest { call, rank, schedule, retained, gives: PhantomData })
    }

    fn is_done(&self) -> bool {
        self.schedule.as_ref().is_none_or(|schedule| schedule.is_done())
    }

    /// Whether it is complete on this rank; handles what has arrived.
    ///
    /// Local; never blocks. When a rank of the communicator has failed it is complete too: its outcome
    /// is then the error, unless it was complete before.
    pub fn is_complete(&self) -> bool {
        if let Some(schedule) = self.schedule.as_ref().filter(|schedule| !schedule.is_done()) {
            schedule.comm.progress();
        }
        self.is_done()
    }

    /// The outcome, once, when it is complete; `None` before, and after.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Mismatch`] on all ranks that wait for it, if they do not agree about call, root,
    /// operation, or the length or datatypes of the data; [`Error::NoMemory`];
    /// [`Error::RankFailed`]; [`Error::Argument`] if the outcome has been taken before.
    pub fn take(&self) -> Option<Result<B>> {
        if !self.is_complete() {
            return None;
        }
        self.handled_outcome()
    }

    /// `MPI_Wait`: waits until it is complete on this rank, and returns its outcome.
    ///
    /// Blocks until this rank has what the collective gives it. No other rank need wait meanwhile.
    ///
    /// # Errors
    /// [`Error::Mismatch`] on all ranks that wait for it, if they do not agree about call, root,
    /// operation, or the length or datatypes of the data; [`Error::NoMemory`]; [`Error::RankFailed`];
    /// [`Error::Argument`] if the outcome has been taken before.
    #[doc(alias = "MPI_Wait")]
    #[track_caller]
    pub fn wait(&self) -> Result<B> {
        if let Some(schedule) = &self.schedule {
            schedule.comm.handled(schedule.wait(Location::caller()))?;
        }
        self.handled_outcome().unwrap_or_else(|| {
            let problem = "the outcome of the request has been taken before".into();
            let at = Place { call: self.call, window: None, rank: Some(self.rank) };
            Err(Error::Argument { at, problem })
        })
    }

    /// [`CollectiveRequest::wait`] of one that is not needed any more.
    ///
    /// Blocks as that does.
    ///
    /// # Errors
    /// Those of [`CollectiveRequest::wait`].
    #[track_caller]
    #[inline(always)]
    pub fn finish(mut self) -> Result<B> {
        if self.is_over() { Ok(nothing().expect("it returns nothing")) } else { self.wait() }
    }

    /// Whether it was complete when it was made, and has neither a result nor an error.
    #[inline(always)]
    pub fn is_over(&mut self) -> bool {
        let retained = self.retained.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.schedule.is_none() && matches!(retained, Some(None))
    }

    /// The outcome, unless it has been taken.
    pub(super) fn outcome(&self) -> Option<Result<B>> {
        let mut retained = self.retained.lock().unwrap_or_else(PoisonError::into_inner);
        let retained = retained.take().map(|result| (Ok(()), result));
        let from_schedule = || self.schedule.as_ref().and_then(|schedule| schedule.take());
        let (outcome, result) = retained.or_else(from_schedule)?;
        let result = match result {
            Some(result) => result.downcast().ok().map(|result| *result),
            None => nothing(),
        };
        Some(outcome.map(|()| result.expect("its creator has set the result")))
    }

    /// The outcome; an error is passed to the communicator's error handler.
    fn handled_outcome(&self) -> Option<Result<B>> {
        let outcome = self.outcome();
        match &self.schedule {
            Some(schedule) => outcome.map(|outcome| schedule.comm.handled(outcome)),
            None => outcome,
        }
    }
}

/// The result of a collective that returns nothing.
fn nothing<B: Any>() -> Option<B> {
    let mut nothing = Some(());
    (&mut nothing as &mut dyn Any).downcast_mut::<Option<B>>().and_then(Option::take)
}

impl<B> fmt::Debug for CollectiveRequest<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_done = self.schedule.as_ref().is_none_or(|schedule| schedule.is_done());
        let how = if is_done { "complete" } else { "under way" };
        write!(f, "CollectiveRequest({}, {how})", self.call)
    }
}
