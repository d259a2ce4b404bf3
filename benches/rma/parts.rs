//! The parts of all ranks as plain memory, as a program without a library shares them.
#![allow(unsafe_code, reason = "plain accesses to the pages of a window")]

use crate::limits::atomic;
use crate::pages::Pages;
use core::sync::atomic::Ordering::Relaxed;
use onesided::{Comm, Window};

/// One part of each rank, all of the same length. What the ranks do to them is ordered by barriers
/// written by hand (`by_hand.rs`).
pub struct Parts(Vec<Pages>);

impl Parts {
    /// Collective; the window must outlive the use.
    pub fn locate(world: &Comm, window: &Window<u64>) -> Parts {
        Parts((0..world.size()).map(|rank| Pages::locate(world, window, rank)).collect())
    }

    /// The part of one rank.
    pub fn of(&self, rank: u32) -> Pages {
        self.0[rank as usize]
    }

    /// Combines atomically by exclusive or.
    #[inline]
    pub fn xor(&self, rank: u32, at: u64, value: u64) {
        atomic(self.of(rank), at as usize).fetch_xor(value, Relaxed);
    }

    /// Stores `new` where there is zero; returns what there was.
    #[inline]
    pub fn swap_zero(&self, rank: u32, at: u64, new: u64) -> u64 {
        let word = atomic(self.of(rank), at as usize);
        word.compare_exchange(0, new, Relaxed, Relaxed).unwrap_or_else(|found| found)
    }

    /// Sets a whole part to zero.
    pub fn clear(&self, rank: u32, words: usize) {
        let to = self.of(rank).words(0, words);
        // SAFETY: `words` has checked the length; no other rank accesses the part before the
        // barrier behind this.
        unsafe { to.write_bytes(0, words) };
    }

    /// Copies to a part.
    #[inline]
    pub fn put(&self, rank: u32, at: usize, from: &[f64]) {
        let to = self.of(rank).words(at, from.len()).cast::<f64>();
        // SAFETY: `words` has checked the target; it lies in the segment and `from` does not, and
        // no other rank accesses it before the next barrier.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }

    /// Copies from a part.
    #[inline]
    pub fn get(&self, rank: u32, at: usize, to: &mut [f64]) {
        let from = self.of(rank).words(at, to.len()).cast::<f64>();
        // SAFETY: as above, the other way round.
        unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
    }

    /// The parts of all ranks, behind one another, of `words` words each: for reading only, until
    /// the next barrier.
    pub fn all(&self, words: usize) -> &[f64] {
        let first = self.of(0).words(0, words).cast::<f64>();
        // SAFETY: `Pages::locate` has found every part behind the one before; between two barriers
        // all ranks only read.
        unsafe { std::slice::from_raw_parts(first, words * self.0.len()) }
    }
}
