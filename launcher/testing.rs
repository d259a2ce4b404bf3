//! Tests with ranks: each number of ranks is a job of its own, in which every rank runs the test.
//!
//! ```
//! use onesided::{Universe, testing::Job};
//!
//! fn sum(universe: &Universe) -> onesided::Result<()> {
//!     let world = universe.world();
//!     let sum = world.allreduce(&[1_u64], onesided::Op::Sum)?;
//!     assert_eq!(sum, [u64::from(world.size())]);
//!     Ok(())
//! }
//!
//! Job::new(4).run(sum);
//! ```
//!
//! With the attribute [`#[onesided::test(ranks = [1, 4])]`](macro@crate::test) before `fn sum`, `cargo test` and
//! nextest list, filter and run the tests `sum::ranks_1` and `sum::ranks_4`. Nothing needs to be installed: the test's
//! program contains the launcher.
//!
//! # What happens
//!
//! [`Job::run`] starts the test's own program again, first as the launcher and by it as each rank, for this one test.
//! There the same line is reached, and each rank runs the body. What the test does before and after `run` happens in all
//! these processes or, after it, in the first alone. The output is collected. It is printed, by rank, if the test fails
//! or shows its output.
//!
//! In a test of documentation, [`Job::run`] in `main` does the same.

mod printed;

use super::{guard, report};
use crate::Universe;
use crate::comm::Comm;
use crate::launch::{self, TestJob};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{getpid, getppid, gettid};
use printed::Printed;
use std::cell::Cell;
use std::env;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode, Stdio, Termination};
use std::time::Duration;

/// The limit of a job that sets none.
const LIMIT: Duration = Duration::from_secs(60);
/// The code of a rank that panics, as in any program.
const PANICKED: i32 = 101;

/// A job of ranks that run the body of a test.
///
/// ```
/// use onesided::testing::Job;
/// use std::time::Duration;
///
/// Job::new(3).timeout(Duration::from_secs(10)).option("--check").run(|universe| {
///     assert_eq!(universe.world().size(), 3);
/// });
/// ```
#[derive(Clone, Debug)]
#[must_use = "the job is started by `run`"]
pub struct Job {
    ranks: u32,
    limit: Duration,
    options: Vec<OsString>,
}

thread_local! {
    /// How many jobs the test of this thread has begun.
    static JOBS: Cell<u32> = const { Cell::new(0) };
}

impl Job {
    /// A job of that number of ranks, which may last for 60 seconds.
    pub fn new(ranks: u32) -> Job {
        Job { ranks, limit: LIMIT, options: Vec::new() }
    }

    /// Ends the job after this time, and the test fails with the state of each rank.
    pub fn timeout(mut self, limit: Duration) -> Job {
        self.limit = limit;
        self
    }

    /// [`Job::timeout`] in seconds.
    ///
    /// # Panics
    /// If the number is negative or too large.
    pub fn timeout_secs(self, seconds: f64) -> Job {
        self.timeout(Duration::from_secs_f64(seconds))
    }

    /// A further option of `rmarun`, such as `--check`, which lets the test fail if operations conflict.
    pub fn option(mut self, option: impl Into<OsString>) -> Job {
        self.options.push(option.into());
        self
    }

    /// Runs `body` on each rank.
    ///
    /// # Panics
    /// If a rank panics, returns an error or is killed, if ranks wait for one another for ever, or at the end of the
    /// time. The message has the cause, and what each rank has printed.
    #[track_caller]
    pub fn run<R: Termination>(self, body: impl FnOnce(&Universe) -> R) {
        let place = JOBS.get();
        JOBS.set(place + 1);
        match TestJob::of_this_process() {
            None => self.start(place),
            // Another job of the same test.
            Some(job) if job.place != place => {}
            Some(_) if launch::is_rank() => run_rank(body),
            Some(job) => self.launch(job),
        }
    }

