//! A word on which a rank can wait: the only kind of word in the segment on which ranks sleep.
//!
//! Sleeping and waking (the classic event count):
//!
//! ```text
//!   waiter                                waker
//!     sleepers += 1                         value changes
//!     mem_sync(ParkWaiter)                  mem_sync(ParkWaker)
//!     value as before? -> futex wait        sleepers != 0? -> futex wake
//! ```
//!
//! Both fences must be full barriers (store buffering): either the waiter sees the new value, or the
//! waker sees the sleeper. Without either, `loom_tests/tests/models/parking.rs` loses a wake-up and reports
//! a deadlock.
//!
//! A word that is released often and awaited rarely leaves the price to the waiter: its second barrier is one of all
//! ranks (ParkBarrier, `prim/processor.rs`), and the release is a plain store ([`ParkWord::release_and_wake`]).

use super::{
    FailedWord, Fault, Site, Word32, cold_call, machine::FutexWord, mem_sync, mem_sync_of_all,
    planted,
};
use std::time::Duration;

/// A 32-bit value and the number of waiters asleep on it. Zero bytes are its initial state.
///
/// Another process may change the value at any time, by the methods below only.
#[repr(C)]
#[derive(Default)]
pub struct ParkWord {
    value: FutexWord,
    sleepers: Word32,
}

impl ParkWord {
    /// The present value (relaxed: only a `mem_sync` orders other memory with it).
    #[inline]
    pub fn load(&self) -> u32 {
        self.value.word().load()
    }

    /// [`Word32::expect_update`] for the value.
    #[inline(always)]
    pub fn expect_update(&self) {
        self.value.word().expect_update();
    }

    /// [`Word32::expect_read`] for the value.
    #[inline(always)]
    pub fn expect_read(&self) {
        self.value.word().expect_read();
    }

    /// Adds `n` (wrapping), wakes every sleeper, and returns the value before.
    #[inline]
    pub fn add_and_wake(&self, n: u32) -> u32 {
        let before = self.add(n);
        self.wake_all();
        before
    }

    /// Adds `n` (wrapping) without waking: for arrivals that cannot be the awaited one.
    #[inline]
    pub fn add(&self, n: u32) -> u32 {
        self.value.word().fetch_add(n)
    }

    /// Sets the value and wakes every sleeper. Only for words with a single writer.
    #[inline]
    pub fn store_and_wake(&self, value: u32) {
        // A swap, not a store: `ParkWaker` may then rely on the locked instruction before it.
        self.value.word().swap(value);
        self.wake_all();
    }

    /// Sets the value without waking: [`ParkWord::wake_all`] follows, behind a read-modify-write of this rank. Only
    /// for words with a single writer.
    #[inline(always)]
    pub fn store(&self, value: u32) {
        self.value.word().store(value);
    }

    /// [`ParkWord::store_and_wake`] by a plain store, in a process that takes part in barriers of all ranks. All
    /// waiters of the word use [`Waiter::until_left`](super::Waiter::until_left).
    #[inline(always)]
    pub fn release_and_wake(&self, value: u32) {
        self.value.word().store(value);
        // Publishes the value before `sleepers` is read: a full barrier. Pairs with ParkBarrier in
        // `sleep_unless`. Fails without it: models/shards.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::ParkReleased);
        self.wake_sleepers();
    }

    /// Replaces `current` by `new` without waking; `Err` holds the value found instead.
    #[inline]
    pub fn replace(&self, current: u32, new: u32) -> Result<(), u32> {
        self.value.word().compare_exchange(current, new).map(drop)
    }

    /// [`ParkWord::replace`] that wakes every sleeper.
    #[inline(always)]
    pub fn replace_and_wake(&self, current: u32, new: u32) -> Result<(), u32> {
        self.replace(current, new)?;
        self.wake_all();
        Ok(())
    }

    /// Wakes every sleeper; without sleepers it costs one load and no system call.
    #[inline]
    pub fn wake_all(&self) {
        // Publishes the change of `value` before `sleepers` is read. Pairs with ParkWaiter in
        // `sleep_unless`. Fails without it: models/parking.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::ParkWaker);
        self.wake_sleepers();
    }

