//! /dev/shm of every kind, in a mount namespace of the test's own.

use crate::limits::ranks::{asks_for, fails, program, rmarun, succeeds};
use std::process::{Command, Stdio};

/// `command` where `mount` has been done first; `None` if this process may not mount.
pub fn mounted(mount: &str, command: &Command) -> Option<Command> {
    let may = Command::new("unshare").args(["-m", "true"]).stderr(Stdio::null()).status();
    if !may.is_ok_and(|status| status.success()) {
        println!("not tested: this process may not make a mount namespace");
        return None;
    }
    let mut inside = Command::new("unshare");
    inside.args(["-m", "sh", "-ec", &format!("{mount}; exec \"$@\""), "sh"]);
    inside.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        value.map(|value| inside.env(name, value));
    }
    Some(inside)
}

pub fn tmpfs(options: &str) -> String {
    format!("mount -t tmpfs -o {options} tmpfs /dev/shm")
}

/// The size of Docker's, and ranks for which MPICH's is too small at 16.
#[test]
fn sixty_four_ranks_synchronise_in_64_mebibytes() {
    let mut command = rmarun(64, &["--segment=posix"]);
    program(&mut command, "synchronise");
    if let Some(mut command) = mounted(&tmpfs("size=64m"), &command) {
        succeeds(&mut command);
    }
}

#[test]
fn what_does_not_fit_is_refused_on_every_rank_and_the_job_goes_on() {
    for (size, ranks, bytes) in [("8m", 3, 4 << 20), ("64m", 8, 32 << 20), ("16m", 2, 15 << 20)] {
        let mut command = rmarun(ranks, &["--segment=posix"]);
        asks_for(&mut command, bytes);
        if let Some(mut command) = mounted(&tmpfs(&format!("size={size}")), &command) {
            let outcome = succeeds(&mut command);
            assert_eq!(outcome.output.matches("goes on").count(), ranks as usize);
        }
    }
}

#[test]
fn where_not_even_the_fixed_part_fits_no_rank_is_started() {
    let mut command = rmarun(64, &["--segment=posix"]);
    program(&mut command, "synchronise");
    let full =
        format!("{}; ! dd if=/dev/zero of=/dev/shm/full bs=64k 2>/dev/null", tmpfs("size=1m"));
    for mount in [tmpfs("size=64k"), full] {
        if let Some(mut command) = mounted(&mount, &command) {
            fails(&mut command, &["reserving the fixed part of the segment", "No space left"]);
        }
    }
}

#[test]
fn without_a_dev_shm_that_can_be_written_posix_is_an_error_and_memfd_is_not() {
    for (mount, error) in [
        (tmpfs("ro"), "Read-only file system"),
        ("mount --bind /proc /dev/shm".to_owned(), "No such file or directory"),
        ("mount --bind /dev/null /dev/shm || umount -l /dev/shm".to_owned(), "os error"),
    ] {
        let mut command = rmarun(4, &["--segment=posix"]);
        program(&mut command, "synchronise");
        if let Some(mut command) = mounted(&mount, &command) {
            // With the last mount there may be a plain directory beneath, which is as good.
            let outcome = crate::support::run(&mut command, "a job without /dev/shm");
            let expected = outcome.output.contains("creating a POSIX shared memory object")
                && outcome.output.contains(error);
            assert!(outcome.status.success() || expected, "{}", outcome.output);
        }
        let mut command = rmarun(4, &[]);
        program(&mut command, "synchronise");
        if let Some(mut command) = mounted(&mount, &command) {
            succeeds(&mut command);
        }
    }
}

/// An unnamed memory file is not /dev/shm's.
#[test]
fn memfd_is_larger_than_dev_shm() {
    let mut command = rmarun(2, &[]);
    asks_for(&mut command, 1 << 50);
    if let Some(mut command) = mounted(&tmpfs("size=64k"), &command) {
        succeeds(&mut command);
    }
}
