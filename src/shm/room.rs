//! The words of communicators: where the members of one meet, and the registry by which those
//! find each other who have no communicator in common yet.

use crate::prim::{ParkWord, Word32, Word64};
use crate::sync::{BarrierWords, Line, MAX_RANKS, RobustExclusion};

/// Where the members of a communicator meet: the head of its block. The staging buffers follow.
///
/// What follows the barrier is read and written by whoever is in the registry alone, except
/// `arrived`, on which members wait.
#[repr(C, align(128))]
pub(crate) struct RoomWords {
    pub(crate) barrier: BarrierWords,
    /// Members that have come to make the communicator by themselves.
    pub(crate) arrived: ParkWord,
    /// Members that have dropped the last handle of the communicator after it was freed.
    pub(crate) left: Word32,
    /// What they make it with: tag, parent, and number of members, who are named in order in the
    /// first staging buffers until all have come.
    pub(crate) tag: Word32,
    pub(crate) parent: Word64,
    pub(crate) members: Word32,
    /// The block of the next room whose members have not all come, or zero.
    pub(crate) next: Word64,
}

/// What is common to all communicators of the job.
#[repr(C, align(128))]
pub(crate) struct RegistryWords {
    /// What a rank changes inside is whole after each of its stores: there is nothing to mend.
    pub(crate) lock: Line<RobustExclusion>,
    /// The block of the first room whose members have not all come, or zero.
    pub(crate) first: Word64,
    /// Failures noted so far.
    pub(crate) failures_noted: Word64,
    pub(crate) failures: [Failure; FAILURES],
}

/// Failures that can wait to be told at the same time; the oldest gives way to the next.
pub(crate) const FAILURES: usize = 16;

/// Why a communicator could not be made, until all its members have heard it.
#[repr(C)]
pub(crate) struct Failure {
    /// When it was noted: larger than that of earlier ones; zero for a free place.
    pub(crate) number: Word64,
    /// Tells parent, tag and members.
    pub(crate) key: Word64,
    /// Members that have yet to hear it.
    pub(crate) unaware: Word64,
    /// Kind and bytes, as the communicator's module writes them.
    pub(crate) what: [Word64; 2],
    /// One bit for each rank of the world: it has heard it.
    pub(crate) aware: [Word64; MAX_RANKS.div_ceil(64) as usize],
}
