//! The bare limits: what the machine needs for the same work without a library.
#![allow(unsafe_code, reason = "plain accesses to the pages of a window")]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "bare instructions")]

use crate::pages::Pages;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicU32, AtomicU64, fence};
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

/// Copies of a size that the compiler knows to the pages.
pub fn copy_known_to<const WORDS: usize>(from: &[u64; WORDS], pages: Pages, at: usize, n: u32) {
    for _ in 0..n {
        let (from, to) = (black_box(from), black_box(pages.words(at, WORDS)));
        // SAFETY: `words` has checked the target.
        unsafe { to.cast::<[u64; WORDS]>().write(*from) };
    }
}

/// Copies of a size that the compiler knows from the pages to these buffers in turn.
pub fn copy_known_from<const WORDS: usize, const N: usize>(
    to: &mut [[u64; WORDS]; N],
    pages: Pages,
    n: u32,
) {
    for i in 0..n as usize {
        let i = i % N;
        let (to, from) = (black_box(&mut to[i]), black_box(pages.words(0, WORDS)));
        // SAFETY: as above, the other way round.
        *to = unsafe { from.cast::<[u64; WORDS]>().read() };
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

/// Copies each word to the word of the pages that its index names.
pub fn scatter_indexed(from: &[u64], indices: &[usize], most: usize, pages: Pages, n: u32) {
    for _ in 0..n {
        let (from, indices) = (black_box(from), black_box(indices));
        let to = pages.words(0, most);
        for (word, index) in from.iter().zip(indices) {
            assert!(*index < most, "an index outside the pages");
            // SAFETY: the index is below the number of words that `words` has checked.
            unsafe { to.wrapping_add(*index).write(*word) };
        }
    }
}

/// Adds each word to the first of every `STRIDE` words of the pages, without atomicity.
pub fn add_scattered<const STRIDE: usize>(from: &[u64], pages: Pages, n: u32) {
    for _ in 0..n {
        let from = black_box(from);
        let to = pages.words(0, from.len() * STRIDE);
        for (i, word) in from.iter().enumerate() {
            let to = to.wrapping_add(i * STRIDE);
            // SAFETY: `words` has checked the last of them; no other rank accesses them.
            let sum = unsafe { to.read() }.wrapping_add(*word);
            // SAFETY: as above.
            unsafe { to.write(sum) };
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
pub fn atomic(pages: Pages, at: usize) -> &'static AtomicU64 {
    // SAFETY: `words` has checked the address and windows are aligned; the window outlives every
    // measurement, and each word used here is accessed atomically only.
    unsafe { &*pages.words(at, 1).cast::<AtomicU64>() }
}

/// Half a word of the pages as an atomic, as futexes need it.
pub fn atomic32(pages: Pages, at: usize) -> &'static AtomicU32 {
    // SAFETY: as for `atomic`.
    unsafe { &*pages.words(at, 1).cast::<AtomicU32>() }
}

/// One locked add.
pub fn locked_add(pages: Pages, n: u32) {
    let word = atomic(pages, 0);
    for _ in 0..n {
        black_box(word.fetch_add(1, Relaxed));
    }
}

/// Three locked adds to two cache lines.
pub fn locked_adds(pages: Pages, n: u32) {
    let (one, other) = (atomic(pages, 0), atomic(pages, 16));
    for _ in 0..n {
        black_box(one.fetch_add(1, Relaxed));
        black_box(other.fetch_add(1, Relaxed));
        black_box(one.fetch_add(1, Relaxed));
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

/// One locked compare-and-exchange, which expects what the last one found; whether it succeeds
/// depends on the other ranks.
pub fn compare_exchange_any(pages: Pages, n: u32) {
    let word = atomic(pages, 16);
    let mut value = word.load(Relaxed);
    for _ in 0..n {
        value = match word.compare_exchange(value, value + 1, Relaxed, Relaxed) {
            Ok(before) => before,
            Err(found) => found,
        };
    }
}

/// An increment by plain accesses.
pub fn increment(pages: Pages, at: usize) {
    let word = pages.words(at, 1);
    // SAFETY: `words` has checked the address; the caller holds a lock.
    let value = unsafe { word.read_volatile() };
    // SAFETY: as above.
    unsafe { word.write_volatile(value + 1) };
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

/// The sum without atomicity, in private memory, in vectors as wide as the processor has them.
pub fn add_plainly(ones: &[f64], sums: &mut [f64], n: u32) {
    for _ in 0..n {
        let (ones, sums) = (black_box(ones), black_box(&mut *sums));
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what the function is compiled for.
            unsafe { add_wide(ones, sums) };
            continue;
        }
        add(ones, sums);
    }
}

#[inline(always)]
fn add(ones: &[f64], sums: &mut [f64]) {
    sums.iter_mut().zip(ones).for_each(|(sum, one)| *sum += one);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_wide(ones: &[f64], sums: &mut [f64]) {
    add(ones, sums);
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
