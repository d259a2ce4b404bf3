//! A collective by another MPI: its allgather compares the ranks' calls and exchanges short data; its
//! messages move long data.

use super::buffer::BufferMut;
use super::form::{CollectiveForm, Completion};
use super::schedule::PlanStep;
use crate::comm::{Comm, Staged};
use crate::error::Result;
use crate::foreign::{ForeignComm, ForeignError, ForeignMessage};

/// The tag of all messages: a communicator has one collective at a time in progress.
const TAG: i32 = 99;

impl CollectiveForm {
    /// Runs it to its end.
    #[cold]
    pub(super) fn complete_by(&mut self, comm: &Comm, foreign: &ForeignComm) -> Result<()> {
        let short = &mut self.short;
        let staged = Staged::by_foreign(comm, foreign, &short.what, &short.give.packed())?;
        match short.take_staged(&staged)? {
            Completion::Done => Ok(()),
            Completion::Long => self.take_steps_by(comm, foreign),
        }
    }

    fn take_steps_by(&mut self, comm: &Comm, foreign: &ForeignComm) -> Result<()> {
        let refused = |refusal: ForeignError| comm.refused(self.short.call, refusal);
        let mut under_way = Vec::new();
        for step in std::mem::take(&mut self.steps) {
            match step {
                PlanStep::Send(to, from) => {
                    let pending = foreign.send(to.0, TAG, from.packed()).map_err(refused)?;
                    under_way.push((pending, None));
                }
                PlanStep::Receive(from, into) => {
                    let bytes = into.bytes().unwrap_or_default();
                    let pending = foreign.receive(from.0, TAG, bytes).map_err(refused)?;
                    under_way.push((pending, Some(into)));
                }
                PlanStep::Await => await_all(&mut under_way).map_err(refused)?,
                PlanStep::Copy(from, mut to) => to.copy_from(&from),
                PlanStep::Combine(lower, mut upper) => {
                    if let Some(combine) = &self.combine {
                        upper.combine_with(&lower, combine)?;
                    }
                }
            }
        }
        await_all(&mut under_way).map_err(refused)
    }
}

fn await_all(
    under_way: &mut Vec<(ForeignMessage, Option<BufferMut>)>,
) -> std::result::Result<(), ForeignError> {
    for (pending, into) in under_way.drain(..) {
        let bytes = pending.wait()?;
        into.into_iter().for_each(|mut into| into.unpack(&bytes));
    }
    Ok(())
}
