//! A collective with its plan: how the ranks synchronise in the staging area, check that they agree, and
//! take short data.

use super::buffer::{Combine, Has, HeldDatatype};
use super::schedule::{PlanStep, Retained};
use super::staged::{Give, Take};
use crate::call::Call;
use crate::comm::{CollectiveEntry, Comm, Description, Staged};
use crate::datatype::CommittedDatatype;
use crate::error::Result;
use crate::shm::ReadAs;
use std::panic::Location;

/// What a collective does on this rank.
pub(super) struct CollectiveForm {
    pub(super) short: ShortForm,
    /// The long form.
    pub(super) steps: Vec<PlanStep>,
    /// What follows the short form, each as another collective that waits. All ranks have agreed before.
    pub(super) pieces: Option<Pieces>,
    pub(super) combine: Option<Combine>,
    pub(super) retained: Retained,
    /// In a checked job the ranks whose data this one gets ([`Plan::sources`](super::plan::Plan)).
    pub(super) sources: Vec<u32>,
}

/// The pieces of a collective, which follow the first.
pub(super) type Pieces = Box<dyn Iterator<Item = ShortForm> + Send>;

/// What a rank does in the staging area. A call that is complete when it returns borrows the datatypes, and so
/// has nothing to drop ([`LentForm`]).
pub(super) struct ShortForm<D: Has = HeldDatatype> {
    pub(super) call: Call,
    /// What all ranks have to agree on.
    pub(super) what: Description,
    pub(super) give: Give<D>,
    /// The bytes that it stages.
    pub(super) length: usize,
    pub(super) take: Take<D>,
    /// Whom this rank waits for.
    pub(super) awaits: Awaits,
    /// Whether the collective is only compared there, and is long.
    pub(super) has_steps: bool,
    /// Whether ranks only know after the barrier if it is short: it then has both forms.
    pub(super) is_open: bool,
}

/// The short form in such a call.
pub(super) type LentForm<'d> = ShortForm<&'d CommittedDatatype>;

/// Whom a rank waits for in the short form of a collective that blocks.
#[derive(Clone, Copy, Default)]
pub(super) enum Awaits {
    #[default]
    All,
    /// One rank, from which it gets something.
    One(u32),
    /// It gets nothing.
    None,
}

/// The state of a collective in which all ranks have arrived.
pub(super) enum Completion {
    /// It is complete.
    Done,
    /// Its steps remain.
    Long,
}

/// The slot of a collective, which is left also when a function of the program panics.
pub(super) struct Entered<'c> {
    comm: &'c Comm,
    entry: CollectiveEntry,
    stays: bool,
}

impl<'c> Entered<'c> {
    pub(super) fn new(comm: &'c Comm, entry: CollectiveEntry) -> Entered<'c> {
        Entered { comm, entry, stays: false }
    }

    /// The place of one that is not entered.
    #[inline(always)]
    pub(super) fn none(comm: &'c Comm) -> Entered<'c> {
        Entered { comm, entry: CollectiveEntry::default(), stays: true }
    }

    /// [`CollectiveEntry::start_alone`]
    #[inline(always)]
    pub(super) fn start_alone(&mut self, what: &Description) -> bool {
        self.stays = !CollectiveEntry::start_alone(self.comm, what, &mut self.entry);
        !self.stays
    }

    pub(super) fn entry(&mut self) -> &mut CollectiveEntry {
        &mut self.entry
    }

    /// It is not left yet.
    pub(super) fn keep(mut self) -> CollectiveEntry {
        self.stays = true;
        self.entry
    }

    /// Leaves it before it is dropped.
    #[inline(always)]
    pub(super) fn leave(&mut self) {
        self.stays = true;
        self.entry.leave(self.comm);
    }
}

impl Drop for Entered<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if !self.stays {
            self.entry.leave(self.comm);
        }
    }
}

impl CollectiveForm {
    /// The ranks compare their calls, and nothing is moved.
    pub(super) fn only_compare(&mut self) {
        let ShortForm { call, what, .. } = self.short;
        self.short = ShortForm::new(call, what);
        self.pieces = None;
        self.steps.clear();
    }
}

