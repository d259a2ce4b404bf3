//! The machine: core atomics in shared memory, shared (non-private) futexes, real time.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "they are used here only")]

use super::{Fault, JobPlacement, Placement, Site, WaitLog, processor, wait::WaitStep};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use core::sync::atomic::{compiler_fence, fence};
use crossbeam_utils::Backoff as Spin;
use nix::unistd::{SysconfVar, sysconf};
use rustix::io::Errno;
use rustix::thread::futex;
use rustix::time::ClockId;
use std::io::Read;
use std::sync::{Arc, OnceLock, RwLock, Weak};
use std::time::{Duration, Instant};

/// Longest uninterrupted sleep where the kernel cannot wait for two words, and so the delay with which
/// a rank then learns of a failure. (Otherwise its word or the alarm of the job wakes a sleeper.)
const SLEEP_BOUND: futex::Timespec = futex::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How long a sleep waits on its word alone, without the alarm.
const DEAF: futex::Timespec = futex::Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
/// In larger jobs most sleeps are longer than that. So they are on both words from the beginning: each
/// wakes once instead of twice, while other ranks need the processor.
const DEAF_RANKS: usize = 64;
/// How long a rank sleeps that has progress work to look for.
const BRIEF: futex::Timespec = futex::Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
/// How long a wait sleeps before it is overdue (a lock's fairness then gives way), in a job of up to
/// [`LOOKERS`] ranks.
const OVERDUE: Duration = Duration::from_millis(100);
/// With this many ranks, the looks of sleeping ranks cost a few hundredths of a processor. In a larger
/// job each rank looks less often, so that sleeping ranks do not slow down the others.
const LOOKERS: usize = 256;
/// Looks at the word between two yields when every rank can have a core (about 12 µs of `pause`).
const SPINS: u32 = 300;
/// The least time that a rank stays awake when every rank can have a core. A wake-up would cost its
/// sender as much as it saves.
const AWAKE: Duration = Duration::from_millis(1);
/// The multiple of a wake-up's cost that a rank stays awake, if that is longer. While one rank is in
/// the system call the other continues and may wait for it next. If it slept before the call returns,
/// the two would wake each other in turn for ever.
const WAKE_UPS: u32 = 8;
/// The highest cost of a wake-up that counts. A longer one has been interrupted.
const DEAREST_WAKE_UP: Duration = Duration::from_micros(500);
/// Yields before sleeping when there are more ranks than cores. Eight ranks on two cores pass a
/// barrier within a handful of yields.
const YIELDS: u32 = 64;
/// Yields of a rank that shares cores and polls, before it prepares to sleep.
const POLLS: u32 = 8;
/// A yield that takes longer has run the time slice of a busy process or a computing rank. Sleeping is
/// then the faster wait, because the kernel prefers a woken sleeper to a busy process
/// (docs/performance.md).
const SLOW_YIELD: Duration = Duration::from_micros(250);
/// What each rank on the same core may add to that: each may run in between and yield in turn.
const YIELD_OF_OTHERS: Duration = Duration::from_micros(32);
/// The upper limit, below a time slice.
const SLOWEST_YIELD: Duration = Duration::from_millis(2);
/// How long waits sleep without yielding after a yield that was slow because of other processes: the first
/// value. It doubles if that comes again within [`AGAIN`], and halves otherwise. A trial beside a busy process
/// costs all ranks its time slice, so trials become rare there. A single disturbance, such as the start of
/// the job, costs little.
const DISTRUST: Duration = Duration::from_millis(1);
/// Several time slices.
const AGAIN: Duration = Duration::from_millis(30);
/// The largest value: the delay with which a job with more ranks than cores learns that a busy process
/// has ended.
const LONGEST_DISTRUST: Duration = Duration::from_millis(800);
/// How often a rank that distrusts yields asks the kernel whether another process wants its core.
const ASKS: Duration = Duration::from_micros(500);
/// For how long at most it does not ask after an answer that was wrong.
const ASKS_NOT: Duration = Duration::from_millis(100);
/// Yields of a rank that shares cores between two looks at where the others are.
const SETTLES: u32 = 16;

/// A relaxed 32-bit word of the segment.
#[repr(transparent)]
#[derive(Default)]
pub struct Word32(AtomicU32);

/// A relaxed 64-bit word of the segment.
#[repr(transparent)]
#[derive(Default)]
pub struct Word64(AtomicU64);

