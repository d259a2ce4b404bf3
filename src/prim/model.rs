//! loom's model of the machine, and the table of mutants.
//!
//! * A futex is a mutex ("bucket") and a condition variable: compare-and-block is one step, and a
//!   forgotten wake-up is a deadlock that loom reports.
//! * A sleep lasts until its word or the alarm changes. Its native bound is not modelled, so no
//!   protocol may rely on it.
//! * A rank that polls explores `polls` failed looks and then continues without branching. This
//!   prunes and proves nothing; the mutants check it.
#![allow(clippy::disallowed_types, reason = "they are used here only")]

use super::{Fault, Site, wait::WaitStep};
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use loom::sync::atomic::{Ordering::AcqRel, fence};
use loom::sync::{Condvar, Mutex};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

/// One mutant, or none: what the model build does differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mutant {
    /// An omitted MEM_SYNC, on one rank or on all.
    pub site_off: Option<(Site, Option<usize>)>,
    /// An algorithm fault.
    pub fault: Option<Fault>,
    /// The number of a fault of the protocols over window operations, in their enum.
    pub above: Option<u8>,
    /// A full barrier weakened to an acquire-release fence, on one rank or on all.
    pub weakened: Option<(Site, Option<usize>)>,
}

/// How the model waits and how strong its barriers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The mutant under test.
    pub mutant: Mutant,
    /// Waiters sleep without polling first.
    pub park: bool,
    /// Failed polls explored before a waiter continues without branching.
    pub polls: usize,
    /// MEM_SYNC is the full barrier (for models that show the need for one).
    pub full_barrier: bool,
    /// How often a rank contends for a held lock before it queues.
    pub contends: u32,
    /// Each rank has a core.
    pub has_cores: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Setting {
            mutant: Mutant::default(),
            park: false,
            polls: 1,
            full_barrier: false,
            contends: 0,
            has_cores: false,
        }
    }
}

// loom runs all threads of a model on one OS thread, so these are shared by its ranks.
thread_local! {
    static SETTING: Cell<Setting> = Cell::new(Setting::default());
    static FUTEXES: RefCell<Vec<Arc<Bucket>>> = const { RefCell::new(Vec::new()) };
}

loom::thread_local! {
    static RANK: Cell<usize> = Cell::new(0);
}

/// Sets how the models of this OS thread run from now on.
pub fn set(setting: Setting) {
    SETTING.set(setting);
}

/// Drops the futexes of the execution before; called at the start of every execution.
pub fn begin_execution() {
    FUTEXES.with_borrow_mut(Vec::clear);
}

/// Sets the rank of the calling model thread, for mutants that concern one rank.
pub fn i_am(rank: usize) {
    RANK.with(|r| r.set(rank));
}

/// Whether `fault` is planted in this run.
pub fn planted(fault: Fault) -> bool {
    SETTING.get().mutant.fault == Some(fault)
}

/// Whether the fault with that number, of the protocols over window operations, is planted in this run.
pub fn planted_above(number: u8) -> bool {
    SETTING.get().mutant.above == Some(number)
}

pub(super) fn mem_sync(site: Site) {
    let setting = SETTING.get();
    let concerns = |mutant: Option<(Site, Option<usize>)>| {
        mutant.is_some_and(|(at, rank)| {
            at == site && rank.is_none_or(|rank| rank == RANK.with(Cell::get))
        })
    };
    if concerns(setting.mutant.site_off) {
        return;
    }
    let parking =
        matches!(site, Site::ParkWaiter | Site::ParkWaker | Site::ParkBarrier | Site::ParkReleased);
    if (parking || site == Site::Alarm) && !setting.park {
        // No rank sleeps, and no window data may rely on the fences of parking.
        return;
    }
    // The sites between a store and a load of another word. Two full barriers order everything around
    // them in loom, so other sites must not be stronger than necessary.
    let between = matches!(
        site,
        Site::LockAlone
            | Site::LockAllOpens
            | Site::LockAllReads
            | Site::LockAllRevokes
            | Site::ShardAlone
            | Site::ShardAnnounce
            | Site::ShardWithdrawn
            | Site::ShardBarrier
            | Site::EachArrived
    );
    let full = setting.full_barrier || parking || between;
    let full = full && !concerns(setting.mutant.weakened);
    fence(if full { SeqCst } else { AcqRel });
}

/// In a model a read-modify-write is no barrier.
pub(super) fn mem_sync_beside(site: Site) {
    mem_sync(site);
}

/// In a model every rank has its own full barriers.
pub(super) fn mem_sync_of_all(site: Site) -> bool {
    mem_sync(site);
    true
}

/// A model has no registers.
pub(super) fn cold_call<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// A model has no clock.
pub fn monotonic() -> u64 {
    0
}

/// Whether loom has ended this execution by a panic: destructors must not take another step.
fn execution_is_over() -> bool {
    std::thread::panicking()
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
        self.0.load(Relaxed)
    }
    pub fn store(&self, value: u32) {
        self.0.store(value, Relaxed)
    }
    pub fn swap(&self, value: u32) -> u32 {
        self.0.swap(value, Relaxed)
    }
    pub fn fetch_add(&self, n: u32) -> u32 {
        self.0.fetch_add(n, Relaxed)
    }
    pub fn fetch_sub(&self, n: u32) -> u32 {
        if execution_is_over() {
            return n;
        }
        self.0.fetch_sub(n, Relaxed)
    }
    pub fn compare_exchange(&self, current: u32, new: u32) -> Result<u32, u32> {
        self.0.compare_exchange(current, new, Relaxed, Relaxed)
    }
}

