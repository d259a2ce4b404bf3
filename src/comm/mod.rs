//! Communicators: their ranks, and what the collectives of programs and windows have in common.
//!
//! A short collective moves its data through staging buffers of the segment, which consecutive collectives
//! use in turn (`rounds.rs`; `loom_tests/tests/models/collective.rs`). Every contribution carries a
//! description of the call, so ranks that disagree all get an error instead of each other's bytes.
//!
//! Invariants:
//! 1. Each communicator of two or more ranks has barrier words and staging buffers of its own, its
//!    *shared block*. So collectives on different communicators never interfere, on any threads.
//! 2. A rank has one collective at a time in progress on a communicator ([`Comm::begin`]).
//! 3. The last live rank that leaves a shared block frees it. A rank leaves when it has freed the
//!    communicator and has no handle of it any more, also none in a window or request.
//! 4. A communicator is made on all its members or on none.

mod calls;
mod create;
mod create_group;
mod description;
mod exchange;
mod foreign;
mod free;
mod handles;
mod members;
pub(crate) mod outcome;
mod reduction;
mod rounds;
mod shared;
mod shrink;

use crate::attribute::Keyval;
use crate::call::Call;
use crate::context::Context;
use crate::error::{Error, Place, Result};
use crate::group::{Group, Rank};
use crate::prim::{JobFailed, ParkWord, WaitRecord, Waiter, Word32};
use crate::shm::is_forked;
pub(crate) use description::{ANY_ROOT, Description, part_digest};
pub(crate) use exchange::{CHUNK, Collective, Staged};
use foreign::OtherComm;
use handles::Attached;
pub(crate) use members::CommMembers;
pub(crate) use rounds::CollectiveEntry;
use rounds::Sequence;
use shared::SharedBlock;
use std::panic::Location;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

pub use create::SplitType;
pub(crate) use create::{CreationVote, Duplicate};
pub(crate) use reduction::{Function, sealed::OpKind};
pub use reduction::{Reduction, UserOp};

/// An attribute key of communicators.
pub type CommKeyval<T> = Keyval<Comm, T>;

/// A communicator: a group of ranks that communicate among themselves.
///
/// Cheap to clone: clones are handles of the same communicator, as copies of an `MPI_Comm` are;
/// [`Comm::dup`] makes another communicator. Any thread of the rank may use it, but MPI allows one
/// collective at a time on a communicator (MPI-2.2 §12.4.2). If a second thread of a rank begins one, it
/// gets [`Error::Communicator`] (class COMM), and the other ranks do not notice. So use a communicator
/// for each thread.
///
/// A collective is a call that all ranks of the communicator make, in the same order. All collectives
/// report an error on every rank if ranks disagree about call, root, operation, type or length
/// ([`Error::Mismatch`]), and if a rank of the job fails ([`Error::RankFailed`]).
///
/// Of a short broadcast, scatter, reduce or gather the root or the other ranks need not wait (MPI-4.1
/// §6.1: a call may return as soon as the rank's part is complete). Such a rank reports a mismatch at a
/// later blocking collective on the communicator, which it carries out: at the next one that waits for
/// all ranks, or at the latest 8 collectives later. With `--on-failure=continue` all ranks wait.
///
/// Memory: a communicator of two or more ranks has 18 KiB for each in the segment (16.5 KiB above 64
/// ranks), from its creation until all of them have called [`Comm::free`]. Without that call it has them
/// until the job ends.
#[derive(Clone)]
pub struct Comm {
    inner: Arc<Inner>,
    purpose: Purpose,
}

/// The use of a handle.
#[derive(Clone, Copy)]
enum Purpose {
    /// Calls, which are refused once the communicator has been freed.
    Calls,
    /// Calls of earlier requests, which continue (MPI-4.1 §7.4.3).
    Requests,
    /// The same for the persistent collective with that number.
    Collective(u32),
    /// Calls that return when what they start is complete on this rank.
    Waiting,
    /// Calls that only compare the ranks' descriptions.
    Agreeing,
}

