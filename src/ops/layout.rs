//! The layouts of the elements of an operation, and the checks that need no window.

use super::buffer::{Origin, OriginMut};
use super::target::are_disjoint;
use crate::datatype::{CommittedDatatype, Datatype, Element, Shape, TransferSide, datatype_of};
use bytemuck::Pod;
use std::ops::Range;

/// Instances of a datatype, one extent apart (the standard's count and datatype), or the
/// elements of a slice, which are a layout of one run.
///
/// ```
/// use onesided::engine::{Layout, Origin};
/// use onesided::{Datatype, DerivedDatatype, Rank, WindowOptions};
///
/// # onesided::testing::Job::new(1).run(|universe| -> onesided::Result<()> {
/// let win = WindowOptions::new().allocate_bytes(universe.world(), 64, 8)?;
/// let column = DerivedDatatype::vector(2, 1, 3, Datatype::U64)?.commit();
/// let numbers = [7_u64, 8];
/// // SAFETY: the numbers stay where they are, and only this thread uses them.
/// let origin = unsafe { Origin::new(numbers.as_ptr().cast(), 2, Datatype::U64) };
/// win.lock_all()?;
/// // To the words 0 and 3.
/// win.put_layout(origin, Rank(0), 0, Layout::new(1, &column))?;
/// win.unlock_all()?;
/// let mut found = [0_u64; 4];
/// win.load(0, &mut found)?;
/// assert_eq!(found, [7, 0, 0, 8]);
/// win.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Layout<'d>(LayoutForm<'d>);

#[derive(Clone, Copy, Debug)]
enum LayoutForm<'d> {
    /// Bytes of elements without padding, one behind the other.
    Slice {
        bytes: usize,
        of: Datatype,
    },
    Typed {
        count: usize,
        datatype: &'d CommittedDatatype,
    },
}

use LayoutForm::{Slice, Typed};

impl<'d> Layout<'d> {
    /// `count` instances of `datatype`: a [`Datatype`], a [`&CommittedDatatype`](CommittedDatatype) or a
    /// [`&Shape`](crate::Shape).
    #[inline]
    pub fn new(count: usize, datatype: impl Into<&'d CommittedDatatype>) -> Layout<'d> {
        Layout(Typed { count, datatype: datatype.into() })
    }

    /// The elements of a slice of that length: of pairs, which may have padding, the numbers; of a type that
    /// is no [`Element`], the bytes.
    #[inline(always)]
    pub(super) fn of_slice<T: Pod>(len: usize) -> Layout<'static> {
        let of = datatype_of::<T>();
        match of.is_padded() {
            true => Layout::new(len, of),
            false => Layout(Slice { bytes: len * size_of::<T>(), of }),
        }
    }

    /// The elements of a shape.
    #[inline(always)]
    pub(super) fn of_shape<T: Element>(shape: &'d Shape<T>) -> Layout<'d> {
        match shape.plain() {
            Some(bytes) if !T::DATATYPE.is_padded() => {
                Layout(Slice { bytes: bytes as usize, of: T::DATATYPE })
            }
            _ => Layout::new(1, shape),
        }
    }

    /// The bytes of both, if both are slices of the same elements, or as many instances of the same datatype
    /// without gaps.
    #[inline(always)]
    pub(super) fn same_slice(&self, other: &Layout<'_>) -> Option<usize> {
        if self.is_same(other) { self.plain() } else { None }
    }

    /// Whether both are as many instances of the same datatype, or slices of the same elements.
    #[inline(always)]
    pub(super) fn is_same(&self, other: &Layout<'_>) -> bool {
        match (self.0, other.0) {
            (Slice { bytes, of }, Slice { bytes: others, of: other }) => {
                of == other && bytes == others
            }
            (Typed { count, datatype }, Typed { count: others, datatype: other }) => {
                count == others && std::ptr::eq(datatype, other)
            }
            _ => false,
        }
    }

    /// Number of instances and datatype.
    #[inline]
    pub(super) fn parts(&self) -> (usize, &'d CommittedDatatype) {
        match self.0 {
            Slice { bytes, of } => (bytes / of.size(), of.into()),
            Typed { count, datatype } => (count, datatype),
        }
    }

    #[inline(always)]
    pub(super) fn side(&self) -> TransferSide<'d> {
        match self.0 {
            Slice { bytes, .. } => TransferSide::Packed(bytes as u64),
            Typed { count, datatype } => TransferSide::Typed(datatype, count),
        }
    }

