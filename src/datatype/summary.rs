//! The summary of a type map, computed without writing it out: size, bounds, alignment, signature.

use super::Datatype;
use super::DerivedDatatype;
use super::constructor::{Constructor, Regular};
use super::predefined::{Element, Visitor};
use super::signature::Signature;

/// The origin of a type map's bounds (MPI-2.2 §4.1.6): the strongest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bounded {
    /// Nothing: the map is empty.
    Not,
    /// Its basic elements.
    ByData,
    /// The markers of a resized datatype, anywhere in the map.
    ByMarkers,
}

/// The summary of a type map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) size: u64,
    /// `size` with the padding of pair types.
    pub(super) padded_size: u64,
    pub(super) lower: i64,
    pub(super) upper: i64,
    pub(super) bounded: Bounded,
    /// First byte and end of the basic elements; `None` if there are none.
    pub(super) data: Option<(i64, i64)>,
    /// `data` with the padding of pair types.
    pub(super) padded_data: Option<(i64, i64)>,
    /// The strictest alignment of a basic element.
    align: u64,
    pub(super) signature: Signature,
}

impl Summary {
    pub(super) const EMPTY: Summary = Summary {
        size: 0,
        padded_size: 0,
        lower: 0,
        upper: 0,
        bounded: Bounded::Not,
        data: None,
        padded_data: None,
        align: 1,
        signature: Signature::EMPTY,
    };

    /// The summary of a constructor's datatype; `None` on overflow. `lowered` is the datatype to which
    /// an array constructor is reduced.
    pub(super) fn of(
        constructor: &Constructor,
        lowered: Option<&DerivedDatatype>,
    ) -> Option<Summary> {
        if let Some(lowered) = lowered {
            return Some(*lowered.summary());
        }
        if let Some(Regular { count, length, stride, element }) = constructor.regular() {
            return element.summary().placed_regularly(count, length, stride);
        }
        if let Some(irregular) = constructor.irregular() {
            return irregular.element.summary().placed(irregular.blocks());
        }
        if let Some(mut members) = constructor.members() {
            let all = members.try_fold(Summary::EMPTY, |all, (at, length, element)| {
                let member = element.summary().placed(std::iter::once((at.into(), length)))?;
                all.joined(member)
            });
            return all?.padded();
        }
        match constructor {
            Constructor::Resized { lower_bound, extent, element } => {
                element.summary().resized(*lower_bound, *extent)
            }
            Constructor::Dup(element) => Some(*element.summary()),
            Constructor::Predefined(datatype) => Some(Summary::of_predefined(*datatype)),
            _ => unreachable!("every other constructor has been answered"),
        }
    }

    fn of_predefined(datatype: Datatype) -> Summary {
        struct Align;
        impl Visitor for Align {
            type Output = u64;
            fn visit<E: Element>(self) -> u64 {
                align_of::<E>() as u64
            }
        }
        let index = Datatype::I32.size();
        let (size, end) = match datatype.pair() {
            Some((value, at)) => (value.size() + index, at + index),
            None => (datatype.size(), datatype.size()),
        };
        let upper = datatype.size() as i64;
        Summary {
            size: size as u64,
            padded_size: datatype.size() as u64,
            lower: 0,
            upper,
            bounded: Bounded::ByData,
            data: Some((0, end as i64)),
            padded_data: Some((0, upper)),
            align: datatype.visit(Align),
            signature: Signature::of(datatype),
        }
    }

    pub(super) fn extent(&self) -> i64 {
        self.upper - self.lower
    }

    /// Copies of this map in blocks of (displacement in bytes, number of copies one extent apart).
    fn placed(&self, blocks: impl Iterator<Item = (i128, u64)>) -> Option<Summary> {
        let (mut copies, mut first, mut last) = (0u64, i128::MAX, i128::MIN);
        for (at, length) in blocks {
            let end = at.checked_add(distance(length, self.extent().into())?)?;
            copies = copies.checked_add(length)?;
            (first, last) = (first.min(at.min(end)), last.max(at.max(end)));
        }
        self.copied(copies, first, last)
    }