impl Word64 {
    /// A word of this process that is zero.
    pub const fn zero() -> Word64 {
        Word64(AtomicU64::new(0))
    }
}

impl Word32 {
    /// Prefetches the word's cache line for writing, so that the read-modify-write that follows does
    /// not stall on it. Orders nothing.
    #[inline(always)]
    pub fn expect_update(&self) {
        processor::prefetch_for_update(self.0.as_ptr());
    }
    /// Prefetches the word's cache line, so that a read that follows does not wait for it. Orders nothing.
    #[inline(always)]
    pub fn expect_read(&self) {
        processor::prefetch(self.0.as_ptr());
    }
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
    /// Replaces the word and returns the value before.
    #[inline(always)]
    pub fn swap(&self, value: u32) -> u32 {
        self.0.swap(value, Relaxed)
    }
    /// Adds, wrapping, and returns the value before.
    #[inline(always)]
    pub fn fetch_add(&self, n: u32) -> u32 {
        self.0.fetch_add(n, Relaxed)
    }
    /// Subtracts, wrapping, and returns the value before.
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
    /// [`Word32::expect_update`].
    #[inline(always)]
    pub fn expect_update(&self) {
        processor::prefetch_for_update(self.0.as_ptr().cast());
    }

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
    /// Replaces the word and returns the value before.
    #[inline(always)]
    pub fn swap(&self, value: u64) -> u64 {
        self.0.swap(value, Relaxed)
    }
    /// Adds `n` (wrapping); returns the value before.
    #[inline(always)]
    pub fn fetch_add(&self, n: u64) -> u64 {
        self.0.fetch_add(n, Relaxed)
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

    /// Blocks while the word is `expected` and `alarm` is `heard`. Returns early on a signal or after
    /// `most`. `first`: for a moment on the word alone, because most sleeps are that short.
    pub(super) fn wait(
        &self,
        expected: u32,
        alarm: &FutexWord,
        heard: u32,
        (first, most): (bool, Duration),
    ) {
        // Waiting for two words costs the kernel more than for one, and most sleeps are short.
        if first && self.wait_alone(expected, &DEAF) != Err(Errno::TIMEDOUT) {
            return;
        }
        let words = [self.unless_changed(expected), alarm.unless_changed(heard)];
        let until = after(most);
        let slept =
            futex::waitv(&words, futex::WaitvFlags::empty(), Some(&until), ClockId::Monotonic);
        match slept {
            Ok(_) => count_woken(RUNS_AGAIN),
            Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => (),
            // Older than Linux 5.16, or denied. If this fails as well, the wait polls.
            Err(_) => drop(self.wait_alone(expected, &SLEEP_BOUND)),
        }
    }

    /// [`FutexWord::wait`] for so short a time that it needs no alarm.
    pub(super) fn wait_briefly(&self, expected: u32, _: &FutexWord, _: u32) {
        let _ = self.wait_alone(expected, &BRIEF);
    }

    /// Blocks while the word is `expected`. Non-private: the waker is another process. EAGAIN (the
    /// word has changed), EINTR and ETIMEDOUT all mean "look again".
    fn wait_alone(&self, expected: u32, bound: &futex::Timespec) -> Result<(), Errno> {
        futex::wait(&self.0.0, futex::Flags::empty(), expected, Some(bound))
            .inspect(|()| count_woken(RUNS_AGAIN))
    }

    fn unless_changed(&self, from: u32) -> futex::Wait {
        let mut wait = futex::Wait::new();
        wait.val = from.into();
        wait.uaddr = futex::WaitPtr::new(self.0.0.as_ptr().cast());
        wait.flags = futex::WaitFlags::SIZE_U32;
        wait
    }

    /// Changes the word and wakes every sleeper.
    pub(super) fn sound(&self) {
        self.0.fetch_add(1);
        self.wake(i32::MAX as u32);
    }

    /// Exists for a fault of the models only.
    pub(super) fn wait_blindly(&self) {}

    /// Wakes up to `count` sleepers.
    #[cold]
    pub(super) fn wake(&self, count: u32) {
        let began = Instant::now();
        // Fails only for a bad address, which a reference cannot be.
        let woken = futex::wake(&self.0.0, futex::Flags::empty(), count).unwrap_or(0);
        if woken > 0 {
            count_woken(woken as u32);
            let cost = began.elapsed().min(DEAREST_WAKE_UP).as_nanos() as u32;
            let before = WAKING.load(Relaxed);
            // Of threads that wake at the same time, one value may be lost.
            WAKING.store(if before == 0 { cost } else { before - before / 4 + cost / 4 }, Relaxed);
        }
    }
}

/// What a wake-up has lately cost this process, in nanoseconds; zero before the first one.
static WAKING: AtomicU32 = AtomicU32::new(0);
/// A rank that was woken runs: one less.
const RUNS_AGAIN: u32 = u32::MAX;
/// Where the job of this process counts the ranks that were woken and have not run since.
static JOB: RwLock<Option<Weak<dyn JobPlacement>>> = RwLock::new(None);

/// Counts ranks that this one has woken, or, wrapping, that it runs again itself.
fn count_woken(ranks: u32) {
    let job = JOB.read().ok();
    if let Some(job) = job.and_then(|job| job.as_ref()?.upgrade()) {
        job.common().count_woken(ranks);
    }
}

#[inline(always)]
pub(super) fn mem_sync(site: Site) {
    if cfg!(target_arch = "x86_64") && !site.is_fence_on_x86() {
        compiler_fence(SeqCst);
    } else if matches!(site, Site::ParkWaiter | Site::ParkWaker) {
        mem_sync_beside(site);
    } else {
        fence(SeqCst);
    }
}

#[inline(always)]
pub(super) fn mem_sync_beside(_: Site) {
    if cfg!(target_arch = "x86_64") {
        // A locked instruction is a full barrier (Intel SDM 3A, 9.2.3.9 "loads and stores are not
        // reordered with locked instructions"). This one stops the compiler from moving accesses
        // across it.
        compiler_fence(SeqCst);
    } else {
        fence(SeqCst);
    }
}

/// The kernel's barrier of all ranks or, if that fails, one of this rank.
pub(super) fn mem_sync_of_all(site: Site) -> bool {
    mem_sync(site);
    let done = processor::barrier_of_all();
    compiler_fence(SeqCst);
    done
}

#[inline(always)]
pub(super) fn cold_call<R>(f: impl FnOnce() -> R) -> R {
    processor::cold_call(f)
}

/// The time on CLOCK_MONOTONIC after `bound`.
fn after(bound: Duration) -> futex::Timespec {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    let nanoseconds = now.tv_nsec + i64::from(bound.subsec_nanos());
    let second = 1_000_000_000;
    futex::Timespec {
        tv_sec: now.tv_sec + bound.as_secs() as i64 + nanoseconds / second,
        tv_nsec: nanoseconds % second,
    }
}

/// Nanoseconds of CLOCK_MONOTONIC, which all processes of the machine share.
pub fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Natively no fault is ever planted.
#[inline(always)]
pub const fn planted(_: Fault) -> bool {
    false
}

/// How long a rank contends for a lock before it queues. Each queued rank costs a wake-up, so ranks
/// whose critical sections are shorter than this rarely pay for the order.
const CONTENDS: Duration = Duration::from_millis(1);

/// A rank that contends for a lock.
pub struct Contention(Instant);

impl Contention {
    /// Begins now.
    pub fn begin() -> Contention {
        Contention(Instant::now())
    }

