//! Which calls of a rank's threads may be under way on a window at the same time.
//!
//! Calls that open, close or wait for an epoch share the state below. A mutex protects it for moments
//! only, never during a wait for another rank. A call that waits claims its side of the window instead,
//! and a second call on that side is refused (New RMA Design, "RMA + Threads": "All other interleaving
//! situations are invalid"). Calls that end an epoch claim nothing, so the holder of the epoch can always
//! end it.

use super::calls::Calls;
use super::posts::Pscw;
use super::refusal::{Check, Refusal};
use super::transport::Transport;
use crate::call::Call;
use crate::error::Result;
use crate::group::Rank;
use crate::shm::{BiasedGuard, BiasedMutex, is_forked};
use crate::sync::Round;

/// What only synchronising calls read and write.
#[derive(Default)]
pub(super) struct SyncState {
    pub(super) fence_round: Round,
    pub(super) pscw: Pscw,
    /// The call that waits on the access side, and on the exposure side.
    waiting: [Option<Call>; 2],
    /// Why locks take the slow path.
    slow_locks: u8,
}

/// Why locks take the slow path: a call waits on the access side, the hint `no_locks` is in force, another MPI locks.
const WAITING: u8 = 1;
pub(super) const NO_LOCKS: u8 = 2;
pub(super) const FOREIGN: u8 = 4;

/// The sides that a waiting call claims, as indices.
pub(super) type Sides = &'static [usize];
/// This rank as an origin.
pub(super) const ACCESS: Sides = &[0];
/// This rank as a target.
pub(super) const EXPOSURE: Sides = &[1];
/// A fence is about both.
pub(super) const BOTH: Sides = &[0, 1];

/// The part of a window that only synchronising calls touch.
pub(super) struct SyncParts {
    pub(super) state: BiasedMutex<SyncState>,
    pub(super) transport: Transport,
}

/// The parts that a synchronising call is given (MPI-4.1 §12.5): neither memory nor attributes.
#[derive(Clone, Copy)]
pub(super) struct Synchronization<'w> {
    pub(super) calls: &'w Calls,
    pub(super) parts: &'w SyncParts,
}

/// A call that waits, until it ends or gives up.
pub(super) struct Waiting<'w> {
    sync: Synchronization<'w>,
    sides: Sides,
}

impl<'w> Synchronization<'w> {
    #[inline(always)]
    pub(super) fn transport(self) -> &'w Transport {
        &self.parts.transport
    }

    /// The shared state, for a moment.
    #[inline(always)]
    pub(super) fn sync_state(self) -> BiasedGuard<'w, SyncState> {
        self.parts.state.lock()
    }

    /// Runs `f`, the fast path of `call`, if the mutex of the state is biased to this thread: whether it has completed the
    /// call. Otherwise it has changed nothing, and the slow path begins again.
    #[inline(always)]
    pub(super) fn try_alone(
        self,
        call: Call,
        target: Rank,
        f: impl FnOnce(&mut SyncState) -> Option<()>,
    ) -> bool {
        let in_call = self.calls.try_operation(call, target, 0);
        let done = self.parts.state.attempt_biased(f).is_some();
        if done {
            in_call.end()
        } else {
            in_call.begin_again()
        }
        done
    }

    /// Runs `f`, the first part of the slow path of `call`.
    pub(super) fn begin<R>(
        self,
        call: Call,
        target: Rank,
        f: impl FnOnce(&mut SyncState) -> Check<R>,
    ) -> Result<R> {
        let begun = if is_forked() { Err(Refusal::Forked) } else { f(&mut self.sync_state()) };
        self.calls.allowed(call, target, begun)
    }

    /// Claims the sides for `call`, which is going to wait.
    #[inline]
    pub(super) fn begin_waiting(
        self,
        state: &mut SyncState,
        call: Call,
        sides: Sides,
    ) -> Result<Waiting<'w>> {
        self.calls.allowed(call, Rank::NULL, state.may_wait(sides))?;
        state.wait(call, sides);
        Ok(self.waiting(sides))
    }

    /// The call of this thread that has claimed the sides by [`SyncState::wait`].
    #[inline]
    pub(super) fn waiting(self, sides: Sides) -> Waiting<'w> {
        Waiting { sync: self, sides }
    }
}

impl SyncState {
    /// That of a new window.
    pub(super) fn new(no_locks: bool, is_foreign: bool) -> SyncState {
        let mut state = SyncState::default();
        state.set_slow_locks(NO_LOCKS, no_locks);
        state.set_slow_locks(FOREIGN, is_foreign);
        state
    }

    /// Claims the sides for `call`, which may wait on them.
    #[inline]
    pub(super) fn wait(&mut self, call: Call, sides: Sides) {
        self.set_waiting(sides, Some(call));
    }

    fn waits_no_more(&mut self, sides: Sides) {
        self.set_waiting(sides, None);
    }

    #[inline]
    fn set_waiting(&mut self, sides: Sides, call: Option<Call>) {
        sides.iter().for_each(|side| self.waiting[*side] = call);
        self.set_slow_locks(WAITING, self.waiting[ACCESS[0]].is_some());
    }

    /// From now on locks take the slow path for that reason, or do so no longer.
    #[inline]
    pub(super) fn set_slow_locks(&mut self, reason: u8, is_so: bool) {
        self.slow_locks = self.slow_locks & !reason | if is_so { reason } else { 0 };
    }

    /// Whether locks take the fast path.
    #[inline(always)]
    pub(super) fn has_fast_locks(&self) -> bool {
        self.slow_locks == 0
    }

    /// Whether locks take the slow path for that reason.
    pub(super) fn has_slow_locks(&self, reason: u8) -> bool {
        self.slow_locks & reason != 0
    }

    /// Whether no other thread of this rank waits on one of the sides.
    #[inline(always)]
    pub(super) fn may_wait(&self, sides: Sides) -> Check {
        match sides.iter().find_map(|side| self.waiting[*side]) {
            None => Ok(()),
            Some(other) => Err(Refusal::Busy(other)),
        }
    }
}

impl Waiting<'_> {
    /// Ends the call with what has changed.
    #[inline]
    pub(super) fn end(mut self, change: impl FnOnce(&mut SyncState)) {
        let mut state = self.sync.sync_state();
        change(&mut state);
        state.waits_no_more(std::mem::take(&mut self.sides));
    }
}

impl Drop for Waiting<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.sides.is_empty() {
            self.sync.sync_state().waits_no_more(self.sides);
        }
    }
}
