//! Jobs that go on without a rank that dies (`rmarun --on-failure=continue`).
#![cfg(feature = "test-hooks")]
#![allow(unsafe_code, reason = "the engine exposes memory by address")]

use crate::support;
mod checked;
mod going_on;
mod memory;
mod torn;
mod torn_at_random;
mod tree;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use onesided::engine::Win;
use onesided::{Comm, Error, ErrorClass, Rank, Result, WindowOptions};

/// The rank that dies in the jobs here.
const VICTIM: u32 = 1;

/// This process is killed.
fn die() -> ! {
    kill(Pid::this(), Signal::SIGKILL).expect("a process may kill itself");
    unreachable!("it does not return from that");
}

/// Runs `body` on `n` ranks, of which the victim must die and no other rank fail.
fn survivors(n: u32, body: impl FnOnce(&Comm)) {
    let outcome = support::job(n, &["--on-failure=continue"], body);
    outcome.into_iter().for_each(|outcome| one_was_killed(n, &outcome));
}

/// Asserts that in a job of `n` ranks the victim was killed and no other rank has failed.
fn one_was_killed(n: u32, outcome: &support::Outcome) {
    assert_eq!(outcome.status.code(), Some(137), "{}", outcome.output);
    let contains = |words: &str| assert!(outcome.output.contains(words), "{}", outcome.output);
    contains("rmarun: rank 1 (");
    contains("was killed by signal 9 (SIGKILL)");
    contains("; the others go on");
    contains(&format!("rmarun: 1 of {n} ranks failed; job ended, exit code 137"));
}

/// Asserts that a call has failed for the victim's death.
#[track_caller]
fn lost<R>(result: Result<R>) {
    match result.err() {
        Some(error @ Error::RankFailed { failed: Rank(VICTIM), .. }) => {
            assert_eq!(error.class(), ErrorClass::ProcFailed);
        }
        Some(other) => panic!("{other}"),
        None => panic!("no rank was missed"),
    }
}

fn window(comm: &Comm) -> Win {
    WindowOptions::new().name("shared").allocate_bytes(comm, 64, 8).unwrap()
}
