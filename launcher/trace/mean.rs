//! A quantity of the whole job over time, as its mean in intervals of equal length.
//!
//! The ranks' events come rank by rank, and a call is known when it has ended. So what all ranks have done at one time is
//! known some time later, and is passed on then. An interval is as long as it has to be for a number of them from the
//! beginning on: where there are too many, each two become one.

use std::ops::Range;

/// Intervals from the beginning on at most, about as many as a screen has columns; those that have been passed on stay.
const MOST: u64 = 2048;
/// The binary logarithm of the first length in nanoseconds.
const SHORTEST: u32 = 10;

/// The mean of a sum of parts, each of which lasts for some time.
pub struct MeanOverTime {
    /// The binary logarithm of the nanoseconds of an interval.
    shift: u32,
    /// The number of the first interval that has not been passed on, from time zero on.
    first: u64,
    /// For each interval from there on the sum of the parts, times the nanoseconds that each lasts in it.
    sums: Vec<f64>,
    /// When the first interval of all began, once it has been passed on.
    origin: Option<u64>,
    /// The time until which all is known: of a later part only the rest counts.
    known: u64,
    /// The mean that was passed on last.
    before: f64,
}

impl MeanOverTime {
    pub fn new() -> MeanOverTime {
        let (first, sums, origin, known, before) = (0, Vec::new(), None, 0, f64::NAN);
        MeanOverTime { shift: SHORTEST, first, sums, origin, known, before }
    }

    /// A part of that amount, which lasts for those nanoseconds.
    pub fn add(&mut self, lasts: Range<u64>, amount: f64) {
        let lasts = lasts.start.max(self.known)..lasts.end;
        if lasts.is_empty() {
            return;
        }
        let (first, last) = (lasts.start >> self.shift, (lasts.end - 1) >> self.shift);
        // Most parts are within an interval that is there.
        if first == last
            && let Some(at) = first.checked_sub(self.first)
            && let Some(sum) = self.sums.get_mut(at as usize)
        {
            *sum += amount * (lasts.end - lasts.start) as f64;
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
        let (first, last) = (lasts.start >> self.shift, (lasts.end - 1) >> self.shift);
        if first >= self.first && last < self.first + self.sums.len() as u64 {
            return;
        }
        if self.sums.is_empty() && self.origin.is_none() {
            self.first = first;
        }
        loop {
            let first = self.first.min(lasts.start >> self.shift);
            let last = ((lasts.end - 1) >> self.shift) + 1;
            let last = last.max(self.first + self.sums.len() as u64);
            if last - first <= MOST || self.origin.is_some() {
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

    /// All is known until that time: passes on the means until then, each with the time from which on it is valid, where
    /// they change.
    pub fn known_until(&mut self, time: u64) -> Vec<(u64, f64)> {
        if self.sums.is_empty() && self.origin.is_none() {
            // Nothing has been until then.
            self.first = time >> self.shift;
        }
        let origin = *self.origin.get_or_insert(self.first << self.shift);
        self.known = self.known.max(time);
        let number = (time >> self.shift).saturating_sub(self.first) as usize;
        self.sums.resize(self.sums.len().max(number), 0.0);
        let changes = self.pass_on(number);
        while self.first.is_multiple_of(2) && (time.saturating_sub(origin) >> self.shift) > MOST {
            self.lengthen();
        }
        changes
    }

    /// Passes on the rest. The last mean is zero.
    pub fn finish(&mut self) -> Vec<(u64, f64)> {
        self.sums.push(0.0);
        self.pass_on(self.sums.len())
    }

    /// Passes on that number of means.
    fn pass_on(&mut self, intervals: usize) -> Vec<(u64, f64)> {
        let (first, shift, before) = (self.first, self.shift, &mut self.before);
        self.first += intervals as u64;
        let means = self.sums.drain(..intervals).map(|sum| sum / (1u64 << shift) as f64);
        let changes = (first..).zip(means).filter_map(|(number, mean)| {
            (std::mem::replace(before, mean) != mean).then_some((number << shift, mean))
        });
        changes.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(parts: &[(Range<u64>, f64)]) -> Vec<(u64, f64)> {
        let mut mean = MeanOverTime::new();
        parts.iter().for_each(|(lasts, amount)| mean.add(lasts.clone(), *amount));
        mean.finish()
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

    /// The sum over time of means that are passed on.
    fn sum(changes: &[(u64, f64)]) -> f64 {
        assert!(changes.is_sorted_by(|(a, _), (b, _)| a < b), "{changes:?}");
        changes.windows(2).map(|pair| pair[0].1 * (pair[1].0 - pair[0].0) as f64).sum()
    }

    #[test]
    fn what_is_known_is_passed_on_in_pieces_with_the_same_sum() {
        let (mut mean, mut all) = (MeanOverTime::new(), Vec::new());
        let second = 1_000_000_000;
        // An hour of three seconds each: two of them one part, which is known in pieces, and a pause.
        for begun in (5..3605).step_by(3).map(|begun| begun * second) {
            for piece in 1..=12 {
                let until = begun + piece * second / 4;
                let part = begun..until.min(begun + 2 * second);
                mean.add(part, 4.0);
                all.extend(mean.known_until(until));
            }
        }
        assert!(all.len() > 1000 && all.len() < 20 * MOST as usize, "{}", all.len());
        let (first, last) = (all[0].0, all[all.len() - 1].0);
        assert!(first <= 5 * second && last > 3595 * second, "{first} to {last}");
        all.extend(mean.finish());
        assert_eq!(all.last().map(|(_, mean)| *mean), Some(0.0));
        assert!((sum(&all) / (4.0 * 2400.0 * second as f64) - 1.0).abs() < 1e-9, "{}", sum(&all));
    }

    #[test]
    fn what_comes_too_late_changes_nothing_that_was_passed_on() {
        let mut mean = MeanOverTime::new();
        assert_eq!(mean.known_until(2048), []);
        mean.add(0..4096, 1.0);
        assert_eq!(mean.known_until(5120), [(2048, 1.0), (4096, 0.0)]);
        assert_eq!(mean.known_until(6144), []);
        mean.add(4096..7168, 2.0);
        assert_eq!(mean.finish(), [(6144, 2.0), (7168, 0.0)]);
    }
}
