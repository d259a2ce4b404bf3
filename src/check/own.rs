//! Loads and stores of the program itself, which its compiler reports one by one (`rmacc -race`).
//!
//! 1. Most are in no window and no buffer of an operation: some comparisons of the address show that.
//! 2. Those in parts of windows that the process has mapped are collected as runs, one for each instruction of the program, and
//!    become accesses at the next call of the library. Until then the rank's clock does not change.
//! 3. Those in buffers of operations that are not complete are reported at once.
//!
//! A part in which such an access was seen is not compared any more (`stores`).
//!
//! Each thread has runs of its own, so the clock of step 2 is the thread's.

use super::report;
use super::rules::AccessKind;
use super::window::{AccessedBytes, ByteRun, CheckedWindow};
use super::{CheckedAccess, Checker, EpochKind, OwnBuffers, threads};
use crate::call::Call;
use crate::prim::{Waiter, Word32, Word64, has_binding, line_by_binding};
use crate::shm::{BiasedGuard, BiasedMutex};
use std::ops::Range;
use std::panic::Location;
use std::ptr;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, Weak};

/// Runs that are collected at the same time: those of a loop with some dozen accesses.
const RUNS: usize = 128;
/// Accesses of a run at a stride.
const MOST_STRIDES: usize = 1 << 16;
/// Words for pages with buffers. Pages with the same remainder share one.
const PAGE_WORDS: usize = 1 << 16;
const PAGE_SHIFT: u32 = 12;

/// The addresses that the check looks at; none in a job that is not checked.
static WATCHED: OnceLock<WatchedMemory> = OnceLock::new();

/// Where parts of windows and buffers of operations are.
struct WatchedMemory {
    parts: WatchedRange,
    buffers: WatchedRange,
    /// For each page the `generation` in which an operation has had a buffer there.
    pages: Box<[Word32]>,
    /// One more whenever no operation uses a buffer.
    generation: Word32,
    /// [`OwnAccesses::runs`] of this process.
    runs: Arc<[BiasedMutex<OwnRuns>]>,
}

/// All addresses from the first of some ranges to their last.
struct WatchedRange {
    start: Word64,
    end: Word64,
}

impl WatchedRange {
    fn new() -> WatchedRange {
        let range = WatchedRange { start: Word64::default(), end: Word64::default() };
        range.clear();
        range
    }

    #[inline(always)]
    fn meets(&self, bytes: &Range<usize>) -> bool {
        (bytes.start as u64) < self.end.load() && (bytes.end as u64) > self.start.load()
    }

    fn add(&self, bytes: &Range<usize>) {
        self.start.store(self.start.load().min(bytes.start as u64));
        self.end.store(self.end.load().max(bytes.end as u64));
    }

    fn clear(&self) {
        self.start.store(u64::MAX);
        self.end.store(0);
    }
}

fn pages_of(bytes: &Range<usize>) -> impl Iterator<Item = usize> {
    let pages = bytes.start >> PAGE_SHIFT..=bytes.end.saturating_sub(1) >> PAGE_SHIFT;
    pages.take(PAGE_WORDS).map(|page| page % PAGE_WORDS)
}

impl WatchedMemory {
    #[inline(always)]
    fn has_buffer(&self, bytes: &Range<usize>) -> bool {
        self.buffers.meets(bytes) && self.has_buffer_page(bytes)
    }

    #[inline(never)]
    fn has_buffer_page(&self, bytes: &Range<usize>) -> bool {
        let generation = self.generation.load();
        let is_there = |page: usize| self.pages[page].load() == generation;
        pages_of(bytes).any(is_there)
    }
}

/// Whether an access of the program to these bytes may be one that the check looks at.
#[inline(always)]
pub(crate) fn is_watched(bytes: &Range<usize>) -> bool {
    WATCHED.get().is_some_and(|watched| watched.parts.meets(bytes) || watched.has_buffer(bytes))
}

/// Adds an access to the run of its instruction. Returns whether that was possible: then there is nothing else to do.
#[inline(always)]
pub(crate) fn extends(access: &OwnAccess) -> bool {
    let bytes = access.range();
    let watched = WATCHED.get().filter(|watched| !watched.has_buffer(&bytes));
    let Some(runs) = watched.and_then(|watched| watched.runs.get(threads::known_slot()?)) else {
        return false;
    };
    let extended = runs.try_biased(|own| own.extend(access, &bytes));
    extended.unwrap_or_else(|| extend_among_others(runs, access, &bytes))
}

