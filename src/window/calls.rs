//! The calls of this rank on a window: which of them are legal now, how each is recorded, and how its
//! errors are made and reported. Every other part of a window has a reference to this one.

use super::Flavour;
use super::attributes::WindowIdentity;
use super::left::LeftEpochs;
use super::lenient::Leniency;
use super::refusal::{Check, Refusal};
use super::state::Epochs;
use crate::call::Call;
use crate::check::{Asserted, CheckedWindow, Checker, Frequency};
use crate::comm::Comm;
use crate::context::{Context, Expected, FastCall, InCall, Rest};
use crate::error::{Error, MismatchKind, Place, Result};
use crate::foreign;
use crate::group::Rank;
use crate::handler::ErrorHandler;
use crate::prim::{JobFailed, WaitRecord, Waiter};
use crate::shm::{AllocError, CallRecorder, Placed, WindowHeader, is_forked};
use std::panic::Location;
use std::sync::{Arc, PoisonError, RwLock};

/// The calls of this rank on a window.
pub(crate) struct Calls {
    pub(crate) epochs: Epochs,
    context: Arc<Context>,
    /// The context's, one load nearer.
    recorder: Placed<CallRecorder>,
    /// This rank.
    rank: Rank,
    /// The window's block in the segment.
    block: u64,
    /// What names it in the records of calls.
    mark: u64,
    /// The same number on all ranks, and another one for every window.
    number: u64,
    pub(super) identity: WindowIdentity,
    /// The communicator of the surviving ranks: that of the window, until it is recovered.
    pub(super) survivors: Comm,
    handler: RwLock<ErrorHandler>,
    pub(super) leniency: Leniency,
    pub(super) left: LeftEpochs,
    /// In a checked job.
    check: Option<Arc<CheckedWindow>>,
}

impl Calls {
    /// Of the window whose block is at `block`, which calls record as `mark`, and whose number is that of all ranks.
    pub(super) fn new(
        identity: WindowIdentity,
        (block, mark): (u64, u64),
        number: u64,
        check: Option<Arc<CheckedWindow>>,
    ) -> Calls {
        let comm = identity.comm().clone();
        Calls {
            epochs: Epochs::new(comm.size()),
            context: comm.context().clone(),
            recorder: comm.context().recorder(),
            rank: comm.rank(),
            block,
            mark,
            number,
            identity,
            handler: RwLock::new(comm.error_handler()),
            leniency: Leniency::default(),
            left: LeftEpochs::default(),
            check,
            survivors: comm,
        }
    }

    /// The communicator that the window was made over.
    #[inline]
    pub(crate) fn comm(&self) -> &Comm {
        self.identity.comm()
    }

    /// This rank.
    #[inline(always)]
    pub(crate) fn rank(&self) -> Rank {
        self.rank
    }

    pub(crate) fn flavour(&self) -> Flavour {
        self.identity.flavour()
    }

    /// The window's block in the segment.
    #[inline(always)]
    pub(crate) fn block(&self) -> u64 {
        self.block
    }

    #[inline(always)]
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Runs `f` with what a checked job needs for the window; nothing in another job.
    #[inline(always)]
    pub(crate) fn checked(&self, f: impl FnOnce(&Checker, &CheckedWindow)) {
        if let Some(window) = &self.check {
            self.run_checked(window, f);
        }
    }

    #[cold]
    #[inline(never)]
    fn run_checked(&self, window: &CheckedWindow, f: impl FnOnce(&Checker, &CheckedWindow)) {
        if let Some(checker) = self.context.checker() {
            if checker.has_runs() {
                checker.settle(&self.excluded());
            }
            f(checker, window);
        }
    }

    /// The same, to keep.
    pub(crate) fn shared_check(&self) -> Option<Arc<CheckedWindow>> {
        self.check.clone()
    }

    pub(crate) fn shared_context(&self) -> Arc<Context> {
        self.context.clone()
    }

    /// What a checked job needs for the window.
    #[inline]
    pub(crate) fn check(&self) -> Option<(&Checker, &CheckedWindow)> {
        self.context.checker().zip(self.check.as_deref())
    }

    /// [`Calls::checked`] in a call that synchronises, made at `at`: stores of the program before it are looked for.
    pub(crate) fn synchronising(
        &self,
        at: Option<&'static Location<'static>>,
        frequency: Frequency,
        f: impl FnOnce(&Checker, &CheckedWindow),
    ) {
        if let Some(window) = &self.check {
            let frequency = match frequency {
                Frequency::Seldom => Frequency::Window(self.block),
                other => other,
            };
            self.context.synchronising(at, frequency, |checker| f(checker, window));
        }
    }