    /// Whether a waiter sleeps, or is about to. After a full barrier behind what it waits for, which pairs with
    /// ParkWaiter in `sleep_unless`.
    #[inline(always)]
    pub fn has_sleepers(&self) -> bool {
        self.sleepers.load() != 0
    }

    #[inline(always)]
    fn wake_sleepers(&self) {
        if self.has_sleepers() && !planted(Fault::WakeForgotten) {
            self.value.wake(if planted(Fault::WakeOne) { 1 } else { i32::MAX as u32 });
        }
    }

    /// Wakes up to the given number of sleepers of each word, unless an earlier nudge was not heeded
    /// yet ([`ParkWord::heed`]). Only for words that change in no other way. Without sleepers it costs
    /// one load each. Called immediately after the read-modify-write that the sleepers wait for.
    #[inline(always)]
    pub fn nudge(words: [(&ParkWord, u32); 2]) {
        // Publishes that change before `sleepers` is read. Pairs with ParkWaiter in `sleep_unless`.
        // Fails without it: models/parking.rs, by loom_tests/tests/mutants.rs.
        mem_sync(Site::ParkWaker);
        for (word, count) in words {
            if word.sleepers.load() != 0 {
                cold_call(move || word.nudge_sleepers(count));
            }
        }
    }

    fn nudge_sleepers(&self, count: u32) {
        let value = self.load();
        let nudged = value.wrapping_add(1);
        if !Self::is_nudged(value) && self.value.word().compare_exchange(value, nudged).is_ok() {
            self.value.wake(count);
        }
    }

    /// Whether a rank has been woken by a nudge and has not heeded it yet.
    pub fn is_nudged(value: u32) -> bool {
        value & 1 == 1
    }

    /// Records that a nudge has woken a rank, so that the next one wakes again. Called before a look at
    /// the awaited state.
    pub fn heed(&self) {
        let value = self.load();
        if Self::is_nudged(value) {
            // If it fails, another rank has recorded it.
            let _ = self.value.word().compare_exchange(value, value.wrapping_add(1));
        }
    }

    /// Sleeps until the value changes from what it is now, unless `awake(value)` already holds.
    ///
    /// `barrier` is ParkWaiter, or ParkBarrier for a word that is released by a plain store.
    /// `sleep` are the machine's arguments; `None` sleeps for a millisecond at most. May return early (a
    /// signal, a spurious wake-up, the bound on sleeping, a failure in `failed`): callers loop.
    pub(super) fn sleep_unless(
        &self,
        failed: &FailedWord,
        barrier: Site,
        sleep: Option<(bool, Duration)>,
        awake: impl Fn(u32) -> bool,
    ) {
        let heard = failed.heard();
        if !planted(Fault::SleepUnannounced) {
            self.sleepers.fetch_add(1);
        }
        // Publishes the sleeper before the last look at `value`; pairs with ParkWaker in `wake_all`, or with
        // ParkReleased in `release_and_wake`. Observes the failures before `heard`; pairs with Alarm. Fails
        // without it: models/parking.rs and models/shards.rs, by loom_tests/tests/mutants.rs.
        let is_ordered = match barrier {
            Site::ParkBarrier => mem_sync_of_all(barrier),
            _ => {
                mem_sync(barrier);
                true
            }
        };
        // Without the barrier of all ranks a release may miss the sleeper, which then looks again.
        let sleep = sleep.filter(|_| is_ordered);
        let now = self.load();
        if planted(Fault::SleepWithoutCheck) {
            self.value.wait_blindly();
        } else if !awake(now) {
            match sleep {
                None => self.value.wait_briefly(now, failed.alarm(), heard),
                Some(how) => self.value.wait(now, failed.alarm(), heard, how),
            }
        }
        if !planted(Fault::SleepUnannounced) {
            self.sleepers.fetch_sub(1);
        }
    }
}

impl AsRef<ParkWord> for ParkWord {
    fn as_ref(&self) -> &ParkWord {
        self
    }
}