    /// Whether it has lasted long enough; `_lost` is the number of failed attempts.
    pub fn is_over(&self, _lost: u32) -> bool {
        self.0.elapsed() >= CONTENDS
    }
}

/// The first looks of a wait at one word come without a pause of the processor, which takes as long as a cache line from
/// another core.
const EAGER_LOOKS: u32 = 32;

/// Steps of a [`Backoff::hold_off`]: 127 pauses of the processor, each step twice as many as the one before.
const HOLD_OFF: u32 = 7;
/// Times in a row that a rank holds off. Then it looks all the time, so that it does not starve.
const HELD_OFF: u32 = 16;

/// Lets another thread of this processor run. For waits that end by no word of the segment.
pub fn give_way() {
    std::thread::yield_now();
}

/// How long to spin and to yield before sleeping; learns from slow yields.
pub struct Backoff {
    /// Looks between yields; none where ranks share cores.
    spins: AtomicU32,
    slow_yield: Duration,
    /// How long a wait sleeps before it is overdue.
    overdue: Duration,
    /// Whether a wait sleeps on its word alone first.
    is_deaf_first: bool,
    since: Instant,
    /// Until when (nanoseconds after `since`) yielding is distrusted.
    distrust_until: AtomicU64,
    /// For how long (nanoseconds) it was last distrusted.
    distrust: AtomicU64,
    /// From when (nanoseconds after `since`) the kernel may be asked whether the distrust still holds.
    ask_at: AtomicU64,
    /// When (nanoseconds after `since`) the kernel's answer ended it; zero if it never has.
    forgiven: AtomicU64,
    /// Yields of this process.
    yields: AtomicU32,
    /// Sleeps of its waits.
    sleeps: AtomicU64,
    /// The processors of this rank and the others, if known.
    placement: Option<Placement>,
    /// Called by a wait that has slept for long.
    look: Option<Box<dyn Fn() + Send + Sync>>,
    /// Counts the waits.
    log: Option<Arc<dyn WaitLog>>,
}

/// Progress of one wait through the tiers.
pub struct Tier {
    looks: u32,
    spins: u32,
    yields: u32,
    distrusts: bool,
    /// When the latest yield returned: the next one is timed by its own return alone.
    yielded: Option<Instant>,
    /// When the wait yielded first.
    awake_since: Option<Instant>,
    /// When the wait began to sleep, or was last overdue.
    sleeping_since: Option<Instant>,
    /// It has been overdue.
    has_looked: bool,
}

impl Backoff {
    /// For a job of `ranks` processes on `cores` processors that this one may run on.
    pub fn new(ranks: usize, cores: usize) -> Self {
        let spins = AtomicU32::new(if ranks <= cores { SPINS } else { 0 });
        let sharing = u32::try_from(ranks.div_ceil(cores.max(1))).unwrap_or(u32::MAX);
        let slow_yield = YIELD_OF_OTHERS.saturating_mul(sharing).clamp(SLOW_YIELD, SLOWEST_YIELD);
        let overdue = OVERDUE * u32::try_from(ranks.div_ceil(LOOKERS).max(1)).unwrap_or(u32::MAX);
        Backoff {
            spins,
            slow_yield,
            overdue,
            is_deaf_first: ranks <= DEAF_RANKS,
            since: Instant::now(),
            distrust_until: AtomicU64::default(),
            distrust: AtomicU64::default(),
            ask_at: AtomicU64::default(),
            forgiven: AtomicU64::default(),
            yields: AtomicU32::default(),
            sleeps: AtomicU64::default(),
            placement: None,
            look: None,
            log: None,
        }
    }

