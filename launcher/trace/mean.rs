//! A quantity of the whole job over time, as its mean in intervals of equal length.
//!
//! The ranks' events come rank by rank, and a wait is known when it has ended. So what all ranks do at one time is known
//! at the end, and until then there is memory for some intervals only: where there are too many, each two become one.

use std::ops::Range;

/// Intervals at most: about as many as a screen has columns.
const MOST: u64 = 2048;
/// The binary logarithm of the first length in nanoseconds.
const SHORTEST: u32 = 10;

/// The mean of a sum of parts, each of which lasts for some time.
pub struct MeanOverTime {
    /// The binary logarithm of the nanoseconds of an interval.
    shift: u32,
    /// The number of the first interval, from time zero on.
    first: u64,
    /// For each interval the sum of the parts, times the nanoseconds that each lasts in it.
    sums: Vec<f64>,
}

impl MeanOverTime {
    pub fn new() -> MeanOverTime {
        MeanOverTime { shift: SHORTEST, first: 0, sums: Vec::new() }
    }

    /// A part of that amount, which lasts for those nanoseconds.
    pub fn add(&mut self, lasts: Range<u64>, amount: f64) {
        if lasts.is_empty() {
            return;
        }
        self.reach(&lasts);
        for number in lasts.start >> self.shift..=(lasts.end - 1) >> self.shift {
            let interval = number << self.shift..(number + 1) << self.shift;
            let within = lasts.end.min(interval.end) - lasts.start.max(interval.start);
            self.sums[(number - self.first) as usize] += amount * within as f64;
        }
    }

    /// Makes the intervals that a part needs.
    fn reach(&mut self, lasts: &Range<u64>) {
        if self.sums.is_empty() {
            self.first = lasts.start >> self.shift;
        }
        loop {
            let first = self.first.min(lasts.start >> self.shift);
            let last = ((lasts.end - 1) >> self.shift) + 1;
            let last = last.max(self.first + self.sums.len() as u64);
            if last - first <= MOST {
                let before = (self.first - first) as usize;
                self.sums.splice(..0, std::iter::repeat_n(0.0, before));
                self.sums.resize((last - first) as usize, 0.0);
                self.first = first;
                return;
            }
            self.lengthen();
        }
    }

    /// Makes one interval of each two.
    fn lengthen(&mut self) {
        let odd = self.first % 2;
        self.sums.splice(..0, std::iter::repeat_n(0.0, odd as usize));
        self.sums = self.sums.chunks(2).map(|two| two.iter().sum()).collect();
        (self.first, self.shift) = (self.first / 2, self.shift + 1);
    }

    /// The means, each with the time from which on it is valid, where they change. The last one is zero.
    pub fn changes(&self) -> impl Iterator<Item = (u64, f64)> {
        let length = (1u64 << self.shift) as f64;
        let means = self.sums.iter().map(move |sum| sum / length).chain([0.0]);
        let mut before = f64::NAN;
        (self.first..).zip(means).filter_map(move |(number, mean)| {
            (std::mem::replace(&mut before, mean) != mean).then_some((number << self.shift, mean))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(parts: &[(Range<u64>, f64)]) -> Vec<(u64, f64)> {
        let mut mean = MeanOverTime::new();
        parts.iter().for_each(|(lasts, amount)| mean.add(lasts.clone(), *amount));
        mean.changes().collect()
    }

    #[test]
    fn parts_at_the_same_time_add_up() {
        let parts = [(2048..6144, 1.0), (4096..8192, 2.0), (1024..1024, 9.0)];
        assert_eq!(changes(&parts), [(2048, 1.0), (4096, 3.0), (6144, 2.0), (8192, 0.0)]);
        let parts = [(5120..5632, 8.0), (0..1024, 1.0)];
        assert_eq!(changes(&parts), [(0, 1.0), (1024, 0.0), (5120, 4.0), (6144, 0.0)]);
    }

    #[test]
    fn a_long_time_has_longer_intervals_and_the_same_sum() {
        let mut mean = MeanOverTime::new();
        let second = 1_000_000_000;
        for begun in (0..3600).rev() {
            mean.add(7 + begun * second..7 + begun * second + second / 4, 4.0);
        }
        assert!(mean.sums.len() as u64 <= MOST && mean.sums.len() as u64 > MOST / 4);
        let sum: f64 = mean.sums.iter().sum();
        assert!((sum / (3600.0 * second as f64) - 1.0).abs() < 1e-9, "{sum}");
    }
}
