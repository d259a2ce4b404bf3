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
//! A rank that finds the lock held contends for it first: it waits until the lock is free and takes
//! it if it is the first to try, whoever has waited longer. So a lock that is wanted all the time is
//! not handed from sleeper to sleeper, which would cost a wake-up each time. A rank that had no luck
//! for a while queues, and those who queue are served in order, by whoever leaves; until then
//! nobody passes them. (How long is [`Contention`]'s business; what is in the state word, and who is
//! let in, that of `lock_state.rs`.)
//!
//! A waiter may go on when its side's gate, which counts admissions, has passed its ticket.
//! A waiter that is overdue and finds no holder in its way, only waiters, admits its own side.
//! Whoever admits has put the admitted inside by the same compare-and-swap, so nobody can slip in
//! between, and a later rank can never see the lock free while an admitted one is on its way.

use super::Line;
use super::lock_state::{MOST_INSIDE, Queueing, Side, State, has_passed};
use crate::prim::{
    Contention, Fault, JobFailed, ParkWord, Site, Waiter, Word32, Word64, mem_sync, planted,
};

/// The words of one lock: state and owner on one line, what waiters watch on another.
#[repr(C)]
#[derive(Default)]
pub struct LockWords {
    state: Line<StateWords>,
    watched: Line<Watched>,
}

/// What those sleep on who want a lock; one word for each side.
#[repr(C)]
#[derive(Default)]
struct Watched {
    /// How many have been let in of those who queue.
    gates: [ParkWord; 2],
    /// Nudged when the lock is free, for those who contend.
    free: [ParkWord; 2],
}

#[repr(C)]
#[derive(Default)]
struct StateWords {
    state: Word64,
    owner: Word32,
}

impl LockWords {
    /// Enters `side`; blocks while the other side, or an exclusive holder, is in the way.
    #[inline]
    pub fn enter(
        &self,
        side: Side,
        queueing: Queueing,
        waiter: &Waiter<'_>,
    ) -> Result<(), JobFailed> {
        match self.try_enter(side, queueing) {
            true => Ok(()),
            false => self.enter_slowly(side, queueing, waiter),
        }
    }

