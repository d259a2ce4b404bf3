//! Ranks as a type: what errors, calls and groups name.

use bytemuck::{Pod, Zeroable};

/// A rank in the group of the call's window or communicator.
///
/// It is a type of its own, so that a rank and a displacement cannot be swapped. It is made of a number
/// by `Rank(3)` or `Rank::from(3)`, and compares with numbers.
///
/// ```
/// use onesided::Rank;
///
/// let rank = Rank::from(3);
/// assert!(rank == 3 && u64::from(rank) == 3 && rank.index() == 3);
/// assert_eq!(rank.to_string(), "3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct Rank(pub u32);

impl Rank {
    /// `MPI_PROC_NULL`: as a target, the operation does nothing (MPI-2.2 §11.3).
    pub const NULL: Rank = Rank(u32::MAX);

    /// Its number, as the index of a list with an entry for each rank.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<u32> for Rank {
    fn from(number: u32) -> Rank {
        Rank(number)
    }
}

impl From<Rank> for u32 {
    fn from(rank: Rank) -> u32 {
        rank.0
    }
}

impl From<Rank> for u64 {
    fn from(rank: Rank) -> u64 {
        rank.0.into()
    }
}

impl PartialEq<u32> for Rank {
    fn eq(&self, number: &u32) -> bool {
        self.0 == *number
    }
}

impl std::fmt::Display for Rank {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Rank::NULL { f.write_str("MPI_PROC_NULL") } else { self.0.fmt(f) }
    }
}
