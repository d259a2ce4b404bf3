//! Programs with a time limit, after which nothing of them is left.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long the output of a program that was killed is waited for.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How a program ended, and what it printed.
pub struct Ended {
    /// None if it was killed because its time was up.
    pub status: Option<ExitStatus>,
    pub stdout: String,
    pub took: Duration,
}

impl Ended {
    /// What is wrong, if anything.
    pub fn problem(&self) -> Option<String> {
        match self.status {
            Some(status) if status.success() => None,
            Some(status) => Some(status.to_string()),
            None => Some(format!("no end after {:.0} s", self.took.as_secs_f64())),
        }
    }
}

/// Runs the command for at most `limit`; then kills it and all processes below it, and returns
/// what it had printed.
pub fn run(command: &mut Command, limit: Duration) -> std::io::Result<Ended> {
    let started = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let finished = read(&mut child);
    let text = finished.recv_timeout(limit).ok();
    let (status, text) = match text {
        Some(text) => (Some(child.wait()?), text),
        None => {
            kill_all(&mut child);
            (None, finished.recv_timeout(LAST_WORDS).unwrap_or_default())
        }
    };
    let stdout = String::from_utf8_lossy(&text).into_owned();
    Ok(Ended { status, stdout, took: started.elapsed() })
}

/// Reads what the child prints to its end.
fn read(child: &mut Child) -> Receiver<Vec<u8>> {
    let mut stdout = child.stdout.take().expect("a pipe");
    let (done, finished) = channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stdout.read_to_end(&mut text);
        let _ = done.send(text);
    });
    finished
}

/// Launchers give their ranks process groups and sessions of their own, so a group is not enough.
fn kill_all(child: &mut Child) {
    let below = descendants(child.id());
    let _ = child.kill();
    for pid in below {
        // A process that has ended meanwhile is no problem.
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
    let _ = child.wait();
}

/// All processes that descend from this one.
fn descendants(ancestor: u32) -> Vec<i32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let parents: Vec<(i32, i32)> = processes
        .filter_map(|process| {
            let pid = process.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(process.path().join("stat")).ok()?;
            // The name of the program, in brackets, may contain anything.
            let (_, rest) = stat.rsplit_once(") ")?;
            Some((pid, rest.split(' ').nth(1)?.parse().ok()?))
        })
        .collect();
    let mut found = vec![ancestor as i32];
    let mut next = 0;
    while next < found.len() {
        let parent = found[next];
        found.extend(parents.iter().filter(|(_, its)| *its == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}
