//! The launcher's messages and the exit code, by the cause of a job's end.

pub mod conflicts;
pub mod deadlock;
pub mod digest;
pub mod file;
mod findings;
pub mod last_calls;
pub mod live;
#[cfg(test)]
mod made_up;
pub mod page;
mod reason;
pub mod standing;
pub mod statistics;

use crate::launch::RankStatus;
use crate::launcher::limits::Need;
use crate::{Call, Error};
use deadlock::Deadlock;
use nix::errno::Errno;
use nix::sys::signal::Signal;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

/// The command line is wrong.
pub const USAGE: u8 = 2;
/// The launcher itself failed; see `--help`.
pub const LAUNCHER_FAILED: u8 = 125;
/// The job has lasted for its limit of time.
pub const TIMED_OUT: u8 = 122;
/// The ranks wait for one another for ever.
pub const DEADLOCKED: u8 = 123;
/// Accesses of a checked job conflict.
pub const CONFLICTS: u8 = 124;
/// The code of a job under `--strict` that has not completed, received or freed all; of C programs, `MPI_ERR_PENDING`.
pub const PENDING: u8 = 18;
const CANNOT_EXECUTE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// The end of the message for a job whose deadlock is only reported.
pub const JOB_GOES_ON: &str = "job goes on";

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Exited(i32),
    Killed(i32),
}

impl How {
    /// Whether it was SIGKILL.
    pub fn is_kill(self) -> bool {
        self == How::Killed(Signal::SIGKILL as i32)
    }
}

/// The end of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankEnd {
    pub rank: u32,
    pub pid: i32,
    pub how: How,
    pub status: RankStatus,
    /// The kernel has killed processes for lack of memory during this job.
    pub out_of_memory: bool,
}

/// Why a job could not start.
#[derive(Debug)]
pub enum Refusal {
    /// An error of the launcher.
    Launcher(String),
    /// Cargo could not build.
    Build { what: String, code: u8 },
    /// The program is compiled for another MPI.
    Foreign { program: String, library: String },
    /// The program could not be started.
    Program { program: String, error: io::Error },
}

impl Refusal {
    pub fn system(what: &str, error: impl Into<io::Error>) -> Refusal {
        Refusal::Launcher(format!("{what}: {}", plain(&error.into())))
    }

    /// The system refuses what rank number `rank` needs to be started.
    pub fn rank(rank: u32, ranks: u32, need: Need, error: io::Error) -> Refusal {
        let why = need.explain(&error, rank.into()).map_or(String::new(), |why| format!("; {why}"));
        Refusal::Launcher(format!("cannot start rank {rank} of {ranks}: {}{why}", plain(&error)))
    }

    pub fn job(error: Error) -> Refusal {
        Refusal::Launcher(match error {
            // The error's own sentence is for a rank.
            Error::NotInJob { what } => what,
            other => other.to_string(),
        })
    }

    pub fn code(&self) -> u8 {
        match self {
            Refusal::Launcher(_) => LAUNCHER_FAILED,
            Refusal::Build { code, .. } => *code,
            Refusal::Foreign { .. } => CANNOT_EXECUTE,
            Refusal::Program { error, .. } => match error.raw_os_error().map(Errno::from_raw) {
                Some(Errno::ENOENT) => NOT_FOUND,
                _ => CANNOT_EXECUTE,
            },
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Launcher(what) => f.write_str(what),
            Refusal::Build { what, .. } => write!(f, "cargo could not build {what}"),
            Refusal::Foreign { program, library } => write!(
                f,
                "'{program}' is compiled for another MPI, which its own launcher has to start: it \
                 needs {library}, and this rmarun has none of that name; to run it here, compile it with \
                 rmacc or rmacxx"
            ),
            Refusal::Program { program, error } => {
                write!(f, "cannot start '{program}': {}", plain(error))
            }
        }
    }
}

