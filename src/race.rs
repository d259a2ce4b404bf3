//! What a binding reports of the program itself, for `rmarun --check`: each load and store, and what synchronises its
//! threads. In a job that is not checked nothing happens.
//!
//! An object that synchronises threads is a number, mostly its address: what a thread has done before it releases an object
//! is ordered before what another does after it has acquired that.

use crate::check::{Checker, FindLineOf, OwnAccess, are_followed, extends, follow, is_watched};
use crate::context::Context;
use crate::prim::Waiter;
use crate::shm::is_forked;
use std::sync::{Arc, OnceLock, Weak};

/// The context of the rank that this process is.
static CONTEXT: OnceLock<Weak<Context>> = OnceLock::new();

/// This process has joined its job.
pub(crate) fn found(context: &Arc<Context>) {
    let _ = CONTEXT.set(Arc::downgrade(context));
}

/// Runs `f` in a checked job.
fn checked<R>(f: impl FnOnce(&Checker, &Waiter<'_>) -> R) -> Option<R> {
    let context = CONTEXT.get().and_then(Weak::upgrade).filter(|_| !is_forked())?;
    context.checker().map(|checker| f(checker, &context.excluded()))
}

/// The program has just accessed, or is about to access, `bytes` bytes at an address, at `at` in its code, of which `line`
/// finds the line. Accesses to windows and to buffers of operations are checked; of others, some comparisons are all.
#[inline]
pub fn accessed(address: usize, bytes: usize, is_written: bool, at: usize, line: FindLineOf) {
    if is_watched(&(address..address.saturating_add(bytes))) {
        accessed_watched(address, bytes, is_written, at, line);
    }
}

/// [`accessed`] of bytes that may be in a window or a buffer.
#[inline(never)]
fn accessed_watched(address: usize, bytes: usize, is_written: bool, at: usize, line: FindLineOf) {
    // Threads of the parent may hold what the next lines lock.
    if is_forked() {
        return;
    }
    let access = OwnAccess { address, bytes, is_written, at, line };
    if !extends(&access) {
        accessed_first(access);
    }
}

#[cold]
fn accessed_first(access: OwnAccess) {
    checked(|checker, waiter| checker.accessed(waiter, &access));
}

/// From now on the binding reports what synchronises the program's threads, so that each has a clock of its own.
/// `myself` returns the number of the calling thread. Before the job is joined.
pub fn follow_threads(myself: fn() -> usize) {
    follow(myself);
}

/// Runs `f` in a checked job whose threads are followed.
fn followed<R>(f: impl FnOnce(&Checker, &Waiter<'_>) -> R) -> Option<R> {
    if are_followed() { checked(f) } else { None }
}

/// The program is about to write these bytes by an atomic operation of its language, which releases those that acquire it.
pub fn will_release(address: usize, bytes: usize) {
    let range = address..address.saturating_add(bytes);
    if is_watched(&range) {
        checked(|checker, waiter| checker.will_release(waiter, &range));
    }
}

/// It has read them by one, which acquires what others have released.
pub fn has_acquired(address: usize, bytes: usize) {
    let range = address..address.saturating_add(bytes);
    if is_watched(&range) {
        checked(|checker, waiter| checker.has_acquired(waiter, &range));
    }
}

/// This thread is about to release others that wait for an object. May block while other ranks access its parts, as all of
/// these functions.
pub fn released(object: usize) {
    followed(|checker, waiter| checker.released(waiter, object));
}

/// This thread has waited for an object.
pub fn acquired(object: usize) {
    followed(|checker, waiter| checker.acquired(waiter, object));
}

/// This thread is at a fence that releases, acquires, or both: by what it writes behind it and has read before it.
pub fn fence(releases: bool, acquires: bool) {
    followed(|checker, waiter| checker.fence(waiter, (releases, acquires)));
}

/// This thread is about to write an object at an address by an atomic operation that releases nothing itself.
pub fn written(object: usize, address: usize) {
    followed(|checker, waiter| checker.written(waiter, (object, address)));
}

/// It has read one by an atomic operation that acquires nothing itself.
pub fn read(object: usize, address: usize) {
    followed(|checker, waiter| checker.read(waiter, (object, address)));
}

/// An object is gone: its number may be another one's.
pub fn forgotten(object: usize) {
    followed(|checker, _| checker.forgotten(object));
}

/// This thread begins, or works for others again, after what was released for an object.
pub fn thread_began(object: usize) {
    followed(|checker, waiter| checker.thread_began(waiter, object));
}

/// This thread has waited for the end of another one.
pub fn thread_joined(thread: usize) {
    followed(|checker, waiter| checker.thread_joined(waiter, thread));
}

/// Runs `f`, a task of its own, on this thread, after what was released for an object. What it has done is then released
/// for another object.
pub fn run_task((after, done): (usize, usize), f: impl FnOnce()) {
    let Some(before) = followed(|checker, waiter| checker.task_began(waiter, after)) else {
        return f();
    };
    f();
    followed(|checker, waiter| {
        checker.released(waiter, done);
        checker.task_ended(waiter, before);
    });
}
