//! The data that all handles of a process share: its rank and segment, how it waits, and its call
//! record.

use crate::call::Call;
use crate::check::{Checker, Frequency, Resting};
use crate::datatype::find_vectors;
use crate::error::{Error, Place, Result};
use crate::foreign;
use crate::launch::{self, Figures, JobLauncher, JobWatch, Membership, Sharers};
use crate::prim::{
    Account, Awaited, AwaitedKind, Backoff, Failure, JobFailed, ParkWord, Placement, Progress,
    Step, WaitLog, WaitRecord, Waiter, Word32, has_binding, monotonic, step,
};
use crate::rank::Rank;
use crate::shm::{
    AllocError, CallRecorder, CallWord, NoticeBoard, Placed, Process, RankSlot, Scope, Segment,
    SegmentPlacement, Shards, WriteRecords, is_forked,
};
use crate::statistics::{RankStatistics, Statistics};
use crate::trace::EventLog;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The record of a wait for an exclusion of the library.
fn describe_exclusion(record: &WaitRecord) {
    record.set(&Awaited { kind: AwaitedKind::Exclusion, ..Awaited::default() });
}

/// The progress that a process makes while it waits: implemented by a layer above.
pub(crate) trait ProgressEngine: Send + Sync {
    /// See [`Progress::bell`].
    fn bell(&self) -> Option<&ParkWord>;
    /// See [`Progress::work`].
    fn work(&self, context: &Context) -> bool;
    /// What the program has left to do.
    fn left(&self, context: &Context) -> Left;
    /// The process leaves the job: drops the objects that have a handle of the context.
    fn abandon(&self);
}

/// What a program that leaves the job should have done before, in words.
#[derive(Default)]
pub(crate) struct Left {
    pub(crate) not_completed: Option<String>,
    pub(crate) not_received: Option<String>,
}

impl Progress for Context {
    fn bell(&self) -> Option<&ParkWord> {
        self.progress.get()?.bell()
    }

    fn polls(&self) -> bool {
        self.foreign.is_some() || self.has_host
    }

    fn work(&self) -> bool {
        if self.has_host {
            foreign::host().iter().for_each(foreign::ForeignComm::help);
        }
        match (self.progress.get(), &self.foreign) {
            (Some(progress), _) => progress.work(self),
            (None, foreign) => {
                foreign.iter().for_each(foreign::ForeignComm::help);
                false
            }
        }
    }
}

/// The data that all handles of a process share.
pub(crate) struct Context {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    /// The world of another MPI, if that carries what ranks exchange that do not share the segment.
    pub(crate) foreign: Option<foreign::ForeignComm>,
    /// The first rank of the job that can share memory with this one.
    pub(crate) node: u32,
    pub(crate) sharers: Sharers,
    pub(crate) launcher: Option<JobLauncher>,
    /// The number of this rank in the segment.
    pub(crate) here: u32,
    pub(crate) segment: Arc<Segment>,
    notice: Arc<NoticeBoard>,
    /// The scope of waits for no rank in particular: a failure ends them if it ends the job.
    job: Scope,
    /// Whether survivors may ask what this rank was writing when it failed.
    records: bool,
    backoff: Backoff,
    pub(crate) shards: Shards,
    /// In a job that is checked for conflicts.
    checker: Option<Box<Checker>>,
    /// In a job whose calls are counted or traced.
    statistics: Option<Arc<Statistics>>,
    slot: Placed<RankSlot>,
    /// Its last calls: in the slot, unless the job keeps none.
    calls: Placed<CallRecorder>,
    /// The number of communicators that this rank has numbered.
    numbered: Word32,
    progress: OnceLock<&'static dyn ProgressEngine>,
    /// `rmarun --strict`
    is_strict: bool,
    /// Whether the program itself uses another MPI, which makes progress in calls only.
    has_host: bool,
    /// What this rank warns of if the program does not do it.
    expected: Mutex<BTreeMap<Expected, Warning>>,
}

/// This rank stores nothing to its parts until this is dropped: see `check/stores.rs`.
pub(crate) struct Rest<'c> {
    context: &'c Context,
    windows: Resting,
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        if !self.windows.is_empty() {
            self.windows.end(&self.context.excluded());
        }
    }
}