#[inline(never)]
fn extend_among_others(
    runs: &BiasedMutex<OwnRuns>,
    access: &OwnAccess,
    bytes: &Range<usize>,
) -> bool {
    runs.lock().extend(access, bytes)
}

/// Whether some of these bytes may lie in a part of a window that the program can access by its addresses.
#[inline]
pub(super) fn may_be_in_parts(bytes: &Range<usize>) -> bool {
    WATCHED.get().is_some_and(|watched| watched.parts.meets(bytes))
}

/// An operation uses a buffer there from now on.
#[inline]
pub(super) fn watch_buffer(bytes: &Range<usize>) {
    let Some(watched) = WATCHED.get() else { return };
    watched.buffers.add(bytes);
    let (first, last) = (bytes.start >> PAGE_SHIFT, bytes.end.saturating_sub(1) >> PAGE_SHIFT);
    let generation = watched.generation.load();
    for page in (first..last + 1).take(PAGE_WORDS) {
        watched.pages[page % PAGE_WORDS].store(generation);
    }
}

/// No operation uses a buffer any more.
#[inline]
pub(super) fn watch_no_buffers() {
    let Some(watched) = WATCHED.get().filter(|watched| watched.buffers.end.load() != 0) else {
        return;
    };
    watched.buffers.clear();
    watched.generation.store(watched.generation.load().wrapping_add(1));
}

/// The program's own accesses.
pub(super) struct OwnAccesses {
    parts: RwLock<Vec<PartHere>>,
    /// 1 when a thread has had runs.
    has_runs: Word32,
    /// For each slot of a thread. Biased for the first one: most programs have one thread.
    runs: Arc<[BiasedMutex<OwnRuns>]>,
}

/// A part of a window that the program can access by its addresses.
struct PartHere {
    bytes: Range<usize>,
    window: Weak<CheckedWindow>,
    /// The rank of the window whose part it is.
    rank: u32,
}

impl PartHere {
    /// Those of some bytes that lie in the part.
    fn shared(&self, bytes: &Range<usize>) -> Option<Range<usize>> {
        let shared = bytes.start.max(self.bytes.start)..bytes.end.min(self.bytes.end);
        (!shared.is_empty()).then_some(shared)
    }
}

/// The accesses of a thread that are no accesses of the check yet.
#[derive(Default)]
struct OwnRuns {
    runs: Vec<Option<OwnRun>>,
    is_used: bool,
    /// The number of the part that was accessed last.
    latest: usize,
}

impl OwnRuns {
    /// Where the run of an instruction in that part is.
    #[inline]
    fn slot(&mut self, at: usize, part: usize) -> Option<&mut Option<OwnRun>> {
        self.runs.get_mut((at ^ at >> 7 ^ part) % RUNS)
    }

    /// Adds an access to a run in the part that was accessed last, if no other part has its bytes. Returns whether that was
    /// possible: then the list of parts need not be looked at.
    #[inline]
    fn extend(&mut self, access: &OwnAccess, bytes: &Range<usize>) -> bool {
        let run = self.slot(access.at, self.latest).and_then(Option::as_mut);
        let continues = |run: &&mut OwnRun| {
            run.alone.start <= bytes.start
                && bytes.end <= run.alone.end
                && run.continues(access, bytes)
        };
        run.filter(continues).map(|run| run.extend(bytes)).is_some()
    }
}

/// Bytes that an instruction of the program has accessed one behind the other, or at a stride: in an unrolled loop.
struct OwnRun {
    window: Arc<CheckedWindow>,
    /// The rank of the window whose part it is.
    rank: u32,
    at: usize,
    is_written: bool,
    bytes: Range<usize>,
    /// From each access to the next one, if there are bytes between them; otherwise zero.
    stride: usize,
    /// Bytes of an access.
    length: usize,
    /// The addresses of the part if no other part has some of them; otherwise none.
    alone: Range<usize>,
    line: FindLineOf,
}

/// Finds the program's line of an address of its code.
pub type FindLineOf = fn(usize) -> Option<String>;

