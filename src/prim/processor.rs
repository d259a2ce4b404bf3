//! What only an instruction or a raw system call gives: a counter of time, words of the thread, a call that preserves all
//! registers, a hint before an update, and the barrier of all ranks. That barrier is membarrier(2), expedited, between
//! processes that have registered.
//!
//! The kernel executes a full barrier on every processor that runs such a process, by an interrupt.
//! A processor that runs none has executed one at the context switch. So a compiler barrier in one
//! rank and this call in another are as good as a full barrier in both (membarrier(2), NOTES).
#![allow(unsafe_code, reason = "no crate of ours names the instruction or the system call")]

use nix::libc::{SYS_membarrier, c_long, syscall};

/// `MEMBARRIER_CMD_GLOBAL_EXPEDITED` (Linux 4.16).
const GLOBAL_EXPEDITED: c_long = 1 << 1;
/// `MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED`
const REGISTER_GLOBAL_EXPEDITED: c_long = 1 << 2;

fn succeeds(command: c_long) -> bool {
    // SAFETY: the call takes three integers, and touches no memory of the process.
    unsafe { syscall(SYS_membarrier, command, 0 as c_long, 0 as c_long) == 0 }
}

/// Registers this process for the barriers of all ranks, and executes one; returns whether both succeeded.
pub fn take_part() -> bool {
    succeeds(REGISTER_GLOBAL_EXPEDITED) && barrier_of_all()
}

/// Executes one such barrier; returns whether that succeeded.
pub(super) fn barrier_of_all() -> bool {
    succeeds(GLOBAL_EXPEDITED)
}

