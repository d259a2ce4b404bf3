//! A bounded queue over window operations, for many producers and many consumers: the ring of
//! numbered slots of Vyukov, with states that begin at zero.
//!
//! The home rank has `2 + capacity` words: `tail`, how many items were ever claimed by producers;
//! `head`, how many by consumers; and one state for each slot. Position `p` uses the slot `p mod
//! capacity` in its lap `p / capacity`; the slot's state counts half laps:
//!
//! ```text
//!   state = 2 * lap       free in this lap; a producer claims the position by moving `tail`
//!   state = 2 * lap + 1   full in this lap; a consumer claims the position by moving `head`
//!   state = 2 * lap + 2   free in the next lap
//! ```
//!
//! Both sides do the same, one half lap apart:
//!
//! ```text
//!     at = tail (head);  state = state of the slot
//!     flush                                   (1)
//!     state as wanted? compare_and_swap(tail (head), at, at + 1)
//!     put the item into the slot (get it)
//!     flush                                   (2)
//!     state of the slot += 1
//!     flush                                   (3)
//! ```
//!
//! What each MEM_SYNC is for:
//! 1. observes the item, or that the item before it was read; and lets a rank that looked at a slot
//!    already ahead see the present `tail` (`head`), so that its next attempt succeeds;
//! 2. publishes the item, or that it was read, for (1) of the other side through the state;
//! 3. rings for the ranks that wait on the slot, at the home rank.

use super::{Cell, Cells, Fault, flush};

/// One rank's view of a queue. Zero words are its initial state: empty.
///
/// The functions that put or get an item must not fail for their arguments. The slot is claimed by then,
/// and an error would leave it claimed for ever.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// The first of its words, at the home rank.
    pub first: Cell,
    /// Slots; at least one.
    pub capacity: u64,
}

/// Which side of the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Producer = 0,
    Consumer = 1,
}

/// The outcome of claiming a position.
enum Claim {
    /// The slot, and its state, which the claimer moves on when it is done with the slot.
    Mine { slot: u64, state: u64 },
    /// The slot whose state, with this value now, stands in the way.
    InTheWay { slot: u64, state: u64 },
}

impl Queue {
    /// How many words a queue of `capacity` slots has at its home rank.
    pub const fn words(capacity: u64) -> u64 {
        2 + capacity
    }

    /// Appends one item: `put` puts it into the slot that it is given. `false`, and no call of
    /// `put`, if the queue is full. Never blocks.
    ///
    /// A slot whose consumer is still reading it counts as full.
    pub fn try_push<C: Cells>(
        &self,
        cells: &C,
        put: impl FnOnce(u64) -> Result<(), C::Error>,
    ) -> Result<bool, C::Error> {
        match self.claim(cells, Side::Producer)? {
            Claim::Mine { slot, state } => self.with_slot(cells, slot, state, put).map(|()| true),
            Claim::InTheWay { .. } => Ok(false),
        }
    }

    /// Removes the oldest item: `get` gets it from the slot that it is given. `None`, and no call
    /// of `get`, if the queue is empty. Never blocks.
    ///
    /// A slot whose producer is still writing it counts as empty.
    pub fn try_pop<C: Cells, R>(
        &self,
        cells: &C,
        get: impl FnOnce(u64) -> Result<R, C::Error>,
    ) -> Result<Option<R>, C::Error> {
        match self.claim(cells, Side::Consumer)? {
            Claim::Mine { slot, state } => self.with_slot(cells, slot, state, get).map(Some),
            Claim::InTheWay { .. } => Ok(None),
        }
    }

    /// [`Queue::try_push`] that blocks while the queue is full.
    #[track_caller]
    pub fn push<C: Cells>(
        &self,
        cells: &C,
        put: impl FnOnce(u64) -> Result<(), C::Error>,
    ) -> Result<(), C::Error> {
        let (slot, state) = self.await_claim(cells, Side::Producer)?;
        self.with_slot(cells, slot, state, put)
    }

    /// [`Queue::try_pop`] that blocks while the queue is empty.
    #[track_caller]
    pub fn pop<C: Cells, R>(
        &self,
        cells: &C,
        get: impl FnOnce(u64) -> Result<R, C::Error>,
    ) -> Result<R, C::Error> {
        let (slot, state) = self.await_claim(cells, Side::Consumer)?;
        self.with_slot(cells, slot, state, get)
    }

    fn cell(&self, index: u64) -> Cell {
        Cell { rank: self.first.rank, index: self.first.index + index }
    }

    /// How many positions were claimed by `side`.
    fn claimed(&self, side: Side) -> Cell {
        self.cell(side as u64)
    }

    fn state(&self, slot: u64) -> Cell {
        self.cell(2 + slot)
    }

    fn claim<C: Cells>(&self, cells: &C, side: Side) -> Result<Claim, C::Error> {
        loop {
            let at = cells.fetch(self.claimed(side))?;
            let (slot, lap) = (at % self.capacity, at / self.capacity);
            let state = cells.fetch(self.state(slot))?;
            // (1). Fails without it: models/queue.rs, by loom_tests/tests/mutants.rs.
            flush(cells, self.first.rank, Fault::QueueUnobserved)?;
            let wanted = lap.wrapping_mul(2).wrapping_add(side as u64);
            if state < wanted {
                return Ok(Claim::InTheWay { slot, state });
            }
            let next = at.wrapping_add(1);
            if state == wanted && cells.compare_and_swap(self.claimed(side), at, next)? == at {
                return Ok(Claim::Mine { slot, state });
            }
            if state > wanted && cells.fetch(self.claimed(side))? == at {
                // By (1) another rank has advanced the position, unless the words are damaged. A
                // damaged word must not cause an endless loop.
                return Ok(Claim::InTheWay { slot, state });
            }
        }
    }

    #[track_caller]
    fn await_claim<C: Cells>(&self, cells: &C, side: Side) -> Result<(u64, u64), C::Error> {
        loop {
            match self.claim(cells, side)? {
                Claim::Mine { slot, state } => return Ok((slot, state)),
                Claim::InTheWay { slot, state } => {
                    cells.wait_while(self.state(slot), state)?;
                }
            }
        }
    }

    /// Uses a claimed slot, and passes it on to the other side.
    fn with_slot<C: Cells, R>(
        &self,
        cells: &C,
        slot: u64,
        state: u64,
        access: impl FnOnce(u64) -> Result<R, C::Error>,
    ) -> Result<R, C::Error> {
        if cells.planted(Fault::QueueEarly) {
            cells.replace(self.state(slot), state.wrapping_add(1))?;
        }
        let result = access(slot)?;
        // (2). Fails without it: models/queue.rs, by loom_tests/tests/mutants.rs.
        flush(cells, self.first.rank, Fault::QueueUnpublished)?;
        cells.replace(self.state(slot), state.wrapping_add(1))?;
        // (3). Fails without it: models/queue.rs, by loom_tests/tests/mutants.rs.
        flush(cells, self.first.rank, Fault::QueueUnrung)?;
        Ok(result)
    }
}