/// An access of the program itself.
#[derive(Clone, Copy)]
pub(crate) struct OwnAccess {
    pub(crate) address: usize,
    pub(crate) bytes: usize,
    pub(crate) is_written: bool,
    /// Where the program's code is, and how to find its line.
    pub(crate) at: usize,
    pub(crate) line: FindLineOf,
}

impl OwnAccess {
    pub(crate) fn range(&self) -> Range<usize> {
        self.address..self.address.saturating_add(self.bytes)
    }
}

/// An access as the tables describe it.
fn described(is_written: bool) -> CheckedAccess {
    let kind = if is_written { AccessKind::Store } else { AccessKind::Load };
    CheckedAccess { call: Call::None, kind, datatype: 0, op: 0, at: Location::caller() }
}

/// Bytes of a part that the program itself accesses.
fn accessed_by_itself(runs: Vec<ByteRun>) -> AccessedBytes<'static> {
    let buffers = OwnBuffers::default();
    AccessedBytes { runs, read: &|_, _| false, buffers, epoch: EpochKind::Other, buffer_of: None }
}

impl OwnAccesses {
    /// Of this thread, which has the first slot.
    pub(super) fn new(slots: usize, may_prefer: bool) -> OwnAccesses {
        let runs = |slot| BiasedMutex::new(OwnRuns::default(), slot == 0 && may_prefer);
        let runs = (0..slots).map(runs).collect();
        OwnAccesses { parts: RwLock::default(), has_runs: Word32::default(), runs }
    }

    fn parts(&self) -> RwLockReadGuard<'_, Vec<PartHere>> {
        self.parts.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn runs(&self, slot: usize) -> BiasedGuard<'_, OwnRuns> {
        self.runs[slot].lock()
    }

    /// Collects the bytes of an access in a part of each window over them. Returns the runs that it replaces.
    fn collect(&self, slot: usize, access: &OwnAccess) -> Vec<OwnRun> {
        let bytes = access.range();
        // The list of parts is locked before the runs.
        let (all, mut own) = (self.parts(), self.runs(slot));
        let parts = all.iter().enumerate();
        let parts = parts.filter_map(|(k, part)| Some((k, part, part.shared(&bytes)?)));
        let replaced = parts.filter_map(|(k, part, bytes)| {
            if own.runs.is_empty() {
                self.has_runs.store(1);
                own.runs.resize_with(RUNS, || None);
            }
            own.latest = k;
            let slot = own.slot(access.at, k)?;
            if let Some(run) = slot
                && run.is_in(part)
                && run.continues(access, &bytes)
            {
                run.extend(&bytes);
                return None;
            }
            let OwnAccess { at, is_written, line, .. } = *access;
            let (window, rank) = (part.window.upgrade()?, part.rank);
            window.ignore_stores(rank);
            let is_other =
                |(other, of): (usize, &PartHere)| other != k && of.shared(&part.bytes).is_some();
            let is_alone = !all.iter().enumerate().any(is_other);
            let alone = if is_alone { part.bytes.clone() } else { 0..0 };
            let (stride, length) = (0, bytes.len());
            let run = OwnRun { window, rank, at, is_written, bytes, stride, length, alone, line };
            let replaced = slot.replace(run);
            own.is_used = true;
            replaced
        });
        replaced.collect()
    }
}

impl OwnRun {
    fn is_in(&self, part: &PartHere) -> bool {
        self.rank == part.rank && ptr::eq(Arc::as_ptr(&self.window), part.window.as_ptr())
    }

    /// Whether an access to these bytes of its part is of the same instruction, and lies beside those before or a stride behind.
    #[inline]
    fn continues(&self, access: &OwnAccess, bytes: &Range<usize>) -> bool {
        (self.at, self.is_written) == (access.at, access.is_written)
            && match self.stride {
                0 => self.is_beside(bytes) || self.is_second(bytes),
                stride => {
                    bytes.len() == self.length
                        && bytes.end == self.bytes.end + stride
                        && self.bytes.len() < MOST_STRIDES * stride
                }
            }
    }

    #[inline]
    fn is_beside(&self, bytes: &Range<usize>) -> bool {
        self.bytes.start <= bytes.end && bytes.start <= self.bytes.end
    }

