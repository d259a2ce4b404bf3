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
//! 4. A part's shadow and its page records change under the locks of its pages, and the tables of the job under one
//!    lock of the job, which is taken last. Entries are counted by instructions.

mod assertions;
mod attached;
mod buffers;
mod fetches;
mod late;
mod locks;
mod nocheck;
mod observed;
mod own;
mod recent;
mod recovery;
mod report;
mod requests;
mod rules;
mod separate;
mod shadow;
mod short;
mod stores;
mod threads;
mod window;
mod written;

pub(crate) use assertions::{Asserted, EpochKind};
pub(crate) use buffers::{OwnBuffer, OwnBuffers};
pub(crate) use late::Delayed;
pub(crate) use nocheck::Holding;
pub use own::FindLineOf;
pub(crate) use own::{OwnAccess, extends, is_watched};
pub use report::{Conflict, ConflictAccess, Conflicts};
pub(crate) use requests::take_request;
pub(crate) use rules::AccessKind;
pub(crate) use stores::{Frequency, Resting};
pub(crate) use threads::{are_followed, follow};
pub(crate) use window::{AccessedBytes, ByteRun, CheckedWindow, ConcurrentOps, WindowRanks};

use crate::call::Call;
use crate::error::Result;
use crate::mixer::Mixer;
use crate::prim::{Site, Waiter, Word32, Word64, has_binding};
use crate::shm::{
    BiasedGuard, BiasedMutex, ChainWords, CheckTables, CheckWords, ConflictWords, FreeList,
    MoreOperationWords, OperationWords, Placed, PlacedSlice, Segment, SiteWords,
};
use crate::sync::clock;
use recent::{OpenOperations, RecentCall, RecentOperations};
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::ops::Range;
use std::panic::Location;
use std::ptr;
use std::sync::{Arc, Weak};
use threads::Threads;

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

/// The line of an access, if a binding has found it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallLine<'l> {
    text: Option<&'l str>,
    /// The address in the program's code that determines it.
    caller: Option<usize>,
}

impl CallLine<'_> {
    /// An address that determines the line, if one does.
    #[inline]
    fn address(&self, access: &CheckedAccess) -> Option<usize> {
        let of_rust = || (self.text.is_none() && !has_binding()).then_some(access.at);
        self.caller.or_else(|| of_rust().map(|at| ptr::from_ref(at).addr()))
    }
}

impl CheckedAccess {
    /// A store of the program itself.
    fn store() -> CheckedAccess {
        let (call, kind) = (Call::None, AccessKind::Store);
        CheckedAccess { call, kind, datatype: 0, op: 0, at: Location::caller() }
    }

    fn word(&self) -> u32 {
        let accumulates = u32::from(self.datatype) << 16 | u32::from(self.op) << 24;
        self.call as u32 | (self.kind as u32) << 8 | accumulates
    }
}

/// Complete operations of a rank with several threads that other threads may complete, too.
const MOST_DONE: usize = 1024;

/// Free operations that a rank takes from the table together, and of which it keeps twice as many at most.
const SPARE: usize = 32;
/// Blocks for clocks of messages that a rank keeps.
const CLOCK_BLOCKS: usize = 16;

/// Operations whose entries are counted later: one for each remainder of the number. To count is a locked instruction, on a
/// line that other ranks read.
const FORGOTTEN: usize = 1024;
type ForgottenEntries = [(u32, u32); FORGOTTEN];

/// What this process needs for the check.
pub(crate) struct Checker {
    rank: u32,
    /// Whether operations take effect late.
    pub(crate) is_late: bool,
    /// Whether accesses are also checked by the separate memory model.
    is_separate: bool,
    words: Placed<CheckWords>,
    sites: PlacedSlice<SiteWords>,
    conflicts: PlacedSlice<ConflictWords>,
    operations: PlacedSlice<OperationWords>,
    more_of_operations: PlacedSlice<MoreOperationWords>,
    free_operations: PlacedSlice<Word32>,
    chains: PlacedSlice<ChainWords>,
    /// For each rank what its threads know together.
    known: PlacedSlice<Word64>,
    /// Ranks of the job.
    ranks: usize,
    /// Numbers of a clock: one for each slot of each rank, those of the first slots first.
    clocks: usize,
    state: BiasedMutex<CheckState>,
    own_accesses: own::OwnAccesses,
}

