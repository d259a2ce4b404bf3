//! The order in which one thread stores, for whoever reads what it leaves when it is killed.
//!
//! A process is killed between two instructions of each of its threads: all stores before that place
//! have been done, or are still done while the kernel ends the process, and none behind it, whatever
//! the processor has reordered in between. So the order of the instructions is all that there is to
//! keep; no instruction is needed for it, and this is no fence between ranks.

use core::sync::atomic::{Ordering, compiler_fence};

/// Stores before it come before stores after it, in the instructions of the program.
///
/// No model fails without it: it is about what the compiler does, and nothing of that can be seen by
/// other threads that live.
#[inline(always)]
#[cfg_attr(loom, allow(dead_code, reason = "called above what the models compile"))]
pub fn in_program_order() {
    compiler_fence(Ordering::SeqCst);
}
