//! The loops that copy blocks at strides, and at offsets of a list.
#![allow(unsafe_code, reason = "copies between raw addresses")]

use super::copy::{LARGE, copy, copy_past};
use super::pattern::{Offsets, Steps, Strip};
use crate::prim::{Step, step};

/// Copies the blocks of `strip`, whose patterns are relative to `from` and `to`.
///
/// Concurrent conflicting accesses of other ranks are as harmless as in [`copy`].
///
/// # Safety
/// 1. All blocks of the `from` pattern are valid for reads, all of the `to` pattern for writes.
/// 2. No block of one pattern overlaps a block of the other.
#[inline(always)]
pub(crate) unsafe fn copy_strip(from: *const u8, to: *mut u8, strip: &Strip<'_>) {
    let [a, b] = strip.patterns;
    if let (Steps::Even(stride), Steps::Even(to_stride)) = (a.steps, b.steps) {
        let from = from.wrapping_offset(a.start as isize);
        let to = to.wrapping_offset(b.start as isize);
        if strip.blocks == 1 {
            // SAFETY: 1 and 2 are the obligations of this function's caller.
            return unsafe { copy(from, to, strip.bytes) };
        }
        let strides = (stride as isize, to_stride as isize);
        if strip.bytes == size_of::<u64>() {
            // SAFETY: as above.
            return unsafe { copy_words(from, to, strides, strip.blocks) };
        }
        // SAFETY: as above.
        return unsafe { copy_blocks(from, to, strides, strip.bytes, strip.blocks) };
    }
    // SAFETY: as above.
    unsafe { copy_listed(from, to, *strip) }
}

/// [`copy_strip`] for one operation of the program: test builds pass the site `middle` halfway.
///
/// # Safety
/// As [`copy_strip`].
#[inline(always)]
pub(crate) unsafe fn copy_strip_past(
    middle: Step,
    from: *const u8,
    to: *mut u8,
    strip: &Strip<'_>,
) {
    let large = strip.blocks > 1 && strip.bytes.saturating_mul(strip.blocks) >= LARGE;
    if cfg!(feature = "test-hooks") && large {
        let half = strip.blocks / 2;
        // SAFETY: a part of the caller's blocks.
        unsafe { copy_strip(from, to, &strip.part(0, half)) };
        step(middle);
        // SAFETY: the other part.
        return unsafe { copy_strip(from, to, &strip.part(half, strip.blocks - half)) };
    }
    if cfg!(feature = "test-hooks") && strip.blocks == 1 {
        let [a, b] = strip.patterns.map(|pattern| pattern.block(0) as isize);
        let (from, to) = (from.wrapping_offset(a), to.wrapping_offset(b));
        // SAFETY: the obligations of this function's caller.
        return unsafe { copy_past(middle, from, to, strip.bytes) };
    }
    // SAFETY: the obligations of this function's caller.
    unsafe { copy_strip(from, to, strip) }
}

/// The loop for blocks of eight bytes, the commonest: out of line, so that a short strip pays for no
/// choice among the loops.
///
/// # Safety
/// As [`copy_strip`].
#[inline(never)]
unsafe fn copy_words(from: *const u8, to: *mut u8, strides: (isize, isize), blocks: usize) {
    // SAFETY: the obligations of this function's caller; blocks have that many bytes.
    unsafe { equal::<8>(from, to, strides, blocks) }
}

/// The loop for blocks of that length.
///
/// # Safety
/// As [`copy_strip`].
#[inline(never)]
unsafe fn copy_blocks(
    from: *const u8,
    to: *mut u8,
    strides: (isize, isize),
    bytes: usize,
    blocks: usize,
) {
    macro_rules! lengths {
        ($($n:literal)*) => {$(
            if bytes == $n {
                // SAFETY: the obligations of this function's caller; blocks have that many bytes.
                return unsafe { equal::<$n>(from, to, strides, blocks) };
            }
        )*};
    }
    lengths!(64 4 16 32 1 2 24 40 48 56);
    // SAFETY: the obligations of this function's caller.
    unsafe { any(from, to, strides, bytes, blocks) }
}

