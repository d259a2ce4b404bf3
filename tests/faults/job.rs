//! Runs one case, and looks at everything that it must and must not leave.

use crate::case::{self, Blow, Case, HOARD, What};
use crate::judge::{self, Verdict};
use crate::processes::{self, MARK};
use crate::trip::PHASES;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::{PidfdFlags, pidfd_open};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// What the ranks of a job do.
pub const WALK: &str = "ONESIDED_TEST_WALK";
/// So, in a job that goes on; how many deaths to await follows.
pub const SURVIVE: &str = "survive ";
const FAULT: &str = "ONESIDED_FAULT";
/// How many bytes each rank takes before it joins.
pub const BYTES: &str = "ONESIDED_TEST_HOARD";
/// A job that takes longer hangs.
const HANG: Duration = Duration::from_secs(10);
/// How long a stopped rank stays stopped.
const STOPPED: Duration = Duration::from_secs(1);
/// How soon all must be gone when no process is left that could report it.
const GONE: Duration = Duration::from_secs(2);
/// The factor for the time of ranks that take, and whose end gives back, much memory.
const HEAVY: u32 = 10;

/// What was seen of a job.
pub struct Seen {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    /// The rank that was hit, if one was and is known.
    pub rank: Option<u32>,
    /// Whether the fault happened.
    pub hit: bool,
    /// What was left, or the state of a job that hangs.
    pub left: Option<String>,
    pub hangs: Option<String>,
    /// From the blow until all were gone.
    pub took: Option<Duration>,
}

/// How a job is started.
pub struct Start<'a> {
    pub ranks: u32,
    pub wrapper: &'a str,
    pub segment: &'a str,
    /// Whether the others go on when a rank fails.
    pub goes_on: bool,
    pub variables: &'a [(&'a str, String)],
    /// Whether the reader of its standard output will have gone in the end.
    pub closes: bool,
}

/// A job at work.
pub struct Job {
    child: Child,
    pidfd: OwnedFd,
    mark: String,
    name: Option<PathBuf>,
    /// How many times as long as others it may take.
    slowness: u32,
    started: Instant,
    stdout: Option<JoinHandle<String>>,
    stderr: JoinHandle<String>,
    /// The processes that say that they are about to fail.
    faults: Receiver<Pid>,
    /// The lines of its standard output.
    pub lines: Receiver<String>,
}

/// Runs a case and judges it.
pub fn run(case: &Case) -> Verdict {
    judge::verdict(case, &seen(case))
}

/// The lines of a job in which the ranks do `task` and say what they have passed; rank `dies`, if
/// one is given, must fail.
pub fn record(task: &str, ranks: u32, dies: Option<&str>) -> String {
    let fault = dies.map(|fault| (FAULT, fault.to_owned()));
    let variables: Vec<_> = fault.into_iter().chain([(WALK, task.to_owned())]).collect();
    let goes_on = dies.is_some();
    let start = Start { ranks, goes_on, variables: &variables, ..Start::plain() };
    let seen = Job::start(&start).finish(None, None);
    let (out, err) = (&seen.stdout, &seen.stderr);
    assert!(seen.hangs.is_none(), "a recording job of {ranks} ranks hangs:\n{out}{err}");
    assert_eq!(seen.status.success(), dies.is_none(), "{}: {out}{err}", seen.status);
    seen.stdout
}

fn join(text: JoinHandle<String>) -> String {
    text.join().expect("a stream can be read")
}

