//! `--status`: the state of a job's ranks, from another terminal.
//!
//! The segment is found through the launcher's descriptors in /proc and mapped read-only. The job is
//! not affected.

use crate::launch::{Observed, RankStatus, View, is_of_another_version, monotonic};
use crate::launcher::report::deadlock::{Deadlock, Waiting};
use crate::launcher::report::last_calls;
use crate::launcher::report::standing::{self, Row};
use crate::launcher::report::{self, Refusal};
use nix::unistd::Uid;
use rustix::param::clock_ticks_per_second;
use std::fs;
use std::io::{self, Write};
use std::os::fd::RawFd;
use std::os::linux::fs::MetadataExt;
use std::time::Duration;

/// Prints the state of the job's ranks, where process `pid` is its launcher or one of its ranks, or of the
/// only job of this user, and of each the last `calls` calls; returns the exit code.
pub fn answer(pid: Option<u32>, calls: u32) -> u8 {
    match job(pid) {
        Ok((observed, _)) => {
            let table = tables(observed.view(), calls);
            // A closed standard output is not an error.
            let _ = io::stdout().write_all(table.as_bytes());
            0
        }
        Err(refusal) => {
            report::print(&refusal.to_string());
            refusal.code()
        }
    }
}

/// The job of process `pid`, or the only one of this user, and the process that holds its segment.
pub fn job(pid: Option<u32>) -> Result<(Observed, u32), Refusal> {
    pid.map_or_else(only, Ok).and_then(observe)
}

/// The supervisor of the only job of this user.
fn only() -> Result<u32, Refusal> {
    let jobs = supervisors();
    match &jobs[..] {
        [(supervisor, _)] => Ok(*supervisor),
        [] => Err(Refusal::Launcher("no job of this user runs".to_owned())),
        several => {
            let mut text = "several jobs run; give the PID of one to --status:".to_owned();
            for (_, launcher) in several {
                let line = fs::read(format!("/proc/{launcher}/cmdline")).unwrap_or_default();
                let words = String::from_utf8_lossy(&line).replace('\0', " ");
                text.push_str(&format!("\n  {launcher}  {}", words.trim_end().escape_debug()));
            }
            Err(Refusal::Launcher(text))
        }
    }
}

/// The supervisors of this user's jobs, and their launchers.
fn supervisors() -> Vec<(u32, u32)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let job = |pid: u32| {
        let owner = fs::metadata(format!("/proc/{pid}")).ok()?.st_uid();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |name| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let is_supervisor = field("Name:") == Some("onesided-job");
        let launcher = field("PPid:")?.parse().ok()?;
        (is_supervisor && owner == Uid::effective().as_raw()).then_some((pid, launcher))
    };
    numbers.filter_map(job).collect()
}

fn observe(pid: u32) -> Result<(Observed, u32), Refusal> {
    let refused = |what: String| Err(Refusal::Launcher(what));
    let Ok(process) = fs::metadata(format!("/proc/{pid}")) else {
        return refused(format!("there is no process {pid}"));
    };
    // The process that the user has started has no segment; its child does.
    for process in std::iter::once(pid).chain(children(pid)) {
        match segment_of(process) {
            Ok(Some(observed)) => return Ok((observed, process)),
            Ok(None) => {}
            Err(refusal) => return Err(refusal),
        }
    }
    if process.st_uid() != Uid::effective().as_raw() && !Uid::effective().is_root() {
        return refused(format!("process {pid} belongs to another user"));
    }
    match fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim() {
        "rmarun" | "onesided-job" => {
            refused(format!("process {pid} has no job yet, or none any more"))
        }
        other => refused(format!("process {pid} ({other}) is not rmarun")),
    }
}

fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// The segment that a process has open, if it has one and access is allowed.
fn segment_of(pid: u32) -> Result<Option<Observed>, Refusal> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let shared = entries.filter(|entry| {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        target.starts_with("/memfd:onesided (deleted)") || target.starts_with("/dev/shm")
    });
    let numbers = shared.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    for number in numbers {
        match Observed::open(pid, number) {
            Ok(observed) => return Ok(Some(observed)),
            Err(error) if is_of_another_version(&error) => {
                let what = format!("the job of process {pid} has another version of the library");
                return Err(Refusal::Launcher(what));
            }
            // The notice of the job, or another file.
            Err(_) => {}
        }
    }
    Ok(None)
}

