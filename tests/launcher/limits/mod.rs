//! A system that gives less than the job asks for: small, full, read-only or absent /dev/shm,
//! limits of the process, memory that is not there, and system calls that a seccomp filter denies.
//!
//! There is a documented way round, or one clear error, the same on every rank or before any runs:
//! never SIGBUS, never a hang (docs/threat-model.md, "Resources").
#![allow(unsafe_code, reason = "arranges processes between fork and exec")]
#![allow(clippy::disallowed_methods, reason = "reads the variable that tells test from rank")]

mod closed;
mod denied;
mod groups;
mod process;
mod ranks;
mod shared_memory;
