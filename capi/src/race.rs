//! What a compiler calls for each load and store of a program (`-fsanitize=thread`), for programs that `rmacc -race`
//! has compiled. In a checked job accesses to windows and to buffers of operations are reported; all others, and those
//! of other jobs, return after some comparisons.
//!
//! Atomic operations of the language are done, and are no accesses: they order those of threads (`threads`).
#![allow(unsafe_code, reason = "does what the compiler would have made of atomics and copies")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "atomics of the program, and no words of a protocol"
)]

use crate::threads;
use onesided::engine::race::accessed;
use std::arch::{asm, naked_asm};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};
use std::sync::atomic::{Ordering, Ordering::SeqCst};

extern "C" fn load(address: usize, at: usize, bytes: usize) {
    accessed(address, bytes, false, at, crate::line::of_code);
}

extern "C" fn store(address: usize, at: usize, bytes: usize) {
    accessed(address, bytes, true, at, crate::line::of_code);
}

/// Functions of an address, which pass their return address on. A store conflicts with all that a load does, so
/// that what does both is one.
macro_rules! accesses {
    ($($name:ident $does:ident $bytes:literal;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name(_address: usize) {
            #[cfg(target_arch = "x86_64")]
            naked_asm!("mov rsi, [rsp]", "mov edx, {bytes}", "jmp {does}", bytes = const $bytes, does = sym $does);
            #[cfg(target_arch = "aarch64")]
            naked_asm!("mov x1, x30", "mov x2, {bytes}", "b {does}", bytes = const $bytes, does = sym $does);
        }
    )*};
}

accesses! {
    __tsan_read1 load 1;
    __tsan_read2 load 2;
    __tsan_read4 load 4;
    __tsan_read8 load 8;
    __tsan_read16 load 16;
    __tsan_write1 store 1;
    __tsan_write2 store 2;
    __tsan_write4 store 4;
    __tsan_write8 store 8;
    __tsan_write16 store 16;
    __tsan_unaligned_read2 load 2;
    __tsan_unaligned_read4 load 4;
    __tsan_unaligned_read8 load 8;
    __tsan_unaligned_read16 load 16;
    __tsan_unaligned_write2 store 2;
    __tsan_unaligned_write4 store 4;
    __tsan_unaligned_write8 store 8;
    __tsan_unaligned_write16 store 16;
    __tsan_vptr_read load 8;
    __tsan_vptr_update store 8;
    __tsan_volatile_read1 load 1;
    __tsan_volatile_read2 load 2;
    __tsan_volatile_read4 load 4;
    __tsan_volatile_read8 load 8;
    __tsan_volatile_read16 load 16;
    __tsan_volatile_write1 store 1;
    __tsan_volatile_write2 store 2;
    __tsan_volatile_write4 store 4;
    __tsan_volatile_write8 store 8;
    __tsan_volatile_write16 store 16;
    __tsan_unaligned_volatile_read2 load 2;
    __tsan_unaligned_volatile_read4 load 4;
    __tsan_unaligned_volatile_read8 load 8;
    __tsan_unaligned_volatile_read16 load 16;
    __tsan_unaligned_volatile_write2 store 2;
    __tsan_unaligned_volatile_write4 store 4;
    __tsan_unaligned_volatile_write8 store 8;
    __tsan_unaligned_volatile_write16 store 16;
    __tsan_read_write1 store 1;
    __tsan_read_write2 store 2;
    __tsan_read_write4 store 4;
    __tsan_read_write8 store 8;
    __tsan_read_write16 store 16;
    __tsan_unaligned_read_write2 store 2;
    __tsan_unaligned_read_write4 store 4;
    __tsan_unaligned_read_write8 store 8;
    __tsan_unaligned_read_write16 store 16;
}

/// Functions of an address and a number of bytes.
macro_rules! ranges {
    ($($name:ident $does:ident;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name(_address: usize, _bytes: usize) {
            #[cfg(target_arch = "x86_64")]
            naked_asm!("mov rdx, rsi", "mov rsi, [rsp]", "jmp {does}", does = sym $does);
            #[cfg(target_arch = "aarch64")]
            naked_asm!("mov x2, x1", "mov x1, x30", "b {does}", does = sym $does);
        }
    )*};
}

ranges! {
    __tsan_read_range load;
    __tsan_write_range store;
}

/// Functions of three arguments, which copy or fill memory.
macro_rules! copies {
    ($($name:ident $does:ident;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name(_to: *mut c_void, _from: usize, _bytes: usize) -> *mut c_void {
            #[cfg(target_arch = "x86_64")]
            naked_asm!("mov rcx, [rsp]", "jmp {does}", does = sym $does);
            #[cfg(target_arch = "aarch64")]
            naked_asm!("mov x3, x30", "b {does}", does = sym $does);
        }
    )*};
}

copies! {
    __tsan_memcpy copy;
    __tsan_memmove copy;
    __tsan_memset fill;
    __wrap_memcpy copy;
    __wrap_memmove copy;
    __wrap_memset fill;
}

