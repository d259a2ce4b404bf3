//! The one loop that copies blocks at a stride.
#![allow(unsafe_code, reason = "copies between raw addresses")]

use super::copy::{LARGE, copy};
use crate::prim::{Step, step};

/// Where the blocks of one side lie: bytes from that side's base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    /// The first block.
    pub(crate) start: i64,
    /// From one block to the next.
    pub(crate) stride: i64,
}

impl Lane {
    /// Where that block lies.
    pub(crate) fn block(&self, block: usize) -> i64 {
        self.start.wrapping_add(self.stride.wrapping_mul(block as i64))
    }
}

/// Equal blocks to be copied one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strip {
    pub(crate) from: Lane,
    pub(crate) to: Lane,
    /// Bytes of a block; not zero.
    pub(crate) bytes: usize,
    /// How many; not zero.
    pub(crate) blocks: usize,
}

/// Copies the blocks of `strip`, whose lanes are relative to `from` and `to`.
///
/// Concurrent conflicting accesses of other ranks are as harmless as in [`copy`].
///
/// # Safety
/// 1. All blocks of the `from` lane are valid for reads, all of the `to` lane for writes.
/// 2. No block of one lane overlaps a block of the other.
#[inline(always)]
pub(crate) unsafe fn copy_strip(from: *const u8, to: *mut u8, strip: &Strip) {
    let from = from.wrapping_offset(strip.from.start as isize);
    let to = to.wrapping_offset(strip.to.start as isize);
    if strip.blocks == 1 {
        // SAFETY: 1 and 2 are the obligations of this function's caller.
        return unsafe { copy(from, to, strip.bytes) };
    }
    let strides = (strip.from.stride as isize, strip.to.stride as isize);
    // SAFETY: as above.
    unsafe { copy_blocks(from, to, strides, strip.bytes, strip.blocks) }
}

/// As [`copy_strip`], for one operation of the program: test builds pass `middle` halfway.
///
/// # Safety
/// As [`copy_strip`].
#[inline(always)]
pub(crate) unsafe fn copy_strip_past(middle: Step, from: *const u8, to: *mut u8, strip: &Strip) {
    let large = strip.blocks > 1 && strip.bytes.saturating_mul(strip.blocks) >= LARGE;
    if cfg!(feature = "test-hooks") && large {
        let half = strip.blocks / 2;
        // SAFETY: a part of what the caller vouches for.
        unsafe { copy_strip(from, to, &Strip { blocks: half, ..*strip }) };
        step(middle);
        let behind = |lane: Lane| Lane { start: lane.block(half), ..lane };
        let (lane, blocks) = ((behind(strip.from), behind(strip.to)), strip.blocks - half);
        // SAFETY: the other part.
        return unsafe {
            copy_strip(from, to, &Strip { from: lane.0, to: lane.1, blocks, ..*strip })
        };
    }
    // SAFETY: the obligations of this function's caller.
    unsafe { copy_strip(from, to, strip) }
}

/// The loop for blocks of that length: found by comparisons, the commonest lengths first, because
/// an indirect call that the processor predicts wrongly costs as much as a small block.
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
                // SAFETY: the obligations of this function's caller; blocks have so many bytes.
                return unsafe { equal::<$n>(from, to, strides, blocks) };
            }
        )*};
    }
    lengths!(8 64 4 16 32 1 2 24 40 48 56);
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
    // Four at a time, so that the loop does not cost more than the blocks.
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

impl Strip {
    /// Copies between slices; byte 0 of the lanes is at `from_base` and `to_base` of them.
    ///
    /// # Panics
    /// If a block leaves its slice.
    #[inline(always)]
    pub(crate) fn copy_slices(&self, from: &[u8], from_base: i64, to: &mut [u8], to_base: i64) {
        assert!(self.fits(self.from, from_base, from.len()), "a block leaves the source");
        assert!(self.fits(self.to, to_base, to.len()), "a block leaves the destination");
        let from = from.as_ptr().wrapping_offset(from_base as isize);
        let to = to.as_mut_ptr().wrapping_offset(to_base as isize);
        // SAFETY: 1. first and last block lie in the slices, as asserted, and so do those between
        // them; 2. a shared and a mutable slice do not overlap.
        unsafe { copy_strip(from, to, self) }
    }

    /// Whether the blocks of a lane lie in a slice of `len` bytes.
    #[inline(always)]
    fn fits(&self, lane: Lane, base: i64, len: usize) -> bool {
        let ends = || {
            let first = base.checked_add(lane.start)?;
            let steps = i64::try_from(self.blocks).ok()?.checked_sub(1)?;
            let last = first.checked_add(steps.checked_mul(lane.stride)?)?;
            let end = first.max(last).checked_add(i64::try_from(self.bytes).ok()?)?;
            Some((first.min(last), end))
        };
        ends().is_some_and(|(start, end)| start >= 0 && end <= len as i64)
    }
}
