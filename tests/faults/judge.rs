//! What must be reported and done in each case.

use crate::case::{Blow, Case, What};
use crate::job::Seen;
use crate::printed;
use crate::survivors;
use nix::libc;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

/// Kinds of failure, each a column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    Hang,
    Code,
    Report,
    /// What the survivors have printed.
    Survivors,
    Left,
}

pub struct Verdict {
    /// Whether the fault happened at all.
    pub hit: bool,
    pub wrong: Vec<(Wrong, String)>,
    pub took: Option<Duration>,
    /// Everything that was seen, for a failure.
    pub output: String,
}

pub fn verdict(case: &Case, seen: &Seen) -> Verdict {
    let mut wrong = Vec::new();
    if let Some(state) = &seen.hangs {
        wrong.push((Wrong::Hang, format!("it hangs:\n{state}")));
    } else if case.goes_on {
        let expected = if seen.hit { expected(case) } else { 0 };
        let one = !matches!(case.what, What::Several { .. });
        wrong.extend(survivors::problems(case, seen, one.then_some(expected)));
    } else {
        let code = code(seen);
        let expected = if seen.hit { expected(case) } else { 0 };
        if code != expected {
            wrong.push((Wrong::Code, format!("exit code {code}, not {expected}")));
        }
        if let Err(problem) = report(case, seen) {
            wrong.push((Wrong::Report, problem));
        }
    }
    if let Some(left) = &seen.left {
        wrong.push((Wrong::Left, format!("left:\n{left}")));
    }
    let output = format!("{}{}", seen.stdout, seen.stderr);
    Verdict { hit: seen.hit, wrong, took: seen.took, output }
}