    /// Whether they are as many bytes behind the only access before.
    fn is_second(&self, bytes: &Range<usize>) -> bool {
        let lengths = [self.bytes.len(), bytes.len()];
        lengths == [self.length; 2] && bytes.start > self.bytes.end
    }

    #[inline]
    fn extend(&mut self, bytes: &Range<usize>) {
        if self.stride == 0 && !self.is_beside(bytes) {
            self.stride = bytes.start - self.bytes.start;
        }
        self.bytes = self.bytes.start.min(bytes.start)..self.bytes.end.max(bytes.end);
    }

    /// Its bytes as those of the part that begins at `base`.
    fn runs(&self, base: usize) -> Vec<ByteRun> {
        let run = |start: usize, bytes: usize| ByteRun {
            start: (start - base) as u64,
            bytes: bytes as u64,
        };
        match self.stride {
            0 => vec![run(self.bytes.start, self.bytes.len())],
            stride => {
                let starts = self.bytes.clone().step_by(stride);
                starts.map(|start| run(start, self.length)).collect()
            }
        }
    }
}

impl Checker {
    /// The parts of a window that this process has are looked at from now on.
    pub(super) fn watch_parts(&self, window: &Arc<CheckedWindow>) {
        let pages = || (0..PAGE_WORDS).map(|_| Word32::default()).collect();
        let generation = || {
            let first = Word32::default();
            first.store(1);
            first
        };
        let new = || WatchedRange::new();
        let runs = || self.own_accesses.runs.clone();
        let watched = WATCHED.get_or_init(|| WatchedMemory {
            parts: new(),
            buffers: new(),
            pages: pages(),
            generation: generation(),
            runs: runs(),
        });
        let mut parts = self.own_accesses.parts.write().unwrap_or_else(PoisonError::into_inner);
        parts.retain(|part| part.window.strong_count() != 0);
        for rank in 0..window.ranks as u32 {
            let span = window.span_here(rank);
            let start = span.base() as usize;
            let bytes = start..start + span.len() as usize;
            if !bytes.is_empty() {
                watched.parts.add(&bytes);
                parts.push(PartHere { bytes, window: Arc::downgrade(window), rank });
            }
        }
        // The new parts may have bytes of the others.
        for slot in 0..self.own_accesses.runs.len() {
            let mut own = self.own_accesses.runs(slot);
            own.runs.iter_mut().flatten().for_each(|run| run.alone = 0..0);
        }
    }

    /// They are not looked at any more, because the window is freed.
    pub(super) fn unwatch_parts(&self, window: &CheckedWindow) {
        let mut parts = self.own_accesses.parts.write().unwrap_or_else(PoisonError::into_inner);
        parts.retain(|part| !ptr::eq(part.window.as_ptr(), window));
        drop(parts);
        let is_there = |run: &OwnRun| ptr::eq(Arc::as_ptr(&run.window), window);
        for slot in 0..self.own_accesses.runs.len() {
            let runs = &mut self.own_accesses.runs(slot).runs;
            runs.iter_mut().for_each(|run| drop(run.take_if(|run| is_there(run))));
        }
    }

    /// [`Checker::settle`] of all threads.
    pub(crate) fn settle_all(&self, waiter: &Waiter<'_>) {
        for slot in 0..self.own_accesses.runs.len() {
            threads::as_thread(slot as u32, || self.settle(waiter));
        }
    }

    /// Whether this rank exposes some of these bytes.
    pub(crate) fn is_exposed(&self, address: usize, bytes: u64) -> bool {
        let bytes = address..address.saturating_add(bytes as usize);
        let is_own =
            |part: &PartHere| part.window.upgrade().is_some_and(|window| window.rank == part.rank);
        self.own_accesses.parts().iter().any(|part| part.shared(&bytes).is_some() && is_own(part))
    }

    /// Where some bytes lie in parts of windows: the window, the rank whose part it is, and the bytes of the part.
    pub(super) fn in_parts(&self, bytes: &Range<usize>) -> Vec<(Arc<CheckedWindow>, u32, ByteRun)> {
        if !may_be_in_parts(bytes) {
            return Vec::new();
        }
        let in_part = |part: &PartHere| {
            let shared = part.shared(bytes)?;
            let start = (shared.start - part.bytes.start) as u64;
            let run = ByteRun { start, bytes: shared.len() as u64 };
            Some((part.window.upgrade()?, part.rank, run))
        };
        self.own_accesses.parts().iter().filter_map(in_part).collect()
    }