/// What a program has to do before it leaves the job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Expected {
    /// The block of an object that it has to free.
    pub(crate) block: u64,
    /// An epoch on that object that it has to end.
    pub(crate) epoch: Option<u8>,
}

/// Describes what it has not done.
type Warning = Box<dyn Fn() -> String + Send>;

impl Context {
    pub(crate) fn new(member: Membership) -> Result<Context> {
        let segment = Arc::new(member.segment);
        let sharers = member.sharers;
        let here = sharers.number_of(member.rank).unwrap_or_default();
        let slot = segment.place(segment.slot_offset(here))?;
        let notice = Arc::new(member.notice);
        let job = JobWatch::new(member.rank, &sharers, &segment, &notice, member.launcher);
        let job = Arc::new(job);
        let look = {
            let job = job.clone();
            move || job.look()
        };
        let shards = Shards::join(&segment, here)?;
        find_vectors();
        let statistics = Statistics::join(&segment, here, shards.take_part(), look)?;
        let log = statistics.clone().map(|log| -> Arc<dyn WaitLog> { log });
        Ok(Context {
            rank: member.rank,
            ranks: member.ranks,
            foreign: member.foreign,
            has_host: member.host.inspect(foreign::ForeignComm::become_host).is_some(),
            node: member.node,
            sharers,
            launcher: member.launcher,
            here,
            backoff: Backoff::at(Placement::join(here, Arc::new(SegmentPlacement::new(&segment)?)))
                .looking(move || job.look())
                .logging(log),
            job: Scope::of(&notice, []),
            records: notice.continues(),
            checker: Checker::join(&segment, here, shards.take_part())?,
            shards,
            statistics,
            notice,
            calls: segment.recorder(here)?,
            segment,
            slot,
            numbered: Word32::default(),
            progress: OnceLock::new(),
            is_strict: launch::is_strict(),
            expected: Mutex::default(),
        })
    }

    fn expected(&self) -> MutexGuard<'_, BTreeMap<Expected, Warning>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program has to do that before it leaves the job; the warning is `description`.
    pub(crate) fn expect(&self, what: Expected, description: impl Fn() -> String + Send + 'static) {
        self.expected().insert(what, Box::new(description));
    }

    /// The same of an object that the program has to free. Of all ranks, the first of the object warns, and under
    /// `--strict` each. None does for a binding, whose line the program's would be.
    pub(crate) fn expect_free(
        &self,
        is_first: bool,
        what: Expected,
        description: impl Fn() -> String + Send + 'static,
    ) {
        if (is_first || self.is_strict) && !has_binding() {
            self.expect(what, description);
        }
    }

    /// The program has done that.
    pub(crate) fn done(&self, what: Expected) {
        self.expected().remove(&what);
    }

    /// The program has freed the object with that block.
    pub(crate) fn freed(&self, block: u64) {
        let mut expected = self.expected();
        let of_block = |epoch| Expected { block, epoch };
        let about = expected.range(of_block(None)..=of_block(Some(u8::MAX)));
        let about: Vec<_> = about.map(|(what, _)| *what).collect();
        about.iter().for_each(|what| _ = expected.remove(what));
    }