struct Inner {
    members: CommMembers,
    /// `None` for a communicator of one rank, or of another MPI.
    shared: Option<SharedBlock>,
    /// The other MPI's communicator, unless this one has one rank.
    other: Option<OtherComm>,
    /// The order of its collectives.
    sequence: Mutex<Sequence>,
    /// Nonzero when it has an error of an earlier collective to report.
    has_mismatch: Word32,
    /// Changes when a slot becomes free that a thread waits for.
    left: ParkWord,
    /// Locked by the thread that makes a blocking collective.
    collective_lock: Mutex<()>,
    /// The thread that holds it.
    thread_inside: Mutex<Option<ThreadId>>,
    /// Windows made over this communicator so far.
    windows: Word32,
    /// Persistent ones that have been made.
    persistent: Word32,
    /// Tags of partitioned messages that this rank has used on it.
    partitions: Word32,
    /// Nonzero once this rank has freed it: calls are refused, except those of existing windows and
    /// requests. 2 when the other MPI's is freed, too.
    freed: Word32,
    /// The program cannot free the job's own communicators.
    permanent: bool,
    attached: Attached,
}

impl Inner {
    fn new(
        context: Arc<Context>,
        group: Group,
        shared: Option<SharedBlock>,
        foreign: Option<crate::foreign::ForeignComm>,
    ) -> Inner {
        let rank = group.rank_of_world(context.rank).map_or(Rank::NULL, |rank| rank).0;
        let scope = context.scope(group.members().iter().copied());
        let identity = match &shared {
            Some(shared) => [shared.block, shared.words.made.load()],
            // Only this process sees its messages. No block has this offset.
            None => [u64::MAX - 3, context.count_alone()],
        };
        debug_assert!(identity[0].is_multiple_of(4), "blocks are aligned");
        Inner {
            members: CommMembers { context, group, scope, rank, identity },
            shared,
            other: foreign.map(OtherComm::new),
            sequence: Mutex::default(),
            has_mismatch: Word32::default(),
            left: ParkWord::default(),
            collective_lock: Mutex::default(),
            thread_inside: Mutex::default(),
            windows: Word32::default(),
            persistent: Word32::default(),
            partitions: Word32::default(),
            freed: Word32::default(),
            permanent: false,
            attached: Attached::default(),
        }
    }

    fn permanent(mut self, name: &str) -> Comm {
        self.permanent = true;
        self.attached.set_name(name);
        self.handle()
    }

    /// The first handle.
    fn handle(self) -> Comm {
        Comm { inner: Arc::new(self), purpose: Purpose::Calls }
    }
}

/// The numbers of collectives, which wrap around; those of the persistent ones follow.
pub(crate) const NUMBERS: u32 = 1 << 22;

impl Comm {
    pub(crate) fn world(context: Arc<Context>) -> Result<Comm> {
        let group = Group::world(context.ranks);
        let foreign = context.foreign;
        let shared = match context.ranks {
            1 => None,
            _ if foreign.is_some() => None,
            _ => Some(SharedBlock::world(&context.segment)?),
        };
        Ok(Inner::new(context, group, shared, foreign).permanent("MPI_COMM_WORLD"))
    }

    /// The communicator of this rank alone.
    pub(crate) fn myself(context: Arc<Context>) -> Comm {
        let group = Group::of([context.rank]);
        Inner::new(context, group, None, None).permanent("MPI_COMM_SELF")
    }

    /// `MPI_Comm_rank`: this process's rank, from 0 to `size() - 1`.
    pub fn rank(&self) -> Rank {
        Rank(self.inner.members.rank)
    }

    /// Its ranks, in ascending order.
    pub fn ranks(&self) -> impl DoubleEndedIterator<Item = Rank> + ExactSizeIterator + use<> {
        self.inner.members.group.ranks()
    }

    /// `MPI_Comm_size`
    pub fn size(&self) -> u32 {
        self.inner.members.size()
    }

    /// `MPI_Comm_group`
    pub fn group(&self) -> Group {
        self.inner.members.group.clone()
    }

    /// Runs the body of a call: records meanwhile that this rank is in it, and passes an error to the
    /// communicator's handler.
    pub(crate) fn within<R>(&self, call: Call, body: impl FnOnce() -> Result<R>) -> Result<R> {
        if is_forked() {
            return self.handled(Err(Error::Forked { at: self.place(call) }));
        }
        let _call = self.context().enter(call, 0);
        self.handled(self.check_alive(call).and_then(|()| body()))
    }

