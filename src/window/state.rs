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
//! On the exposure side it is exposed (from post to wait) or not. Each check returns the problem
//! as a sentence; a refused call has changed nothing.

use super::grant::{Access, Grant};
use crate::prim::Word32;
use crate::sync::{Held, Queueing};

type Check = Result<(), String>;

/// This rank's epochs on one window.
///
/// Words, because any thread of the rank may issue operations while one synchronises. Who writes
/// them holds the window's turn (`Win::turn`); operations change `access` alone, and there only
/// whether the fence epoch that is open has been used.
pub(crate) struct Epochs {
    access: Word32,
    grants: Box<[Word32]>,
    locks: Word32,
    /// The number of origins of the open exposure epoch plus one; zero for "none is open".
    exposed_to: Word32,
}

impl Epochs {
    pub(crate) fn new(ranks: u32) -> Epochs {
        Epochs {
            access: Word32::default(),
            grants: (0..ranks).map(|_| Word32::default()).collect(),
            locks: Word32::default(),
            exposed_to: Word32::default(),
        }
    }

    #[inline]
    pub(crate) fn access(&self) -> Access {
        Access::of(self.access.load())
    }

    #[inline]
    fn set_access(&self, access: Access) {
        self.access.store(access.word());
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

    /// Whether an operation was issued since the last fence.
    pub(crate) fn is_used(&self) -> bool {
        self.access() == Access::Fence { used: true }
    }

    fn problem(&self, call: &str) -> Check {
        let state = self.access().phrase();
        let used = if self.is_used() { " and operations were issued in it" } else { "" };
        Err(format!("{call} is not allowed while {state}{used}"))
    }

    /// Whether an access epoch of another kind may be opened: a fence epoch in which nothing was
    /// issued turns out to have been none (MPI-2.2 §11.4.1).
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.access(), Access::None | Access::Fence { used: false })
    }

    fn may_begin(&self, call: &str) -> Check {
        if self.is_idle() { Ok(()) } else { self.problem(call) }
    }

    fn may_be_hidden(&self, call: &str) -> Check {
        match self.is_exposed() {
            false => Ok(()),
            true => Err(format!("{call} is not allowed between post and wait")),
        }
    }

    // The table, call by call.

    pub(crate) fn may_fence(&self) -> Check {
        if !matches!(self.access(), Access::None | Access::Fence { .. }) {
            return self.problem("fence");
        }
        self.may_be_hidden("fence")
    }

    pub(crate) fn may_start(&self) -> Check {
        self.may_begin("start")
    }

    pub(crate) fn may_complete(&self) -> Check {
        if self.access() == Access::Started { Ok(()) } else { self.problem("complete") }
    }

    pub(crate) fn may_post(&self, own: u32) -> Check {
        self.may_be_hidden("post")?;
        if self.is_used() {
            return self.problem("post");
        }
        match (self.access(), self.grant(own)) {
            (Access::LockedAll { .. }, _) | (_, Grant::Locked { .. } | Grant::Awaited) => {
                Err("post is not allowed while this rank's own part is locked".into())
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn may_wait(&self, call: &str) -> Result<u32, String> {
        let origins = self.exposed_to.load().checked_sub(1);
        origins.ok_or_else(|| format!("{call} needs a post before it"))
    }

    pub(crate) fn may_lock(&self, target: u32, own: u32) -> Check {
        if !self.is_idle() && self.access() != Access::Locked {
            return self.problem("lock");
        }
        let waits = "another thread of this rank waits for a lock of rank";
        match self.grant(target) {
            Grant::Locked { .. } => Err(format!("this rank already holds a lock of rank {target}")),
            Grant::Awaited => Err(format!("{waits} {target}")),
            _ if target == own => self.may_be_hidden("lock of the own part"),
            _ => Ok(()),
        }
    }

    pub(crate) fn may_unlock(&self, target: u32) -> Result<(Held, bool), String> {
        match self.grant(target) {
            Grant::Locked { held, nocheck } => Ok((held, nocheck)),
            _ => Err(format!("this rank holds no lock of rank {target}")),
        }
    }

    pub(crate) fn may_lock_all(&self) -> Check {
        self.may_begin("lock_all")?;
        self.may_be_hidden("lock_all")
    }

    pub(crate) fn may_unlock_all(&self) -> Result<bool, String> {
        match self.access() {
            Access::LockedAll { nocheck } => Ok(nocheck),
            _ => Err("this rank does not hold lock_all".into()),
        }
    }

    pub(crate) fn may_flush(&self, target: u32) -> Check {
        match (self.access(), self.grant(target)) {
            (Access::LockedAll { .. }, _) | (Access::Locked, Grant::Locked { .. }) => Ok(()),
            (Access::Locked, _) => Err(format!("this rank holds no lock of rank {target}")),
            _ => self.problem("flush"),
        }
    }

    pub(crate) fn may_flush_all(&self, call: &str) -> Check {
        match self.access() {
            Access::LockedAll { .. } | Access::Locked => Ok(()),
            _ => self.problem(call),
        }
    }

    /// Whether lock_all is held: the hot path of a flush.
    #[inline(always)]
    pub(crate) fn is_all_locked(&self) -> bool {
        self.access.load() >= Access::ALL
    }

    /// Whether an operation on `target`, a rank of the window, is allowed, and nothing has to be
    /// noted of it: the hot path. The first one of a fence epoch goes by [`Epochs::reaches`].
    #[inline(always)]
    pub(crate) fn passes(&self, target: u32) -> bool {
        let access = self.access.load();
        access >= Access::OPEN || Access::is_by_target(access) && self.is_granted(target)
    }

    /// Whether an operation on `target`, a rank of the window, is allowed.
    #[inline]
    pub(crate) fn reaches(&self, target: u32) -> bool {
        match self.access() {
            Access::None => false,
            Access::Started | Access::Locked => self.is_granted(target),
            Access::Fence { .. } | Access::LockedAll { .. } => true,
        }
    }

    #[inline(always)]
    fn is_granted(&self, target: u32) -> bool {
        self.grants.get(target as usize).is_some_and(|grant| grant.load() > Grant::AWAITED)
    }

    /// As [`Epochs::reaches`], with the problem where it is not.
    pub(crate) fn may_operate(&self, target: u32) -> Check {
        if self.reaches(target) { Ok(()) } else { self.no_access(target) }
    }

    /// An operation on MPI_PROC_NULL needs an access epoch like any other.
    pub(crate) fn may_operate_on_none(&self) -> Check {
        match self.access() {
            Access::None => self.no_access(0),
            _ => Ok(()),
        }
    }

    #[cold]
    fn no_access(&self, target: u32) -> Check {
        Err(match self.access() {
            Access::Started => format!("rank {target} is not in the group given to start"),
            Access::Locked => format!("this rank holds no lock of rank {target}"),
            _ => "no access epoch is open; open one by fence, start, lock or lock_all".into(),
        })
    }

    pub(crate) fn may_free(&self) -> Check {
        self.may_begin("free")?;
        self.may_be_hidden("free")
    }

    // The transitions.

    /// An operation has passed every check; it counts in a fence epoch.
    #[inline]
    pub(crate) fn operated(&self) {
        let [unused, used] = [false, true].map(|used| Access::Fence { used }.word());
        if self.access.load() == unused {
            // Where another thread has closed the epoch meanwhile, there is nothing to note.
            let _ = self.access.compare_exchange(unused, used);
        }
    }

    pub(crate) fn fenced(&self, opens: bool) {
        self.set_access(if opens { Access::Fence { used: false } } else { Access::None });
    }

    pub(crate) fn started(&self, targets: &[u32]) {
        targets.iter().for_each(|target| self.set_grant(*target, Grant::Started));
        self.set_access(Access::Started);
    }

    /// Closes the access epoch opened by start on those targets.
    pub(crate) fn completed(&self, targets: &[u32]) {
        self.set_access(Access::None);
        targets.iter().for_each(|target| self.set_grant(*target, Grant::None));
    }

    pub(crate) fn posted(&self, origins: u32) {
        self.exposed_to.store(origins + 1);
    }

    pub(crate) fn waited(&self) {
        self.exposed_to.store(0);
    }

    /// A thread begins to wait for a lock, which counts from now on.
    #[inline]
    pub(crate) fn awaits_lock(&self, target: u32) {
        self.set_access(Access::Locked);
        self.set_grant(target, Grant::Awaited);
        self.locks.store(self.locks.load() + 1);
    }

    /// How a lock that is asked for now queues.
    #[inline]
    pub(super) fn queueing(&self) -> Queueing {
        if self.locks.load() == 0 { Queueing::Fair } else { Queueing::HoldersOnly }
    }

    #[inline]
    pub(crate) fn locked(&self, target: u32, held: Held, nocheck: bool) {
        self.set_grant(target, Grant::Locked { held, nocheck });
    }

    /// A lock is held, or waited for, no longer.
    #[inline]
    pub(crate) fn unlocked(&self, target: u32) {
        self.set_grant(target, Grant::None);
        self.locks.store(self.locks.load() - 1);
        if self.locks.load() == 0 {
            self.set_access(Access::None);
        }
    }

    pub(crate) fn locked_all(&self, nocheck: bool) {
        self.set_access(Access::LockedAll { nocheck });
    }

    pub(crate) fn unlocked_all(&self) {
        self.set_access(Access::None);
    }

    /// Whatever was open is not any more.
    pub(crate) fn close_all(&self) {
        self.set_access(Access::None);
        let words = [&self.locks, &self.exposed_to];
        words.into_iter().for_each(|word| word.store(0));
        (0..self.grants.len()).for_each(|rank| self.set_grant(rank as u32, Grant::None));
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
