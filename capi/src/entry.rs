//! The entry of C's functions. Each stores the address to which it returns, from which reports have the line of the
//! program, and jumps to the function of the same parameters that `build.rs` has made.
#![allow(unsafe_code, reason = "reads and writes a word of the thread that assembly has made")]

use onesided::engine::set_caller;
use std::arch::{asm, global_asm};

// A word of each thread, where the machine code below reaches it in two instructions. Zero until the thread's first call.
global_asm!(
    ".pushsection .tbss, \"awT\", %nobits",
    ".p2align 3",
    ".globl onesided_caller",
    ".hidden onesided_caller",
    ".type onesided_caller, %object",
    ".size onesided_caller, 8",
    "onesided_caller:",
    ".zero 8",
    ".popsection",
);

/// The body of a naked function of C: stores its return address in the thread's word and in `engine::CALLER`, and jumps to
/// `$function`, which finds all arguments where the program has put them.
#[cfg(target_arch = "x86_64")]
macro_rules! enter {
    ($function:ident) => {
        std::arch::naked_asm!(
            "mov r10, [rsp]",
            "mov r11, [rip + onesided_caller@GOTTPOFF]",
            "mov fs:[r11], r10",
            "mov [rip + {caller}], r10",
            "jmp {function}",
            caller = sym onesided::engine::CALLER,
            function = sym $function,
        )
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! enter {
    ($function:ident) => {
        std::arch::naked_asm!(
            "adrp x16, :gottprel:onesided_caller",
            "ldr x16, [x16, :gottprel_lo12:onesided_caller]",
            "mrs x17, tpidr_el0",
            "str x30, [x17, x16]",
            "adrp x16, {caller}",
            "str x30, [x16, :lo12:{caller}]",
            "b {function}",
            caller = sym onesided::engine::CALLER,
            function = sym $function,
        )
    };
}
pub(crate) use enter;

/// The address of this thread's word.
fn word() -> *mut usize {
    let word: *mut usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the offset that the loader has stored, and the thread's pointer to itself; changes nothing.
    unsafe {
        asm!(
            "mov {word}, [rip + onesided_caller@GOTTPOFF]",
            "add {word}, fs:[0]",
            word = out(reg) word,
            options(pure, readonly, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        asm!(
            "adrp {word}, :gottprel:onesided_caller",
            "ldr {word}, [{word}, :gottprel_lo12:onesided_caller]",
            "mrs {thread}, tpidr_el0",
            "add {word}, {word}, {thread}",
            word = out(reg) word,
            thread = out(reg) _,
            options(pure, readonly, nostack),
        );
    }
    word
}

/// The address to which the present call of this thread returns; after it, that of the last call.
pub fn caller() -> Option<usize> {
    // SAFETY: the word lives as long as the thread, which alone accesses it.
    Some(unsafe { word().read() }).filter(|caller| *caller != 0)
}

/// Runs `f`, which is a function of the program and may make calls itself, as a part of the present call.
pub fn calling_back<R>(f: impl FnOnce() -> R) -> R {
    let before = caller().unwrap_or_default();
    let result = f();
    // SAFETY: as in `caller`.
    unsafe { word().write(before) };
    set_caller(before as u64);
    result
}
