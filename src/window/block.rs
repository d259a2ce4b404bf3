//! The block of a window. Rank 0 takes it from the segment and announces the outcome: either every rank
//! has the window or every rank has the same error.

use super::hints::Hinted;
use super::options::Making;
use super::plan::WindowPlan;
use crate::call::Call;
use crate::comm::outcome::{CreationOutcome, OutcomeWords};
use crate::comm::{Collective, Comm};
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::prim::{Step, step};
use crate::shm::{AllocError, Heap, Span, WindowHeader};
use bytemuck::Zeroable;

const WORDS: usize = size_of::<OutcomeWords>() / 8;

/// Takes the block of a window, cleared and named; the outcome is the same on all ranks.
pub(super) fn take(
    all: &mut Collective<'_>,
    making: &Making<'_>,
    plan: &WindowPlan,
) -> Result<u64> {
    let (comm, call) = (making.comm, making.flavour.call());
    let mine = match comm.rank().0 {
        0 => CreationOutcome::of(allocate(making, plan)),
        _ => CreationOutcome::from(OutcomeWords::zeroed()),
    };
    let mut words: [u64; WORDS] = bytemuck::cast(mine.words);
    let sent = all.broadcast(&mut words, Rank(0));
    let to_none = matches!(sent, Err(Error::RankFailed { .. } | Error::Mismatch { .. }));
    if to_none && mine.words.block != 0 {
        // No living rank has heard of it: what fits a chunk reaches all or none. The error that
        // all ranks get is the one to report.
        let context = comm.context();
        let _ = context.segment.heap().free(mine.words.block, &context.excluded());
    }
    sent?;
    step(Step::WindowKnown);
    let outcome =
        if comm.rank() == 0 { mine } else { bytemuck::cast::<_, OutcomeWords>(words).into() };
    match outcome.block(comm, call, plan.total)? {
        0 => Err(Error::Damaged { what: "block of a window" }),
        block => Ok(block),
    }
}

/// Each rank reserves `own`, its part, where the plan leaves that to the owners; the outcome is the same on
/// all ranks.
pub(super) fn reserve_parts(
    all: &mut Collective<'_>,
    (comm, call): (&Comm, Call),
    (plan, block, own): (&WindowPlan, u64, Span),
    hints: &Hinted,
) -> Result<()> {
    if !plan.by_owners {
        return Ok(());
    }
    let segment = &comm.context().segment;
    let (start, bytes) = (segment.offset_of(own.base(), own.len()), own.len());
    let start = start.ok_or(Error::Damaged { what: "window" })?;
    let done = if hints.wants_huge_pages() {
        segment.touch(start, bytes)
    } else if hints.wants_reserved_pages() || !segment.is_backed_on_touch() {
        segment.reserve(start, bytes)
    } else {
        Ok(())
    };
    let mine = CreationOutcome::of(done.map(|()| block));
    let words: [u64; WORDS] = bytemuck::cast(mine.words);
    step(Step::WindowTouched);
    let reserved = all.allgather(&words).and_then(|words| {
        let words: &[OutcomeWords] = bytemuck::cast_slice(&words);
        let short = words.iter().position(|words| words.failure != 0);
        let outcome = match short {
            None => return Ok(()),
            Some(rank) if rank == comm.rank().index() => mine,
            Some(rank) => words[rank].into(),
        };
        outcome.block(comm, call, plan.total).map(drop)
    });
    if reserved.is_err() && comm.rank() == 0 {
        // The error that all ranks get is the one to report.
        let _ = segment.heap().free(block, &comm.context().excluded());
    }
    reserved
}

/// Rank 0: takes the block, clears what may hold old bytes, names it.
pub(super) fn allocate(
    making: &Making<'_>,
    plan: &WindowPlan,
) -> std::result::Result<u64, AllocError> {
    let context = making.comm.context();
    let heap = context.segment.heap();
    let block = heap.allocate_front(plan.total, plan.front(), &context.excluded())?;
    step(Step::WindowTaken);
    let mapping = context.segment.mapping();
    for (at, n) in Heap::dirty_edges(block, plan.total) {
        mapping.clear(at, n)?;
    }
    mapping.view::<WindowHeader>(block)?.begin(making.number, &making.name);
    step(Step::WindowNamed);
    Ok(block)
}
