//! A pending collective: a sequence of steps, each after the messages before it have arrived.

use super::buffer::{Buffer, BufferMut, Scratch};
use super::form::{CollectiveForm, Completion, Entered};
use super::request::CollectiveOutcome;
use crate::call::Call;
use crate::check::{Checker, Frequency};
use crate::comm::{CollectiveEntry, Comm, ForeignVotes, NUMBERS};
use crate::error::{Error, MismatchKind, Result};
use crate::group::Rank;
use crate::message::{Channel, Driven, MessageRequest};
use crate::prim::{Awaited, AwaitedKind, WaitRecord, Word32, Word64};
use std::any::Any;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A step of a collective on this rank. Messages are only started.
pub(super) enum PlanStep {
    Send(Rank, Buffer),
    /// Of exactly as many bytes.
    Receive(Rank, BufferMut),
    /// The messages that have been started are complete; their buffers can be used again.
    Await,
    /// The second becomes the first.
    Copy(Buffer, BufferMut),
    /// The second becomes its combination with the first, which comes from lower ranks.
    Combine(Buffer, BufferMut),
}

impl PlanStep {
    /// Whether this rank gets something from that one by it.
    pub(super) fn gets_from(&self, rank: u32) -> bool {
        let PlanStep::Receive(from, into) = self else { return false };
        from.0 == rank && into.bytes() != Some(0)
    }
}

/// What a collective owns until it is complete.
#[derive(Default)]
pub(super) struct Retained {
    /// Memory for what is on its way.
    pub(super) scratch: Vec<Scratch>,
    /// What the caller has passed, and what it gets.
    pub(super) given: Option<Box<dyn Any + Send>>,
    pub(super) result: Option<Box<dyn Any + Send>>,
}

/// Collectives that were pending when their rank left the job, for messages that may still arrive.
static LEFT_BEHIND: Mutex<Vec<Retained>> = Mutex::new(Vec::new());

/// A collective under way.
pub(super) struct Schedule {
    pub(super) comm: Comm,
    pub(super) call: Call,
    tag: i32,
    number: u64,
    /// 1 once it is complete, for those who need not look.
    done: Word32,
    progress: Mutex<ScheduleState>,
}

/// A message under way.
struct UnderWay {
    request: MessageRequest,
    /// Where it goes to or comes from.
    peer: Rank,
    /// Its length, if it is received.
    expected: Option<u64>,
}

/// The state of a collective.
pub(super) enum ScheduleStage {
    /// It waits for its slot of the staging area. In a checked job it publishes there the clock that it has started with.
    Waiting(Option<Box<[Word64]>>),
    /// It waits for the descriptions of all ranks, by another MPI.
    Comparing(ForeignVotes),
    /// It has arrived.
    Arrived(CollectiveEntry),
    /// Ranks agree, and its steps run. In a job that continues after failures it keeps its slot, because
    /// the ranks synchronise once more.
    Moving(Option<CollectiveEntry>),
    /// Its steps are complete, and it has arrived again: it succeeds on all ranks or on none.
    Closing(CollectiveEntry),
}

struct ScheduleState {
    stage: ScheduleStage,
    form: CollectiveForm,
    steps: std::vec::IntoIter<PlanStep>,
    under_way: Vec<UnderWay>,
    is_taken: bool,
    /// In a checked job, what the ranks knew whose data this one has got. It is ordered only when a call of the program
    /// completes the collective.
    learned: Option<Box<[Word64]>>,
    /// The first error. The steps continue, because other ranks wait for them, but send no data any more.
    outcome: Result<()>,
    /// What a function of the program has panicked with.
    panic: Option<Box<dyn Any + Send>>,
}