    /// The program leaves the job: names on standard error, once, what it has not done, and `more`. Under `--strict`
    /// the launcher then counts the rank as failed.
    pub(crate) fn warn_of_expected(&self, more: impl Iterator<Item = String>) {
        let expected = std::mem::take(&mut *self.expected());
        let all = expected.into_values().map(|description| description());
        for sentence in all.chain(more) {
            // In one write, because the job may end at any time. Standard error may be closed.
            let line = format!("onesided: {sentence}\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
            if self.is_strict {
                self.slot.has_left.set();
            }
        }
    }

    /// Takes the rank's slot in the job, which only one process may do: the counters of the segment
    /// continue from where a rank has left them.
    pub(crate) fn take_slot(&self) -> Result<()> {
        if !self.slot.joined.set_first() {
            let what = format!("another process has joined it as rank {} before", self.rank);
            return Err(Error::NotInJob { what });
        }
        self.slot.pid.store(std::process::id());
        // No process but rmarun's looks any more.
        if matches!(self.launcher, Some(JobLauncher::Supervisor(_))) {
            self.calls.look(monotonic());
        }
        Ok(())
    }

    /// Records where the callers of this rank's calls are.
    pub(crate) fn set_program(&self, bias: u64, path: &str) {
        self.slot.program.set(bias, path);
    }

    /// Records how many threads of this process make no calls, besides one that makes all.
    #[cfg(any(feature = "test", feature = "test-hooks"))]
    pub(crate) fn set_idle_threads(&self, threads: u32) {
        self.slot.idle_threads.store(threads);
    }

    /// Records one more such thread.
    pub(crate) fn add_idle_thread(&self) {
        let threads = self.slot.idle_threads.load();
        self.slot.idle_threads.store(threads.saturating_add(1));
    }

    /// Records that this rank has finalized, once.
    pub(crate) fn leave(&self) {
        // The end of a forked process does not end the rank.
        if std::thread::panicking() || is_forked() || self.slot.finished.is_set() {
            return;
        }
        step(Step::Finishing);
        if let Some(statistics) = &self.statistics {
            statistics.leave();
        }
        self.slot.finished.set();
        foreign::leave_well();
        step(Step::Finished);
    }

    /// A number for a communicator that has no place in the segment.
    pub(crate) fn number_comm(&self) -> u64 {
        self.numbered.fetch_add(1).into()
    }

    /// Adds `progress` to the process's waits.
    pub(crate) fn make_progress(&self, progress: &'static dyn ProgressEngine) {
        // Only one layer calls this.
        let _ = self.progress.set(progress);
    }

    /// Adds the same to waits for another MPI.
    pub(crate) fn make_progress_in_foreign_waits(self: &Arc<Context>) {
        if self.foreign.is_none() {
            return;
        }
        // Not for longer than there are handles of the job.
        let context = Arc::downgrade(self);
        foreign::make_progress(move || {
            // Without messages there is none: the other MPI makes its own, and a look at all that has come is slow.
            let context = context.upgrade();
            let engine =
                context.as_ref().and_then(|context| Some((context, *context.progress.get()?)));
            let _ = engine.map(|(context, engine)| engine.work(context));
        });
    }

    /// See [`ProgressEngine::left`]; `None` if this rank has sent and received nothing.
    pub(crate) fn left(&self) -> Option<Left> {
        Some(self.progress.get()?.left(self))
    }

    /// See [`ProgressEngine::abandon`].
    pub(crate) fn abandon(&self) {
        if let Some(progress) = self.progress.get() {
            progress.abandon();
        }
    }

    /// What checks the accesses of this rank, if the job is checked.
    #[inline]
    pub(crate) fn checker(&self) -> Option<&Checker> {
        self.checker.as_deref()
    }

    /// A call that belongs to no window reads or writes these bytes of the program: in a checked job they may be in buffers of
    /// operations that are not complete.
    pub(crate) fn passed(&self, call: Call, bytes: Option<Range<usize>>, is_written: bool) {
        if let Some((checker, bytes)) = self.checker().zip(bytes.filter(|bytes| !bytes.is_empty()))
        {
            checker.passed(&self.excluded(), (call, is_written), &bytes);
        }
    }

    /// In a checked job: looks for stores of the program, and then runs `f`, in a call that synchronises and was made
    /// at `at`. Returns `None`, and does nothing, in another job.
    #[cold]
    pub(crate) fn synchronising<R>(
        &self,
        at: Option<&'static Location<'static>>,
        frequency: Frequency,
        f: impl FnOnce(&Checker) -> R,
    ) -> Option<R> {
        Some(self.looking((at, false), frequency, f)?.0)
    }

    /// [`Context::synchronising`] in a call that waits: this rank rests until the second value is dropped. It does not if a
    /// request may deliver something meanwhile.
    #[cold]
    pub(crate) fn resting<R>(
        &self,
        at: Option<&'static Location<'static>>,
        frequency: Frequency,
        f: impl FnOnce(&Checker) -> R,
    ) -> Option<(R, Rest<'_>)> {
        let rests = Progress::bell(self).is_none() && !Progress::polls(self);
        let (done, windows) = self.looking((at, rests), frequency, f)?;
        Some((done, Rest { context: self, windows }))
    }

    fn looking<R>(
        &self,
        (at, rests): (Option<&'static Location<'static>>, bool),
        frequency: Frequency,
        f: impl FnOnce(&Checker) -> R,
    ) -> Option<(R, Resting)> {
        let checker = self.checker()?;
        let looked = checker.look(&self.excluded(), (self.call(), rests), at, frequency);
        let done = f(checker);
        Some((done, checker.looked(looked)))
    }

    /// Whether every call takes its slow path: in a job that is checked, counted or traced.
    pub(crate) fn is_observed(&self) -> bool {
        self.checker.is_some() || self.statistics.is_some()
    }

    /// What is counted or published of this rank.
    pub(crate) fn statistics(&self) -> Option<&Statistics> {
        self.statistics.as_deref()
    }

    /// The events of this rank, in a job that is traced.
    pub(crate) fn log(&self) -> Option<&EventLog> {
        self.statistics()?.log()
    }

    /// Whether all ranks that have joined take part in barriers of all ranks: those of each communicator have.
    #[inline(always)]
    pub(crate) fn all_take_part(&self) -> bool {
        self.shards.all_take_part()
    }

    /// Whether this thread may be preferred by mutexes: not where every call takes its slow path.
    pub(crate) fn may_prefer(&self) -> bool {
        self.shards.take_part() && !self.is_observed()
    }

    /// How many ranks share a processor.
    pub(crate) fn sharing(&self) -> u32 {
        self.backoff.sharing()
    }

    /// Whether this rank writes data for others to many buffers in turn. What was written to one has then left the reader's
    /// own cache before the buffer is written again, and taking its lines from a shared cache takes less time. Ranks that
    /// share processors use few buffers again and again: their own cache keeps these.
    pub(crate) fn cycles_buffers(&self) -> bool {
        self.segment.layout().may_cycle_buffers() && self.sharing() <= 1
    }

    /// What tools read of this rank.
    pub(crate) fn figures(&self) -> Result<Figures> {
        let (segment, heap) = (&self.segment, self.segment.heap());
        Ok(Figures {
            calls: self.calls.ended(),
            sleeps: self.backoff.sleeps(),
            waking: self.backoff.waking().as_nanos() as u64,
            spins: self.backoff.spins(),
            sharing: self.sharing(),
            ranks: self.ranks,
            segment: segment.bytes(),
            used: segment.layout().arena + heap.used()?,
            in_memory: segment.file().bytes_in_memory()?,
            available: heap.available()?,
            is_recorded: !segment.layout().is_unrecorded,
            is_counted: self.statistics().is_some_and(Statistics::counts),
            is_checked: self.checker.is_some(),
            is_traced: self.log().map(EventLog::is_on),
        })
    }

    /// What this rank has counted; `None` if the job counts nothing.
    pub(crate) fn counted_so_far(&self) -> Result<Option<RankStatistics>> {
        RankStatistics::of(&self.segment, self.here)
    }

    /// The recorded call of this rank.
    pub(crate) fn call(&self) -> Call {
        CallWord::read(self.calls.present()).0
    }

    /// The process that has joined as that rank of the job.
    pub(crate) fn process(&self, rank: u32) -> Result<Process> {
        Ok(Process::numbered(self.segment.slot(self.number_of(rank)?)?.pid.load() as i32))
    }

    /// How this process waits for no rank in particular.
    #[cfg(feature = "test-hooks")]
    pub(crate) fn waiter(&self) -> Waiter<'_> {
        self.waiter_in(&self.job)
    }

