//! The machine: core atomics in shared memory, shared (non-private) futexes, real time.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "this is their room")]

use super::{Fault, Site, wait::Step};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use core::sync::atomic::{compiler_fence, fence};
use crossbeam_utils::Backoff;
use rustix::thread::futex;
use std::time::{Duration, Instant};

/// Longest uninterrupted sleep. A sleeper is woken by whoever changes its word; this bounds only
/// how late it learns that the job has failed when nobody is left to wake it.
const SLEEP_BOUND: futex::Timespec = futex::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How long a wait sleeps before it looks for another way on (a lock's fairness gives way).
const OVERDUE: Duration = Duration::from_millis(100);
/// Looks at the word before yielding when every rank can have a core (about 20 µs of `pause`).
const SPINS: u32 = 300;
/// Yields before sleeping. Eight ranks on two cores pass a barrier within a handful.
const YIELDS: u32 = 64;
/// A yield that takes longer has run somebody else's time slice: a foreign busy process, or a
/// rank that computes. Sleeping is then the faster wait, because the kernel prefers a woken
/// sleeper to a busy process (docs/measurements.md).
const SLOW_YIELD: Duration = Duration::from_micros(250);
/// How long to go straight to sleep after a slow yield, before yielding is tried again: so long
/// at first; twice as long as the last time if yielding is slow again before it has been trusted
/// for a third of that, else half as long. A trial beside a busy process costs all ranks its time
/// slice, so trials become rare there; a single disturbance, such as the start of the job, costs
/// little, and is soon forgotten.
const DISTRUST: Duration = Duration::from_millis(10);
/// The most that it grows to: how late a job learns that a busy process has gone.
const LONGEST_DISTRUST: Duration = Duration::from_millis(800);

/// A relaxed 32-bit word of the segment.
#[repr(transparent)]
#[derive(Default)]
pub struct Word32(AtomicU32);

/// A relaxed 64-bit word of the segment.
#[repr(transparent)]
#[derive(Default)]
pub struct Word64(AtomicU64);

impl Word32 {
    /// Reads the word.
    #[inline(always)]
    pub fn load(&self) -> u32 {
        self.0.load(Relaxed)
    }
    /// Writes the word; only where no other rank updates it at the same time.
    #[inline(always)]
    pub fn store(&self, value: u32) {
        self.0.store(value, Relaxed)
    }
    /// Replaces the word and returns what it was.
    #[inline(always)]
    pub fn swap(&self, value: u32) -> u32 {
        self.0.swap(value, Relaxed)
    }
    /// Adds, wrapping, and returns what it was.
    #[inline(always)]
    pub fn fetch_add(&self, n: u32) -> u32 {
        self.0.fetch_add(n, Relaxed)
    }
    /// Subtracts, wrapping, and returns what it was.
    #[inline(always)]
    pub fn fetch_sub(&self, n: u32) -> u32 {
        self.0.fetch_sub(n, Relaxed)
    }
    /// Replaces `current` by `new`; `Err` holds what was there instead.
    #[inline(always)]
    pub fn compare_exchange(&self, current: u32, new: u32) -> Result<u32, u32> {
        self.0.compare_exchange(current, new, Relaxed, Relaxed)
    }
}

impl Word64 {
    /// Reads the word.
    #[inline(always)]
    pub fn load(&self) -> u64 {
        self.0.load(Relaxed)
    }
    /// Writes the word; only where no other rank updates it at the same time.
    #[inline(always)]
    pub fn store(&self, value: u64) {
        self.0.store(value, Relaxed)
    }
    /// Replaces `current` by `new`; `Err` holds what was there instead.
    #[inline(always)]
    pub fn compare_exchange(&self, current: u64, new: u64) -> Result<u64, u64> {
        self.0.compare_exchange(current, new, Relaxed, Relaxed)
    }
}

/// The futex of a [`super::ParkWord`].
#[repr(transparent)]
#[derive(Default)]
pub(super) struct FutexWord(Word32);

impl FutexWord {
    #[inline(always)]
    pub(super) fn word(&self) -> &Word32 {
        &self.0
    }

    /// Blocks while the word is `expected`; returns early on a signal or after `SLEEP_BOUND`.
    pub(super) fn wait(&self, expected: u32) {
        // Non-private: the waker is another process. EAGAIN (the word has changed), EINTR and
        // ETIMEDOUT all mean "look again", and any other error turns the wait into polling.
        let _ = futex::wait(&self.0.0, futex::Flags::empty(), expected, Some(&SLEEP_BOUND));
    }

    /// Exists for a fault of the models only.
    pub(super) fn wait_blindly(&self) {}

    /// Wakes up to `count` sleepers.
    #[cold]
    pub(super) fn wake(&self, count: u32) {
        // Fails only for a bad address, which a reference cannot be.
        let _ = futex::wake(&self.0.0, futex::Flags::empty(), count);
    }
}

/// The word that ends every wait: nonzero once the job has failed. Ranks only read it.
#[repr(transparent)]
#[derive(Default)]
pub struct FailedWord(AtomicU32);

impl FailedWord {
    /// Whether the job has failed.
    #[inline(always)]
    pub fn is_set(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
    /// The cause as the launcher wrote it: rank + 1 of the first rank that failed, or zero.
    pub fn cause(&self) -> u32 {
        self.0.load(Relaxed)
    }
    /// Ends every wait of the job; the first cause stays.
    pub fn set(&self, cause: u32) {
        let _ = self.0.compare_exchange(0, cause, Relaxed, Relaxed);
    }
}

#[inline(always)]
pub(super) fn mem_sync(site: Site) {
    match site {
        // `sleepers += 1` and every change of a parked-on word are read-modify-writes that stand
        // immediately before these two sites, and on x86-64 a locked instruction is a full
        // barrier (Intel SDM 3A, 9.2.3.9 "loads and stores are not reordered with locked
        // instructions"). The compiler fence keeps the compiler from moving anything across.
        Site::ParkWaiter | Site::ParkWaker if cfg!(target_arch = "x86_64") => {
            compiler_fence(SeqCst)
        }
        _ => fence(SeqCst),
    }
}

/// Nanoseconds of CLOCK_MONOTONIC, which all processes of the machine share.
pub fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Natively no fault is ever planted.
#[inline(always)]
pub const fn planted(_: Fault) -> bool {
    false
}

/// How long to spin and to yield before sleeping; learns from slow yields.
pub struct Patience {
    spins: u32,
    since: Instant,
    /// Until when (nanoseconds after `since`) yielding is distrusted.
    distrust_until: AtomicU64,
    /// For how long (nanoseconds) it was distrusted the last time.
    distrust: AtomicU64,
}

/// Progress of one wait through the tiers.
pub struct Tier {
    looks: u32,
    distrusts: bool,
    /// When the latest yield returned: the next one is timed by its own return alone.
    yielded: Option<Instant>,
    /// When the wait began to sleep, or was overdue the last time.
    sleeping_since: Option<Instant>,
}

impl Patience {
    /// For a job of `ranks` processes on `cores` processors that this one may run on.
    pub fn new(ranks: usize, cores: usize) -> Self {
        let spins = if ranks <= cores { SPINS } else { 0 };
        let (distrust_until, distrust) = Default::default();
        Patience { spins, since: Instant::now(), distrust_until, distrust }
    }

    pub(super) fn begin(&self) -> Tier {
        let until = self.distrust_until.load(Relaxed);
        let distrusts = until != 0 && (self.since.elapsed().as_nanos() as u64) < until;
        Tier { looks: 0, distrusts, yielded: None, sleeping_since: None }
    }

    pub(super) fn next(&self, tier: &mut Tier) -> Step {
        tier.looks += 1;
        if tier.looks <= self.spins {
            let backoff = Backoff::new();
            backoff.spin();
            return Step::Again;
        }
        if tier.distrusts || tier.looks > self.spins + YIELDS {
            tier.sleeping_since.get_or_insert_with(Instant::now);
            return Step::Sleep;
        }
        let before = tier.yielded.unwrap_or_else(Instant::now);
        std::thread::yield_now();
        let after = Instant::now();
        tier.yielded = Some(after);
        if after - before > SLOW_YIELD {
            tier.distrusts = true;
            self.distrust_from((after - self.since).as_nanos() as u64);
        }
        Step::Again
    }

    /// Whether the wait has slept for another [`OVERDUE`].
    pub(super) fn is_overdue(&self, tier: &mut Tier) -> bool {
        let overdue = tier.sleeping_since.is_some_and(|since| since.elapsed() >= OVERDUE);
        if overdue {
            tier.sleeping_since = Some(Instant::now());
        }
        overdue
    }

    /// Yielding was slow at `now`, in nanoseconds after `since`.
    fn distrust_from(&self, now: u64) {
        let (least, most) = (DISTRUST.as_nanos() as u64, LONGEST_DISTRUST.as_nanos() as u64);
        let last = self.distrust.load(Relaxed);
        let trusted_for = now.saturating_sub(self.distrust_until.load(Relaxed));
        let distrust = if trusted_for < last / 3 { last * 2 } else { last / 2 }.clamp(least, most);
        self.distrust.store(distrust, Relaxed);
        self.distrust_until.store(now + distrust, Relaxed);
    }
}