extern "C" fn copy(to: *mut c_void, from: *const c_void, bytes: usize, at: usize) -> *mut c_void {
    load(from.addr(), at, bytes);
    store(to.addr(), at, bytes);
    // SAFETY: the program's promise by its call of memcpy or memmove.
    unsafe { std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), bytes) };
    to
}

extern "C" fn fill(to: *mut c_void, value: usize, bytes: usize, at: usize) -> *mut c_void {
    store(to.addr(), at, bytes);
    // SAFETY: the program's promise by its call of memset.
    unsafe { std::ptr::write_bytes(to.cast::<u8>(), value as u8, bytes) };
    to
}

/// Functions that have nothing to do here.
macro_rules! nothings {
    ($($name:ident($($argument:ident)?);)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name($(_: $argument)?) {}
    )*};
}

nothings! {
    __tsan_func_entry(usize);
    __tsan_func_exit();
    __tsan_ignore_thread_begin();
    __tsan_ignore_thread_end();
    __tsan_atomic_signal_fence(c_int);
}

/// Before the program begins, for each of its files.
#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {
    threads::follow();
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(order: c_int) {
    threads::fence(order);
    std::sync::atomic::fence(SeqCst);
}

/// The atomic operations on integers of one size, all in the strongest order.
macro_rules! atomics {
    ($value:ty, $atomic:ident, $load:ident, $store:ident, $strong:ident, $weak:ident, $val:ident,
     $($name:ident $does:ident,)*) => {
        #[unsafe(no_mangle)]
        extern "C" fn $load(at: *mut $value, order: c_int) -> $value {
            // SAFETY: the program's promise by its atomic operation.
            let value = unsafe { $atomic::from_ptr(at) }.load(SeqCst);
            threads::has_read(at.addr(), order);
            value
        }
        #[unsafe(no_mangle)]
        extern "C" fn $store(at: *mut $value, value: $value, order: c_int) {
            threads::will_write(at.addr(), order);
            // SAFETY: as above.
            unsafe { $atomic::from_ptr(at) }.store(value, SeqCst);
        }
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name(at: *mut $value, value: $value, order: c_int) -> $value {
                threads::will_write(at.addr(), order);
                // SAFETY: as above.
                let before = unsafe { $atomic::from_ptr(at) }.$does(value, SeqCst);
                threads::has_read(at.addr(), order);
                before
            }
        )*
        #[unsafe(no_mangle)]
        extern "C" fn $val(at: *mut $value, old: $value, new: $value, order: c_int, _: c_int) -> $value {
            threads::will_write(at.addr(), order);
            // SAFETY: as above.
            let exchanged = unsafe { $atomic::from_ptr(at) }.compare_exchange(old, new, SeqCst, SeqCst);
            threads::has_read(at.addr(), order);
            exchanged.unwrap_or_else(|found| found)
        }
        #[unsafe(no_mangle)]
        extern "C" fn $strong(at: *mut $value, old: *mut $value, new: $value, a: c_int, b: c_int) -> c_int {
            // SAFETY: as above.
            let expected = unsafe { old.read() };
            let found = $val(at, expected, new, a, b);
            // SAFETY: as above.
            unsafe { old.write(found) };
            c_int::from(found == expected)
        }
        #[unsafe(no_mangle)]
        extern "C" fn $weak(at: *mut $value, old: *mut $value, new: $value, a: c_int, b: c_int) -> c_int {
            $strong(at, old, new, a, b)
        }
    };
}

atomics! {
    u8, AtomicU8, __tsan_atomic8_load, __tsan_atomic8_store, __tsan_atomic8_compare_exchange_strong,
    __tsan_atomic8_compare_exchange_weak, __tsan_atomic8_compare_exchange_val,
    __tsan_atomic8_exchange swap,
    __tsan_atomic8_fetch_add fetch_add,
    __tsan_atomic8_fetch_sub fetch_sub,
    __tsan_atomic8_fetch_and fetch_and,
    __tsan_atomic8_fetch_or fetch_or,
    __tsan_atomic8_fetch_xor fetch_xor,
    __tsan_atomic8_fetch_nand fetch_nand,
}

atomics! {
    u16, AtomicU16, __tsan_atomic16_load, __tsan_atomic16_store, __tsan_atomic16_compare_exchange_strong,
    __tsan_atomic16_compare_exchange_weak, __tsan_atomic16_compare_exchange_val,
    __tsan_atomic16_exchange swap,
    __tsan_atomic16_fetch_add fetch_add,
    __tsan_atomic16_fetch_sub fetch_sub,
    __tsan_atomic16_fetch_and fetch_and,
    __tsan_atomic16_fetch_or fetch_or,
    __tsan_atomic16_fetch_xor fetch_xor,
    __tsan_atomic16_fetch_nand fetch_nand,
}