    /// How this process waits for the ranks of a scope.
    #[inline]
    pub(crate) fn waiter_in<'a>(&'a self, scope: &'a Scope) -> Waiter<'a> {
        let (failed, backoff) = (scope, &self.backoff);
        Waiter { rank: self.here, failed, backoff, account: None, progress: None }
    }

    /// Handles what ranks of other nodes ask of this one, in a call that looks for something and does not wait.
    #[inline]
    pub(crate) fn serve(&self) {
        if self.polls() {
            self.work();
        }
    }

    /// Whether that rank of the job shares the segment.
    #[inline]
    pub(crate) fn reaches(&self, rank: u32) -> bool {
        self.sharers.number_of(rank).is_some()
    }

    /// Whether all those do.
    pub(crate) fn reaches_all(&self, ranks: &[u32]) -> bool {
        ranks.iter().all(|rank| self.reaches(*rank))
    }

    /// The number in the segment of that rank of the job, which shares it.
    pub(crate) fn number_of(&self, rank: u32) -> Result<u32> {
        self.sharers.number_of(rank).ok_or(Error::Damaged { what: "rank of another node" })
    }

    /// Whether that rank of the job has failed.
    pub(crate) fn has_failed(&self, rank: u32) -> bool {
        self.sharers.number_of(rank).is_some_and(|number| self.job.has_failed(number))
    }

