//! The entry of C's functions. Each stores the address to which it returns, from which reports have the line of the
//! program, and jumps to the function of the same parameters that `build.rs` has made.

use onesided::engine;

/// The body of a naked function of C: stores its return address in the word of `engine::caller`, and jumps to `$function`,
/// which finds all arguments where the program has put them.
#[cfg(target_arch = "x86_64")]
macro_rules! enter {
    ($function:ident) => {
        std::arch::naked_asm!(
            "mov r10, [rsp]",
            "mov r11, [rip + onesided_thread@GOTTPOFF]",
            "mov fs:[r11], r10",
            "jmp {function}",
            function = sym $function,
        )
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! enter {
    ($function:ident) => {
        std::arch::naked_asm!(
            "adrp x16, :gottprel:onesided_thread",
            "ldr x16, [x16, :gottprel_lo12:onesided_thread]",
            "mrs x17, tpidr_el0",
            "str x30, [x17, x16]",
            "b {function}",
            function = sym $function,
        )
    };
}
pub(crate) use enter;

/// The address to which the present call of this thread returns; after it, that of the last call.
pub fn caller() -> Option<usize> {
    Some(engine::caller() as usize).filter(|caller| *caller != 0)
}

/// Runs `f`, which is a function of the program and may make calls itself, as a part of the present call.
pub fn calling_back<R>(f: impl FnOnce() -> R) -> R {
    let before = engine::caller();
    let result = f();
    engine::set_caller(before);
    result
}
