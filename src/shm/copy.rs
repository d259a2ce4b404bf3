//! The routines that move bytes between raw addresses: one run, and blocks at strides or at offsets of a
//! list.
#![allow(unsafe_code, reason = "copies between raw addresses")]

use super::os::are_same;
use super::pattern::{Offsets, Steps, Strip};
use super::span::Span;
use crate::prim::{Step, Word64, step};
use std::ops::RangeInclusive;

/// From this many bytes on, test builds copy in two parts.
const LARGE: usize = 1 << 16;

/// An address that any thread of the rank may use. Accesses through it are operations on memory that
/// ranks share; the program's synchronisation orders them, not Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct SharedAddress(pub(crate) *mut u8);

// SAFETY: an address is a number until it is dereferenced, which answers for itself.
unsafe impl Send for SharedAddress {}
// SAFETY: as above.
unsafe impl Sync for SharedAddress {}

/// Copies `bytes` bytes from `from` to `to`.
///
/// Another rank may write either range at the same time if the program breaks MPI's rules; the
/// bytes that arrive are then some mixture. They are bytes of types for which every pattern is
/// valid, so nothing worse follows.
///
/// # Safety
/// 1. `from` is valid for reads and `to` for writes of `bytes` bytes.
/// 2. The ranges do not overlap.
#[inline(always)]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // One word of eight bytes is the commonest operation and needs no call of memcpy.
    if is_one_store(bytes) {
        let (from, to): (*const [u8; 8], *mut [u8; 8]) = (from.cast(), to.cast());
        // SAFETY: 1 and 2 are the obligations of this function's caller.
        return unsafe { std::ptr::copy_nonoverlapping(from, to, 1) };
    }
    // SAFETY: as above.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
}

/// Copies bytes of a span, from `start` on, to `to`; returns whether the span has them.
///
/// The program may write them at the same time, also by a slice that it has borrowed: what arrives is only
/// compared, and a byte that is being written may arrive old or new.
#[inline]
pub(crate) fn read_span(span: Span, start: u64, to: &mut [u8]) -> bool {
    let Some(from) = span.at(start, 1, to.len() as u64) else { return false };
    // SAFETY: 1. `at` has checked that the span has them, and its creator guarantees that it stays mapped; `to`
    // is a slice. 2. `to` is not memory that a window exposes.
    unsafe { copy(from, to.as_mut_ptr(), to.len()) };
    true
}

/// Whether bytes of a span, from `start` on, are those that some words have from their byte `at` on; `None` if one of the
/// two has fewer. Read as by [`read_span`].
#[inline]
pub(crate) fn is_same(
    span: Span,
    start: u64,
    (words, at): (&[Word64], usize),
    bytes: usize,
) -> Option<bool> {
    let (one, other) = (span.at(start, 1, bytes as u64)?, bytes_of(words, at, bytes)?);
    // SAFETY: `at` has checked that the span has them, and its creator guarantees that it stays mapped; `bytes_of` has checked
    // that the words have them.
    Some(unsafe { are_same(one, other, bytes) })
}

/// Copies bytes of a span, from `start` on, to some words, from their byte `at` on, which no other rank accesses at the same
/// time; returns whether both have them. Read as by [`read_span`].
#[inline]
pub(crate) fn copy_to_words(
    span: Span,
    start: u64,
    (words, at): (&[Word64], usize),
    bytes: usize,
) -> bool {
    let both = span.at(start, 1, bytes as u64).zip(bytes_of(words, at, bytes));
    let Some((from, to)) = both else { return false };
    // SAFETY: 1. `at` has checked that the span has them, and its creator guarantees that it stays mapped; `bytes_of` has
    // checked that the words have them, which are atomic variables and so may change. 2. Words of the check are no memory that a
    // window exposes.
    unsafe { copy(from, to, bytes) };
    true
}

/// The address of bytes of some words, if they have them.
fn bytes_of(words: &[Word64], at: usize, bytes: usize) -> Option<*mut u8> {
    let has_them = at.checked_add(bytes)? <= size_of_val(words);
    has_them.then(|| words.as_ptr().cast_mut().cast::<u8>().wrapping_add(at))
}

/// [`copy`] of ranges that may overlap.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `bytes` bytes.
#[inline(always)]
pub(crate) unsafe fn copy_overlapping(from: *const u8, to: *mut u8, bytes: usize) {
    if is_one_store(bytes) {
        // SAFETY: the obligation of this function's caller; an array of bytes is aligned anywhere.
        let word = unsafe { from.cast::<[u8; ONE_STORE]>().read() };
        // SAFETY: as above.
        return unsafe { to.cast::<[u8; ONE_STORE]>().write(word) };
    }
    // SAFETY: as above.
    unsafe { to.copy_from(from, bytes) };
}

/// Copies of exactly this size are one store and cannot be torn by a kill; shorter ones may be several
/// stores.
pub(crate) const ONE_STORE: usize = size_of::<u64>();

/// Whether they are [`ONE_STORE`].
#[inline(always)]
pub(crate) fn is_one_store(bytes: usize) -> bool {
    bytes == ONE_STORE
}

