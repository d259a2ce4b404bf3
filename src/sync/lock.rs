//! A two-sided lock: fair, sleeping, owned, held without any help from the target.
//!
//! Holders of one side keep holders of the other out. The `Left` side is always shared with
//! itself; the `Right` side is exclusive or shared, as the caller says:
//!
//! | use | left | right |
//! | --- | --- | --- |
//! | a target's lock | shared lockers | one exclusive locker |
//! | the window's `lock_all` | `lock_all` holders | exclusive lockers of any target |
//! | mutual exclusion (accumulate, allocator) | – | one holder |
//!
//! The state word (`State`), per side: holders inside (11 bits), waiters (10 bits), waiters ever
//! admitted, modulo 2¹¹ (11 bits). Transitions, each one compare-and-swap:
//!
//! ```text
//!   enter, nobody in the way     inside += 1
//!   enter, otherwise             ticket = admitted + waiting; waiting += 1; wait on the gate
//!   leave, not the last          inside -= 1
//!   leave, the last              inside -= 1; admit the other side's waiters, else one's own
//! ```
//!
//! A waiter may go on when its side's gate, which counts admissions, has passed its ticket.
//! A waiter that is overdue and finds no holder in its way, only waiters, admits its own side.
//! Whoever admits has put the admitted inside by the same compare-and-swap, so nobody can slip in
//! between, and a later rank can never see the lock free while an admitted one is on its way.

use super::Line;
use crate::prim::{Fault, JobFailed, ParkWord, Site, Waiter, Word32, Word64, mem_sync, planted};

/// Most ranks that can share a lock: also the most ranks of a job.
pub const MAX_RANKS: u32 = 1000;

const INSIDE_BITS: u32 = 11;
const WAITING_BITS: u32 = 10;
const ADMITTED_BITS: u32 = 11;
const SIDE_BITS: u32 = INSIDE_BITS + WAITING_BITS + ADMITTED_BITS;
const INSIDE_MASK: u64 = (1 << INSIDE_BITS) - 1;
const WAITING_MASK: u64 = (1 << WAITING_BITS) - 1;
const ADMITTED_MASK: u64 = (1 << ADMITTED_BITS) - 1;
const WAITING_SHIFT: u32 = INSIDE_BITS;
const ADMITTED_SHIFT: u32 = INSIDE_BITS + WAITING_BITS;

/// Most holders of one side. In the window's room of exclusive lockers there are at once the
/// holders, one per target, and those who wait for a target, one per rank.
const MOST_INSIDE: u32 = 2 * MAX_RANKS;

const _: () = {
    assert!(SIDE_BITS == 32);
    assert!(MOST_INSIDE as u64 <= INSIDE_MASK);
    assert!(MAX_RANKS as u64 <= WAITING_MASK);
    // A ticket and the gate are never further apart than there are waiters.
    assert!(MAX_RANKS as u64 <= ADMITTED_MASK / 2);
};

/// Which side of the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Shared with itself.
    Left,
    /// Kept apart from `Left`; one holder at a time.
    RightExclusive,
    /// Kept apart from `Left`; shared with itself.
    RightShared,
}

/// Whether an entering rank queues behind ranks of the other side that only wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// Fair: behind everybody who came before.
    Fair,
    /// Behind holders only: for a rank that already holds a lock of the window, because those
    /// who wait may be waiting for it (README, invariant 7).
    HoldersOnly,
}

/// The words of one lock: state and owner on one line, the gates that waiters watch on another.
#[repr(C)]
#[derive(Default)]
pub struct LockWords {
    state: Line<StateWords>,
    gates: Line<[ParkWord; 2]>,
}

#[repr(C)]
#[derive(Default)]
struct StateWords {
    state: Word64,
    owner: Word32,
}

/// A value of the state word.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State(u64);

impl Side {
    fn index(self) -> u32 {
        u32::from(self != Side::Left)
    }
    fn other(self) -> u32 {
        1 - self.index()
    }
}

