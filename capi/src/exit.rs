//! The end of the process.
#![allow(unsafe_code, reason = "asks the C library for it")]

use std::ffi::c_int;
use std::sync::Once;

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
}

/// Leaves the job at the end of the process, if only sessions have joined it: another session or
/// `MPI_Init` may follow until then.
pub fn leave_at_end() {
    static ASKED: Once = Once::new();
    ASKED.call_once(|| {
        // SAFETY: the C library calls the function once, at the end of the process or before this
        // library is unloaded, and it does not unwind.
        let _unlikely = unsafe { atexit(at_end) };
    });
}

extern "C" fn at_end() {
    crate::job::leave_after_sessions();
}
