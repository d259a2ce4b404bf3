//! A process's membership in its job.

use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, Place, Result};
use crate::foreign;
use crate::launch::{self, Membership};
use crate::prim::{
    Account, Awaited, AwaitedKind, Duties, Failure, JobFailed, ParkWord, Patience, Placement, Step,
    WaitRecord, Waiter, Word32, hide_lines, step,
};
use crate::shm::{
    AllocError, NoticeBoard, Placed, Process, RankSlot, Scope, Segment, SegmentPlacement, Stripes,
    WriteRecords, is_forked, notice_forks,
};
use std::any::Any;
use std::panic::Location;
use std::sync::{Arc, Mutex, OnceLock};

/// Whether this process has joined its job. A lock and not a cell: a second thread may try too.
static JOINED: Mutex<bool> = Mutex::new(false);

/// This process as a rank of its job, from [`Universe::init`] until it is dropped.
///
/// Its handles may be used by any thread (`MPI_THREAD_MULTIPLE`); of each call that its threads may
/// not make at the same time, the documentation says so.
/// When the universe and every handle made from it are dropped, except while panicking, the
/// launcher knows that this rank has finished in good order; a rank that ends otherwise fails
/// the job.
pub struct Universe {
    world: Comm,
    myself: Comm,
}

impl Universe {
    /// `MPI_Init`: joins the job that `rmarun` has started this process for, or makes a job of
    /// one rank if it was started without. Once per process. Local; does not block.
    ///
    /// Where another MPI's launcher has started it, it joins that job by that MPI, which may block
    /// until all ranks do (docs/foreign.md).
    ///
    /// # Errors
    /// [`Error::AlreadyInitialised`]; [`Error::NotInJob`] if the environment is wrong, or if
    /// another process has joined as this rank before (a script that runs two programs).
    pub fn init() -> Result<Universe> {
        let mut joined = JOINED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if *joined {
            return Err(Error::AlreadyInitialised);
        }
        let context = Arc::new(Context::new(launch::join()?)?);
        notice_forks()?;
        let (world, myself) = (Comm::world(context.clone())?, Comm::myself(context.clone()));
        // The counters of the segment go on from where a rank has left them, so nobody can take
        // its place.
        step(Step::Mapped);
        if !context.slot.joined.set_first() {
            let what = format!("another process has joined it as rank {} before", context.rank);
            return Err(Error::NotInJob { what });
        }
        context.slot.pid.store(std::process::id());
        *joined = true;
        step(Step::Joined);
        Ok(Universe { world, myself })
    }

    /// For bindings of other languages: lets reports of deadlocks name no lines of this process, because
    /// those that call are the binding's, and the program's are not known. Local.
    pub fn hide_lines(&self) {
        hide_lines();
    }

    /// Leaves the job whatever handles there are, for bindings of other languages, in which a program
    /// need not free them: as dropping the universe and all of them, which nobody uses any more. Local;
    /// does not block.
    pub fn leave(self) {
        let context = self.world.context().clone();
        drop(self);
        context.leave();
    }

    /// `MPI_COMM_WORLD`
    pub fn world(&self) -> &Comm {
        &self.world
    }

    /// `MPI_COMM_SELF`: the communicator of this rank alone. Its collectives do not block, and what
    /// is made from it costs no memory of the segment.
    pub fn self_comm(&self) -> &Comm {
        &self.myself
    }
}

