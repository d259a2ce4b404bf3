//! What the segment is made of.

use crate::harness::{Started, finish, rmarun, run, run_ranks, shell};
use nix::sys::signal::Signal;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const LINK: &str = "readlink /proc/self/fd/$ONESIDED_SEGMENT_FD";

#[test]
fn by_default_it_has_no_name() {
    assert_eq!(shell(2, LINK).expect(0).stdout, "/memfd:onesided (deleted)\n".repeat(2));
}

#[test]
fn a_posix_object_has_lost_its_name_before_a_rank_runs() {
    let run = run(&["-n", "2", "--segment=posix", "sh", "-c", LINK]).expect(0);
    for line in run.stdout.lines() {
        // Without a name from the beginning, or under one that is gone.
        let is_ours = ["/dev/shm/#", "/dev/shm/onesided-"].iter().any(|at| line.starts_with(at));
        assert!(is_ours && line.ends_with(" (deleted)"), "{line}");
    }
}

#[test]
fn a_named_object_can_be_seen_while_the_job_runs() {
    let path = Path::new("/dev/shm/seen-while-running");
    let script = format!("{LINK}; exec sleep 1000");
    let options = ["-n", "2", "--segment=seen-while-running", "--segment-size=3M"];
    let mut started = Started::new(rmarun(&[&options[..], &["sh", "-c", &script]].concat()));
    assert_eq!(started.line(), path.to_str().unwrap());
    let metadata = path.metadata().unwrap();
    assert_eq!((metadata.len(), metadata.permissions().mode() & 0o777), (3 << 20, 0o600));

    let other = run(&["-n", "1", "--segment=seen-while-running", "true"]).expect(125);
    other.reports(&["segment '/seen-while-running' exists already"]);
    assert!(path.exists(), "a launcher that was refused has removed another's segment");

    started.signal(Signal::SIGTERM);
    finish(started).expect(143);
    assert!(!path.exists());
}

#[test]
fn ranks_join_whatever_the_segment_is_made_of() {
    for option in ["--segment=memfd", "--segment=posix", "--segment=made-of", "--segment-size=4M"] {
        run_ranks(4, &[option], "meet").expect(0);
    }
    assert!(!Path::new("/dev/shm/made-of").exists());
}

#[test]
fn ranks_inherit_nothing_else() {
    let script = "ls /proc/self/fd | wc -l";
    let number = |output: &str| output.trim().parse::<u32>().unwrap();
    let plain = std::process::Command::new("sh").args(["-c", script]).output().unwrap();
    let plain = number(std::str::from_utf8(&plain.stdout).unwrap());
    let run = shell(3, script).expect(0);
    assert!(run.stdout.lines().all(|line| number(line) == plain + 2), "{plain} {run:?}");
}

#[test]
fn ranks_start_with_the_limits_and_signals_of_the_user() {
    let script = "ulimit -n; grep -E 'Sig(Blk|Ign)' /proc/self/status";
    let plain = std::process::Command::new("sh").args(["-c", script]).output().unwrap();
    let run = run(&["-n", "1", "sh", "-c", script]).expect(0);
    assert_eq!(run.stdout, String::from_utf8(plain.stdout).unwrap());
}
