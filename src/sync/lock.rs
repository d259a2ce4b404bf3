//! A two-sided lock: fair, with sleeping waiters, and without any help from the target.
//!
//! Holders of one side exclude holders of the other. The `Left` side is always shared with itself;
//! the caller decides whether the `Right` side is exclusive or shared:
//!
//! | use | left | right |
//! | --- | --- | --- |
//! | a target's lock | shared lockers | one exclusive locker |
//! | the window's `lock_all` | `lock_all` holders | exclusive lockers of any target |
//! | mutual exclusion (accumulate, allocator) | – | one holder |
//!
//! 1. **Contending.** A rank that finds the lock held first contends for about a millisecond
//!    ([`Contention`]): when the lock becomes free, the first rank to try gets it. So a lock in
//!    constant use is not handed from sleeper to sleeper, which would cost a wake-up each time. At first
//!    it looks rarely, so that the holder keeps the line for some more critical sections.
//! 2. **Queueing.** After that it queues. The last holder to leave admits waiters in the order of
//!    arrival, those of the other side first: all of them if that side is shared, one if it is exclusive.
//!    Queued ranks are not overtaken. A waiter continues when its side's gate, which counts admissions,
//!    has passed its ticket. A queue has 255 places; further ranks wait for a place, in no order.
//!    (`lock_state.rs` has the state word and the rules of admission.)
//! 3. **Bounded fairness.** A waiter that finds only waiters in its way, no holder, admits its own side
//!    after it has slept for a tenth of a second (longer in a job of more than 256 ranks). So a program
//!    in which no conflicting lock is held makes progress (MPI-2.2 §11.7.2), whatever its ranks wait for
//!    outside the lock.
//! 4. **Nested locks.** A rank that already holds a lock of the window never queues behind mere
//!    waiters, because they may be waiting for that lock. It waits for conflicting holders only.
//!    Exclusive lockers of one target keep their order among themselves.
//!
//! The compare-and-swap that admits a waiter also counts it as a holder. So no rank can enter in
//! between, and none sees the lock free while an admitted waiter has not continued yet.

use super::Line;
use super::lock_state::{LockSide, LockState, MOST_INSIDE, Queueing, has_passed};
use super::queue::QueueNode;
use crate::prim::{
    Contention, Fault, JobFailed, ParkWord, Site, Waiter, Word32, Word64, cold_call, mem_sync,
    planted,
};

/// The words of one lock: state, tail and owner on one line, the words of the waiters on another.
#[repr(C)]
#[derive(Default)]
pub struct LockWords {
    state: Line<StateWords>,
    watched: Line<Watched>,
}

/// The words on which waiters sleep, one for each side.
#[repr(C)]
#[derive(Default)]
struct Watched {
    /// How many queued ranks have been admitted.
    gates: [ParkWord; 2],
    /// Nudged when the lock is free, for contending ranks.
    free: [ParkWord; 2],
    /// The node of this target's rank, for locks of any target.
    node: QueueNode,
}

/// Steps of a contending rank, each twice as long as the one before, that pass before it looks again.
const UNSEEN: u32 = 4;

/// The exclusive holder of a target's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockOwner {
    /// Its rank.
    pub rank: u32,
    /// Whether it does not hold the window's lock (`passive.rs`).
    pub is_alone: bool,
}

impl LockOwner {
    /// Set in the word of an owner that holds the window's lock, too. The rest of the word is its rank plus one.
    const BESIDE_ALL: u32 = 1 << 31;
}

#[repr(C)]
#[derive(Default)]
struct StateWords {
    state: Word64,
    /// The last rank that queues by its node (`queue.rs`).
    tail: Word64,
    owner: Word32,
    /// Of each side, the mark of the latest release.
    released: [Word64; 2],
}

impl LockWords {
    /// Enters `side`. Blocks while a rank of the other side or an exclusive holder is in the way.
    #[inline]
    pub fn enter(
        &self,
        side: LockSide,
        queueing: Queueing,
        waiter: &Waiter<'_>,
    ) -> Result<(), JobFailed> {
        match self.try_enter(side, queueing) {
            true => Ok(()),
            false => self.enter_slowly(side, queueing, waiter),
        }
    }

    /// Enters if no rank is in the way: exclusively by a compare-and-swap; on a side that is shared with
    /// itself by an addition, which does not fail when many enter at the same time. If a rank was in the way
    /// then, it leaves again; for that moment it looked like a holder.
    #[inline(always)]
    pub fn try_enter(&self, side: LockSide, queueing: Queueing) -> bool {
        let state = self.state();
        if side != LockSide::RightExclusive {
            return state.is_open(side, queueing) && self.count_in(side, queueing);
        }
        state.is_open(side, queueing)
            && match self.exchange(state, state.with_inside(side.index(), 1)) {
                Ok(()) => true,
                Err(now) => cold_call(move || self.try_enter_again(now, side, queueing)),
            }
    }

