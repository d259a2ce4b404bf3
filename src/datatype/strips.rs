//! Walks two datatypes at once: what of the one goes where in the other.

use super::CommittedDatatype;
use super::cursor::{Cursor, Run};
use super::plan::Item;
use crate::shm::{Lane, Strip};

/// One side of a transfer.
#[derive(Clone, Copy)]
pub(crate) enum Side<'a> {
    /// That many instances. They have a range ([`CommittedDatatype::range`]).
    Typed(&'a CommittedDatatype, usize),
    /// That many bytes from offset 0 on.
    Packed(u64),
}

impl Side<'_> {
    /// The side as a single loop over a block, if it is one.
    #[inline]
    fn run(self) -> Option<Run> {
        match self {
            Side::Typed(datatype, count) => datatype.run_of(count),
            Side::Packed(0) => None,
            Side::Packed(bytes) => Some(Run { start: 0, stride: 0, bytes, blocks: 1 }),
        }
    }

    /// The side as loops; `None` if there is nothing.
    fn item(self) -> Option<Item> {
        match self {
            Side::Typed(_, 0) | Side::Packed(0) => None,
            Side::Typed(datatype, count) => Some(datatype.root(count as u64)),
            Side::Packed(bytes) => Some(Item::block(bytes)),
        }
    }
}

/// Calls `each` with the strips that move one side to the other, entry by entry in the order of
/// the type maps, until either is used up.
///
/// Allocates nothing if both sides are regular.
#[inline]
pub(crate) fn zip_strips(from: Side, to: Side, mut each: impl FnMut(&Strip)) {
    if let (Some(from), Some(to)) = (from.run(), to.run())
        && let Some(strip) = only_strip(from, to)
    {
        return each(&strip);
    }
    zip_loops(from, to, &mut each);
}

/// As [`zip_strips`], of any loops.
#[inline(never)]
fn zip_loops(from: Side, to: Side, each: &mut impl FnMut(&Strip)) {
    if let (Some(from), Some(to)) = (from.item(), to.item()) {
        zip(Cursor::new(&from), Cursor::new(&to), each);
    }
}

/// The strip of two runs that need only one.
#[inline]
fn only_strip(from: Run, to: Run) -> Option<Strip> {
    let lane = |run: Run, bytes: u64| match run.blocks {
        1 => Lane { start: run.start, stride: bytes as i64 },
        _ => Lane { start: run.start, stride: run.stride },
    };
    let (bytes, blocks) = match (from.blocks, to.blocks) {
        (a, b) if a == b && from.bytes == to.bytes => (from.bytes, a),
        (1, blocks) if to.bytes * blocks == from.bytes => (to.bytes, blocks),
        (blocks, 1) if from.bytes * blocks == to.bytes => (from.bytes, blocks),
        _ => return None,
    };
    let (from, to) = (lane(from, bytes), lane(to, bytes));
    Some(Strip { from, to, bytes: bytes as usize, blocks: blocks as usize })
}

/// What is left of a run.
struct Rest {
    run: Run,
    /// Bytes of its first block that have been moved.
    used: u64,
}

impl Rest {
    fn new(run: Run) -> Rest {
        Rest { run, used: 0 }
    }

    /// What is left of the first block, as a lane of blocks of `bytes`.
    fn inside(&self, bytes: u64) -> Lane {
        Lane { start: self.run.start.wrapping_add(self.used as i64), stride: bytes as i64 }
    }

    fn lane(&self) -> Lane {
        Lane { start: self.run.start, stride: self.run.stride }
    }

    fn left(&self) -> u64 {
        self.run.bytes - self.used
    }

    fn skip_blocks(&mut self, blocks: u64) {
        let by = self.run.stride.wrapping_mul(blocks as i64);
        self.run.start = self.run.start.wrapping_add(by);
        self.run.blocks -= blocks;
    }

    fn skip_bytes(&mut self, bytes: u64) {
        self.used += bytes;
        if self.used == self.run.bytes {
            self.used = 0;
            self.skip_blocks(1);
        }
    }
}

/// Calls `each` with the strips between two sequences of runs.
fn zip(
    mut from: impl Iterator<Item = Run>,
    mut to: impl Iterator<Item = Run>,
    each: &mut impl FnMut(&Strip),
) {
    let (Some(a), Some(b)) = (from.next(), to.next()) else { return };
    let (mut a, mut b) = (Rest::new(a), Rest::new(b));
    loop {
        each(&step(&mut a, &mut b));
        if a.run.blocks == 0 {
            let Some(run) = from.next() else { return };
            a = Rest::new(run);
        }
        if b.run.blocks == 0 {
            let Some(run) = to.next() else { return };
            b = Rest::new(run);
        }
    }
}

/// The longest strip at the beginning of both, which it takes away.
fn step(a: &mut Rest, b: &mut Rest) -> Strip {
    let whole = (a.used == 0, b.used == 0);
    let (from, to, bytes, blocks) = match (a.left(), b.left()) {
        (x, y) if x == y && whole == (true, true) => {
            let blocks = a.run.blocks.min(b.run.blocks);
            let lanes = (a.lane(), b.lane());
            a.skip_blocks(blocks);
            b.skip_blocks(blocks);
            (lanes.0, lanes.1, x, blocks)
        }
        (x, y) if x >= y && whole.1 => {
            let blocks = (x / y).min(b.run.blocks);
            let lanes = (a.inside(y), b.lane());
            a.skip_bytes(blocks * y);
            b.skip_blocks(blocks);
            (lanes.0, lanes.1, y, blocks)
        }
        (x, y) if y >= x && whole.0 => {
            let blocks = (y / x).min(a.run.blocks);
            let lanes = (a.lane(), b.inside(x));
            a.skip_blocks(blocks);
            b.skip_bytes(blocks * x);
            (lanes.0, lanes.1, x, blocks)
        }
        (x, y) => {
            let bytes = x.min(y);
            let lanes = (a.inside(bytes), b.inside(bytes));
            a.skip_bytes(bytes);
            b.skip_bytes(bytes);
            (lanes.0, lanes.1, bytes, 1)
        }
    };
    Strip { from, to, bytes: bytes as usize, blocks: blocks as usize }
}
