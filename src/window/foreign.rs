//! Windows of another MPI: how they are made. Epochs, checks and errors of this rank are those of all
//! windows; memory (`memory.rs`, [`crate::foreign`]) and synchronisation (`transport.rs`) are the other
//! MPI's.

use super::dynamic::Attachments;
use super::memory::Unmapped;
use super::options::Making;
use super::plan::{Follows, PartRequest, WindowPlan};
use super::{Flavour, Win, block};
use crate::call::Call;
use crate::comm::outcome::{CreationOutcome, OutcomeWords};
use crate::comm::{Collective, Comm};
use crate::error::{Error, Result};
use crate::foreign::{self, ForeignWindow};
use crate::group::Rank;
use crate::shm::{Part, Parts, Span};
use std::sync::Arc;

/// A window of any flavour by the other MPI. Every rank has the window, or every rank
/// has an error.
pub(super) fn make(
    over: &foreign::ForeignComm,
    ranks: &mut Collective<'_>,
    making: Making<'_>,
    requests: &[PartRequest],
    part: foreign::ForeignPart,
) -> Result<Win> {
    let making = Making { hints: making.hints.without_pages(), ..making };
    let Making { comm, flavour, .. } = making;
    let call = flavour.call();
    if flavour == Flavour::Shared {
        check_near(ranks, comm, call)?;
    }
    let has_counters = requests.iter().any(|one| one.notifications != 0);
    let counters = has_counters.then(|| requests[comm.rank().index()].notifications);
    let is_dynamic = flavour == Flavour::Dynamic;
    let follows = if is_dynamic { Follows::Directories } else { Follows::Nothing };
    let plan = WindowPlan::new(comm, call, requests.iter().copied(), follows)?;
    let block = take_own(ranks, &making, &plan, requests)?;
    let window = Arc::new(ForeignWindow::make(over, part, counters).map_err(|refusal| {
        // The call already returns another error.
        let _ = comm.context().segment.heap().free(block, &comm.context().excluded());
        refusal.at(comm.place(call))
    })?);
    let unmapped = |placed: Result<(u64, u64, u32)>| Ok(Part::new(Span::nothing(), placed?.2));
    let mapped = Parts::collect(comm.size(), plan.parts(requests.iter().copied()).map(unmapped))?;
    let unmapped = match is_dynamic {
        true => {
            let n = comm.ranks().len();
            let directories = comm.context().segment.place_all(block + plan.directories, n)?;
            let (processes, elsewhere) = (Box::default(), Some(window));
            Unmapped::Dynamic(Attachments { directories, processes, elsewhere }.into())
        }
        false => {
            let at_zero = |one: &PartRequest| Span::new(std::ptr::null_mut(), one.bytes);
            let parts = requests.iter().map(at_zero).collect();
            let unit = |rank| mapped.part(rank).disp_unit;
            let near = |rank| Ok(Part::new(window.near(rank), unit(rank)));
            let near = Parts::collect(comm.size(), (0..comm.size()).map(near))?;
            Unmapped::Foreign { window, parts, near }
        }
    };
    let win = making.assemble(&plan, block, (mapped, unmapped))?;
    comm.hold_for_window();
    Ok(win)
}

/// Refuses, on all ranks, a window of shared memory whose ranks share none.
fn check_near(ranks: &mut Collective<'_>, comm: &Comm, call: Call) -> Result<()> {
    let nodes = ranks.allgather(&[comm.context().node])?;
    match nodes.iter().position(|node| *node != nodes[0]) {
        None => Ok(()),
        Some(rank) => Err(Error::not_near(comm.place(call), Rank(0), Rank(rank as u32))),
    }
}

/// Takes a block of this process's own for the words of a window, if there is memory for the part, too: the other
/// MPI's calls need not fail on all ranks where one has too little. The outcome is the same on all ranks.
fn take_own(
    ranks: &mut Collective<'_>,
    making: &Making<'_>,
    plan: &WindowPlan,
    requests: &[PartRequest],
) -> Result<u64> {
    let (comm, call) = (making.comm, making.flavour.call());
    let needs = |rank: usize| match making.flavour {
        Flavour::Allocate => plan.total + requests[rank].bytes,
        Flavour::Shared => requests.iter().fold(plan.total, |sum, one| sum + one.bytes),
        Flavour::Create | Flavour::Dynamic => plan.total,
    };
    let space = comm.context().segment.heap().check_space(needs(comm.rank().index()));
    let mine = CreationOutcome::of(space.and_then(|()| block::allocate(making, plan)));
    let own = mine.words.block;
    let words: [u64; size_of::<OutcomeWords>() / 8] = bytemuck::cast(mine.words);
    let taken = ranks.allgather(&words).and_then(|words| {
        let words: &[OutcomeWords] = bytemuck::cast_slice(&words);
        let short = words.iter().position(|words| words.failure != 0);
        let outcome = match short {
            Some(rank) if rank != comm.rank().index() => words[rank].into(),
            _ => mine,
        };
        outcome.block(comm, call, short.map_or(plan.total, needs))
    });
    if taken.is_err() && own != 0 {
        // The error that all ranks get is the one to report.
        let _ = comm.context().segment.heap().free(own, &comm.context().excluded());
    }
    taken
}
