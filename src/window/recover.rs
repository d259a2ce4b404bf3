//! A window after the failure of a rank: used again without that rank, but with its memory.

use super::Win;
use super::calls::Calls;
use super::memory::ExposedMemory;
use super::transport::Transport;
use crate::call::Call;
use crate::comm::{Collective, Comm};
use crate::error::{Error, Result};
use crate::shm::Segment;
use crate::sync::{RankWords, TreeLine, WindowWords};
use std::panic::Location;

/// Recovers a window together with the surviving ranks; returns their communicator.
pub(super) fn recover(win: &Win, at: &'static Location<'static>) -> Result<Comm> {
    loop {
        // Again each time: freeing the communicator of a failed attempt is a call of its own.
        let _call = win.calls.enter(Call::WinRecover);
        match clear_together(win, at) {
            // All survivors get this error, because a collective ends alike for all of them.
            Err(Error::RankFailed { .. }) if win.calls.context().goes_on() => {}
            recovered => break recovered,
        }
    }
}

/// Resets everything to its state when the window was new, together with all survivors; returns
/// their communicator.
fn clear_together(win: &Win, at: &'static Location<'static>) -> Result<Comm> {
    let (calls, call) = (&win.calls, Call::WinRecover);
    let survivors = calls.survivors.shrunk(call, at)?.freed_with_its_handles();
    calls.checked(|checker, window| window.recovering(checker));
    let mut all = Collective::begin_patiently(&survivors, call, at)?;
    let numbers = all.gather(&[calls.number()])?;
    calls.check_same_window(call, numbers.iter().map(|[number]| number))?;
    // No thread is inside a call on this window.
    if survivors.rank() == 0 {
        clear_words(calls, &win.memory, &win.sync.transport)?;
    }
    clear_own(win)?;
    all.gather(&[calls.block()])?;
    drop(all);
    Ok(survivors)
}

/// Zero bytes are the initial state of every word that ranks synchronise by.
fn clear_words(calls: &Calls, memory: &ExposedMemory, transport: &Transport) -> Result<()> {
    let segment = &calls.context().segment;
    calls.checked(|checker, window| {
        let failed: Vec<u32> = failed_ranks(calls).collect();
        window.recovered(checker, &calls.context().excluded(), &failed);
    });
    let orphaned = orphaned_slots(calls, transport);
    clear::<WindowWords>(segment, &transport.words)?;
    transport.ranks.iter().try_for_each(|rank| clear::<RankWords>(segment, rank))?;
    transport.tree.iter().try_for_each(|line| clear::<TreeLine>(segment, line))?;
    // Only now: if this rank fails meanwhile, no other frees them a second time.
    orphaned.into_iter().for_each(|block| free_orphan(calls, block));
    if let Some(attached) = memory.attached() {
        for (directory, rank) in attached.directories.iter().zip(0..) {
            let orphan = directory.recover(segment, calls.comm().failed_rank(rank).is_none())?;
            orphan.into_iter().for_each(|block| free_orphan(calls, block));
        }
    }
    Ok(())
}

fn failed_ranks(calls: &Calls) -> impl Iterator<Item = u32> {
    (0..calls.comm().size()).filter(|rank| calls.comm().failed_rank(*rank).is_some())
}

/// The blocks of the post slots of failed ranks.
fn orphaned_slots(calls: &Calls, transport: &Transport) -> Vec<u64> {
    let slots = failed_ranks(calls).map(|rank| transport.slots_of(rank));
    slots.flatten().collect()
}

/// Frees a block that only a failed rank used. It stays if that rank had left it damaged.
fn free_orphan(calls: &Calls, block: u64) {
    let _ = calls.context().segment.heap().free(block, &calls.context().excluded());
}

/// This rank's own side.
fn clear_own(win: &Win) -> Result<()> {
    let Win { calls, sync, .. } = win;
    let state = std::mem::take(&mut *sync.state.lock());
    if let Some(slots) = state.pscw.table_block() {
        let freed = calls.context().segment.heap().free(slots, &calls.context().excluded());
        freed.map_err(|error| calls.heap_error(Call::WinRecover, error, 0))?;
    }
    calls.epochs.close_all();
    sync.transport.fences.store(0);
    sync.transport.node.clear();
    Ok(())
}

/// Clears words of the segment.
fn clear<T>(segment: &Segment, words: &T) -> Result<()> {
    let bytes = size_of::<T>() as u64;
    let at = segment.offset_of(std::ptr::from_ref(words).cast(), bytes);
    segment.mapping().clear(at.ok_or(Error::Damaged { what: "words of a window" })?, bytes)
}