    /// The program is about to write by an atomic operation of its language, which releases other ranks. Blocks while
    /// others access the part.
    pub(crate) fn will_release(&self, waiter: &Waiter<'_>, bytes: &Range<usize>) {
        self.settle(waiter);
        for (window, rank, run) in self.in_parts(bytes) {
            window.updating(self, rank, run);
        }
    }

    /// It has read by one, and acquired what others have released there.
    pub(crate) fn has_acquired(&self, waiter: &Waiter<'_>, bytes: &Range<usize>) {
        self.settle(waiter);
        for (window, rank, run) in self.in_parts(bytes) {
            window.acquired(self, rank, run);
        }
    }

    /// The program itself accesses these bytes. Blocks while other ranks access its part.
    pub(crate) fn accessed(&self, waiter: &Waiter<'_>, access: &OwnAccess) {
        let (bytes, of) = (access.range(), described(access.is_written));
        self.access_buffers(waiter, &of, &bytes, || (access.line)(access.at));
        let replaced = self.own_accesses.collect(self.slot(), access);
        replaced.iter().for_each(|run| self.access_part(waiter, run));
    }

    /// All accesses of this thread of the program until now are accesses of the check. Before every call that may change
    /// what the thread knows.
    #[inline]
    pub(crate) fn settle(&self, waiter: &Waiter<'_>) {
        if self.has_runs() {
            self.settle_runs(waiter);
        }
    }

    /// Whether a thread has had such accesses.
    #[inline]
    pub(crate) fn has_runs(&self) -> bool {
        self.own_accesses.has_runs.load() != 0
    }

    #[inline(never)]
    fn settle_runs(&self, waiter: &Waiter<'_>) {
        let mut own = self.own_accesses.runs(self.slot());
        if !std::mem::take(&mut own.is_used) {
            return;
        }
        let runs: Vec<_> = own.runs.iter_mut().filter_map(Option::take).collect();
        drop(own);
        runs.iter().for_each(|run| self.access_part(waiter, run));
    }

    fn access_part(&self, waiter: &Waiter<'_>, run: &OwnRun) {
        let span = run.window.span_here(run.rank);
        let accessed = accessed_by_itself(run.runs(span.base() as usize));
        let line = (run.line)(run.at).unwrap_or_else(|| "an unknown line".into());
        let access = (&described(run.is_written), run.rank, &*line);
        run.window.own_access((self, waiter), access, &accessed);
    }

    /// A call that belongs to no window accesses these bytes, which may be in buffers of operations. What it reads in parts of
    /// windows, it loads there; what it writes there is found as a store of the program.
    pub(crate) fn passed(
        &self,
        waiter: &Waiter<'_>,
        (call, is_written): (Call, bool),
        bytes: &Range<usize>,
    ) {
        let access = CheckedAccess { call, ..described(is_written) };
        self.access_buffers(waiter, &access, bytes, line_by_binding);
        let parts = if is_written { Vec::new() } else { self.in_parts(bytes) };
        if parts.is_empty() || !has_binding() {
            return;
        }
        self.settle(waiter);
        let line = line_by_binding().unwrap_or_else(|| "an unknown line".into());
        for (window, rank, run) in parts {
            window.own_access(
                (self, waiter),
                (&access, rank, &line),
                &accessed_by_itself(vec![run]),
            );
        }
    }

    /// A load or store of these bytes is too early if they are in buffers of operations.
    fn access_buffers(
        &self,
        waiter: &Waiter<'_>,
        access: &CheckedAccess,
        bytes: &Range<usize>,
        line: impl FnOnce() -> Option<String>,
    ) {
        if !WATCHED.get().is_some_and(|watched| watched.has_buffer(bytes)) {
            return;
        }
        let found = self.state().pending.access(bytes, access.kind == AccessKind::Store);
        if found.is_empty() {
            return;
        }
        // A binding may wait for locks of its language to find it.
        let line = line().unwrap_or_else(|| "an unknown line".into());
        let mut state = self.state();
        let site = self.text_of(&mut state, waiter, &line);
        let new = self.record_buffers(waiter, &mut state, &found, (site, access.word()));
        drop(state);
        report::print(&new);
    }
}
