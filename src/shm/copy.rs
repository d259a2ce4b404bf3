//! The one routine that moves bytes.
#![allow(unsafe_code, reason = "copies between raw addresses")]

use crate::prim::{Step, step};

/// From so many bytes on, test builds copy in two parts.
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
    // One word of eight bytes, the commonest operation, is worth no call of memcpy.
    if is_one_store(bytes) {
        let (from, to): (*const [u8; 8], *mut [u8; 8]) = (from.cast(), to.cast());
        // SAFETY: 1 and 2 are the obligations of this function's caller.
        return unsafe { std::ptr::copy_nonoverlapping(from, to, 1) };
    }
    // SAFETY: as above.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
}

/// Whether [`copy`] writes so many bytes by one instruction, between which and the next a rank may be
/// killed but not inside: of fewer than eight, memcpy may make several.
#[inline(always)]
pub(crate) fn is_one_store(bytes: usize) -> bool {
    bytes == size_of::<u64>()
}

/// As [`copy`], for one operation of the program: test builds pass `middle` halfway.
///
/// # Safety
/// As [`copy`].
#[inline(always)]
pub(crate) unsafe fn copy_past(middle: Step, from: *const u8, to: *mut u8, bytes: usize) {
    let half = if cfg!(feature = "test-hooks") && bytes >= LARGE { bytes / 2 } else { bytes };
    // SAFETY: a part of what the caller vouches for, or all of it.
    unsafe { copy(from, to, half) };
    if half != bytes {
        step(middle);
        // SAFETY: the other part.
        unsafe { copy(from.wrapping_add(half), to.wrapping_add(half), bytes - half) };
    }
}

/// Sets `bytes` bytes to zero.
///
/// # Safety
/// `to` is valid for writes of `bytes` bytes.
pub(crate) unsafe fn clear(to: *mut u8, bytes: usize) {
    // SAFETY: the obligation of this function's caller.
    unsafe { to.write_bytes(0, bytes) }
}