/// The processor's counter of time; zero where this crate knows none. Neither orders anything nor is ordered.
#[inline(always)]
pub(super) fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let (low, high): (u64, u64);
        // SAFETY: writes the two registers, no flag and no byte. It faults for a process that has forbidden it
        // (PR_SET_TSC), as the kernel's own clock_gettime does then.
        unsafe {
            std::arch::asm!("rdtsc", out("rax") low, out("rdx") high, options(nomem, nostack, preserves_flags));
        }
        high << 32 | low
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// A number that no two threads have at the same time: the address of the thread's control block.
#[inline(always)]
pub fn thread_block() -> usize {
    let block: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the thread's pointer to itself, which the ABI has there; changes nothing.
    unsafe {
        std::arch::asm!("mov {}, fs:[0]", out(reg) block, options(pure, readonly, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("mrs {}, tpidr_el0", out(reg) block, options(pure, nomem, nostack, preserves_flags));
    }
    block
}

// Two words of each thread, zero at first, which a shared library reaches in two instructions: a variable of the language takes
// it fifteen. First the address to which the thread's present call returns, in a program in C, whose binding stores it as the
// call begins; after the call, that of the last one. Then that of the number of the thread (`shm/thread.rs`).
#[cfg(feature = "shared-library")]
std::arch::global_asm!(
    ".pushsection .tbss, \"awT\", %nobits",
    ".p2align 3",
    ".globl onesided_thread",
    ".hidden onesided_thread",
    ".type onesided_thread, %object",
    ".size onesided_thread, 16",
    "onesided_thread:",
    ".zero 16",
    ".popsection",
);
/// Where the second of the words is.
#[cfg(feature = "shared-library")]
const NUMBER: usize = 8;

/// The address of the word of this thread at that place.
#[cfg(feature = "shared-library")]
#[inline(always)]
fn place_of_word<const AT: usize>() -> *mut u64 {
    let words: *mut u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the offset that the loader has stored, and the thread's pointer to itself; changes nothing.
    unsafe {
        std::arch::asm!(
            "mov {words}, [rip + onesided_thread@GOTTPOFF]",
            "add {words}, fs:[0]",
            words = out(reg) words,
            options(pure, readonly, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!(
            "adrp {words}, :gottprel:onesided_thread",
            "ldr {words}, [{words}, :gottprel_lo12:onesided_thread]",
            "mrs {thread}, tpidr_el0",
            "add {words}, {words}, {thread}",
            words = out(reg) words,
            thread = out(reg) _,
            options(pure, readonly, nostack),
        );
    }
    words.wrapping_byte_add(AT)
}

/// The word of this thread at that place.
#[cfg(feature = "shared-library")]
#[inline(always)]
fn word_at<const AT: usize>() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let word: u64;
        // SAFETY: reads the offset that the loader has stored, and the thread's word there; changes nothing.
        unsafe {
            std::arch::asm!(
                "mov {word}, [rip + onesided_thread@GOTTPOFF]",
                "mov {word}, fs:[{word} + {at}]",
                word = out(reg) word,
                at = const AT,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        word
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the word lives as long as the thread, which alone accesses it.
    unsafe {
        place_of_word::<AT>().read()
    }
}

/// Replaces [`word_at`].
#[cfg(feature = "shared-library")]
fn set_word_at<const AT: usize>(word: u64) {
    // SAFETY: the word lives as long as the thread, which alone accesses it.
    unsafe { place_of_word::<AT>().write(word) }
}

/// The address to which the present call of this thread returns, of a program in C; after it, that of the last call. Zero in
/// other programs.
#[inline(always)]
pub fn caller() -> u64 {
    #[cfg(feature = "shared-library")]
    return word_at::<0>();
    #[cfg(not(feature = "shared-library"))]
    0
}

/// Replaces [`caller`], of a program in C.
pub fn set_caller(caller: u64) {
    #[cfg(feature = "shared-library")]
    set_word_at::<0>(caller);
    let _without_a_word = caller;
}

#[cfg(not(feature = "shared-library"))]
std::thread_local! {
    static NUMBER: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// What this thread has stored by [`set_thread_word`]; zero before.
#[inline(always)]
pub fn thread_word() -> u64 {
    #[cfg(feature = "shared-library")]
    return word_at::<NUMBER>();
    #[cfg(not(feature = "shared-library"))]
    NUMBER.get()
}

/// See [`thread_word`].
pub fn set_thread_word(word: u64) {
    #[cfg(feature = "shared-library")]
    set_word_at::<NUMBER>(word);
    #[cfg(not(feature = "shared-library"))]
    NUMBER.set(word);
}

/// See [`super::cold_call`].
#[cfg(all(target_arch = "x86_64", not(target_feature = "avx512f")))]
#[inline(always)]
pub(super) fn cold_call<F: FnOnce() -> R, R>(f: F) -> R {
    /// A call of `f`, and its result.
    struct ColdCall<F, R> {
        f: Option<F>,
        result: Option<R>,
    }
    #[allow(improper_ctypes_definitions, reason = "both sides are of this compilation")]
    extern "C" fn run<F: FnOnce() -> R, R>(call: &mut ColdCall<F, R>) {
        call.result = call.f.take().map(|f| f());
    }
    let mut call = ColdCall { f: Some(f), result: None };
    // SAFETY: `preserve_all` calls `run` with the address of `call`, which is of the type that it takes, and puts back all
    // registers but those that are named here. The stack is aligned for a call, because this does not state `nostack`; it is
    // again after two words. `run` does not unwind, as no `extern "C"` function does.
    unsafe {
        std::arch::asm!(
            "push {run}",
            "push {call}",
            "call {preserve_all}",
            "add rsp, 16",
            run = in(reg) run::<F, R> as extern "C" fn(&mut ColdCall<F, R>),
            call = in(reg) &mut call,
            preserve_all = sym preserve_all,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
        );
    }
    match call.result {
        Some(result) => result,
        None => std::process::abort(),
    }
}

/// Calls the function in the second word of the stack with the argument in the first, and puts back the registers that a
/// function of C may change.
#[cfg(all(target_arch = "x86_64", not(target_feature = "avx512f")))]
#[unsafe(naked)]
extern "C" fn preserve_all() {
    std::arch::naked_asm!(
        "push rax",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "push r8",
        "push r9",
        "push r10",
        "push r11",
        "mov rdi, [rsp + 80]",
        "call [rsp + 88]",
        "pop r11",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdi",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "pop rax",
        "ret",
    )
}

/// See [`super::cold_call`]; an ordinary call.
#[cfg(not(all(target_arch = "x86_64", not(target_feature = "avx512f"))))]
#[inline(always)]
pub(super) fn cold_call<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// Prefetches the cache line of an address for reading. Orders nothing and reads nothing.
#[inline(always)]
pub(super) fn prefetch(at: *const u32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which does not fault; it changes no register, flag or byte.
    unsafe {
        std::arch::asm!("prefetcht0 [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    let _without_the_instruction = at;
}

/// [`prefetch`] of bytes that are read or written as a whole.
#[inline(always)]
pub fn expect_access(at: *const u8) {
    prefetch(at.cast());
}

/// Prefetches the cache line of an address for writing. Orders nothing and reads nothing; a processor
/// without the instruction skips it (Intel SDM 2B, PREFETCHW).
#[inline(always)]
pub(super) fn prefetch_for_update(at: *mut u32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which does not fault; it changes no register, flag or byte.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    let _without_the_instruction = at;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    /// Values in more registers than a call of C leaves as they are, of both kinds, and a result in memory.
    #[test]
    fn all_values_outlive_a_cold_call() {
        let whole: [u64; 14] = std::array::from_fn(|n| black_box(n as u64));
        let real: [f64; 14] = std::array::from_fn(|n| black_box(n as f64));
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = whole.map(|value| value.wrapping_mul(3));
        let reals = real.map(|value| value * 0.5);
        let shown = cold_call(move || format!("{} {}", black_box(real).iter().sum::<f64>(), a + n));
        assert_eq!(shown, "91 39");
        assert_eq!([a, b, c, d, e, f, g, h, i, j, k, l, m, n], whole.map(|value| 3 * value));
        assert_eq!(reals, std::array::from_fn(|n| n as f64 / 2.0));
        let nested = cold_call(|| cold_call(|| black_box(a + 1)) + cold_call(|| black_box(b)));
        assert_eq!(nested, 4);
    }

    #[cfg(feature = "shared-library")]
    #[test]
    fn each_thread_has_its_own_caller() {
        set_caller(7);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                assert_eq!(caller(), 0);
                set_caller(8);
                assert_eq!(caller(), 8);
            });
        });
        assert_eq!(caller(), 7);
    }
}
