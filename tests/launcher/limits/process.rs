//! Limits of the process (setrlimit), and sizes that no system has.

use crate::limits::ranks::{asks_for, fails, program, rmarun, succeeds};
use nix::sys::resource::{Resource, setrlimit};
use std::os::unix::process::CommandExt;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::Command;

/// Has `command` start with a limit.
fn limited(command: &mut Command, resource: Resource, most: u64) -> &mut Command {
    let limit = move || Ok(setrlimit(resource, most, most)?);
    // SAFETY: one system call, which neither allocates nor takes a lock.
    unsafe { command.pre_exec(limit) }
}

#[test]
fn too_few_files_are_an_error_of_the_launcher() {
    for files in [6, 8, 12, 20, 40, 100] {
        let mut command = rmarun(64, &[]);
        program(&mut command, "synchronise");
        limited(&mut command, Resource::RLIMIT_NOFILE, files);
        let limit = format!("the hard limit is {files} (RLIMIT_NOFILE, ulimit -Hn)");
        let needed = "rmarun: cannot start 64 ranks: rmarun needs about 216 open files";
        let outcome = fails(&mut command, &[needed, &limit]);
        assert_eq!(outcome.output.lines().count(), 1, "{}", outcome.output);
    }
    let mut command = rmarun(8, &[]);
    program(&mut command, "synchronise");
    succeeds(limited(&mut command, Resource::RLIMIT_NOFILE, 64));
}

/// Root has no limit of processes, so the job is another user's.
#[test]
fn too_few_processes_are_an_error_of_the_launcher() {
    if !nix::unistd::geteuid().is_root() {
        println!("not tested: this process may not become another user");
        return;
    }
    let mut command = rmarun(8, &[]);
    command.args(["--", "sh", "-c", "exec sleep 100"]).uid(54_321).gid(54_321);
    command.current_dir("/");
    limited(&mut command, Resource::RLIMIT_NPROC, 4);
    let sentence = "rmarun: cannot start 8 ranks: it needs 11 more processes, and the user may have 4 \
                    (RLIMIT_NPROC, ulimit -u)";
    fails(&mut command, &[sentence]);
    // Known only when the kernel refuses one: the limit counts what the user has besides.
    let sleeper = || Command::new("sleep").arg("100").uid(54_321).gid(54_321).spawn();
    let mut others: Vec<_> = (0..6).map(|_| sleeper().unwrap()).collect();
    let mut command = rmarun(8, &[]);
    command.args(["--", "sh", "-c", "exec sleep 100"]).uid(54_321).gid(54_321);
    command.current_dir("/");
    limited(&mut command, Resource::RLIMIT_NPROC, 11);
    let sentence = ["rmarun: cannot start rank ", " of 8: ", " of at most 11 (RLIMIT_NPROC"];
    let refused = std::panic::catch_unwind(AssertUnwindSafe(|| fails(&mut command, &sentence)));
    for other in &mut others {
        other.kill().unwrap();
        other.wait().unwrap();
    }
    refused.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

/// Where this process may make control groups.
#[test]
fn too_few_processes_of_a_control_group_are_an_error_of_the_launcher() {
    let all = Path::new("/sys/fs/cgroup");
    let of_pids = Some(all.join("pids")).filter(|folder| folder.exists());
    let group =
        of_pids.unwrap_or(all.to_path_buf()).join(format!("onesided-{}", std::process::id()));
    let made = std::fs::create_dir(&group);
    if made.and_then(|()| std::fs::write(group.join("pids.max"), "6")).is_err() {
        let _ = std::fs::remove_dir(&group);
        println!("not tested: this process may not make a control group with a limit of processes");
        return;
    }
    let mut command = Command::new("sh");
    command.args(["-c", r#"echo $$ > "$1/cgroup.procs"; shift; exec "$@""#, "sh"]).arg(&group);
    command.arg(env!("CARGO_BIN_EXE_rmarun")).args(["-n", "8", "--", "true"]);
    let outcome = crate::support::run(&mut command, "a job beyond its limits");
    std::fs::remove_dir(&group).expect("nobody is left in the group");
    assert_eq!(outcome.status.code(), Some(125), "{}", outcome.output);
    let words =
        ["rmarun: cannot start 8 ranks: it needs 11 more processes", " of at most 6 (", "pids.max"];
    assert!(words.iter().all(|word| outcome.output.contains(word)), "{}", outcome.output);
}

/// The segment is as large as the limit allows, and the job runs.
#[test]
fn a_limit_of_the_address_space_makes_the_segment_smaller() {
    for mebibytes in [300, 1000, 4000] {
        let mut command = rmarun(2, &[]);
        asks_for(&mut command, mebibytes << 20);
        succeeds(limited(&mut command, Resource::RLIMIT_AS, mebibytes << 20));
    }
    let mut command = rmarun(2, &[]);
    program(&mut command, "synchronise");
    let size = limited(&mut command, Resource::RLIMIT_AS, 100 << 20);
    let outcome = crate::support::run(size, "a job with little address space");
    assert!(outcome.status.code().is_some(), "{}", outcome.output);
}

/// The kernel kills by SIGXFSZ who makes a file larger than the limit.
#[test]
fn a_limit_of_file_sizes_makes_the_segment_smaller() {
    let mut command = rmarun(2, &[]);
    asks_for(&mut command, 64 << 20);
    succeeds(limited(&mut command, Resource::RLIMIT_FSIZE, 64 << 20));
    let mut command = rmarun(2, &["--segment-size=128M"]);
    program(&mut command, "synchronise");
    let command = limited(&mut command, Resource::RLIMIT_FSIZE, 64 << 20);
    fails(command, &["rmarun: ", "sizing the segment", "too large"]);
    let mut command = rmarun(2, &["--segment=posix"]);
    program(&mut command, "synchronise");
    fails(limited(&mut command, Resource::RLIMIT_FSIZE, 4096), &["rmarun: ", "too large"]);
}

#[test]
fn windows_larger_than_memory_are_refused_on_every_rank() {
    for bytes in [1 << 36, 1 << 40, 1 << 50, 1 << 60] {
        let mut command = rmarun(3, &[]);
        let outcome = succeeds(asks_for(&mut command, bytes));
        assert_eq!(outcome.output.matches("goes on").count(), 3);
    }
}
