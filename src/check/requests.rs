//! Operations with a request: what their completion promises (MPI-4.1 §12.3.5).
//!
//! The end of a request completes the operation in this process, as flush_local does: its buffers are the program's again.
//! An operation that only reads is then complete at the target, too; one that writes there is so after a flush or the end of its epoch.

use super::buffers::PendingKey;
use super::window::CheckedWindow;
use super::{AccessKind, CheckState, CheckedAccess, Checker, OpenKey, Which};
use crate::prim::Waiter;
use std::cell::Cell;

thread_local! {
    /// The request of the operation that this thread has issued last; zero if it has been taken.
    static LATEST: Cell<u64> = const { Cell::new(0) };
}

/// The number of the request of the operation that this thread has just issued; `None` if it is not checked.
pub(crate) fn take_request() -> Option<u64> {
    Some(LATEST.take()).filter(|number| *number != 0)
}

/// The number of the request of an operation that this thread has just issued, as long as it has not been taken; zero
/// without one.
pub(super) fn request_of(access: &CheckedAccess) -> u64 {
    if access.call.has_request() { latest_request() } else { 0 }
}

/// The same of the latest operation.
pub(super) fn latest_request() -> u64 {
    LATEST.get()
}

/// Numbers of requests.
#[derive(Default)]
pub(super) struct OpenRequests {
    /// The latest one of this rank.
    latest: u64,
}

impl OpenRequests {
    /// This thread issues an operation.
    pub(super) fn begin(&mut self, access: &CheckedAccess) {
        if access.call.has_request() {
            self.latest += 1;
            LATEST.set(self.latest);
        }
    }

    /// The number of the request of the operation that is issued now; zero without one.
    pub(super) fn latest(&self, access: &CheckedAccess) -> u64 {
        if access.call.has_request() { self.latest } else { 0 }
    }
}

impl CheckedWindow {
    /// The program knows that the operation of a request is complete. Blocks while another rank uses the tables of the
    /// check.
    pub(crate) fn waited_for(&self, checker: &Checker, waiter: &Waiter<'_>, request: u64) {
        if checker.is_late {
            self.late_request(request);
        }
        let is_one = |of: &PendingKey| of.has_request(request);
        self.completed_here((checker, waiter), "wait", is_one, |state| {
            checker.complete_reads(state, |key| key.request == request);
        });
    }
}

impl Checker {
    /// Some of this rank's operations are complete in this process. Those of them that only read are so at the target, and
    /// buffers in parts of this rank are the program's again.
    pub(super) fn complete_reads(&self, state: &mut CheckState, is_one: impl Fn(&OpenKey) -> bool) {
        let is_one = |key: &OpenKey| {
            let kind = AccessKind::of_word((key.what >> 8) as u8);
            is_one(key) && (kind.only_reads() || kind.is_of_buffer())
        };
        self.complete_of_others(state, is_one);
        self.close(state, Which::Operations, is_one);
    }
}
