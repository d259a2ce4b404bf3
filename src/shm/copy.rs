//! The one routine that moves bytes.
#![allow(unsafe_code, reason = "copies between raw addresses")]

use crate::prim::{Step, step};
use std::ops::RangeInclusive;

/// From this many bytes on, test builds copy in two parts.
pub(super) const LARGE: usize = 1 << 16;

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
/// As [`copy`].
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

/// What [`copy_short`] copies.
const SHORT: RangeInclusive<usize> = BLOCK..=4 * BLOCK;
/// The bytes of a vector that every processor of the architecture has.
const BLOCK: usize = 16;

/// [`copy`] of so few bytes that a call of memcpy would take longer: two or four blocks, which overlap
/// where the length is no multiple of a block.
///
/// # Safety
/// As [`copy`], of as many bytes as [`SHORT`] has.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_copy_arrives_and_no_other_is_written() {
        const MOST: usize = 100;
        let from: Vec<u8> = (1..=MOST as u8).collect();
        for bytes in 0..=MOST {
            let mut to = [0u8; MOST + 2];
            // SAFETY: 1. Both have more bytes than are copied. 2. `to` is new.
            unsafe { copy_past(Step::MidPut, from.as_ptr(), to[1..].as_mut_ptr(), bytes) };
            assert_eq!(to[1..][..bytes], from[..bytes], "{bytes} bytes");
            assert!(to[0] == 0 && to[1 + bytes..].iter().all(|byte| *byte == 0), "{bytes} bytes");
        }
    }
}