    /// Enters if nobody is in the way, by one compare-and-swap.
    #[inline]
    pub fn try_enter(&self, side: Side, queueing: Queueing) -> bool {
        let mut state = self.state();
        while state.is_open(side, queueing) {
            match self.exchange(state, state.with_inside(side.index(), 1)) {
                Ok(()) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    #[cold]
    fn enter_slowly(
        &self,
        side: Side,
        queueing: Queueing,
        waiter: &Waiter<'_>,
    ) -> Result<(), JobFailed> {
        let contention = Contention::begin();
        let free = &self.watched.0.free[side.index() as usize];
        for lost in 0.. {
            // Behind ranks that only wait, it queues at once.
            let is_over = || !self.state().is_held_against(side) || contention.is_over(lost);
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

    /// Enters in the order of arrival, behind all who queue already.
    fn queue(&self, side: Side, queueing: Queueing, waiter: &Waiter<'_>) -> Result<(), JobFailed> {
        let index = side.index();
        let mut state = self.state();
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
            match self.exchange(state, next) {
                Ok(()) if open => return Ok(()),
                Ok(()) => break,
                Err(now) => state = now,
            }
        }
        let ticket = state.admitted(index).wrapping_add(state.waiting(index));
        let passed = |admitted| has_passed(admitted, ticket);
        waiter.until_or(self.gate(index), passed, || self.admit_unopposed(side)).map(drop)
    }

    #[inline]
    fn state(&self) -> State {
        State(self.state.0.state.load())
    }

    /// Replaces one state by another; `Err` is the state there was instead.
    #[inline]
    fn exchange(&self, from: State, to: State) -> Result<(), State> {
        self.state.0.state.compare_exchange(from.0, to.0).map(drop).map_err(State)
    }

    fn gate(&self, side: u32) -> &ParkWord {
        &self.watched.0.gates[side as usize]
    }

    /// Waits until one more can queue, and returns the state. Whoever admits waiters opens the gate
    /// and so wakes those outside the queue too.
    #[cold]
    fn await_place(&self, side: Side, waiter: &Waiter<'_>) -> Result<State, JobFailed> {
        waiter.until(self.gate(side.index()), |_| self.state().has_place(side))?;
        Ok(self.state())
    }

    /// Admits the waiters of `side` if no holder is in their way, but only ranks that wait
    /// themselves: being fair to those must not keep anybody for ever from a lock that nobody
    /// holds against it (MPI-2.2 §11.7.2). Called by a waiter that is overdue; says whether anybody
    /// was admitted.
    fn admit_unopposed(&self, side: Side) -> bool {
        let index = side.index();
        let exclusive = side == Side::RightExclusive;
        let mut state = self.state();
        loop {
            let opposed = state.is_held_against(side) && !planted(Fault::HoldersPassed)
                || planted(Fault::FairForever);
            let waiting = state.waiting(index);
            let room = MOST_INSIDE.saturating_sub(state.inside(index));
            let n = if exclusive { waiting.min(1) } else { waiting.min(room) };
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

    /// Tells `n` waiters of a side that they have been put inside.
    fn open_gate(&self, side: u32, n: u32) {
        // Carry: the exchange before read from the exchanges of holders that left earlier; what
        // they published must reach those who read only the gate. Pairs with the UnlockPre of
        // earlier holders and the LockPost of the admitted.
        // Fails without it: models/lock.rs, by loom_tests/tests/mutants.rs, three ranks.
        mem_sync(Site::LockCarry);
        self.gate(side).add_and_wake(n);
    }

    /// Leaves `side`; the last holder admits those who queue, or else nudges those who contend. Never
    /// blocks.
    ///
    /// `right_is_exclusive` says how the right side of this lock is used, whoever leaves.
    #[inline]
    pub fn leave(&self, side: Side, right_is_exclusive: bool) {
        let state = self.state();
        let left = state.with_inside(side.index(), -1);
        if state.has_waiters() || self.exchange(state, left).is_err() {
            return self.leave_among_others(side, right_is_exclusive);
        }
        if left.inside(side.index()) == 0 {
            self.nudge(right_is_exclusive);
        }
    }

    /// [`LockWords::leave`] where ranks queue, or come and go at the same time.
    #[inline(never)]
    fn leave_among_others(&self, side: Side, right_is_exclusive: bool) {
        let index = side.index();
        let mut state = self.state();
        let (left, admitted) = loop {
            let left = state.with_inside(index, -1);
            let admits = match left.inside(index) {
                0 => left.next(side, right_is_exclusive),
                _ => None,
            };
            let next = admits.map_or(left, |(turn, n)| left.admit(turn, n));
            match self.exchange(state, next) {
                Ok(()) => break (left, admits),
                Err(now) => state = now,
            }
        };
        match admitted {
            Some((turn, n)) => self.open_gate(turn, n),
            None if left.inside(index) == 0 => self.nudge(right_is_exclusive),
            None => {}
        }
    }

    /// Tells those who contend that the lock is free; where only one of them can have it, one.
    #[inline]
    fn nudge(&self, right_is_exclusive: bool) {
        if planted(Fault::NudgeForgotten) {
            return;
        }
        let [left, right] = &self.watched.0.free;
        let of_right = if right_is_exclusive { 1 } else { u32::MAX };
        ParkWord::nudge([(left, u32::MAX), (right, of_right)]);
    }

    /// Records which rank holds the right side, for reports about a rank that died holding it.
    #[inline]
    pub fn set_owner(&self, rank: u32) {
        self.state.0.owner.store(rank + 1);
    }

    /// Forgets the owner, before it leaves.
    #[inline]
    pub fn clear_owner(&self) {
        self.state.0.owner.store(0);
    }

    /// The rank that holds the right side exclusively, as far as it has said so.
    pub fn owner(&self) -> Option<u32> {
        self.state.0.owner.load().checked_sub(1)
    }

    /// Whether any rank is inside on `side`. A snapshot: it may be old when it is returned.
    pub fn is_held(&self, side: Side) -> bool {
        self.state().inside(side.index()) != 0
    }
}
