//! Walks two datatypes together: which bytes of one correspond to which of the other.

use super::CommittedDatatype;
use super::cursor::{Cursor, Run};
use super::plan::Item;
use crate::shm::{Pattern, Strip};

/// One side of a transfer.
#[derive(Clone, Copy)]
pub(crate) enum TransferSide<'a> {
    /// A number of instances, which have a range ([`CommittedDatatype::range`]).
    Typed(&'a CommittedDatatype, usize),
    /// A number of bytes from offset 0 on.
    Packed(u64),
}

impl<'a> TransferSide<'a> {
    /// The side as a single loop over a block or list of blocks, if it is one.
    #[inline(always)]
    fn run(self) -> Option<Run<'a>> {
        match self {
            TransferSide::Typed(datatype, count) => datatype.run_of(count),
            TransferSide::Packed(0) => None,
            TransferSide::Packed(bytes) => Some(Run::even(0, bytes, None)),
        }
    }

    /// The side as loops; `None` if it is empty.
    fn item(self) -> Option<Item> {
        match self {
            TransferSide::Typed(_, 0) | TransferSide::Packed(0) => None,
            TransferSide::Typed(datatype, count) => Some(datatype.root(count as u64)),
            TransferSide::Packed(bytes) => Some(Item::block(bytes)),
        }
    }
}

/// Calls `each` with the strips that copy one side to the other, in the order of the type maps, until
/// either is used up.
///
/// Allocates nothing if both sides are regular.
#[inline]
pub(crate) fn zip_strips(from: TransferSide, to: TransferSide, mut each: impl FnMut(&Strip<'_>)) {
    zip_sides([from, to], |strip| {
        each(strip);
        true
    });
}

/// [`zip_strips`] for any number of sides, until `each` stops it.
#[inline]
pub(crate) fn zip_sides<const N: usize>(
    sides: [TransferSide; N],
    mut each: impl FnMut(&Strip<'_, N>) -> bool,
) {
    match only_strip(&sides) {
        Some(strip) => {
            each(&strip);
        }
        None => zip_loops(sides, &mut each),
    }
}

/// Slow path of [`zip_sides`], for any loops.
#[inline(never)]
fn zip_loops<const N: usize>(
    sides: [TransferSide; N],
    each: &mut impl FnMut(&Strip<'_, N>) -> bool,
) {
    let items = sides.map(TransferSide::item);
    if items.iter().any(Option::is_none) {
        return;
    }
    let mut walks = items.each_ref().map(|item| Walk::new(item.as_ref().expect("looked at")));
    while walks.iter_mut().all(Walk::go_on) && each(&step(&mut walks)) {}
}

/// The strip of sides that need only one.
#[inline(always)]
fn only_strip<'a, const N: usize>(sides: &[TransferSide<'a>; N]) -> Option<Strip<'a, N>> {
    let mut runs = [Run::even(0, 0, None); N];
    let (mut bytes, mut blocks) = (0, 0);
    for (run, side) in runs.iter_mut().zip(sides) {
        *run = side.run()?;
        if run.blocks > blocks {
            (bytes, blocks) = (run.bytes, run.blocks);
        }
    }
    let mut patterns = [Pattern::even(0, 0); N];
    for (pattern, run) in patterns.iter_mut().zip(runs) {
        *pattern = if run.blocks == blocks && run.bytes == bytes {
            run.pattern
        } else if run.blocks == 1 && run.bytes == bytes * blocks {
            Pattern::even(run.pattern.block(0), bytes as i64)
        } else {
            return None;
        };
    }
    Some(Strip { patterns, bytes: bytes as usize, blocks: blocks as usize })
}

/// The rest of a side.
struct Walk<'a> {
    cursor: Cursor<'a>,
    run: Run<'a>,
    /// Bytes of the first block of the run that have been moved.
    used: u64,
}

impl<'a> Walk<'a> {
    fn new(item: &'a Item) -> Walk<'a> {
        let nothing = Run { blocks: 0, ..Run::even(0, 0, None) };
        Walk { cursor: Cursor::new(item), run: nothing, used: 0 }
    }

    /// Goes to the next run if this one is used up; returns whether there is a run.
    fn go_on(&mut self) -> bool {
        if self.run.blocks == 0 {
            match self.cursor.next() {
                Some(run) => self.run = run,
                None => return false,
            }
        }
        true
    }

    /// The rest of the first block, in bytes.
    fn left(&self) -> u64 {
        self.run.bytes - self.used
    }

    /// Whether the whole first block is a block of `bytes`.
    fn is_whole(&self, bytes: u64) -> bool {
        self.used == 0 && self.run.bytes == bytes
    }

    /// The places and the number of the next blocks of `bytes`, at least one.
    fn ahead(&self, bytes: u64) -> (Pattern<'a>, u64) {
        if self.is_whole(bytes) {
            return (self.run.pattern, self.run.blocks);
        }
        let start = self.run.pattern.block(0).wrapping_add(self.used as i64);
        (Pattern::even(start, bytes as i64), self.left() / bytes)
    }

    /// Skips `blocks` blocks of `bytes`.
    fn skip(&mut self, bytes: u64, blocks: u64) {
        let whole = match self.is_whole(bytes) {
            true => blocks,
            false => {
                self.used += bytes * blocks;
                u64::from(self.used == self.run.bytes)
            }
        };
        if whole > 0 {
            self.used = 0;
            self.run.blocks -= whole;
            if self.run.blocks > 0 {
                self.run.pattern = self.run.pattern.behind(whole as usize);
            }
        }
    }
}

/// Removes and returns the longest common strip at the beginning of all sides.
fn step<'a, const N: usize>(walks: &mut [Walk<'a>; N]) -> Strip<'a, N> {
    let bytes = walks.iter().map(Walk::left).min().unwrap_or(0);
    let ahead = walks.each_ref().map(|walk| walk.ahead(bytes));
    let blocks = ahead.iter().map(|(_, blocks)| *blocks).min().unwrap_or(0);
    walks.iter_mut().for_each(|walk| walk.skip(bytes, blocks));
    Strip {
        patterns: ahead.map(|(pattern, _)| pattern),
        bytes: bytes as usize,
        blocks: blocks as usize,
    }
}