impl Schedule {
    /// Of the communicator's collective `number`.
    pub(super) fn new(
        comm: &Comm,
        mut form: CollectiveForm,
        stage: ScheduleStage,
        number: u64,
    ) -> Schedule {
        let (call, steps) = (form.short.call, std::mem::take(&mut form.steps).into_iter());
        let progress = ScheduleState {
            stage,
            form,
            steps,
            under_way: Vec::new(),
            is_taken: false,
            learned: None,
            outcome: Ok(()),
            panic: None,
        };
        let of_messages = || number as u32 % NUMBERS;
        let counted = comm.persistent_number().unwrap_or_else(of_messages);
        // Ranks that make different calls never take each other's bytes.
        let tag = (counted << CALL_BITS | call as u32) & i32::MAX as u32;
        Schedule {
            comm: comm.clone(),
            call,
            tag: tag as i32,
            number,
            done: Word32::default(),
            progress: Mutex::new(progress),
        }
    }

    fn progress(&self) -> MutexGuard<'_, ScheduleState> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_done(&self) -> bool {
        self.done.load() != 0
    }

    /// Records which ranks it waits for.
    #[cold]
    pub(super) fn describe(&self, record: &WaitRecord) {
        let world = self.comm.world_ranks();
        let missing = |progress: MutexGuard<'_, ScheduleState>| -> Vec<u32> {
            let messages = progress.under_way.iter().filter(|message| !message.request.is_done());
            messages.filter_map(|message| world.get(message.peer.index()).copied()).collect()
        };
        let progress = self.progress.try_lock();
        if let Ok(ScheduleState {
            stage: ScheduleStage::Arrived(entry) | ScheduleStage::Closing(entry),
            ..
        }) = progress.as_deref()
        {
            return entry.describe_round(&self.comm, record);
        }
        // Unknown while another thread drives it.
        let others = progress.map(missing).unwrap_or_default();
        record.set(&Awaited {
            kind: AwaitedKind::Collective,
            others: &others,
            number: self.tag as u64,
            object: self.comm.block_offset(),
            ..Awaited::default()
        });
    }

    /// Waits until it is complete, in a call that the program has made at `at`.
    pub(super) fn wait(&self, at: &'static Location<'static>) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        let describe = |record: &WaitRecord| self.describe(record);
        self.comm.drive_until(self.call, at, &describe, || self.is_done())
    }

    /// The outcome of a collective that is complete, and what its caller gets, once. Panics if a function
    /// of the program has.
    pub(super) fn take(&self) -> Option<CollectiveOutcome> {
        let mut progress = self.progress();
        if std::mem::replace(&mut progress.is_taken, true) {
            return None;
        }
        if let Some(panic) = progress.panic.take() {
            drop(progress);
            resume_unwind(panic);
        }
        let outcome = std::mem::replace(&mut progress.outcome, Ok(()));
        let (result, learned) = (progress.form.retained.result.take(), progress.learned.take());
        drop(progress);
        if let Some(learned) = learned {
            let merge = |checker: &Checker| checker.merge([&*learned]);
            self.comm.context().synchronising(None, Frequency::Seldom, merge);
        }
        Some((outcome, result))
    }
}

/// A collective that uses buffers of its caller. They are the caller's again after this.
pub(super) struct Lent<'a>(pub(super) &'a Schedule);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if self.0.is_done() {
            return;
        }
        // The call panics, or fails before its messages are complete.
        let mut progress = self.0.progress();
        progress.steps = Vec::new().into_iter();
        let under_way = std::mem::take(&mut progress.under_way);
        under_way.into_iter().for_each(|message| message.request.give_up());
        progress.note(Err(self.0.interrupted()));
        self.0.done.store(1);
    }
}

/// Bits of a tag for the call.
const CALL_BITS: u32 = 8;
const _: () = assert!((Call::Neighbours as u32) < 1 << CALL_BITS);

impl Driven for Schedule {
    fn drive(&self) -> bool {
        let mut progress = self.progress();
        let is_done = progress.advance(self);
        if is_done {
            progress.form.retained.scratch = Vec::new();
            progress.form.retained.given = None;
            self.done.store(1);
        }
        is_done
    }

    fn abandon(&self) {
        let mut progress = self.progress();
        progress.under_way.clear();
        let retained = std::mem::take(&mut progress.form.retained);
        let problem = "this rank has left the job".into();
        progress.outcome = Err(Error::Communicator { at: self.comm.place(self.call), problem });
        drop(progress);
        self.done.store(1);
        LEFT_BEHIND.lock().unwrap_or_else(PoisonError::into_inner).push(retained);
    }