/// The process of a rank of the job of process `pid`, which is its launcher, or the rank itself.
pub fn process_of_rank(pid: u32, rank: Option<u32>) -> Result<u32, Refusal> {
    let (observed, _) = observe(pid)?;
    let view = observed.view();
    let process = |rank: u32| view.standing(rank).ok().filter(|s| s.joined).map(|s| s.pid);
    let rank = match (rank, view.ranks()) {
        (Some(rank), _) => rank,
        (None, _) if (0..view.ranks()).any(|rank| process(rank) == Some(pid)) => return Ok(pid),
        (None, 1) => 0,
        (None, ranks) => {
            let what = format!("--attach {pid}: which of the {ranks} ranks? as in {pid}:0");
            return Err(Refusal::Launcher(what));
        }
    };
    let wrong = |why: String| Refusal::Launcher(format!("--attach {pid}:{rank}: {why}"));
    if rank >= view.ranks() {
        return Err(wrong(format!("the last rank is {}", view.ranks() - 1)));
    }
    process(rank).ok_or_else(|| wrong(format!("rank {rank} has not joined the job yet")))
}

/// The state of a job's ranks, and of each the last `calls` calls.
pub fn tables(view: View<'_>, calls: u32) -> String {
    let calls = last_calls::table(view, 0..view.ranks(), calls as usize);
    table(view) + &calls.unwrap_or_default()
}

/// The state of a job's ranks: a heading and one line for each rank.
pub fn table(view: View<'_>) -> String {
    standing::table(&rows(view))
}

/// What the ranks do.
pub fn rows(view: View<'_>) -> Vec<Row> {
    let now = monotonic();
    let all = Deadlock::of_all(view);
    let graph = all.graph();
    let row = |rank: u32| {
        let (standing, status) = (view.standing(rank).ok()?, view.status(rank).ok()?);
        let waiting = graph.waiting(rank);
        Some(Row {
            rank,
            pid: standing.joined.then_some(standing.pid),
            is_stopped: standing.joined && is_stopped(standing.pid),
            waits_for: waiting.map(|waiting| graph.wants(waiting)),
            place: waiting
                .map(|waiting| waiting.awaited.place.clone())
                .filter(|place| !place.is_empty()),
            nanoseconds: waiting
                .map(|waiting| waiting.awaited.since)
                .or(status.since)
                .map(|since| now.saturating_sub(since)),
            // Another thread of the rank may be in another call, or in none.
            status: match waiting {
                Some(Waiting { call, window, .. }) => {
                    RankStatus { call: *call, window: window.clone(), ..status }
                }
                None => status,
            },
        })
    };
    (0..view.ranks()).filter_map(row).collect()
}

/// Whether a process has been stopped, by a signal or a debugger.
fn is_stopped(pid: u32) -> bool {
    matches!(stat(pid).first().map(String::as_str), Some("T" | "t"))
}

/// The processor time that a process has used, in all its threads.
pub fn processor_time(pid: u32) -> Option<Duration> {
    let stat = stat(pid);
    // User and system time are fields 14 and 15 of proc_pid_stat(5), of which the state is the third.
    let ticks = [11, 12].map(|at| stat.get(at).and_then(|ticks| ticks.parse::<f64>().ok()));
    let [Some(user), Some(system)] = ticks else { return None };
    Some(Duration::from_secs_f64((user + system) / clock_ticks_per_second() as f64))
}

/// The fields of /proc/PID/stat from the state on; none if the process does not exist.
fn stat(pid: u32) -> Vec<String> {
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name, which may contain any characters.
    let behind = stat.iter().rposition(|byte| *byte == b')').map_or(0, |at| at + 2);
    let fields = String::from_utf8_lossy(stat.get(behind..).unwrap_or_default());
    fields.split_ascii_whitespace().map(str::to_owned).collect()
}
