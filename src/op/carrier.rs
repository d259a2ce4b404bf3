//! The unsigned integers by which elements are updated atomically.
#![allow(unsafe_code, reason = "views an element of a window as an atomic")]

use super::Op;
use atomic::Atomic;
use bytemuck::{NoUninit, Pod};
use core::sync::atomic::Ordering::{self, Relaxed, SeqCst};

// An accumulate promises atomicity per element (MPI-2.2 §11.7.1). The MEM_SYNC that ends its epoch orders
// other memory. So every access below could be relaxed, and loads are.

/// The ordering of a read-modify-write, whether it changes the value or not.
///
/// On x86-64 each is one locked instruction. With this ordering it is never a mere load, even where the
/// compiler knows that the operand changes nothing. So it is a full barrier, by which
/// `sync::flush_beside` publishes the rank's earlier accesses; it pairs as `sync::flush` does. No model
/// fails without it: the models have a MEM_SYNC beside the instruction.
const UPDATE: Ordering = if cfg!(target_arch = "x86_64") { SeqCst } else { Relaxed };

/// An unsigned integer that the machine may be able to update in one instruction.
pub trait Carrier: Pod {
    /// Whether the machine can do that at an address aligned to the integer's size.
    #[doc(hidden)]
    const IS_NATIVE: bool;

    /// Replaces the value by `f` of it, atomically, and returns the value before.
    ///
    /// # Safety
    /// 1. `Self::IS_NATIVE`.
    /// 2. `at` is valid for reads and writes, and aligned to `size_of::<Self>()`.
    /// 3. No Rust reference to it is used at the same time. (Other ranks and threads may access it by
    ///    operations, in any way: any bytes are valid.)
    #[doc(hidden)]
    unsafe fn fetch_update(at: *mut Self, f: impl Fn(Self) -> Self) -> Self;

    /// [`Carrier::fetch_update`] by the machine's instruction for `op` on integers of this size; `None`,
    /// without any effect, if it has none.
    ///
    /// # Safety
    /// As [`Carrier::fetch_update`].
    #[doc(hidden)]
    unsafe fn fetch_op(at: *mut Self, op: Op, operand: Self) -> Option<Self>;

    /// Replaces the value by `new` if it equals `compare`, atomically, and returns the value before.
    ///
    /// # Safety
    /// As [`Carrier::fetch_update`].
    #[doc(hidden)]
    unsafe fn compare_exchange(at: *mut Self, compare: Self, new: Self) -> Self;
}

/// The atomic at an address.
///
/// # Safety
/// As [`Carrier::fetch_update`], for the lifetime of the reference.
unsafe fn cell<'a, C: NoUninit>(at: *mut C) -> &'a Atomic<C> {
    // Without this proof `atomic` would fall back to locks that are private to the process.
    const { assert!(Atomic::<C>::is_lock_free()) };
    // SAFETY: `Atomic<C>` is a transparent cell of a `C`; validity, alignment and no
    // other access by this process are the obligations 2 and 3 of the caller.
    unsafe { &*at.cast::<Atomic<C>>() }
}

/// Implements [`Carrier`] for the integers that the machine updates natively.
macro_rules! native {
    ($($type:ty)*) => {$(
        impl Carrier for $type {
            const IS_NATIVE: bool = true;

            #[inline]
            unsafe fn fetch_update(at: *mut Self, f: impl Fn(Self) -> Self) -> Self {
                // SAFETY: the caller's obligations 1 to 3.
                let cell = unsafe { cell(at) };
                let mut old = cell.load(Relaxed);
                while let Err(now) = cell.compare_exchange_weak(old, f(old), UPDATE, Relaxed) {
                    old = now;
                }
                old
            }

            #[inline]
            unsafe fn fetch_op(at: *mut Self, op: Op, operand: Self) -> Option<Self> {
                // SAFETY: the caller's obligations 1 to 3.
                let cell = unsafe { cell(at) };
                Some(match op {
                    Op::Sum => cell.fetch_add(operand, UPDATE),
                    Op::Band => cell.fetch_and(operand, UPDATE),
                    Op::Bor => cell.fetch_or(operand, UPDATE),
                    Op::Bxor => cell.fetch_xor(operand, UPDATE),
                    Op::Replace => cell.swap(operand, UPDATE),
                    Op::NoOp => cell.load(Relaxed),
                    _ => return None,
                })
            }

            #[inline]
            unsafe fn compare_exchange(at: *mut Self, compare: Self, new: Self) -> Self {
                // SAFETY: the caller's obligations 1 to 3.
                let cell = unsafe { cell(at) };
                cell.compare_exchange(compare, new, UPDATE, Relaxed).unwrap_or_else(|old| old)
            }
        }
    )*};
}
native!(u8 u16 u32 u64);

/// Implements [`Carrier`] for integers that the machine does not update natively.
macro_rules! excluded {
    ($($type:ty)*) => {$(
        impl Carrier for $type {
            const IS_NATIVE: bool = false;

            unsafe fn fetch_update(_: *mut Self, _: impl Fn(Self) -> Self) -> Self {
                unreachable!("obligation 1: not native")
            }
            unsafe fn fetch_op(_: *mut Self, _: Op, _: Self) -> Option<Self> {
                unreachable!("obligation 1: not native")
            }
            unsafe fn compare_exchange(_: *mut Self, _: Self, _: Self) -> Self {
                unreachable!("obligation 1: not native")
            }
        }
    )*};
}
// From sixteen bytes on: no lock-free instruction on stable Rust, so always under exclusion.
excluded!(u128 [u128; 2]);
