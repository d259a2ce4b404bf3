//! Where equal blocks lie: at a stride, or at offsets of a list.

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

    /// So many, from that number on.
    #[inline(always)]
    pub(crate) fn part(&self, first: usize, blocks: usize) -> &[i64] {
        &self.all[first..][..blocks]
    }
}

/// How one gets from one block to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Steps<'a> {
    /// By so many bytes.
    Even(i64),
    /// To these offsets, from that number on.
    Listed(&'a Offsets, usize),
}

/// Where the blocks of one side lie: bytes from that side's base.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane<'a> {
    /// The first block of an even lane; what the offsets of a list count from.
    pub(crate) start: i64,
    pub(crate) steps: Steps<'a>,
}

impl<'a> Lane<'a> {
    /// Blocks at a stride.
    #[inline(always)]
    pub(crate) fn even(start: i64, stride: i64) -> Lane<'a> {
        Lane { start, steps: Steps::Even(stride) }
    }

    /// Where that block lies.
    #[inline(always)]
    pub(crate) fn block(&self, block: usize) -> i64 {
        self.start.wrapping_add(match self.steps {
            Steps::Even(stride) => stride.wrapping_mul(block as i64),
            Steps::Listed(offsets, first) => offsets.all[first + block],
        })
    }

    /// The lane from that block on.
    #[inline(always)]
    pub(crate) fn behind(&self, block: usize) -> Lane<'a> {
        match self.steps {
            Steps::Even(_) => Lane { start: self.block(block), ..*self },
            Steps::Listed(offsets, first) => {
                Lane { steps: Steps::Listed(offsets, first + block), ..*self }
            }
        }
    }

    /// The first and the last place where one of its first `blocks` blocks, not none, can begin;
    /// `None` for what no `i64` says.
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

/// Equal blocks of two sides, or of `N`, that belong to each other one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strip<'a, const N: usize = 2> {
    /// Of what is copied, where it comes from and where it goes.
    pub(crate) lanes: [Lane<'a>; N],
    /// Bytes of a block; not zero.
    pub(crate) bytes: usize,
    /// How many; not zero.
    pub(crate) blocks: usize,
}

impl<'a, const N: usize> Strip<'a, N> {
    /// So many of its blocks, from that one on.
    #[inline(always)]
    pub(crate) fn part(&self, first: usize, blocks: usize) -> Strip<'a, N> {
        Strip { lanes: self.lanes.map(|lane| lane.behind(first)), blocks, ..*self }
    }

    /// Whether the blocks of a lane lie in a slice of `len` bytes whose byte `base` is byte 0 of the
    /// lane. A list may be refused for what lies behind its blocks or before them.
    #[inline(always)]
    pub(crate) fn fits(&self, lane: usize, base: i64, len: usize) -> bool {
        let inside = || {
            let (first, last) = self.lanes[lane].ends(self.blocks)?;
            let end = last.checked_add(base)?.checked_add(i64::try_from(self.bytes).ok()?)?;
            Some(first.checked_add(base)? >= 0 && end <= len as i64)
        };
        inside() == Some(true)
    }
}