impl State {
    fn field(self, side: u32, shift: u32, mask: u64) -> u32 {
        ((self.0 >> (side * SIDE_BITS + shift)) & mask) as u32
    }
    fn inside(self, side: u32) -> u32 {
        self.field(side, 0, INSIDE_MASK)
    }
    fn waiting(self, side: u32) -> u32 {
        self.field(side, WAITING_SHIFT, WAITING_MASK)
    }
    fn admitted(self, side: u32) -> u32 {
        self.field(side, ADMITTED_SHIFT, ADMITTED_MASK)
    }
    fn with_inside(self, side: u32, by: i32) -> State {
        State(self.0.wrapping_add_signed(i64::from(by) << (side * SIDE_BITS)))
    }
    fn with_waiter(self, side: u32) -> State {
        State(self.0 + (1 << (side * SIDE_BITS + WAITING_SHIFT)))
    }

    /// Moves `n` waiters of `side` inside.
    fn admit(self, side: u32, n: u32) -> State {
        let admitted = (u64::from(self.admitted(side)) + u64::from(n)) & ADMITTED_MASK;
        let shift = side * SIDE_BITS;
        let cleared = self.0 & !(ADMITTED_MASK << (shift + ADMITTED_SHIFT));
        let moved = cleared - (u64::from(n) << (shift + WAITING_SHIFT)) + (u64::from(n) << shift);
        State(moved | (admitted << (shift + ADMITTED_SHIFT)))
    }

    /// Whether `side` may enter at once.
    fn is_open(self, side: Side, queueing: Queueing) -> bool {
        let other = side.other();
        let blind = match side {
            Side::Left => planted(Fault::ReaderIgnoresWriter),
            _ => planted(Fault::WriterIgnoresReaders),
        };
        let fair = queueing == Queueing::Fair || planted(Fault::NestedQueues);
        let behind_other = self.inside(other) != 0 || (fair && self.waiting(other) != 0);
        let behind_own = side == Side::RightExclusive
            && (self.inside(side.index()) != 0 || self.waiting(side.index()) != 0);
        let room = self.inside(side.index()) < MOST_INSIDE;
        (blind || !behind_other) && !behind_own && room
    }

    /// Whether one more can queue. Ranks always can; a rank's threads, of which there may be any
    /// number, wait outside the queue where they cannot.
    fn has_place(self, side: Side) -> bool {
        self.waiting(side.index()) < MAX_RANKS
    }

    /// Whom the last holder of `side` admits: a side, and how many.
    fn next(self, side: Side, right_is_exclusive: bool) -> Option<(u32, u32)> {
        let (own, other) = (side.index(), side.other());
        let turn = if self.waiting(other) != 0 { other } else { own };
        let waiting = self.waiting(turn);
        let most = if turn == 1 && right_is_exclusive {
            1 + u32::from(planted(Fault::GrantTwo))
        } else {
            waiting
        };
        let n = waiting.min(most);
        (n != 0 && !planted(Fault::GrantForgotten)).then_some((turn, n))
    }
}

/// Whether a gate that counts `admitted` has passed `ticket`, both modulo 2¹¹.
fn has_passed(admitted: u32, ticket: u32) -> bool {
    let ahead = u64::from(admitted.wrapping_sub(ticket)) & ADMITTED_MASK;
    ahead != 0 && ahead <= ADMITTED_MASK / 2
}

impl LockWords {
    /// Enters `side`; blocks while the other side, or an exclusive holder, is in the way.
    pub fn enter(
        &self,
        side: Side,
        queueing: Queueing,
        waiter: &Waiter<'_>,
    ) -> Result<(), JobFailed> {
        let index = side.index();
        let mut state = State(self.state.0.state.load());
        loop {
            let open = state.is_open(side, queueing);
            if !open && waiter.failed.is_set() {
                // Nobody queues any more, so a rank leaves at most one abandoned place behind.
                return Err(JobFailed);
            }
            if !open && !state.has_place(side) {
                state = self.await_place(side, waiter)?;
                continue;
            }
            let next = if open { state.with_inside(index, 1) } else { state.with_waiter(index) };
            match self.state.0.state.compare_exchange(state.0, next.0) {
                Ok(_) if open => return Ok(()),
                Ok(_) => break,
                Err(now) => state = State(now),
            }
        }
        let ticket = state.admitted(index).wrapping_add(state.waiting(index));
        let gate = &self.gates.0[index as usize];
        let passed = |admitted| has_passed(admitted, ticket);
        waiter.until_or(gate, passed, || self.admit_unopposed(side)).map(drop)
    }

