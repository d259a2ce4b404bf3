//! Synchronisation written by hand over the pages of a window, without the library: what its own
//! is compared with. Nothing here is fair, bounded, or survives a death.
//!
//! All of it orders memory in the cheapest way that a program could use: what a rank has done before
//! it publishes (`Release`) is seen by a rank that has read it (`Acquire`); a read-modify-write
//! that does both passes on what others have published before. On x86-64 none of it costs a barrier.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "bare instructions")]

use crate::limits::{atomic, atomic32};
use crate::machine;
use crate::pages::Pages;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};
use rustix::thread::futex;
use std::hint::spin_loop;

/// Words of a cache line, and of the one that the processor fetches with it.
const LINE: usize = 16;

/// How a rank waits.
#[derive(Clone, Copy, PartialEq)]
pub enum Wait {
    Spin,
    Yield,
    Futex,
}

impl Wait {
    /// Spinning where each rank has a core, otherwise yielding.
    pub fn busy(ranks: u32) -> Wait {
        if ranks as usize <= machine::cores() { Wait::Spin } else { Wait::Yield }
    }

    fn until(self, true_now: impl Fn() -> bool) {
        while !true_now() {
            if self == Wait::Spin { spin_loop() } else { std::thread::yield_now() }
        }
    }
}

/// A barrier over one counter.
pub struct Barrier {
    arrived: &'static AtomicU64,
    /// The number of this barrier, for those who sleep.
    passed: &'static AtomicU32,
    ranks: u64,
    target: u64,
    wait: Wait,
}

impl Barrier {
    /// Words that it needs.
    pub const WORDS: usize = 2 * LINE;

    /// On words of the pages that no rank uses otherwise, zero at first.
    pub fn new(pages: Pages, at: usize, ranks: u32, wait: Wait) -> Barrier {
        let (arrived, passed) = (atomic(pages, at), atomic32(pages, at + LINE));
        Barrier { arrived, passed, ranks: u64::from(ranks), target: 0, wait }
    }

    /// Waits until all ranks are here.
    pub fn wait(&mut self) {
        // No rank passes before this one arrives, so the number is still that of the barrier before.
        let before = self.passed.load(Relaxed);
        self.target += self.ranks;
        let last = self.arrived.fetch_add(1, AcqRel) + 1 == self.target;
        if self.wait != Wait::Futex {
            return self.wait.until(|| self.arrived.load(Acquire) >= self.target);
        }
        if last {
            // Passes on what all have published by their arrivals.
            self.passed.store(before + 1, Release);
            let _ = futex::wake(self.passed, futex::Flags::empty(), u32::MAX >> 1);
        }
        while self.passed.load(Acquire) == before {
            let _ = futex::wait(self.passed, futex::Flags::empty(), before, None);
        }
    }
}

/// A barrier in which each rank writes only lines of its own: in step k it notifies the rank 2^k
/// behind it, and waits for the one 2^k before it.
pub struct Dissemination {
    pages: Pages,
    at: usize,
    rank: usize,
    ranks: usize,
    number: u64,
    wait: Wait,
}

impl Dissemination {
    /// Steps for up to 256 ranks.
    const STEPS: usize = 8;

    /// Words that it needs.
    pub const fn words(ranks: u32) -> usize {
        ranks as usize * Self::STEPS * LINE
    }

    /// In the memory at this place, which is zero.
    pub fn new(pages: Pages, at: usize, rank: u32, ranks: u32, wait: Wait) -> Dissemination {
        assert!(ranks <= 1 << Self::STEPS, "too many ranks");
        Dissemination { pages, at, rank: rank as usize, ranks: ranks as usize, number: 0, wait }
    }

    fn word(&self, rank: usize, step: usize) -> &'static AtomicU64 {
        atomic(self.pages, self.at + (rank * Self::STEPS + step) * LINE)
    }

    /// Waits until all ranks have arrived.
    pub fn wait(&mut self) {
        self.number += 1;
        let (mut step, mut distance) = (0, 1);
        while distance < self.ranks {
            let before = (self.rank + self.ranks - distance) % self.ranks;
            self.word(self.rank, step).store(self.number, Release);
            let theirs = self.word(before, step);
            self.wait.until(|| theirs.load(Acquire) >= self.number);
            (step, distance) = (step + 1, 2 * distance);
        }
    }
}

