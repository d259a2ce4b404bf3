//! A collective by another MPI: its allgather compares the ranks' calls, and in a call that waits also exchanges
//! short data. Long data, and all data of a call that does not wait, are in messages, as everywhere.

use super::form::{CollectiveForm, Completion};
use super::request::CollectiveRequest;
use super::schedule::{Schedule, ScheduleStage};
use crate::comm::{CollectiveEntry, Comm, ForeignVotes, Staged};
use crate::error::Result;
use crate::foreign::ForeignComm;
use std::any::Any;
use std::panic::Location;

impl CollectiveForm {
    /// Starts it; in a call that waits, runs it to its end.
    #[cold]
    pub(super) fn start_by<B: Any>(
        mut self,
        comm: &Comm,
        foreign: &ForeignComm,
        waits: bool,
        at: &'static Location<'static>,
    ) -> Result<CollectiveRequest<B>> {
        let (number, _) = CollectiveEntry::start(comm, false);
        let short = &mut self.short;
        let stage = if waits {
            let staged = Staged::by_foreign(comm, foreign, &short.what, &short.give.packed())?;
            match short.take_staged(&staged)? {
                Completion::Done => return Ok(CollectiveRequest::complete(comm, self)),
                Completion::Long => ScheduleStage::Moving(None),
            }
        } else {
            let votes = ForeignVotes::begin(foreign, &short.what);
            ScheduleStage::Comparing(votes.map_err(|refusal| comm.refused(short.call, refusal))?)
        };
        CollectiveRequest::start(Schedule::new(comm, self, stage, number), waits, at)
    }
}