/// `MPI_Finalize`: deletes the attributes of [`Universe::self_comm`], the latest first, upon which
/// their callbacks run while everything else still works (MPI-4.1 §11.2.4). The world's attributes
/// are dropped without their callbacks, and so are the error handlers of both.
impl Drop for Universe {
    fn drop(&mut self) {
        if !std::thread::panicking() && !is_forked() {
            // A callback that refuses cannot keep the process from leaving.
            let _ = self.myself.delete_attributes();
            self.myself.let_go();
            self.world.let_go();
            if let Some(kept) = self.world.context().kept.get() {
                kept.let_go();
            }
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Test builds only.
#[cfg(feature = "test-hooks")]
impl Universe {
    /// Vouches that one thread of this rank makes all its calls, though it may have others (the
    /// standard test harness gives a test one of its own): rmarun may then find it blocked.
    pub fn vouch_for_one_thread(&self) {
        self.world.context().slot.one_thread.store(1);
    }
}

/// All that is known to who waits before an exclusion of the library.
fn say_excluded(record: &WaitRecord) {
    record.say(&Awaited { kind: AwaitedKind::Exclusion, ..Awaited::default() });
}

/// What a layer above keeps for this process.
pub(crate) trait Kept: Any + Send + Sync {
    /// As [`Duties::bell`].
    fn bell(&self) -> Option<&ParkWord>;
    /// As [`Duties::work`].
    fn work(&self, context: &Context) -> bool;
    /// The process leaves the job: drops what has a handle of its own of the process's context.
    fn let_go(&self);
}

impl Duties for Context {
    fn bell(&self) -> Option<&ParkWord> {
        self.kept.get()?.bell()
    }

    fn work(&self) -> bool {
        self.kept.get().is_some_and(|kept| kept.work(self))
    }
}

/// What every handle of a process shares.
pub(crate) struct Context {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    /// The world of the other MPI, if its launcher has started the job. The segment is then this
    /// process's alone.
    pub(crate) foreign: Option<foreign::Comm>,
    /// The rank of this process in the segment.
    here: u32,
    pub(crate) segment: Arc<Segment>,
    notice: Arc<NoticeBoard>,
    /// Of waits for nobody in particular: the failure of a rank ends them if it ends the job.
    job: Scope,
    /// Whether somebody may be left to ask what this rank was writing when it failed.
    records: bool,
    patience: Patience,
    pub(crate) stripes: Stripes,
    slot: Placed<RankSlot>,
    /// Communicators of this rank alone that have been made.
    alone: Word32,
    /// What a layer above keeps for this process.
    kept: OnceLock<Box<dyn Kept>>,
}

impl Context {
    fn new(member: Membership) -> Result<Context> {
        let segment = Arc::new(member.segment);
        let here = if member.foreign.is_some() { 0 } else { member.rank };
        let slot = segment.place(segment.slot_offset(here))?;
        let notice = Arc::new(member.notice);
        Ok(Context {
            rank: member.rank,
            ranks: member.ranks,
            foreign: member.foreign,
            here,
            patience: Patience::at(Placement::join(
                here,
                Box::new(SegmentPlacement::new(&segment)?),
            )),
            job: Scope::of(&notice, []),
            records: notice.continues(),
            stripes: Stripes::join(&segment, here)?,
            notice,
            segment,
            slot,
            alone: Word32::default(),
            kept: OnceLock::new(),
        })
    }

    /// Says that this rank has left the job in good order, once.
    fn leave(&self) {
        // A process that the rank has forked, and that ends, does not end the rank.
        if std::thread::panicking() || is_forked() || self.slot.finished.is_set() {
            return;
        }
        step(Step::Finishing);
        self.slot.finished.set();
        if self.foreign.is_some() {
            foreign::leave_well();
        }
        step(Step::Finished);
    }

    /// Counts a communicator of this rank alone.
    pub(crate) fn count_alone(&self) -> u64 {
        self.alone.fetch_add(1).into()
    }

    /// What a layer above keeps for this process, the first time made by `make`. One type only.
    pub(crate) fn keep<T: Kept>(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        let kept = match self.kept.get() {
            Some(kept) => kept,
            None => {
                let made = Box::new(make()?);
                self.kept.get_or_init(|| made)
            }
        };
        let kept: &dyn Any = &**kept;
        Ok(kept.downcast_ref().expect("one layer keeps one type"))
    }

    /// What [`Context::keep`] keeps, if it has been made.
    #[inline]
    pub(crate) fn kept<T: Kept>(&self) -> Option<&T> {
        let kept: &dyn Any = &**self.kept.get()?;
        kept.downcast_ref()
    }

    /// The call that this rank says it is in.
    pub(crate) fn call(&self) -> Call {
        self.slot.doing().0
    }

    /// The process that has joined as that rank of the job, as it numbers itself.
    pub(crate) fn process(&self, rank: u32) -> Result<Process> {
        // No other process is ever reached under another MPI.
        let near = if self.foreign.is_some() { self.here } else { rank };
        Ok(Process::numbered(self.segment.slot(near)?.pid.load() as i32))
    }

    /// How this process waits for nobody in particular.
    #[cfg(feature = "test-hooks")]
    pub(crate) fn waiter(&self) -> Waiter<'_> {
        self.waiter_in(&self.job)
    }

    /// How this process waits for the ranks of a scope.
    #[inline]
    pub(crate) fn waiter_in<'a>(&'a self, scope: &'a Scope) -> Waiter<'a> {
        let (failed, patience) = (scope, &self.patience);
        Waiter { rank: self.here, failed, patience, account: None, duties: None }
    }

    /// How this process waits for one that is inside an exclusion of the library's own.
    #[inline]
    #[track_caller]
    pub(crate) fn excluded(&self) -> Waiter<'_> {
        self.excluded_in(&self.job)
    }

    /// As [`Context::excluded`], for an exclusion between the ranks of a scope.
    #[inline]
    #[track_caller]
    pub(crate) fn excluded_in<'a>(&'a self, scope: &'a Scope) -> Waiter<'a> {
        self.telling_waiter(scope, Location::caller(), &say_excluded)
    }

    /// As [`Context::waiter_in`], in a call that the program has made at `at`; asleep, it says by
    /// `tell` what it waits for.
    #[inline]
    pub(crate) fn telling_waiter<'a>(
        &'a self,
        scope: &'a Scope,
        at: &'static Location<'static>,
        tell: &'a dyn Fn(&WaitRecord),
    ) -> Waiter<'a> {
        let account =
            Some(Account { record: &self.slot.wait, doing: self.slot.doing_word(), at, tell });
        Waiter { account, ..self.waiter_in(scope) }
    }

    /// Whether the job goes on although ranks have failed.
    pub(crate) fn goes_on(&self) -> bool {
        !self.job.is_set()
    }

    /// The scope of some ranks of the job.
    pub(crate) fn scope(&self, ranks: impl IntoIterator<Item = u32>) -> Scope {
        Scope::of(&self.notice, ranks)
    }

    /// Where words that ranks meet at are in the segment.
    pub(crate) fn meeting<T>(&self, words: &T) -> u64 {
        self.segment.offset_of(std::ptr::from_ref(words).cast(), 0).unwrap_or_default()
    }

    /// Says in the segment which call this rank is in, until the guard is dropped.
    #[inline]
    pub(crate) fn enter(&self, call: Call, window: u64) -> InCall<'_> {
        self.slot.set_doing(call, window);
        InCall { slot: &self.slot }
    }

    /// As [`Context::enter`], until [`Said::end`]: for the hot paths, which have no way out that a
    /// guard would have to watch.
    #[inline(always)]
    pub(crate) fn say(&self, call: Call, window: u64) -> Said<'_> {
        let slot = &*self.slot;
        slot.set_doing(call, window);
        Said { slot }
    }

    /// Where this rank says what it writes, if somebody may ever want to know.
    #[inline(always)]
    pub(crate) fn records(&self) -> Option<&WriteRecords> {
        self.records.then(|| &self.slot.writing)
    }

    /// The error of a wait for nobody in particular that ended because the job failed.
    pub(crate) fn job_failed(&self, _: JobFailed, at: Place) -> Error {
        Error::RankFailed { at, failed: self.job.named(), lock_of: None }
    }

    /// What the allocator, asked for that many bytes, has said.
    pub(crate) fn refusal(&self, error: AllocError, at: Place, requested: u64) -> Error {
        match error {
            AllocError::JobFailed => self.job_failed(JobFailed, at),
            AllocError::Other(error) => error,
            AllocError::Short { available, limit } => {
                Error::NoMemory { at, requested, available, limit: limit.name() }
            }
        }
    }
}

/// Until this is ended, the launcher's report names the call. Where it is dropped instead, another
/// way of the same call says so again.
#[must_use = "the call is under way until it is ended"]
pub(crate) struct Said<'a> {
    slot: &'a RankSlot,
}

impl Said<'_> {
    #[inline(always)]
    pub(crate) fn end(self) {
        self.slot.set_doing(Call::None, 0);
    }
}

/// While this lives, the launcher's report names the call.
pub(crate) struct InCall<'a> {
    slot: &'a RankSlot,
}

impl Drop for InCall<'_> {
    #[inline]
    fn drop(&mut self) {
        // A rank that panics inside a call keeps saying so: the launcher reports it.
        if !std::thread::panicking() {
            self.slot.set_doing(Call::None, 0);
        }
    }
}
