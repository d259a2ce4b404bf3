//! The guard: the process that the user started.
#![allow(unsafe_code, reason = "forks")]

use crate::launcher::panes::Panes;
use crate::launcher::report;
use crate::launcher::signals::{self, GUARD_DIED, SECOND_AFTER, Taken};
use crate::launcher::tree;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::{set_child_subreaper, set_name, set_pdeathsig};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{ForkResult, Pid, fork, getppid};
use rustix::process::{WaitOptions, WaitStatus, wait};
use std::io;
use std::os::fd::AsFd;
#[cfg(feature = "test")]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// One of the two processes, and the number of the other.
pub enum Half {
    Guard(Pid),
    Supervisor(Pid),
}

/// Splits this process in two. Only the main thread may exist.
pub fn split() -> io::Result<Half> {
    set_child_subreaper(true)?;
    let guard = Pid::this();
    // SAFETY: no other thread exists, so the child may continue like any process.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(Half::Guard(child)),
        ForkResult::Child => {
            set_child_subreaper(true)?;
            set_pdeathsig(GUARD_DIED)?;
            // A name of its own, so that `killall -9 rmarun` leaves one process to clean up.
            set_name(c"onesided-job")?;
            Ok(Half::Supervisor(guard))
        }
    }
}

/// Runs `launcher` in a child, whose only thread is this one, and returns its exit code; the child gets SIGTERM when
/// this thread ends before. All other threads sleep, such as that of a harness that waits for the end of a test.
#[cfg(feature = "test")]
#[allow(clippy::disallowed_methods, reason = "the child returns to no main function")]
pub fn in_child(launcher: impl FnOnce() -> u8) -> io::Result<u8> {
    let own = Pid::this();
    // SAFETY: the other threads sleep without a lock of the standard library, and the C library makes its own usable
    // in the child, which may so continue like any process.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => {
            let child = rustix::process::Pid::from_raw(child.as_raw());
            loop {
                match rustix::process::waitpid(child, WaitOptions::empty()) {
                    Ok(Some((_, status))) => return Ok(code_of(status)),
                    Ok(None) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        ForkResult::Child => {
            let code = match set_pdeathsig(Signal::SIGTERM) {
                Ok(()) if getppid() == own => catch_unwind(AssertUnwindSafe(launcher)).ok(),
                _ => None,
            };
            std::process::exit(code.unwrap_or(report::LAUNCHER_FAILED).into())
        }
    }
}

/// The exit code of a process, as in a shell.
#[cfg(feature = "test")]
fn code_of(status: WaitStatus) -> u8 {
    let by_signal = || report::signal_code(status.terminating_signal().unwrap_or_default());
    status.exit_status().map_or_else(by_signal, |code| code as u8)
}

/// Whether the guard of this supervisor is dead.
pub fn is_gone(guard: Pid) -> bool {
    getppid() != guard
}

/// Waits for the supervisor, and until the user has left the panes if there are some; returns the exit code of the job.
pub fn watch(supervisor: Pid, taken: &Taken, panes: Option<&Panes>) -> u8 {
    let Ok(source) = taken.source() else {
        let _ = kill(supervisor, Signal::SIGTERM);
        return report::LAUNCHER_FAILED;
    };
    let (mut first, mut code) = (None, None);
    let mut is_seen = panes.is_some();
    loop {
        // An interrupted wait counts as one that ended.
        let _ = poll(&mut [PollFd::new(source.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE);
        while let Some(signal) = signals::next(&source) {
            if signal != Signal::SIGCHLD && signal != GUARD_DIED {
                let first = *first.get_or_insert_with(Instant::now);
                pass_on(signal, supervisor, first.elapsed() >= SECOND_AFTER);
            }
        }
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let pid = Pid::from_raw(pid.as_raw_nonzero().get());
            if pid == supervisor {
                code = Some(verdict(status));
            }
            if let Some(panes) = panes.filter(|panes| panes.are_left_by(pid)) {
                is_seen = false;
                if code.is_none() {
                    report::print(&panes.note());
                }
            }
        }
        // After a signal to this process, no user looks at the panes.
        if let Some(code) = code.filter(|_| !is_seen || first.is_some()) {
            return code;
        }
    }
}

/// Continues a stopped supervisor and passes the signal on. At the second signal, a supervisor that is
/// still stopped (by a debugger) is killed.
fn pass_on(signal: Signal, supervisor: Pid, is_second: bool) {
    let signal = if is_second && tree::is_stopped(supervisor) { Signal::SIGKILL } else { signal };
    let _ = kill(supervisor, signal);
    let _ = kill(supervisor, Signal::SIGCONT);
}

fn verdict(status: WaitStatus) -> u8 {
    if let Some(code) = status.exit_status() {
        return code as u8;
    }
    let signal = status.terminating_signal().unwrap_or_default();
    end_what_is_left();
    let code = report::signal_code(signal);
    let name = report::signal_name(signal);
    report::print(&format!(
        "the supervisor of the job was killed by {name}; job ended, exit code {code}"
    ));
    code
}

/// Ends what the ranks had started: the kernel has killed the ranks with the supervisor, and their
/// children are now the guard's.
fn end_what_is_left() {
    loop {
        tree::signal_all(Signal::SIGKILL);
        if wait(WaitOptions::empty()).is_err() {
            return;
        }
        // Reaps all ended ones, so that /proc is not read once for each.
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    }
}
