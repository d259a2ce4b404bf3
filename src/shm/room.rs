//! The words of communicators: where the members of one meet, and the registry by which those
//! find each other who have no communicator in common yet.

use crate::prim::{Word32, Word64};
use crate::sync::{BarrierWords, Gathering, Line, MAX_RANKS, RobustExclusion};

/// Where the members of a communicator meet: the head of its block. The staging buffers follow.
///
/// What follows the barrier is read and written by whoever is in the registry alone, except
/// `gathering`, on which members wait.
#[repr(C, align(128))]
pub(crate) struct RoomWords {
    pub(crate) barrier: BarrierWords,
    /// Members that have come to make the communicator by themselves.
    pub(crate) gathering: Gathering,
    /// Members that will not use the room any more.
    pub(crate) left: RankSet,
    /// What they make it with: tag, parent, and number of members, who are named in order in the
    /// first staging buffers until all have come.
    pub(crate) tag: Word32,
    pub(crate) parent: Word64,
    pub(crate) members: Word32,
    /// The block of the next room whose members have not all come, or zero.
    pub(crate) next: Word64,
    /// When the room was made: another number for each that has been at its place.
    pub(crate) made: Word64,
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
    /// Who has heard it.
    pub(crate) aware: RankSet,
}

/// Ranks of the world, changed by one rank at a time. Zero bytes are the empty set.
#[repr(transparent)]
pub(crate) struct RankSet([Word64; MAX_RANKS.div_ceil(64) as usize]);

impl RankSet {
    pub(crate) fn contains(&self, rank: u32) -> bool {
        let word = self.0.get((rank / 64) as usize);
        word.is_some_and(|word| word.load() & 1 << (rank % 64) != 0)
    }

    /// `rank` is one of the job's.
    pub(crate) fn insert(&self, rank: u32) {
        let word = &self.0[(rank / 64) as usize];
        word.store(word.load() | 1 << (rank % 64));
    }

    pub(crate) fn clear(&self) {
        self.0.iter().for_each(|word| word.store(0));
    }
}
