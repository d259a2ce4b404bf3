//! What the machine does with elements by their addresses: atomic updates of one, loops over many. And
//! the instructions for C's long double.
#![allow(
    unsafe_code,
    reason = "elements by their addresses, and instructions that Rust has no name for"
)]

use super::Element;
use crate::op::Op;
use crate::prim::Word64;
use atomic::Atomic;
use bytemuck::{NoUninit, Pod, must_cast};
use core::sync::atomic::Ordering::{self, Relaxed, SeqCst};
#[cfg(target_arch = "x86_64")]
use std::cmp;

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
    /// The obligations of [`Carrier::fetch_update`].
    #[doc(hidden)]
    unsafe fn fetch_op(at: *mut Self, op: Op, operand: Self) -> Option<Self>;

    /// Replaces the value by `new` if it equals `compare`, atomically, and returns the value before.
    ///
    /// # Safety
    /// The obligations of [`Carrier::fetch_update`].
    #[doc(hidden)]
    unsafe fn compare_exchange(at: *mut Self, compare: Self, new: Self) -> Self;
}

/// The atomic at an address.
///
/// # Safety
/// The obligations of [`Carrier::fetch_update`], for the lifetime of the reference.
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

/// An operation on values of one type.
#[derive(Debug, Clone, Copy)]
pub struct Operation<T> {
    /// Of one target value and one origin value.
    pub(crate) one: fn(T, T) -> T,
    /// Of as many of both, replacing the target's; see [`widest`].
    pub(crate) many: unsafe fn(*mut T, &[T]),
    /// Of one element, atomically; returns what it was. See [`update_native`].
    pub(crate) fetch: unsafe fn(*mut T, T) -> T,
}

/// An operation from its name and function. Each has loops of its own: one that the compiler can
/// vectorise, and one without a call. One for the whole program, so that to find it is to read its
/// address from a table.
macro_rules! by {
    ($op:expr, $function:expr) => {
        const {
            use $crate::datatype::machine::{Operation, update_native, widest};
            &Operation {
                one: $function,
                many: match () {
                    #[allow(
                        unsafe_code,
                        reason = "the obligations of `widest` are those of `many`"
                    )]
                    // SAFETY: the obligations of `widest` are those of `many`.
                    () => |targets, origins| unsafe { widest(targets, origins, $function) },
                },
                fetch: match () {
                    #[allow(unsafe_code, reason = "those of `update_native` are those of `fetch`")]
                    // SAFETY: the obligations of `update_native` are those of `fetch`.
                    () => |target, value| unsafe {
                        update_native(target.cast(), $op, $function, value)
                    },
                },
            }
        }
    };
}
pub(super) use by;

/// Replaces the element at `at` by `op` of it and `value`, atomically, and returns what it was;
/// `function` is that of `op`.
///
/// # Safety
/// The obligations of [`Carrier::fetch_update`] for `T::Carrier`.
#[inline(always)]
pub(crate) unsafe fn update_native<T: Element>(
    at: *mut T::Carrier,
    op: Op,
    function: impl Fn(T, T) -> T,
    value: T,
) -> T {
    let whole = !T::DATATYPE.is_padded() && matches!(op, Op::Replace | Op::NoOp);
    if T::IS_INTEGER || whole {
        // SAFETY: the caller's obligation.
        let old = unsafe { T::Carrier::fetch_op(at, op, must_cast(value)) };
        if let Some(old) = old {
            return must_cast(old);
        }
    }
    let apply = |old| must_cast(function(must_cast(old), value));
    // SAFETY: the caller's obligation.
    must_cast(unsafe { T::Carrier::fetch_update(at, apply) })
}

