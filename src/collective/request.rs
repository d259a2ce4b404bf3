//! Requests of collectives.

use super::schedule::Schedule;
use crate::error::{Error, Result};
use crate::message::Driven;
use crate::prim::WaitRecord;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// A collective under way (MPI-4.1 §6.12), which gives a `B` when it is complete.
///
/// It goes on in every call of this rank that looks for messages: [`CollectiveRequest::is_complete`],
/// [`CollectiveRequest::wait`], [`Comm::progress`](crate::Comm::progress), every receive, probe and
/// wait for a message; and while this rank waits for others in any other call (MPI-4.1 §2.9).
///
/// Dropped before it is complete, it goes on like that, because other ranks may wait for it, and
/// keeps its buffers until it is done.
pub struct CollectiveRequest<B = ()> {
    schedule: Arc<Schedule>,
    is_taken: Mutex<bool>,
    gives: PhantomData<fn() -> B>,
}

impl<B: Any> CollectiveRequest<B> {
    pub(super) fn start(schedule: Schedule) -> Result<CollectiveRequest<B>> {
        let schedule = Arc::new(schedule);
        if !schedule.drive() {
            schedule.comm.keep_driving(schedule.clone())?;
        }
        Ok(CollectiveRequest { schedule, is_taken: Mutex::default(), gives: PhantomData })
    }

    /// Whether it is complete on this rank; handles what has arrived.
    ///
    /// Local; never blocks. When a rank of the communicator has failed it is complete too: its outcome
    /// is then the error, unless it was complete before.
    pub fn is_complete(&self) -> bool {
        if !self.schedule.is_done() {
            self.schedule.comm.progress();
        }
        self.schedule.is_done()
    }

    /// The outcome, once, when it is complete; `None` before, and after.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// As [`CollectiveRequest::wait`].
    pub fn take(&self) -> Option<Result<B>> {
        if !self.is_complete() {
            return None;
        }
        self.outcome()
    }

    /// `MPI_Wait`: waits until it is complete on this rank, and returns its outcome.
    ///
    /// Blocks until this rank has what the collective gives it. No other rank need wait meanwhile.
    ///
    /// # Errors
    /// [`Error::Truncated`] if another rank contributes more than this one expects,
    /// [`Error::Mismatch`] if it contributes less; [`Error::NoMemory`]; [`Error::RankFailed`];
    /// [`Error::Argument`] if the outcome has been taken before.
    #[track_caller]
    pub fn wait(&self) -> Result<B> {
        let (schedule, at) = (&*self.schedule, Location::caller());
        if !schedule.is_done() {
            let tell = |record: &WaitRecord| schedule.tell(record);
            let waited = schedule.comm.drive_until(schedule.call, at, &tell, || schedule.is_done());
            schedule.comm.handled(waited)?;
        }
        self.outcome().unwrap_or_else(|| {
            let problem = "the outcome of the request has been taken before".into();
            Err(Error::Argument { at: schedule.comm.place(schedule.call), problem })
        })
    }

    /// The outcome, unless it has been taken.
    fn outcome(&self) -> Option<Result<B>> {
        let mut is_taken = self.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *is_taken, true) {
            return None;
        }
        let (outcome, result) = self.schedule.take();
        let result = result.and_then(|result| result.downcast().ok());
        let given = outcome.map(|()| *result.expect("whoever has made it has given the result"));
        Some(self.schedule.comm.handled(given))
    }
}

impl<B> fmt::Debug for CollectiveRequest<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.schedule.is_done() { "complete" } else { "under way" };
        write!(f, "CollectiveRequest({}, {how})", self.schedule.call)
    }
}
