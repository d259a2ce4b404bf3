//! What this rank may access: the values of the words that [`super::state`] keeps.

use crate::sync::Held;

/// The access side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
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
    /// A thread of this rank waits for a lock of it: not yet anything.
    Awaited,
    Started,
    Locked {
        held: Held,
        nocheck: bool,
    },
}

impl Access {
    /// From this word on an operation on any rank is allowed.
    pub(super) const OPEN: u32 = Access::Fence.word();
    /// From this word on lock_all is held.
    pub(super) const ALL: u32 = Access::LockedAll { nocheck: false }.word();

    pub(super) const fn word(self) -> u32 {
        match self {
            Access::None => 0,
            Access::Started => 1,
            Access::Locked => 2,
            Access::Fence => 3,
            Access::LockedAll { nocheck } => 4 + nocheck as u32,
        }
    }

    #[inline]
    pub(super) fn of(word: u32) -> Access {
        match word {
            0 => Access::None,
            1 => Access::Started,
            2 => Access::Locked,
            3 => Access::Fence,
            _ => Access::LockedAll { nocheck: word == 5 },
        }
    }

    /// Whether operations need a grant of their target.
    #[inline(always)]
    pub(super) fn is_by_target(word: u32) -> bool {
        (Access::Started.word()..=Access::Locked.word()).contains(&word)
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
                Grant::HELD + 2 * u32::from(nocheck) + u32::from(held == Held::Exclusive)
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
                let held = if lock & 1 == 0 { Held::Shared } else { Held::Exclusive };
                Grant::Locked { held, nocheck: lock & 2 != 0 }
            }
        }
    }
}
