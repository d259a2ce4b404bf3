//! The assertions of synchronising calls (MPI-4.1 §12.5.5): those that a call does not take, and
//! numbers that are none, are refused.
#![allow(unsafe_code, reason = "takes the C program's word for MPI_MODE_NOCHECK")]

use crate::abi::*;
use crate::failure::{Failure, Outcome};
use onesided::{FenceAssert, LockAssert, PostAssert, StartAssert};
use std::ffi::c_int;
use std::fmt::{self, Display};

/// Refuses an assertion with other bits than those that are named.
#[inline(always)]
fn check(assert: c_int, allowed: &[(c_int, &str)]) -> Outcome {
    let all = allowed.iter().fold(0, |all, (bit, _)| all | bit);
    if assert & !all == 0 { Ok(()) } else { Err(unknown(assert, allowed)) }
}

#[cold]
fn unknown(assert: c_int, allowed: &[(c_int, &str)]) -> Failure {
    let rest = allowed.iter().fold(assert, |rest, (bit, _)| rest & !bit);
    let taken: Vec<&str> = allowed.iter().map(|(_, name)| *name).collect();
    let (wrong, taken) = (names(rest).join(", "), taken.join(", "));
    let why = format!("the call does not take {wrong} as an assertion, only {taken}");
    Failure::new(MPI_ERR_ASSERT, why)
}

/// The assertions of a union, by name.
fn names(assert: c_int) -> Vec<String> {
    const ALL: [(c_int, &str); 5] = [
        (MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"),
        (MPI_MODE_NOSTORE, "MPI_MODE_NOSTORE"),
        (MPI_MODE_NOPUT, "MPI_MODE_NOPUT"),
        (MPI_MODE_NOPRECEDE, "MPI_MODE_NOPRECEDE"),
        (MPI_MODE_NOSUCCEED, "MPI_MODE_NOSUCCEED"),
    ];
    let set = ALL.into_iter().filter(|(bit, _)| assert & bit != 0);
    let rest = ALL.iter().fold(assert, |rest, (bit, _)| rest & !bit);
    let other = (rest != 0).then(|| format!("{rest:#x} (which is no assertion)"));
    set.map(|(_, name)| name.to_owned()).chain(other).collect()
}

/// How a message shows an assertion that is an argument.
pub struct Assertions(pub c_int);

impl Display for Assertions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0"),
            assert => f.write_str(&names(assert).join(" | ")),
        }
    }
}

/// The union of those flags whose bits are set.
fn flags<T: std::ops::BitOr<Output = T>>(assert: c_int, none: T, all: [(c_int, T); 3]) -> T {
    let set = all.into_iter().filter(|(bit, _)| assert & bit != 0);
    set.fold(none, |flags, (_, flag)| flags | flag)
}

/// Of `MPI_Win_fence`.
pub fn of_fence(assert: c_int) -> Outcome<FenceAssert> {
    check(
        assert,
        &[
            (MPI_MODE_NOSTORE, "MPI_MODE_NOSTORE"),
            (MPI_MODE_NOPUT, "MPI_MODE_NOPUT"),
            (MPI_MODE_NOPRECEDE, "MPI_MODE_NOPRECEDE"),
            (MPI_MODE_NOSUCCEED, "MPI_MODE_NOSUCCEED"),
        ],
    )?;
    let nosucceed = flags(
        assert,
        FenceAssert::NONE,
        [
            (MPI_MODE_NOSTORE, FenceAssert::NOSTORE),
            (MPI_MODE_NOPUT, FenceAssert::NOPUT),
            (MPI_MODE_NOPRECEDE, FenceAssert::NOPRECEDE),
        ],
    );
    Ok(match assert & MPI_MODE_NOSUCCEED {
        0 => nosucceed,
        _ => nosucceed | FenceAssert::NOSUCCEED,
    })
}

/// Of `MPI_Win_post`.
pub fn of_post(assert: c_int) -> Outcome<PostAssert> {
    check(
        assert,
        &[
            (MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"),
            (MPI_MODE_NOSTORE, "MPI_MODE_NOSTORE"),
            (MPI_MODE_NOPUT, "MPI_MODE_NOPUT"),
        ],
    )?;
    Ok(flags(
        assert,
        PostAssert::NONE,
        [
            (MPI_MODE_NOCHECK, PostAssert::NOCHECK),
            (MPI_MODE_NOSTORE, PostAssert::NOSTORE),
            (MPI_MODE_NOPUT, PostAssert::NOPUT),
        ],
    ))
}

/// Of `MPI_Win_start`.
pub fn of_start(assert: c_int) -> Outcome<StartAssert> {
    check(assert, &[(MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK")])?;
    Ok(match assert & MPI_MODE_NOCHECK {
        0 => StartAssert::NONE,
        // SAFETY: the C program asserts exactly this obligation.
        _ => unsafe { StartAssert::nocheck() },
    })
}

/// Of `MPI_Win_lock` and `MPI_Win_lock_all`.
pub fn of_lock(assert: c_int) -> Outcome<LockAssert> {
    check(assert, &[(MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK")])?;
    Ok(match assert & MPI_MODE_NOCHECK {
        0 => LockAssert::NONE,
        // SAFETY: the C program asserts exactly this obligation.
        _ => unsafe { LockAssert::nocheck() },
    })
}