    /// Runs the body of a collective.
    #[track_caller]
    pub(crate) fn collectively<R>(
        &self,
        call: Call,
        body: impl FnOnce(&mut Collective<'_>) -> Result<R>,
    ) -> Result<R> {
        let at = Location::caller();
        self.within(call, || body(&mut self.begin(call, at)?))
    }

    /// Passes an error to the communicator's handler.
    pub(crate) fn handled<R>(&self, result: Result<R>) -> Result<R> {
        if let Err(error) = &result {
            // A copy, because the function may replace the handler.
            self.error_handler().handle(error);
        }
        result
    }

    /// Refuses a communicator that has been freed.
    pub(crate) fn check_alive(&self, call: Call) -> Result<()> {
        match self.is_freed() {
            false => Ok(()),
            true => Err(self.problem(call, "the communicator has been freed")),
        }
    }

    #[inline]
    pub(crate) fn is_freed(&self) -> bool {
        self.inner.freed.load() != 0
            && !matches!(self.purpose, Purpose::Requests | Purpose::Collective(_))
    }

    /// A handle for a request, which can still start and complete it after the communicator was freed
    /// (MPI-4.1 §7.4.3). Local; does not block.
    pub fn for_requests(&self) -> Comm {
        Comm { inner: self.inner.clone(), purpose: Purpose::Requests }
    }

    /// A handle for one persistent collective, which starts it any number of times, each after the start
    /// before is complete. Starts of different handles have no order among them (MPI-4.1 §6.13). Still
    /// valid after the communicator was freed, as that of [`Comm::for_requests`].
    ///
    /// Collective, counted with the other calls of this function; does not block.
    pub fn for_persistent_collective(&self) -> Comm {
        let purpose = Purpose::Collective(self.inner.persistent.fetch_add(1));
        Comm { inner: self.inner.clone(), purpose }
    }

    #[cold]
    fn problem(&self, call: Call, problem: &str) -> Error {
        Error::Communicator { at: self.place(call), problem: problem.into() }
    }

    /// Its ranks, the only part of it that messages need.
    #[inline]
    pub(crate) fn members(&self) -> &CommMembers {
        &self.inner.members
    }

    #[inline]
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.inner.members.context
    }

