//! Starting a rank.
#![allow(unsafe_code, reason = "arranges the process between fork and exec")]

use crate::binding::Binding;
use crate::output::Streams;
use crate::report::{How, RankEnd, Refusal};
use crate::signals::Taken;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::{Pid, getppid};
use onesided::launch::{Job, let_inherit};
use rustix::process::{PidfdFlags, WaitOptions, WaitStatus, pidfd_open, waitpid};
use rustix::thread::sched_setaffinity;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A rank's process.
pub struct Rank {
    pub pid: Pid,
    /// Readable when the process has ended; `None` where the system denies such descriptors.
    pub pidfd: Option<OwnedFd>,
    pub end: Option<RankEnd>,
    /// It has ended without joining a job that others joined, and that has been said.
    pub is_missed: bool,
}

/// What every rank starts with, whatever the launcher has changed for itself.
pub struct Start<'a> {
    pub job: &'a Job,
    pub command: &'a [OsString],
    supervisor: Pid,
    mask: SigSet,
    files: Option<(rlim_t, rlim_t)>,
    binding: Binding,
}

impl<'a> Start<'a> {
    /// Lets the launcher itself have as many descriptors as it may: it needs three for each rank.
    pub fn new(
        job: &'a Job,
        command: &'a [OsString],
        taken: &Taken,
        binding: Binding,
    ) -> Start<'a> {
        let files = getrlimit(Resource::RLIMIT_NOFILE).ok();
        if let Some((_, most)) = files {
            // Where that is refused, the number may still do.
            let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
        }
        Start { job, command, supervisor: Pid::this(), mask: taken.before(), files, binding }
    }

    /// Starts one rank.
    ///
    /// Ranks stay in the launcher's process group: so the terminal's Ctrl-C and Ctrl-Z reach all
    /// of them, and rank 0 may read from the terminal, which only the foreground group may.
    pub fn rank(&self, rank: u32, streams: Streams) -> Result<Rank, Refusal> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        command.envs(self.job.environment(rank, self.supervisor.as_raw() as u32));
        command.envs(streams.terminal);
        command.stdin(if rank == 0 { Stdio::inherit() } else { Stdio::null() });
        let [stdout, stderr] = streams.stdio;
        command.stdout(stdout).stderr(stderr);
        let arrange = self.arrangement(rank);
        // SAFETY: the closure makes system calls and nothing else: it neither allocates nor
        // takes a lock, so that it may run in the child of a process with threads.
        unsafe { command.pre_exec(arrange) };
        let child = command.spawn().map_err(|error| Refusal::Program {
            program: self.command[0].to_string_lossy().into_owned(),
            error,
        })?;
        let pid = Pid::from_raw(child.id() as i32);
        let pidfd = rustix::process::Pid::from_raw(pid.as_raw())
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Ok(Rank { pid, pidfd, end: None, is_missed: false })
    }

    fn arrangement(&self, rank: u32) -> impl FnMut() -> io::Result<()> + Send + Sync + 'static {
        let (supervisor, mask, files) = (self.supervisor, self.mask, self.files);
        let (descriptors, processors) = (self.job.descriptors(), self.binding.of(rank));
        move || {
            set_pdeathsig(Signal::SIGKILL)?;
            // It may have died before the line above.
            if getppid() != supervisor {
                return Err(nix::Error::ESRCH.into());
            }
            if let Some((soft, hard)) = files {
                setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
            }
            if let Some(processors) = processors {
                sched_setaffinity(None, &processors)?;
            }
            inherit(descriptors)?;
            mask.thread_set_mask()?;
            Ok(())
        }
    }
}

fn inherit(descriptors: [RawFd; 2]) -> io::Result<()> {
    for number in descriptors {
        // SAFETY: the number is open in this child, a copy of the launcher, whose job holds it.
        let_inherit(unsafe { BorrowedFd::borrow_raw(number) })?;
    }
    Ok(())
}

/// Kills a child, and waits until it has ended, but no longer than `limit`.
pub fn kill_and_await(pid: Pid, limit: Duration) {
    let number = rustix::process::Pid::from_raw(pid.as_raw());
    let pidfd = number.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    // Not waited for yet, so the number is still its own.
    let _ = kill(pid, Signal::SIGKILL);
    if let (Some(pidfd), Ok(limit)) = (pidfd, PollTimeout::try_from(limit)) {
        // An interruption, or a system without such descriptors: whoever calls this looks again.
        let _ = poll(&mut [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)], limit);
    }
}

/// How the child `pid` ended, if it has; it is gone then.
pub fn reap(pid: Pid) -> Option<How> {
    let pid = rustix::process::Pid::from_raw(pid.as_raw())?;
    let (_, status) = waitpid(Some(pid), WaitOptions::NOHANG).ok().flatten()?;
    Some(how(status))
}

fn how(status: WaitStatus) -> How {
    match status.terminating_signal() {
        Some(signal) => How::Killed(signal),
        None => How::Exited(status.exit_status().unwrap_or_default()),
    }
}
