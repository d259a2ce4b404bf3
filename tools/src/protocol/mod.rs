//! The protocols of the mutex, the queue and the counter: atomic operations on 64-bit words of a window.
//!
//! They are written once over [`Cells`]. A window implements it by its operations inside an access epoch
//! (`words.rs`). The models of `loom_tests/` compile this folder and implement it by words of their own.

pub mod counter;
pub mod mcs;
pub mod queue;

/// A 64-bit word of a window: a rank, and the index of the word in that rank's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Whose part.
    pub rank: u32,
    /// Which word, as the implementation counts.
    pub index: u64,
}

/// Atomic operations on the words of a window. All are atomic against each other, relaxed, and
/// complete when they return. Only `flush` and `wait_while` order memory.
pub trait Cells {
    /// The reason why an operation failed or a wait ended early.
    type Error;

    /// Reads a word (`MPI_Fetch_and_op` with `MPI_NO_OP`).
    fn fetch(&self, at: Cell) -> Result<u64, Self::Error>;

    /// Replaces a word and returns its value before (`MPI_REPLACE`).
    fn replace(&self, at: Cell, value: u64) -> Result<u64, Self::Error>;

    /// Adds to a word, wrapping, and returns its value before (`MPI_SUM`).
    fn add(&self, at: Cell, n: u64) -> Result<u64, Self::Error>;

    /// Replaces `expected` by `new`, and returns the value before in either case.
    fn compare_and_swap(&self, at: Cell, expected: u64, new: u64) -> Result<u64, Self::Error>;

    /// `MPI_Win_flush`: a full barrier, which orders all accesses of this rank, to every target. It
    /// wakes those who wait for a word of `rank`.
    fn flush(&self, rank: u32) -> Result<(), Self::Error>;

    /// Retries `attempt`, awake, for about a millisecond; returns whether it succeeded.
    fn contend(
        &self,
        attempt: impl FnMut() -> Result<bool, Self::Error>,
    ) -> Result<bool, Self::Error>;

    /// Waits while the word is `value`, and returns the one that it has then. A full barrier follows.
    /// A rank that changes the word flushes its rank.
    #[track_caller]
    fn wait_while(&self, at: Cell, value: u64) -> Result<u64, Self::Error>;

    /// Whether the mutation run of the models has planted `fault`.
    fn planted(&self, fault: Fault) -> bool {
        let _ = fault;
        false
    }
}

/// Faults that the mutation run of the models plants, one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A mutex is left without waiting for the name of a successor.
    McsAbandons,
    /// A mutex is granted without observing what its last holder published.
    McsUnobserved,
    /// A mutex is left without publishing the holder's accesses.
    McsUnpublished,
    /// A waiter links itself to its predecessor and does not ring.
    McsLinkUnrung,
    /// A holder hands the mutex over and does not ring.
    McsGrantUnrung,
    /// A slot of a queue is passed on before it is used.
    QueueEarly,
    /// A slot of a queue is used without observing what the other side published.
    QueueUnobserved,
    /// A slot of a queue is passed on without publishing its item.
    QueueUnpublished,
    /// A slot of a queue is passed on without a ring of the bell.
    QueueUnrung,
    /// A shard of a counter is read and written instead of added to.
    CountSplit,
    /// The word of an exact counter is read and written instead of added to.
    TicketSplit,
}

/// A flush that a protocol needs; only a mutant of the models leaves it out.
fn flush<C: Cells>(cells: &C, rank: u32, left_out: Fault) -> Result<(), C::Error> {
    if cells.planted(left_out) { Ok(()) } else { cells.flush(rank) }
}
