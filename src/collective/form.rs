//! A collective with its plan: how the ranks synchronise in the staging area, check that they agree, and
//! take short data.

use super::buffer::Combine;
use super::schedule::{PlanStep, Retained};
use super::staged::{Give, Take};
use crate::call::Call;
use crate::comm::{CHUNK, CollectiveEntry, Comm, Description, Staged};
use crate::error::Result;
use std::panic::Location;

/// What a collective does on this rank.
pub(super) struct CollectiveForm {
    pub(super) call: Call,
    /// What all ranks have to agree on.
    pub(super) what: Description,
    /// The short form.
    pub(super) give: Give,
    pub(super) take: Take,
    /// Whether ranks only know after the barrier if it is short: it then has both forms.
    pub(super) is_open: bool,
    /// The long form.
    pub(super) steps: Vec<PlanStep>,
    pub(super) combine: Option<Combine>,
    pub(super) retained: Retained,
}

/// The state of a collective in which all ranks have arrived.
pub(super) enum Met {
    /// It is complete.
    Done,
    /// Its steps remain.
    Long,
}

/// The slot of a collective, which is left also when a function of the program panics.
pub(super) struct Entered<'c> {
    comm: &'c Comm,
    entry: Option<CollectiveEntry>,
}

impl<'c> Entered<'c> {
    pub(super) fn new(comm: &'c Comm, entry: CollectiveEntry) -> Entered<'c> {
        Entered { comm, entry: Some(entry) }
    }

    pub(super) fn entry(&mut self) -> &mut CollectiveEntry {
        self.entry.as_mut().expect("taken at the end")
    }

    /// It is not left yet.
    pub(super) fn keep(mut self) -> CollectiveEntry {
        self.entry.take().expect("taken once")
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.entry.take() {
            self.comm.leave(entry);
        }
    }
}

impl CollectiveForm {
    /// The ranks compare their calls, and nothing is moved.
    pub(super) fn only_compare(&mut self) {
        (self.give, self.take, self.is_open) = (Give::Nothing, Take::Nothing, false);
        self.steps.clear();
    }

    /// Stages what this rank contributes, and arrives; `rings` if it does not wait there.
    pub(super) fn arrive(
        &self,
        comm: &Comm,
        entry: &mut CollectiveEntry,
        rings: bool,
    ) -> Result<()> {
        let what = if rings { self.what.ringing() } else { self.what };
        let length = self.give.length();
        comm.arrive(entry, &what, length, |segment, offset| {
            if length <= CHUNK { self.give.write(segment, offset) } else { Ok(()) }
        })
    }

    /// All ranks have arrived: whether they agree. Takes what is short; what is long has steps.
    pub(super) fn take(
        &mut self,
        comm: &Comm,
        entry: &CollectiveEntry,
        has_steps: bool,
    ) -> Result<Met> {
        self.take_staged(&comm.staged(entry), has_steps)
    }

    /// All ranks have staged what they call, and what is short.
    pub(super) fn take_staged(&mut self, staged: &Staged<'_>, has_steps: bool) -> Result<Met> {
        staged.check(&self.what)?;
        let is_short = if self.is_open { staged.is_whole()? } else { !has_steps };
        if !is_short {
            return Ok(Met::Long);
        }
        self.take.take(staged)?;
        Ok(Met::Done)
    }

    /// Arrives, waits until all have, and takes what is short.
    pub(super) fn meet(
        &mut self,
        comm: &Comm,
        entry: &mut CollectiveEntry,
        at: &'static Location<'static>,
    ) -> Result<Met> {
        self.arrive(comm, entry, false)?;
        comm.await_round(entry, self.call, at)?;
        let has_steps = !self.steps.is_empty();
        self.take(comm, entry, has_steps)
    }
}
