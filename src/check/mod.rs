//! Conflicting accesses of a job that `rmarun --check` has started.
//!
//! The calls report here what they do: operations issued and completed, ranks that synchronise. Only the slow
//! paths do: in a checked job every fast path refuses. From that follows which accesses nothing orders.
//!
//! 1. Each rank has a vector clock: for every rank of the job the latest of its clocks that this rank knows
//!    of. What synchronises ranks has words for clocks beside its own words. A rank publishes its clock there
//!    before the MEM_SYNC that releases others, and merges those of others after its own. So the clocks are
//!    visible whenever window data are.
//! 2. An operation lasts from its issue to the call that completes it at the target. It is ordered before an
//!    access if it is complete and the accessing rank knows the clock of the completion.
//! 3. A window has a shadow: for each granule of 8 bytes the accesses that a later one may conflict with.
//!    An access leaves it when another one replaces it ([`rules`]), and never for lack of space, so the
//!    verdict depends on the order of the synchronisations alone.
//! 4. Shadows and tables change under one lock of the job.

mod assertions;
mod buffers;
mod report;
mod rules;
mod shadow;
mod stores;
mod window;

pub(crate) use assertions::{Asserted, EpochKind};
pub(crate) use buffers::OwnBuffer;
pub use report::{Conflict, ConflictAccess, Conflicts};
pub(crate) use rules::AccessKind;
pub(crate) use stores::Frequency;
pub(crate) use window::{AccessedBytes, ByteRun, CheckedWindow, ConcurrentOps, WindowRanks};

use crate::call::Call;
use crate::error::Result;
use crate::prim::{Site, Waiter, Word64, has_binding};
use crate::shm::{
    ChainWords, CheckTables, CheckWords, ConflictWords, FreeList, OperationWords, Placed,
    PlacedSlice, Segment, SiteWords,
};
use std::collections::HashMap;
use std::panic::Location;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The MEM_SYNCs of the lock of the tables: the words that it guards are the segment's, as those of the
/// allocator.
const SITES: (Site, Site) = (Site::HeapPost, Site::HeapPre);

/// An operation of the program, as its call describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckedAccess {
    pub(crate) call: Call,
    pub(crate) kind: AccessKind,
    /// The predefined datatype of an accumulate, by a number; otherwise zero.
    pub(crate) datatype: u8,
    /// The operation of an accumulate, by a number from 1 on; zero if it may be concurrent with any.
    pub(crate) op: u8,
    /// The program's line.
    pub(crate) at: &'static Location<'static>,
}

impl CheckedAccess {
    fn word(&self) -> u32 {
        let accumulates = u32::from(self.datatype) << 16 | u32::from(self.op) << 24;
        self.call as u32 | (self.kind as u32) << 8 | accumulates
    }
}

/// What this process needs for the check.
pub(crate) struct Checker {
    rank: u32,
    words: Placed<CheckWords>,
    sites: PlacedSlice<SiteWords>,
    conflicts: PlacedSlice<ConflictWords>,
    operations: PlacedSlice<OperationWords>,
    chains: PlacedSlice<ChainWords>,
    /// For each rank the clock that it knows.
    known: PlacedSlice<Word64>,
    /// Ranks of the job.
    ranks: usize,
    state: Mutex<CheckState>,
}

/// What only this process knows.
struct CheckState {
    /// The clock of each rank of the job, as this rank knows it. Its own grows when it publishes.
    clock: Vec<u64>,
    /// The numbers of operations that are not complete, and of local accesses since the clock has changed.
    open: HashMap<OpenKey, u32>,
    /// Operations that were open until now, and count as an entry until the lock is taken next.
    closed: Vec<u32>,
    /// The numbers of the program's lines, by their addresses.
    sites: HashMap<usize, u32>,
    /// The same of texts: a binding's lines, and names of windows.
    lines: HashMap<String, u32>,
    /// The numbers of what stands for stores between two calls.
    intervals: HashMap<(u32, u32), u32>,
    /// The windows of this rank.
    windows: Vec<Weak<CheckedWindow>>,
    /// The buffers of operations that are not complete in this process.
    pending: buffers::PendingBuffers,
    /// Memory that this rank has attached to dynamic windows: address and bytes.
    attached: Vec<(u64, u64)>,
}

