//! Deadlocks, as `rmarun` reports them, and jobs that only look like one.
//!
//! The launcher takes only ranks of one thread for blocked, and the standard harness runs a test
//! in a thread of its own; so this is a program: without a launcher it runs every shape as a job of
//! itself, and compares the launcher's report with the expected one; in a rank it is the shape.
#![allow(
    clippy::disallowed_methods,
    reason = "ranks sleep outside the library, and tell test from rank"
)]

mod innocent;
#[path = "../support/printed.rs"]
mod printed;
mod programs;
mod shapes;

use onesided::Universe;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A program, and what its deadlock is called.
pub struct Shape {
    /// What it shows.
    pub name: &'static str,
    /// How many ranks it has.
    pub ranks: u32,
    /// Further options of rmarun.
    pub options: &'static [&'static str],
    /// What each rank does.
    pub body: fn(&Universe),
    /// How the job ends.
    pub code: i32,
    /// The launcher's lines, in order. `*` stands for anything, `@word` stands for the place of the comment `// @word`.
    pub expected: &'static [&'static str],
}

const HANG: Duration = Duration::from_secs(60);
const SOURCES: [(&str, &str); 2] = [
    ("tests/deadlock/programs.rs", include_str!("programs.rs")),
    ("tests/deadlock/innocent.rs", include_str!("innocent.rs")),
];

fn main() -> ExitCode {
    let shapes = || shapes::SHAPES.iter().chain(innocent::SHAPES);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if std::env::var_os(onesided::launch::ENV_RANK).is_some() {
        let shape = shapes().find(|shape| shape.name == arguments[0]).expect("a shape");
        (shape.body)(&Universe::init().expect("a rank joins its job"));
        return ExitCode::SUCCESS;
    }
    if arguments.iter().any(|argument| argument == "--list" || argument == "--ignored") {
        return ExitCode::SUCCESS;
    }
    let filters: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let is_wanted = |shape: &&Shape| {
        filters.is_empty() || filters.iter().any(|filter| shape.name.contains(&filter[..]))
    };
    let wanted: Vec<&Shape> = shapes().filter(is_wanted).collect();
    println!("running {} shapes", wanted.len());
    // The last ones take longest, so they begin first. Jobs mostly wait, so more run than there are cores.
    let left = Mutex::new(wanted.iter().rev());
    let next = || left.lock().expect("no thread panics").next();
    let run_some = || std::iter::from_fn(next).filter(|shape| !passes(shape)).count();
    let failed: usize = std::thread::scope(|threads| {
        let runners: Vec<_> = (0..4).map(|_| threads.spawn(run_some)).collect();
        runners.into_iter().map(|runner| runner.join().expect("a job runs")).sum()
    });
    println!("{} shapes passed, {failed} failed", wanted.len() - failed);
    ExitCode::from(if failed == 0 { 0 } else { 101 })
}

/// Runs a shape, and prints whether it ended as it should.
fn passes(shape: &Shape) -> bool {
    let (code, lines, took) = run(shape);
    let expected: Vec<String> = shape.expected.iter().map(|line| placed(line)).collect();
    let are_alike = lines.len() == expected.len()
        && lines.iter().zip(&expected).all(|(line, expected)| is_like(line, expected));
    let is_right = code == shape.code && are_alike;
    let mut verdict = format!("{:34} {:5} ms", shape.name, took.as_millis());
    if !is_right {
        verdict += &format!("  FAILED: exit code {code}, should be {}", shape.code);
        verdict += &format!("\n  prints {lines:#?}\n  should print {expected:#?}");
    }
    println!("{verdict}");
    is_right
}

/// Whether a line is what it should be; `*` stands for anything.
fn is_like(line: &str, expected: &str) -> bool {
    match expected.split_once('*') {
        Some((begin, end)) => line.starts_with(begin) && line.ends_with(end),
        None => line == expected,
    }
}

/// Exit code, lines of the launcher, and how long the job took.
type Ended = (i32, Vec<String>, Duration);

fn run(shape: &Shape) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(["-n", &shape.ranks.to_string(), "--require-join"]).args(shape.options);
    if shape.ranks > 8 {
        command.env(onesided::launch::ENV_BARRIER, "tree");
    }
    command.arg("--").arg(std::env::current_exe().expect("a path")).arg(shape.name);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let begin = Instant::now();
    let child = command.spawn().expect("rmarun starts");
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    let (done, finished) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        if finished.recv_timeout(HANG).is_err() {
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        }
    });
    let output = child.wait_with_output().expect("rmarun ends");
    let took = begin.elapsed();
    let _ = done.send(());
    guard.join().expect("the guard ends");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let of_launcher = |line: &str| line.strip_prefix("rmarun: ").map(str::to_owned);
    let lines: Vec<String> =
        printed::launcher_lines(&text).into_iter().filter_map(of_launcher).collect();
    if text.lines().any(|line| !line.starts_with("rmarun: ")) {
        println!("{text}");
    }
    (output.status.code().unwrap_or(-1), lines, took)
}

/// The line with the places of its marks.
fn placed(line: &str) -> String {
    let Some((before, rest)) = line.split_once('@') else { return line.to_owned() };
    let end = rest.find(')').unwrap_or(rest.len());
    let (mark, behind) = rest.split_at(end);
    let place = SOURCES.iter().find_map(|(file, text)| {
        let is_marked = |line: &str| line.trim_end().ends_with(&format!("// @{mark}"));
        text.lines().position(is_marked).map(|at| format!("{file}:{}", at + 1))
    });
    format!("{before}{}{behind}", place.unwrap_or_else(|| panic!("no mark {mark}")))
}