/// Blocks of `N` bytes, which the compiler copies without a call.
///
/// # Safety
/// As [`copy_strip`], and blocks have `N` bytes.
#[inline(always)]
unsafe fn equal<const N: usize>(
    from: *const u8,
    to: *mut u8,
    strides: (isize, isize),
    blocks: usize,
) {
    let (mut from, mut to): (*const [u8; N], *mut [u8; N]) = (from.cast(), to.cast());
    let mut next = || {
        // SAFETY: 1 and 2 of the caller; an array of bytes has no alignment.
        unsafe { std::ptr::copy_nonoverlapping(from, to, 1) };
        from = from.wrapping_byte_offset(strides.0);
        to = to.wrapping_byte_offset(strides.1);
    };
    // Unrolled four times, so that the loop does not cost more than the blocks.
    for _ in 0..blocks / 4 {
        next();
        next();
        next();
        next();
    }
    (0..blocks % 4).for_each(|_| next());
}

/// Blocks of any length.
///
/// # Safety
/// As [`copy_strip`].
unsafe fn any(
    mut from: *const u8,
    mut to: *mut u8,
    strides: (isize, isize),
    bytes: usize,
    blocks: usize,
) {
    for _ in 0..blocks {
        // SAFETY: 1 and 2 of the caller.
        unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
        from = from.wrapping_offset(strides.0);
        to = to.wrapping_offset(strides.1);
    }
}

/// [`copy_strip`] where the blocks of a side lie at the offsets of a list. The strip is passed by
/// value, so that the other loops need not keep theirs in memory.
///
/// # Safety
/// As [`copy_strip`].
#[inline(never)]
unsafe fn copy_listed(from: *const u8, to: *mut u8, strip: Strip<'_>) {
    macro_rules! lengths {
        ($($n:literal)*) => {
            match strip.bytes {
                $(
                    // SAFETY: the obligations of this function's caller; an array of bytes has no
                    // alignment.
                    $n => each_block(from, to, &strip, |from, to| unsafe {
                        to.cast::<[u8; $n]>().copy_from_nonoverlapping(from.cast(), 1);
                    }),
                )*
                bytes => {
                    // SAFETY: the obligations of this function's caller.
                    each_block(from, to, &strip, |from, to| unsafe { copy(from, to, bytes) })
                }
            }
        };
    }
    lengths!(8 16 4 24 32 64);
}

/// Calls `each` with the addresses of every block of a strip.
#[inline(always)]
fn each_block(
    from: *const u8,
    to: *mut u8,
    strip: &Strip<'_>,
    mut each: impl FnMut(*const u8, *mut u8),
) {
    let [a, b] = strip.patterns;
    let from = from.wrapping_offset(a.start as isize);
    let to = to.wrapping_offset(b.start as isize);
    let blocks = strip.blocks;
    let listed = |offsets, first| Offsets::part(offsets, first, blocks).iter().copied();
    let even = |stride: i64| (0..blocks as i64).map(move |i| stride.wrapping_mul(i));
    let mut both = |a: i64, b: i64| {
        each(from.wrapping_offset(a as isize), to.wrapping_offset(b as isize));
    };
    match (a.steps, b.steps) {
        (Steps::Even(a), Steps::Even(b)) => {
            even(a).zip(even(b)).for_each(|(a, b)| both(a, b));
        }
        (Steps::Even(a), Steps::Listed(b, first)) => {
            even(a).zip(listed(b, first)).for_each(|(a, b)| both(a, b));
        }
        (Steps::Listed(a, first), Steps::Even(b)) => {
            listed(a, first).zip(even(b)).for_each(|(a, b)| both(a, b));
        }
        (Steps::Listed(a, first), Steps::Listed(b, other)) => {
            listed(a, first).zip(listed(b, other)).for_each(|(a, b)| both(a, b));
        }
    }
}

impl Strip<'_> {
    /// Copies between slices; byte 0 of the patterns is at `from_base` and `to_base` of them.
    ///
    /// # Panics
    /// If a block leaves its slice.
    #[inline(always)]
    pub(crate) fn copy_slices(&self, from: &[u8], from_base: i64, to: &mut [u8], to_base: i64) {
        assert!(self.fits(0, from_base, from.len()), "a block leaves the source");
        assert!(self.fits(1, to_base, to.len()), "a block leaves the destination");
        let from = from.as_ptr().wrapping_offset(from_base as isize);
        let to = to.as_mut_ptr().wrapping_offset(to_base as isize);
        // SAFETY: 1. all blocks lie in the slices, as asserted; 2. a shared and a mutable slice do
        // not overlap.
        unsafe { copy_strip(from, to, self) }
    }
}
