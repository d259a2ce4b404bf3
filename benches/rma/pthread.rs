//! The pthread baseline: locks of raw_sync in the pages of a window.
//!
//! raw_sync is unmaintained and its locks are not robust; it is here to be compared with.
#![allow(unsafe_code, reason = "places a lock in shared memory")]

use crate::limits;
use crate::pages::Pages;
use onesided::Comm;
use raw_sync::locks::{LockImpl, LockInit};

/// Room for a lock, in words.
const WORDS: usize = 64;

/// A process-shared pthread lock.
pub struct Baseline(Box<dyn LockImpl>);

impl Baseline {
    /// Puts a lock into the pages from word `at` on. Collective: rank 0 makes it.
    pub fn new<L: LockInit>(world: &Comm, pages: Pages, at: usize) -> Baseline {
        let place = pages.words(at, WORDS).cast::<u8>();
        assert!(L::size_of(Some(place)) <= WORDS * 8);
        let made = (world.rank() == 0).then(|| {
            // SAFETY: `words` has checked that the bytes are there; no other thread uses them.
            unsafe { L::new(place, std::ptr::null_mut()) }.expect("a pthread lock").0
        });
        world.barrier().expect("the job goes on");
        let lock = made.unwrap_or_else(|| {
            // SAFETY: as above, and rank 0 has made the lock.
            unsafe { L::from_existing(place, std::ptr::null_mut()) }.expect("a pthread lock").0
        });
        Baseline(lock)
    }

    /// `n` exclusive sections, each of which increments a word of the pages.
    pub fn increments(&self, pages: Pages, at: usize, n: u32) {
        for _ in 0..n {
            let _held = self.0.lock().expect("a pthread lock can be taken");
            limits::increment(pages, at);
        }
    }
}