    /// The bytes from displacement 0 on; `None` on overflow.
    #[inline(always)]
    pub(super) fn known_range(&self) -> Option<Range<i64>> {
        match self.0 {
            // No slice has more than `i64::MAX` bytes.
            Slice { bytes, .. } => Some(0..bytes as i64),
            Typed { count, datatype } => datatype.range(count),
        }
    }

    /// [`Layout::known_range`]; for a layout that reaches farther, all bytes, which fit nowhere.
    #[inline]
    pub(super) fn range(&self) -> Range<i64> {
        self.known_range().unwrap_or(i64::MIN..i64::MAX)
    }

    /// The bytes of its elements; `None` if no `u64` holds them.
    #[inline]
    pub(crate) fn bytes(&self) -> Option<u64> {
        match self.0 {
            Slice { bytes, .. } => Some(bytes as u64),
            Typed { count, datatype } => datatype.bytes(count),
        }
    }

    /// Its bytes, if they are one block from displacement 0 on.
    #[inline(always)]
    pub(super) fn plain(&self) -> Option<usize> {
        match self.0 {
            Slice { bytes, .. } => Some(bytes),
            Typed { count, datatype } => datatype.plain(count).map(|bytes| bytes as usize),
        }
    }

    /// Whether it is one element, as a value of `E` lies in memory.
    #[inline(always)]
    pub(super) fn is_single<E: Element>(&self) -> bool {
        match self.0 {
            Slice { bytes, of } => of == E::DATATYPE && bytes == size_of::<E>(),
            Typed { count, datatype } => {
                count == 1 && datatype.is_single(E::DATATYPE, size_of::<E>())
            }
        }
    }

    /// The one predefined datatype of all elements, if they have one.
    #[inline]
    pub(super) fn uniform(&self) -> Option<Datatype> {
        match self.0 {
            Slice { of, .. } => Some(of),
            Typed { datatype, .. } => datatype.uniform(),
        }
    }

    /// Whether it has no elements.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        match self.0 {
            Slice { bytes, .. } => bytes == 0,
            Typed { count, datatype } => datatype.elements(count) == Some(0),
        }
    }

    /// The number of basic elements, saturated.
    #[inline]
    pub(super) fn elements(&self) -> u64 {
        match self.0 {
            Slice { bytes, of } if of.pair().is_none() => (bytes / of.size()) as u64,
            _ => {
                let (count, datatype) = self.parts();
                datatype.elements(count).unwrap_or(u64::MAX)
            }
        }
    }

    /// Values of the one datatype that all elements have; pairs are one each.
    #[inline]
    pub(super) fn values(&self) -> u64 {
        let (count, datatype) = self.parts();
        datatype.values().saturating_mul(count as u64)
    }

    /// The layout of whole elements, pairs with their padding, for operations on elements.
    #[inline]
    pub(super) fn with_padding(&self) -> Layout<'d> {
        match self.0 {
            Slice { .. } => *self,
            Typed { count, datatype } => Layout(Typed { count, datatype: datatype.with_padding() }),
        }
    }

    /// The bytes of `slice` and the datatype, if this is one instance and that a slice of the same elements.
    #[inline(always)]
    pub(super) fn instance_of_slice(
        &self,
        slice: &Layout<'_>,
    ) -> Option<(usize, &'d CommittedDatatype)> {
        match (self.0, slice.0) {
            (Typed { count: 1, datatype }, Slice { bytes, of }) => {
                (datatype.uniform() == Some(of)).then_some((bytes, datatype))
            }
            _ => None,
        }
    }

    #[inline]
    pub(super) fn fits_into(&self, to: &Layout<'_>) -> bool {
        match self.0 {
            Slice { of, .. } if to.uniform() == Some(of) => self.elements() <= to.elements(),
            _ => {
                let ((count, datatype), (space, other)) = (self.parts(), to.parts());
                datatype.fits_into(count, other, space)
            }
        }
    }

    #[inline(always)]
    pub(super) fn overlaps(&self) -> bool {
        match self.0 {
            Slice { .. } => false,
            Typed { count, datatype } => datatype.overlaps(count),
        }
    }

    /// A description for an error.
    pub(super) fn shown(&self) -> String {
        match self.parts() {
            (1, datatype) => format!("{datatype:?}"),
            (count, datatype) => format!("{count} x {datatype:?}"),
        }
    }

    /// First address and length of its pieces, with displacement 0 at `zero`, in order of address.
    pub(super) fn pieces(&self, zero: *const u8) -> Vec<(usize, u64)> {
        let address = |at| (zero as usize).wrapping_add_signed(at as isize);
        let (count, datatype) = self.parts();
        let pieces = datatype.pieces(count);
        let mut pieces: Vec<_> = pieces.map(|(at, bytes)| (address(at), bytes)).collect();
        pieces.sort_unstable();
        pieces
    }
}