/// As a shell has it.
pub fn code(seen: &Seen) -> i32 {
    seen.status.code().or(seen.status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

/// The exit code that `rmarun --help` promises.
fn expected(case: &Case) -> i32 {
    match &case.what {
        What::Site { site, action, .. } => match *action {
            "kill" => 128 + libc::SIGKILL,
            "abort" | "oom" => 128 + libc::SIGABRT,
            "segv" => 128 + libc::SIGSEGV,
            "panic" => 101,
            // A rank that has finished may do that.
            "exit0" if site == "Finished" => 0,
            "exit0" => 125,
            _ => 0,
        },
        What::Rank { .. } | What::Ranks { .. } | What::Several { .. } => 128 + libc::SIGKILL,
        What::Launcher { blow, .. } => match blow {
            Blow::KillGuard | Blow::KillSupervisor | Blow::StopAndKill | Blow::StopGuard => {
                128 + libc::SIGKILL
            }
            Blow::Interrupt | Blow::InterruptTwice | Blow::StopAndInterrupt => 128 + libc::SIGINT,
            Blow::Terminate => 128 + libc::SIGTERM,
            Blow::HangUp => 128 + libc::SIGHUP,
            Blow::CloseOutput => 128 + libc::SIGPIPE,
        },
    }
}

/// Checks the launcher's one line.
fn report(case: &Case, seen: &Seen) -> Result<(), String> {
    let lines = printed::launcher_lines(&seen.stderr);
    let words = words(case, seen);
    if words.is_empty() {
        return match lines[..] {
            [] => Ok(()),
            // A half of the launcher that is left reports why it ends the job.
            [_] if seen.status.signal().is_some() => Ok(()),
            _ => Err(format!("no line was expected, but it printed {lines:?}")),
        };
    }
    let [line] = lines[..] else {
        return Err(format!("one line was expected, but it printed {lines:?}"));
    };
    match words.iter().find(|any| !any.split('|').any(|word| line.contains(word))) {
        Some(word) => Err(format!("no '{word}' in: {line}")),
        None => last_call(line, &printed::last_calls(&seen.stderr)),
    }
}

/// Checks that the last call in the table is the one that the line about the rank names.
fn last_call(line: &str, rows: &[Vec<&str>]) -> Result<(), String> {
    let Some((rank, how)) =
        line.strip_prefix("rmarun: rank ").and_then(|line| line.split_once(' '))
    else {
        return Ok(());
    };
    if how.starts_with("(sh, ") || line.contains(" in window free") {
        // A rank below a shell that was killed goes on; and the name goes with the window.
        return Ok(());
    }
    let how = how.replace(" without leaving the job (finalize)", "");
    let place = how.rsplit_once("; job ended").and_then(|(how, _)| how.rsplit_once(" in "));
    let expected = place.map(|(_, place)| match place.split_once(" on window '") {
        Some((call, window)) => (format!("in {call}"), window.trim_end_matches('\'')),
        None => (format!("in {place}"), "-"),
    });
    let last = rows.last().map(|row| (row[0], row[1], row[2]));
    let is_right = match (&expected, last) {
        (Some((call, window)), last) => last == Some((rank, call, window)),
        (None, Some((of, call, _))) => of == rank && !call.starts_with("in "),
        (None, None) => true,
    };
    if is_right {
        Ok(())
    } else {
        Err(format!("the last call is {last:?}, not {expected:?}: {line}"))
    }
}

/// What must stand in the line of a rank that failed, each a list of alternatives; nothing if there must be no line.
pub fn words(case: &Case, seen: &Seen) -> Vec<String> {
    if !seen.hit || seen.status.signal().is_some() {
        return Vec::new();
    }
    let rank = seen.rank.map_or_else(|| "rank ".to_owned(), |rank| format!("rank {rank} ("));
    match &case.what {
        What::Site { action: "stop", .. } => Vec::new(),
        What::Site { action: "exit0", site, .. } if site == "Finished" => Vec::new(),
        What::Site { action, site, .. } => {
            let how = match *action {
                "kill" => "killed by signal 9 (SIGKILL)",
                "abort" | "oom" => "killed by signal 6 (SIGABRT)",
                "segv" => "killed by signal 11 (SIGSEGV)",
                "exit0" => "exited with code 0|ended without joining",
                _ => "exited with code 101",
            };
            vec![rank, how.to_owned(), place(site, action).to_owned()]
        }
        // Each may have failed in its own way.
        What::Several { .. } if case.goes_on => Vec::new(),
        // Which of them was first, the launcher knows best.
        What::Several { .. } | What::Ranks { .. } => {
            vec!["rank ".to_owned(), "killed by signal 9 (SIGKILL)".to_owned()]
        }
        What::Rank { .. } => vec![rank, "killed by signal 9 (SIGKILL)".to_owned()],
        What::Launcher { blow, .. } => vec![match blow {
            Blow::KillGuard | Blow::StopAndKill => "the launcher was killed".to_owned(),
            Blow::KillSupervisor | Blow::StopGuard => {
                "the supervisor of the job was killed by signal 9".to_owned()
            }
            Blow::Interrupt | Blow::InterruptTwice | Blow::StopAndInterrupt => {
                "SIGINT received".to_owned()
            }
            Blow::Terminate => "SIGTERM received".to_owned(),
            Blow::HangUp => "SIGHUP received".to_owned(),
            Blow::CloseOutput => "no process reads standard output any more".to_owned(),
        }],
    }
}

/// Where the rank was when it came to the site.
fn place(site: &str, action: &str) -> &'static str {
    // No other rank may have joined yet: then the report has no word of joining.
    let exits = matches!(action, "exit0" | "panic");
    match site {
        "BeforeJoin" | "Mapped" => "",
        // Programs exit outside of any call: that is no news.
        "Joined" | "Finishing" | "Finished" if exits => "",
        "Joined" | "Finishing" => " outside the library; ",
        "Finished" => " after it had left the job; ",
        "FencePre" | "FencePost" | "FenceArrive" | "FencePass" => " in fence on window '",
        "PostPre" | "Post" | "TablePre" => " in post on window '",
        "StartPost" | "Start" | "TableCarry" => " in start on window '",
        "CompletePre" | "Complete" => " in complete on window '",
        "WaitPost" | "Wait" => " in wait on window '",
        "WindowTaken" | "WindowNamed" | "WindowKnown" | "WindowTouched" => " in window ",
        "FreeSynced" | "FreeDone" => " in window free",
        "MidPut" => " in put on window '",
        "MidGet" => " in get on window '",
        "MidAccumulate" | "AccumulatePost" | "AccumulatePre" => " in accumulate on window '",
        // Too short to say so: it costs as much as a store.
        "Flush" => "",
        "FlushAll" => " in flush_all",
        "FlushLocal" => " in flush_local",
        "FlushLocalAll" => " in flush_local_all",
        "WinSync" => " in win_sync",
        "NotifyPost" => " in wait_notify on window '",
        // The tools look for a value by test_until.
        "WatchPost" => " in wait_until on window '| in test_until on window '",
        // Also in the signals of the tests, which are no calls.
        "ParkWaiter" | "ParkWaker" | "ParkBarrier" | "ParkReleased" => "",
        // Also where a thread takes its turn at a window that it looks at or drops.
        "ShardAnnounce" | "ShardLook" | "ShardWithdraw" | "ShardWithdrawn" => "",
        "AttachPost" | "AttachPre" => " in attach| in detach",
        // Also in the thread that writes what others put to private memory. It makes no calls.
        site if site.starts_with("Message") && exits => "",
        site if site.starts_with("Message") => " in | outside the library; ",
        _ => " in ",
    }
}
