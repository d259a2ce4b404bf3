//! Communicators: who takes part, and the collectives that windows and programs need.
//!
//! A collective moves its data through staging buffers of the segment, two per rank, used in
//! turn: one barrier per chunk is then enough, because nobody can be two barriers ahead
//! (`loom_tests/tests/collective.rs`). Every chunk carries a description of the call, so ranks
//! that disagree about what they are doing all get an error instead of each other's bytes.

mod collectives;
mod exchange;

use crate::call::Call;
use crate::error::{Place, Result};
use crate::group::{Group, Rank};
use crate::sync::{self, Round};
use crate::universe::Context;
use exchange::Description;
use std::sync::{Arc, Mutex, MutexGuard};

/// A communicator: a group of ranks that communicate among themselves. Cheap to clone.
#[derive(Clone)]
pub struct Comm {
    inner: Arc<Inner>,
}

struct Inner {
    context: Arc<Context>,
    group: Group,
    rank: u32,
    meeting: Mutex<Meeting>,
}

/// Where this rank is in the communicator's sequence of collectives.
#[derive(Clone, Copy, Default)]
struct Meeting {
    round: Round,
    /// Which of the two staging buffers the next chunk uses.
    odd: bool,
    /// Windows allocated over this communicator so far.
    windows: u32,
}

impl Comm {
    pub(crate) fn world(context: Arc<Context>) -> Comm {
        let group = Group::world(context.ranks);
        let rank = context.rank;
        let inner = Inner { context, group, rank, meeting: Mutex::default() };
        Comm { inner: Arc::new(inner) }
    }

    /// `MPI_Comm_rank`: this process's rank, from 0 to `size() - 1`.
    pub fn rank(&self) -> u32 {
        self.inner.rank
    }

    /// `MPI_Comm_size`
    pub fn size(&self) -> u32 {
        self.inner.group.size()
    }

    /// `MPI_Comm_group`
    pub fn group(&self) -> Group {
        self.inner.group.clone()
    }

    /// `MPI_Barrier`: blocks until every rank has called it. What any rank wrote before its call
    /// is visible to every rank after its own.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) on all ranks if another rank calls something
    /// else; [`Error::RankFailed`](crate::Error::RankFailed).
    pub fn barrier(&self) -> Result<()> {
        let _call = self.context().enter(Call::Barrier, 0);
        self.exchange(Description::bare(Call::Barrier), &[]).map(drop)
    }

    fn synchronise(&self, call: Call) -> Result<()> {
        let context = self.context();
        let words = context.segment.world_barrier()?;
        let round = &mut self.meeting().round;
        sync::collective(words, self.size(), round, &context.waiter())
            .map_err(|failed| context.job_failed(failed, self.place(call)))
    }

    fn meeting(&self) -> MutexGuard<'_, Meeting> {
        self.inner.meeting.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.inner.context
    }

    fn place(&self, call: Call) -> Place {
        Place { call, window: None, rank: Some(self.rank()) }
    }

    /// Counts a window and returns its number, the same on all ranks.
    pub(crate) fn count_window(&self) -> u32 {
        let windows = &mut self.meeting().windows;
        *windows += 1;
        *windows - 1
    }

    /// The rank of this communicator that the world's rank `world` has.
    pub(crate) fn rank_of_world(&self, world: u32) -> Option<Rank> {
        self.inner.group.rank_of_world(world)
    }
}

/// Test builds only: signals that do not use what is under test.
#[cfg(feature = "test-hooks")]
impl Comm {
    /// Raises signal `number` (below 16) by one. It orders nothing but itself.
    pub fn signal(&self, number: usize) {
        let signals = self.context().segment.signals().expect("the layout has signals");
        signals[number].add_and_wake(1);
    }

    /// Blocks until signal `number` has been raised `times` times since the job began.
    pub fn await_signal(&self, number: usize, times: u32) {
        let signals = self.context().segment.signals().expect("the layout has signals");
        let raised = self.context().waiter().until(&signals[number], |raised| raised >= times);
        raised.expect("the job goes on");
    }
}