/// What post, start, complete and wait have to say at least: a counter of posts per rank, and one
/// of completes.
pub struct Handshake {
    posted: &'static AtomicU64,
    completed: &'static AtomicU64,
    /// The same words of the ranks that this one works on.
    targets: Vec<(&'static AtomicU64, &'static AtomicU64)>,
    origins: u64,
    number: u64,
    wait: Wait,
}

impl Handshake {
    /// Words that it needs.
    pub const fn words(ranks: u32) -> usize {
        2 * LINE * ranks as usize
    }

    /// In the memory at this place, which is zero; with as many origins as targets.
    pub fn new(pages: Pages, at: usize, rank: u32, targets: &[u32], wait: Wait) -> Handshake {
        let words = |rank: u32| {
            let at = at + 2 * LINE * rank as usize;
            (atomic(pages, at), atomic(pages, at + LINE))
        };
        let (posted, completed) = words(rank);
        let origins = targets.len() as u64;
        let targets = targets.iter().map(|target| words(*target)).collect();
        Handshake { posted, completed, targets, origins, number: 0, wait }
    }

    /// Announces that this rank may be put to, and waits until all its targets have announced it.
    pub fn open(&mut self) {
        self.announce();
        self.targets.iter().for_each(|(posted, _)| self.await_post(posted));
    }

    /// An epoch, in which `work` is done when all targets have posted.
    pub fn epoch(&mut self, work: impl FnOnce()) {
        self.open();
        work();
        self.close();
    }

    /// An epoch, in which `put` is called for each target when that has posted.
    pub fn epoch_by_target(&mut self, mut put: impl FnMut()) {
        self.announce();
        for (posted, _) in &self.targets {
            self.await_post(posted);
            put();
        }
        self.close();
    }

    fn announce(&mut self) {
        self.number += 1;
        self.posted.store(self.number, Release);
    }

    fn await_post(&self, posted: &AtomicU64) {
        self.wait.until(|| posted.load(Acquire) >= self.number);
    }

    fn close(&self) {
        for (_, completed) in &self.targets {
            completed.fetch_add(1, AcqRel);
        }
        let all = self.number * self.origins;
        self.wait.until(|| self.completed.load(Acquire) >= all);
    }
}

/// A lock of one bit: the first rank to try takes it. The unlock publishes what was done under it, and
/// seen by the next lock.
pub struct Unfair {
    held: &'static AtomicU32,
    wait: Wait,
}

impl Unfair {
    /// In the memory at this place, which is zero.
    pub fn new(pages: Pages, at: usize, wait: Wait) -> Unfair {
        Unfair { held: atomic32(pages, at), wait }
    }

    pub fn lock(&self) {
        while self.held.swap(1, Acquire) != 0 {
            self.wait.until(|| self.held.load(Relaxed) == 0);
        }
    }

    pub fn unlock(&self) {
        self.held.store(0, Release);
    }
}

/// A lock that is taken in order. A holder sees what earlier holders have done; drawing
/// a ticket shows nothing.
pub struct Ticket {
    next: &'static AtomicU32,
    serving: &'static AtomicU32,
    wait: Wait,
}

impl Ticket {
    /// In the memory at this place, which is zero; it needs two cache lines.
    pub fn new(pages: Pages, at: usize, wait: Wait) -> Ticket {
        Ticket { next: atomic32(pages, at), serving: atomic32(pages, at + LINE), wait }
    }

    pub fn lock(&self) {
        let mine = self.next.fetch_add(1, Relaxed);
        self.wait.until(|| self.serving.load(Acquire) == mine);
    }

    pub fn unlock(&self) {
        self.serving.store(self.serving.load(Relaxed).wrapping_add(1), Release);
    }
}