    /// For a rank of a job whose placement is known.
    pub fn at(placement: Placement) -> Self {
        let (ranks, cores) = (placement.ranks(), placement.processors());
        if let Ok(mut job) = JOB.write() {
            *job = Some(placement.words());
        }
        Backoff { placement: Some(placement), ..Backoff::new(ranks, cores) }
    }

    /// How often waits of this process have slept.
    pub fn sleeps(&self) -> u64 {
        self.sleeps.load(Relaxed)
    }

    /// How often a wait looks, without a pause for others, before it yields or sleeps.
    pub fn spins(&self) -> u32 {
        self.spins.load(Relaxed)
    }

    /// How many ranks share a processor of the job; one where its placement is unknown.
    pub fn sharing(&self) -> u32 {
        let share = |all: &Placement| all.ranks().div_ceil(all.processors().max(1));
        self.placement.as_ref().map_or(1, |all| u32::try_from(share(all)).unwrap_or(u32::MAX))
    }

    /// What a wake-up has lately cost a rank of the job.
    pub fn waking(&self) -> Duration {
        self.placement.as_ref().map(Placement::waking).unwrap_or_default()
    }

    /// This policy; a wait that has slept for long also calls `look`.
    pub fn looking(self, look: impl Fn() + Send + Sync + 'static) -> Self {
        Backoff { look: Some(Box::new(look)), ..self }
    }

    /// This policy; `log` counts the waits, if there is one.
    pub fn logging(self, log: Option<Arc<dyn WaitLog>>) -> Self {
        Backoff { log, ..self }
    }

    #[inline]
    pub(super) fn log(&self) -> Option<&dyn WaitLog> {
        self.log.as_deref()
    }

