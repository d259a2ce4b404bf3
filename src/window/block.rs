//! The block of a window: rank 0 takes it from the segment, and its outcome, block or error, is
//! everybody's: either every rank has the window or every rank has the same error.

use super::options::Making;
use super::plan::Plan;
use crate::comm::Collective;
use crate::comm::outcome::{Outcome, Told};
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::prim::{Step, step};
use crate::shm::{AllocError, Heap, WindowHeader};
use bytemuck::Zeroable;

const WORDS: usize = size_of::<Told>() / 8;

/// Takes the block of a window, cleared and named; the outcome is the same on all ranks.
pub(super) fn take(all: &mut Collective<'_>, making: &Making<'_>, plan: &Plan) -> Result<u64> {
    let (comm, call) = (making.comm, making.flavour.call());
    let mine = match comm.rank() {
        0 => Outcome::of(allocate(making, plan)),
        _ => Outcome::from(Told::zeroed()),
    };
    let mut words: [u64; WORDS] = bytemuck::cast(mine.told);
    let told = all.broadcast(&mut words, Rank(0));
    let to_none = matches!(told, Err(Error::RankFailed { .. } | Error::Mismatch { .. }));
    if to_none && mine.told.block != 0 {
        // Nobody who lives has heard of it: what fits a chunk is told to all or to none. The error that
        // all ranks get is the one to report.
        let context = comm.context();
        let _ = context.segment.heap().free(mine.told.block, &context.excluded());
    }
    told?;
    step(Step::WindowTold);
    let outcome = if comm.rank() == 0 { mine } else { bytemuck::cast::<_, Told>(words).into() };
    match outcome.block(comm, call, plan.total)? {
        0 => Err(Error::Damaged { what: "block of a window" }),
        block => Ok(block),
    }
}

/// Rank 0: takes the block, clears what may hold old bytes, names it.
fn allocate(making: &Making<'_>, plan: &Plan) -> std::result::Result<u64, AllocError> {
    let context = making.comm.context();
    let block = context.segment.heap().allocate(plan.total, &context.excluded())?;
    step(Step::WindowTaken);
    let mapping = context.segment.mapping();
    for (at, n) in Heap::dirty_edges(block, plan.total) {
        mapping.clear(at, n)?;
    }
    mapping.view::<WindowHeader>(block)?.set_name(&making.name);
    step(Step::WindowNamed);
    Ok(block)
}
