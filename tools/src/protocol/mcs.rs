//! A mutex over window operations: the queue lock of Mellor-Crummey and Scott (1991), after a rank
//! has contended for it without success. Each rank that queues costs a wake-up.
//!
//! The home rank has one word, `tail`: the last rank in the queue plus one, or zero while the
//! mutex is free. Every rank has two words in its own part: `next`, its successor plus one, and
//! `granted`, how often the mutex was handed to it. A rank waits on its own words only.
//!
//! ```text
//!   lock, as often as one contends            unlock
//!     compare_and_swap(tail, 0, me)             flush                       (1)
//!     succeeds -> flush           (2), locked   own next is 0, and
//!   and then                                      compare_and_swap(tail, me, 0) succeeds -> free
//!     grants = own granted
//!     before = replace(tail, me)
//!     flush                       (2)
//!     before is 0 -> locked                     wait until own next is not 0
//!     next of before = me; flush  (3)           own next = 0
//!     wait until own granted changes (4)        granted of next += 1; flush (5)
//! ```
//!
//! What each MEM_SYNC is for:
//! 1. publishes the holder's accesses, for (2) of the next holder through `tail`, or for (4) of
//!    the successor through `granted`;
//! 2. observes what the last holder published; and orders the link that follows after the holder's
//!    own `next = 0`, which its (5) ordered before its arrival at `tail`;
//! 3. rings for a holder that leaves and waits for its successor's name;
//! 4. the wait's own MEM_SYNC observes what the predecessor published;
//! 5. rings for the successor; its wait must not depend on anything that the holder does later.

use super::{Cell, Cells, Fault, flush};

/// One rank's view of a mutex. Zero words are its initial state: free.
///
/// A rank has one node in the queue: it does not lock a second time before it has unlocked.
#[derive(Clone, Copy, Debug)]
pub struct Mcs {
    /// The word at the home rank.
    pub tail: Cell,
    /// Index, in every rank's part, of the two words of that rank.
    pub node: u64,
    /// The calling rank.
    pub me: u32,
}

impl Mcs {
    fn next(&self, rank: u32) -> Cell {
        Cell { rank, index: self.node }
    }

    fn granted(&self, rank: u32) -> Cell {
        Cell { rank, index: self.node + 1 }
    }

    /// This rank as `tail` and `next` name it.
    fn name(&self) -> u64 {
        u64::from(self.me) + 1
    }

    /// Locks. Blocks while another rank holds the mutex.
    ///
    /// A rank contends first: it takes the mutex if it is the first to try when that becomes free.
    /// Then it queues. Queued ranks are served in the order of arrival and are not overtaken.
    ///
    /// A wait ends with an error only in a failed job; the rank then stays in the queue for ever.
    #[track_caller]
    pub fn lock<C: Cells>(&self, cells: &C) -> Result<(), C::Error> {
        let attempt = || Ok(cells.fetch(self.tail)? == 0 && self.try_lock(cells)?);
        if self.try_lock(cells)? || cells.contend(attempt)? {
            return Ok(());
        }
        let grants = cells.fetch(self.granted(self.me))?;
        let before = cells.replace(self.tail, self.name())?;
        // (2). Fails without it: models/mutex.rs, by loom_tests/tests/mutants.rs.
        flush(cells, self.tail.rank, Fault::McsUnobserved)?;
        let Some(before) = rank(before) else { return Ok(()) };
        cells.replace(self.next(before), self.name())?;
        // (3). Fails without it: models/mutex.rs, by loom_tests/tests/mutants.rs.
        flush(cells, before, Fault::McsLinkUnrung)?;
        // (4). Fails without its MEM_SYNC: models/mutex.rs, by loom_tests/tests/mutants.rs.
        cells.wait_while(self.granted(self.me), grants).map(drop)
    }

    /// Locks if no rank holds the mutex; returns `false` otherwise. Never blocks.
    pub fn try_lock<C: Cells>(&self, cells: &C) -> Result<bool, C::Error> {
        if cells.compare_and_swap(self.tail, 0, self.name())? != 0 {
            return Ok(false);
        }
        // (2). Fails without it: models/mutex.rs, by loom_tests/tests/mutants.rs.
        flush(cells, self.tail.rank, Fault::McsUnobserved)?;
        Ok(true)
    }

    /// Hands the mutex to the rank that has queued longest, if any. Blocks only until that rank has
    /// written its name, which is its next step.
    #[track_caller]
    pub fn unlock<C: Cells>(&self, cells: &C) -> Result<(), C::Error> {
        // (1). Fails without it: models/mutex.rs, by loom_tests/tests/mutants.rs.
        flush(cells, self.tail.rank, Fault::McsUnpublished)?;
        let linked = rank(cells.fetch(self.next(self.me))?);
        let next = match linked {
            Some(next) => next,
            None => match self.leave(cells)? {
                Some(next) => next,
                None => return Ok(()),
            },
        };
        cells.replace(self.next(self.me), 0)?;
        cells.add(self.granted(next), 1)?;
        // (5). Fails without it: models/mutex.rs, by loom_tests/tests/mutants.rs.
        flush(cells, next, Fault::McsGrantUnrung)
    }

    /// Frees the mutex if no rank queues; otherwise returns the next one.
    #[track_caller]
    fn leave<C: Cells>(&self, cells: &C) -> Result<Option<u32>, C::Error> {
        if cells.compare_and_swap(self.tail, self.name(), 0)? == self.name() {
            return Ok(None);
        }
        if cells.planted(Fault::McsAbandons) {
            return Ok(None);
        }
        cells.wait_while(self.next(self.me), 0).map(rank)
    }
}

/// The rank that a nonzero word names.
fn rank(name: u64) -> Option<u32> {
    name.checked_sub(1).map(|rank| rank as u32)
}
