//! The engine's window: what is exposed, to whom, and in which epoch this rank is.
//!
//! Untyped, and checked at run time: every rule of the standard that the library can see broken
//! is an error with its class, and a call refused by it has changed nothing. The typed face (module
//! `epoch`) sits on it and makes most of these errors impossible to write.

mod allocate;
mod assertion;
mod attributes;
mod block;
mod create;
mod fence;
mod flush;
mod foreign;
mod free;
mod grant;
mod hints;
mod lenient;
mod lock;
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
mod unmapped;
mod watch;

use crate::attribute::Attributes;
use crate::call::Call;
use crate::comm::Comm;
use crate::context::{Context, InCall};
use crate::error::{Error, Place, Result};
use crate::group::{Group, Rank};
use crate::handler::ErrorHandler;
use crate::prim::{JobFailed, WaitRecord, Waiter, Word32};
use crate::shm::{BiasedMutex, Part, Placed, PlacedSlice, is_forked};
use crate::sync::{RankWords, WindowWords};
use hints::Hints;
use lenient::Leniency;
use notify::Notifications;
use options::Making;
use plan::WindowPlan;
use refusal::{Check, Refusal};
use serial::SyncState;
use state::Epochs;
use std::panic::Location;
use std::sync::{Arc, Mutex, RwLock};
use unmapped::Unmapped;

pub(crate) use unmapped::{Target, Via};

pub use crate::sync::Held as LockType;
pub use assertion::{FenceAssert, LockAssert, PostAssert, StartAssert};
pub use attributes::{MemoryModel, WinKeyval, WindowIdentity};
pub use options::WindowOptions;
pub use torn::Torn;
pub use watch::Until;

/// A window of the engine (`MPI_Win`), as one rank sees it.
///
/// Any thread of the rank may issue operations and flushes at any time, also while another thread
/// synchronises (New RMA Design, "RMA + Threads"). While one thread waits in a call, another that
/// would wait on the same side of the window is refused ([`Error::Epoch`]); several may wait for
/// locks of different targets.
///
/// Dropping it without [`Win::free`] keeps its memory until the job ends: freeing is collective,
/// and a drop must never wait for other ranks.
pub struct Win {
    comm: Comm,
    /// That of `comm`, for the hot paths.
    context: Arc<Context>,
    /// Where those meet who live: `comm`, until the window is recovered.
    meet: Comm,
    flavour: Flavour,
    identity: WindowIdentity,
    /// Where the window's block is in the segment.
    pub(crate) block: u64,
    words: Placed<WindowWords>,
    ranks: PlacedSlice<RankWords>,
    parts: Box<[Part]>,
    notifications: Notifications,
    unmapped: Unmapped,
    epochs: Epochs,
    /// Fences that this rank has arrived at.
    fences: Word32,
    sync_state: BiasedMutex<SyncState>,
    hints: Mutex<Hints>,
    /// 1 where the hint `no_locks` is in force.
    no_locks: Word32,
    leniency: Leniency,
    attributes: Attributes<WindowIdentity>,
    handler: RwLock<ErrorHandler>,
}

/// How a window was made (`MPI_WIN_CREATE_FLAVOR`, MPI-4.1 §12.2.6).
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

impl Win {
    /// The handle of a window whose block is taken and cleared.
    fn assemble(
        making: Making<'_>,
        plan: &WindowPlan,
        block: u64,
        parts: Box<[Part]>,
    ) -> Result<Win> {
        let Making { comm, flavour, name, hints, .. } = making;
        let segment = &comm.context().segment;
        Ok(Win {
            flavour,
            identity: WindowIdentity::new(comm, flavour, name),
            block,
            words: segment.place(block + plan.words)?,
            ranks: segment.place_all(block + plan.ranks, comm.size() as usize)?,
            parts,
            notifications: Notifications::place(segment, plan, block, comm.rank().0)?,
            unmapped: Unmapped::Nothing,
            epochs: Epochs::new(comm.size()),
            fences: Word32::default(),
            sync_state: BiasedMutex::new(SyncState::default(), comm.context().shards.take_part()),
            no_locks: hints.no_locks(),
            leniency: Leniency::default(),
            hints: Mutex::new(hints),
            attributes: Attributes::default(),
            handler: RwLock::new(comm.error_handler()),
            context: comm.context().clone(),
            comm: comm.clone(),
            meet: comm.clone(),
        })
    }

    /// The communicator that the window was allocated over.
    pub fn comm(&self) -> &Comm {
        &self.comm
    }

    /// `MPI_Win_get_group`
    pub fn group(&self) -> Group {
        self.comm.group()
    }

    /// `MPI_WIN_BASE`: the address of this rank's part in this process.
    ///
    /// Reading or writing through it is for the caller to synchronise.
    pub fn base(&self) -> *mut u8 {
        let own = self.comm.rank().0;
        let mapped = self.part(own).span;
        if mapped.base().is_null() { self.private(own).base() } else { mapped.base() }
    }

