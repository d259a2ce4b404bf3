//! The state word of a lock: holders, waiters, and the rules of admission.
//!
//! Per side: holders inside (14 bits), waiters in the queue (9 bits), waiters ever admitted, modulo
//! 2⁹ (9 bits). Transitions, each one compare-and-swap:
//!
//! ```text
//!   enter, no rank in the way    inside += 1
//!   queue                        ticket = admitted + waiting; waiting += 1; wait on the gate
//!   leave, not the last          inside -= 1
//!   leave, the last              inside -= 1; admit waiters: the other side's, or its own
//! ```
//!
//! On a side that is shared with itself, entering and leaving are additions, which never fail. A rank that
//! enters by one looks afterwards whether another was in its way, and leaves again. The last rank that
//! leaves by one admits waiters by a compare-and-swap of its own, unless a rank has entered meanwhile,
//! which does it later.

use crate::prim::{Fault, planted};

/// Most ranks that can share a lock: also the most ranks of a job.
pub const MAX_RANKS: u32 = 4096;

const INSIDE_BITS: u32 = 14;
const WAITING_BITS: u32 = 9;
const ADMITTED_BITS: u32 = 9;
const SIDE_BITS: u32 = INSIDE_BITS + WAITING_BITS + ADMITTED_BITS;
const INSIDE_MASK: u64 = (1 << INSIDE_BITS) - 1;
const WAITING_MASK: u64 = (1 << WAITING_BITS) - 1;
const ADMITTED_MASK: u64 = (1 << ADMITTED_BITS) - 1;
const WAITING_SHIFT: u32 = INSIDE_BITS;
const ADMITTED_SHIFT: u32 = INSIDE_BITS + WAITING_BITS;

/// Most holders of one side. The exclusive side of the window's lock is held at the same time by
/// the holders, one per target, and by the ranks that wait for a target, one per rank. Each rank may be
/// counted once more while it finds that another is in its way.
pub(super) const MOST_INSIDE: u32 = 2 * MAX_RANKS;

/// The bits of holders of which one is set from that number on.
const FULL: u64 = INSIDE_MASK & !(MOST_INSIDE as u64 - 1);

/// Most ranks that queue on one side at a time. Where the queue is full, a rank waits outside for a
/// place; the order of arrival holds in the queue alone.
const MOST_WAITING: u32 = 255;

const _: () = {
    assert!(SIDE_BITS == 32);
    assert!((MOST_INSIDE + MAX_RANKS) as u64 <= INSIDE_MASK && MOST_INSIDE.is_power_of_two());
    assert!(MOST_WAITING as u64 <= WAITING_MASK);
    // A ticket and the gate are never further apart than there are waiters.
    assert!(MOST_WAITING as u64 <= ADMITTED_MASK / 2);
};

/// Which side of the lock, and how the right side of this lock is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockSide {
    /// Shared with itself; against `RightExclusive`.
    Left,
    /// Shared with itself; against `RightShared`.
    LeftOfShared,
    /// Excludes `Left`; one holder at a time.
    RightExclusive,
    /// Excludes `LeftOfShared`; shared with itself.
    RightShared,
}

/// Whether an entering rank queues behind ranks of the other side that only wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// Fair: behind every rank that came before.
    Fair,
    /// Behind holders only: for a rank that already holds a lock of the window, because waiters
    /// may be waiting for that lock (README, invariant 7).
    HoldersOnly,
}

/// A value of the state word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct LockState(pub(super) u64);

impl LockSide {
    pub(super) fn index(self) -> u32 {
        u32::from(matches!(self, LockSide::RightExclusive | LockSide::RightShared))
    }
    pub(super) fn other(self) -> u32 {
        1 - self.index()
    }
    /// Whether the right side of this lock has one holder at a time.
    pub(super) fn right_is_exclusive(self) -> bool {
        matches!(self, LockSide::Left | LockSide::RightExclusive)
    }
}

impl LockState {
    #[inline]
    fn field(self, side: u32, shift: u32, mask: u64) -> u32 {
        ((self.0 >> (side * SIDE_BITS + shift)) & mask) as u32
    }
    #[inline]
    pub(super) fn inside(self, side: u32) -> u32 {
        self.field(side, 0, INSIDE_MASK)
    }
    #[inline]
    pub(super) fn waiting(self, side: u32) -> u32 {
        self.field(side, WAITING_SHIFT, WAITING_MASK)
    }
    pub(super) fn admitted(self, side: u32) -> u32 {
        self.field(side, ADMITTED_SHIFT, ADMITTED_MASK)
    }
    #[inline]
    pub(super) fn with_inside(self, side: u32, by: i32) -> LockState {
        LockState(self.0.wrapping_add_signed(i64::from(by) << (side * SIDE_BITS)))
    }
    pub(super) fn with_waiter(self, side: u32) -> LockState {
        LockState(self.0 + (1 << (side * SIDE_BITS + WAITING_SHIFT)))
    }