    fn name(&self) -> &'static str {
        "collective"
    }
}

impl ScheduleState {
    /// Takes every step that needs no wait; whether it is complete.
    fn advance(&mut self, schedule: &Schedule) -> bool {
        let comm = &schedule.comm;
        if let ScheduleStage::Comparing(votes) = &mut self.stage {
            let have_come = votes.is_complete();
            match have_come.map_err(|refusal| comm.refused(schedule.call, refusal)) {
                Ok(false) => return false,
                Ok(true) => self.compare(comm),
                Err(error) => return self.end_round(comm, Err(error)),
            }
        }
        if let ScheduleStage::Waiting(clock) = &self.stage {
            let Some(mut entry) = CollectiveEntry::enter(comm, schedule.number) else {
                return false;
            };
            let published = clock.iter().try_for_each(|clock| entry.write_clock(comm, clock));
            let arrived = published.and_then(|()| self.form.short.arrive(comm, &mut entry, true));
            self.stage = ScheduleStage::Arrived(entry);
            if let Err(error) = arrived {
                return self.end_round(comm, Err(error));
            }
        }
        if let ScheduleStage::Arrived(entry) = &mut self.stage {
            let Some(passed) = entry.poll_round(comm, schedule.call) else { return false };
            if !self.take_round(schedule, passed) {
                return true;
            }
        }
        if let ScheduleStage::Moving(_) = self.stage {
            if !self.take_steps(schedule) {
                return false;
            }
            if !self.close(comm) {
                return true;
            }
        }
        let ScheduleStage::Closing(entry) = &mut self.stage else { return true };
        match entry.poll_round(comm, schedule.call) {
            None => false,
            Some(passed) => self.end_round(comm, passed),
        }
    }

    /// The descriptions of all ranks have come: its steps run if they agree.
    #[cold]
    fn compare(&mut self, comm: &Comm) {
        let stage = std::mem::replace(&mut self.stage, ScheduleStage::Moving(None));
        let ScheduleStage::Comparing(votes) = stage else { return };
        if let Err(error) = votes.staged(comm).check(&self.form.short.what) {
            self.steps = Vec::new().into_iter();
            self.note(Err(error));
        }
    }

    /// All ranks have arrived, or one has failed: takes what is short. Whether steps remain.
    fn take_round(&mut self, schedule: &Schedule, passed: Result<()>) -> bool {
        let stage = std::mem::replace(&mut self.stage, ScheduleStage::Moving(None));
        let ScheduleStage::Arrived(entry) = stage else { return true };
        let comm = &schedule.comm;
        let mut entered = Entered::new(comm, entry);
        let passed = passed.and_then(|()| {
            self.learned = entered.entry().read_clocks(comm, &self.form.sources)?;
            Ok(())
        });
        let take = |form: &mut CollectiveForm| form.short.take(comm, entered.entry());
        let taken = passed.and_then(|()| self.call_program(schedule, take));
        if let Ok(Completion::Long) = taken {
            self.stage = ScheduleStage::Moving(entered.keep().keep_to_close(comm));
            return true;
        }
        drop(entered);
        self.steps = Vec::new().into_iter();
        self.note(taken.map(drop));
        false
    }

    /// Arrives once more, if the ranks have to; whether this one then has to see that all have.
    fn close(&mut self, comm: &Comm) -> bool {
        let ScheduleStage::Moving(entry) = &mut self.stage else { return false };
        let Some(mut entry) = entry.take() else { return false };
        let arrived = match &self.outcome {
            // The other ranks cannot succeed either.
            Err(Error::RankFailed { .. }) => Ok(false),
            _ => entry.arrive_again(comm, self.form.short.call).map(|()| true),
        };
        self.stage = ScheduleStage::Closing(entry);
        match arrived {
            Ok(true) => true,
            Ok(false) => !self.end_round(comm, Ok(())),
            Err(error) => !self.end_round(comm, Err(error)),
        }
    }