    /// [`Calls::synchronising`] in a call that waits: this rank rests until the value is dropped.
    pub(super) fn resting(
        &self,
        at: &'static Location<'static>,
        f: impl FnOnce(&Checker, &CheckedWindow),
    ) -> Option<Rest<'_>> {
        let (window, frequency) = (self.check.as_ref()?, Frequency::Window(self.block));
        let rest = self.context.resting(Some(at), frequency, |checker| f(checker, window));
        rest.map(|((), rest)| rest)
    }

    /// This rank asserts something of its part, which `asserted` returns, in a checked job.
    #[inline(always)]
    pub(super) fn asserting(
        &self,
        at: Option<&'static Location<'static>>,
        asserted: impl FnOnce() -> Asserted,
    ) {
        if self.check.is_some() {
            self.asserted(asserted(), at);
        }
    }

    #[cold]
    fn asserted(&self, asserted: Asserted, at: Option<&'static Location<'static>>) {
        if asserted.nostore || asserted.noput {
            self.synchronising(at, Frequency::Seldom, |checker, window| {
                window.asserts(checker, &self.excluded(), asserted, at);
            });
        }
    }

    /// [`Calls::synchronising`] in a call that locks or unlocks `target`: the owner alone may store to it.
    pub(super) fn locking(
        &self,
        target: Rank,
        at: Option<&'static Location<'static>>,
        f: impl FnOnce(&Checker, &CheckedWindow),
    ) {
        match target == self.rank {
            true => self.synchronising(at, Frequency::Often, f),
            false => self.checked(f),
        }
    }

    /// See [`Comm::excluded`].
    #[inline]
    #[track_caller]
    pub(crate) fn excluded(&self) -> Waiter<'_> {
        self.survivors.excluded()
    }

    /// See [`Comm::recording_waiter`].
    #[inline]
    pub(crate) fn recording_waiter<'a>(
        &'a self,
        at: &'static Location<'static>,
        describe: &'a dyn Fn(&WaitRecord),
    ) -> Waiter<'a> {
        self.survivors.recording_waiter(at, describe)
    }

    /// What names the window in records of calls.
    pub(crate) fn mark(&self) -> u64 {
        self.mark
    }

    /// Marks the current call of this rank.
    #[inline(always)]
    pub(crate) fn enter(&self, call: Call) -> InCall<'_> {
        self.context().enter(call, self.mark)
    }

    /// Writes the window's name where the launcher reads it.
    pub(super) fn show_name(&self, name: &str) {
        let mapping = self.context().segment.mapping();
        if self.block != 0
            && let Ok(header) = mapping.view::<WindowHeader>(self.block)
        {
            header.set_name(name);
        }
        self.context().renamed_window(self.mark, name);
        self.checked(|_, window| window.rename(name));
    }

    /// In a traced job: this rank's part has `by` bytes more than before.
    pub(super) fn resized(&self, by: i64) {
        self.context().log().into_iter().for_each(|log| log.resized(self.mark, by));
    }

    /// Records the hints that are in force now, where windows are counted.
    pub(super) fn show_hints(&self, hints: impl FnOnce() -> String) {
        if let Some(statistics) = self.context().statistics() {
            statistics.hinted(self.mark, &hints());
        }
    }

    /// [`Calls::enter`] for an operation of that many bytes on a rank.
    #[inline(always)]
    pub(crate) fn enter_operation(&self, call: Call, target: Rank, bytes: u64) -> InCall<'_> {
        let world = |rank| self.comm().world_rank(rank);
        self.context().enter_operation((call, self.mark), (target, bytes), world)
    }

    /// [`Context::try_operation`] on a rank of the window.
    #[inline(always)]
    pub(crate) fn try_operation(&self, call: Call, target: Rank, bytes: u64) -> FastCall<'_> {
        FastCall::begin(&self.recorder, call, self.mark, (target.0, bytes))
    }

    /// Runs the body of a call: marks it meanwhile, and passes an error to the window's handler.
    #[inline]
    pub(crate) fn within<R>(&self, call: Call, body: impl FnOnce() -> Result<R>) -> Result<R> {
        if is_forked() {
            return self.handled(Err(self.refused(call, Rank::NULL, Refusal::Forked)));
        }
        self.within_any(call, body)
    }

    /// [`Calls::within`] for a call that is legal in a process that the rank has forked.
    #[inline]
    pub(crate) fn within_any<R>(&self, call: Call, body: impl FnOnce() -> Result<R>) -> Result<R> {
        let _call = self.enter(call);
        self.handled(body())
    }

    /// [`Calls::within`] of an operation of that many bytes on a rank.
    #[inline]
    pub(crate) fn within_operation<R>(
        &self,
        operation: (Call, Rank, u64),
        body: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        if is_forked() {
            return self.handled(Err(self.refused(operation.0, Rank::NULL, Refusal::Forked)));
        }
        self.within_any_operation(operation, body)
    }

    /// [`Calls::within_any`] of an operation of that many bytes on a rank.
    #[inline]
    pub(crate) fn within_any_operation<R>(
        &self,
        (call, target, bytes): (Call, Rank, u64),
        body: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let _call = self.enter_operation(call, target, bytes);
        self.handled(body())
    }

    /// Passes an error to the window's handler.
    #[inline]
    pub(crate) fn handled<R>(&self, result: Result<R>) -> Result<R> {
        if let Err(error) = &result {
            self.handle(error);
        }
        result
    }

    #[cold]
    pub(crate) fn handle(&self, error: &Error) {
        self.error_handler().handle(error);
    }

    pub(super) fn error_handler(&self) -> ErrorHandler {
        self.handler.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_error_handler(&self, handler: ErrorHandler) {
        *self.handler.write().unwrap_or_else(PoisonError::into_inner) = handler;
    }
}

