//! Starting a rank.
#![allow(unsafe_code, reason = "arranges the process between fork and exec")]

use crate::launch::{ENV_STRICT, Job, let_inherit};
use crate::launcher::args::Options;
use crate::launcher::binding::Binding;
use crate::launcher::output::{Streams, TerminalOf};
use crate::launcher::report::{How, RankEnd, Refusal};
use crate::launcher::supervise::Own;
use crate::launcher::words::{RANK_VARIABLES, RANKS_VARIABLES};
use crate::launcher::{foreground, panes};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc::{
    _exit, CLONE_FILES, CLONE_VFORK, SIGCHLD, SYS_clone, SYS_close_range, c_long, syscall, unshare,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use nix::sys::signal::{SigHandler, SigSet, Signal, kill, signal};
use nix::unistd::{Pid, getppid};
use rustix::io::{DupFlags, dup3};
use rustix::process::{PidfdFlags, WaitOptions, WaitStatus, pidfd_open, waitpid};
use rustix::thread::sched_setaffinity;
use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The exit code of a child that could not execute the program; it is not shown.
const REFUSED: i32 = 127;

/// How long a rank may take to die that could not be watched.
const UNWATCHED_LIMIT: Duration = Duration::from_secs(2);

/// A rank's process.
pub struct Rank {
    pub pid: Pid,
    /// Readable when the process has ended; `None` where the system denies such descriptors.
    pub pidfd: Option<OwnedFd>,
    pub end: Option<RankEnd>,
}

/// The environment in which every rank starts, without the launcher's own changes.
pub struct Start<'a> {
    pub job: &'a Job,
    options: &'a Options,
    /// The words before the program of a rank that has a debugger.
    debugger: &'a [OsString],
    supervisor: Pid,
    mask: SigSet,
    files: Option<(rlim_t, rlim_t)>,
    binding: Binding,
    /// At a terminal SIGQUIT asks the launcher for the state of the ranks, and must not end these.
    ignores_quit: bool,
    /// Three descriptors below `end`, for the streams of the next rank.
    reserved: Option<[OwnedFd; 3]>,
    /// The pipe by which a child reports why it could not execute the program.
    refusals: (PipeReader, PipeWriter),
    /// Descriptors from here on belong to other ranks; `None` if unknown.
    end: Option<RawFd>,
}

impl<'a> Start<'a> {
    /// Raises the launcher's own limit of descriptors: it needs three for each rank.
    pub fn new(
        job: &'a Job,
        options: &'a Options,
        own: &'a Own<'_>,
        binding: Binding,
    ) -> io::Result<Start<'a>> {
        let files = getrlimit(Resource::RLIMIT_NOFILE).ok();
        if let Some((_, most)) = files {
            // If that fails, the present limit may still be enough.
            let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
        }
        let refusals = io::pipe()?;
        fcntl(&refusals.0, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let reserved = Some(reserve(&refusals.1)?);
        let (supervisor, mask) = (Pid::this(), own.taken.before());
        let end = end_of_open();
        Ok(Start {
            job,
            options,
            debugger: &own.debugger,
            supervisor,
            mask,
            files,
            binding,
            ignores_quit: own.taken.asks_by_quit(),
            reserved,
            refusals,
            end,
        })
    }

    /// The processors of a rank, for messages.
    pub fn processors(&self, rank: u32) -> String {
        self.binding.text(rank)
    }

    /// Starts one rank.
    ///
    /// Ranks without a terminal of their own stay in the launcher's process group. So the terminal's Ctrl-C and Ctrl-Z reach all of them,
    /// and rank 0 may read from the terminal, as only the foreground group may.
    ///
    /// `cannot` is the refusal of a system that has not enough of something.
    pub fn rank(
        &mut self,
        rank: u32,
        streams: Streams,
        cannot: impl Fn(io::Error) -> Refusal,
    ) -> Result<Rank, Refusal> {
        let program = self.options.program(rank);
        let debugger = if self.options.debugged.contains(&rank) { self.debugger } else { &[] };
        let mut words = debugger.iter().chain(&program.arguments);
        let mut command = Command::new(words.next().map_or(OsStr::new(""), |word| word));
        command.args(words);
        if let Some(directory) = &program.directory {
            command.current_dir(directory);
        }
        command.envs(RANK_VARIABLES.map(|name| (name, rank.to_string())));
        command.envs(RANKS_VARIABLES.map(|name| (name, self.options.ranks.to_string())));
        command.envs(program.variables.iter().map(|(name, value)| (name, value)));
        command.envs(self.job.environment(rank, self.supervisor.as_raw() as u32));
        command.envs(self.options.strict.then_some((ENV_STRICT, "1")));
        command.envs(streams.terminal);
        let [input, output, error] = self.lowered(streams.files).map_err(&cannot)?;
        command.stdin(match input {
            Some(input) => input.into(),
            None if streams.reads => Stdio::inherit(),
            None => Stdio::null(),
        });
        if let (Some(output), Some(error)) = (output, error) {
            command.stdout(output).stderr(error);
        }
        let arrange = self.arrangement(rank, streams.terminal_of);
        // SAFETY: the closure makes system calls and nothing else: it neither allocates nor
        // takes a lock, so that it may run in the child of a process with threads.
        unsafe { command.pre_exec(arrange) };
        let pid = self.spawn(&mut command).map_err(|error| match is_shortage(&error) {
            true => cannot(error),
            false => {
                let program = program.name();
                Refusal::Program { program, error }
            }
        })?;
        drop(command);
        // First the descriptors that have just become free, which are below `end`.
        let reserved = reserve(&self.refusals.1);
        let watched = reserved.and_then(|reserved| {
            self.reserved = Some(reserved);
            watch(pid)
        });
        match watched {
            Ok(pidfd) => Ok(Rank { pid, pidfd, end: None }),
            Err(error) => {
                // No other process knows of it yet.
                kill_and_await(pid, UNWATCHED_LIMIT);
                reap(pid);
                Err(cannot(error))
            }
        }
    }

