//! Limits of the process (setrlimit), and sizes that no system has.

use crate::limits::ranks::{asks_for, fails, program, rmarun, succeeds};
use nix::sys::resource::{Resource, setrlimit};
use std::os::unix::process::CommandExt;
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
        fails(&mut command, &["rmarun: ", "Too many open files"]);
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
    let outcome = fails(&mut command, &["rmarun: "]);
    assert!(outcome.output.contains("Resource temporarily unavailable"), "{}", outcome.output);
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