/// The end of the window.
impl Calls {
    /// The program has made the window at `at`, and has to free it.
    pub(super) fn expect_free(&self, at: &'static Location<'static>) {
        let description = self.identity.describe(move |window| {
            format!("window '{window}', created at {at}, was not freed (free)")
        });
        let what = Expected { block: self.block, epoch: None };
        self.context.expect_free(self.rank == 0, what, description);
    }

    pub(super) fn freed(&self) {
        self.context().log().into_iter().for_each(|log| log.freed(self.mark));
        self.context.freed(self.block);
    }
}

/// What is checked before a call has any effect.
impl Calls {
    /// The result of a check of `call`, on `target` if it names one, with the error for a refusal.
    #[inline]
    pub(crate) fn allowed<R>(&self, call: Call, target: Rank, check: Check<R>) -> Result<R> {
        check.map_err(|refusal| self.refused(call, target, refusal))
    }

    #[inline]
    pub(crate) fn check_rank(&self, call: Call, rank: Rank) -> Result<()> {
        let is_one = rank.0 < self.comm().size();
        self.allowed(call, rank, if is_one { Ok(()) } else { Err(Refusal::NoSuchRank) })
    }

    /// Whether this rank may issue an operation on `target` now.
    pub(crate) fn check_operation(&self, call: Call, target: u32) -> Result<()> {
        self.allowed(call, Rank(target), self.epochs.may_operate(target))
    }

    /// Whether this rank is in any access epoch, which an operation on no target needs too.
    pub(crate) fn check_any_access(&self, call: Call) -> Result<()> {
        self.allowed(call, Rank::NULL, self.epochs.may_operate_on_none())
    }

    /// `numbers` has the number of the window that each rank names.
    pub(super) fn check_same_window(
        &self,
        call: Call,
        mut numbers: impl Iterator<Item = u64>,
    ) -> Result<()> {
        match numbers.position(|number| number != self.number) {
            None => Ok(()),
            Some(other) => Err(Error::Mismatch {
                kind: MismatchKind::Call,
                at: self.place(call),
                ours: format!("{call} of this window"),
                other: Rank(other as u32),
                theirs: format!("{call} of another window"),
            }),
        }
    }

    /// The window's number.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

/// The errors of calls.
impl Calls {
    #[cold]
    pub(crate) fn place(&self, call: Call) -> Place {
        Place { call, window: Some(self.identity.shown()), rank: Some(self.rank()) }
    }

    /// The error of a call, on `target` if it names one, that is refused.
    #[cold]
    pub(crate) fn refused(&self, call: Call, target: Rank, refusal: Refusal) -> Error {
        let at = self.place(call);
        match refusal {
            Refusal::Forked => Error::Forked { at },
            Refusal::NoSuchRank => Error::TargetRank { at, target, ranks: self.comm().size() },
            Refusal::NotLocked => {
                let mut problem = refusal.sentence(call, target.0);
                let locked = self.epochs.locked_ranks();
                if !locked.is_empty() {
                    problem += &format!(", but locks of ranks {locked:?}");
                }
                self.wrong_epoch(call, problem)
            }
            _ => self.wrong_epoch(call, refusal.sentence(call, target.0) + &self.why_open(refusal)),
        }
    }

    /// The error of a call in the wrong epoch for a reason that is not in the table.
    #[cold]
    pub(crate) fn wrong_epoch(&self, call: Call, problem: String) -> Error {
        Error::Epoch { at: self.place(call), problem }
    }

    #[cold]
    pub(crate) fn wrong_flavour(&self, call: Call, needed: &'static str) -> Error {
        let flavour = self.flavour().call().name();
        Error::Flavour { at: self.place(call), flavour, needed }
    }

    #[cold]
    pub(crate) fn job_failed(&self, failed: JobFailed, call: Call) -> Error {
        self.survivors.rank_failed(failed, self.place(call))
    }

    /// An error of the allocator, as one of `call`.
    pub(super) fn heap_error(&self, call: Call, error: AllocError, requested: u64) -> Error {
        match error {
            AllocError::JobFailed => self.job_failed(JobFailed, call),
            error => self.context().refusal(error, self.place(call), requested),
        }
    }

    /// The outcome of a function of another MPI, as that of `call`.
    #[inline]
    pub(crate) fn foreign<R>(&self, call: Call, outcome: foreign::ForeignResult<R>) -> Result<R> {
        outcome.map_err(|refusal| refusal.at(self.place(call)))
    }
}
