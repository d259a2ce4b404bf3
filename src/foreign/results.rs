//! Results of operations that are under way to another MPI's windows (module head, invariant 2).

use super::library::PendingResult;
use crate::prim::Word64;
use crate::shm::is_forked;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most bytes and results that wait for one guard.
const MOST_BYTES: usize = 1 << 20;
const MOST: usize = 4096;

/// The results that a guard, which keeps their buffers borrowed, will deliver. If the guard is leaked, so are
/// they, with the memory that the other MPI writes.
///
/// The number of its list, or zero: under rmarun a guard has none, and its end costs a look.
#[derive(Default)]
pub(crate) struct Results(Word64);

#[derive(Default)]
struct List {
    results: Vec<PendingResult>,
    bytes: usize,
}

/// The lists of all guards, by their numbers, and the latest number.
static LISTS: Mutex<(BTreeMap<u64, List>, u64)> = Mutex::new((BTreeMap::new(), 0));

fn lists() -> MutexGuard<'static, (BTreeMap<u64, List>, u64)> {
    LISTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Results {
    /// Adds a result.
    pub(super) fn add(&self, result: PendingResult) {
        let mut guard = lists();
        let (lists, latest) = &mut *guard;
        if self.0.load() == 0 {
            *latest += 1;
            self.0.store(*latest);
        }
        let list = lists.entry(self.0.load()).or_default();
        list.bytes += result.bytes();
        list.results.push(result);
        let is_full = list.bytes > MOST_BYTES || list.results.len() > MOST;
        let full = if is_full { std::mem::take(list) } else { List::default() };
        drop(guard);
        full.deliver();
    }

    /// Completes what is under way, and writes the results into their buffers.
    #[inline(always)]
    pub(crate) fn deliver(&mut self) {
        let number = self.0.load();
        if number != 0 {
            deliver(number);
        }
    }
}

#[cold]
#[inline(never)]
fn deliver(number: u64) {
    if std::thread::panicking() || is_forked() {
        // The epoch stays open, and the other MPI may still write; or it is the parent's.
        return;
    }
    let list = lists().0.remove(&number);
    list.unwrap_or_default().deliver();
}

impl List {
    fn deliver(self) {
        self.results.into_iter().for_each(PendingResult::deliver);
    }
}