atomics! {
    u32, AtomicU32, __tsan_atomic32_load, __tsan_atomic32_store, __tsan_atomic32_compare_exchange_strong,
    __tsan_atomic32_compare_exchange_weak, __tsan_atomic32_compare_exchange_val,
    __tsan_atomic32_exchange swap,
    __tsan_atomic32_fetch_add fetch_add,
    __tsan_atomic32_fetch_sub fetch_sub,
    __tsan_atomic32_fetch_and fetch_and,
    __tsan_atomic32_fetch_or fetch_or,
    __tsan_atomic32_fetch_xor fetch_xor,
    __tsan_atomic32_fetch_nand fetch_nand,
}

atomics! {
    u64, AtomicU64, __tsan_atomic64_load, __tsan_atomic64_store, __tsan_atomic64_compare_exchange_strong,
    __tsan_atomic64_compare_exchange_weak, __tsan_atomic64_compare_exchange_val,
    __tsan_atomic64_exchange swap,
    __tsan_atomic64_fetch_add fetch_add,
    __tsan_atomic64_fetch_sub fetch_sub,
    __tsan_atomic64_fetch_and fetch_and,
    __tsan_atomic64_fetch_or fetch_or,
    __tsan_atomic64_fetch_xor fetch_xor,
    __tsan_atomic64_fetch_nand fetch_nand,
}

/// An integer of 16 bytes, for which Rust has no atomic type.
struct AtomicU128(*mut u128);

impl AtomicU128 {
    /// # Safety
    ///
    /// As of the other types: the integer is aligned, and is there while this is used.
    unsafe fn from_ptr(at: *mut u128) -> AtomicU128 {
        AtomicU128(at)
    }

    fn compare_exchange(
        &self,
        old: u128,
        new: u128,
        _: Ordering,
        _: Ordering,
    ) -> Result<u128, u128> {
        let halves = |of: u128| (of as u64, (of >> 64) as u64);
        let ((old_low, old_high), (new_low, new_high)) = (halves(old), halves(new));
        let (low, high): (u64, u64);
        // SAFETY: the promise to `from_ptr`. Every processor has the instruction on which the program's compiler relies. The
        // compiler keeps rbx for itself, so that it is exchanged and put back.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!(
                "xchg rbx, {new_low}",
                "lock cmpxchg16b [{at}]",
                "mov rbx, {new_low}",
                at = in(reg) self.0,
                new_low = inout(reg) new_low => _,
                in("rcx") new_high,
                inout("rax") old_low => low,
                inout("rdx") old_high => high,
                options(nostack),
            );
        }
        // SAFETY: the promise to `from_ptr`. What is found is written back if it is another value: two halves are one value
        // only if they can be.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            asm!(
                "2:",
                "ldaxp {low}, {high}, [{at}]",
                "cmp {low}, {old_low}",
                "ccmp {high}, {old_high}, #0, eq",
                "csel {to_low}, {new_low}, {low}, eq",
                "csel {to_high}, {new_high}, {high}, eq",
                "stlxp {failed:w}, {to_low}, {to_high}, [{at}]",
                "cbnz {failed:w}, 2b",
                at = in(reg) self.0,
                old_low = in(reg) old_low,
                old_high = in(reg) old_high,
                new_low = in(reg) new_low,
                new_high = in(reg) new_high,
                low = out(reg) low,
                high = out(reg) high,
                to_low = out(reg) _,
                to_high = out(reg) _,
                failed = out(reg) _,
                options(nostack),
            );
        }
        let found = u128::from(high) << 64 | u128::from(low);
        if found == old { Ok(found) } else { Err(found) }
    }

    fn update(&self, new: impl Fn(u128) -> u128) -> u128 {
        let mut old = 0;
        while let Err(found) = self.compare_exchange(old, new(old), SeqCst, SeqCst) {
            old = found;
        }
        old
    }

    fn load(&self, _: Ordering) -> u128 {
        self.update(|old| old)
    }

    fn store(&self, value: u128, order: Ordering) {
        self.swap(value, order);
    }

    fn swap(&self, value: u128, _: Ordering) -> u128 {
        self.update(|_| value)
    }

    fn fetch_add(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| old.wrapping_add(value))
    }

    fn fetch_sub(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| old.wrapping_sub(value))
    }

    fn fetch_and(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| old & value)
    }

    fn fetch_or(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| old | value)
    }

    fn fetch_xor(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| old ^ value)
    }

    fn fetch_nand(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| !(old & value))
    }
}

atomics! {
    u128, AtomicU128, __tsan_atomic128_load, __tsan_atomic128_store, __tsan_atomic128_compare_exchange_strong,
    __tsan_atomic128_compare_exchange_weak, __tsan_atomic128_compare_exchange_val,
    __tsan_atomic128_exchange swap,
    __tsan_atomic128_fetch_add fetch_add,
    __tsan_atomic128_fetch_sub fetch_sub,
    __tsan_atomic128_fetch_and fetch_and,
    __tsan_atomic128_fetch_or fetch_or,
    __tsan_atomic128_fetch_xor fetch_xor,
    __tsan_atomic128_fetch_nand fetch_nand,
}
