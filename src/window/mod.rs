//! The untyped window: what is exposed, to whom, and in which epoch this rank is.
//!
//! Checked at run time: a call that visibly breaks a rule of the standard returns an error with its
//! class, and has changed nothing. The typed API (module `epoch`) is built on it and makes most of these
//! errors impossible to write.

//!
//! A [`Win`] is made of parts, and each module of calls gets those that it may touch. Synchronising calls
//! ([`serial::Synchronization`]) cannot reach the memory; communication calls ([`Communication`]) cannot
//! reach the words by which ranks synchronise. [`win`] lists all calls.

mod allocate;
mod assertion;
mod attributes;
mod block;
mod calls;
mod create;
mod dynamic;
mod fence;
mod flush;
mod foreign;
mod free;
mod grant;
mod hints;
mod left;
mod lenient;
mod lock;
mod memory;
mod notify;
mod options;
mod plan;
mod posts;
mod pscw;
mod recover;
mod refusal;
mod serial;
mod state;
mod torn;
mod transport;
mod watch;
mod win;

use crate::attribute::Attributes;
use crate::call::Call;
use crate::check::{CheckedWindow, WindowRanks};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::shm::{BiasedMutex, Parts, WindowHeader};
use hints::Hinted;
use memory::{Unmapped, span_of_part};
use notify::Notifications;
use options::Making;
use plan::WindowPlan;
use serial::{SyncParts, SyncState};
use std::sync::Arc;
use transport::{Aside, Transport};

pub(crate) use calls::Calls;
pub(crate) use left::LeftEpoch;
pub(crate) use memory::{Atomicity, ExposedMemory, LateParts, Target};

pub use crate::sync::LockType;
pub use assertion::{FenceAssert, LockAssert, PostAssert, StartAssert};
pub use attributes::{MemoryModel, WinKeyval, WindowIdentity};
pub use options::WindowOptions;
pub use torn::Torn;
pub use watch::Until;

/// A window of the engine (`MPI_Win`), as one rank sees it.
///
/// Any thread of the rank may issue operations and flushes at any time, also while another thread
/// synchronises (New RMA Design, "RMA + Threads"). While a thread waits in a call, a second call that
/// would wait on the same side of the window is refused ([`Error::Epoch`]); several threads may wait for
/// locks of different targets.
///
/// Dropping it without [`Win::free`] keeps its memory until the job ends, and rank 0 then warns of it.
/// Freeing is collective, and a drop must never wait for other ranks.
///
/// ```
/// use onesided::{Op, Rank, WindowOptions};
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let win = WindowOptions::new().allocate_bytes(world, 8, 8)?;
/// win.fence()?;
/// win.accumulate(&[u64::from(world.rank().0) + 1], Op::Sum, Rank(0), 0)?;
/// win.fence()?;
/// let mut sum = [0_u64];
/// win.load(0, &mut sum)?;
/// assert_eq!(sum[0], if world.rank() == 0 { 3 } else { 0 });
/// win.free()?;
/// # Ok(())
/// # });
/// ```
pub struct Win {
    pub(crate) calls: Calls,
    pub(crate) memory: ExposedMemory,
    sync: SyncParts,
    notifications: Notifications,
    hints: Hinted,
    attributes: Attributes<WindowIdentity>,
}

impl std::fmt::Debug for Win {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let identity = &self.calls.identity;
        let mut win = f.debug_struct("Win");
        win.field("name", &identity.name())
            .field("flavour", &identity.flavour())
            .finish_non_exhaustive()
    }
}

/// The parts that a communication call is given (MPI-4.1 §12.3).
#[derive(Clone, Copy)]
pub(crate) struct Communication<'w> {
    pub(crate) calls: &'w Calls,
    pub(crate) memory: &'w ExposedMemory,
}

/// How a window was made (`MPI_WIN_CREATE_FLAVOR`, MPI-4.1 §12.2.6).
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let window = Window::<u8>::allocate_shared(universe.world(), 1)?;
/// assert_eq!(window.flavour(), onesided::Flavour::Shared);
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// `MPI_WIN_FLAVOR_CREATE`
    Create,
    /// `MPI_WIN_FLAVOR_ALLOCATE`
    Allocate,
    /// `MPI_WIN_FLAVOR_DYNAMIC`
    Dynamic,
    /// `MPI_WIN_FLAVOR_SHARED`
    Shared,
}

