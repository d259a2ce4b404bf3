//! The parts of all ranks of a window that are mapped into this process.

use super::span::{Part, Span};
use crate::error::Result;
use std::ops::Range;

/// The parts of all ranks. In most windows they have one size, one displacement unit and one distance: of
/// these it has no list, whatever the number of ranks.
#[derive(Clone)]
pub(crate) struct Parts {
    /// The number of ranks whose parts are equal and at one distance: all of them, or none.
    even: u32,
    first: Part,
    /// Bytes from one even part to the next, wrapping.
    distance: usize,
    /// The parts of a window that is not even.
    each: Box<[Part]>,
}

/// The part of a rank that perhaps the window does not have.
#[derive(Clone, Copy)]
pub(crate) struct PartOf<'w> {
    parts: &'w Parts,
    rank: u32,
}

impl Parts {
    /// The parts of `ranks` ranks, in their order.
    pub(crate) fn collect(ranks: u32, parts: impl Iterator<Item = Result<Part>>) -> Result<Parts> {
        let first = Part::new(Span::nothing(), 1);
        let mut all = Parts { even: 0, first, distance: 0, each: Box::default() };
        let mut each = Vec::new();
        for (rank, part) in (0..).zip(parts) {
            let part = part?;
            match rank {
                0 => all.first = part,
                1 => {
                    all.distance =
                        part.span.base().addr().wrapping_sub(all.first.span.base().addr())
                }
                _ => {}
            }
            if each.is_empty() && all.even_part(rank) == part {
                all.even = rank + 1;
                continue;
            }
            if each.is_empty() {
                // A list that grows would leave memory behind.
                each.reserve_exact(ranks as usize);
                each.extend((0..rank).map(|rank| all.even_part(rank)));
            }
            each.push(part);
        }
        if !each.is_empty() {
            (all.even, all.each) = (0, each.into());
        }
        Ok(all)
    }

    /// These parts, whose addresses were counted from `start`.
    pub(crate) fn behind(mut self, start: *mut u8) -> Parts {
        self.first = self.first.behind(start);
        self.each.iter_mut().for_each(|part| *part = part.behind(start));
        self
    }

    /// The part of a rank. The window need not have that rank.
    #[inline(always)]
    pub(crate) fn of(&self, rank: u32) -> PartOf<'_> {
        PartOf { parts: self, rank }
    }

    /// The part of a rank of the window.
    #[inline]
    pub(crate) fn part(&self, rank: u32) -> Part {
        if rank < self.even { self.even_part(rank) } else { self.each[rank as usize] }
    }

    #[inline(always)]
    fn even_part(&self, rank: u32) -> Part {
        self.first.moved(self.distance_to(rank))
    }

    /// Bytes from the first even part to that of `rank`.
    #[inline(always)]
    fn distance_to(&self, rank: u32) -> usize {
        self.distance.wrapping_mul(rank as usize)
    }

    /// The first rank whose part is not empty.
    pub(crate) fn first_with_bytes(&self) -> Option<u32> {
        match self.even {
            0 => self.each.iter().position(|part| part.span.len() != 0).map(|rank| rank as u32),
            _ => (self.first.span.len() != 0).then_some(0),
        }
    }
}

impl PartOf<'_> {
    /// [`Part::at`] of the part; `None` also if the window does not have the rank.
    #[inline(always)]
    pub(crate) fn at(self, disp: u64, bytes: u64) -> Option<*mut u8> {
        let PartOf { parts, rank } = self;
        if rank >= parts.even {
            return parts.each.get(rank as usize)?.at(disp, bytes);
        }
        let first = parts.first.at(disp, bytes)?;
        Some(first.wrapping_add(parts.distance_to(rank)))
    }

    /// [`Part::around`] of the part; `None` also if the window does not have the rank.
    #[inline(always)]
    pub(crate) fn around(self, disp: u64, bytes: &Range<i64>) -> Option<*mut u8> {
        let PartOf { parts, rank } = self;
        if rank >= parts.even {
            return parts.each.get(rank as usize)?.around(disp, bytes);
        }
        let first = parts.first.around(disp, bytes)?;
        Some(first.wrapping_add(parts.distance_to(rank)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn part(start: usize, len: u64, unit: u32) -> Part {
        Part::new(Span::new(std::ptr::without_provenance_mut(start), len), unit)
    }

    proptest! {
        #[test]
        fn a_list_and_its_absence_have_the_same_parts(
            ranks in 1..9u32,
            distance in prop_oneof![Just(0), Just(16usize), Just(usize::MAX - 15)],
            len in prop_oneof![Just(0u64), 1..33u64],
            other in prop_oneof![2 => Just(None), 1 => (0..9u32, 0..3u64, 1..3u32).prop_map(Some)],
            (disp, bytes) in (0..40u64, 0..40u64),
        ) {
            let start = 1 << 20;
            let list: Vec<Part> = (0..ranks)
                .map(|rank| {
                    let even = distance.wrapping_mul(rank as usize).wrapping_add(start);
                    match other {
                        Some((one, more, unit)) if one == rank => part(even + 8, len + more, unit),
                        _ => part(even, len, 2),
                    }
                })
                .collect();
            let parts = Parts::collect(ranks, list.iter().copied().map(Ok)).expect("no part is refused");
            prop_assert!(other.is_some() || parts.each.is_empty());
            let (by, range) = (std::ptr::without_provenance_mut(4096), 0..bytes as i64);
            let has_bytes = list.iter().position(|part| part.span.len() != 0);
            prop_assert_eq!(parts.first_with_bytes(), has_bytes.map(|rank| rank as u32));
            for (rank, one) in (0..).zip(&list) {
                prop_assert_eq!(parts.part(rank), *one);
                prop_assert_eq!(parts.of(rank).at(disp, bytes), one.at(disp, bytes));
                prop_assert_eq!(parts.of(rank).around(disp, &range), one.around(disp, &range));
            }
            prop_assert_eq!(parts.of(ranks).at(0, 0), None);
            prop_assert_eq!(parts.of(ranks).around(0, &(0..1)), None);
            let parts = parts.behind(by);
            (0..).zip(&list).for_each(|(rank, one)| assert_eq!(parts.part(rank), one.behind(by)));
        }
    }
}