/// What only this process knows.
struct CheckState {
    /// The threads of this rank, and the clocks that they know. A thread's own number grows when it publishes.
    threads: Threads,
    /// The numbers of operations that are not complete, and of local accesses since the clock has changed.
    open: OpenOperations,
    open_local: OpenOperations,
    /// Some of them.
    recent: RecentOperations,
    /// Operations that a thread has completed, the latest ones, where other threads may also complete them.
    done: VecDeque<(OpenKey, u32)>,
    /// Stores of the program that are not in the public copy of the separate model, by the blocks of their windows.
    unpublished: Vec<(u64, u32)>,
    /// Operations that were open until now, and count as an entry until this rank records a new one.
    closed: Vec<u32>,
    /// Free operations that only this rank takes.
    spare: Vec<u32>,
    /// Operations that granules name no more, with the number of entries, which are counted later.
    forgotten: Box<ForgottenEntries>,
    /// The numbers of the program's lines, by their addresses.
    sites: Numbers<usize>,
    /// The latest one of these.
    latest_site: (usize, u32),
    /// The same of calls at them, as texts.
    calls: Numbers<(u32, usize)>,
    /// The same of texts: a binding's lines, and names of windows.
    lines: HashMap<String, u32>,
    /// The numbers of what stands for stores between two calls.
    intervals: HashMap<(u32, u32), u32>,
    /// The windows of this rank.
    windows: Vec<Weak<CheckedWindow>>,
    /// The buffers of operations that are not complete in this process.
    pending: buffers::PendingBuffers,
    /// Blocks of the segment, each for the clock of a message.
    clock_blocks: Vec<u64>,
    /// What this rank knows of the others' clocks by what it may have read alone.
    announced: observed::Announcements,
    /// What operations have fetched that are not complete in this process.
    fetches: Vec<fetches::PendingFetch>,
    /// Those that the program has a request of.
    requests: requests::OpenRequests,
    /// Memory that this rank has attached to dynamic windows without tables for it: address and bytes.
    attached: Vec<(u64, u64)>,
}

/// Numbers of records, for each operation of the program.
type Numbers<K> = HashMap<K, u32, BuildHasherDefault<Mixer>>;

/// Operations, or accesses of the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Operations,
    Local,
}

/// Operations with the same key are one until they are completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct OpenKey {
    /// The slot of its thread.
    slot: usize,
    window: u64,
    target: u32,
    site: u32,
    what: u32,
    /// The number of its request; zero without one.
    request: u64,
}

/// A rank knows at least `value` of one number of the clocks: the word is in its own row, which it changes under the lock of its
/// state.
#[inline]
fn learn(word: &Word64, value: u64) {
    if word.load() < value {
        word.store(value);
    }
}

impl Checker {
    /// The checker of a rank, if its job is checked. `may_prefer`: a mutex may be biased to this thread.
    pub(crate) fn join(
        segment: &Arc<Segment>,
        rank: u32,
        may_prefer: bool,
    ) -> Result<Option<Box<Checker>>> {
        let Some(tables) = segment.layout().check else { return Ok(None) };
        let (is_late, is_separate) = (segment.layout().is_late, segment.layout().is_separate);
        let [ranks, clocks] = [segment.layout().ranks, segment.layout().clocks].map(|n| n as usize);
        let state = CheckState {
            threads: Threads::new(rank, ranks, clocks),
            open: OpenOperations::default(),
            open_local: OpenOperations::default(),
            recent: RecentOperations::default(),
            done: VecDeque::new(),
            unpublished: Vec::new(),
            closed: Vec::new(),
            spare: Vec::new(),
            forgotten: Box::new([(0, 0); FORGOTTEN]),
            sites: Numbers::default(),
            latest_site: (0, 0),
            calls: Numbers::default(),
            lines: HashMap::new(),
            intervals: HashMap::new(),
            windows: Vec::new(),
            pending: buffers::PendingBuffers::default(),
            clock_blocks: Vec::new(),
            announced: observed::Announcements::default(),
            fetches: Vec::new(),
            requests: requests::OpenRequests::default(),
            attached: Vec::new(),
        };
        let most_operations = tables.most_operations as usize;
        let checker = Checker {
            rank,
            is_late,
            is_separate,
            words: segment.place(tables.words)?,
            sites: segment.place_all(tables.sites, CheckTables::SITES as usize)?,
            conflicts: segment.place_all(tables.conflicts, CheckTables::CONFLICTS as usize)?,
            operations: segment.place_all(tables.operations, most_operations)?,
            more_of_operations: segment.place_all(tables.more_of_operations, most_operations)?,
            free_operations: segment.place_all(tables.free_operations, most_operations)?,
            chains: segment.place_all(tables.chains, tables.most_chains as usize)?,
            known: segment.place_all(tables.known, ranks * clocks)?,
            ranks,
            clocks,
            state: BiasedMutex::new(state, may_prefer),
            own_accesses: own::OwnAccesses::new(clocks / ranks, may_prefer),
        };
        checker.know_own(&checker.lock_state().threads);
        Ok(Some(Box::new(checker)))
    }

