//! Reproducible choices.

/// A small generator of reproducible choices (splitmix64), the same on every rank.
pub struct Choices(pub u64);

impl Choices {
    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A permutation of `0..n`.
    pub fn permutation(&mut self, n: u64) -> Vec<u64> {
        let mut all: Vec<u64> = (0..n).collect();
        for i in (1..n).rev() {
            all.swap(i as usize, self.below(i + 1) as usize);
        }
        all
    }
}