/// [`each`] by vectors as wide as the processor has them.
///
/// # Safety
/// The obligations of [`each`].
#[inline(always)]
pub(super) unsafe fn widest<T: Copy>(targets: *mut T, origins: &[T], function: impl Fn(T, T) -> T) {
    match VECTOR_BYTES.load() {
        // SAFETY: the caller's obligations; the processor has what it is compiled for.
        #[cfg(target_arch = "x86_64")]
        64 => unsafe { wider(targets, origins, function) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        32 => unsafe { wide(targets, origins, function) },
        // SAFETY: the caller's obligations.
        _ => unsafe { each(targets, origins, function) },
    }
}

/// How wide the vectors of [`widest`] are: as narrow as every processor has them before [`find_vectors`].
static VECTOR_BYTES: Word64 = Word64::zero();

/// Asks the processor once: to ask in each call would cost the loop of a few elements as much as the elements do.
pub(crate) fn find_vectors() {
    #[cfg(target_arch = "x86_64")]
    VECTOR_BYTES.store(match () {
        () if std::arch::is_x86_feature_detected!("avx512bw") => 64,
        () if std::arch::is_x86_feature_detected!("avx2") => 32,
        () => 16,
    });
}

/// [`each`] for processors with vectors of 32 bytes. Nothing is fused or reordered: the values
/// are those of [`each`].
///
/// # Safety
/// The obligations of [`each`]; the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn wide<T: Copy>(targets: *mut T, origins: &[T], function: impl Fn(T, T) -> T) {
    // SAFETY: the caller's obligations.
    unsafe { each(targets, origins, function) }
}

/// [`wide`] for processors with vectors of 64 bytes: 1,024 doubles take 71 ns instead of 97.
///
/// # Safety
/// The obligations of [`each`]; the processor has AVX-512 of integers of any size.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw")]
unsafe fn wider<T: Copy>(targets: *mut T, origins: &[T], function: impl Fn(T, T) -> T) {
    // SAFETY: the caller's obligations.
    unsafe { each(targets, origins, function) }
}

/// Replaces as many target values as there are origin values by `function` of both.
///
/// # Safety
/// 1. `targets` is valid for reads and writes of as many values, and aligned. None is among `origins`.
/// 2. No other rank or thread of a correct program accesses the targets or writes the origins at the same
///    time. No Rust reference to the targets is used.
#[inline(always)]
unsafe fn each<T: Copy>(targets: *mut T, origins: &[T], function: impl Fn(T, T) -> T) {
    for (i, value) in origins.iter().enumerate() {
        // SAFETY: 1., and `i` is below their number.
        let target = unsafe { targets.add(i) };
        // SAFETY: 1. and 2.
        let old = unsafe { target.read() };
        // SAFETY: 1. and 2.
        unsafe { target.write(function(old, *value)) };
    }
}

/// `a` after the instruction of the floating-point unit on both.
#[cfg(target_arch = "x86_64")]
macro_rules! calculate {
    ($instruction:literal, $a:expr, $b:expr) => {{
        let (mut a, b): ([u8; 16], [u8; 16]) = ($a, $b);
        // SAFETY: reads ten bytes of each operand and writes those of the first. It leaves the stack of
        // the processor's floating-point unit empty, as it was, and all its registers are named.
        unsafe {
            std::arch::asm!(
                "fld tbyte ptr [{a}]",
                "fld tbyte ptr [{b}]",
                $instruction,
                "fstp tbyte ptr [{a}]",
                a = in(reg) &raw mut a,
                b = in(reg) &raw const b,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        a
    }};
}

/// The sum of two long doubles of C, whose first ten bytes are the number.
#[cfg(target_arch = "x86_64")]
pub(super) fn add(a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
    calculate!("faddp st(1), st", a, b)
}

/// Their product.
#[cfg(target_arch = "x86_64")]
pub(super) fn multiply(a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
    calculate!("fmulp st(1), st", a, b)
}

/// Their order; `None` if one is a NaN.
#[cfg(target_arch = "x86_64")]
pub(super) fn compare(a: &[u8; 16], b: &[u8; 16]) -> Option<cmp::Ordering> {
    let (less, equal, unordered): (u8, u8, u8);
    // SAFETY: reads ten bytes of each operand; leaves the floating-point stack empty, as it was.
    unsafe {
        std::arch::asm!(
            "fld tbyte ptr [{b}]",
            "fld tbyte ptr [{a}]",
            "fucomip st, st(1)",
            "fstp st(0)",
            "setb {less}",
            "sete {equal}",
            "setp {unordered}",
            a = in(reg) std::ptr::from_ref(a),
            b = in(reg) std::ptr::from_ref(b),
            less = out(reg_byte) less,
            equal = out(reg_byte) equal,
            unordered = out(reg_byte) unordered,
            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            options(nostack, readonly),
        );
    }
    match (unordered, equal, less) {
        (1, ..) => None,
        (_, 1, _) => Some(cmp::Ordering::Equal),
        (_, _, 1) => Some(cmp::Ordering::Less),
        _ => Some(cmp::Ordering::Greater),
    }
}