    /// The streams of a rank, under numbers below `end`.
    fn lowered(&mut self, files: [Option<OwnedFd>; 3]) -> io::Result<[Option<OwnedFd>; 3]> {
        let mut low = self.reserved.take().ok_or(nix::Error::EBADF)?.map(Some);
        for (low, file) in low.iter_mut().zip(files) {
            match (file, &mut *low) {
                (Some(file), Some(low)) => dup3(file, low, DupFlags::CLOEXEC)?,
                _ => *low = None,
            }
        }
        Ok(low)
    }

    /// [`Command::spawn`] in constant time. That one's child copies and closes all descriptors of the
    /// launcher, whose number grows with the ranks. This child shares the launcher's until it takes only
    /// those that a rank needs.
    fn spawn(&self, command: &mut Command) -> io::Result<Pid> {
        let flags = (CLONE_FILES | CLONE_VFORK | SIGCHLD) as c_long;
        debug_assert!(is_the_only_thread(), "the child may wait for a lock of another thread");
        // SAFETY: as `fork`: the child has a copy of the memory, stack included, and no other thread
        // exists yet (relays and trace start after the ranks), so the child may continue like any process.
        match unsafe {
            syscall(SYS_clone, flags, 0 as c_long, 0 as c_long, 0 as c_long, 0 as c_long)
        } {
            -1 => Err(io::Error::last_os_error()),
            0 => self.become_program(command),
            child => {
                // Now it executes the program, or has ended.
                let pid = Pid::from_raw(child as i32);
                let mut errno = [0; size_of::<i32>()];
                match (&self.refusals.0).read_exact(&mut errno) {
                    Err(_) => Ok(pid),
                    Ok(()) => {
                        reap(pid);
                        Err(io::Error::from_raw_os_error(i32::from_ne_bytes(errno)))
                    }
                }
            }
        }
    }

    /// The child's half.
    fn become_program(&self, command: &mut Command) -> ! {
        let error = match unshare_files(self.end) {
            Ok(()) => command.exec(),
            Err(error) => error,
        };
        let errno = error.raw_os_error().unwrap_or(nix::Error::EINVAL as i32);
        // Without a reader the launcher has ended.
        let _ = (&self.refusals.1).write_all(&errno.to_ne_bytes());
        // SAFETY: ends the child, and runs no exit handlers of the launcher.
        unsafe { _exit(REFUSED) }
    }

    fn arrangement(
        &self,
        rank: u32,
        terminal: TerminalOf,
    ) -> impl FnMut() -> io::Result<()> + Send + Sync + 'static {
        let (supervisor, mask, files) = (self.supervisor, self.mask, self.files);
        let (descriptors, processors) = (self.job.descriptors(), self.binding.of(rank));
        let ignores_quit = self.ignores_quit;
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
            if ignores_quit {
                // SAFETY: installs no handler.
                unsafe { signal(Signal::SIGQUIT, SigHandler::SigIgn) }?;
            }
            match terminal {
                TerminalOf::Launcher => {}
                TerminalOf::Foreground => foreground::enter(io::stdin())?,
                TerminalOf::Pane => panes::occupy(io::stdin())?,
            }
            inherit(descriptors)?;
            mask.thread_set_mask()?;
            Ok(())
        }
    }
}

/// Whether the machine's or the user's limits are why the system refuses, and not the program.
fn is_shortage(error: &io::Error) -> bool {
    use nix::libc::{EAGAIN, EMFILE, ENFILE, ENOMEM};
    matches!(error.raw_os_error(), Some(EMFILE | ENFILE | EAGAIN | ENOMEM))
}

/// A descriptor that becomes readable when the process ends; `None` where the system denies such.
fn watch(pid: Pid) -> io::Result<Option<OwnedFd>> {
    let Some(pid) = rustix::process::Pid::from_raw(pid.as_raw()) else { return Ok(None) };
    match pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from) {
        Err(error) if is_shortage(&error) => Err(error),
        descriptor => Ok(descriptor.ok()),
    }
}

/// Three descriptors, of the lowest numbers that are free.
fn reserve(like: &PipeWriter) -> io::Result<[OwnedFd; 3]> {
    let one = || like.as_fd().try_clone_to_owned();
    Ok([one()?, one()?, one()?])
}

/// Whether the system reports no other thread of this process.
fn is_the_only_thread() -> bool {
    !std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() > 1)
}

/// The number after all open descriptors.
fn end_of_open() -> Option<RawFd> {
    let open = std::fs::read_dir("/proc/self/fd").ok()?.flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    Some(numbers.max()? + 1)
}

/// Gives this process its own descriptors: those below `end`.
fn unshare_files(end: Option<RawFd>) -> io::Result<()> {
    const CLOSE_RANGE_UNSHARE: c_long = 2;
    if let Some(end) = end {
        let (first, last) = (c_long::from(end), c_long::from(u32::MAX));
        // SAFETY: it closes the launcher's descriptors in this process alone, which does not use them.
        if unsafe { syscall(SYS_close_range, first, last, CLOSE_RANGE_UNSHARE) } == 0 {
            return Ok(());
        }
    }
    // Older than Linux 5.9, or denied: all of them.
    // SAFETY: only unshares the descriptors.
    match unsafe { unshare(CLONE_FILES) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
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
        // After an interruption, or on a system without such descriptors, the caller checks again.
        let _ = poll(&mut [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)], limit);
    }
}

/// How the child `pid` ended, if it has; it is then reaped.
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
