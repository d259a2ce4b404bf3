//! Atomic operations on 64-bit words of a window, as the mutex, the queue and the counter use them.
//!
//! These protocols are written once over [`Cells`]. A window implements it by its operations inside
//! an access epoch; the models implement it by words of their own.

/// A 64-bit word of a window: a rank, and the index of the word in that rank's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Whose part.
    pub rank: u32,
    /// Which word, as the implementation counts.
    pub index: u64,
}

/// Atomic operations on the words of a window. All are atomic against each other, relaxed, and
/// complete when they return. Only `flush` and `wait_until` order memory.
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

    /// The MEM_SYNC of `MPI_Win_flush`, a full barrier, and [`super::watch::ring`] for `rank`. It
    /// orders all accesses of this rank, to every target.
    fn flush(&self, rank: u32) -> Result<(), Self::Error>;

    /// [`crate::prim::Waiter::contend`].
    fn contend(
        &self,
        attempt: impl FnMut() -> Result<bool, Self::Error>,
    ) -> Result<bool, Self::Error>;

    /// Waits until the word is `ready`, and returns it: [`super::watch::until`] with the bell of
    /// the word's rank, and its MEM_SYNC after it. A rank that changes the word flushes its rank.
    fn wait_until(&self, at: Cell, ready: impl Fn(u64) -> bool) -> Result<u64, Self::Error>;
}

/// A flush that a protocol needs; only a mutant of the models leaves it out.
pub(super) fn flush<C: Cells>(cells: &C, rank: u32, left_out: bool) -> Result<(), C::Error> {
    if left_out { Ok(()) } else { cells.flush(rank) }
}