/// A layout in this process: the origin's side, or a target that is not in another process.
#[derive(Clone, Copy)]
pub(super) struct LocalLayout<'d> {
    pub(super) zero: *const u8,
    pub(super) layout: Layout<'d>,
}

impl LocalLayout<'_> {
    /// Whether the ranges of both do not overlap, so that no entry of one can overlap one of the
    /// other.
    #[inline]
    pub(super) fn is_far_from(&self, other: &LocalLayout<'_>) -> bool {
        are_far((self.zero, &self.layout.range()), (other.zero, &other.layout.range()))
    }

    /// Whether no entry of one overlaps an entry of the other. Sorts them only where the ranges
    /// overlap.
    pub(super) fn is_disjoint_from(&self, other: &LocalLayout<'_>) -> bool {
        if self.is_far_from(other) {
            return true;
        }
        if let (Some(a), Some(b)) = (self.layout.plain(), other.layout.plain())
            && a == b
        {
            return are_disjoint(self.zero, other.zero, a);
        }
        let (own, others) = (self.layout.pieces(self.zero), other.layout.pieces(other.zero));
        let mut others = &others[..];
        own.iter().all(|(at, bytes)| {
            // Pieces that end before this one end before all later ones.
            let ended = |(other, length): &(usize, u64)| *other as u64 + length <= *at as u64;
            while others.first().is_some_and(ended) {
                others = &others[1..];
            }
            others.first().is_none_or(|(other, _)| *other as u64 >= *at as u64 + bytes)
        })
    }
}

/// Whether bytes around two addresses do not overlap.
#[inline(always)]
pub(super) fn are_far(a: (*const u8, &Range<i64>), b: (*const u8, &Range<i64>)) -> bool {
    let first = |(zero, range): (*const u8, &Range<i64>)| {
        (zero as usize).wrapping_add_signed(range.start as isize)
    };
    let bytes = |range: &Range<i64>| range.end.wrapping_sub(range.start) as usize;
    let ((first_a, first_b), (length_a, length_b)) =
        ((first(a), first(b)), (bytes(a.1), bytes(b.1)));
    if first_a <= first_b { first_b - first_a >= length_a } else { first_a - first_b >= length_b }
}

impl<'d> From<&Origin<'d>> for LocalLayout<'d> {
    #[inline]
    fn from(origin: &Origin<'d>) -> LocalLayout<'d> {
        LocalLayout { zero: origin.start, layout: origin.layout }
    }
}

impl<'d> From<&OriginMut<'d>> for LocalLayout<'d> {
    #[inline]
    fn from(origin: &OriginMut<'d>) -> LocalLayout<'d> {
        LocalLayout { zero: origin.start, layout: origin.layout }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::DerivedDatatype;
    use proptest::prelude::*;

    fn layout() -> impl Strategy<Value = (usize, CommittedDatatype)> {
        let blocks = proptest::collection::vec((0..4usize, -20..20i64), 0..5);
        (0..3usize, blocks).prop_map(|(count, blocks)| {
            let (lengths, at): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
            let datatype = DerivedDatatype::indexed(&lengths, &at, Datatype::U8).unwrap();
            (count, datatype.commit())
        })
    }

    proptest! {
        #[test]
        fn apart_means_that_no_byte_is_shared(
            (a, b) in (layout(), layout()),
            distance in -60..60isize,
        ) {
            let zero = std::ptr::without_provenance::<u8>(1000);
            let here = LocalLayout { zero, layout: Layout::new(a.0, &a.1) };
            let zero = zero.wrapping_offset(distance);
            let there = LocalLayout { zero, layout: Layout::new(b.0, &b.1) };
            let bytes = |located: &LocalLayout<'_>| -> std::collections::BTreeSet<u64> {
                let pieces = located.layout.pieces(located.zero);
                pieces.into_iter().flat_map(|(at, n)| at as u64..at as u64 + n).collect()
            };
            let shared = bytes(&here).intersection(&bytes(&there)).count();
            prop_assert_eq!(here.is_disjoint_from(&there), shared == 0);
            if here.is_far_from(&there) {
                prop_assert_eq!(shared, 0);
            }
        }
    }
}
