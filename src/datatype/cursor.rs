//! Walks a plan in the order of the type map.

use super::plan::{Dim, Item, LoopBody};
use crate::shm::{Pattern, Steps};
use std::slice::from_ref;

/// Equal blocks: the innermost loop of an item, or its list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    pub(super) pattern: Pattern<'a>,
    /// Bytes of a block; not zero.
    pub(super) bytes: u64,
    /// Number of blocks; not zero.
    pub(super) blocks: u64,
}

impl<'a> Run<'a> {
    /// The run that the whole item is, if it has no further loops.
    #[inline]
    pub(super) fn of(item: &Item) -> Option<Run<'_>> {
        let (dims, start) = (item.dims(), item.offset);
        match (&item.body, dims) {
            (LoopBody::Block(bytes), [] | [_]) => {
                Some(Run::even(start, *bytes, dims.last().copied()))
            }
            (LoopBody::Listed(bytes, offsets), []) => {
                let pattern = Pattern { start, steps: Steps::Listed(offsets, 0) };
                Some(Run { pattern, bytes: *bytes, blocks: offsets.all().len() as u64 })
            }
            _ => None,
        }
    }

    /// Blocks of `bytes` bytes, repeated by the loop.
    #[inline]
    pub(super) fn even(start: i64, bytes: u64, dim: Option<Dim>) -> Run<'a> {
        let (stride, blocks) = dim.map_or((0, 1), |dim| (dim.stride, dim.count));
        Run { pattern: Pattern::even(start, stride), bytes, blocks }
    }

    /// The same without a borrow, if it needs no list.
    pub(super) fn into_static(self) -> Option<Run<'static>> {
        let Run { pattern: Pattern { start, steps: Steps::Even(stride) }, bytes, blocks } = self
        else {
            return None;
        };
        Some(Run { pattern: Pattern::even(start, stride), bytes, blocks })
    }

    /// Offset and length of each block.
    pub(super) fn pieces(self) -> impl Iterator<Item = (i64, u64)> {
        (0..self.blocks).map(move |i| (self.pattern.block(i as usize), self.bytes))
    }
}

/// The position of the walk in one list of items.
struct Frame<'a> {
    items: &'a [Item],
    index: usize,
    /// The base of the items' offsets.
    base: i64,
    /// The repetitions so far of each loop of the item at `index`.
    indices: [u64; super::plan::MOST_DIMS],
    /// The sum of repetitions times strides.
    shift: i64,
}

impl<'a> Frame<'a> {
    fn new(items: &'a [Item], base: i64) -> Frame<'a> {
        Frame { items, index: 0, base, indices: Default::default(), shift: 0 }
    }

    /// Advances the `depth` outer loops of the item; after the last repetition, goes to the next item.
    fn advance(&mut self, item: &Item, depth: usize) {
        for (indices, dim) in self.indices.iter_mut().zip(item.dims()).take(depth).rev() {
            *indices += 1;
            self.shift = self.shift.wrapping_add(dim.stride);
            if *indices < dim.count {
                return;
            }
            *indices = 0;
            self.shift = self.shift.wrapping_sub(dim.stride.wrapping_mul(dim.count as i64));
        }
        self.index += 1;
    }
}

/// The runs of an item, in order.
pub(super) struct Cursor<'a> {
    frame: Frame<'a>,
    /// The frames of the enclosing lists.
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

impl<'a> Iterator for Cursor<'a> {
    type Item = Run<'a>;

    fn next(&mut self) -> Option<Run<'a>> {
        loop {
            let Some(item) = self.frame.items.get(self.frame.index) else {
                self.frame = self.outer.pop()?;
                continue;
            };
            let start = self.frame.base.wrapping_add(item.offset).wrapping_add(self.frame.shift);
            let dims = item.dims();
            match &item.body {
                LoopBody::Block(bytes) => {
                    self.frame.advance(item, dims.len().saturating_sub(1));
                    return Some(Run::even(start, *bytes, dims.last().copied()));
                }
                LoopBody::Listed(bytes, offsets) => {
                    self.frame.advance(item, dims.len());
                    let pattern = Pattern { start, steps: Steps::Listed(offsets, 0) };
                    return Some(Run {
                        pattern,
                        bytes: *bytes,
                        blocks: offsets.all().len() as u64,
                    });
                }
                LoopBody::List(items) => {
                    self.frame.advance(item, dims.len());
                    let list = Frame::new(items, start);
                    self.outer.push(std::mem::replace(&mut self.frame, list));
                }
            }
        }
    }
}
