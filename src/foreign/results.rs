//! Results of operations that are under way to another MPI's windows (module head, invariant 2).

use super::library::PendingResult;
use crate::shm::is_forked;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The most bytes and results that wait for one guard.
const MOST_BYTES: usize = 1 << 20;
const MOST: usize = 4096;

/// The results that a guard, which keeps their buffers borrowed, will deliver. If the guard is leaked, so are
/// they, with the memory that the other MPI writes.
#[derive(Default)]
pub(crate) struct Results(OnceLock<Box<Mutex<List>>>);

#[derive(Default)]
struct List {
    results: Vec<PendingResult>,
    bytes: usize,
}

impl Results {
    /// Adds a result.
    pub(super) fn add(&self, result: PendingResult) {
        let list = self.0.get_or_init(Box::default);
        let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
        list.bytes += result.bytes();
        list.results.push(result);
        if list.bytes > MOST_BYTES || list.results.len() > MOST {
            list.deliver();
        }
    }

    /// Completes what is under way, and writes the results into their buffers.
    #[inline(always)]
    pub(crate) fn deliver(&mut self) {
        if let Some(list) = self.0.take() {
            deliver(list);
        }
    }
}

#[cold]
#[inline(never)]
fn deliver(list: Box<Mutex<List>>) {
    if std::thread::panicking() || is_forked() {
        // The epoch stays open, and the other MPI may still write; or it is the parent's.
        Box::leak(list);
        return;
    }
    list.into_inner().unwrap_or_else(PoisonError::into_inner).deliver();
}

impl List {
    fn deliver(&mut self) {
        self.results.drain(..).for_each(PendingResult::deliver);
        self.bytes = 0;
    }
}