    /// Leaves the staging area; the collective is complete.
    fn end_round(&mut self, comm: &Comm, outcome: Result<()>) -> bool {
        let stage = std::mem::replace(&mut self.stage, ScheduleStage::Moving(None));
        if let ScheduleStage::Arrived(entry) | ScheduleStage::Closing(entry) = stage {
            entry.leave(comm);
        }
        self.steps = Vec::new().into_iter();
        self.note(outcome);
        true
    }

    /// Takes all steps that need no wait; whether those were all.
    fn take_steps(&mut self, schedule: &Schedule) -> bool {
        loop {
            if !self.arrived(schedule) {
                return false;
            }
            loop {
                match self.steps.next() {
                    None if self.under_way.is_empty() => return true,
                    None | Some(PlanStep::Await) => break,
                    Some(step) => {
                        let taken = self.take(schedule, step);
                        self.note(taken);
                    }
                }
            }
        }
    }

    /// Whether all messages under way are complete; they are then under way no more.
    fn arrived(&mut self, schedule: &Schedule) -> bool {
        if !self.under_way.iter().all(|message| message.request.is_done()) {
            return false;
        }
        for UnderWay { request, peer, expected } in std::mem::take(&mut self.under_way) {
            let checked = request.outcome(schedule.call).and_then(|status| match expected {
                Some(needed) if status.bytes != needed => {
                    Err(schedule.too_short(peer, status.bytes, needed))
                }
                _ => Ok(()),
            });
            self.note(checked);
        }
        true
    }

    fn take(&mut self, schedule: &Schedule, step: PlanStep) -> Result<()> {
        let Schedule { comm, call, tag, .. } = schedule;
        match step {
            PlanStep::Await => {}
            PlanStep::Send(to, mut from) => {
                if self.outcome.is_err() {
                    from = Buffer::empty();
                }
                let request =
                    comm.post_send(*call, Channel::Collective, &from.origin(), to, *tag)?;
                self.under_way.push(UnderWay { request, peer: to, expected: None });
            }
            PlanStep::Receive(from, mut into) => {
                let needed = into.bytes().unwrap_or(u64::MAX);
                let request =
                    comm.post_receive(*call, Channel::Collective, &into.origin_mut(), from, *tag)?;
                self.under_way.push(UnderWay { request, peer: from, expected: Some(needed) });
            }
            PlanStep::Copy(from, mut to) => to.copy_from(&from),
            // The result is lost, and a message that failed has left nothing to combine.
            PlanStep::Combine(..) if self.outcome.is_err() => {}
            PlanStep::Combine(lower, mut upper) => self.call_program(schedule, |form| {
                form.combine.iter().try_for_each(|combine| upper.combine_with(&lower, combine))
            })?,
        }
        Ok(())
    }

    /// Does what may call a function of the program. A panic there is an error for now; the call that takes
    /// the outcome panics. The messages go on until then, because they use the caller's buffers.
    fn call_program<R>(
        &mut self,
        schedule: &Schedule,
        f: impl FnOnce(&mut CollectiveForm) -> Result<R>,
    ) -> Result<R> {
        let form = &mut self.form;
        catch_unwind(AssertUnwindSafe(|| f(form))).unwrap_or_else(|panic| {
            self.panic.get_or_insert(panic);
            Err(schedule.interrupted())
        })
    }

    /// Keeps the first error. No rank waits any more for one that knows of a failure.
    fn note(&mut self, result: Result<()>) {
        let Err(error) = result else { return };
        if matches!(error, Error::RankFailed { .. }) {
            self.steps = Vec::new().into_iter();
        }
        if self.outcome.is_ok() {
            self.outcome = Err(error);
        }
    }
}

impl Schedule {
    #[cold]
    fn interrupted(&self) -> Error {
        let problem = "a function of the program has panicked".into();
        Error::Communicator { at: self.comm.place(self.call), problem }
    }

    #[cold]
    fn too_short(&self, from: Rank, found: u64, needed: u64) -> Error {
        let (at, ours) = (self.comm.place(self.call), format!("{} of {needed} bytes", self.call));
        let theirs = match found {
            0 => format!("{} that has failed there", self.call),
            _ => format!("{} of {found} bytes", self.call),
        };
        Error::Mismatch { at, kind: MismatchKind::Length, ours, other: from, theirs }
    }
}