    /// Moves `n` waiters of `side` inside.
    pub(super) fn admit(self, side: u32, n: u32) -> LockState {
        let admitted = (u64::from(self.admitted(side)) + u64::from(n)) & ADMITTED_MASK;
        let shift = side * SIDE_BITS;
        let cleared = self.0 & !(ADMITTED_MASK << (shift + ADMITTED_SHIFT));
        let moved = cleared - (u64::from(n) << (shift + WAITING_SHIFT)) + (u64::from(n) << shift);
        LockState(moved | (admitted << (shift + ADMITTED_SHIFT)))
    }

    /// Whether `side` may enter now.
    #[inline(always)]
    pub(super) fn is_open(self, side: LockSide, queueing: Queueing) -> bool {
        self.0 & LockState::closing(side, queueing) == 0
    }

    /// The bits of which none is set where `side` may enter: one test for all reasons.
    #[inline(always)]
    fn closing(side: LockSide, queueing: Queueing) -> u64 {
        let blind = match side {
            LockSide::Left | LockSide::LeftOfShared => planted(Fault::ReaderIgnoresWriter),
            _ => planted(Fault::WriterIgnoresReaders),
        };
        let (own, other) = (side.index() * SIDE_BITS, side.other() * SIDE_BITS);
        let waiting = WAITING_MASK << WAITING_SHIFT;
        let mut bits = FULL << own;
        if !blind {
            bits |= INSIDE_MASK << other;
            if queueing == Queueing::Fair || planted(Fault::NestedQueues) {
                bits |= waiting << other;
            }
        }
        if side == LockSide::RightExclusive {
            bits |= (INSIDE_MASK | waiting) << own;
        }
        bits
    }

    /// Whether a holder, not only waiters, excludes `side`.
    pub(super) fn is_held_against(self, side: LockSide) -> bool {
        self.excludes(side.index(), side.right_is_exclusive())
    }

    /// [`LockState::is_held_against`] for the side of that index.
    pub(super) fn excludes(self, side: u32, right_is_exclusive: bool) -> bool {
        self.inside(1 - side) != 0 || side == 1 && right_is_exclusive && self.inside(1) != 0
    }

    /// Whether the queue has a place for one more rank.
    pub(super) fn has_place(self, side: LockSide) -> bool {
        self.waiting(side.index()) < MOST_WAITING
    }

    /// Whether a rank queues on either side.
    #[inline]
    pub(super) fn has_waiters(self) -> bool {
        self.waiting(0) != 0 || self.waiting(1) != 0
    }

    /// The waiters that the last holder of `side` admits: their side and number.
    pub(super) fn next(self, side: LockSide) -> Option<(u32, u32)> {
        let (own, other) = (side.index(), side.other());
        let right_is_exclusive = side.right_is_exclusive();
        let side = if self.waiting(other) != 0 { other } else { own };
        let waiting = self.waiting(side);
        let most = if side == 1 && right_is_exclusive {
            1 + u32::from(planted(Fault::GrantTwo))
        } else {
            waiting
        };
        let n = waiting.min(most);
        (n != 0 && !planted(Fault::GrantForgotten)).then_some((side, n))
    }
}

/// Whether a gate that counts `admitted` has passed `ticket`, both modulo 2⁹.
pub(super) fn has_passed(admitted: u32, ticket: u32) -> bool {
    let ahead = u64::from(admitted.wrapping_sub(ticket)) & ADMITTED_MASK;
    ahead != 0 && ahead <= ADMITTED_MASK / 2
}

#[cfg(all(test, not(any(loom, simulated))))]
mod tests {
    use super::*;

    #[test]
    fn admitting_moves_waiters_inside_and_wraps_the_count() {
        let mut state = LockState(0);
        for _ in 0..3 {
            state = state.with_waiter(1);
        }
        for round in 0..ADMITTED_MASK as u32 + 5 {
            let one = state.admit(1, 1);
            assert_eq!((one.inside(1), one.waiting(1)), (1, 2));
            assert_eq!(one.admitted(1), (round + 1) & ADMITTED_MASK as u32);
            assert_eq!((one.inside(0), one.waiting(0), one.admitted(0)), (0, 0, 0));
            state = one.with_inside(1, -1).with_waiter(1);
        }
    }

    #[test]
    fn a_gate_passes_tickets_across_the_wrap() {
        for ticket in [0, 5, 510, 511] {
            assert!(!has_passed(ticket, ticket));
            assert!(has_passed(ticket + 1, ticket));
            assert!(has_passed(ticket + MOST_WAITING, ticket));
            assert!(!has_passed(ticket.wrapping_sub(MOST_WAITING), ticket));
        }
    }
}
