//! `MPI_Win_free`: the ranks agree, and each frees its blocks.

use super::Win;
use super::calls::Calls;
use crate::call::Call;
use crate::comm::Collective;
use crate::error::Result;
use crate::group::Rank;
use crate::prim::{Step, step};
use std::panic::Location;

/// Frees a window; `deleted` is the outcome of the delete callbacks of its attributes.
pub(super) fn free(win: &Win, deleted: Result<()>, at: &'static Location<'static>) -> Result<()> {
    let Win { calls, memory, sync, .. } = win;
    // Read first: they lie in the block that rank 0 frees.
    let directories = memory.own_directory_blocks(calls);
    let mut attached = Vec::new();
    calls.checked(|checker, window| attached = window.freeing(checker, &calls.excluded()));
    // When all have arrived here, no rank is inside a call on this window; only then does any rank free
    // memory.
    agree(calls, deleted, !win.attributes.is_empty(), at)?;
    calls.freed();
    calls.checked(|checker, window| window.freed(checker, &calls.excluded()));
    step(Step::FreeSynced);
    let slots = sync.state.lock().pscw.table_block();
    let is_first = calls.survivors.rank() == 0 || sync.transport.is_foreign();
    let block = is_first.then_some(calls.block());
    for at in slots.into_iter().chain(directories).chain(attached).chain(block) {
        let freed = calls.context().segment.heap().free(at, &calls.context().excluded());
        freed.map_err(|error| calls.heap_error(Call::WinFree, error, 0))?;
    }
    sync.transport.free(calls)?;
    step(Step::FreeDone);
    Ok(())
}

/// Whether any rank has attributes of the window; an error if one of them cannot free it.
pub(super) fn agree(
    calls: &Calls,
    deleted: Result<()>,
    has_attributes: bool,
    at: &'static Location<'static>,
) -> Result<bool> {
    const MAY: u64 = 1;
    const HAS_ATTRIBUTES: u64 = 2;
    let verdict = calls.epochs.may_free();
    let may = if verdict.is_ok() && deleted.is_ok() { MAY } else { 0 };
    let has_attributes = if has_attributes { HAS_ATTRIBUTES } else { 0 };
    let mine = [calls.number(), may | has_attributes];
    let mut ranks = Collective::begin_patiently(&calls.survivors, Call::WinFree, at)?;
    let all = ranks.gather(&mine)?;
    calls.check_same_window(Call::WinFree, all.iter().map(|[number, _]| number))?;
    calls.allowed(Call::WinFree, Rank::NULL, verdict)?;
    deleted?;
    let (all_may, any_may) =
        all.iter().fold((MAY, 0), |(all, any), [_, may]| (all & may, any | may));
    if all_may == 0 {
        let rank = all.iter().position(|[_, answer]| answer & MAY == 0).unwrap_or_default();
        let problem = format!("rank {rank} has an epoch open, or an attribute that stays");
        return Err(calls.wrong_epoch(Call::WinFree, problem));
    }
    Ok(any_may & HAS_ATTRIBUTES != 0)
}
