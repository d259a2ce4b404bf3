//! What every handle of a process shares: who it is in its job, its segment, how it waits, and the
//! record of the call that it is in.

use crate::call::Call;
use crate::error::{Error, Place, Result};
use crate::foreign;
use crate::launch::Membership;
use crate::prim::{
    Account, Awaited, AwaitedKind, Duties, Failure, JobFailed, ParkWord, Patience, Placement, Step,
    WaitRecord, Waiter, Word32, step,
};
use crate::shm::{
    AllocError, NoticeBoard, Placed, Process, RankSlot, Scope, Segment, SegmentPlacement, Stripes,
    WriteRecords, is_forked,
};
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

/// All that is known of a wait before an exclusion of the library.
fn say_excluded(record: &WaitRecord) {
    record.say(&Awaited { kind: AwaitedKind::Exclusion, ..Awaited::default() });
}

/// What a process does for other ranks whenever it waits: the part of a layer above.
pub(crate) trait Progress: Send + Sync {
    /// As [`Duties::bell`].
    fn bell(&self) -> Option<&ParkWord>;
    /// As [`Duties::work`].
    fn work(&self, context: &Context) -> bool;
    /// The process leaves the job: drops what has a handle of its own of the process's context.
    fn abandon(&self);
}

impl Duties for Context {
    fn bell(&self) -> Option<&ParkWord> {
        self.progress.get()?.bell()
    }

    fn work(&self) -> bool {
        self.progress.get().is_some_and(|progress| progress.work(self))
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
    progress: OnceLock<&'static dyn Progress>,
}

impl Context {
    pub(crate) fn new(member: Membership) -> Result<Context> {
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
            progress: OnceLock::new(),
        })
    }

    /// Takes the rank's place in the job, which only one process may do: the counters of the segment go
    /// on from where a rank has left them.
    pub(crate) fn take_slot(&self) -> Result<()> {
        if !self.slot.joined.set_first() {
            let what = format!("another process has joined it as rank {} before", self.rank);
            return Err(Error::NotInJob { what });
        }
        self.slot.pid.store(std::process::id());
        Ok(())
    }

    /// Records that one thread of this rank makes all its calls.
    #[cfg(feature = "test-hooks")]
    pub(crate) fn vouch_for_one_thread(&self) {
        self.slot.one_thread.store(1);
    }

    /// Records that this rank has left the job in good order, once.
    pub(crate) fn leave(&self) {
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

    /// Lets the process's waits make that progress too.
    pub(crate) fn make_progress(&self, progress: &'static dyn Progress) {
        // One layer has any.
        let _ = self.progress.set(progress);
    }

    /// As [`Progress::abandon`].
    pub(crate) fn abandon(&self) {
        if let Some(progress) = self.progress.get() {
            progress.abandon();
        }
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

    /// Records in the segment which call this rank is in, and on which window, until the guard is
    /// dropped or ended.
    #[inline(always)]
    pub(crate) fn enter(&self, call: Call, window: u64) -> InCall<'_> {
        let slot = &*self.slot;
        slot.set_doing(call, window);
        InCall { slot }
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

impl Drop for Context {
    fn drop(&mut self) {
        self.leave();
    }
}

/// While this lives, the launcher's report names the call.
#[must_use = "the call is under way until it is ended"]
pub(crate) struct InCall<'a> {
    slot: &'a RankSlot,
}

impl InCall<'_> {
    /// Drops the guard where nothing panics: a store and no question.
    #[inline(always)]
    pub(crate) fn end(self) {
        let record = ManuallyDrop::new(self);
        record.slot.set_doing(Call::None, 0);
    }
}

impl Drop for InCall<'_> {
    #[inline]
    fn drop(&mut self) {
        // A rank that panics inside a call keeps the record: the launcher reports it.
        if !std::thread::panicking() {
            self.slot.set_doing(Call::None, 0);
        }
    }
}