/// [`copy`] for one operation of the program: test builds pass the site `middle` halfway.
///
/// # Safety
/// The obligations of [`copy`].
#[inline(always)]
pub(crate) unsafe fn copy_past(middle: Step, from: *const u8, to: *mut u8, bytes: usize) {
    if SHORT.contains(&bytes) {
        // SAFETY: the obligations of this function's caller.
        return unsafe { copy_short(from, to, bytes) };
    }
    let half = if cfg!(feature = "test-hooks") && bytes >= LARGE { bytes / 2 } else { bytes };
    // SAFETY: a part of the caller's ranges, or all of them.
    unsafe { copy(from, to, half) };
    if half != bytes {
        step(middle);
        // SAFETY: the other part.
        unsafe { copy(from.wrapping_add(half), to.wrapping_add(half), bytes - half) };
    }
}

/// Whether [`copy_streaming`] goes past the caches on this machine.
pub(super) const fn can_stream() -> bool {
    cfg!(target_arch = "x86_64")
}

/// [`copy`] by stores that go past the caches, where the machine has them. What this thread stores afterwards is visible
/// to others after the bytes, as it is behind other stores.
///
/// # Safety
/// The obligations of [`copy`].
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(super) unsafe fn copy_streaming(from: *const u8, to: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    /// A line is written as a whole.
    const LINE: usize = 64;
    let before = to.align_offset(LINE).min(bytes);
    let end = before + (bytes - before) / LINE * LINE;
    // SAFETY: the first part of the caller's ranges.
    unsafe { copy(from, to, before) };
    for at in (before..end).step_by(BLOCK) {
        // SAFETY: inside the caller's range, at any alignment. Of bytes that have no value it makes some.
        let block = unsafe { _mm_loadu_si128(from.wrapping_add(at).cast()) };
        // SAFETY: inside the caller's range, and aligned, since a line is a number of blocks; the fence below comes before
        // any other access to them.
        unsafe { _mm_stream_si128(to.wrapping_add(at).cast::<__m128i>(), block) };
    }
    // SAFETY: the last part.
    unsafe { copy(from.wrapping_add(end), to.wrapping_add(end), bytes - end) };
    // Orders these stores before all later ones, as the processor orders others by itself.
    // SAFETY: every processor of the architecture has the instruction; it accesses no memory.
    unsafe { _mm_sfence() };
}

/// [`copy`] where the machine has no such stores.
///
/// # Safety
/// The obligations of [`copy`].
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn copy_streaming(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's obligations.
    unsafe { copy(from, to, bytes) };
}

/// What [`copy_short`] copies.
const SHORT: RangeInclusive<usize> = BLOCK..=4 * BLOCK;
/// The bytes of a vector that every processor of the architecture has.
const BLOCK: usize = 16;

/// [`copy`] of so few bytes that a call of memcpy would take longer: two or four blocks. They overlap if
/// the length is no multiple of a block.
///
/// # Safety
/// The obligations of [`copy`], of as many bytes as [`SHORT`] has.
#[inline(always)]
unsafe fn copy_short(from: *const u8, to: *mut u8, bytes: usize) {
    let block = |at: usize| {
        let (from, to) = (from.wrapping_add(at), to.wrapping_add(at));
        // SAFETY: 1. a block that begins at least its length before the end. 2. As the whole.
        unsafe { std::ptr::copy_nonoverlapping(from, to, BLOCK) };
    };
    let last = bytes - BLOCK;
    block(0);
    if bytes > 2 * BLOCK {
        block(BLOCK);
        block(last - BLOCK);
    }
    block(last);
}

/// Sets `bytes` bytes to zero.
///
/// # Safety
/// `to` is valid for writes of `bytes` bytes.
pub(crate) unsafe fn clear(to: *mut u8, bytes: usize) {
    // SAFETY: the obligation of this function's caller.
    unsafe { to.write_bytes(0, bytes) }
}

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
/// The obligations of [`copy_strip`].
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
/// The obligations of [`copy_strip`].
#[inline(never)]
unsafe fn copy_words(from: *const u8, to: *mut u8, strides: (isize, isize), blocks: usize) {
    // SAFETY: the obligations of this function's caller; blocks have that many bytes.
    unsafe { equal::<8>(from, to, strides, blocks) }
}

/// The loop for blocks of that length.
///
/// # Safety
/// The obligations of [`copy_strip`].
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
/// The obligations of [`copy_strip`], and blocks have `N` bytes.
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
/// The obligations of [`copy_strip`].
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
/// The obligations of [`copy_strip`].
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies up to `MOST` bytes, to places of every alignment below that.
    fn each_copy_is_whole<const MOST: usize>(copy: impl Fn(*const u8, *mut u8, usize)) {
        let from: Vec<u8> = (0..MOST).map(|at| (at % 255) as u8 + 1).collect();
        for bytes in 0..=MOST {
            let (mut to, at) = (vec![0u8; 2 * MOST + 1], bytes % MOST);
            copy(from.as_ptr(), to[at..].as_mut_ptr(), bytes);
            assert_eq!(to[at..][..bytes], from[..bytes], "{bytes} bytes");
            to[at..][..bytes].fill(0);
            assert!(to.iter().all(|byte| *byte == 0), "{bytes} bytes");
        }
    }

    #[test]
    fn every_byte_of_a_copy_arrives_and_no_other_is_written() {
        // SAFETY: 1. Both have more bytes than are copied. 2. `to` is new.
        each_copy_is_whole::<100>(|from, to, n| unsafe { copy_past(Step::MidPut, from, to, n) });
        // SAFETY: likewise.
        each_copy_is_whole::<500>(|from, to, n| unsafe { copy_streaming(from, to, n) });
    }
}
