//! Operations that take effect late (`rmarun --check=late`), as MPI permits: at the target by the call that completes them
//! there, and in this process by the one that completes them here. They wait in a queue of their window.
//!
//! 1. Puts and gets take effect in the opposite of their order, as nothing orders them; accumulates behind them and
//!    in their order, because MPI orders those of one origin on one element (MPI-4.1 §12.7.2).
//! 2. What one of them reads in this process is read when it is complete here, if it takes effect later.
//! 3. The queue stays locked meanwhile: a call of another thread that completes the same operations returns behind that.

use super::CheckedAccess;
use super::requests::request_of;
use super::window::CheckedWindow;
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An operation that has been issued.
pub(crate) trait Delayed: Send {
    /// Whether it writes a buffer in this process.
    fn has_result(&self) -> bool;
    /// Reads its buffers in this process, if it has not; they are the program's again.
    fn read(&mut self);
    /// Takes effect, once.
    fn take_effect(&mut self) -> Result<()>;
    /// It has taken effect with that error.
    fn failed(&self, error: &Error);
}

/// An operation in the queue.
struct LateAccess {
    target: u32,
    /// The number of its request; zero without one.
    request: u64,
    is_accumulate: bool,
    /// How many were issued until it was.
    number: u64,
    operation: Box<dyn Delayed>,
}

/// The operations of a window that have not taken effect, in the order of their calls.
#[derive(Default)]
struct LateQueue {
    waiting: Vec<LateAccess>,
    issued: u64,
}

/// A [`LateQueue`] behind its lock.
#[derive(Default)]
pub(super) struct LateAccesses(Mutex<LateQueue>);

impl LateAccesses {
    fn lock(&self) -> MutexGuard<'_, LateQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Some operations take effect, and are in the queue no more.
    fn take_effect(&self, is_one: impl Fn(&LateAccess) -> bool) {
        let mut queue = self.lock();
        let (accumulates, others): (Vec<_>, Vec<_>) =
            queue.waiting.extract_if(.., |late| is_one(late)).partition(|late| late.is_accumulate);
        let mut failed = Vec::new();
        for mut late in others.into_iter().rev().chain(accumulates) {
            if let Err(error) = late.operation.take_effect() {
                failed.push((late, error));
            }
        }
        drop(queue);
        // The program's error handler may call the library.
        failed.iter().for_each(|(late, error)| late.operation.failed(error));
    }

    /// Some operations are complete in this process: those with a result take effect, and for that the accumulates
    /// before them.
    fn complete_here(&self, is_one: impl Fn(&LateAccess) -> bool) {
        // For each target the latest accumulate whose result is due.
        let mut due = HashMap::new();
        for late in self.lock().waiting.iter_mut().filter(|late| is_one(late)) {
            late.operation.read();
            if late.is_accumulate && late.operation.has_result() {
                due.insert(late.target, late.number);
            }
        }
        self.take_effect(|late| match late.is_accumulate {
            true => due.get(&late.target).is_some_and(|latest| late.number <= *latest),
            false => is_one(late) && late.operation.has_result(),
        });
    }
}

impl CheckedWindow {
    /// An operation on a target that was reported takes effect late.
    pub(crate) fn delay(
        &self,
        (access, target): (&CheckedAccess, u32),
        operation: Box<dyn Delayed>,
    ) {
        let (request, is_accumulate) = (request_of(access), access.kind.is_accumulate());
        let mut queue = self.late.lock();
        queue.issued += 1;
        let number = queue.issued;
        queue.waiting.push(LateAccess { target, request, is_accumulate, number, operation });
    }

    /// No operation takes effect any more that has not: its epoch is lost.
    pub(super) fn forget_late(&self) {
        self.late.lock().waiting.clear();
    }

    /// The accumulates on a target take effect, because one that follows them does.
    pub(crate) fn late_accumulates(&self, target: u32) {
        self.late.take_effect(|late| late.is_accumulate && late.target == target);
    }

    /// The operations on a target, or on all, are complete there.
    pub(super) fn late_operations(&self, target: Option<u32>) {
        self.late.take_effect(|late| target.is_none_or(|target| target == late.target));
    }

    /// They are complete in this process.
    pub(super) fn late_operations_here(&self, target: Option<u32>) {
        self.late.complete_here(|late| target.is_none_or(|target| target == late.target));
    }

    /// The operation of a request is complete in this process.
    pub(super) fn late_request(&self, request: u64) {
        self.late.complete_here(|late| late.request == request);
    }
}