    /// `count` blocks of `length` copies, `stride` bytes apart.
    fn placed_regularly(&self, count: u64, length: u64, stride: i128) -> Option<Summary> {
        let copies = count.checked_mul(length)?;
        if copies == 0 {
            return Some(Summary::EMPTY);
        }
        let (outer, inner) = (distance(count, stride)?, distance(length, self.extent().into())?);
        let first = outer.min(0).checked_add(inner.min(0))?;
        let last = outer.max(0).checked_add(inner.max(0))?;
        self.copied(copies, first, last)
    }

    /// Copies of this map at displacements from `first` to `last`.
    fn copied(&self, copies: u64, first: i128, last: i128) -> Option<Summary> {
        if copies == 0 || self.bounded == Bounded::Not {
            return Some(Summary::EMPTY);
        }
        let (lower, upper) = spread((self.lower, self.upper), first, last)?;
        let moved = |data: Option<(i64, i64)>| match data {
            Some(data) => spread(data, first, last).map(Some),
            None => Some(None),
        };
        let (data, padded_data) = (moved(self.data)?, moved(self.padded_data)?);
        let times =
            |size: u64| size.checked_mul(copies).filter(|size| i64::try_from(*size).is_ok());
        let (size, padded_size) = (times(self.size)?, times(self.padded_size)?);
        let signature = self.signature.repeated(copies)?;
        Some(Summary { size, padded_size, lower, upper, data, padded_data, signature, ..*self })
    }

    /// This map, then `next`.
    fn joined(self, next: Summary) -> Option<Summary> {
        let (lower, upper) = if self.bounded == next.bounded {
            hull((self.lower, self.upper), (next.lower, next.upper))?
        } else if self.bounded < next.bounded {
            (next.lower, next.upper)
        } else {
            (self.lower, self.upper)
        };
        let joined = |a: Option<(i64, i64)>, b| match (a, b) {
            (Some(a), Some(b)) => hull(a, b).map(Some),
            (a, b) => Some(a.or(b)),
        };
        let sum = |a: u64, b| a.checked_add(b).filter(|size| i64::try_from(*size).is_ok());
        Some(Summary {
            size: sum(self.size, next.size)?,
            padded_size: sum(self.padded_size, next.padded_size)?,
            lower,
            upper,
            bounded: self.bounded.max(next.bounded),
            data: joined(self.data, next.data)?,
            padded_data: joined(self.padded_data, next.padded_data)?,
            align: self.align.max(next.align),
            signature: self.signature.then(next.signature)?,
        })
    }

    /// The upper bound of a struct plus the epsilon of MPI-2.2 §4.1.6, so that the extent is a multiple
    /// of the strictest alignment. Markers stay unchanged.
    fn padded(self) -> Option<Summary> {
        if self.bounded != Bounded::ByData {
            return Some(self);
        }
        let extent = (self.extent() as u64).checked_next_multiple_of(self.align)?;
        let upper = i128::from(self.lower) + i128::from(extent);
        let (lower, upper) = both(self.lower.into(), upper)?;
        Some(Summary { lower, upper, ..self })
    }

    /// The same map with the padding of pair types among its bytes.
    pub(super) fn with_padding(&self) -> Summary {
        Summary { size: self.padded_size, data: self.padded_data, ..*self }
    }

    /// The same map with new markers.
    fn resized(&self, lower: i64, extent: i64) -> Option<Summary> {
        let upper = lower.checked_add(extent)?;
        Some(Summary { lower, upper, bounded: Bounded::ByMarkers, ..*self })
    }
}

/// The distance from the first to the last of `n` items that are `stride` apart.
fn distance(n: u64, stride: i128) -> Option<i128> {
    i128::from(n - 1).checked_mul(stride)
}

/// The bounds of copies with these bounds, at displacements from `first` to `last`.
fn spread(bounds: (i64, i64), first: i128, last: i128) -> Option<(i64, i64)> {
    // With a negative extent the upper bound is below the lower one; each is moved on its own.
    both(first.checked_add(bounds.0.into())?, last.checked_add(bounds.1.into())?)
}

/// The bounds of two things together.
fn hull(a: (i64, i64), b: (i64, i64)) -> Option<(i64, i64)> {
    both(a.0.min(b.0).into(), a.1.max(b.1).into())
}

/// Bounds that fit in an `i64`, and their distance as well (invariant 1 of the module).
fn both(lower: i128, upper: i128) -> Option<(i64, i64)> {
    i64::try_from(upper.checked_sub(lower)?).ok()?;
    Some((i64::try_from(lower).ok()?, i64::try_from(upper).ok()?))
}
