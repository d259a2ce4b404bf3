//! What the protocols above windows ask of a window: atomic operations on 64-bit words.
//!
//! The mutex, the queue and the counter are written once over [`Cells`]. The window implements it
//! by its operations inside an access epoch; the models implement it by words of their own.

/// A 64-bit word of a window: a rank, and the index of the word in that rank's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Whose part.
    pub rank: u32,
    /// Which word, as the implementation counts.
    pub index: u64,
}

/// Atomic operations on the words of a window. All are atomic against each other, relaxed, and done
/// when they return; only `flush` and `wait_until` order memory.
pub trait Cells {
    /// Why an operation was refused, or a wait ended early.
    type Error;

    /// Reads a word (`MPI_Fetch_and_op` with `MPI_NO_OP`).
    fn fetch(&self, at: Cell) -> Result<u64, Self::Error>;

    /// Replaces a word and returns what it was (`MPI_REPLACE`).
    fn replace(&self, at: Cell, value: u64) -> Result<u64, Self::Error>;

    /// Adds to a word, wrapping, and returns what it was (`MPI_SUM`).
    fn add(&self, at: Cell, n: u64) -> Result<u64, Self::Error>;

    /// Replaces `expected` by `new`, and returns what the word was in any case.
    fn compare_and_swap(&self, at: Cell, expected: u64, new: u64) -> Result<u64, Self::Error>;

    /// The MEM_SYNC of `MPI_Win_flush`, a full barrier, and [`super::watch::ring`] for `rank`. It
    /// orders all accesses of this rank, to whichever target.
    fn flush(&self, rank: u32) -> Result<(), Self::Error>;

    /// [`crate::prim::Waiter::contend`].
    fn contend(
        &self,
        attempt: impl FnMut() -> Result<bool, Self::Error>,
    ) -> Result<bool, Self::Error>;

    /// Waits until the word is `ready`, and returns it: [`super::watch::until`] with the bell of
    /// the word's rank, and so with its MEM_SYNC after it. Who changes the word flushes its rank.
    fn wait_until(&self, at: Cell, ready: impl Fn(u64) -> bool) -> Result<u64, Self::Error>;
}

/// A flush that a protocol needs; `left_out` by a fault of the models only.
pub(super) fn flush<C: Cells>(cells: &C, rank: u32, left_out: bool) -> Result<(), C::Error> {
    if left_out { Ok(()) } else { cells.flush(rank) }
}
