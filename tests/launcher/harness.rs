//! Starting `rmarun` and watching it and its ranks, without ever waiting a fixed time.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::{PidfdFlags, pidfd_open};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Far more than anything here takes: only a hang takes longer.
const HANG: Duration = Duration::from_secs(120);

/// Held by a test with many hundreds of ranks, and by a test that compares times: each disturbs the other.
pub fn machine() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a run left.
#[derive(Debug)]
pub struct Run {
    /// As a shell has it: 128 + n for signal n.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// Asserts the exit code, and shows everything if it is another.
    #[track_caller]
    pub fn expect(self, code: i32) -> Run {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// The lines that the launcher itself has written, but for the tables of last calls.
    pub fn launcher_lines(&self) -> Vec<&str> {
        crate::support::printed::launcher_lines(&self.stderr)
    }

    /// The rows of the tables of last calls, each as its cells.
    pub fn last_calls(&self) -> Vec<Vec<&str>> {
        crate::support::printed::last_calls(&self.stderr)
    }

    /// Asserts that the launcher has printed one line, with all of these words in it.
    #[track_caller]
    pub fn reports(&self, words: &[&str]) {
        let lines = self.launcher_lines();
        assert_eq!(lines.len(), 1, "{self:#?}");
        for word in words {
            assert!(lines[0].contains(word), "no '{word}' in: {}", lines[0]);
        }
    }
}

/// A launcher's command line, its streams not yet decided.
pub fn rmarun(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(arguments);
    command
}

/// Runs `sh -c script` on `ranks` ranks, to the end.
pub fn shell(ranks: u32, script: &str) -> Run {
    run(&["-n", &ranks.to_string(), "sh", "-c", script])
}

/// Runs the launcher to its end, with an empty input.
pub fn run(arguments: &[&str]) -> Run {
    let mut command = rmarun(arguments);
    command.stdin(Stdio::null());
    finish(Started::new(command))
}

/// A launcher at work. Ended with its ranks when dropped, so that a failed test leaves nothing.
pub struct Started {
    child: Child,
    pub stdout: Option<BufReader<ChildStdout>>,
}

impl Started {
    pub fn new(mut command: Command) -> Started {
        crate::support::signals::expect_signals();
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("rmarun starts");
        let stdout = child.stdout.take().map(BufReader::new);
        Started { child, stdout }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// The supervisor: the launcher's only child.
    pub fn supervisor(&self) -> Pid {
        let pid = self.pid();
        let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        Pid::from_raw(list.expect("a list of children").trim().parse().expect("one child"))
    }

    /// The next line of standard output.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        let stdout = self.stdout.as_mut().expect("not closed yet");
        let bytes = stdout.read_line(&mut line).expect("standard output can be read");
        assert!(bytes != 0, "standard output has no further line");
        line.trim_end().to_owned()
    }

    /// Reads `n` lines, each the number of a process, and takes hold of those processes.
    pub fn processes(&mut self, n: usize) -> Vec<Process> {
        (0..n).map(|_| Process::new(self.line().parse().expect("a process number"))).collect()
    }

    /// The same, with the numbers on standard error.
    pub fn processes_of_stderr(&mut self, n: usize) -> Vec<Process> {
        let mut stderr = self.stderr();
        let number = |_| {
            let mut line = String::new();
            stderr.read_line(&mut line).expect("standard error can be read");
            Process::new(line.trim_end().parse().expect("a process number"))
        };
        (0..n).map(number).collect()
    }

