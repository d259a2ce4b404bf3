//! The words of communicators: the block of one, and the registry in which ranks find each other
//! before they have a communicator in common.

use super::layout::{SLOTS, STAGE_BEGINNING};
use crate::prim::{ParkWord, Word32, Word64};
use crate::sync::{BarrierWords, Gathering, Line, MAX_RANKS, RobustExclusion};
use std::mem::offset_of;

/// The head of a communicator's block; the staging buffers follow.
///
/// The words after the barriers are read and written under the registry's lock only, except
/// `gathering`, on which members wait.
#[repr(C, align(128))]
pub(crate) struct CommWords {
    /// Of each slot of the staging area.
    pub(crate) barriers: [BarrierWords; SLOTS],
    /// Members that have arrived to create the communicator.
    pub(crate) gathering: Gathering,
    /// Members that will not use the block any more.
    pub(crate) left: RankSet,
    /// Nonzero once a rank has arrived that has to be woken by its bell: from then on, who arrives last
    /// looks for such ranks. Published with its arrival.
    pub(crate) rings: Word32,
    /// How many ranks share a processor, as the rank has counted them that has taken the buffers below, for decisions that
    /// are the same on all ranks. Published with its arrival.
    pub(crate) sharing: Word32,
    /// Where the staging buffers for longer data are, once the first rank has taken them; zero before,
    /// and where there is no memory for them. Published with its arrival.
    pub(crate) longs: Word64,
    /// The arguments of the creation: tag, parent, and number of members. The first staging buffers
    /// beside the beginnings have the members in order until all have arrived.
    pub(crate) tag: Word32,
    pub(crate) parent: Word64,
    pub(crate) members: Word32,
    /// The next block whose members have not all arrived, or zero.
    pub(crate) next: Word64,
    /// A number that distinguishes the communicators whose blocks have been at this offset.
    pub(crate) made: Word64,
}

/// What one rank stages for one collective: the beginning of its staging buffer.
#[repr(C, align(128))]
pub(crate) struct StagingSlot {
    /// The call, as the communicator's module describes it.
    pub(crate) description: [Word64; 5],
    /// Changes when the rank has staged.
    pub(crate) published: ParkWord,
    /// A contribution of at most that many bytes. A longer one is in a buffer of its own.
    inside: [Word64; STAGE_INSIDE as usize / 8],
}

impl AsRef<ParkWord> for StagingSlot {
    #[inline(always)]
    fn as_ref(&self) -> &ParkWord {
        &self.published
    }
}

/// Bytes of a contribution that lies beside its description.
pub(crate) const STAGE_INSIDE: u64 = 80;
/// Where it begins.
pub(super) const INSIDE_AT: u64 = offset_of!(StagingSlot, inside) as u64;
const _: () = assert!(size_of::<StagingSlot>() as u64 == STAGE_BEGINNING);

/// The registry of the job's communicators.
#[repr(C, align(128))]
pub(crate) struct RegistryWords {
    /// The guarded data is consistent after each store, so a failure inside needs no repair.
    pub(crate) lock: Line<RobustExclusion>,
    /// The first block whose members have not all arrived, or zero.
    pub(crate) first: Word64,
    /// Failed creations recorded so far.
    pub(crate) failures_noted: Word64,
    pub(crate) failures: [CreationFailure; FAILURES],
}

/// Failed creations that are remembered at the same time; the next one replaces the oldest.
pub(crate) const FAILURES: usize = 16;

/// Why a communicator could not be created, until all its members have read it.
#[repr(C)]
pub(crate) struct CreationFailure {
    /// An increasing number; zero for a free entry.
    pub(crate) number: Word64,
    /// Identifies parent, tag and members.
    pub(crate) key: Word64,
    /// Members that have not read it.
    pub(crate) unaware: Word64,
    /// Kind and bytes, in the format of the communicator's module.
    pub(crate) what: [Word64; 2],
    /// Members that have read it.
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
