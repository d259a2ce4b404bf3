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
use std::cell::Cell;
use std::rc::Rc;

/// A communicator: a group of ranks that communicate among themselves. Cheap to clone.
#[derive(Clone)]
pub struct Comm {
    inner: Rc<Inner>,
}

struct Inner {
    context: Rc<Context>,
    group: Group,
    rank: u32,
    round: Cell<Round>,
    /// Which of the two staging buffers the next chunk uses.
    odd: Cell<bool>,
    /// Windows allocated over this communicator so far.
    windows: Cell<u32>,
}

impl Comm {
    pub(crate) fn world(context: Rc<Context>) -> Comm {
        let group = Group::world(context.ranks);
        let rank = context.rank;
        let (round, odd, windows) = Default::default();
        let inner = Inner { context, group, rank, round, odd, windows };
        Comm { inner: Rc::new(inner) }
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
        let mut round = self.inner.round.get();
        let words = context.segment.world_barrier()?;
        let passed = sync::collective(words, self.size(), &mut round, &context.waiter());
        self.inner.round.set(round);
        passed.map_err(|failed| context.job_failed(failed, self.place(call)))
    }

    pub(crate) fn context(&self) -> &Rc<Context> {
        &self.inner.context
    }

    fn place(&self, call: Call) -> Place {
        Place { call, window: None, rank: Some(self.rank()) }
    }

    /// Counts a window and returns its number, the same on all ranks.
    pub(crate) fn count_window(&self) -> u32 {
        self.inner.windows.replace(self.inner.windows.get() + 1)
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
