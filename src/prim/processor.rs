//! What only an instruction or a raw system call gives: a counter of time, a number of the thread, a hint before an update,
//! and the barrier of all ranks. That barrier is membarrier(2), expedited, between processes that have registered.
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
