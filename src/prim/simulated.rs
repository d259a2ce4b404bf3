//! A simulator of caches and time.
//!
//! Every rank has a core, a cache and a clock of its own. The rank whose clock shows least takes the next
//! step, so a run is the same each time. A line of 64 bytes is in one cache, which may change it, or in any
//! number of caches unchanged (MESI, in which the only cache that has a line may change it).
//!
//! * An access to a line that the cache has takes [`Costs::hit`]. Any other is a **remote reference**: the
//!   line comes from the nearest cache that has it, and a write takes it from all. The time depends on the
//!   distance ([`Topology`]). A line makes one such transfer at a time; others queue.
//! * A plain store does not stop its rank. The next fence or read-modify-write waits for it.
//! * A wait looks again when a line that it has read changes; that look is one remote reference. Ranks
//!   never sleep, because each has a core.
//! * The **chain** of a rank is the longest sequence of transfers, each needing the one before, that leads
//!   to where the rank is.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "they are used here only")]

use super::{Fault, Site, wait::WaitStep};
use generator::{Generator, Gn};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Picoseconds.
pub type Time = u64;

/// What steps take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A load or store of a line in the own cache.
    pub hit: Time,
    /// What a read-modify-write takes longer than that.
    pub locked: Time,
    /// A full fence.
    pub fence: Time,
    /// A line from another cache: of the same complex, of the same socket, of another socket.
    pub transfer: [Time; 3],
    /// A barrier of all ranks (`mem_sync_of_all`).
    pub barrier_of_all: Time,
}

/// Which caches are near.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Cores that share a cache.
    pub complex: u32,
    /// Cores of a socket.
    pub socket: u32,
}

impl Topology {
    /// All cores are equally far from each other, in one socket.
    pub const FLAT: Topology = Topology { complex: 1, socket: MOST_RANKS };

    /// The cores from which a transfer to `core` takes at most the time of that index in
    /// [`Costs::transfer`].
    fn within(self, core: u32, index: usize) -> std::ops::Range<u32> {
        let size = [self.complex, self.socket, MOST_RANKS][index];
        let first = core / size * size;
        first..first.saturating_add(size).min(MOST_RANKS)
    }
}

/// The most ranks of a simulation.
pub const MOST_RANKS: u32 = 1024;

/// The caches that have a line.
#[derive(Clone, Copy, Default)]
struct Caches([u64; MOST_RANKS as usize / 64]);

impl Caches {
    fn of(core: u32) -> Caches {
        let mut caches = Caches::default();
        caches.insert(core);
        caches
    }

    fn insert(&mut self, core: u32) {
        self.0[core as usize / 64] |= 1 << (core % 64);
    }

    fn contains(&self, core: u32) -> bool {
        self.0[core as usize / 64] >> (core % 64) & 1 != 0
    }

    /// How many of those cores.
    fn count(&self, cores: std::ops::Range<u32>) -> u32 {
        let part = |index: u32| {
            let (first, word) = (index * 64, self.0[index as usize]);
            let below = |end: u32| match end.saturating_sub(first) {
                bits @ 0..64 => word & ((1 << bits) - 1),
                _ => word,
            };
            (below(cores.end) & !below(cores.start)).count_ones()
        };
        (cores.start / 64..cores.end.div_ceil(64)).map(part).sum()
    }
}

/// What a rank has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankProgress {
    /// Its clock.
    pub time: Time,
    /// Its remote references.
    pub remote: u64,
    /// Its chain.
    pub chain: u64,
}

#[derive(Default)]
struct Core {
    at: RankProgress,
    /// When its stores are in its cache, and the chain that leads there.
    stored: (Time, u64),
    /// The lines read since its wait looked last, with their versions.
    looked: Vec<(usize, u64)>,
    is_waiting: bool,
}

impl Core {
    fn await_stores(&mut self) {
        let (time, chain) = self.stored;
        (self.at.time, self.at.chain) = (self.at.time.max(time), self.at.chain.max(chain));
    }
}

#[derive(Default)]
struct CacheLine {
    caches: Caches,
    /// When its last transfer is complete.
    free: Time,
    version: u64,
    /// That leads to its present value.
    chain: u64,
    waiting: Vec<u32>,
}

struct Simulation {
    costs: Costs,
    topology: Topology,
    cores: Vec<Core>,
    lines: HashMap<usize, CacheLine>,
    ready: BinaryHeap<Reverse<(Time, u32)>>,
    current: u32,
    /// The ranks in [`align`].
    aligning: Vec<u32>,
}