    /// Waits until one more can queue, and returns the state. Whoever admits waiters opens the gate
    /// and so wakes those outside the queue too.
    #[cold]
    fn await_place(&self, side: Side, waiter: &Waiter<'_>) -> Result<State, JobFailed> {
        let state = || State(self.state.0.state.load());
        waiter.until(&self.gates.0[side.index() as usize], |_| state().has_place(side))?;
        Ok(state())
    }

    /// Admits the waiters of `side` if no holder is in their way, but only ranks that wait
    /// themselves: being fair to those must not keep anybody for ever from a lock that nobody
    /// holds against it (MPI-2.2 §11.7.2). Called by a waiter that is overdue; says whether anybody
    /// was admitted.
    fn admit_unopposed(&self, side: Side) -> bool {
        let index = side.index();
        let exclusive = side == Side::RightExclusive;
        let mut state = State(self.state.0.state.load());
        loop {
            let held = state.inside(side.other()) != 0 || exclusive && state.inside(index) != 0;
            let opposed = held && !planted(Fault::HoldersPassed) || planted(Fault::FairForever);
            let waiting = state.waiting(index);
            let room = MOST_INSIDE.saturating_sub(state.inside(index));
            let n = if exclusive { waiting.min(1) } else { waiting.min(room) };
            if opposed || n == 0 {
                return false;
            }
            match self.state.0.state.compare_exchange(state.0, state.admit(index, n).0) {
                Ok(_) => {
                    self.open_gate(index, n);
                    return true;
                }
                Err(now) => state = State(now),
            }
        }
    }

    /// Tells `n` waiters of a side that they have been put inside.
    fn open_gate(&self, side: u32, n: u32) {
        // Carry: the exchange before read from the exchanges of holders that left earlier; what
        // they published must reach those who read only the gate. Pairs with the UnlockPre of
        // earlier holders and the LockPost of the admitted.
        // Fails without it: models/lock.rs, by loom_tests/tests/mutants.rs, three ranks.
        mem_sync(Site::LockCarry);
        self.gates.0[side as usize].add_and_wake(n);
    }

    /// Leaves `side`; the last holder admits those who wait. Never blocks.
    ///
    /// `right_is_exclusive` says how the right side of this lock is used, whoever leaves.
    pub fn leave(&self, side: Side, right_is_exclusive: bool) {
        let index = side.index();
        let mut state = State(self.state.0.state.load());
        let admitted = loop {
            let left = state.with_inside(index, -1);
            let admits = match left.inside(index) {
                0 => left.next(side, right_is_exclusive),
                _ => None,
            };
            let next = admits.map_or(left, |(turn, n)| left.admit(turn, n));
            match self.state.0.state.compare_exchange(state.0, next.0) {
                Ok(_) => break admits,
                Err(now) => state = State(now),
            }
        };
        if let Some((turn, n)) = admitted {
            self.open_gate(turn, n);
        }
    }

    /// Records which rank holds the right side, for reports about a rank that died holding it.
    pub fn set_owner(&self, rank: u32) {
        self.state.0.owner.store(rank + 1);
    }

    /// Forgets the owner, before it leaves.
    pub fn clear_owner(&self) {
        self.state.0.owner.store(0);
    }

    /// The rank that holds the right side exclusively, as far as it has said so.
    pub fn owner(&self) -> Option<u32> {
        self.state.0.owner.load().checked_sub(1)
    }

    /// Whether any rank is inside on `side`. A snapshot: it may be old when it is returned.
    pub fn is_held(&self, side: Side) -> bool {
        State(self.state.0.state.load()).inside(side.index()) != 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn admitting_moves_waiters_inside_and_wraps_the_count() {
        let mut state = State(0);
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
        for ticket in [0, 5, 2046, 2047] {
            assert!(!has_passed(ticket, ticket));
            assert!(has_passed(ticket + 1, ticket));
            assert!(has_passed(ticket + MAX_RANKS, ticket));
            assert!(!has_passed(ticket.wrapping_sub(MAX_RANKS), ticket));
        }
    }
}