    /// Waits while a rank `is_inside`, at most [`HELD_OFF`] times about as long as a few short critical sections, and
    /// returns whether it has left. The first `unseen` steps of each time pass without a look: the rank inside keeps the
    /// lines that it needs, and enters again. Where ranks share cores, yields every other time.
    pub fn hold_off(&self, unseen: u32, is_inside: impl Fn() -> bool) -> bool {
        for times in 0..HELD_OFF {
            if !is_inside() {
                return true;
            }
            if self.spins.load(Relaxed) == 0 && times % 2 == 1 {
                // The rank inside may wait for this processor.
                std::thread::yield_now();
                continue;
            }
            let backoff = Spin::new();
            for step in 0..HOLD_OFF {
                if step >= unseen && !is_inside() {
                    return true;
                }
                backoff.spin();
            }
        }
        false
    }

    /// Whether each rank can have a core, and this one has lately noticed no other process on its own.
    pub fn has_core(&self) -> bool {
        // Ranks that share cores need not look at the clock.
        self.spins.load(Relaxed) > 0 && !self.begin().distrusts
    }

    pub(super) fn begin(&self) -> Tier {
        let until = self.distrust_until.load(Relaxed);
        let distrusts = until != 0 && self.now() < until;
        let (spins, awake_since, sleeping_since) = (self.spins.load(Relaxed), None, None);
        Tier {
            looks: 0,
            spins,
            yields: 0,
            distrusts,
            yielded: None,
            awake_since,
            sleeping_since,
            has_looked: false,
        }
    }

    pub(super) fn next(&self, tier: &mut Tier) -> WaitStep {
        tier.looks += 1;
        if tier.looks <= tier.spins {
            if tier.looks > EAGER_LOOKS {
                Spin::new().spin();
            }
            return WaitStep::Spun;
        }
        self.next_slowly(tier)
    }

    /// [`Backoff::next`] for a rank that polls and does not sleep: whether it looks again. What it looks at is written
    /// by several stores, so it pauses between its looks: each one may take the line away. The second look comes at
    /// once: the first one has brought the line here.
    pub(super) fn polls(&self, tier: &mut Tier) -> bool {
        if (1..EAGER_LOOKS.min(tier.spins)).contains(&tier.looks) {
            Spin::new().spin();
        }
        match self.next(tier) {
            WaitStep::Spun => true,
            WaitStep::Again => tier.spins == 0 && tier.yields <= POLLS,
            WaitStep::Sleep => false,
        }
    }

    #[cold]
    fn next_slowly(&self, tier: &mut Tier) -> WaitStep {
        if tier.spins > 0 || self.yields.load(Relaxed).is_multiple_of(SETTLES) {
            tier.spins = self.spins_now();
            self.settle();
        }
        if self.gives_up(tier) {
            tier.sleeping_since.get_or_insert_with(Instant::now);
            return WaitStep::Sleep;
        }
        if tier.spins > 0 {
            // Spins before the next yield, so that only the yield is timed.
            (tier.looks, tier.yielded) = (0, None);
        }
        let before = tier.yielded.unwrap_or_else(Instant::now);
        std::thread::yield_now();
        let after = Instant::now();
        tier.yields += 1;
        tier.yielded = Some(after);
        self.yields.store(self.yields.load(Relaxed).wrapping_add(1), Relaxed);
        if after - before > self.slow_yield && !self.is_calm(tier.spins > 0) {
            tier.distrusts = true;
            self.distrust_from((after - self.since).as_nanos() as u64);
        }
        WaitStep::Again
    }

    /// Whether the wait has been awake for long enough.
    fn gives_up(&self, tier: &mut Tier) -> bool {
        if tier.sleeping_since.is_some() || tier.distrusts && !self.trusts_again(tier) {
            return true;
        }
        if tier.spins == 0 {
            return tier.yields >= YIELDS;
        }
        let awake_since = *tier.awake_since.get_or_insert_with(Instant::now);
        awake_since.elapsed() >= self.awake()
    }

    /// How long a rank that has a core stays awake.
    fn awake(&self) -> Duration {
        let own = Duration::from_nanos(WAKING.load(Relaxed).into());
        let waking = match &self.placement {
            Some(placement) => placement.waking().max(own),
            None => own,
        };
        AWAKE.max(waking.min(DEAREST_WAKE_UP) * WAKE_UPS)
    }

    /// Looks between yields. Ranks that join later may add processors.
    fn spins_now(&self) -> u32 {
        let Some(placement) = &self.placement else { return self.spins.load(Relaxed) };
        let spins = if placement.is_enough_for_all() { SPINS } else { 0 };
        self.spins.store(spins, Relaxed);
        spins
    }