thread_local! {
    static SIMULATION: RefCell<Option<Simulation>> = const { RefCell::new(None) };
}

/// Words of a rank's stack.
const STACK: usize = 1 << 13;

/// Runs `rank` for each rank to its end.
///
/// # Panics
/// If a rank panics, or if ranks wait and none is left to wake them.
pub fn run(ranks: u32, topology: Topology, costs: Costs, rank: impl Fn(u32) + Sync) {
    let simulation = Simulation {
        costs,
        topology,
        cores: (0..ranks).map(|_| Core::default()).collect(),
        lines: HashMap::new(),
        ready: (0..ranks).map(|rank| Reverse((0, rank))).collect(),
        current: 0,
        aligning: Vec::new(),
    };
    SIMULATION.set(Some(simulation));
    let rank = &rank;
    let mut all: Vec<Generator<'_, (), ()>> =
        (0..ranks).map(|number| Gn::new_opt(STACK, move || rank(number))).collect();
    let next = || {
        with(|simulation| {
            let Reverse((_, rank)) = simulation.ready.pop()?;
            simulation.current = rank;
            Some(rank)
        })
    };
    while let Some(rank) = next() {
        all[rank as usize].resume();
    }
    let waits = |rank: &u32| !all[*rank as usize].is_done();
    let waiting: Vec<u32> = (0..ranks).filter(waits).collect();
    SIMULATION.set(None);
    assert!(waiting.is_empty(), "ranks {waiting:?} wait, and no other rank is left");
}

/// What the calling rank has done so far.
pub fn progress() -> RankProgress {
    with(|simulation| simulation.core().at)
}

/// Waits, at no cost, until all ranks are there; their clocks then show the same time.
pub fn align() {
    let is_last = with(|simulation| {
        let Simulation { cores, ready, current, aligning, .. } = simulation;
        aligning.push(*current);
        let is_last = aligning.len() == cores.len();
        if is_last {
            let latest =
                cores.iter().map(|core| core.at.time.max(core.stored.0)).max().unwrap_or(0);
            cores.iter_mut().for_each(|core| core.at.time = latest);
            ready.extend(
                aligning
                    .drain(..)
                    .filter(|rank| rank != current)
                    .map(|rank| Reverse((latest, rank))),
            );
        }
        is_last
    });
    if !is_last {
        pause();
    }
}

/// The calling rank computes for so long.
pub fn compute(time: Time) {
    with(|simulation| simulation.core().at.time += time);
}

fn with<R>(f: impl FnOnce(&mut Simulation) -> R) -> R {
    SIMULATION.with_borrow_mut(|simulation| f(simulation.as_mut().expect("within `run`")))
}

fn is_running() -> bool {
    SIMULATION.with_borrow(|simulation| simulation.is_some())
}

/// Waits until no other rank is earlier.
fn take_turn() {
    let is_early = with(|simulation| {
        let own = (simulation.core().at.time, simulation.current);
        let is_early = simulation.ready.peek().is_some_and(|Reverse(next)| *next < own);
        if is_early {
            simulation.ready.push(Reverse(own));
        }
        is_early
    });
    if is_early {
        pause();
    }
}

