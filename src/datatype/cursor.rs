//! Walks a plan in the order of the type map.

use super::plan::{Body, Item};
use std::slice::from_ref;

/// Equal blocks at a stride: the innermost loop of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(super) start: i64,
    pub(super) stride: i64,
    /// Bytes of a block; not zero.
    pub(super) bytes: u64,
    /// How many; not zero.
    pub(super) blocks: u64,
}

impl Run {
    /// The run that the whole item is, if it has no further loops.
    #[inline]
    pub(super) fn of(item: &Item) -> Option<Run> {
        let Body::Block(bytes) = item.body else { return None };
        let (stride, blocks) = match item.dims() {
            [] => (0, 1),
            [dim] => (dim.stride, dim.count),
            _ => return None,
        };
        Some(Run { start: item.offset, stride, bytes, blocks })
    }
}

impl Run {
    /// Offset and length of each block.
    pub(super) fn pieces(self) -> impl Iterator<Item = (i64, u64)> {
        let at = move |i: u64| self.start.wrapping_add(self.stride.wrapping_mul(i as i64));
        (0..self.blocks).map(move |i| (at(i), self.bytes))
    }
}

/// Where the walk stands in one list of items.
struct Frame<'a> {
    items: &'a [Item],
    index: usize,
    /// What the offsets of the items are relative to.
    base: i64,
    /// How often each loop of the item at `index` has been repeated.
    turns: [u64; super::plan::MOST_DIMS],
    /// The sum of turns times strides.
    shift: i64,
}

impl<'a> Frame<'a> {
    fn new(items: &'a [Item], base: i64) -> Frame<'a> {
        Frame { items, index: 0, base, turns: Default::default(), shift: 0 }
    }

    /// Turns the `depth` outer loops of the item once; after the last turn, goes to the next item.
    fn turn(&mut self, item: &Item, depth: usize) {
        for (turns, dim) in self.turns.iter_mut().zip(item.dims()).take(depth).rev() {
            *turns += 1;
            self.shift = self.shift.wrapping_add(dim.stride);
            if *turns < dim.count {
                return;
            }
            *turns = 0;
            self.shift = self.shift.wrapping_sub(dim.stride.wrapping_mul(dim.count as i64));
        }
        self.index += 1;
    }
}

/// The runs of an item, in order.
pub(super) struct Cursor<'a> {
    frame: Frame<'a>,
    /// The frames of the lists around.
    outer: Vec<Frame<'a>>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(item: &'a Item) -> Cursor<'a> {
        Cursor::over(from_ref(item), 0)
    }

    /// The runs of a list whose offsets are relative to `base`.
    pub(super) fn over(items: &'a [Item], base: i64) -> Cursor<'a> {
        Cursor { frame: Frame::new(items, base), outer: Vec::new() }
    }
}

impl Iterator for Cursor<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        loop {
            let Some(item) = self.frame.items.get(self.frame.index) else {
                self.frame = self.outer.pop()?;
                continue;
            };
            let start = self.frame.base.wrapping_add(item.offset).wrapping_add(self.frame.shift);
            let dims = item.dims();
            match &item.body {
                Body::Block(bytes) => {
                    let (stride, blocks) =
                        dims.last().map_or((0, 1), |dim| (dim.stride, dim.count));
                    self.frame.turn(item, dims.len().saturating_sub(1));
                    return Some(Run { start, stride, bytes: *bytes, blocks });
                }
                Body::List(items) => {
                    self.frame.turn(item, dims.len());
                    let list = Frame::new(items, start);
                    self.outer.push(std::mem::replace(&mut self.frame, list));
                }
            }
        }
    }
}

/// The offsets of elements of one size, of which all blocks are made.
pub(crate) struct Entries<'a> {
    cursor: Cursor<'a>,
    size: u64,
    /// What is left of the run, from its first block on.
    run: Run,
    /// Bytes of that block that have been named.
    used: u64,
}

impl<'a> Entries<'a> {
    pub(super) fn new(item: &'a Item, size: u64) -> Entries<'a> {
        let run = Run { start: 0, stride: 0, bytes: 0, blocks: 0 };
        Entries { cursor: Cursor::new(item), size, run, used: 0 }
    }
}

impl Iterator for Entries<'_> {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        if self.run.blocks == 0 {
            self.run = self.cursor.next()?;
        }
        let at = self.run.start.wrapping_add(self.used as i64);
        self.used += self.size;
        if self.used >= self.run.bytes {
            self.used = 0;
            self.run.start = self.run.start.wrapping_add(self.run.stride);
            self.run.blocks -= 1;
        }
        Some(at)
    }
}