    /// In the test: starts its program as the launcher, and waits for the end.
    #[track_caller]
    fn start(self, place: u32) {
        assert!(!launch::is_rank(), "a test that starts a job is a rank of another job");
        let job = TestJob { place, test: std::process::id() };
        let mut command = Command::new(env::current_exe().expect("the path of the test's program"));
        let output = command.args(arguments()).envs([job.variable()]).stdin(Stdio::null()).output();
        let output = output.expect("the test's program can be started again");
        let printed = Printed::of(&output);
        let ranks = self.ranks;
        assert!(output.status.success(), "a job of {ranks} ranks failed: {}", printed.report());
        printed.show();
    }

    /// In the process that the test has started: becomes the launcher.
    fn launch(self, job: TestJob) -> ! {
        let dies_with_test = set_pdeathsig(Signal::SIGKILL);
        if dies_with_test.is_err() || getppid().as_raw() as u32 != job.test {
            exit(report::LAUNCHER_FAILED.into());
        }
        printed::begin();
        let code = guard::in_child(|| super::main(self.line())).unwrap_or_else(|error| {
            report::print(&format!("cannot start the launcher of the test: {error}"));
            report::LAUNCHER_FAILED
        });
        exit(code.into())
    }

    /// The command line of the launcher.
    fn line(self) -> Vec<OsString> {
        let Job { ranks, limit, options } = self;
        let seconds = limit.as_secs_f64();
        let own = ["rmarun", "--require-join", "--tag-output", "--quiet"].map(OsString::from);
        let given = [format!("-n{ranks}"), format!("--timeout={seconds}")].map(OsString::from);
        let program = env::current_exe().expect("the path of the test's program").into_os_string();
        let line = own.into_iter().chain(given).chain(options).chain(["--".into(), program]);
        line.chain(arguments()).collect()
    }
}

/// The arguments by which the program runs the present test alone.
#[track_caller]
fn arguments() -> Vec<OsString> {
    if is_main_thread() {
        return env::args_os().skip(1).collect();
    }
    let thread = std::thread::current();
    let name = thread.name().expect("a job of ranks is started by the thread of the test");
    ["--exact", name, "--include-ignored", "--nocapture", "--test-threads=1"]
        .map(OsString::from)
        .into()
}

/// Whether no harness runs the test in a thread of its own.
fn is_main_thread() -> bool {
    gettid() == getpid()
}

/// In a rank: joins the job, runs the body, and ends the process, before a harness prints what it thinks of that.
fn run_rank<R: Termination>(body: impl FnOnce(&Universe) -> R) -> ! {
    printed::begin();
    let run = || {
        let universe = Universe::init().unwrap_or_else(|error| panic!("{error}"));
        if !is_main_thread() {
            // That of the harness, which waits for this one.
            universe.set_idle_threads(1);
        }
        let is_success = body(&universe).report() == ExitCode::SUCCESS;
        if !is_success {
            exit(1);
        }
    };
    let code = catch_unwind(AssertUnwindSafe(run)).map_or(PANICKED, |()| 0);
    exit(code)
}

#[allow(clippy::disallowed_methods, reason = "this process has a part of the test and no more")]
fn exit(code: i32) -> ! {
    std::process::exit(code)
}

/// What [`crate::test`] lends to a test: the rank's membership in its job, or all ranks.
#[diagnostic::on_unimplemented(
    message = "a test with ranks has no argument, `&Universe` or `&Comm`",
    label = "this is neither `&Universe` nor `&Comm`"
)]
#[doc(hidden)]
pub trait Lent<'a> {
    fn lent(universe: &'a Universe) -> Self;
}

impl<'a> Lent<'a> for &'a Universe {
    fn lent(universe: &'a Universe) -> Self {
        universe
    }
}

impl<'a> Lent<'a> for &'a Comm {
    fn lent(universe: &'a Universe) -> Self {
        universe.world()
    }
}
