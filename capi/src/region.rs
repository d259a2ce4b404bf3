//! The regions of a program in the trace, which C begins and ends by `MPI_Pcontrol`, and `onesided.tools` of the wheel for Python.

use onesided::trace::{TracedRegion, region};
use std::cell::RefCell;
use std::ffi::c_int;

thread_local! {
    /// Those that have not ended, with their levels.
    static REGIONS: RefCell<Vec<(c_int, TracedRegion)>> = const { RefCell::new(Vec::new()) };
}

pub fn begin(level: c_int, name: &str) {
    REGIONS.with_borrow_mut(|regions| regions.push((level, region(name))));
}

/// Ends the latest one of that level, and those that have begun in it. Does nothing without any.
pub fn end(level: c_int) {
    REGIONS.with_borrow_mut(|regions| {
        let latest = regions.iter().rposition(|(of, _)| *of == level).unwrap_or(regions.len());
        while regions.len() > latest {
            regions.pop();
        }
    });
}
