//! The ranks of a communicator: their numbers, waits for them, and which have failed. Messages use only
//! this part of a communicator.

use crate::call::Call;
use crate::context::Context;
use crate::error::{Error, Place, Result};
use crate::group::{Group, Rank};
use crate::prim::{
    Awaited, AwaitedKind, Failure, JobFailed, ParkWord, Progress, WaitRecord, Waiter,
};
use crate::shm::Scope;
use crate::sync::{Arrivals, BarrierWords, Round};
use std::panic::Location;
use std::sync::Arc;

/// The members of one communicator, and this rank as one of them.
pub(crate) struct CommMembers {
    pub(super) context: Arc<Context>,
    pub(super) group: Group,
    /// The ranks whose failure ends the waits of this one.
    pub(super) scope: Scope,
    pub(super) rank: u32,
    /// What distinguishes its messages: the same on all ranks, and different for every communicator of
    /// the job.
    pub(super) identity: [u64; 2],
}

impl CommMembers {
    #[inline]
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    #[inline]
    pub(crate) fn rank(&self) -> u32 {
        self.rank
    }

    #[inline]
    pub(crate) fn size(&self) -> u32 {
        self.group.size()
    }

    /// What distinguishes its messages from those of other communicators. The first number is a multiple
    /// of four, which leaves space for the channels.
    #[inline]
    pub(crate) fn identity(&self) -> [u64; 2] {
        self.identity
    }

    /// The world's rank that `rank` of this communicator is, if it is one.
    #[inline]
    pub(crate) fn world_rank(&self, rank: u32) -> Option<u32> {
        self.group.members().get(rank as usize).copied()
    }

    /// The world's ranks that take part, in order.
    #[inline]
    pub(crate) fn world_ranks(&self) -> &[u32] {
        self.group.members()
    }

    /// The rank of this communicator that the world's rank `world` has.
    #[inline]
    pub(crate) fn rank_of_world(&self, world: u32) -> Option<Rank> {
        self.group.rank_of_world(world)
    }

    /// The waiter of this rank for others of the communicator.
    #[inline]
    pub(crate) fn waiter(&self) -> Waiter<'_> {
        self.context.waiter_in(&self.scope)
    }

    /// The waiter of this rank for one of them inside an exclusion of the library's own.
    #[inline]
    #[track_caller]
    pub(crate) fn excluded(&self) -> Waiter<'_> {
        self.context.excluded_in(&self.scope)
    }

    /// The waiter of a call that the program has made at `at`; asleep, it records by `describe` what it
    /// waits for. Meanwhile it makes progress for other ranks.
    #[inline]
    pub(crate) fn recording_waiter<'a>(
        &'a self,
        at: &'static Location<'static>,
        describe: &'a dyn Fn(&WaitRecord),
    ) -> Waiter<'a> {
        let progress = Some(&*self.context as &dyn Progress);
        Waiter { progress, ..self.context.recording_waiter(&self.scope, at, describe) }
    }

    /// What a rank waits for at a barrier of all ranks, where they arrive by `words`, that it has come to in
    /// round `before`.
    pub(crate) fn arrival<S: AsRef<ParkWord>>(
        &self,
        barrier: &BarrierWords,
        words: Arrivals<'_, S>,
        before: Round,
    ) -> Awaited<'_> {
        let (round, come) = words.count(before, self.size());
        Awaited {
            kind: AwaitedKind::Arrival,
            others: self.world_ranks(),
            come,
            awaited: self.size(),
            number: round.number().into(),
            object: self.context.object(barrier),
            ..Awaited::default()
        }
    }

    /// The error of a wait that ended because one of them failed.
    #[cold]
    pub(crate) fn rank_failed(&self, _: JobFailed, at: Place) -> Error {
        Error::RankFailed { at, failed: Rank(self.first_failed()), lock_of: None }
    }

    /// The rank of the job to name in such an error.
    #[cold]
    pub(crate) fn first_failed(&self) -> u32 {
        self.context.named(&self.scope)
    }

    /// Whether a rank of this communicator has failed, or the job ends.
    #[inline]
    pub(crate) fn has_lost_any(&self) -> bool {
        self.scope.is_set()
    }

    /// The rank of the job that is rank `rank` here, if it has failed.
    pub(crate) fn failed_rank(&self, rank: u32) -> Option<u32> {
        self.world_rank(rank).filter(|world| self.context.has_lost(&self.scope, *world))
    }

    #[cold]
    pub(crate) fn place(&self, call: Call) -> Place {
        Place { call, window: None, rank: Some(Rank(self.rank)) }
    }

    /// The other side of a message, as a rank of the job.
    pub(crate) fn peer(&self, call: Call, peer: Rank) -> Result<u32> {
        let no_peer = || Error::Peer { at: self.place(call), peer, ranks: self.size() };
        self.world_rank(peer.0).ok_or_else(no_peer)
    }

    /// A rank of the communicator other than this one, as a rank of the job.
    #[inline]
    pub(crate) fn partner(&self, rank: Rank) -> Option<u32> {
        self.world_rank(rank.0).filter(|partner| *partner != self.context.rank)
    }

    /// The error for a buffer whose elements lie too far apart.
    #[cold]
    pub(crate) fn too_far(&self, call: Call) -> Error {
        Error::Reach { at: self.place(call), buffer: "the buffer".into() }
    }
}