    /// [`LockWords::try_enter`] exclusively, after another rank has changed the word.
    fn try_enter_again(&self, mut state: LockState, side: LockSide, queueing: Queueing) -> bool {
        while state.is_open(side, queueing) {
            match self.exchange(state, state.with_inside(side.index(), 1)) {
                Ok(()) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    #[inline(always)]
    fn count_in(&self, side: LockSide, queueing: Queueing) -> bool {
        let entered = self.count(side, 1).is_open(side, queueing);
        if !entered && !planted(Fault::StaysInside) {
            cold_call(move || self.count_out(side));
        }
        entered
    }

    /// Counts a holder of a side that is shared with itself in, or out (-1); returns the state before.
    #[inline(always)]
    fn count(&self, side: LockSide, by: i32) -> LockState {
        let one = LockState(0).with_inside(side.index(), by);
        LockState(self.state.0.state.fetch_add(one.0))
    }

    /// A rank leaves a side that is shared with itself.
    #[inline(always)]
    fn count_out(&self, side: LockSide) {
        let before = self.count(side, -1);
        if before.inside(side.index()) == 1 {
            match before.has_waiters() {
                true => cold_call(move || self.admit_next(side)),
                false => self.nudge(side),
            }
        }
    }

    /// The last rank of `side` has left: admits queued ranks, unless one that has entered meanwhile is in
    /// their way, which does it when it leaves.
    fn admit_next(&self, side: LockSide) {
        let mut state = self.state();
        while let Some((admitted, n)) = state.next(side) {
            if state.excludes(admitted, side.right_is_exclusive()) {
                return;
            }
            match self.exchange(state, state.admit(admitted, n)) {
                Ok(()) => return self.open_gate(admitted, n),
                Err(now) => state = now,
            }
        }
        self.nudge(side);
    }

    #[cold]
    pub(super) fn enter_slowly(
        &self,
        side: LockSide,
        queueing: Queueing,
        waiter: &Waiter<'_>,
    ) -> Result<(), JobFailed> {
        let is_held = || self.state().is_held_against(side);
        if waiter.hold_off(UNSEEN, is_held) && self.try_enter(side, queueing) {
            return Ok(());
        }
        let contention = Contention::begin();
        let free = &self.watched.0.free[side.index() as usize];
        for lost in 0.. {
            // Behind ranks that only wait, it queues immediately.
            let is_over = || !is_held() || contention.is_over(lost);
            if is_over() {
                break;
            }
            waiter.until(free, |value| ParkWord::is_nudged(value) || is_over())?;
            free.heed();
            if self.try_enter(side, queueing) {
                return Ok(());
            }
        }
        self.queue(side, queueing, waiter)
    }

    /// Enters in the order of arrival, behind the ranks that queue already.
    fn queue(
        &self,
        side: LockSide,
        queueing: Queueing,
        waiter: &Waiter<'_>,
    ) -> Result<(), JobFailed> {
        let index = side.index();
        let mut state = self.state();
        loop {
            let open = state.is_open(side, queueing);
            if !open && waiter.failed.is_set() {
                // The job has failed: a rank abandons at most one place in the queue.
                return Err(JobFailed);
            }
            if !open && !state.has_place(side) {
                state = self.await_place(side, waiter)?;
                continue;
            }
            let next = if open { state.with_inside(index, 1) } else { state.with_waiter(index) };
            match self.exchange(state, next) {
                Ok(()) if open => return Ok(()),
                Ok(()) => break,
                Err(now) => state = now,
            }
        }
        self.mark_tail();
        let ticket = state.admitted(index).wrapping_add(state.waiting(index));
        let passed = |admitted| has_passed(admitted, ticket);
        waiter.until_or(self.gate(index), passed, || self.admit_unopposed(side)).map(drop)
    }

    /// The node of the rank whose part this lock guards.
    #[inline]
    pub fn node(&self) -> &QueueNode {
        &self.watched.0.node
    }

    /// The word of the last rank that queues by its node.
    pub(super) fn tail(&self) -> &Word64 {
        &self.state.0.tail
    }

    #[inline]
    fn state(&self) -> LockState {
        LockState(self.state.0.state.load())
    }

    /// Replaces one state by another; `Err` is the state found instead.
    #[inline]
    fn exchange(&self, from: LockState, to: LockState) -> Result<(), LockState> {
        self.state.0.state.compare_exchange(from.0, to.0).map(drop).map_err(LockState)
    }

    fn gate(&self, side: u32) -> &ParkWord {
        &self.watched.0.gates[side as usize]
    }

    /// Waits for a place in the queue, and returns the state. Admissions open the gate, which also
    /// wakes the ranks outside the queue.
    #[cold]
    fn await_place(&self, side: LockSide, waiter: &Waiter<'_>) -> Result<LockState, JobFailed> {
        waiter.until(self.gate(side.index()), |_| self.state().has_place(side))?;
        Ok(self.state())
    }

    /// Admits the waiters of `side` if only waiters are in their way, no holder. Fairness must not keep a
    /// rank for ever from a lock that no rank holds (MPI-2.2 §11.7.2). Called by a waiter that is
    /// overdue; returns whether a rank was admitted.
    fn admit_unopposed(&self, side: LockSide) -> bool {
        let index = side.index();
        let exclusive = side == LockSide::RightExclusive;
        let mut state = self.state();
        loop {
            let opposed = state.is_held_against(side) && !planted(Fault::HoldersPassed)
                || planted(Fault::FairForever);
            let waiting = state.waiting(index);
            let free = MOST_INSIDE.saturating_sub(state.inside(index));
            let n = if exclusive { waiting.min(1) } else { waiting.min(free) };
            if opposed || n == 0 {
                return false;
            }
            match self.exchange(state, state.admit(index, n)) {
                Ok(()) => {
                    self.open_gate(index, n);
                    return true;
                }
                Err(now) => state = now,
            }
        }
    }

    /// Wakes the `n` waiters of a side that have been admitted.
    fn open_gate(&self, side: u32, n: u32) {
        // Carry: the exchange before this read from the exchanges of earlier holders. What they
        // published must reach ranks that read only the gate. Pairs with the UnlockPre of earlier
        // holders and the LockPost of the admitted.
        // Fails without it: models/lock.rs, by loom_tests/tests/mutants.rs, three ranks.
        mem_sync(Site::LockCarry);
        self.gate(side).add_and_wake(n);
    }

    /// Leaves `side`. The last holder admits queued ranks or, if there are none, nudges contending
    /// ones. Never blocks.
    #[inline(always)]
    pub fn leave(&self, side: LockSide) {
        if side != LockSide::RightExclusive {
            return self.count_out(side);
        }
        let state = self.state();
        let left = state.with_inside(side.index(), -1);
        if state.has_waiters() || self.exchange(state, left).is_err() {
            return cold_call(move || self.leave_among_others(side));
        }
        self.nudge(side);
    }

    /// Slow path of [`LockWords::leave`] by an exclusive holder: ranks queue, or enter at the same time.
    fn leave_among_others(&self, side: LockSide) {
        let mut state = self.state();
        let admitted = loop {
            let left = state.with_inside(side.index(), -1);
            let admits = left.next(side);
            let next = admits.map_or(left, |(side, n)| left.admit(side, n));
            match self.exchange(state, next) {
                Ok(()) => break admits,
                Err(now) => state = now,
            }
        };
        match admitted {
            Some((side, n)) => self.open_gate(side, n),
            None => self.nudge(side),
        }
    }

    /// Wakes contending ranks because the lock is free: one of them where only one can have it.
    #[inline]
    fn nudge(&self, side: LockSide) {
        if planted(Fault::NudgeForgotten) {
            return;
        }
        let [left, right] = &self.watched.0.free;
        let of_right = if side.right_is_exclusive() { 1 } else { u32::MAX };
        ParkWord::nudge([(left, u32::MAX), (right, of_right)]);
    }

    /// Records the exclusive holder of the right side: for reports about a rank that died as the holder, and for
    /// [`LockWords::take_owner`].
    #[inline]
    pub fn set_owner(&self, owner: LockOwner) {
        let beside_all = if owner.is_alone { 0 } else { LockOwner::BESIDE_ALL };
        self.state.0.owner.store(owner.rank + (beside_all + 1));
    }

    /// Clears the owner, before it leaves, and returns whether it does not hold the window's lock.
    #[inline]
    pub fn take_owner(&self) -> bool {
        let word = self.state.0.owner.load();
        self.state.0.owner.store(0);
        word & LockOwner::BESIDE_ALL == 0
    }

    /// The exclusive holder of the right side, if it has recorded itself.
    pub fn owner(&self) -> Option<LockOwner> {
        let word = self.state.0.owner.load();
        let is_alone = word & LockOwner::BESIDE_ALL == 0;
        let rank = (word & !LockOwner::BESIDE_ALL).checked_sub(1)?;
        Some(LockOwner { rank, is_alone })
    }

    /// Leaves the mark of a release by a holder of `side`, before it leaves. Of several that leave a shared side at the
    /// same time, the mark of one stays.
    pub fn mark_release(&self, side: LockSide, mark: u64) {
        self.state.0.released[side.index() as usize].store(mark);
    }

    /// The mark of the latest release by a holder of `side`; zero without one. To a rank that has entered the other side
    /// since: UnlockPre and LockPost order the two.
    pub fn released(&self, side: LockSide) -> u64 {
        self.state.0.released[side.index() as usize].load()
    }

    /// Whether any rank holds the lock on `side`. A snapshot: it may be old when it is returned. On a shared
    /// side, a rank that finds another in its way is counted for a moment and holds nothing.
    pub fn is_held(&self, side: LockSide) -> bool {
        let state = self.state();
        let is_exact = side == LockSide::RightExclusive || state.inside(side.other()) == 0;
        state.inside(side.index()) != 0 && is_exact
    }
}
