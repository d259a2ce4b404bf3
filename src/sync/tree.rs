//! The tree in which the ranks of a barrier combine their arrivals (`barrier.rs`), and by which the last
//! rank releases the others. For many ranks, each with a core: one word would make as many transfers, one
//! after the other, as there are ranks.
//!
//! [`FAN`] ranks count their arrivals in a word. The last of them counts all of these in the word above,
//! and so on up to the barrier's own word, which alone decides what has arrived. No rank waits in the tree.
//! The rank that completes a round stores its number for each rank, on a line of that rank, where it waits
//! while it is awake. A rank that sleeps waits for the barrier's word. So it may be released late or, by a
//! rank that fails, never.

use super::Line;
use super::barrier::{Round, STEP, count};
use crate::prim::{Fault, Site, Word32, mem_sync_beside, planted};

/// How many ranks, or words below it, count in a word.
const FAN: u32 = if cfg!(loom) { 2 } else { 4 };
/// Trees that share lines.
pub const TREES: usize = 16;
/// Most ranks that count in the barrier's word without a tree, which is as fast.
pub const MOST_WITHOUT_TREE: u32 = 8;

/// A line with a word of each of several trees of the same ranks, which use them in turn.
pub type TreeLine = Line<[Word32; TREES]>;

/// The lines of a tree of that many ranks: that by which each is released, and those of counts.
pub const fn tree_lines(ranks: u32) -> u32 {
    let (mut lines, mut width) = (ranks, FAN);
    while width < ranks {
        lines += ranks.div_ceil(width);
        width *= FAN;
    }
    lines
}

/// One of the trees on these lines, as one of the ranks uses it.
#[derive(Clone, Copy)]
pub struct Tree<'w> {
    lines: &'w [TreeLine],
    number: usize,
    rank: u32,
}

impl<'w> Tree<'w> {
    /// Tree `number` on these lines, of which there are [`tree_lines`]; `None` if there are none. `rank` is
    /// the calling one.
    #[inline]
    pub fn of(
        lines: &'w [TreeLine],
        number: usize,
        rank: impl FnOnce() -> u32,
    ) -> Option<Tree<'w>> {
        if lines.is_empty() { None } else { Some(Tree { lines, number, rank: rank() }) }
    }

    fn word(self, line: u32) -> &'w Word32 {
        &self.lines[line as usize].0[self.number]
    }

    /// The words of the counts that this rank is in, from below, and the ranks that each counts.
    fn counts(self, ranks: u32) -> impl Iterator<Item = (&'w Word32, u32)> {
        let (mut first, mut width) = (ranks, FAN);
        std::iter::from_fn(move || {
            let node = (width < ranks).then(|| self.rank / width)?;
            let counted = (self.word(first + node), width.min(ranks - node * width));
            (first, width) = (first + ranks.div_ceil(width), width * FAN);
            Some(counted)
        })
    }

    /// Arrives in the round. The number of arrivals that this rank counts in the barrier's word; `None` if
    /// another rank will count this one.
    #[inline(never)]
    pub fn combine(self, ranks: u32, round: Round) -> Option<u32> {
        let mut arrivals = 1;
        for (word, counted) in self.counts(ranks) {
            let before = count(word.fetch_add(STEP.wrapping_mul(arrivals)));
            let awaited = match planted(Fault::CombinedEarly) {
                true => round.completed(counted).wrapping_sub(counted).wrapping_add(arrivals),
                false => round.completed(counted),
            };
            if before.wrapping_add(arrivals) != awaited {
                return None;
            }
            arrivals = counted;
            // Carry: observes what the ranks beneath published before they arrived, and publishes it with
            // the arrival above. Pairs with FencePre and CollectivePre of those, and with FencePost and
            // CollectivePost. Fails without it: models/collective.rs, by loom_tests/tests/mutants.rs.
            mem_sync_beside(Site::ArrivalCarry);
        }
        Some(arrivals)
    }

    /// All have arrived in the round, this rank last: releases those that are awake.
    #[inline(never)]
    pub fn release(self, ranks: u32, round: Round) {
        // Carry: observes what all ranks published before they arrived, and publishes it with the words
        // below. Pairs as ArrivalCarry does. Fails without it: models/collective.rs, by loom_tests/tests/mutants.rs.
        mem_sync_beside(Site::ReleaseCarry);
        if !planted(Fault::Unreleased) {
            (0..ranks).for_each(|rank| self.word(rank).store(round.word()));
        }
    }

    /// Whether this rank is released from the round.
    #[inline]
    pub fn is_released(self, round: Round) -> bool {
        self.word(self.rank).load() == round.word()
    }

    /// All arrivals so far, in the tree or above it; `None` if it has no counts.
    #[cold]
    #[allow(dead_code, reason = "for reports; the models write none")]
    pub fn arrivals(self, ranks: u32) -> Option<u32> {
        let leaves = ranks..ranks + ranks.div_ceil(FAN);
        let all = || leaves.map(|line| count(self.word(line).load())).fold(0, u32::wrapping_add);
        (FAN < ranks).then(all)
    }
}
