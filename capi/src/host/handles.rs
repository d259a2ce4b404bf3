//! What the handles of the other MPI stand for here.
//!
//! 1. An entry has one handle from [`Handles::insert`] to [`Handles::remove`], and entries do not move.
//! 2. The program does not free an object while another thread is in a call with it. So what [`Handles::find`] has found
//!    is valid during a call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A table of handles, each with a handle of this library. It grows by levels, of which level k has 64 << k entries.
pub struct Handles {
    first: [Entry; 64],
    levels: [OnceLock<Box<[Entry]>>; LEVELS],
    writes: Mutex<()>,
}

struct Entry {
    /// Zero, which is no handle, if the entry is free.
    theirs: AtomicUsize,
    ours: AtomicUsize,
}

/// Those behind the first one.
const LEVELS: usize = 25;
/// The entries of a level in which a handle may be.
const PLACES: usize = 8;

impl Entry {
    const fn free() -> Entry {
        Entry { theirs: AtomicUsize::new(0), ours: AtomicUsize::new(0) }
    }

    #[inline]
    fn has(&self, theirs: usize) -> bool {
        // Observes what `insert` has stored before.
        self.theirs.load(Ordering::Acquire) == theirs
    }
}

impl Handles {
    pub const fn new() -> Handles {
        Handles {
            first: [const { Entry::free() }; 64],
            levels: [const { OnceLock::new() }; LEVELS],
            writes: Mutex::new(()),
        }
    }

    /// The handle of this library, if the other MPI's is in the table.
    #[inline]
    pub fn find(&self, theirs: usize) -> Option<usize> {
        let mostly = &self.first[place(theirs) & 63];
        let entry = match mostly.has(theirs) && theirs != 0 {
            true => mostly,
            false => self.entry(theirs)?,
        };
        Some(entry.ours.load(Ordering::Relaxed))
    }

    #[inline(never)]
    fn entry(&self, theirs: usize) -> Option<&Entry> {
        let there = |level| places(level, theirs).find(|entry| entry.has(theirs));
        if theirs == 0 {
            return None;
        }
        let found = there(&self.first[..]);
        found.or_else(|| {
            self.levels.iter().map_while(|level| level.get()).find_map(|level| there(level))
        })
    }

    pub fn insert(&self, theirs: usize, ours: usize) {
        let _one_writer = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        let free = |level| places(level, theirs).find(|entry| entry.has(0));
        let later = || {
            self.levels.iter().enumerate().find_map(|(k, level)| {
                let entries = || std::iter::repeat_with(Entry::free).take(128 << k).collect();
                free(level.get_or_init(entries))
            })
        };
        let entry = free(&self.first[..]).or_else(later).expect("a process has fewer handles");
        entry.ours.store(ours, Ordering::Relaxed);
        // Publishes it to `find`.
        entry.theirs.store(theirs, Ordering::Release);
    }

    /// The handle of this library that it was inserted with.
    pub fn remove(&self, theirs: usize) -> Option<usize> {
        let _one_writer = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = self.entry(theirs)?;
        entry.theirs.store(0, Ordering::Relaxed);
        Some(entry.ours.load(Ordering::Relaxed))
    }
}

/// Where a handle is first looked for. Handles of many MPIs count up, in steps of one or of an object.
#[inline]
fn place(theirs: usize) -> usize {
    theirs ^ theirs >> 6 ^ theirs >> 14
}

/// The entries of a level in which a handle may be.
fn places(level: &[Entry], theirs: usize) -> impl Iterator<Item = &Entry> {
    (0..PLACES).filter_map(move |k| level.get((place(theirs) + k) & (level.len() - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_found_until_they_are_removed() {
        let handles = Handles::new();
        let all = || (1..2000).map(|k| (0xa000_0000 + k, k)).chain((1..2000).map(|k| (k << 12, k)));
        all().for_each(|(theirs, ours)| handles.insert(theirs, ours));
        assert!(all().all(|(theirs, ours)| handles.find(theirs) == Some(ours)));
        let (even, odd): (Vec<_>, Vec<_>) = all().partition(|(_, ours)| ours % 2 == 0);
        assert!(even.iter().all(|(theirs, ours)| handles.remove(*theirs) == Some(*ours)));
        assert!(even.iter().all(|(theirs, _)| handles.find(*theirs).is_none()));
        assert!(odd.iter().all(|(theirs, ours)| handles.find(*theirs) == Some(*ours)));
        assert_eq!((handles.find(0), handles.remove(7)), (None, None));
    }
}