/// Operations with the same key are one until they are completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct OpenKey {
    window: u64,
    target: u32,
    site: u32,
    what: u32,
}

impl Checker {
    /// The checker of a rank, if its job is checked.
    pub(crate) fn join(segment: &Arc<Segment>, rank: u32) -> Result<Option<Box<Checker>>> {
        let Some(tables) = segment.layout().check else { return Ok(None) };
        let ranks = segment.layout().ranks as usize;
        let mut clock = vec![0; ranks];
        clock[rank as usize] = 1;
        let state = CheckState {
            clock,
            open: HashMap::new(),
            closed: Vec::new(),
            sites: HashMap::new(),
            lines: HashMap::new(),
            intervals: HashMap::new(),
            windows: Vec::new(),
            pending: buffers::PendingBuffers::default(),
            attached: Vec::new(),
        };
        Ok(Some(Box::new(Checker {
            rank,
            words: segment.place(tables.words)?,
            sites: segment.place_all(tables.sites, CheckTables::SITES as usize)?,
            conflicts: segment.place_all(tables.conflicts, CheckTables::CONFLICTS as usize)?,
            operations: segment.place_all(tables.operations, tables.most_operations as usize)?,
            chains: segment.place_all(tables.chains, tables.most_chains as usize)?,
            known: segment.place_all(tables.known, ranks * ranks)?,
            ranks,
            state: Mutex::new(state),
        })))
    }

    fn state(&self) -> MutexGuard<'_, CheckState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers of a clock.
    pub(crate) fn clocks(&self) -> usize {
        self.state().clock.len()
    }

    /// Publishes the clock of this rank to words that it alone writes.
    pub(crate) fn publish(&self, at: &[Word64]) {
        let mut state = self.state();
        at.iter().zip(&state.clock).for_each(|(word, clock)| word.store(*clock));
        self.advance(&mut state);
    }

