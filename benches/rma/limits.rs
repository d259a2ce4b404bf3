//! The bare limits: what the machine needs for the same work without a library.
#![allow(unsafe_code, reason = "plain accesses to the pages of a window")]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "bare instructions")]

use crate::pages::Pages;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use core::sync::atomic::{AtomicU64, fence};
use std::hint::{black_box, spin_loop};

/// A store, then a full barrier instruction.
pub fn store_barrier(pages: Pages, n: u32) {
    let at = pages.words(0, 1);
    for value in 0..u64::from(n) {
        // SAFETY: `words` has checked the address; no other rank accesses the pages meanwhile.
        unsafe { at.write_volatile(value) };
        fence(SeqCst);
    }
}

/// A load, then a full barrier instruction.
pub fn load_barrier(pages: Pages, n: u32) {
    let at = pages.words(0, 1);
    for _ in 0..n {
        // SAFETY: as above.
        black_box(unsafe { at.read_volatile() });
        fence(SeqCst);
    }
}

/// memcpy from `from` to the pages.
pub fn copy_to(from: &[u64], pages: Pages, n: u32) {
    for _ in 0..n {
        let from = black_box(from);
        let to = pages.words(0, from.len());
        // SAFETY: `words` has checked the target; it lies in the segment and `from` does not.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }
}

/// memcpy from the pages to `to`.
pub fn copy_from(to: &mut [u64], pages: Pages, n: u32) {
    for _ in 0..n {
        let to = black_box(&mut *to);
        let from = pages.words(0, to.len());
        // SAFETY: as above, the other way round.
        unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
    }
}

/// Copies each word to the first of every `STRIDE` words of the pages.
pub fn scatter<const STRIDE: usize>(from: &[u64], pages: Pages, n: u32) {
    for _ in 0..n {
        let from = black_box(from);
        let to = pages.words(0, from.len() * STRIDE);
        for (i, word) in from.iter().enumerate() {
            // SAFETY: `words` has checked the last of them.
            unsafe { to.wrapping_add(i * STRIDE).write(*word) };
        }
    }
}

/// A block of a matrix in the pages.
#[derive(Clone, Copy)]
pub struct Rows {
    pub columns: usize,
    /// Row and column.
    pub start: [usize; 2],
    /// Rows and columns.
    pub size: [usize; 2],
}

/// Copies rows that lie behind one another to a block of a matrix in the pages.
#[inline(always)]
pub fn rows_to(from: &[u64], pages: Pages, Rows { columns, start, size }: Rows) {
    for row in 0..size[0] {
        let words = &from[row * size[1]..][..size[1]];
        let to = pages.words((start[0] + row) * columns + start[1], words.len());
        // SAFETY: `words` has checked the row; it lies in the segment and `from` does not.
        unsafe { to.copy_from_nonoverlapping(words.as_ptr(), words.len()) };
    }
}

/// A word of the pages as an atomic.
fn atomic(pages: Pages, at: usize) -> &'static AtomicU64 {
    // SAFETY: `words` has checked the address and windows are aligned; the window outlives every
    // measurement, and each word used here is accessed atomically only.
    unsafe { &*pages.words(at, 1).cast::<AtomicU64>() }
}

/// One locked add.
pub fn locked_add(pages: Pages, n: u32) {
    let word = atomic(pages, 0);
    for _ in 0..n {
        black_box(word.fetch_add(1, Relaxed));
    }
}

/// One locked compare-and-exchange that succeeds.
pub fn compare_exchange(pages: Pages, n: u32) {
    let word = atomic(pages, 0);
    let first = word.load(Relaxed);
    for value in first..first + u64::from(n) {
        let _ = word.compare_exchange(value, value + 1, Relaxed, Relaxed);
    }
}

/// An atomic sum of doubles: a loop around a compare-and-exchange per element.
pub fn add_doubles(pages: Pages, count: usize, n: u32) {
    for _ in 0..n {
        for i in 0..count {
            let add = |old| Some((f64::from_bits(old) + 1.0).to_bits());
            let _ = atomic(pages, i).fetch_update(Relaxed, Relaxed, add);
        }
    }
}

/// A cache line there and back between this rank and one other; `first` begins.
pub fn ping_pong(pages: Pages, first: bool, n: u32) {
    let (ping, pong) = (atomic(pages, 32), atomic(pages, 48));
    let (mine, theirs) = if first { (ping, pong) } else { (pong, ping) };
    let begin = mine.load(Relaxed);
    for round in 1..=u64::from(n) {
        if first {
            mine.store(begin + round, Relaxed);
        }
        while theirs.load(Relaxed) < begin + round {
            spin_loop();
        }
        if !first {
            mine.store(begin + round, Relaxed);
        }
    }
}

/// A barrier written by hand: one counter; ranks that have a core each spin, others yield.
pub struct Barrier {
    arrived: &'static AtomicU64,
    ranks: u64,
    target: u64,
    spins: bool,
}

impl Barrier {
    /// On a word of the pages that nobody uses otherwise, zero at first.
    pub fn new(pages: Pages, ranks: u32, cores: usize) -> Barrier {
        let spins = ranks as usize <= cores;
        Barrier { arrived: atomic(pages, 64), ranks: u64::from(ranks), target: 0, spins }
    }

    /// Waits until all ranks are here; orders memory like a fence.
    pub fn wait(&mut self) {
        self.target += self.ranks;
        self.arrived.fetch_add(1, AcqRel);
        while self.arrived.load(Acquire) < self.target {
            if self.spins { spin_loop() } else { std::thread::yield_now() }
        }
    }
}
