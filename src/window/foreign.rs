//! Windows of another MPI: how they are made and freed. The epochs, checks and errors of this rank are as
//! everywhere; the memory is the other MPI's ([`crate::foreign`]), and so is the synchronisation
//! (`transport.rs`).

use super::options::Making;
use super::plan::{Follows, PartRequest, WindowPlan};
use super::unmapped::Unmapped;
use super::{Flavour, Part, Target, Via, Win, block};
use crate::call::Call;
use crate::comm::Collective;
use crate::comm::outcome::{CreationOutcome, OutcomeWords};
use crate::error::Result;
use crate::foreign::{self, ForeignWindow};
use crate::shm::Span;

/// The parts of a window of another MPI.
pub(crate) struct ForeignMemory {
    pub(super) window: ForeignWindow,
    /// They begin at address 0, as displacements do.
    pub(super) parts: Box<[Span]>,
    /// Among the windows over the communicator.
    number: u32,
}

impl Win {
    /// The window of the other MPI, if it is one.
    #[inline]
    pub(crate) fn foreign(&self) -> Option<&ForeignWindow> {
        match &self.unmapped {
            Unmapped::Foreign(memory) => Some(&memory.window),
            _ => None,
        }
    }

    /// What tells such a window from others, the same on all ranks.
    pub(super) fn foreign_number(&self) -> Option<u32> {
        match &self.unmapped {
            Unmapped::Foreign(memory) => Some(memory.number),
            _ => None,
        }
    }

    /// Gives the other MPI its part of a window back, when all ranks have freed it.
    pub(super) fn free_foreign(&self) -> Result<()> {
        let Some(window) = self.foreign() else { return Ok(()) };
        self.checked(Call::WinFree, window.free())?;
        self.comm.let_window_go(Call::WinFree)
    }

    /// What the other MPI has said to `call`.
    #[inline]
    pub(crate) fn checked<R>(&self, call: Call, outcome: foreign::ForeignResult<R>) -> Result<R> {
        outcome.map_err(|refusal| refusal.at(self.place(call)))
    }

    /// `MPI_Win_allocate` or `MPI_Win_create` by the other MPI. Every rank has the window, or every rank
    /// has an error.
    pub(super) fn made_by(
        over: &foreign::ForeignComm,
        ranks: &mut Collective<'_>,
        making: Making<'_>,
        wishes: &[PartRequest],
        part: foreign::ForeignPart,
    ) -> Result<Win> {
        let making = Making { hints: making.hints.without_pages(), ..making };
        let Making { comm, flavour, number, .. } = making;
        let call = flavour.call();
        if flavour == Flavour::Shared {
            comm.check_shares(call, "memory that all ranks load from and store to")?;
        }
        if wishes.iter().any(|wish| wish.notifications != 0) {
            comm.check_shares(call, "an operation that notifies its target")?;
        }
        let plan = WindowPlan::new(comm, call, wishes, Follows::Nothing)?;
        let block = take_own(ranks, &making, &plan)?;
        let window = ForeignWindow::make(over, part).map_err(|refusal| {
            // The error of the call is the other one.
            let _ = comm.context().segment.heap().free(block, &comm.context().excluded());
            refusal.at(comm.place(call))
        })?;
        let at_zero = |wish: &PartRequest| Span::new(std::ptr::null_mut(), wish.bytes);
        let parts = wishes.iter().map(at_zero).collect();
        let mapped = plan.parts.iter().map(|part| Part::new(Span::nothing(), part.2)).collect();
        let mut win = Win::assemble(making, &plan, block, mapped)?;
        win.unmapped = Unmapped::Foreign(Box::new(ForeignMemory { window, parts, number }));
        win.comm.hold_for_window();
        Ok(win)
    }

    /// Own memory of a window, which is addressed as such.
    pub(crate) fn as_own<'w>(&self, target: Target<'w>) -> Target<'w> {
        match (self.foreign(), target.via) {
            (Some(window), Via::Foreign) => {
                let at = window.own().base().wrapping_add(target.at as usize);
                Target { at, via: Via::Own, ..target }
            }
            _ => target,
        }
    }
}

/// Takes a block of this process's own for the words of a window; the outcome is the same on all ranks.
fn take_own(ranks: &mut Collective<'_>, making: &Making<'_>, plan: &WindowPlan) -> Result<u64> {
    let (comm, call) = (making.comm, making.flavour.call());
    let mine = CreationOutcome::of(block::allocate(making, plan));
    let own = mine.words.block;
    let words: [u64; size_of::<OutcomeWords>() / 8] = bytemuck::cast(mine.words);
    let taken = ranks.allgather(&words).and_then(|words| {
        let words: &[OutcomeWords] = bytemuck::cast_slice(&words);
        let short = words.iter().position(|words| words.failure != 0);
        let outcome = match short {
            Some(rank) if rank != comm.rank().index() => words[rank].into(),
            _ => mine,
        };
        outcome.block(comm, call, plan.total)
    });
    if taken.is_err() && own != 0 {
        // The error that all ranks get is the one to report.
        let _ = comm.context().segment.heap().free(own, &comm.context().excluded());
    }
    taken
}