/// The first thing that went wrong in a job.
#[derive(Debug)]
pub enum Cause {
    /// A rank was killed or ended with a code other than zero.
    Rank(RankEnd),
    /// A rank ended with code zero without finalizing.
    NotFinished(RankEnd),
    /// A rank ended with code zero, but had not done what `--strict` makes an error.
    HasLeft(RankEnd),
    /// A rank ended without having joined a job that others joined.
    NotJoined(RankEnd),
    /// Ranks wait for ever.
    Deadlock(Deadlock),
    /// The job has lasted for that time; and the state of its ranks then.
    Timeout(Duration, String),
    /// The beginning of the segment was overwritten.
    Damaged,
    /// The launcher got a signal to end.
    Signal(Signal),
    /// The guard was killed.
    GuardDied,
    /// A stream of the launcher cannot be written any more.
    Output(&'static str, io::Error),
    /// A rank could not be started, or the launcher could not continue.
    Refused(Refusal),
}

impl Cause {
    /// The cause that the end of a rank is by itself; `None` for a normal end.
    pub fn of(end: &RankEnd) -> Option<Cause> {
        match end.how {
            How::Exited(0) if end.status.joined && !end.status.finished => {
                Some(Cause::NotFinished(end.clone()))
            }
            How::Exited(0) if end.status.has_left => Some(Cause::HasLeft(end.clone())),
            How::Exited(0) => None,
            _ => Some(Cause::Rank(end.clone())),
        }
    }

    /// The rank that ended the job, if one did.
    pub fn rank(&self) -> Option<u32> {
        match self {
            Cause::Rank(end)
            | Cause::NotFinished(end)
            | Cause::HasLeft(end)
            | Cause::NotJoined(end) => Some(end.rank),
            _ => None,
        }
    }

    /// The exit code of the job, never zero.
    pub fn code(&self) -> u8 {
        match self {
            Cause::Rank(RankEnd { how: How::Exited(code), .. }) => *code as u8,
            Cause::Rank(RankEnd { how: How::Killed(signal), .. }) => signal_code(*signal),
            Cause::NotFinished(_) | Cause::NotJoined(_) | Cause::Damaged => LAUNCHER_FAILED,
            Cause::HasLeft(_) => PENDING,
            Cause::Deadlock(_) => DEADLOCKED,
            Cause::Timeout(..) => TIMED_OUT,
            Cause::Signal(signal) => signal_code(*signal as i32),
            Cause::GuardDied => signal_code(Signal::SIGKILL as i32),
            Cause::Output(_, error) if error.kind() == io::ErrorKind::BrokenPipe => {
                signal_code(Signal::SIGPIPE as i32)
            }
            Cause::Output(..) => LAUNCHER_FAILED,
            Cause::Refused(refusal) => refusal.code(),
        }
    }

    /// One sentence, and in a deadlock a line for each waiting rank. `program` is the ranks' program,
    /// `joined` the number of ranks that joined the job.
    pub fn sentence(&self, program: &str, joined: usize, ranks: u32) -> String {
        let ending = format!("job ended, exit code {}", self.code());
        match self {
            Cause::Deadlock(deadlock) => deadlock.lines(&ending),
            _ => format!("{}; {ending}", self.event(program, joined, ranks)),
        }
    }

    /// [`Cause::sentence`] for a job that continues.
    pub fn loss(&self, program: &str, joined: usize, ranks: u32) -> String {
        format!("{}; the others go on", self.event(program, joined, ranks))
    }

