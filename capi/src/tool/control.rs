//! The control variables (MPI-4.1 §15.3.6): the library's own limits, and how the job was started. The trace can be
//! switched; all others stay what they are.

use crate::abi::*;
use crate::failure::{Failure, Outcome};
use crate::job;
use onesided::engine::{EAGER, longest_staged};
use onesided::launch::LAST_CALLS;
use std::ffi::c_int;

/// A control variable: one `int`, or one `unsigned long long`.
pub struct Control {
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// `MPI_T_SCOPE_…`
    pub scope: c_int,
    is_int: bool,
    read: fn() -> Outcome<u64>,
    write: Option<fn(bool) -> Outcome>,
}

impl Control {
    pub fn datatype(&self) -> MPI_Datatype {
        MPI_Datatype::predefined(if self.is_int { MPI_INT } else { MPI_UNSIGNED_LONG_LONG })
    }

    /// Whether it is an `int` in C.
    pub fn is_int(&self) -> bool {
        self.is_int
    }

    pub fn read(&self) -> Outcome<u64> {
        (self.read)()
    }

    /// Sets one that is an `int`; zero switches off.
    pub fn write(&self, value: impl FnOnce() -> Outcome<c_int>) -> Outcome {
        match self.write {
            Some(write) => write(value()? != 0),
            None => {
                let why = format!("'{}' cannot be set", self.name);
                Err(Failure::new(MPI_T_ERR_CVAR_SET_NEVER, why))
            }
        }
    }
}

fn switch_trace(is_on: bool) -> Outcome {
    if job::figures()?.is_traced.is_none() {
        let why = "the job has no trace: rmarun --trace";
        return Err(Failure::new(MPI_T_ERR_CVAR_SET_NEVER, why));
    }
    job::set_traced(is_on);
    Ok(())
}

const fn size(name: &'static str, read: fn() -> Outcome<u64>, about: &'static str) -> Control {
    Control { name, about, scope: MPI_T_SCOPE_CONSTANT, is_int: false, read, write: None }
}

const fn switch(name: &'static str, read: fn() -> Outcome<u64>, about: &'static str) -> Control {
    Control { name, about, scope: MPI_T_SCOPE_CONSTANT, is_int: true, read, write: None }
}

/// All of them, by their indices.
pub static ALL: &[Control] = &[
    Control {
        scope: MPI_T_SCOPE_READONLY,
        ..size(
            "spins",
            || Ok(job::figures()?.spins.into()),
            "how often a wait looks before it yields or sleeps; zero while ranks share processors",
        )
    },
    size("eager_limit", || Ok(EAGER), "bytes of the longest message that its record holds"),
    Control {
        scope: MPI_T_SCOPE_READONLY,
        ..size(
            "staged_limit",
            || Ok(longest_staged(job::figures()?.sharing)),
            "bytes of the longest contiguous message that goes through a block of the segment in any case",
        )
    },
    size("recorded_calls", || Ok(LAST_CALLS as u64), "calls of each rank that the recorder keeps"),
    size(
        "segment_size",
        || Ok(job::figures()?.segment),
        "bytes of the segment (rmarun --segment-size, ONESIDED_SEGMENT_SIZE)",
    ),
    switch(
        "strict",
        || Ok(job::is_strict().into()),
        "1: calls that only the standard forbids are errors (rmarun --strict)",
    ),
    switch(
        "recorder",
        || Ok(job::figures()?.is_recorded.into()),
        "1: the job records the last calls of each rank; 0: rmarun --no-recorder",
    ),
    switch(
        "statistics",
        || Ok(job::figures()?.is_counted.into()),
        "1: the job counts calls (rmarun --stats, --report)",
    ),
    switch(
        "check",
        || Ok(job::figures()?.is_checked.into()),
        "1: the job looks for accesses that conflict (rmarun --check)",
    ),
    Control {
        scope: MPI_T_SCOPE_LOCAL,
        write: Some(switch_trace),
        ..switch(
            "trace",
            || Ok((job::figures()?.is_traced == Some(true)).into()),
            "1: calls that begin now are in the trace (rmarun --trace); 0 and 1 can be set, as by MPI_Pcontrol",
        )
    },
];