    /// Publishes the clock of this rank to each of some groups of words, which others may raise at the same
    /// time.
    fn raise<'w>(&self, all: impl IntoIterator<Item = &'w [Word64]>) {
        let mut state = self.state();
        for at in all {
            at.iter().zip(&state.clock).for_each(|(word, clock)| raise(word, *clock));
        }
        self.advance(&mut state);
    }

    /// From now on this rank knows what the ranks knew that have published to these words.
    pub(crate) fn merge<'w>(&self, all: impl IntoIterator<Item = &'w [Word64]>) {
        let (mut state, row) = (self.state(), self.row(self.rank));
        for at in all {
            for ((clock, word), known) in state.clock.iter_mut().zip(at).zip(row) {
                let other = word.load();
                if other > *clock {
                    *clock = other;
                    known.store(other);
                }
            }
        }
    }

    /// The clock of this rank grows: what it does from now on has not been published.
    fn advance(&self, state: &mut CheckState) {
        // Local accesses of the next clock are others.
        self.close(state, |key| AccessKind::of_word((key.what >> 8) as u8).is_local());
        let clock = &mut state.clock[self.rank as usize];
        *clock += 1;
        self.row(self.rank)[self.rank as usize].store(*clock);
    }

    /// The operations of this rank on a window, or on one target of it, are complete at the target.
    fn complete(&self, window: u64, target: Option<u32>) {
        self.close(&mut self.state(), |key| {
            key.window == window && target.is_none_or(|target| target == key.target)
        });
    }

    /// Open operations are complete now.
    fn close(&self, state: &mut CheckState, is_one: impl Fn(&OpenKey) -> bool) {
        let CheckState { open, clock, closed, .. } = state;
        open.retain(|key, number| {
            let closes = is_one(key);
            if closes {
                self.operation_at(*number).completed.store(clock[self.rank as usize]);
                closed.push(*number);
            }
            !closes
        });
    }

    /// One open operation is complete now.
    fn completed_alone(&self, state: &mut CheckState, completed: u32) {
        let CheckState { open, clock, closed, .. } = state;
        open.retain(|_, number| *number != completed);
        self.operation_at(completed).completed.store(clock[self.rank as usize]);
        closed.push(completed);
    }

    /// The number of a line of the program; zero if it is unknown. Under the lock. `line` is what the binding has
    /// found, if there is one.
    fn site(&self, state: &mut CheckState, access: &CheckedAccess, line: Option<&str>) -> u32 {
        if let Some(text) = line {
            return self.text(state, text);
        }
        let at = access.at;
        let line = Some((at.line(), at.column()));
        let known = || report::intern(&self.words, &self.sites, at.file(), line);
        match has_binding() {
            true => 0,
            false => *state.sites.entry(ptr::from_ref(at).addr()).or_insert_with(known),
        }
    }

    /// The number of a text without line and column. Under the lock.
    fn text(&self, state: &mut CheckState, text: &str) -> u32 {
        if let Some(number) = state.lines.get(text) {
            return *number;
        }
        let number = report::intern(&self.words, &self.sites, text, None);
        state.lines.insert(text.to_owned(), number);
        number
    }

    /// The number of an operation that is issued now. Under the lock; `None` if the table is full.
    fn operation(
        &self,
        state: &mut CheckState,
        window: u64,
        target: u32,
        access: &CheckedAccess,
        line: Option<&str>,
    ) -> Option<u32> {
        let (site, what) = (self.site(state, access, line), access.word());
        let key = OpenKey { window, target, site, what };
        if let Some(number) = state.open.get(&key) {
            return Some(*number);
        }
        let next = |number: u32| self.operation_at(number).entries.load();
        let number = self.take(&self.words.operations, self.operations.len(), next)?;
        let operation = self.operation_at(number);
        operation.rank.store(self.rank);
        operation.what.store(what);
        operation.site.store(site);
        operation.entries.store(1);
        operation.issued.store(state.clock[self.rank as usize]);
        operation.completed.store(0);
        operation.window.store(window);
        state.open.insert(key, number);
        Some(number)
    }

    /// The record of an operation.
    fn operation_at(&self, number: u32) -> &OperationWords {
        self.at(&self.operations, number)
    }

    /// The record of more entries.
    fn chain_at(&self, number: u32) -> &ChainWords {
        self.at(&self.chains, number)
    }

    /// A record of a table. Numbers were read from the segment: one that the table does not have, because it was
    /// overwritten, counts as a conflict that may be missed, and stands for the record that is none.
    fn at<'t, T>(&self, table: &'t [T], number: u32) -> &'t T {
        table.get(number as usize).unwrap_or_else(|| {
            self.words.is_full.store(1);
            &table[0]
        })
    }

    /// Takes a record of a table. Number 0 is none.
    fn take(&self, list: &FreeList, records: usize, next: impl Fn(u32) -> u32) -> Option<u32> {
        let free = list.free.load();
        if (1..records).contains(&(free as usize)) {
            list.free.store(next(free));
            return Some(free);
        }
        let number = list.used.load().saturating_add(1);
        if number as usize >= records {
            self.words.is_full.store(1);
            return None;
        }
        list.used.store(number);
        Some(number)
    }

    /// One entry more names the operation.
    fn retain(&self, number: u32) {
        let entries = &self.operation_at(number).entries;
        entries.store(entries.load().saturating_add(1));
    }

    /// One entry less names the operation; it is reused when none does.
    fn release(&self, number: u32) {
        let operation = self.operation_at(number);
        let left = operation.entries.load().saturating_sub(1);
        operation.entries.store(left);
        if left == 0 && operation.completed.load() != 0 {
            self.free(number);
        }
    }

    fn free(&self, number: u32) {
        let (operation, list) = (self.operation_at(number), &self.words.operations);
        operation.window.store(0);
        operation.entries.store(list.free.load());
        list.free.store(number);
    }

    /// The window is gone, and its shadow with it: frees this rank's operations on it.
    pub(crate) fn forget(&self, window: u64, waiter: &Waiter<'_>) {
        self.complete(window, None);
        let mut state = self.state();
        // If the job ends, so does the check.
        let _ = self.words.lock.0.run(SITES, waiter, |_| {
            let of_others = |number: &u32| self.operation_at(*number).window.load() != window;
            state.closed.retain(of_others);
            let most = self.operations.len() as u32 - 1;
            for number in 1..=self.words.operations.used.load().min(most) {
                let operation = self.operation_at(number);
                if operation.window.load() == window && operation.rank.load() == self.rank {
                    self.free(number);
                }
            }
        });
    }
}

/// Makes a word at least `value`.
fn raise(word: &Word64, value: u64) {
    let mut found = word.load();
    while found < value {
        match word.compare_exchange(found, value) {
            Ok(_) => return,
            Err(other) => found = other,
        }
    }
}