    /// `MPI_WIN_CREATE_FLAVOR`
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// `MPI_WIN_SIZE` of a rank's part, in bytes.
    ///
    /// # Errors
    /// [`Error::TargetRank`]
    pub fn size(&self, rank: Rank) -> Result<u64> {
        self.check_rank(Call::WinAttribute, rank)?;
        Ok(self.bytes_of(rank.0))
    }

    /// Bytes of a rank's part, mapped or private.
    pub(crate) fn bytes_of(&self, rank: u32) -> u64 {
        self.part(rank).span.len() + self.private(rank).len()
    }

    /// `MPI_WIN_DISP_UNIT` of a rank's part, in bytes.
    ///
    /// # Errors
    /// [`Error::TargetRank`]
    pub fn disp_unit(&self, rank: Rank) -> Result<u32> {
        self.check_rank(Call::WinAttribute, rank)?;
        Ok(self.part(rank.0).disp_unit)
    }

    #[inline]
    pub(crate) fn part(&self, rank: u32) -> &Part {
        &self.parts[rank as usize]
    }

    /// The part of `rank` if an operation on it is allowed now: the hot path. Where not,
    /// [`Win::check_rank`] and [`Win::check_operation`] say why. An operation that passes all its
    /// checks calls [`Win::note_operation`].
    #[inline(always)]
    pub(crate) fn reach(&self, rank: Rank) -> Option<&Part> {
        self.parts.get(rank.0 as usize).filter(|_| self.epochs.reaches(rank.0))
    }

    #[inline]
    pub(crate) fn words_of(&self, rank: u32) -> &RankWords {
        &self.ranks[rank as usize]
    }

    #[inline]
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// As [`Comm::excluded`].
    #[inline]
    #[track_caller]
    pub(crate) fn excluded(&self) -> Waiter<'_> {
        self.meet.excluded()
    }

    /// As [`Comm::telling_waiter`].
    #[inline]
    pub(crate) fn telling_waiter<'a>(
        &'a self,
        at: &'static Location<'static>,
        tell: &'a dyn Fn(&WaitRecord),
    ) -> Waiter<'a> {
        self.meet.telling_waiter(at, tell)
    }

    #[inline(always)]
    pub(crate) fn enter(&self, call: Call) -> InCall<'_> {
        self.context().enter(call, self.block)
    }

    /// Runs the body of a call: says meanwhile that this rank is in it, and shows an error to the
    /// window's handler.
    #[inline]
    pub(crate) fn within<R>(&self, call: Call, body: impl FnOnce() -> Result<R>) -> Result<R> {
        if is_forked() {
            return self.handled(Err(self.refused(call, Rank::NULL, Refusal::Forked)));
        }
        self.within_any(call, body)
    }

    /// As [`Win::within`], of a call that is not refused in a process that the rank has forked.
    #[inline]
    pub(crate) fn within_any<R>(&self, call: Call, body: impl FnOnce() -> Result<R>) -> Result<R> {
        let _call = self.enter(call);
        self.handled(body())
    }

    /// As [`Win::enter`], for the hot paths, which end it by [`InCall::end`].
    #[inline(always)]
    pub(crate) fn report(&self, call: Call) -> InCall<'_> {
        self.enter(call)
    }

    /// Shows an error to the window's handler.
    #[inline]
    pub(crate) fn handled<R>(&self, result: Result<R>) -> Result<R> {
        if let Err(error) = &result {
            self.handle(error);
        }
        result
    }

    #[cold]
    fn handle(&self, error: &Error) {
        self.error_handler().handle(error);
    }

    #[cold]
    pub(crate) fn place(&self, call: Call) -> Place {
        Place { call, window: Some(self.identity.shown()), rank: Some(self.comm.rank().0) }
    }

    #[cold]
    pub(crate) fn job_failed(&self, failed: JobFailed, call: Call) -> Error {
        self.meet.rank_failed(failed, self.place(call))
    }

    #[inline]
    pub(crate) fn check_rank(&self, call: Call, rank: Rank) -> Result<()> {
        self.allowed(call, rank, self.may_name(rank))
    }

    /// Whether it is a rank of the window.
    #[inline(always)]
    fn may_name(&self, rank: Rank) -> Check {
        if rank.0 < self.comm.size() { Ok(()) } else { Err(Refusal::NoSuchRank) }
    }

    /// Whether this rank may issue an operation on `target` now.
    pub(crate) fn check_operation(&self, call: Call, target: u32) -> Result<()> {
        self.allowed(call, Rank(target), self.epochs.may_operate(target))
    }

    /// Notes that an operation has passed every check.
    #[inline(always)]
    pub(crate) fn note_operation(&self) {
        self.epochs.operated();
    }

    /// Whether this rank is in any access epoch, which an operation on no target needs too.
    pub(crate) fn check_any_access(&self, call: Call) -> Result<()> {
        self.allowed(call, Rank::NULL, self.epochs.may_operate_on_none())
    }
}