/// Lets the next rank run.
#[allow(deprecated, reason = "its successor is an argument, which protocols do not pass on")]
fn pause() {
    generator::yield_with(());
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineAccess {
    Load,
    Store,
    Update,
}

/// The access of the calling rank to the word at that address; `change` makes it, and returns whether the word
/// has a new value.
fn access<R>(address: usize, access: LineAccess, change: impl FnOnce() -> (R, bool)) -> R {
    if !is_running() {
        // Words are made, and looked at, before and after.
        return change().0;
    }
    take_turn();
    let (result, is_changed) = change();
    with(|simulation| simulation.account(address / 64, access, is_changed));
    result
}

impl CacheLine {
    /// Over which distance that rank gets the line for an access, as an index in [`Costs::transfer`]; `None`
    /// if its cache has what it needs.
    fn distance(&self, rank: u32, access: LineAccess, topology: Topology) -> Option<usize> {
        let has_it = self.caches.contains(rank);
        let others = |index| self.caches.count(topology.within(rank, index)) - u32::from(has_it);
        let is_alone = others(2) == 0;
        if has_it && (access == LineAccess::Load || is_alone) {
            return None;
        }
        match access {
            // Memory is at the distance of a cache of the same socket.
            _ if is_alone => Some(1),
            LineAccess::Load => (0..3).find(|index| others(*index) > 0),
            _ => (0..3).find(|index| others(*index) == others(2)),
        }
    }
}

impl Simulation {
    fn core(&mut self) -> &mut Core {
        &mut self.cores[self.current as usize]
    }

    /// Accounts for an access of the calling rank to a line.
    fn account(&mut self, number: usize, access: LineAccess, is_changed: bool) {
        let Simulation { costs, topology, current, .. } = *self;
        let core = &mut self.cores[current as usize];
        let line = self.lines.entry(number).or_default();
        if access == LineAccess::Update {
            core.await_stores();
        }
        let (mut end, mut chain) = (core.at.time + costs.hit, core.at.chain);
        if let Some(distance) = line.distance(current, access, topology) {
            end = core.at.time.max(line.free) + costs.transfer[distance];
            line.free = end;
            core.at.remote += 1;
            chain = chain.max(line.chain) + 1;
        }
        match access {
            LineAccess::Load => {
                line.caches.insert(current);
                (core.at.time, core.at.chain) = (end, chain);
                core.looked.push((number, line.version));
            }
            LineAccess::Store => {
                end = end.max(line.free);
                core.stored = (core.stored.0.max(end), core.stored.1.max(chain));
                core.at.time += costs.hit;
            }
            LineAccess::Update => {
                end += costs.locked;
                (core.at.time, core.at.chain) = (end, chain);
            }
        }
        if access != LineAccess::Load {
            line.caches = Caches::of(current);
        }
        if is_changed {
            line.version += 1;
            line.chain = chain;
            for rank in std::mem::take(&mut line.waiting) {
                let waiting = &mut self.cores[rank as usize];
                if std::mem::take(&mut waiting.is_waiting) {
                    waiting.at.time = waiting.at.time.max(end);
                    self.ready.push(Reverse((waiting.at.time, rank)));
                }
            }
        }
    }

    /// Whether the calling rank now waits for a change of what it has read since its last look.
    fn await_change(&mut self) -> bool {
        let current = self.current;
        let looked = std::mem::take(&mut self.core().looked);
        let is_old = |(number, version): &(usize, u64)| self.lines[number].version != *version;
        if looked.is_empty() || looked.iter().any(is_old) {
            return false;
        }
        for (number, _) in looked {
            self.lines.entry(number).or_default().waiting.push(current);
        }
        self.core().is_waiting = true;
        true
    }

    fn fence(&mut self) {
        let cost = self.costs.fence;
        let core = self.core();
        core.await_stores();
        core.at.time += cost;
    }
}

pub(super) fn mem_sync(site: Site) {
    if is_running() && site.is_fence_on_x86() {
        take_turn();
        with(Simulation::fence);
    }
}

/// It stands beside a read-modify-write, which is a fence.
pub(super) fn mem_sync_beside(_: Site) {}

pub(super) fn cold_call<R>(f: impl FnOnce() -> R) -> R {
    f()
}

pub(super) fn mem_sync_of_all(_: Site) -> bool {
    if is_running() {
        take_turn();
        with(|simulation| {
            simulation.fence();
            simulation.core().at.time += simulation.costs.barrier_of_all;
        });
    }
    true
}

/// The calling rank's clock, in nanoseconds.
pub fn monotonic() -> u64 {
    if is_running() { progress().time / 1000 } else { 0 }
}

/// No fault is ever planted.
pub const fn planted(_: Fault) -> bool {
    false
}

/// See the native twin.
#[derive(Default)]
pub struct Word32(AtomicU32);

/// See the native twin.
#[derive(Default)]
pub struct Word64(AtomicU64);

#[allow(missing_docs, reason = "documented on the native twin")]
impl Word32 {
    pub fn expect_update(&self) {}
    pub fn expect_read(&self) {}
    pub fn load(&self) -> u32 {
        self.access(LineAccess::Load, |word| (word.load(Relaxed), false))
    }
    pub fn store(&self, value: u32) {
        self.access(LineAccess::Store, |word| ((), word.swap(value, Relaxed) != value))
    }
    pub fn swap(&self, value: u32) -> u32 {
        self.update(|_| value)
    }
    pub fn fetch_add(&self, n: u32) -> u32 {
        self.update(|word| word.wrapping_add(n))
    }
    pub fn fetch_sub(&self, n: u32) -> u32 {
        self.update(|word| word.wrapping_sub(n))
    }
    pub fn compare_exchange(&self, current: u32, new: u32) -> Result<u32, u32> {
        let before = self.update(|word| if word == current { new } else { word });
        if before == current { Ok(before) } else { Err(before) }
    }
    fn update(&self, f: impl FnOnce(u32) -> u32) -> u32 {
        self.access(LineAccess::Update, |word| {
            let before = word.load(Relaxed);
            let after = f(before);
            word.store(after, Relaxed);
            (before, before != after)
        })
    }
    fn access<R>(&self, kind: LineAccess, f: impl FnOnce(&AtomicU32) -> (R, bool)) -> R {
        access(std::ptr::from_ref(self).addr(), kind, || f(&self.0))
    }
}

#[allow(missing_docs, reason = "documented on the native twin")]
impl Word64 {
    pub fn load(&self) -> u64 {
        self.access(LineAccess::Load, |word| (word.load(Relaxed), false))
    }
    pub fn store(&self, value: u64) {
        self.access(LineAccess::Store, |word| ((), word.swap(value, Relaxed) != value))
    }
    pub fn swap(&self, value: u64) -> u64 {
        self.access(LineAccess::Update, |word| {
            let before = word.swap(value, Relaxed);
            (before, before != value)
        })
    }
    pub fn fetch_add(&self, n: u64) -> u64 {
        self.access(LineAccess::Update, |word| (word.fetch_add(n, Relaxed), n != 0))
    }
    pub fn compare_exchange(&self, current: u64, new: u64) -> Result<u64, u64> {
        self.access(LineAccess::Update, |word| {
            let result = word.compare_exchange(current, new, Relaxed, Relaxed);
            (result, result.is_ok() && current != new)
        })
    }
    fn access<R>(&self, kind: LineAccess, f: impl FnOnce(&AtomicU64) -> (R, bool)) -> R {
        access(std::ptr::from_ref(self).addr(), kind, || f(&self.0))
    }
}

/// A rank that has a core never sleeps.
#[derive(Default)]
pub(super) struct FutexWord(Word32);

impl FutexWord {
    pub(super) fn word(&self) -> &Word32 {
        &self.0
    }
    pub(super) fn wait(&self, _: u32, _: &FutexWord, _: u32, _: (bool, Duration)) {}
    pub(super) fn wait_briefly(&self, _: u32, _: &FutexWord, _: u32) {}
    pub(super) fn wait_blindly(&self) {}
    pub(super) fn wake(&self, _: u32) {}
    pub(super) fn sound(&self) {
        self.0.fetch_add(1);
    }
}

/// See the native twin: a millisecond of the rank's clock.
pub struct Contention(u64);

#[allow(missing_docs, reason = "documented on the native twin")]
impl Contention {
    pub fn begin() -> Contention {
        Contention(monotonic())
    }
    pub fn is_over(&self, _: u32) -> bool {
        monotonic() - self.0 >= 1_000_000
    }
}

/// See the native twin: a wait looks again whenever what it has read changes.
#[derive(Default)]
pub struct Backoff;

/// Nothing: a wait has one tier.
pub struct Tier;

impl Backoff {
    /// See the native twin: a wait looks whenever something changes.
    pub fn hold_off(&self, _: u32, _: impl Fn() -> bool) -> bool {
        false
    }
    pub(super) fn log(&self) -> Option<&dyn super::WaitLog> {
        None
    }
    /// Each rank has one.
    pub fn has_core(&self) -> bool {
        true
    }
    pub(super) fn begin(&self) -> Tier {
        with(|simulation| simulation.core().looked.clear());
        Tier
    }
    pub(super) fn next(&self, _: &mut Tier) -> WaitStep {
        if with(Simulation::await_change) {
            pause();
        }
        WaitStep::Spun
    }
    pub(super) fn polls(&self, tier: &mut Tier) -> bool {
        self.next(tier) == WaitStep::Spun
    }
    pub(super) fn settle(&self) {}
    pub(super) fn is_overdue(&self, _: &mut Tier) -> bool {
        false
    }
    pub(super) fn sleep(&self, _: &Tier) -> (bool, Duration) {
        (true, Duration::ZERO)
    }
}