impl CollectiveForm {
    /// Takes the pieces that follow the short form, and then its copies.
    pub(super) fn take_pieces(
        &mut self,
        comm: &Comm,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let Some(pieces) = self.pieces.take() else { return Ok(()) };
        for mut piece in pieces {
            let entry = CollectiveEntry::start_waiting(comm, piece.call, at)?;
            piece.meet(comm, Entered::new(comm, entry).entry(), at)?;
        }
        for step in self.steps.drain(..) {
            if let PlanStep::Copy(from, mut to) = step {
                to.copy_from(&from);
            }
        }
        Ok(())
    }
}

impl<D: Has> ShortForm<D> {
    /// The ranks compare their calls.
    #[inline(always)]
    pub(super) fn new(call: Call, what: Description) -> ShortForm<D> {
        ShortForm::moving(call, what, (Give::Nothing, 0), Take::Nothing, Awaits::All)
    }

    /// This rank also gives that many bytes, and takes what it needs from those that it waits for.
    #[inline(always)]
    pub(super) fn moving(
        call: Call,
        what: Description,
        (give, length): (Give<D>, usize),
        take: Take<D>,
        awaits: Awaits,
    ) -> ShortForm<D> {
        let (has_steps, is_open) = (false, false);
        ShortForm { call, what, give, length, take, awaits, has_steps, is_open }
    }

    /// Stages what this rank contributes, and arrives; `rings` if it does not wait there.
    #[inline(always)]
    pub(super) fn arrive(
        &self,
        comm: &Comm,
        entry: &mut CollectiveEntry,
        rings: bool,
    ) -> Result<()> {
        let (ringing, length) = (rings.then(|| self.what.ringing()), self.length);
        let what = ringing.as_ref().unwrap_or(&self.what);
        entry.arrive(comm, what, length, |segment, offset| {
            if length as u64 <= comm.longest_staged() {
                let read_as = match self.awaits {
                    Awaits::All => ReadAs::Exchanged,
                    Awaits::One(_) | Awaits::None => ReadAs::Copied,
                };
                self.give.write(segment, offset, read_as)
            } else {
                Ok(())
            }
        })
    }

    /// All ranks have arrived: whether they agree. Takes what is short; what is long has steps.
    #[inline]
    pub(super) fn take(&mut self, comm: &Comm, entry: &CollectiveEntry) -> Result<Completion> {
        self.take_staged(&entry.staged(comm))
    }

    /// All ranks have staged what they call, and what is short.
    #[inline]
    pub(super) fn take_staged(&mut self, staged: &Staged<'_>) -> Result<Completion> {
        staged.check(&self.what)?;
        let is_short = if self.is_open { staged.is_whole()? } else { !self.has_steps };
        if !is_short {
            return Ok(Completion::Long);
        }
        self.take.take(staged)?;
        Ok(Completion::Done)
    }

    /// Arrives, waits until those have that this rank needs, and takes what is short.
    #[inline(always)]
    pub(super) fn meet(
        &mut self,
        comm: &Comm,
        entry: &mut CollectiveEntry,
        at: &'static Location<'static>,
    ) -> Result<Completion> {
        entry.settle_for(comm, self.length, self.call, at)?;
        // The ranks may come to this barrier once more, and then not wait there.
        self.arrive(comm, entry, self.has_steps && comm.keeps_to_close())?;
        if !matches!(self.awaits, Awaits::All) && entry.may_go_ahead(comm) {
            return match self.take_ahead(comm, entry, at) {
                Ok(()) => entry.go_ahead(comm, false).map(|()| Completion::Done),
                Err(error) => entry.go_ahead(comm, true).and(Err(error)),
            };
        }
        entry.await_round(comm, self.call, at)?;
        entry.settle_before(comm, self.call, at)?;
        self.take(comm, entry)
    }

    /// Takes what is short from the awaited rank, or from what this rank itself has staged.
    #[inline(always)]
    fn take_ahead(
        &mut self,
        comm: &Comm,
        entry: &CollectiveEntry,
        at: &'static Location<'static>,
    ) -> Result<()> {
        if let (Awaits::None, Take::Nothing) = (self.awaits, &self.take) {
            return Ok(());
        }
        let staged = entry.staged(comm);
        if let Awaits::One(from) = self.awaits {
            entry.await_rank(comm, from, self.call, at)?;
            staged.check_with(from, &self.what)?;
        }
        self.take.take(&staged)
    }
}