    /// How this rank waits for others of the communicator.
    #[inline]
    pub(crate) fn waiter(&self) -> Waiter<'_> {
        self.inner.members.waiter()
    }

    /// How this rank waits for one of them that is inside an exclusion of the library's own.
    #[inline]
    #[track_caller]
    pub(crate) fn excluded(&self) -> Waiter<'_> {
        self.inner.members.excluded()
    }

    /// [`Comm::waiter`] in a call that the program has made at `at`; asleep, it records by `describe`
    /// what it waits for. Meanwhile it makes progress for other ranks.
    #[inline]
    pub(crate) fn recording_waiter<'a>(
        &'a self,
        at: &'static Location<'static>,
        describe: &'a dyn Fn(&WaitRecord),
    ) -> Waiter<'a> {
        self.inner.members.recording_waiter(at, describe)
    }

    fn shared(&self) -> Result<&SharedBlock> {
        self.inner.shared.as_ref().ok_or_else(no_block)
    }

    /// The offset of its shared block in the segment, the same for all its ranks; zero if it needs none.
    pub(crate) fn block_offset(&self) -> u64 {
        self.inner.shared.as_ref().map_or(0, |shared| shared.block)
    }

    /// The error of such a wait that ended because one of them failed.
    #[cold]
    pub(crate) fn rank_failed(&self, failed: JobFailed, at: Place) -> Error {
        self.inner.members.rank_failed(failed, at)
    }

    /// Which rank of the job to name in such an error.
    #[cold]
    pub(crate) fn first_failed(&self) -> u32 {
        self.inner.members.first_failed()
    }

    /// Whether a rank has failed, of this communicator or of a job that does not go on.
    #[inline]
    pub(crate) fn has_lost_any(&self) -> bool {
        self.inner.members.has_lost_any()
    }

    /// The rank of the job that is rank `rank` here, if it has failed.
    pub(crate) fn failed_rank(&self, rank: u32) -> Option<u32> {
        self.inner.members.failed_rank(rank)
    }

    #[cold]
    pub(crate) fn place(&self, call: Call) -> Place {
        self.inner.members.place(call)
    }

    /// Counts a window and returns its number, the same on all ranks.
    pub(crate) fn count_window(&self) -> u32 {
        self.inner.windows.fetch_add(1)
    }

    /// The same communicator for blocking calls: a collective is complete when its start returns.
    pub fn waiting(self) -> Comm {
        Comm { purpose: Purpose::Waiting, ..self }
    }

    /// The same communicator for the initialisation of persistent collectives, which is nonlocal (MPI-4.1
    /// §6.13). A collective on it waits until all ranks have started it, compares their descriptions, and
    /// moves nothing. Later starts need not compare again.
    pub fn agreeing(&self) -> Comm {
        Comm { inner: self.inner.clone(), purpose: Purpose::Agreeing }
    }

    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.purpose, Purpose::Waiting | Purpose::Agreeing)
    }

    pub(crate) fn is_agreeing(&self) -> bool {
        matches!(self.purpose, Purpose::Agreeing)
    }

    /// Whether collectives use a staging area, or another MPI in its place.
    pub(crate) fn has_staging(&self) -> bool {
        self.inner.shared.is_some() || self.inner.other.is_some()
    }

    /// The number of the messages of this persistent collective. Its starts have the same order on each
    /// rank, and so have its messages.
    pub(crate) fn persistent_number(&self) -> Option<u32> {
        match self.purpose {
            Purpose::Collective(number) => Some(NUMBERS + number % NUMBERS),
            _ => None,
        }
    }

    /// Reserves that many tags for messages to this rank, and returns the first.
    pub(crate) fn count_partitions(&self, tags: u32) -> u32 {
        self.inner.partitions.fetch_add(tags)
    }

    /// The world's rank that `rank` of this communicator is, if it is one.
    pub(crate) fn world_rank(&self, rank: u32) -> Option<u32> {
        self.inner.members.world_rank(rank)
    }

    /// The world's ranks that take part, in order.
    pub(crate) fn world_ranks(&self) -> &[u32] {
        self.inner.members.world_ranks()
    }

    /// The rank of this communicator that the world's rank `world` has.
    pub(crate) fn rank_of_world(&self, world: u32) -> Option<Rank> {
        self.inner.members.rank_of_world(world)
    }
}

#[cold]
fn no_block() -> Error {
    Error::Damaged { what: "communicator without memory" }
}

/// Test builds only: signals that do not depend on the code under test.
#[cfg(feature = "test-hooks")]
impl Comm {
    /// Raises signal `number` (below 16) by one. It orders nothing but itself.
    pub fn signal(&self, number: usize) {
        let signals = self.context().segment.signals().expect("the layout has signals");
        signals[number].add_and_wake(1);
    }

    /// The address of the segment, and its parts: name, first byte, end.
    pub fn segment_regions(&self) -> (*mut u8, [(&'static str, u64, u64); 11]) {
        let segment = &self.context().segment;
        let base = segment.mapping().at(0, 0).expect("the mapping has a beginning");
        (base, segment.layout().regions())
    }

    /// Blocks until signal `number` has been raised `times` times since the job began.
    pub fn await_signal(&self, number: usize, times: u32) {
        let signals = self.context().segment.signals().expect("the layout has signals");
        let raised = self.context().waiter().until(&signals[number], |raised| raised >= times);
        raised.expect("the job goes on");
    }

    /// [`Comm::await_signal`] for a signal that all ranks of this communicator raise together.
    ///
    /// # Errors
    /// [`Error::RankFailed`]
    pub fn await_signal_of_members(&self, number: usize, times: u32) -> Result<()> {
        let signals = self.context().segment.signals().expect("the layout has signals");
        let raised = self.waiter().until(&signals[number], |raised| raised >= times);
        raised.map(drop).map_err(|failed| self.rank_failed(failed, self.place(Call::None)))
    }
}