    /// Whether it is in `scope` and has failed.
    pub(crate) fn has_lost(&self, scope: &Scope, rank: u32) -> bool {
        self.sharers.number_of(rank).is_some_and(|number| scope.has_lost(number))
    }

    /// The ranks of the job in `scope` that have failed.
    pub(crate) fn lost(&self, scope: &Scope) -> impl Iterator<Item = u32> {
        scope.lost().map(|number| self.sharers.rank(number))
    }

    /// The rank of the job to name in the error of a wait that a failure in `scope` has ended.
    #[cold]
    pub(crate) fn named(&self, scope: &Scope) -> u32 {
        self.sharers.rank(scope.named())
    }

    /// How this process waits for an exclusion of the library.
    #[inline]
    #[track_caller]
    pub(crate) fn excluded(&self) -> Waiter<'_> {
        self.excluded_in(&self.job)
    }

    /// [`Context::excluded`] for an exclusion between the ranks of a scope.
    #[inline]
    #[track_caller]
    pub(crate) fn excluded_in<'a>(&'a self, scope: &'a Scope) -> Waiter<'a> {
        self.recording_waiter(scope, Location::caller(), &describe_exclusion)
    }

    /// [`Context::waiter_in`] in a call that the program has made at `at`; asleep, it records by `describe`
    /// what it waits for.
    #[inline]
    pub(crate) fn recording_waiter<'a>(
        &'a self,
        scope: &'a Scope,
        at: &'static Location<'static>,
        describe: &'a dyn Fn(&WaitRecord),
    ) -> Waiter<'a> {
        let account =
            Some(Account { record: &self.slot.wait, doing: self.calls.present(), at, describe });
        Waiter { account, ..self.waiter_in(scope) }
    }

    /// Whether the job continues although ranks have failed.
    pub(crate) fn goes_on(&self) -> bool {
        !self.job.is_set()
    }

    /// The scope of some ranks of the job.
    pub(crate) fn scope(&self, ranks: impl IntoIterator<Item = u32>) -> Scope {
        // The notice has no ranks of other nodes: another MPI ends the job if one fails.
        let numbers = ranks.into_iter().filter_map(|rank| self.sharers.number_of(rank));
        Scope::of(&self.notice, numbers)
    }

    /// The offset in the segment of words at which ranks synchronise.
    pub(crate) fn object<T>(&self, words: &T) -> u64 {
        self.segment.offset_of(std::ptr::from_ref(words).cast(), 0).unwrap_or_default()
    }

    /// Marks the current call and window for the launcher's report, until the guard is dropped or ended. Counts the
    /// call, where calls are counted.
    #[inline(always)]
    pub(crate) fn enter(&self, call: Call, window: u64) -> InCall<'_> {
        self.calls.begin(call, window);
        self.counted(call, window, None)
    }

    /// [`Context::enter`] for an operation on a rank of the window or communicator, of that many bytes. `world` returns the
    /// rank's number in the world.
    #[inline(always)]
    pub(crate) fn enter_operation(
        &self,
        (call, window): (Call, u64),
        (target, bytes): (Rank, u64),
        world: impl FnOnce(u32) -> Option<u32>,
    ) -> InCall<'_> {
        self.calls.begin_operation(call, window, (target.0, bytes));
        let in_call = self.counted(call, window, Some((target, bytes)));
        let has_peer =
            || matches!(call, Call::Send | Call::SendReceive | Call::Lock | Call::Unlock);
        if let Some(statistics) = &self.statistics
            && statistics.counts()
            && (call.is_operation() || has_peer())
        {
            statistics.reaches(world(target.0));
        }
        in_call
    }

    /// Counts a window of that mark, in the call that creates it.
    pub(crate) fn created_window(
        &self,
        mark: u64,
        own_bytes: u64,
        name: &str,
        hints: impl FnOnce() -> String,
    ) {
        if let Some(statistics) = &self.statistics {
            statistics.created(mark, own_bytes, name, &hints());
        }
    }

    /// The program has given the window of that mark another name.
    pub(crate) fn renamed_window(&self, mark: u64, name: &str) {
        if let Some(statistics) = &self.statistics {
            statistics.renamed(mark, name);
        }
    }

    #[inline(always)]
    fn counted(&self, call: Call, window: u64, operation: Option<(Rank, u64)>) -> InCall<'_> {
        if let Some(statistics) = &self.statistics {
            statistics.begin(call, window, operation);
        }
        InCall { context: self }
    }

    /// [`Context::enter_operation`] in a fast path, which does not count: where calls are counted, nothing is done there.
    #[inline(always)]
    pub(crate) fn try_operation(
        &self,
        call: Call,
        window: u64,
        target: Rank,
        bytes: u64,
    ) -> FastCall<'_> {
        FastCall::begin(&self.calls, call, window, (target.0, bytes))
    }

    /// The records of the last calls.
    pub(crate) fn recorder(&self) -> Placed<CallRecorder> {
        self.calls.clone()
    }

    /// The records of this rank's writes, in a job that continues after a failure.
    #[inline(always)]
    pub(crate) fn records(&self) -> Option<&WriteRecords> {
        self.records.then(|| &self.slot.writing)
    }

    /// The error of a wait for no rank in particular that ended because the job failed.
    pub(crate) fn job_failed(&self, _: JobFailed, at: Place) -> Error {
        Error::RankFailed { at, failed: Rank(self.named(&self.job)), lock_of: None }
    }

    /// The error of an allocation of that many bytes.
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

