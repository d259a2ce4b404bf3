//! A counter between ranks.

use super::words::{Agreed, NEXT_LINES, Words};
use crate::protocol::Cell;
use crate::protocol::counter::{Sharded, take_tickets};
#[cfg(doc)]
use onesided::Error;
use onesided::{Call, Comm, Rank, Result};

/// Two counts of the ranks of a communicator, both zero at first and modulo 2⁶⁴. To the *sum* every rank
/// adds in its own part, by a local atomic addition. *Tickets* are unique numbers drawn at one rank.
///
/// It orders no other accesses; the program's synchronisation does. Any thread may use it at any time.
///
/// ```no_run
/// # fn main() -> onesided::Result<()> {
/// # let universe = onesided::Universe::init()?;
/// use onesided_tools::DistributedCounter;
/// let counter = DistributedCounter::new(universe.world())?;
/// loop {
///     let iteration = counter.take_tickets(1)?;
///     if iteration >= 1000 {
///         break;
///     }
///     counter.add(iteration % 7)?;
/// }
/// universe.world().barrier()?;
/// println!("{}", counter.read()?);
/// counter.free()
/// # }
/// ```
pub struct DistributedCounter {
    words: Words,
    sum: Sharded,
    tickets: Cell,
    me: u32,
}

/// Index of the word of the tickets at their home; the shards of the sum are at 0.
const TICKETS: u64 = NEXT_LINES;

impl DistributedCounter {
    /// Creates a counter; its tickets are drawn at rank 0.
    ///
    /// Collective over `comm`; blocks until every rank has called it. The outcome is the same on all
    /// ranks.
    ///
    /// # Errors
    /// [`Error::NoMemory`], [`Error::RankFailed`].
    #[track_caller]
    pub fn new(comm: &Comm) -> Result<DistributedCounter> {
        let home = Rank(0);
        let agreed = Agreed { name: "counter", home, parameters: [("", 0), ("", 0)] };
        let bytes = |is_home| 8 * if is_home { TICKETS + 1 } else { 1 };
        let words = Words::new(comm, &agreed, bytes)?;
        let sum = Sharded { shard: 0, ranks: comm.size() };
        let tickets = Cell { rank: home.0, index: TICKETS };
        Ok(DistributedCounter { words, sum, tickets, me: comm.rank().0 })
    }

    /// Adds `n` to the sum; to subtract, add `n.wrapping_neg()`. Local; never blocks.
    ///
    /// # Errors
    /// None at present.
    pub fn add(&self, n: u64) -> Result<()> {
        self.sum.add(self.words.during(Call::FetchAndOp)?, self.me, n)
    }

    /// The sum. Additions during the call may be included or not, in any order. The sum is exact when no
    /// rank adds; for one reader it never decreases while no rank subtracts.
    ///
    /// Local; never blocks. It costs one load of each rank's part.
    ///
    /// # Errors
    /// None at present.
    pub fn read(&self) -> Result<u64> {
        self.sum.read(self.words.during(Call::FetchAndOp)?)
    }

    /// Draws the next `n` tickets and returns the first; the others are the `n - 1` numbers after it.
    /// Tickets begin with 0. With `n` = 0 it returns the next ticket without drawing it.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// None at present.
    pub fn take_tickets(&self, n: u64) -> Result<u64> {
        take_tickets(self.words.during(Call::FetchAndOp)?, self.tickets, n)
    }

    /// Frees the counter's memory.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Mismatch`], [`Error::RankFailed`].
    #[track_caller]
    pub fn free(self) -> Result<()> {
        self.words.free()
    }
}