    /// The state, in which this thread is the present one.
    #[inline]
    fn state(&self) -> BiasedGuard<'_, CheckState> {
        let mut state = self.lock_state();
        if state.threads.enter() {
            self.entered(&state);
        }
        state
    }

    /// [`Checker::state`] for `f`, which does not use it again.
    #[inline(always)]
    fn with_state<R>(&self, f: impl FnOnce(&mut CheckState) -> R) -> R {
        self.state.with(|state| {
            if state.threads.enter() {
                self.entered(state);
            }
            f(state)
        })
    }

    /// The windows of this rank.
    fn windows(&self) -> Vec<Arc<CheckedWindow>> {
        self.state().windows.iter().filter_map(Weak::upgrade).collect()
    }

    #[inline]
    fn lock_state(&self) -> BiasedGuard<'_, CheckState> {
        self.state.lock()
    }

    /// Numbers of a clock.
    pub(crate) fn clocks(&self) -> usize {
        self.clocks
    }

    /// A block for the clock of a message, if this rank has kept one of those that it has received.
    pub(crate) fn take_clock_block(&self) -> Option<u64> {
        self.with_state(|state| state.clock_blocks.pop())
    }

    /// Whether this rank keeps a block for a message of its own. Otherwise it is to be freed.
    pub(crate) fn keep_clock_block(&self, block: u64) -> bool {
        self.with_state(|state| {
            let keeps = state.clock_blocks.len() < CLOCK_BLOCKS;
            state.clock_blocks.extend(keeps.then_some(block));
            keeps
        })
    }

    /// The first numbers of a clock, which are in use.
    #[inline]
    fn width(&self) -> usize {
        (self.words.slots.load().max(1) as usize).saturating_mul(self.ranks).min(self.clocks)
    }

    /// Publishes the clock of this rank to words that it alone writes.
    pub(crate) fn publish(&self, at: &[Word64]) {
        let (mut state, width) = (self.state(), self.width());
        clock::publish(at, &state.threads.clock()[..width]);
        self.published(&mut state);
    }

    /// Publishes the clock of this rank to each of some groups of words, which others may raise at the same
    /// time.
    fn raise<'w>(&self, all: impl IntoIterator<Item = &'w [Word64]>) {
        self.raise_in(&mut self.state(), all);
    }

    #[inline]
    fn raise_in<'w>(&self, state: &mut CheckState, all: impl IntoIterator<Item = &'w [Word64]>) {
        let (clock, own) = (&state.threads.clock()[..self.width()], state.threads.own());
        all.into_iter().for_each(|at| clock::raise(at, clock, own));
        self.published(state);
    }

    /// [`Checker::raise`] of one group of words of a window: `raised` is [`Threads::changes`] at the latest time.
    #[inline(never)]
    fn raise_again(&self, state: &mut CheckState, at: &[Word64], raised: &Word64) {
        let (own, clock) = (state.threads.own(), state.threads.clock());
        match state.threads.has_learned_since(raised.load()) {
            true => clock::raise(at, &clock[..self.width()], own),
            // The others are there since: no word shrinks.
            false => clock::raise_own(at, clock, own),
        }
        raised.store(state.threads.changes().unwrap_or_default());
        self.published(state);
    }

    /// From now on this rank knows what the ranks knew that have published to these words.
    pub(crate) fn merge<'w>(&self, all: impl IntoIterator<Item = &'w [Word64]>) {
        let (row, width) = (self.row(self.rank), self.width());
        self.with_state(|state| {
            for at in all {
                state.threads.merge(at, width, |number, learnt| learn(&row[number], learnt.end));
            }
        });
    }

    /// [`Checker::merge`] of the words of one clock, which also records what this rank learns as an announcement.
    fn merge_announced(
        &self,
        at: &[Word64],
        announce: fn(&mut observed::Announcements, usize, usize, Range<u64>),
    ) {
        let (row, width) = (self.row(self.rank), self.width());
        self.with_state(|CheckState { threads, announced, .. }| {
            threads.merge(at, width, |number, learnt| {
                learn(&row[number], learnt.end);
                announce(announced, observed::address(at), number, learnt);
            });
        });
    }

    /// What this thread does from now on has not been published.
    #[inline]
    fn published(&self, state: &mut CheckState) {
        // Local accesses of the next clock are others.
        if !state.open_local.is_empty() {
            self.close(state, Which::Local, |_| true);
        }
        state.threads.published();
    }

    /// [`threads::stamp`] of this thread now. If its clock was published since the latest one, it grows before.
    fn stamp(&self, threads: &mut Threads) -> u64 {
        if threads.begin() {
            let own = threads.own();
            learn(&self.row(self.rank)[own], threads.clock()[own]);
        }
        threads.stamp()
    }

    /// The threads of this rank together know the number of each of them.
    fn know_own(&self, threads: &Threads) {
        let row = self.row(self.rank);
        threads.own_numbers().for_each(|(at, number)| learn(&row[at], number));
    }

    /// The operations of this rank on a window, or on one target of it, are complete at the target.
    fn complete(&self, state: &mut CheckState, window: u64, target: Option<u32>) {
        let is_one = |key: &OpenKey| {
            key.window == window && target.is_none_or(|target| target == key.target)
        };
        self.complete_of_others(state, is_one);
        self.close(state, Which::Operations, is_one);
        self.close(state, Which::Local, is_one);
    }

    /// This thread completes operations that other threads of this rank have issued before, as it knows. That is recorded,
    /// unless it knows that they are complete: who learns of it then knows that, too.
    fn complete_of_others(&self, state: &mut CheckState, is_one: impl Fn(&OpenKey) -> bool) {
        let CheckState { open, recent, done, threads, .. } = state;
        if threads.used() == 1 {
            return;
        }
        let (slot, stamp, of) = (threads.current(), self.stamp(threads), (self.rank, self.ranks));
        let is_known = |stamp: u64| threads::knows(threads.clock(), of, stamp);
        let all = open.iter().chain(done.iter().map(|(key, number)| (key, number)));
        for (_, number) in all.filter(|(key, _)| key.slot != slot && is_one(key)) {
            let operation = self.operation_at(*number);
            if !is_known(operation.issued.load())
                || operation.completions(self.more_at(*number)).any(is_known)
            {
                continue;
            }
            if !operation.complete_by_other(self.more_at(*number), stamp) {
                operation.is_settled.store(1);
            }
        }
        // The next operation of that line is another one.
        let is_complete = |_: &OpenKey, number: u32| {
            self.operation_at(number).completions(self.more_at(number)).next().is_some()
        };
        open.take(is_complete, |key, number| done.push_back((key, number)));
        recent.clear();
        self.limit(state);
    }

    /// Forgets operations that threads have completed, if there are many.
    fn limit(&self, state: &mut CheckState) {
        let CheckState { done, closed, .. } = state;
        while done.len() > MOST_DONE {
            let (_, number) = done.pop_front().expect("it is longer");
            self.operation_at(number).is_settled.store(1);
            closed.push(number);
        }
    }

    /// Open operations of this thread are complete now.
    #[inline(never)]
    fn close(&self, state: &mut CheckState, which: Which, is_one: impl Fn(&OpenKey) -> bool) {
        let CheckState { open, open_local, recent, done, closed, threads, unpublished, .. } = state;
        let slot = threads.current();
        let open = if which == Which::Local { open_local } else { open };
        // Other threads may also complete them.
        let is_shared = threads.used() > 1 && which == Which::Operations;
        if open.is_empty() && !is_shared {
            return;
        }
        let stamp = self.stamp(threads);
        recent.clear();
        let is_mine = |key: &OpenKey, _| key.slot == slot && is_one(key);
        open.take(is_mine, |key, number| {
            self.operation_at(number).completed.store(stamp);
            let kind = AccessKind::of_word((key.what >> 8) as u8);
            if is_shared {
                done.push_back((key, number));
            } else if self.is_separate && kind == AccessKind::Store {
                unpublished.push((key.window, number));
            } else {
                closed.push(number);
            }
        });
        if is_shared {
            for (_, number) in done.iter().filter(|(key, _)| key.slot == slot && is_one(key)) {
                let completed = &self.operation_at(*number).completed;
                if completed.load() == 0 {
                    completed.store(stamp);
                }
            }
            self.limit(state);
        }
    }

    /// Runs `f` under the lock of the tables. `None` if the job ends: so does the check then.
    fn exclusively<R>(&self, waiter: &Waiter<'_>, f: impl FnOnce() -> R) -> Option<R> {
        self.words.lock.0.run(SITES, waiter, |_| f()).ok()
    }

    /// The number of a line of the program; zero if it is unknown. `None` if it follows from an address of the program that
    /// has no number yet, and the text was not found.
    fn site(
        &self,
        state: &mut CheckState,
        waiter: &Waiter<'_>,
        access: &CheckedAccess,
        line: CallLine<'_>,
    ) -> Option<u32> {
        let Some(address) = line.address(access) else {
            return Some(line.text.map_or(0, |text| self.text_of(state, waiter, text)));
        };
        if state.latest_site.0 == address {
            return Some(state.latest_site.1);
        }
        if let Some(number) = state.sites.get(&address) {
            state.latest_site = (address, *number);
            return Some(*number);
        }
        let number = match line {
            CallLine { text: Some(text), .. } => self.text_of(state, waiter, text),
            CallLine { caller: Some(_), .. } => return None,
            CallLine { .. } => {
                let (at, line) = (access.at, Some((access.at.line(), access.at.column())));
                let intern = || report::intern(&self.words, &self.sites, at.file(), line);
                self.exclusively(waiter, intern).unwrap_or_default()
            }
        };
        state.sites.insert(address, number);
        Some(number)
    }

    /// [`Checker::text`], of which most are known, without the lock.
    fn text_of(&self, state: &mut CheckState, waiter: &Waiter<'_>, text: &str) -> u32 {
        match state.lines.get(text) {
            Some(number) => *number,
            None => self.exclusively(waiter, || self.text(state, text)).unwrap_or_default(),
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

    /// The number of an operation on that target of a window that is issued now, in the shadow of the window with the
    /// block `at`; `None` if the table is full, or [`Checker::site`] is.
    #[inline]
    fn operation(
        &self,
        (state, waiter): (&mut CheckState, &Waiter<'_>),
        ((window, target), at): ((u64, u32), u64),
        access: &CheckedAccess,
        line: CallLine<'_>,
    ) -> Option<u32> {
        let (what, slot) = (access.word(), state.threads.current());
        let address = line.address(access).filter(|_| !access.call.has_request());
        let call = RecentCall { at: address.unwrap_or_default(), slot, window, target, what };
        match state.recent.find(&call).filter(|_| address.is_some()) {
            Some(number) => {
                self.accesses_again(number);
                Some(number)
            }
            None => self.operation_of((state, waiter), (&call, at), access, line),
        }
    }

    /// [`Checker::operation`] of a call that is not remembered. It is from now on, if its address is known.
    #[inline(never)]
    fn operation_of(
        &self,
        (state, waiter): (&mut CheckState, &Waiter<'_>),
        (call, at): (&RecentCall, u64),
        access: &CheckedAccess,
        line: CallLine<'_>,
    ) -> Option<u32> {
        let RecentCall { slot, window, target, what, .. } = *call;
        let is_alike = call.at != 0;
        let site = self.site(state, waiter, access, line)?;
        let request = state.requests.latest(access);
        let key = OpenKey { slot, window, target, site, what, request };
        let open = if access.kind.is_local() { &state.open_local } else { &state.open };
        if let Some(number) = open.find(&key) {
            self.accesses_again(number);
            if is_alike {
                state.recent.add(*call, number);
            }
            return Some(number);
        }
        while let Some(number) = state.closed.pop() {
            let held = OperationWords::end_holding(self.more_at(number));
            if self.release(number, held.wrapping_add(1)) {
                self.free_all(&mut state.spare, waiter, &[number]);
            }
        }
        let number = self.take_spare(state, waiter)?;
        let operation = self.operation_at(number);
        operation.rank.store(self.rank);
        operation.what.store(what);
        operation.site.store(site);
        operation.issued.store(self.stamp(&mut state.threads));
        operation.begin(self.more_at(number));
        operation.hold(self.more_at(number));
        operation.window.store(at);
        operation.by.store(window);
        let open = if access.kind.is_local() { &mut state.open_local } else { &mut state.open };
        open.add(key, number);
        if is_alike {
            state.recent.add(*call, number);
        }
        Some(number)
    }

    /// Takes a record of an operation; `None` if the table is full.
    fn take_spare(&self, state: &mut CheckState, waiter: &Waiter<'_>) -> Option<u32> {
        if state.spare.is_empty() {
            let (list, most) = (&self.words.operations, self.operations.len() as u32 - 1);
            let has_more = || list.free.load() != 0 || list.used.load() < most;
            let take = || {
                state.spare.extend(self.take_operation());
                let more = (1..SPARE).take_while(|_| has_more());
                state.spare.extend(more.map_while(|_| self.take_operation()));
            };
            self.exclusively(waiter, take)?;
            state.spare.iter().for_each(|number| self.operation_at(*number).rank.expect_update());
        }
        state.spare.pop()
    }

    /// Operations that no entry names are reused from now on.
    fn free_all(&self, spare: &mut Vec<u32>, waiter: &Waiter<'_>, numbers: &[u32]) {
        // As in `at`, a number may be one that the table does not have.
        let is_there = |number: &&u32| (1..self.operations.len()).contains(&(**number as usize));
        for number in numbers.iter().filter(is_there) {
            self.operation_at(*number).window.store(0);
            spare.push(*number);
        }
        if spare.len() > 2 * SPARE {
            // If the job ends, so does the check.
            self.exclusively(waiter, || spare.drain(SPARE..).for_each(|of| self.free(of)));
        }
    }

    /// Takes a record of an operation. Under the lock.
    fn take_operation(&self) -> Option<u32> {
        let (list, records) = (&self.words.operations, self.operations.len());
        // As in `at`, there may be numbers that the table does not have.
        let free = (list.free.load() as usize).min(records);
        for at in (0..free).rev() {
            list.free.store(at as u32);
            let number = self.free_operations[at].load();
            if (1..records).contains(&(number as usize)) {
                return Some(number);
            }
        }
        self.take_new(list, records)
    }

    /// The record of an operation.
    #[inline]
    fn operation_at(&self, number: u32) -> &OperationWords {
        self.at(&self.operations, number)
    }

    /// The rest of it.
    #[inline]
    fn more_at(&self, number: u32) -> &MoreOperationWords {
        self.at(&self.more_of_operations, number)
    }

    /// The record of more entries.
    fn chain_at(&self, number: u32) -> &ChainWords {
        self.at(&self.chains, number)
    }

    /// A record of a table. Numbers were read from the segment: one that the table does not have, because it was
    /// overwritten, counts as a conflict that may be missed, and stands for the record that is none.
    #[inline]
    fn at<'t, T>(&self, table: &'t [T], number: u32) -> &'t T {
        table.get(number as usize).unwrap_or_else(|| {
            self.words.is_full.store(1);
            &table[0]
        })
    }

    /// Takes a record of a table. Number 0 is none. Under the lock.
    fn take(&self, list: &FreeList, records: usize, next: impl Fn(u32) -> u32) -> Option<u32> {
        let free = list.free.load();
        if (1..records).contains(&(free as usize)) {
            list.free.store(next(free));
            return Some(free);
        }
        self.take_new(list, records)
    }

    /// Takes a record that has never been in use. Under the lock.
    fn take_new(&self, list: &FreeList, records: usize) -> Option<u32> {
        let number = list.used.load().saturating_add(1);
        if number as usize >= records {
            self.words.is_full.store(1);
            return None;
        }
        list.used.store(number);
        Some(number)
    }

    /// As many entries more name the operation.
    fn retain(&self, number: u32, entries: u32) {
        self.operation_at(number).entries.fetch_add(entries);
    }

    /// As many entries less name the operation. Returns whether none does, so that it is to be freed.
    fn release(&self, number: u32, entries: u32) -> bool {
        let operation = self.operation_at(number);
        let is_complete = || operation.completions(self.more_at(number)).next().is_some();
        operation.entries.fetch_sub(entries) == entries && is_complete()
    }

    /// A granule does not name that operation any more.
    #[inline(always)]
    fn forget_entry(
        &self,
        (forgotten, spare, waiter): (&mut ForgottenEntries, &mut Vec<u32>, &Waiter<'_>),
        number: u32,
    ) {
        // The last one is counted at once: now the record is in the cache, and it may be used again.
        let last = self.operation_at(number).entries.load() == 1;
        let known = &mut forgotten[number as usize % FORGOTTEN];
        if known.0 == number && !last {
            known.1 += 1;
            return;
        }
        let (before, entries) = match last {
            true => (number, 1),
            false => std::mem::replace(known, (number, 1)),
        };
        if entries != 0 && self.release(before, entries) {
            self.free_all(spare, waiter, &[before]);
        }
    }

    /// All that this rank's accesses have changed is counted. Before a window is freed, whose operations then are.
    fn count_all(&self, waiter: &Waiter<'_>) {
        let state = &mut *self.state();
        let forgotten = std::mem::replace(&mut *state.forgotten, [(0, 0); FORGOTTEN]);
        let freed = forgotten
            .iter()
            .filter(|(number, entries)| *entries != 0 && self.release(*number, *entries));
        let freed: Vec<_> = freed.map(|(number, _)| *number).collect();
        self.free_all(&mut state.spare, waiter, &freed);
    }

    /// An operation that no entry names is reused from now on. Under the lock.
    fn free(&self, number: u32) {
        let (operation, list) = (self.operation_at(number), &self.words.operations);
        operation.window.store(0);
        let free = list.free.load();
        if let Some(word) = self.free_operations.get(free as usize) {
            word.store(number);
            list.free.store(free + 1);
        }
    }

    /// The number of the last operation that has been in use.
    fn used_operations(&self) -> usize {
        let most = self.operations.len() - 1;
        most.min(self.words.operations.used.load() as usize)
    }

    /// The window is gone, and its shadow with it: frees this rank's operations on it.
    pub(crate) fn forget(&self, window: u64, waiter: &Waiter<'_>) {
        let mut state = self.state();
        self.complete(&mut state, window, None);
        // If the job ends, so does the check.
        let _ = self.words.lock.0.run(SITES, waiter, |_| {
            let of_others = |number: &u32| self.operation_at(*number).window.load() != window;
            state.closed.retain(of_others);
            state.recent.clear();
            // Buffers there of operations on other windows, and operations of other threads.
            state.open.take(|_, number| !of_others(&number), |_, _| ());
            state.open_local.take(|_, number| !of_others(&number), |_, _| ());
            state.done.retain(|(_, number)| of_others(number));
            state.unpublished.retain(|(_, number)| of_others(number));
            for number in 1..=self.used_operations() as u32 {
                let operation = self.operation_at(number);
                if operation.window.load() == window && operation.rank.load() == self.rank {
                    self.free(number);
                }
            }
        });
    }
}
