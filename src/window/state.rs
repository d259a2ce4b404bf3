//! Which call is legal in which epoch: the one table (New RMA Design, "Epoch States").
//!
//! The access side and the exposure side of a window are independent. On the access side a rank
//! is in exactly one of these states:
//!
//! | state | opened by | allowed next |
//! | --- | --- | --- |
//! | `None` | – | fence, start, lock, lock_all, free |
//! | `Fence` | fence | operations on any target, fence; with no operation yet also what `None` allows |
//! | `Started` | start | operations on the group's targets, complete |
//! | `Locked` | lock | operations and flush on locked targets, further locks, unlock |
//! | `LockedAll` | lock_all | operations and flush on any target, unlock_all |
//!
//! On the exposure side it is exposed (from post to wait) or not. Each check returns a [`Refusal`] if the
//! call is illegal; a refused call has changed nothing.

use super::grant::{AccessState, Grant};
use super::refusal::{Check, Refusal};
use crate::prim::{Word32, cold_call};
use crate::sync::LockType;

/// This rank's epochs on one window.
///
/// Words, because any thread of the rank may issue operations while another synchronises. Only a thread
/// that holds the state's mutex writes them; operations write `used` alone.
pub(crate) struct Epochs {
    access: Word32,
    /// 1 if an operation was issued since the last fence.
    used: Word32,
    grants: Box<[Word32]>,
    /// The number of origins of the open exposure epoch plus one; zero for "none is open".
    exposed_to: Word32,
}

impl Epochs {
    pub(crate) fn new(ranks: u32) -> Epochs {
        Epochs {
            access: Word32::default(),
            used: Word32::default(),
            grants: (0..ranks).map(|_| Word32::default()).collect(),
            exposed_to: Word32::default(),
        }
    }

    #[inline]
    pub(crate) fn access(&self) -> AccessState {
        AccessState::of(self.access.load())
    }

    #[inline]
    fn set_access(&self, access: AccessState) {
        self.access.store(access.word());
    }

    /// The word of what this rank may do with that one.
    #[inline(always)]
    pub(super) fn grant_of(&self, rank: u32) -> Check<&Word32> {
        self.grants.get(rank as usize).ok_or(Refusal::NoSuchRank)
    }

    #[inline]
    pub(super) fn grant(&self, rank: u32) -> Grant {
        Grant::of(self.grants[rank as usize].load())
    }

    #[inline]
    fn set_grant(&self, rank: u32, grant: Grant) {
        self.grants[rank as usize].store(grant.word());
    }

    #[inline]
    pub(super) fn is_exposed(&self) -> bool {
        self.exposed_to.load() != 0
    }

    /// Whether a fence epoch is open.
    #[inline(always)]
    pub(super) fn is_in_fence(&self) -> bool {
        self.access.load() == AccessState::OPEN
    }

