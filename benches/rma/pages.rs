//! The pages of one rank's part of a window as plain memory of this process, so that the bare
//! limits are measured on the very pages that put and get use.
#![allow(unsafe_code, reason = "reads a token through the computed address")]

use onesided::{Comm, Window};

/// Private memory for the rest of the run, from the start of a page on: how a copy's ends lie to each
/// other within their pages decides about its speed, and the twins' lie so.
pub fn private<T: Copy>(len: usize, value: T) -> &'static mut [T] {
    const PAGE: usize = 4096;
    let memory = vec![value; len + PAGE / size_of::<T>()].leak();
    let skip = memory.as_ptr().align_offset(PAGE);
    &mut memory[skip..][..len]
}

/// Addresses of one rank's part, valid while the window lives.
#[derive(Clone, Copy)]
pub struct Pages {
    base: *mut u64,
    words: usize,
}

impl Pages {
    /// The part of `rank`. All parts have the same length, a multiple of the page size. Collective.
    ///
    /// Parts lie behind one another in the segment, which no interface promises: every rank has
    /// left a token in its part, and it must be found there.
    pub fn locate(world: &Comm, window: &Window<u64>, rank: u32) -> Pages {
        const TOKEN: u64 = 0x0e51_ded0_0000;
        let me = world.rank().0;
        window.store(0, &[TOKEN + u64::from(me)]).expect("the own part has a word");
        world.barrier().expect("the job goes on");
        let distance = (rank as isize - me as isize) * window.len() as isize;
        let base = window.base().wrapping_offset(distance);
        // SAFETY: the address lies in the segment, which is mapped as a whole, because this
        // rank's part and that many parts before or behind it do.
        let found = unsafe { base.read_volatile() };
        assert_eq!(found, TOKEN + u64::from(rank), "the parts of a window are not in order");
        world.barrier().expect("the job goes on");
        Pages { base, words: window.len() }
    }

    /// The address of `words` words from word `at` on.
    pub fn words(self, at: usize, words: usize) -> *mut u64 {
        assert!(at + words <= self.words, "behind the pages");
        self.base.wrapping_add(at)
    }
}