fn seen(case: &Case) -> Seen {
    let Case { ranks, wrapper, segment, goes_on, .. } = *case;
    let variables = &variables(case);
    let closes = matches!(case.what, What::Launcher { blow: Blow::CloseOutput, .. });
    let mut job = Job::start(&Start { ranks, wrapper, segment, goes_on, variables, closes });
    let (mut rank, mut blow) = (None, None);
    match &case.what {
        What::Site { action: "stop", .. } => job.let_go_on(),
        What::Site { .. } | What::Several { .. } => {}
        What::Rank { micros, .. } => {
            job.sleep_until(*micros);
            (rank, blow) = job.kill_rank(case);
        }
        What::Ranks { kills } => {
            for (rank, micros) in case::kills(kills) {
                job.sleep_until(micros);
                blow = job.kill_named(rank).or(blow);
            }
        }
        What::Launcher { blow: how, micros } => {
            job.sleep_until(*micros);
            blow = job.strike(*how, *micros);
        }
    }
    job.finish(rank, blow)
}

/// What the ranks get.
fn variables(case: &Case) -> Vec<(&'static str, String)> {
    let survive = |deaths: usize| (WALK, format!("{SURVIVE}{deaths}"));
    let goes_on = case.goes_on;
    match &case.what {
        What::Site { rank, site, nth, action } => {
            let fault = (FAULT, format!("{rank}:{site}:{nth}:{action}"));
            goes_on.then(|| survive(0)).into_iter().chain([fault]).collect()
        }
        What::Several { faults } => {
            let (phases, faults): (Vec<&str>, Vec<&str>) =
                faults.split(',').partition(|fault| fault.contains('/'));
            let faults = [(FAULT, faults.join(",")), (PHASES, phases.join(","))];
            let given = faults.into_iter().filter(|(_, list)| !list.is_empty());
            goes_on.then(|| survive(0)).into_iter().chain(given).collect()
        }
        What::Rank { .. } if goes_on => vec![survive(1)],
        What::Ranks { kills } => vec![survive(case::kills(kills).count())],
        What::Launcher { blow: Blow::CloseOutput, .. } => vec![(WALK, "chatty".to_owned())],
        What::Rank { .. } | What::Launcher { .. } => vec![(WALK, "endless".to_owned())],
    }
}

impl Start<'_> {
    pub fn plain() -> Start<'static> {
        let (wrapper, segment) = ("plain", "memfd");
        Start { ranks: 0, wrapper, segment, goes_on: false, variables: &[], closes: false }
    }
}

