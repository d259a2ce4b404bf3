//! The places of equal blocks: at a stride, or at the offsets of a list.

/// Offsets of blocks, in any order.
#[derive(Debug)]
pub(crate) struct Offsets {
    all: Box<[i64]>,
    /// The least and the largest; both 0 if there are none.
    ends: (i64, i64),
}

impl Offsets {
    pub(crate) fn new(all: Vec<i64>) -> Offsets {
        let ends = (all.iter().copied().min(), all.iter().copied().max());
        Offsets { all: all.into(), ends: (ends.0.unwrap_or(0), ends.1.unwrap_or(0)) }
    }

    pub(crate) fn all(&self) -> &[i64] {
        &self.all
    }

    /// The given number of offsets, from that index on.
    #[inline(always)]
    pub(crate) fn part(&self, first: usize, blocks: usize) -> &[i64] {
        &self.all[first..][..blocks]
    }
}

/// The way from one block to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Steps<'a> {
    /// A stride in bytes.
    Even(i64),
    /// The offsets of a list, from an index on.
    Listed(&'a Offsets, usize),
}

/// The places of one side's blocks, in bytes from that side's base.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern<'a> {
    /// The first block of an even pattern, or the origin of a list's offsets.
    pub(crate) start: i64,
    pub(crate) steps: Steps<'a>,
}

impl<'a> Pattern<'a> {
    /// Blocks at a stride.
    #[inline(always)]
    pub(crate) fn even(start: i64, stride: i64) -> Pattern<'a> {
        Pattern { start, steps: Steps::Even(stride) }
    }

    /// The place of that block.
    #[inline(always)]
    pub(crate) fn block(&self, block: usize) -> i64 {
        self.start.wrapping_add(match self.steps {
            Steps::Even(stride) => stride.wrapping_mul(block as i64),
            Steps::Listed(offsets, first) => offsets.all[first + block],
        })
    }

    /// The pattern from that block on.
    #[inline(always)]
    pub(crate) fn behind(&self, block: usize) -> Pattern<'a> {
        match self.steps {
            Steps::Even(_) => Pattern { start: self.block(block), ..*self },
            Steps::Listed(offsets, first) => {
                Pattern { steps: Steps::Listed(offsets, first + block), ..*self }
            }
        }
    }

    /// The least and the largest place of its first `blocks` blocks (at least one); `None` if one does
    /// not fit in an `i64`.
    #[inline(always)]
    fn ends(&self, blocks: usize) -> Option<(i64, i64)> {
        let (a, b) = match self.steps {
            Steps::Even(stride) => {
                (0, i64::try_from(blocks).ok()?.checked_sub(1)?.checked_mul(stride)?)
            }
            Steps::Listed(offsets, _) => offsets.ends,
        };
        let (a, b) = (self.start.checked_add(a)?, self.start.checked_add(b)?);
        Some((a.min(b), a.max(b)))
    }
}

/// Equal blocks of two sides, or of `N`, which correspond one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strip<'a, const N: usize = 2> {
    /// For a copy, the source and the destination.
    pub(crate) patterns: [Pattern<'a>; N],
    /// Bytes of a block; not zero.
    pub(crate) bytes: usize,
    /// How many; not zero.
    pub(crate) blocks: usize,
}

impl<'a, const N: usize> Strip<'a, N> {
    /// The given number of its blocks, from that one on.
    #[inline(always)]
    pub(crate) fn part(&self, first: usize, blocks: usize) -> Strip<'a, N> {
        Strip { patterns: self.patterns.map(|pattern| pattern.behind(first)), blocks, ..*self }
    }

    /// Whether the blocks of a pattern lie in a slice of `len` bytes whose byte `base` is byte 0 of the
    /// pattern. For a list the bounds of all its offsets count, so the answer may be a false `false`.
    #[inline(always)]
    pub(crate) fn fits(&self, pattern: usize, base: i64, len: usize) -> bool {
        let inside = || {
            let (first, last) = self.patterns[pattern].ends(self.blocks)?;
            let end = last.checked_add(base)?.checked_add(i64::try_from(self.bytes).ok()?)?;
            Some(first.checked_add(base)? >= 0 && end <= len as i64)
        };
        inside() == Some(true)
    }
}