impl Flavour {
    /// The call that makes such windows.
    fn call(self) -> Call {
        match self {
            Flavour::Create => Call::WinCreate,
            Flavour::Allocate => Call::WinAllocate,
            Flavour::Dynamic => Call::WinCreateDynamic,
            Flavour::Shared => Call::WinAllocateShared,
        }
    }
}

impl Making<'_> {
    /// What a checked job knows of the window's accesses; `None` in another one.
    fn checked(
        &self,
        plan: &WindowPlan,
        block: u64,
        (parts, unmapped): (&Parts, &Unmapped),
    ) -> Result<Option<Arc<CheckedWindow>>> {
        let Making { comm, flavour, name, hints, .. } = self;
        let Some(checker) = comm.context().checker() else { return Ok(None) };
        let rank = comm.rank().0;
        let bytes: Vec<_> =
            (0..comm.size()).map(|rank| span_of_part(parts, unmapped, rank).len()).collect();
        let of = WindowRanks {
            rank,
            world: comm.world_ranks(),
            own: span_of_part(parts, unmapped, rank),
            mapped: (0..comm.size()).map(|rank| parts.part(rank).span).collect(),
            spans: (0..comm.size()).map(|rank| span_of_part(parts, unmapped, rank)).collect(),
            is_shared: *flavour == Flavour::Shared,
            is_dynamic: *flavour == Flavour::Dynamic,
            ops: hints.concurrent_ops,
            takes_part: comm.context().shards.take_part(),
        };
        let (segment, at) = (&comm.context().segment, (block, block + plan.check));
        let window = Arc::new(CheckedWindow::place(segment, at, name, of, bytes.into_iter())?);
        let is_hidden = *flavour == Flavour::Allocate;
        checker.watch(&window, &comm.context().excluded(), is_hidden);
        Ok(Some(window))
    }

    /// The handle of a window, from its block, which is taken and cleared, and its mapped and other
    /// parts.
    fn assemble(
        self,
        plan: &WindowPlan,
        block: u64,
        (parts, unmapped): (Parts, Unmapped),
    ) -> Result<Win> {
        let Making { comm, flavour, number, .. } = self;
        let segment = &comm.context().segment;
        let ranks = || segment.place_all(block + plan.ranks, comm.ranks().len());
        let mark = WindowHeader::mark(block, number);
        // The block of a window of another MPI is this rank's alone.
        let other = unmapped.foreign().cloned();
        let number = if other.is_some() { u64::from(number) } else { block };
        let elsewhere = other.clone();
        let tree = segment.place_all(block + plan.tree.0, plan.tree.1 as usize)?;
        let check = self.checked(plan, block, (&parts, &unmapped))?;
        let Making { name, hints, .. } = self;
        let aside = other.map(Aside::Foreign).or(check.clone().map(Aside::Checked));
        let own = span_of_part(&parts, &unmapped, comm.rank().0);
        comm.context().created_window(mark, own.len(), &name, || hints.shown());
        let is_observed = comm.context().is_observed();
        let words = segment.place(block + plan.words)?;
        let transport = Transport::new(words, ranks()?, tree, aside, is_observed);
        let state = SyncState::new(hints.no_locks(), transport.is_foreign());
        let state = BiasedMutex::new(state, comm.context().may_prefer());
        let is_late = comm.context().checker().is_some_and(|checker| checker.is_late);
        let calls = || {
            let identity = WindowIdentity::new(comm, flavour, name.clone());
            Calls::new(identity, (block, mark), number, check.clone())
        };
        let memory = ExposedMemory::new(parts, unmapped, ranks()?, is_observed)?;
        let memory = if is_late { memory.late(calls(), ranks()?) } else { memory };
        Ok(Win {
            memory,
            calls: calls(),
            sync: SyncParts { state, transport },
            notifications: Notifications::place(segment, plan, block, comm.rank().0)?.by(elsewhere),
            hints: Hinted::new(hints),
            attributes: Attributes::default(),
        })
    }
}
