//! Why a call is refused: a number in the engine, a sentence for the user.
//!
//! A check returns a [`Refusal`], which fits in a register, so the fast path can ask the same checks as
//! all others. [`Calls::refused`](super::calls::Calls::refused) makes the error, in one cold place.

use super::grant::AccessState;
use crate::call::Call;
use std::result;

/// Why a call on a window is refused. A call that is refused has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Another thread of this rank waits in this call, on the same side of the window.
    Busy(Call),
    /// This process was forked from the rank.
    Forked,
    /// The window has no rank of that number.
    NoSuchRank,
    /// No epoch is open that the call would belong to.
    NoEpoch,
    /// The epoch that is open does not admit the call: one of fence;
    InFence,
    /// of fence, with operations;
    InUsedFence,
    /// of start;
    InStart,
    /// of lock;
    InLock,
    /// of lock_all.
    InLockAll,
    /// An operation needs an epoch, and none is open.
    NoAccess,
    /// The target is not in the group of the start.
    NotStarted,
    /// This rank holds no lock of the target.
    NotLocked,
    /// This rank does not hold lock_all.
    NotAllLocked,
    /// This rank holds a lock of the target already.
    Locked,
    /// Another thread of this rank waits for a lock of the target.
    LockAwaited,
    /// This rank's own part is exposed.
    Exposed,
    /// The same, and the lock is of that part.
    OwnPartExposed,
    /// The target has exposed its part.
    TargetExposed,
    /// This rank's own part is not exposed.
    NotExposed,
    /// This rank's own part is locked by itself;
    OwnPartLocked,
    /// by another rank.
    PartLocked,
    /// The hint `no_locks` is in force.
    NoLocks,
}

/// What a check gives.
pub(crate) type Check<R = ()> = result::Result<R, Refusal>;

impl Refusal {
    /// A call is not allowed in this state of the access side.
    pub(super) const fn in_state(access: AccessState) -> Refusal {
        match access {
            AccessState::None => Refusal::NoEpoch,
            AccessState::Fence => Refusal::InFence,
            AccessState::Started => Refusal::InStart,
            AccessState::Locked { .. } => Refusal::InLock,
            AccessState::LockedAll { .. } => Refusal::InLockAll,
        }
    }

    /// Why `call`, on `target` if it names one, is refused.
    pub(super) fn sentence(self, call: Call, target: u32) -> String {
        let during = |state| format!("{call} is not allowed while {state}");
        match self {
            Refusal::Busy(other) => {
                format!("another thread of this rank is in {other} on the window")
            }
            Refusal::Forked => "this process was forked from the rank".into(),
            Refusal::NoSuchRank => format!("the window has no rank {target}"),
            Refusal::NoEpoch => during("no epoch is open"),
            Refusal::InFence => during("a fence epoch is open"),
            Refusal::InUsedFence => {
                during("a fence epoch is open and operations were issued in it")
            }
            Refusal::InStart => during("an access epoch opened by start is open"),
            Refusal::InLock => during("a lock is held"),
            Refusal::InLockAll => during("lock_all is held"),
            Refusal::NoAccess => {
                "no access epoch is open; open one by fence, start, lock or lock_all".into()
            }
            Refusal::NotStarted => format!("rank {target} is not in the group given to start"),
            Refusal::NotLocked => format!("this rank holds no lock of rank {target}"),
            Refusal::NotAllLocked => "this rank does not hold lock_all".into(),
            Refusal::Locked => format!("this rank already holds a lock of rank {target}"),
            Refusal::LockAwaited => {
                format!("another thread of this rank waits for a lock of rank {target}")
            }
            Refusal::Exposed => format!("{call} is not allowed between post and wait"),
            Refusal::OwnPartExposed => {
                format!("{call} of the own part is not allowed between post and wait")
            }
            Refusal::TargetExposed => format!("rank {target} has exposed its part by post"),
            Refusal::NotExposed => format!("{call} needs a post before it"),
            Refusal::OwnPartLocked => during("this rank's own part is locked"),
            Refusal::PartLocked => during("another rank has locked this rank's part"),
            Refusal::NoLocks => {
                "the window was made, or told, to have no locks (info no_locks)".into()
            }
        }
    }
}