    /// The event.
    fn event(&self, program: &str, joined: usize, ranks: u32) -> String {
        let who = |end: &RankEnd| format!("rank {} ({program}, pid {})", end.rank, end.pid);
        match self {
            // Printed with all waiting ranks, in `sentence`.
            Cause::Deadlock(_) => String::new(),
            Cause::Rank(end) => {
                let why = if end.out_of_memory { " (perhaps for lack of memory)" } else { "" };
                format!("{} {}{why}{}", who(end), how(end.how), place(end, joined))
            }
            Cause::NotFinished(end) => {
                let place = place(end, joined);
                format!("{} exited with code 0{place} without leaving the job (finalize)", who(end))
            }
            Cause::HasLeft(end) => {
                let what = "left the job before it had done what is named above";
                format!("{} {what}, which is an error under --strict", who(end))
            }
            Cause::NotJoined(end) => format!(
                "{} ended without joining the job, which {joined} of {ranks} ranks joined",
                who(end)
            ),
            Cause::Timeout(limit, table) => {
                format!("{table}the job has lasted for {} s (--timeout)", limit.as_secs_f64())
            }
            Cause::Damaged => {
                "the job's segment is damaged: something, most likely a rank that writes \
                               where it should not, has written over its beginning"
                    .to_owned()
            }
            Cause::Signal(signal) => format!("{signal} received"),
            Cause::GuardDied => "the launcher was killed".to_owned(),
            Cause::Output(stream, error) => match error.kind() {
                io::ErrorKind::BrokenPipe => format!("no process reads {stream} any more"),
                _ => format!("cannot write {stream}: {}", plain(error)),
            },
            Cause::Refused(refusal) => refusal.to_string(),
        }
    }
}

/// The last message of a job that continued without failed ranks, of which the first had `cause`.
pub fn went_on(lost: usize, ranks: u32, cause: &Cause) -> String {
    format!("{lost} of {ranks} ranks failed; job ended, exit code {}", cause.code())
}

fn how(how: How) -> String {
    match how {
        How::Exited(code) => format!("exited with code {code}"),
        How::Killed(signal) => format!("was killed by {}", signal_name(signal)),
    }
}

/// The call in which a rank ended. Empty in a job of programs that do not use the library, and for a
/// program that exits outside any call, as programs do.
fn place(end: &RankEnd, joined: usize) -> String {
    let RankStatus { joined: has_joined, finished, call, window, .. } = &end.status;
    match (has_joined, finished, call) {
        (false, ..) if joined == 0 => String::new(),
        (false, ..) => " before it joined the job".to_owned(),
        // A main function that returns an error has finalized before it exits.
        (true, _, Call::None) if matches!(end.how, How::Exited(_)) => String::new(),
        (true, true, _) => " after it had left the job".to_owned(),
        (true, false, Call::None) => format!(" {}", Call::None),
        (true, false, Call::NotRecorded) => ", in what call is not recorded".to_owned(),
        (true, false, call) => match window {
            Some(window) => format!(" in {call} on window '{window}'"),
            None => format!(" in {call}"),
        },
    }
}

/// The message for a job in which no rank joined.
pub fn none_joined(program: &str, ranks: u32, required: bool) -> String {
    let ranks = match ranks {
        1 => "the only rank did not join the job".to_owned(),
        _ => format!("none of the {ranks} ranks joined the job"),
    };
    match required {
        true => format!("{ranks}, but --require-join is given; exit code {LAUNCHER_FAILED}"),
        false => format!("note: {ranks}; '{program}' ran as a plain program"),
    }
}

/// The exit code for an end by signal number `signal`, as in a shell.
pub fn signal_code(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// "signal 9 (SIGKILL)".
pub fn signal_name(signal: i32) -> String {
    match Signal::try_from(signal) {
        Ok(known) => format!("signal {signal} ({known})"),
        Err(_) => format!("signal {signal}"),
    }
}

/// The system's message without Rust's "(os error 2)".
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

/// A message of the launcher as one or more lines.
pub fn line(message: &str) -> String {
    message.lines().map(|line| format!("rmarun: {line}\n")).collect()
}

/// Rows of cells, in columns.
fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|cells| cells[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or(0)).collect();
    let line = |cells: &[String; N]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// Prints a message on standard error.
pub fn print(message: &str) {
    // Ignored if standard error is closed.
    let _ = io::stderr().write_all(line(message).as_bytes());
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