    /// Calls [`Placement::settle`]: before a rank yields or sleeps, and after a sleep, when the kernel
    /// may have moved it.
    pub(super) fn settle(&self) {
        if let Some(placement) = &self.placement {
            placement.settle();
        }
    }

    /// Publishes that this rank sleeps, and the cost of a wake-up.
    fn publish_sleep(&self) {
        if let Some(placement) = &self.placement {
            placement.sleep();
            let waking = WAKING.load(Relaxed);
            if waking > 0 {
                placement.record_waking(Duration::from_nanos(waking.into()));
            }
        }
    }

    /// Whether the wait has slept long enough to be overdue.
    pub(super) fn is_overdue(&self, tier: &mut Tier) -> bool {
        let overdue = tier.sleeping_since.is_some_and(|since| since.elapsed() >= self.overdue);
        if overdue {
            (tier.sleeping_since, tier.has_looked) = (Some(Instant::now()), true);
            self.look.iter().for_each(|look| look());
        }
        overdue
    }

    /// Nanoseconds after `since`.
    fn now(&self) -> u64 {
        self.since.elapsed().as_nanos() as u64
    }

    /// Publishes that this rank is about to sleep; [`Backoff::settle`] ends it. Returns the arguments of
    /// [`FutexWord::wait`].
    pub(super) fn sleep(&self, tier: &Tier) -> (bool, Duration) {
        self.sleeps.fetch_add(1, Relaxed);
        self.publish_sleep();
        (self.is_deaf_first && !tier.has_looked, self.overdue)
    }

    /// Another process made a yield slow, which ended `now`, in nanoseconds after `since`.
    fn distrust_from(&self, now: u64) {
        let (least, most) = (DISTRUST.as_nanos() as u64, LONGEST_DISTRUST.as_nanos() as u64);
        let last = self.distrust.load(Relaxed);
        let trusted_for = now.saturating_sub(self.distrust_until.load(Relaxed));
        let is_again = trusted_for < AGAIN.as_nanos() as u64;
        let distrust = if is_again { last * 2 } else { last / 2 }.clamp(least, most);
        self.distrust.store(distrust, Relaxed);
        self.distrust_until.store(now + distrust, Relaxed);
        // The kernel's answer has just been wrong: it is not asked for a while.
        let forgiven = self.forgiven.swap(0, Relaxed);
        let was_wrong = forgiven != 0 && now.saturating_sub(forgiven) < AGAIN.as_nanos() as u64;
        let asks_not = distrust.min(ASKS_NOT.as_nanos() as u64);
        self.ask_at.store(if was_wrong { now + asks_not } else { now }, Relaxed);
    }

    /// Whether the distrust of yields can end. The kernel answers that without a yield, which might cost
    /// a time slice.
    fn trusts_again(&self, tier: &mut Tier) -> bool {
        let now = self.now();
        if now < self.ask_at.load(Relaxed) {
            return false;
        }
        self.ask_at.store(now + ASKS.as_nanos() as u64, Relaxed);
        let is_calm = self.is_calm(tier.spins > 0);
        if is_calm {
            self.distrust_until.store(now, Relaxed);
            self.distrust.store(self.distrust.load(Relaxed) / 2, Relaxed);
            self.forgiven.store(now, Relaxed);
            tier.distrusts = false;
        }
        is_calm
    }

    /// Whether a yield gives the processor to a rank of the job at most. If every rank can have a core, no
    /// more processes want to run than there are processors; otherwise no more than ranks are awake.
    fn is_calm(&self, has_core: bool) -> bool {
        static PROCESSORS: OnceLock<u64> = OnceLock::new();
        let processors = || {
            let online = sysconf(SysconfVar::_NPROCESSORS_ONLN);
            online.ok().flatten().map_or(1, |online| online as u64)
        };
        let most = match &self.placement {
            _ if has_core => *PROCESSORS.get_or_init(processors),
            Some(placement) => placement.awake().unwrap_or_default() as u64,
            None => return false,
        };
        running().is_some_and(|running| running <= most)
    }
}

/// How many processes want to run on this machine, if that is known (proc(5), /proc/loadavg).
fn running() -> Option<u64> {
    let mut text = [0; 64];
    let read = std::fs::File::open("/proc/loadavg").and_then(|mut file| file.read(&mut text));
    let text = &text[..read.unwrap_or(0)];
    let running = text.split(|byte| b" /".contains(byte)).nth(3)?;
    str::from_utf8(running).ok()?.parse().ok()
}
