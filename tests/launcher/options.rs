//! Options for output, input, processors and messages, and questions about a job that runs.

use crate::harness::{Started, finish, rmarun, run};
use nix::pty::openpty;
use nix::sys::signal::Signal;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A directory that does not exist yet, for one test.
fn directory(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

/// Runs the launcher with that standard input.
fn run_with(input: &str, arguments: &[&str]) -> Vec<String> {
    let mut command = rmarun(arguments);
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    command.stdin(reader);
    let started = Started::new(command);
    writer.write_all(input.as_bytes()).expect("the input fits the pipe");
    drop(writer);
    let mut lines: Vec<String> =
        finish(started).expect(0).stdout.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn first_processor() -> usize {
    let allowed = sched_getaffinity(None).expect("a process may ask");
    (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).expect("this test runs somewhere")
}

#[test]
fn each_rank_writes_to_a_file_of_its_own() {
    let path = directory("ranks/output");
    let folder = path.to_str().expect("UTF-8");
    let script = "echo out $ONESIDED_RANK; echo err >&2; echo again";
    for ranks in ["1", "3"] {
        let line = ["-n", ranks, "-q", "--output-filename", folder, "sh", "-c", script];
        let run = run(&line).expect(0);
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    }
    for rank in 0..3 {
        let text = std::fs::read_to_string(path.join(format!("rank.{rank}"))).expect("its file");
        assert_eq!(text, format!("out {rank}\nerr\nagain\n"));
    }
    run(&["-n", "2", "--output-filename", "/proc/nowhere", "true"])
        .expect(125)
        .reports(&["--output-filename /proc/nowhere"]);
}

#[test]
fn the_input_is_read_by_the_ranks_that_are_named() {
    let script = "while read line; do echo $ONESIDED_RANK $line; done";
    let lines = |readers| run_with("a\nb\n", &["-n", "3", "--stdin", readers, "sh", "-c", script]);
    assert_eq!(lines("0"), ["0 a", "0 b"]);
    assert_eq!(lines("2"), ["2 a", "2 b"]);
    assert_eq!(lines("none"), [""; 0]);
    assert_eq!(lines("all"), ["0 a", "0 b", "1 a", "1 b", "2 a", "2 b"]);
    // A rank that does not read stops nothing.
    let script = "[ $ONESIDED_RANK = 1 ] || exec cat";
    let line = ["-n", "2", "--stdin", "all", "sh", "-c", script];
    assert_eq!(run_with("c\n", &line), ["c"]);
}

#[test]
fn a_job_is_as_talkative_as_is_wanted() {
    let lines = |options: &[&str]| {
        let run = run(&[&["-n", "2"], options, &["true"]].concat()).expect(0);
        run.launcher_lines().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines(&["--quiet"]), [""; 0]);
    assert!(matches!(&lines(&[])[..], [note] if note.contains("note: none of the 2 ranks")));
    let verbose = lines(&["--verbose"]);
    assert!(
        verbose[1].contains("rank 1: process ") && verbose[1].contains("'true'"),
        "{verbose:?}"
    );
    assert!(verbose.last().is_some_and(|last| last.contains("the job took ")), "{verbose:?}");
    // A failure is no note.
    run(&["-n", "1", "-q", "false"]).expect(1).reports(&["rank 0 (false", "code 1"]);
}

#[test]
fn ranks_are_bound_to_the_processors_that_are_reported() {
    let first = first_processor().to_string();
    let script = "echo $ONESIDED_RANK $(grep Cpus_allowed_list /proc/self/status | cut -f2)";
    for bind in ["none", "socket", "core", "hwthread"] {
        let options = ["-n", "2", "--cpu-set", &first, "--bind-to", bind, "--map-by", "socket"];
        let run =
            run(&[&options[..], &["--report-bindings", "sh", "-c", script]].concat()).expect(0);
        let mut lines: Vec<&str> = run.stdout.lines().collect();
        lines.sort();
        assert_eq!(lines, [format!("0 {first}"), format!("1 {first}")], "{bind}");
        let report = format!("rmarun: rank 1: processors {first}");
        assert!(run.launcher_lines().contains(&report.as_str()), "{bind}: {run:#?}");
    }
    let last = (CpuSet::MAX_CPU - 1).to_string();
    run(&["-n", "1", "--cpu-set", &last, "true"]).expect(125).reports(&["--cpu-set", &last]);
}

#[test]
fn status_without_a_process_lists_the_jobs() {
    let start = || {
        let mut job =
            Started::new(rmarun(&["-n", "1", "sh", "-c", "echo started; exec sleep 1000"]));
        assert_eq!(job.line(), "started");
        job
    };
    // Other tests may run jobs, too.
    let jobs = [start(), start()];
    let run = run(&["--status"]).expect(125);
    for job in &jobs {
        let line = format!("rmarun:   {}  ", job.pid());
        let listed = run.stderr.lines().find(|listed| listed.starts_with(&line));
        assert!(listed.is_some_and(|listed| listed.contains("-n 1 sh -c")), "{run:#?}");
    }
}

/// Among the processes of a namespace of its own, in which no other test runs a job.
#[test]
fn status_without_a_process_is_of_the_only_job() {
    let may = Command::new("unshare").args(["--mount", "--pid", "--fork", "true"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        println!("not tested: this process may not make namespaces");
        return;
    }
    let alone = |arguments: &[&str]| {
        let command = rmarun(arguments);
        let mut inside = Command::new("unshare");
        inside.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-ec"]);
        inside.args(["mount -t proc proc /proc; exec \"$@\"", "sh"]);
        inside.arg(command.get_program()).args(command.get_args());
        finish(Started::new(inside))
    };
    alone(&["--status"]).expect(125).reports(&["no job of this user runs"]);
    // The rank asks.
    let run = alone(&["-n", "1", env!("CARGO_BIN_EXE_rmarun"), "--status"]).expect(0);
    let rows: Vec<&str> = run.stdout.lines().collect();
    assert!(rows.len() == 2 && rows[0].starts_with("rank  pid"), "{run:#?}");
    assert!(rows[1].starts_with("0 ") && rows[1].contains("not in the job yet"), "{run:#?}");
}

#[test]
fn quit_at_a_terminal_prints_the_state_and_ends_nothing() {
    let pty = openpty(None, None).expect("the system has pseudo-terminals");
    let mut command = rmarun(&["-n", "2", "sh", "-c", "echo $$; exec sleep 1000"]);
    command.stdin(Stdio::from(pty.slave));
    let mut job = Started::new(command);
    let ranks = job.processes(2);
    let mut stderr = job.stderr();
    job.signal(Signal::SIGQUIT);
    let mut line = || {
        let mut line = String::new();
        stderr.read_line(&mut line).expect("standard error can be read");
        line
    };
    assert!(line().starts_with("rmarun: rank  pid"));
    assert!(line().contains("not in the job yet"));
    assert!(!ranks.iter().any(|rank| rank.is_over()));
    job.signal(Signal::SIGTERM);
    finish(job).expect(128 + 15);
}

#[test]
fn quit_elsewhere_ends_the_job() {
    let mut command = rmarun(&["-n", "2", "sh", "-c", "echo $$; exec sleep 1000"]);
    command.stdin(Stdio::null());
    let mut job = Started::new(command);
    job.processes(2);
    job.signal(Signal::SIGQUIT);
    finish(job).expect(128 + 3).reports(&["SIGQUIT received"]);
}
