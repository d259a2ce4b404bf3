//! Which ranks of the job share the segment, and their numbers there.

use std::sync::Arc;

/// The ranks of the job that share the segment. Their numbers in it are those of their order.
#[derive(Clone, Debug)]
pub(crate) struct Sharers(Option<Arc<[u32]>>);

impl Sharers {
    /// All ranks of the job: each one's number is its rank.
    pub(crate) fn all() -> Sharers {
        Sharers(None)
    }

    /// Those ranks, in ascending order.
    pub(super) fn of(ranks: &[u32]) -> Sharers {
        debug_assert!(ranks.is_sorted_by(|a, b| a < b), "they are in order");
        Sharers(Some(ranks.into()))
    }

    /// The number in the segment of that rank of the job, if it shares the segment.
    #[inline]
    pub(crate) fn number_of(&self, rank: u32) -> Option<u32> {
        match &self.0 {
            None => Some(rank),
            Some(ranks) => ranks.binary_search(&rank).ok().map(|number| number as u32),
        }
    }

    /// The rank of the job that has that number; a number that no rank has stays what it is.
    #[inline]
    pub(crate) fn rank(&self, number: u32) -> u32 {
        let ranks = self.0.as_deref();
        ranks.and_then(|ranks| ranks.get(number as usize)).copied().unwrap_or(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_numbers_are_told_apart() {
        let sharers = Sharers::of(&[2, 5, 9]);
        assert_eq!([2, 5, 9].map(|rank| sharers.number_of(rank)), [Some(0), Some(1), Some(2)]);
        assert_eq!([0, 1, 3, 10].map(|rank| sharers.number_of(rank)), [None; 4]);
        assert_eq!([0, 1, 2].map(|number| sharers.rank(number)), [2, 5, 9]);
        let all = Sharers::all();
        assert_eq!((all.number_of(7), all.rank(7)), (Some(7), 7));
    }
}