    /// Whether a fence epoch is open in which an operation was issued.
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        self.is_in_fence() && self.used.load() != 0
    }

    /// Why a call is refused that the access side does not admit.
    #[cold]
    fn refusal(&self) -> Refusal {
        if self.is_used() { Refusal::InUsedFence } else { Refusal::in_state(self.access()) }
    }

    /// Whether an access epoch of another kind may be opened: a fence epoch without operations was none
    /// (MPI-2.2 §11.4.1).
    #[inline]
    fn is_idle(&self) -> bool {
        match self.access() {
            AccessState::None => true,
            AccessState::Fence => self.used.load() == 0,
            _ => false,
        }
    }

    #[inline]
    fn may_begin(&self) -> Check {
        if self.is_idle() { Ok(()) } else { Err(cold_call(move || self.refusal())) }
    }

    #[inline]
    fn may_be_hidden(&self, otherwise: Refusal) -> Check {
        if self.is_exposed() { Err(otherwise) } else { Ok(()) }
    }

    // The table, call by call.

    #[inline]
    pub(crate) fn may_fence(&self) -> Check {
        if !matches!(self.access(), AccessState::None | AccessState::Fence) {
            return Err(self.refusal());
        }
        self.may_be_hidden(Refusal::Exposed)
    }

    #[inline]
    pub(crate) fn may_start(&self) -> Check {
        self.may_begin()
    }

    #[inline]
    pub(crate) fn may_complete(&self) -> Check {
        if self.access() == AccessState::Started { Ok(()) } else { Err(self.refusal()) }
    }

    #[inline]
    pub(crate) fn may_post(&self, own: u32) -> Check {
        self.may_be_hidden(Refusal::Exposed)?;
        if self.is_used() {
            return Err(Refusal::InUsedFence);
        }
        match (self.access(), self.grant(own)) {
            (AccessState::LockedAll { .. }, _) | (_, Grant::Locked { .. } | Grant::Awaited) => {
                Err(Refusal::OwnPartLocked)
            }
            _ => Ok(()),
        }
    }

    /// The number of origins to wait for.
    #[inline]
    pub(crate) fn may_wait(&self) -> Check<u32> {
        self.exposed_to.load().checked_sub(1).ok_or(Refusal::NotExposed)
    }

    /// Whether no access epoch is open.
    #[inline(always)]
    pub(super) fn has_no_access(&self) -> bool {
        self.access.load() == AccessState::None.word()
    }

    /// Whether the access side allows a lock, and its state.
    pub(crate) fn may_lock(&self) -> Check<AccessState> {
        let before = self.access();
        if !matches!(before, AccessState::None | AccessState::Locked { .. }) {
            self.may_begin()?;
        }
        Ok(before)
    }

    /// Where [`Epochs::may_lock`] allows a lock: whether this rank may lock the target of the grant.
    #[inline(always)]
    pub(crate) fn may_lock_target(&self, grant: &Word32) -> Check {
        match grant.load() {
            word if word == Grant::None.word() => Ok(()),
            Grant::AWAITED => Err(Refusal::LockAwaited),
            _ => Err(Refusal::Locked),
        }
    }

    /// How the lock is held, and whether by NOCHECK.
    #[inline]
    pub(crate) fn may_unlock(&self, grant: &Word32) -> Check<(LockType, bool)> {
        match Grant::of(grant.load()) {
            Grant::Locked { held, nocheck } => Ok((held, nocheck)),
            _ => Err(Refusal::NotLocked),
        }
    }

    #[inline]
    pub(crate) fn may_lock_all(&self) -> Check {
        self.may_begin()?;
        self.may_be_hidden(Refusal::Exposed)
    }

    /// Whether lock_all is held by NOCHECK.
    #[inline]
    pub(crate) fn may_unlock_all(&self) -> Check<bool> {
        match self.access() {
            AccessState::LockedAll { nocheck } => Ok(nocheck),
            _ => Err(Refusal::NotAllLocked),
        }
    }

    /// Whether this rank has locked the target, or all: [`Epochs::may_flush`] without a reason.
    #[inline(always)]
    pub(crate) fn is_locked(&self, target: u32) -> bool {
        let is_alone = || self.grants.get(target as usize).is_some_and(Grant::is_lock);
        self.access.load() >= AccessState::ALL || is_alone()
    }

    pub(crate) fn may_flush(&self, target: u32) -> Check {
        match self.access() {
            _ if self.is_locked(target) => Ok(()),
            AccessState::Locked { .. } => Err(Refusal::NotLocked),
            _ => Err(self.refusal()),
        }
    }

    #[inline]
    pub(crate) fn may_flush_all(&self) -> Check {
        match self.access() {
            AccessState::LockedAll { .. } | AccessState::Locked { .. } => Ok(()),
            _ => Err(self.refusal()),
        }
    }

    /// Whether [`Epochs::may_operate`] allows it: the hot path of every operation.
    #[inline(always)]
    pub(crate) fn reaches(&self, target: u32) -> bool {
        let access = self.access.load();
        access >= AccessState::OPEN || access != 0 && self.is_granted(target)
    }

    #[inline(always)]
    fn is_granted(&self, target: u32) -> bool {
        self.grants.get(target as usize).is_some_and(|grant| grant.load() > Grant::AWAITED)
    }

    /// Whether an operation on `target`, a rank of the window, is allowed.
    #[inline(always)]
    pub(crate) fn may_operate(&self, target: u32) -> Check {
        if self.reaches(target) { Ok(()) } else { Err(self.no_access()) }
    }

    /// An operation on MPI_PROC_NULL needs an access epoch like any other.
    pub(crate) fn may_operate_on_none(&self) -> Check {
        match self.access() {
            AccessState::None => Err(Refusal::NoAccess),
            _ => Ok(()),
        }
    }

    #[cold]
    fn no_access(&self) -> Refusal {
        match self.access() {
            AccessState::Started => Refusal::NotStarted,
            AccessState::Locked { .. } => Refusal::NotLocked,
            _ => Refusal::NoAccess,
        }
    }

    /// The ranks whose locks this rank holds, the first few: for a refusal.
    pub(super) fn locked_ranks(&self) -> Vec<usize> {
        let locked = |rank: &usize| matches!(self.grant(*rank as u32), Grant::Locked { .. });
        (0..self.grants.len()).filter(locked).take(8).collect()
    }

    pub(crate) fn may_free(&self) -> Check {
        self.may_begin()?;
        self.may_be_hidden(Refusal::Exposed)
    }

    // The transitions.

    /// An operation has passed every check: it counts, if a fence epoch is open.
    #[inline(always)]
    pub(crate) fn operated(&self) {
        self.used.store(1);
    }

    #[inline]
    pub(crate) fn fenced(&self, opens: bool) {
        self.used.store(0);
        self.set_access(if opens { AccessState::Fence } else { AccessState::None });
    }

    #[inline]
    pub(crate) fn started(&self, targets: &[u32]) {
        targets.iter().for_each(|target| self.set_grant(*target, Grant::Started));
        self.set_access(AccessState::Started);
    }

    /// Closes the access epoch opened by start on those targets.
    #[inline]
    pub(crate) fn completed(&self, targets: &[u32]) {
        self.set_access(AccessState::None);
        targets.iter().for_each(|target| self.set_grant(*target, Grant::None));
    }

    #[inline]
    pub(crate) fn posted(&self, origins: u32) {
        self.exposed_to.store(origins + 1);
    }

    #[inline]
    pub(crate) fn waited(&self) {
        self.exposed_to.store(0);
    }

    /// One more lock is held, or a thread begins to wait for it: it counts from now on. `before` is the state of the access side.
    #[inline(always)]
    pub(crate) fn takes_lock(&self, before: AccessState, grant: &Word32, now: Grant) {
        self.set_access(AccessState::Locked { locks: before.locks() + 1 });
        grant.store(now.word());
    }

    /// A lock that was waited for is held.
    pub(crate) fn locked(&self, grant: &Word32, held: LockType) {
        grant.store(Grant::Locked { held, nocheck: false }.word());
    }

    /// A lock is held, or waited for, no longer.
    #[inline(always)]
    pub(crate) fn unlocked(&self, grant: &Word32) {
        grant.store(Grant::None.word());
        self.access.store(AccessState::with_one_less(self.access.load()));
    }

    #[inline]
    pub(crate) fn locked_all(&self, nocheck: bool) {
        self.set_access(AccessState::LockedAll { nocheck });
    }

    #[inline]
    pub(crate) fn unlocked_all(&self) {
        self.set_access(AccessState::None);
    }

    /// Whatever was open is not any more.
    pub(crate) fn close_all(&self) {
        self.set_access(AccessState::None);
        self.exposed_to.store(0);
        (0..self.grants.len()).for_each(|rank| self.set_grant(rank as u32, Grant::None));
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
