//! What this rank may access: the values of the words that [`super::state`] keeps.

use crate::prim::Word32;
use crate::sync::LockType;

/// The access side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessState {
    None,
    Started,
    /// With that many locks, those included that a thread waits for. Without one, it is `None`.
    Locked {
        locks: u32,
    },
    Fence,
    LockedAll {
        nocheck: bool,
    },
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

    /// Larger than the words of locks, which are their number.
    const STARTED: u32 = u32::MAX >> 1;

    pub(super) const fn word(self) -> u32 {
        match self {
            AccessState::None => 0,
            AccessState::Locked { locks } => locks,
            AccessState::Started => Self::STARTED,
            AccessState::Fence => Self::STARTED + 1,
            AccessState::LockedAll { nocheck } => Self::STARTED + 2 + nocheck as u32,
        }
    }

    /// How many locks this rank has.
    #[inline(always)]
    pub(super) fn locks(self) -> u32 {
        if let AccessState::Locked { locks } = self { locks } else { 0 }
    }

    /// The word with one lock less.
    #[inline(always)]
    pub(super) fn with_one_less(word: u32) -> u32 {
        let locks = word.wrapping_sub(1);
        if locks < Self::STARTED - 1 { locks } else { AccessState::None.word() }
    }

    #[inline(always)]
    pub(super) fn of(word: u32) -> AccessState {
        match word {
            0 => AccessState::None,
            1..Self::STARTED => AccessState::Locked { locks: word },
            Self::STARTED => AccessState::Started,
            Self::OPEN => AccessState::Fence,
            _ => AccessState::LockedAll { nocheck: word != Self::ALL },
        }
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

    /// Whether a word is that of a lock.
    #[inline(always)]
    pub(super) fn is_lock(word: &Word32) -> bool {
        word.load() >= Grant::HELD
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
