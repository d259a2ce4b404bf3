//! Counters over window operations: one that is cheap to add to, one that is exact.
//!
//! None of these operations orders memory. A rank that passes a synchronisation (a fence; a flush
//! and a message) sees the counts added before it. The models rely on nothing more.

use super::{Cell, Cells, Fault};

/// A counter to which every rank adds in its own part: no line travels between processors until a
/// rank reads the sum. Zero words are its initial state.
#[derive(Clone, Copy, Debug)]
pub struct Sharded {
    /// Index, in every rank's part, of that rank's word.
    pub shard: u64,
    /// Ranks that have a shard.
    pub ranks: u32,
}

impl Sharded {
    /// Adds `n`, modulo 2⁶⁴, to the shard of `me`. Never blocks.
    pub fn add<C: Cells>(&self, cells: &C, me: u32, n: u64) -> Result<(), C::Error> {
        let at = Cell { rank: me, index: self.shard };
        if cells.planted(Fault::CountSplit) {
            return cells.fetch(at).and_then(|now| cells.replace(at, now + n)).map(drop);
        }
        // Atomic, because the threads of a rank share its shard.
        cells.add(at, n).map(drop)
    }

    /// The sum of all shards, modulo 2⁶⁴. Never blocks.
    ///
    /// Additions during the call may be counted or not, in any order. The sum is exact when no rank
    /// adds; for one reader it never decreases while no rank subtracts.
    pub fn read<C: Cells>(&self, cells: &C) -> Result<u64, C::Error> {
        let shard = |rank| cells.fetch(Cell { rank, index: self.shard });
        (0..self.ranks).try_fold(0, |sum: u64, rank| Ok(sum.wrapping_add(shard(rank)?)))
    }
}

/// Adds `n`, modulo 2⁶⁴, to the one word of an exact counter, and returns the value before: no two
/// ranks get the same tickets. Never blocks.
pub fn take_tickets<C: Cells>(cells: &C, at: Cell, n: u64) -> Result<u64, C::Error> {
    if cells.planted(Fault::TicketSplit) {
        let now = cells.fetch(at)?;
        return cells.replace(at, now.wrapping_add(n)).map(|_| now);
    }
    cells.add(at, n)
}
