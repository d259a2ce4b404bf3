//! Whether entries of a datatype share a byte.

use super::cursor::{Cursor, Run};
use super::plan::{Dim, Item, LoopBody};

/// Known answers for some numbers of instances: an overlap of a few is also one of more.
#[derive(Debug)]
pub(super) struct Known {
    disjoint_up_to: usize,
    overlap_from: usize,
}

impl Default for Known {
    fn default() -> Known {
        Known { disjoint_up_to: 0, overlap_from: usize::MAX }
    }
}

impl Known {
    /// Whether `count` instances overlap: the known answer, or that of `find`.
    pub(super) fn answer(&mut self, count: usize, find: impl FnOnce() -> bool) -> bool {
        if count <= self.disjoint_up_to || count >= self.overlap_from {
            return count >= self.overlap_from;
        }
        let overlaps = find();
        match overlaps {
            true => self.overlap_from = count,
            false => self.disjoint_up_to = count,
        }
        overlaps
    }
}

/// Whether two blocks of the item share a byte. The item has no more bytes than its range, which bounds
/// the number of sorted pieces.
pub(super) fn overlaps(item: &Item) -> bool {
    if surely_disjoint(std::slice::from_ref(item)).is_some() {
        return false;
    }
    let mut pieces: Vec<_> = Cursor::new(item).flat_map(Run::pieces).collect();
    pieces.sort_unstable();
    pieces.windows(2).any(|pair| reaches(pair[0], pair[1].0))
}

/// Whether the piece ends after `start`, which is not before its beginning.
fn reaches((at, bytes): (i64, u64), start: i64) -> bool {
    i128::from(at) + i128::from(bytes) > i128::from(start)
}

/// The range of the items, if their loops show that nothing in it overlaps. Then the stride of every loop
/// exceeds the range of the loops with smaller strides, and the items' ranges are disjoint.
fn surely_disjoint(items: &[Item]) -> Option<(i64, u64)> {
    ranges_disjoint(items.iter().map(item_disjoint).collect::<Option<Vec<_>>>()?)
}

/// The hull of disjoint ranges, given in any order; `None` if two overlap.
fn ranges_disjoint(mut ranges: Vec<(i64, u64)>) -> Option<(i64, u64)> {
    ranges.sort_unstable();
    if ranges.windows(2).any(|pair| reaches(pair[0], pair[1].0)) {
        return None;
    }
    let (first, _) = *ranges.first()?;
    let (last, bytes) = *ranges.last()?;
    Some((first, (last - first) as u64 + bytes))
}

fn item_disjoint(item: &Item) -> Option<(i64, u64)> {
    let (inner, mut span) = match &item.body {
        LoopBody::Block(bytes) => (0, *bytes),
        LoopBody::Listed(bytes, offsets) => {
            ranges_disjoint(offsets.all().iter().map(|at| (*at, *bytes)).collect())?
        }
        LoopBody::List(items) => surely_disjoint(items)?,
    };
    let mut dims = item.dims().to_vec();
    dims.sort_unstable_by_key(|dim| dim.stride.unsigned_abs());
    let mut start = item.offset.wrapping_add(inner);
    for Dim { count, stride } in dims {
        if stride.unsigned_abs() < span {
            return None;
        }
        span += stride.unsigned_abs() * (count - 1);
        if stride < 0 {
            start = start.wrapping_add(stride.wrapping_mul(count as i64 - 1));
        }
    }
    Some((start, span))
}
