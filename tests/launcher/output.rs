//! What ranks write and read.

use crate::harness::{Process, Started, eventually, finish, rmarun, run, shell};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Writes numbered lines in pieces, each piece on its way before the next.
const WRITER: &str = r#"
    BEGIN { for (i = 0; i < 400; i++) {
        printf "%s %d", rank, i; fflush();
        printf " %0200d", i; fflush();
        printf " end\n"; fflush();
    } }"#;

/// Asserts that every rank's lines are all there, in order and whole.
fn all_whole<'a>(lines: impl Iterator<Item = &'a str>, ranks: usize) {
    let mut next: HashMap<&str, usize> = HashMap::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let [rank, number, filler, end] = words[..] else { panic!("not whole: {line}") };
        assert_eq!((filler.len(), end), (200, "end"), "not whole: {line}");
        let expected = next.entry(rank).or_default();
        assert_eq!(number.parse(), Ok(*expected), "out of order: {line}");
        *expected += 1;
    }
    assert_eq!(next.len(), ranks);
    assert!(next.values().all(|lines| *lines == 400));
}

#[test]
fn lines_of_several_ranks_never_mix() {
    let script = format!("exec awk -v rank=$ONESIDED_RANK '{WRITER}'");
    all_whole(shell(8, &script).expect(0).stdout.lines(), 8);
}

#[test]
fn lines_of_both_streams_never_mix_in_one_file() {
    let script = format!(
        "awk -v rank=o$ONESIDED_RANK '{WRITER}' & awk -v rank=e$ONESIDED_RANK '{WRITER}' >&2; wait"
    );
    let mut both = std::process::Command::new("sh");
    both.args(["-c", r#"exec "$@" 2>&1"#, "sh", env!("CARGO_BIN_EXE_rmarun")]);
    both.args(["-n", "4", "sh", "-c", &script]);
    let run = finish(Started::new(both)).expect(0);
    all_whole(run.stdout.lines().filter(|line| !line.starts_with("rmarun: ")), 8);
}

#[test]
fn standard_error_stays_standard_error() {
    let run = shell(2, "echo out; echo err >&2").expect(0);
    assert_eq!(run.stdout, "out\nout\n");
    assert_eq!(run.stderr.lines().filter(|line| *line == "err").count(), 2);
}

#[test]
fn a_tag_names_the_rank_of_every_line() {
    let script = "echo one; echo; printf end; [ $ONESIDED_RANK = 0 ] && echo bad >&2; true";
    let run = run(&["-n", "3", "--tag-output", "sh", "-c", script]).expect(0);
    for rank in 0..3 {
        let tag = format!("[{rank}] ");
        let of_rank: Vec<&str> = run.stdout.lines().filter_map(|l| l.strip_prefix(&tag)).collect();
        assert_eq!(of_rank, ["one", "", "end"]);
    }
    assert_eq!(run.stdout.lines().count(), 9);
    assert!(run.stderr.lines().any(|line| line == "[0] bad"));
}

#[test]
fn a_single_ranks_tag_needs_no_company() {
    assert_eq!(run(&["-n", "1", "--tag-output", "echo", "x"]).expect(0).stdout, "[0] x\n");
}

#[test]
fn unfinished_lines_arrive_and_do_not_share_a_line() {
    let run = shell(4, "printf rank$ONESIDED_RANK").expect(0);
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["rank0", "rank1", "rank2", "rank3"]);
}

#[test]
fn what_one_rank_writes_arrives_byte_by_byte() {
    let script = "[ $ONESIDED_RANK = 1 ] && head -c 3000000 /dev/zero; true";
    let run = shell(3, script).expect(0);
    assert_eq!(run.stdout.len(), 3_000_000);
    assert!(run.stdout.bytes().all(|byte| byte == 0));
}

#[test]
fn everything_a_failing_rank_has_written_arrives() {
    let run = shell(4, "[ $ONESIDED_RANK = 2 ] || exec sleep 1000; seq 20000; kill -9 $$");
    assert_eq!(run.expect(137).stdout.lines().filter(|l| !l.is_empty()).count(), 20000);
}

#[test]
fn rank_0_reads_the_input_and_the_others_nothing() {
    let mut command = rmarun(&["-n", "3", "sh", "-c", r#"sed "s/^/$ONESIDED_RANK:/"; echo done"#]);
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"a\nb\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let mut lines: Vec<&str> = std::str::from_utf8(&output.stdout).unwrap().lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0:a", "0:b", "done", "done", "done"]);
}

#[test]
fn a_reader_that_leaves_ends_the_job() {
    for ranks in ["1", "4"] {
        let mut started = Started::new(rmarun(&["-n", ranks, "yes"]));
        assert_eq!(started.line(), "y");
        started.stdout = None;
        finish(started).expect(128 + Signal::SIGPIPE as i32);
    }
}

#[test]
fn a_full_disk_ends_the_job() {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", r#"exec "$@" >/dev/full"#, "sh", env!("CARGO_BIN_EXE_rmarun")]);
    command.args(["-n", "2", "yes"]);
    let run = finish(Started::new(command)).expect(125);
    run.reports(&["cannot write standard output", "No space left"]);
}

#[test]
fn a_slow_reader_does_not_keep_a_death_hidden() {
    // Standard output is not read until the ranks have been ended.
    let script = r#"echo $$ >&2; [ $ONESIDED_RANK = 0 ] && exec yes
                    read -r _ < "$0"; kill -9 $$"#;
    let folder = crate::building::folder("slow_reader");
    let gate = folder.join("gate");
    nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut started =
        Started::new(rmarun(&["-n", "2", "sh", "-c", script, gate.to_str().unwrap()]));
    let ranks = started.processes_of_stderr(2);
    std::fs::write(&gate, "go\n").unwrap();
    ranks.iter().for_each(|rank| rank.await_end());
    finish(started).expect(137);
}

#[test]
fn a_loss_that_could_not_be_told_at_once_is_told_soon() {
    // Rank 0 writes until writing blocks, because there is no reader.
    let script = r#"[ $ONESIDED_RANK = 0 ] || { echo $$; exec sleep 100; }
                    yes | head -n 200000 >&2 & echo $!; exec sleep 100"#;
    let mut started =
        Started::new(rmarun(&["-n", "2", "--on-failure=continue", "sh", "-c", script]));
    let pids = [started.line(), started.line()];
    let is_writer = |pid: &&String| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name.trim() == "head")
    };
    eventually("the writer writes", || pids.iter().any(|pid| is_writer(&pid)));
    let (writers, others): (Vec<&String>, Vec<&String>) = pids.iter().partition(is_writer);
    eventually("standard error is full", || {
        let waits = std::fs::read_to_string(format!("/proc/{}/wchan", writers[0]));
        waits.is_ok_and(|waits| waits.contains("pipe_write"))
    });
    let began = Instant::now();
    let victim: i32 = others[0].parse().expect("a process number");
    kill(Pid::from_raw(victim), Signal::SIGKILL).expect("the rank lives");
    eventually("the launcher knows", || Process::new(victim).is_over());
    let stderr = started.stderr().lines().map(|line| line.expect("standard error can be read"));
    let mut losses = stderr.filter(|line| line.ends_with("; the others go on"));
    // And not only when the job ends.
    assert!(losses.next().expect("a line").starts_with("rmarun: rank 1 ("));
    assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
}
