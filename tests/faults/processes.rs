//! The processes of a job, found by a mark in their environment that no other process has.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;

pub const MARK: &str = "ONESIDED_TEST_MARK";

/// The processes with this mark. Dead ones have no environment any more.
pub fn marked(mark: &str) -> Vec<Pid> {
    let line = format!("{MARK}={mark}");
    let processes = fs::read_dir("/proc").expect("/proc can be listed").flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |pid: &i32| variables(*pid).any(|variable| variable == line.as_bytes());
    numbers.filter(has).map(Pid::from_raw).collect()
}

fn variables(pid: i32) -> impl Iterator<Item = Vec<u8>> {
    let all = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    all.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect::<Vec<_>>().into_iter()
}

/// Which rank a process is, if it runs the ranks' program already.
pub fn rank_of(pid: Pid) -> Option<u32> {
    let prefix = format!("{}=", onesided::launch::ENV_RANK);
    variables(pid.as_raw()).find_map(|variable| {
        let value = variable.strip_prefix(prefix.as_bytes())?;
        std::str::from_utf8(value).ok()?.parse().ok()
    })
}

/// The children of a process, in the order in which they were started.
pub fn children(pid: Pid) -> Vec<Pid> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw).collect()
}

/// The letter for what a process is doing; `T` is stopped.
pub fn state(pid: Pid) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat[stat.rfind(')')? + 1..].trim_start().chars().next()
}

/// Kills every process with this mark.
pub fn kill_all(mark: &str) {
    for pid in marked(mark) {
        let _ = kill(pid, Signal::SIGKILL);
    }
}

/// What the processes with this mark are doing, for a report of a hang.
pub fn describe(mark: &str) -> String {
    let one = |pid: Pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let waits = fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
        let (rank, state) = (rank_of(pid), state(pid).unwrap_or('?'));
        format!("  {pid} {} rank {rank:?} {state} {waits}\n", name.trim())
    };
    marked(mark).into_iter().map(one).collect()
}
