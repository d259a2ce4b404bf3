//! Bytes of one rank's part of a window, as seen from this process.

use super::copy::SharedAddress;
use std::ops::Range;

/// A run of `len` bytes. Copyable; its creator guarantees that it stays mapped until the window is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    base: SharedAddress,
    len: u64,
}

impl Span {
    /// `base` points to `len` mapped bytes.
    pub(crate) fn new(base: *mut u8, len: u64) -> Span {
        Span { base: SharedAddress(base), len }
    }

    /// No bytes.
    pub(crate) fn nothing() -> Span {
        Span::new(std::ptr::null_mut(), 0)
    }

    pub(crate) fn base(&self) -> *mut u8 {
        self.base.0
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The address of `bytes` bytes that start `units` displacement units of `unit` bytes after
    /// the base, if all of them lie inside.
    #[inline(always)]
    pub(crate) fn at(&self, units: u64, unit: u32, bytes: u64) -> Option<*mut u8> {
        let start = units.checked_mul(u64::from(unit))?;
        let end = start.checked_add(bytes)?;
        (end <= self.len).then(|| self.base.0.wrapping_add(start as usize))
    }
}

/// One rank's part of a window that is mapped into this process: a span, and its displacement unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) span: Span,
    pub(crate) disp_unit: u32,
    /// The first displacement at which no word of eight bytes lies inside. For such words, which most
    /// operations move, one comparison replaces all checks of [`Span::at`].
    words_end: u64,
}

impl Part {
    const WORD: u64 = size_of::<u64>() as u64;

    /// `disp_unit` is not zero.
    pub(crate) fn new(span: Span, disp_unit: u32) -> Part {
        let last = span.len.checked_sub(Part::WORD).map(|start| start / u64::from(disp_unit));
        Part { span, disp_unit, words_end: last.map_or(0, |last| last + 1) }
    }

    /// The same `bytes` bytes farther on, wrapping.
    #[inline(always)]
    pub(super) fn moved(&self, bytes: usize) -> Part {
        let base = self.span.base.0.wrapping_add(bytes);
        Part { span: Span::new(base, self.span.len), ..*self }
    }

    /// The same, whose address was counted from `start`.
    pub(super) fn behind(&self, start: *mut u8) -> Part {
        let base = start.wrapping_add(self.span.base.0.addr());
        Part { span: Span::new(base, self.span.len), ..*self }
    }

    /// The address of `bytes` bytes from displacement `disp` on, if all of them lie inside.
    #[inline(always)]
    pub(crate) fn at(&self, disp: u64, bytes: u64) -> Option<*mut u8> {
        if bytes != Part::WORD {
            return self.span.at(disp, self.disp_unit, bytes);
        }
        let at = || self.span.base.0.wrapping_add((disp * u64::from(self.disp_unit)) as usize);
        (disp < self.words_end).then(at)
    }

    /// [`Span::around`]: the bytes around displacement `disp`, if there are any and all lie inside.
    #[inline(always)]
    pub(crate) fn around(&self, disp: u64, bytes: &Range<i64>) -> Option<*mut u8> {
        if bytes.is_empty() { None } else { self.span.around(disp, self.disp_unit, bytes) }
    }
}

/// The first byte and the end of a layout, in bytes from the base, where its displacement 0 is `units`
/// displacement units of `unit` bytes after the base.
#[inline]
pub(crate) fn range_at(units: u64, unit: u32, bytes: &Range<i64>) -> Option<(u64, u64)> {
    let zero = units.checked_mul(u64::from(unit))?;
    Some((zero.checked_add_signed(bytes.start)?, zero.checked_add_signed(bytes.end)?))
}

impl Span {
    /// [`Span::at`] for bytes around their displacement 0 (not empty): returns the address of
    /// displacement 0, which may itself lie outside.
    #[inline]
    pub(crate) fn around(&self, units: u64, unit: u32, bytes: &Range<i64>) -> Option<*mut u8> {
        let (start, end) = range_at(units, unit, bytes)?;
        let back = (bytes.start as isize).wrapping_neg();
        let zero = self.base.0.wrapping_add(start as usize).wrapping_offset(back);
        (end <= self.len).then_some(zero)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_unbounded_arithmetic(
            units in prop_oneof![0..200u64, any::<u64>()],
            unit in prop_oneof![1..9u32, 1..=u32::MAX],
            bytes in prop_oneof![0..200u64, any::<u64>(), Just(8)],
            len in 0..200u64,
        ) {
            let mut memory = [0u8; 200];
            let part = Part::new(Span::new(memory.as_mut_ptr(), len), unit);
            let start = u128::from(units) * u128::from(unit);
            let fits = start + u128::from(bytes) <= u128::from(len);
            prop_assert_eq!(part.at(units, bytes).is_some(), fits);
            if let Some(at) = part.at(units, bytes) {
                prop_assert_eq!(at as usize - memory.as_ptr() as usize, start as usize);
            }
        }

        #[test]
        fn around_agrees_with_unbounded_arithmetic(
            units in prop_oneof![0..200u64, any::<u64>()],
            unit in prop_oneof![1..9u32, any::<u32>()],
            first in prop_oneof![4 => -300..300i64, 4 => any::<i64>(), 1 => Just(i64::MIN)],
            bytes in prop_oneof![1..200i64, 1..i64::MAX],
            len in 0..200u64,
        ) {
            let mut memory = [0u8; 200];
            let span = Span::new(memory.as_mut_ptr(), len);
            // A layout whose extent overflows (`ops::layout`) is reported at a displacement that never
            // fits.
            let units = if first == i64::MIN { units | 1 << 63 } else { units };
            let unit = if first == i64::MIN { 1 } else { unit };
            let range = first..first.saturating_add(bytes);
            let zero = i128::from(units) * i128::from(unit);
            let (start, end) = (zero + i128::from(range.start), zero + i128::from(range.end));
            let fits = start >= 0 && end <= i128::from(len);
            let at = span.around(units, unit, &range);
            prop_assert_eq!(at.is_some(), fits);
            if let Some(at) = at {
                let from = at.wrapping_offset(first as isize) as usize;
                prop_assert_eq!(from - memory.as_ptr() as usize, start as usize);
            }
        }
    }
}
