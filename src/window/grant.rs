//! What this rank may access: the values of the words that [`super::state`] keeps.

use crate::sync::LockType;

/// The access side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessState {
    None,
    Started,
    Locked,
    Fence,
    LockedAll { nocheck: bool },
}

/// What this rank may do with one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grant {
    None,
    /// A thread of this rank waits for a lock of it: no operation is allowed yet.
    Awaited,
    Started,
    Locked {
        held: LockType,
        nocheck: bool,
    },
}

impl AccessState {
    /// From this word on an operation on any rank is allowed.
    pub(super) const OPEN: u32 = AccessState::Fence.word();
    /// From this word on lock_all is held.
    pub(super) const ALL: u32 = AccessState::LockedAll { nocheck: false }.word();

    pub(super) const fn word(self) -> u32 {
        match self {
            AccessState::None => 0,
            AccessState::Started => 1,
            AccessState::Locked => 2,
            AccessState::Fence => 3,
            AccessState::LockedAll { nocheck } => 4 + nocheck as u32,
        }
    }

    #[inline]
    pub(super) fn of(word: u32) -> AccessState {
        match word {
            0 => AccessState::None,
            1 => AccessState::Started,
            2 => AccessState::Locked,
            3 => AccessState::Fence,
            _ => AccessState::LockedAll { nocheck: word == 5 },
        }
    }

    /// Whether operations need a grant of their target.
    #[inline(always)]
    pub(super) fn is_by_target(word: u32) -> bool {
        (AccessState::Started.word()..=AccessState::Locked.word()).contains(&word)
    }
}

impl Grant {
    /// Words above this one let operations pass.
    pub(super) const AWAITED: u32 = 1;
    const HELD: u32 = 3;

    pub(super) fn word(self) -> u32 {
        match self {
            Grant::None => 0,
            Grant::Awaited => Grant::AWAITED,
            Grant::Started => 2,
            Grant::Locked { held, nocheck } => {
                Grant::HELD + 2 * u32::from(nocheck) + u32::from(held == LockType::Exclusive)
            }
        }
    }

    #[inline]
    pub(super) fn of(word: u32) -> Grant {
        match word.checked_sub(Grant::HELD) {
            None if word == 0 => Grant::None,
            None if word == Grant::AWAITED => Grant::Awaited,
            None => Grant::Started,
            Some(lock) => {
                let held = if lock & 1 == 0 { LockType::Shared } else { LockType::Exclusive };
                Grant::Locked { held, nocheck: lock & 2 != 0 }
            }
        }
    }
}