    /// Standard error, read by the caller that takes it.
    pub fn stderr(&mut self) -> BufReader<ChildStderr> {
        BufReader::new(self.child.stderr.take().expect("not taken yet"))
    }

    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("rmarun lives");
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended long ago; while it is not waited for, its number is its own.
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Waits for the launcher's end, taking in what it writes.
pub fn finish(mut started: Started) -> Run {
    let process = Process::new(started.pid().as_raw());
    let stderr = std::thread::spawn({
        let stderr = started.child.stderr.take();
        move || stderr.map(text).unwrap_or_default()
    });
    let stdout = std::thread::spawn({
        let stdout = started.stdout.take();
        move || stdout.map(text).unwrap_or_default()
    });
    process.await_end();
    let status = started.child.wait().expect("rmarun can be waited for");
    let signalled = status.signal().map(|signal| 128 + signal);
    Run {
        code: status.code().or(signalled).expect("it has ended"),
        stdout: stdout.join().expect("standard output is read"),
        stderr: stderr.join().expect("standard error is read"),
    }
}

fn text(mut source: impl Read) -> String {
    let mut bytes = Vec::new();
    source.read_to_end(&mut bytes).expect("a pipe can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A process that is not ours to wait for.
pub struct Process {
    pid: i32,
    /// `None` if it was gone already.
    pidfd: Option<OwnedFd>,
}

impl Process {
    pub fn new(pid: i32) -> Process {
        let number = rustix::process::Pid::from_raw(pid).expect("a process number");
        Process { pid, pidfd: pidfd_open(number, PidfdFlags::empty()).ok() }
    }

    /// Returns when the process has ended.
    #[track_caller]
    pub fn await_end(&self) {
        let Some(pidfd) = &self.pidfd else { return };
        let mut fds = [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)];
        let hang = PollTimeout::try_from(HANG).expect("a time that poll takes");
        assert_eq!(poll(&mut fds, hang), Ok(1), "process {} does not end", self.pid);
    }

    /// Whether the process has ended.
    pub fn is_over(&self) -> bool {
        let Some(pidfd) = &self.pidfd else { return true };
        let mut fds = [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::ZERO) == Ok(1)
    }

    /// Asserts that the process has ended.
    #[track_caller]
    pub fn has_ended(&self) {
        assert!(self.is_over(), "process {} still runs", self.pid);
    }
}

/// Asserts that `condition` comes true.
#[track_caller]
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < HANG, "never: {what}");
        std::thread::yield_now();
    }
}

/// Asserts that nothing of an unnamed segment stays in /dev/shm. Jobs of other tests may have a
/// name there for a moment.
#[track_caller]
pub fn no_litter() {
    let ours = |name: &str| {
        let random = name.strip_prefix("onesided-");
        random.is_some_and(|r| r.len() == 32 && r.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    eventually("/dev/shm is clean", || {
        let mut names = std::fs::read_dir("/dev/shm").expect("/dev/shm can be listed").flatten();
        !names.any(|entry| ours(&entry.file_name().to_string_lossy()))
    });
}

/// The command line that runs one of the rank functions of `joining`.
pub fn rank_function(name: &str) -> [String; 6] {
    rank_function_in("joining", name)
}

/// The command line that runs a rank function of a module of this test program.
pub fn rank_function_in(module: &str, name: &str) -> [String; 6] {
    let program = std::env::current_exe().expect("this test has a path");
    let program = program.to_str().expect("a path in UTF-8").to_owned();
    let name = format!("{module}::{name}");
    [
        program,
        name,
        "--exact".into(),
        "--ignored".into(),
        "--nocapture".into(),
        "--test-threads=1".into(),
    ]
}

/// Runs a rank function of `joining` on `ranks` ranks, every one of which has to join.
pub fn run_ranks(ranks: u32, options: &[&str], name: &str) -> Run {
    run_ranks_of("joining", ranks, options, name)
}

/// The same of another module.
pub fn run_ranks_of(module: &str, ranks: u32, options: &[&str], name: &str) -> Run {
    let ranks = ranks.to_string();
    let command = rank_function_in(module, name);
    let mut arguments = vec!["-n", &ranks, "--require-join"];
    arguments.extend(options);
    arguments.push("--");
    arguments.extend(command.iter().map(String::as_str));
    run(&arguments)
}