impl Job {
    pub fn start(start: &Start<'_>) -> Job {
        let Start { ranks, wrapper, segment, goes_on, variables, closes } = *start;
        static JOBS: AtomicUsize = AtomicUsize::new(0);
        let mark = format!("faults-{}-{}", std::process::id(), JOBS.fetch_add(1, Relaxed));
        let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
        let kind = if segment == "named" { mark.as_str() } else { segment };
        let on_failure = if goes_on { "--on-failure=continue" } else { "--on-failure=end" };
        command.args(["-n", &ranks.to_string(), "--segment", kind, on_failure, "--"]);
        match wrapper {
            "shell" => command.args(["sh", "-c", "\"$@\"; exit $?", "sh"]),
            "env" => command.args(["env", "LC_ALL=C"]),
            HOARD => command.env(BYTES, (4_u64 << 30).to_string()),
            _ => &mut command,
        };
        command.arg(std::env::current_exe().expect("the test's own path"));
        command.args(["rank", "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
        command.env(MARK, &mark).env("RUST_BACKTRACE", "0").envs(variables.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        crate::signals::expect_signals();
        let started = Instant::now();
        let mut child = command.spawn().expect("rmarun starts");
        let number = rustix::process::Pid::from_child(&child);
        let pidfd = pidfd_open(number, PidfdFlags::empty()).expect("rmarun is not waited for");
        let (sender, faults) = channel();
        let stderr = child.stderr.take().expect("a pipe");
        let stderr = spawn(move || lines(stderr, |line| report(&sender, line)));
        let (pass_on, received) = channel();
        let stdout = (!closes).then(|| {
            let stdout = child.stdout.take().expect("a pipe");
            // In most jobs the output is read only at the end.
            spawn(move || lines(stdout, |line| drop(pass_on.send(line.to_owned()))))
        });
        let name = (segment == "named").then(|| PathBuf::from("/dev/shm").join(&mark));
        let slowness = if wrapper == HOARD { HEAVY } else { 1 };
        Job { child, pidfd, mark, name, slowness, started, stdout, stderr, faults, lines: received }
    }

    fn guard(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    fn sleep_until(&self, micros: u64) {
        sleep(Duration::from_micros(micros).saturating_sub(self.started.elapsed()));
    }

    /// Whether the launcher ends within this time.
    fn ends_within(&self, time: Duration) -> bool {
        let mut fds = [PollFd::new(self.pidfd.as_fd(), PollFlags::POLLIN)];
        let time = PollTimeout::try_from(time).expect("a time that poll takes");
        poll(&mut fds, time).is_ok_and(|ready| ready > 0)
    }

    /// Waits for the launcher's end; if it does not come, ends the job and reports its state.
    fn await_end(&self, limit: Duration) -> Option<String> {
        if self.ends_within(limit) {
            return None;
        }
        let state = processes::describe(&self.mark);
        processes::kill_all(&self.mark);
        let _ = self.ends_within(HANG);
        Some(state)
    }

    /// Waits until a rank has stopped itself, and lets it go on a second later.
    fn let_go_on(&self) {
        let limit = Instant::now() + HANG;
        while Instant::now() < limit && !self.ends_within(Duration::ZERO) {
            let Ok(pid) = self.faults.recv_timeout(Duration::from_millis(10)) else { continue };
            while processes::state(pid) != Some('T') && Instant::now() < limit {
                std::thread::yield_now();
            }
            sleep(STOPPED);
            let _ = kill(pid, Signal::SIGCONT);
            return;
        }
    }

    /// The first answer of `look` that is one, while the launcher lives.
    fn wait_for<T>(&self, look: impl Fn() -> Option<T>) -> Option<T> {
        while !self.ends_within(Duration::ZERO) {
            if let Some(found) = look() {
                return Some(found);
            }
            if self.started.elapsed() > HANG {
                return None;
            }
            std::thread::yield_now();
        }
        None
    }

    fn supervisor(&self) -> Option<Pid> {
        self.wait_for(|| processes::children(self.guard()).first().copied())
    }

    /// SIGKILL of a rank, as soon as it exists; which it was, if that is known, and when.
    fn kill_rank(&self, case: &Case) -> (Option<u32>, Option<Instant>) {
        let What::Rank { rank, .. } = case.what else { return (None, None) };
        let Some(supervisor) = self.supervisor() else { return (None, None) };
        let nth = || processes::children(supervisor).get(rank as usize).copied();
        let Some(victim) = self.wait_for(nth) else { return (None, None) };
        let named = processes::rank_of(victim);
        let now = Instant::now();
        (named, kill(victim, Signal::SIGKILL).is_ok().then_some(now))
    }

    /// SIGKILL of that rank, once it runs the ranks' program.
    fn kill_named(&self, rank: u32) -> Option<Instant> {
        let supervisor = self.supervisor()?;
        let is_it = |pid: &Pid| processes::rank_of(*pid) == Some(rank);
        let victim = self.wait_for(|| processes::children(supervisor).into_iter().find(is_it))?;
        let now = Instant::now();
        kill(victim, Signal::SIGKILL).is_ok().then_some(now)
    }

    /// The guard, when its child has been stopped: as soon as that has its own name, before which it
    /// hears nothing of the guard, and has started nothing.
    fn with_its_child_stopped(&self) -> Option<Pid> {
        let supervisor = self.supervisor()?;
        self.wait_for(|| {
            let name = std::fs::read_to_string(format!("/proc/{supervisor}/comm")).ok()?;
            (name.trim_end() == "onesided-job").then_some(())
        })?;
        kill(supervisor, Signal::SIGSTOP).ok()?;
        Some(self.guard())
    }

    fn strike(&mut self, blow: Blow, seed: u64) -> Option<Instant> {
        let (whom, signal) = match blow {
            Blow::KillGuard => (self.guard(), Signal::SIGKILL),
            Blow::KillSupervisor => (self.supervisor()?, Signal::SIGKILL),
            Blow::StopAndInterrupt => (self.with_its_child_stopped()?, Signal::SIGINT),
            Blow::StopAndKill => (self.with_its_child_stopped()?, Signal::SIGKILL),
            Blow::StopGuard => {
                let supervisor = self.supervisor()?;
                kill(self.guard(), Signal::SIGSTOP).ok()?;
                // Not waited for by who is stopped: the number is its own.
                let _ = kill(supervisor, Signal::SIGKILL);
                (self.guard(), Signal::SIGCONT)
            }
            Blow::Interrupt | Blow::InterruptTwice => (self.guard(), Signal::SIGINT),
            Blow::Terminate => (self.guard(), Signal::SIGTERM),
            Blow::HangUp => (self.guard(), Signal::SIGHUP),
            Blow::CloseOutput => {
                drop(self.child.stdout.take());
                return Some(Instant::now());
            }
        };
        let now = Instant::now();
        kill(whom, signal).ok()?;
        if blow == Blow::InterruptTwice && !self.ends_within(Duration::from_millis(seed % 150)) {
            // Not waited for: the number is its own.
            let _ = kill(whom, signal);
        }
        Some(now)
    }

    pub fn finish(mut self, mut rank: Option<u32>, blow: Option<Instant>) -> Seen {
        let hangs = self.await_end(HANG * self.slowness);
        let ended = Instant::now();
        let status = self.child.wait().expect("rmarun can be waited for");
        // A killed launcher cannot wait for the others; otherwise nothing may be left now.
        let backoff = if status.signal().is_some() { GONE * self.slowness } else { Duration::ZERO };
        let (left, gone) = self.what_is_left(ended, backoff);
        if left.is_some() {
            processes::kill_all(&self.mark);
        }
        let stderr = join(self.stderr);
        let received = self.faults.try_iter().count() > 0 || stderr.contains("fault: rank ");
        let what = stderr.lines().find_map(|line| line.strip_prefix("fault: rank "));
        rank = rank.or_else(|| what?.split(',').next()?.parse().ok());
        Seen {
            status,
            stdout: self.stdout.map_or_else(String::new, join),
            stderr,
            rank,
            hit: blow.is_some() || received,
            left,
            hangs,
            took: blow.map(|blow| gone - blow),
        }
    }

    /// What there still is of the job after `backoff`, or when it was seen to be gone.
    fn what_is_left(&self, ended: Instant, backoff: Duration) -> (Option<String>, Instant) {
        loop {
            let left = processes::marked(&self.mark);
            let name = self.name.as_ref().filter(|name| name.exists());
            if left.is_empty() && name.is_none() {
                let gone = if backoff.is_zero() { ended } else { Instant::now() };
                return (None, gone);
            }
            if ended.elapsed() >= backoff {
                let name = name.map(|name| format!("  {}\n", name.display()));
                if let Some(name) = &self.name {
                    let _ = std::fs::remove_file(name);
                }
                let state = processes::describe(&self.mark);
                return (Some(state + &name.unwrap_or_default()), Instant::now());
            }
            std::thread::yield_now();
        }
    }
}

/// Passes on which process fails, if a line reports that.
fn report(faults: &Sender<Pid>, line: &str) {
    let pid = line.strip_prefix("fault: rank ").and_then(|rest| rest.split("pid ").nth(1));
    if let Some(pid) = pid.and_then(|pid| pid.trim().parse().ok()) {
        // The output of a job that must end by itself is read afterwards.
        let _ = faults.send(Pid::from_raw(pid));
    }
}

fn lines(source: impl Read, each: impl Fn(&str)) -> String {
    let mut all = String::new();
    for line in BufReader::new(source).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        each(&line);
        all += &line;
        all.push('\n');
    }
    all
}
