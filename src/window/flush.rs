//! Flush and win_sync (MPI-4.1 §12.5.4): each asks the table of legal calls, and rings the bells.

use super::Flavour;
use super::calls::Calls;
use super::transport::Transport;
use crate::call::Call;
use crate::check::{CheckedWindow, Checker, Frequency};
use crate::error::Result;
use crate::group::Rank;
use crate::sync;

/// `MPI_Win_flush`
#[inline(always)]
pub(super) fn flush(calls: &Calls, transport: &Transport, target: Rank) -> Result<()> {
    match try_flush(calls, transport, target) {
        true => Ok(()),
        false => flush_slowly(calls, transport, target),
    }
}

/// The fast path of [`flush`]: whether it is done. If not, it has changed nothing.
#[inline(always)]
pub(super) fn try_flush(calls: &Calls, transport: &Transport, target: Rank) -> bool {
    let is_usual = target.index() < transport.flushable && calls.epochs.is_locked(target.0);
    if is_usual {
        let in_call = calls.try_operation(Call::Flush, target, 0);
        sync::flush();
        in_call.end();
        // Last, so that no register is saved for the call in it.
        transport.ring(target.0);
    }
    is_usual
}

/// [`flush`] of a target that this rank has not locked, or of no rank.
#[cold]
#[inline(never)]
fn flush_slowly(calls: &Calls, transport: &Transport, target: Rank) -> Result<()> {
    let _call = calls.enter_operation(Call::Flush, target, 0);
    calls.handled(check(calls, Call::Flush, target))?;
    transport.complete_elsewhere(Some(target));
    flushed(calls, Call::Flush, Some(target));
    transport.flush_reached(target);
    Ok(())
}

/// `MPI_Win_flush_all`
pub(super) fn flush_all(calls: &Calls, transport: &Transport) -> Result<()> {
    let _call = calls.enter(Call::FlushAll);
    calls.handled(check(calls, Call::FlushAll, Rank::NULL))?;
    transport.complete_elsewhere(None);
    flushed(calls, Call::FlushAll, None);
    sync::flush_all();
    transport.ring_all();
    Ok(())
}

/// The operations on `target`, or on all, are complete there, in a checked job. Before the MEM_SYNC, because some take
/// effect only now.
pub(super) fn flushed(calls: &Calls, call: Call, target: Option<Rank>) {
    if target.is_none_or(|target| target.index() < calls.comm().ranks().len()) {
        let target = target.map(|target| target.0);
        calls.checked(|checker, window| window.flushed(checker, &calls.excluded(), call, target));
    }
}

/// They are complete in this process.
fn flushed_here(calls: &Calls, call: Call, target: Option<Rank>) {
    let target = target.map(|target| target.0);
    calls.checked(|checker, window| {
        window.flushed_here(checker, &calls.excluded(), call, target);
    });
}

/// `MPI_Win_flush_local`
pub(super) fn flush_local(calls: &Calls, target: Rank) -> Result<()> {
    let _call = calls.enter_operation(Call::FlushLocal, target, 0);
    calls.handled(check(calls, Call::FlushLocal, target))?;
    sync::flush_local();
    flushed_here(calls, Call::FlushLocal, Some(target));
    Ok(())
}

/// `MPI_Win_flush_local_all`
pub(super) fn flush_local_all(calls: &Calls) -> Result<()> {
    let _call = calls.enter(Call::FlushLocalAll);
    calls.handled(check(calls, Call::FlushLocalAll, Rank::NULL))?;
    sync::flush_local_all();
    flushed_here(calls, Call::FlushLocalAll, None);
    Ok(())
}

/// `MPI_Win_sync`
pub(super) fn sync(calls: &Calls, transport: &Transport) {
    let _call = calls.enter(Call::WinSync);
    sync::win_sync();
    transport.sync_elsewhere();
    calls.context().serve();
    // A rank that waits for a value by its own loads calls it between them.
    let waiter = calls.excluded();
    let synced = |checker: &Checker, window: &CheckedWindow| window.synced(checker, &waiter);
    calls.synchronising(None, Frequency::Often, synced);
    match calls.flavour() {
        // Its stores may have gone to any part.
        Flavour::Shared => transport.ring_all(),
        _ => transport.ring(calls.rank().0),
    }
}

/// Whether a flush of `target` is legal, or, for [`Rank::NULL`], of all targets.
#[inline]
fn check(calls: &Calls, call: Call, target: Rank) -> Result<()> {
    if target == Rank::NULL {
        return calls.allowed(call, Rank::NULL, calls.epochs.may_flush_all());
    }
    calls.check_rank(call, target)?;
    calls.allowed(call, target, calls.epochs.may_flush(target.0))
}

impl Transport {
    /// [`flush`] without a check: an operation on `target` has just been allowed under the same lock.
    #[inline(always)]
    pub(super) fn flush_reached(&self, target: Rank) {
        sync::flush();
        self.ring(target.0);
    }

    /// [`Transport::flush_reached`] directly after a read-modify-write of an element of the target.
    #[inline(always)]
    pub(super) fn flush_updated(&self, target: Rank) {
        sync::flush_beside();
        self.ring(target.0);
    }
}