#[allow(missing_docs, reason = "documented on the native twin")]
impl Word64 {
    /// Always the first load of a compare-and-swap loop, or a snapshot: a guess. A stale guess costs
    /// one more iteration, which then knows the value. So loom need not branch on it.
    pub fn load(&self) -> u64 {
        if execution_is_over() {
            return 0;
        }
        loom::stop_exploring();
        let guess = self.0.load(Relaxed);
        loom::explore();
        guess
    }
    pub fn store(&self, value: u64) {
        self.0.store(value, Relaxed)
    }
    pub fn swap(&self, value: u64) -> u64 {
        self.0.swap(value, Relaxed)
    }
    pub fn fetch_add(&self, n: u64) -> u64 {
        if execution_is_over() {
            return 0;
        }
        self.0.fetch_add(n, Relaxed)
    }
    pub fn compare_exchange(&self, current: u64, new: u64) -> Result<u64, u64> {
        if execution_is_over() {
            return Ok(current);
        }
        self.0.compare_exchange(current, new, Relaxed, Relaxed)
    }
}

/// The kernel's side of a futex.
struct Bucket {
    lock: Mutex<()>,
    sleepers: Condvar,
}

pub(super) struct FutexWord {
    word: Word32,
    bucket: Arc<Bucket>,
}

impl Default for FutexWord {
    fn default() -> Self {
        let bucket = Arc::new(Bucket { lock: Mutex::new(()), sleepers: Condvar::new() });
        FUTEXES.with_borrow_mut(|all| all.push(bucket.clone()));
        FutexWord { word: Word32::default(), bucket }
    }
}

impl FutexWord {
    pub(super) fn word(&self) -> &Word32 {
        &self.word
    }

    /// A model has no clock.
    pub(super) fn wait(&self, expected: u32, alarm: &FutexWord, heard: u32, how: (bool, Duration)) {
        let _without_clock = how;
        let held = self.bucket.lock.lock().unwrap();
        if self.word.load() == expected && alarm.word.load() == heard {
            drop(self.bucket.sleepers.wait(held).unwrap());
        }
    }

    pub(super) fn wait_briefly(&self, expected: u32, alarm: &FutexWord, heard: u32) {
        self.wait(expected, alarm, heard, (true, Duration::ZERO));
    }

    /// The fault "sleeps without a last look": the kernel compares with the present value.
    pub(super) fn wait_blindly(&self) {
        let held = self.bucket.lock.lock().unwrap();
        drop(self.bucket.sleepers.wait(held).unwrap());
    }

    pub(super) fn wake(&self, count: u32) {
        let _held = self.bucket.lock.lock().unwrap();
        if count == 1 {
            self.bucket.sleepers.notify_one();
        } else {
            self.bucket.sleepers.notify_all();
        }
    }

    /// Every rank also sleeps on the one alarm of the model, so all of them wake.
    pub(super) fn sound(&self) {
        self.word.fetch_add(1);
        for bucket in FUTEXES.with_borrow(Clone::clone) {
            let _held = bucket.lock.lock().unwrap();
            bucket.sleepers.notify_all();
        }
    }
}

/// See the native twin: it ends after as many lost attempts as the setting has.
pub struct Contention;

#[allow(missing_docs, reason = "documented on the native twin")]
impl Contention {
    pub fn begin() -> Contention {
        Contention
    }
    pub fn is_over(&self, lost: u32) -> bool {
        lost >= SETTING.get().contends
    }
}

/// See the native twin: here it polls or sleeps, as the setting has it.
#[derive(Default)]
pub struct Backoff;

/// Failed polls of one wait.
pub struct Tier(usize);

impl Backoff {
    /// See the native twin: no time passes here.
    pub fn hold_off(&self, _: u32, _: impl Fn() -> bool) -> bool {
        false
    }

    pub(super) fn log(&self) -> Option<&dyn super::WaitLog> {
        None
    }
    /// See the native twin: as the setting has it.
    pub fn has_core(&self) -> bool {
        SETTING.get().has_cores
    }

    pub(super) fn begin(&self) -> Tier {
        Tier(0)
    }

    pub(super) fn next(&self, tier: &mut Tier) -> WaitStep {
        let setting = SETTING.get();
        if setting.park {
            return WaitStep::Sleep;
        }
        tier.0 += 1;
        if tier.0 > setting.polls {
            loom::skip_branch();
        }
        loom::thread::yield_now();
        WaitStep::Again
    }

    pub(super) fn polls(&self, tier: &mut Tier) -> bool {
        self.next(tier) == WaitStep::Spun
    }

    /// A model has no processors.
    pub(super) fn settle(&self) {}

    /// Time passes for ranks that poll; a sleep of the model lasts until another rank ends it.
    pub(super) fn is_overdue(&self, tier: &mut Tier) -> bool {
        !SETTING.get().park && tier.0 > SETTING.get().polls
    }

    pub(super) fn sleep(&self, _: &Tier) -> (bool, Duration) {
        (true, Duration::ZERO)
    }
}