impl Drop for Context {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Marks a call for the launcher's report while it lives.
#[must_use = "the call is under way until it is ended"]
pub(crate) struct InCall<'a> {
    context: &'a Context,
}

impl InCall<'_> {
    /// Ends the mark where nothing panics, without a check.
    #[inline(always)]
    pub(crate) fn end(self) {
        ManuallyDrop::new(self).ended();
    }

    #[inline(always)]
    fn ended(&self) {
        self.context.calls.end();
        if let Some(statistics) = &self.context.statistics {
            statistics.end();
        }
    }
}

impl Drop for InCall<'_> {
    #[inline]
    fn drop(&mut self) {
        // A rank that panics inside a call keeps the record: the launcher reports it.
        if !std::thread::panicking() {
            self.ended();
        }
    }
}

/// Marks a call in its fast path, which ends it or leaves it to the slow one. Its drop stands for a panic.
#[must_use = "the call is under way until it is ended"]
pub(crate) struct FastCall<'a> {
    calls: &'a CallRecorder,
}

impl<'a> FastCall<'a> {
    #[inline(always)]
    pub(crate) fn begin(
        calls: &'a CallRecorder,
        call: Call,
        window: u64,
        operation: (u32, u64),
    ) -> FastCall<'a> {
        calls.begin_operation(call, window, operation);
        FastCall { calls }
    }

    /// The call has done nothing yet: its slow path, which is next, begins it again.
    #[inline(always)]
    pub(crate) fn begin_again(self) {}

    /// Ends the mark: one store.
    #[inline(always)]
    pub(crate) fn end(self) {
        self.calls.end();
    }
}
