//! Requests that many operations share, because each was complete when its call returned. They are two objects of the
//! table: one of operations on windows, one of sends. So such a request needs no object, no place and no lock.
//!
//! The thread that joined the job counts how many of them the program holds, by plain loads and stores. Other threads
//! make requests of their own, and only count those that they complete, by locked instructions. Under `rmarun --strict`
//! each operation has a request of its own, so that a copy of a handle is invalid after the first wait.
#![allow(clippy::disallowed_types, reason = "its words are of this process, not of the segment")]

use onesided::engine::thread_block;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A request that many operations share.
pub struct Settled {
    /// A kind of operation, in a word for the user, with its plural.
    pub word: &'static str,
    /// The handle; zero if there is none.
    handle: AtomicUsize,
    /// The thread that joined the job.
    owner: AtomicUsize,
    /// Written by the owner alone: those that it has handed out, without those that it has completed.
    held: AtomicU64,
    /// Those that others have completed.
    completed_elsewhere: AtomicU64,
}

pub static OPERATIONS: Settled = Settled::new("request");
pub static SENDS: Settled = Settled::new("send");
/// Both.
pub static ALL: [&Settled; 2] = [&OPERATIONS, &SENDS];

impl Settled {
    const fn new(word: &'static str) -> Settled {
        let (handle, owner) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (held, completed_elsewhere) = (AtomicU64::new(0), AtomicU64::new(0));
        Settled { word, handle, owner, held, completed_elsewhere }
    }

    /// This thread, which joins the job, hands out this handle from now on; zero: none.
    pub fn begin(&self, handle: usize) {
        self.held.store(0, Ordering::Relaxed);
        self.completed_elsewhere.store(0, Ordering::Relaxed);
        self.owner.store(thread_block(), Ordering::Relaxed);
        self.handle.store(handle, Ordering::Relaxed);
    }

    #[inline(always)]
    fn is_owner(&self) -> bool {
        self.owner.load(Ordering::Relaxed) == thread_block()
    }

    /// The handle of an operation that is complete; `None` if it needs a request of its own.
    #[inline(always)]
    pub fn hand_out(&self) -> Option<usize> {
        let handle = self.handle.load(Ordering::Relaxed);
        if handle == 0 || !self.is_owner() {
            return None;
        }
        self.held.store(self.held.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        Some(handle)
    }

    /// The program has completed or freed one.
    #[inline(always)]
    pub fn take_back(&self) {
        match self.is_owner() {
            true => {
                let held = self.held.load(Ordering::Relaxed).wrapping_sub(1);
                self.held.store(held, Ordering::Relaxed);
            }
            false => drop(self.completed_elsewhere.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// How many the program holds; roughly, while other threads make calls.
    pub fn held(&self) -> usize {
        let completed = self.completed_elsewhere.load(Ordering::Relaxed);
        let held = self.held.load(Ordering::Relaxed).wrapping_sub(completed) as i64;
        usize::try_from(held).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_holds_what_no_thread_has_completed() {
        let settled = Settled::new("request");
        assert_eq!((settled.hand_out(), settled.held()), (None, 0));
        settled.begin(5);
        for _ in 0..10 {
            assert_eq!(settled.hand_out(), Some(5));
        }
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (settled.take_back(), assert_eq!(settled.hand_out(), None)));
            }
        });
        (0..4).for_each(|_| settled.take_back());
        assert_eq!(settled.held(), 3);
        (0..5).for_each(|_| settled.take_back());
        assert_eq!(settled.held(), 0, "copies of a handle were waited for");
    }
}
