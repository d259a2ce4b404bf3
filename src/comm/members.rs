//! The ranks of a communicator: who they are, how one waits for them, and which have failed. It is all of a
//! communicator that messages touch.

use crate::call::Call;
use crate::context::Context;
use crate::error::{Error, Place, Result};
use crate::group::{Group, Rank};
use crate::prim::{Failure, JobFailed, Progress, WaitRecord, Waiter};
use crate::shm::Scope;
use std::panic::Location;
use std::sync::Arc;

/// The members of one communicator, and this rank as one of them.
pub(crate) struct CommMembers {
    pub(super) context: Arc<Context>,
    pub(super) group: Group,
    /// The ranks whose failure ends the waits of this one.
    pub(super) scope: Scope,
    pub(super) rank: u32,
    /// What its messages are distinguished by: the same on all ranks, and of no other
    /// communicator that the job has had.
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

    /// What its messages are distinguished from those of other communicators by; multiples of four first, which
    /// leaves space for the channels.
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

    /// How this rank waits for others of the communicator.
    #[inline]
    pub(crate) fn waiter(&self) -> Waiter<'_> {
        self.context.waiter_in(&self.scope)
    }

    /// How this rank waits for one of them that is inside an exclusion of the library's own.
    #[inline]
    #[track_caller]
    pub(crate) fn excluded(&self) -> Waiter<'_> {
        self.context.excluded_in(&self.scope)
    }

    /// The waiter of a call that the program has made at `at`; asleep, it records by `describe` what it waits for.
    /// Meanwhile it makes progress on what others wait for.
    #[inline]
    pub(crate) fn recording_waiter<'a>(
        &'a self,
        at: &'static Location<'static>,
        describe: &'a dyn Fn(&WaitRecord),
    ) -> Waiter<'a> {
        let progress = Some(&*self.context as &dyn Progress);
        Waiter { progress, ..self.context.recording_waiter(&self.scope, at, describe) }
    }

    /// The error of such a wait that ended because one of them failed.
    #[cold]
    pub(crate) fn rank_failed(&self, _: JobFailed, at: Place) -> Error {
        Error::RankFailed { at, failed: Rank(self.first_failed()), lock_of: None }
    }

    /// Which rank of the job to name in such an error.
    #[cold]
    pub(crate) fn first_failed(&self) -> u32 {
        self.scope.named()
    }

    /// Whether a rank has failed, of this communicator or of a job that does not go on.
    #[inline]
    pub(crate) fn has_lost_any(&self) -> bool {
        self.scope.is_set()
    }

    /// The rank of the job that is rank `rank` here, if it has failed.
    pub(crate) fn failed_rank(&self, rank: u32) -> Option<u32> {
        self.world_rank(rank).filter(|world| self.scope.has_lost(*world))
    }

    #[cold]
    pub(crate) fn place(&self, call: Call) -> Place {
        Place { call, window: None, rank: Some(Rank(self.rank)) }
    }

    /// The rank of the job that the other side of a message is.
    pub(crate) fn peer(&self, call: Call, peer: Rank) -> Result<u32> {
        let no_peer = || Error::Peer { at: self.place(call), peer, ranks: self.size() };
        self.world_rank(peer.0).ok_or_else(no_peer)
    }

    /// The rank of the job that a rank of the communicator is, if it is another one than this.
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
