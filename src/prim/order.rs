//! The order of one thread's stores, for a reader of what it leaves when it is killed.
//!
//! A process is killed between two instructions of each of its threads. All stores before that place take
//! effect, at the latest while the kernel ends the process. None after it does, however the processor has
//! reordered them. So only the order of the instructions matters: this is a compiler barrier, not a fence
//! between ranks.

use core::sync::atomic::{Ordering, compiler_fence};

/// Orders stores before it and stores after it in the instructions of the program.
///
/// No model fails without it: it concerns the compiler only, and no living thread can observe it.
#[inline(always)]
#[cfg_attr(any(loom, simulated), allow(dead_code, reason = "called above what the models compile"))]
pub fn in_program_order() {
    compiler_fence(Ordering::SeqCst);
}
