//! System calls that a seccomp filter denies, one at a time, to launcher and ranks alike.

use crate::limits::ranks::{fails, program, rmarun, succeeds};
use crate::support::run;
use nix::libc;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What a job does without the call.
enum Then {
    /// The library never needs it, or has another way.
    Runs,
    /// The launcher reports what was denied, and starts nothing.
    Refuses(&'static str),
}

const CALLS: &[(&str, libc::c_long, Then)] = &[
    // Another kind of segment.
    ("memfd_create", libc::SYS_memfd_create, Then::Runs),
    // Children are waited for by SIGCHLD.
    ("pidfd_open", libc::SYS_pidfd_open, Then::Runs),
    ("pidfd_send_signal", libc::SYS_pidfd_send_signal, Then::Runs),
    // Accumulates of many elements go one by one.
    ("membarrier", libc::SYS_membarrier, Then::Runs),
    // Not used: a rank waits for one word.
    ("futex_waitv", libc::SYS_futex_waitv, Then::Runs),
    // Not used by what is tested here: hints.
    ("mbind", libc::SYS_mbind, Then::Runs),
    ("madvise", libc::SYS_madvise, Then::Runs),
    ("sched_getaffinity", libc::SYS_sched_getaffinity, Then::Runs),
    ("getrandom", libc::SYS_getrandom, Then::Runs),
    ("sched_yield", libc::SYS_sched_yield, Then::Runs),
    // Windows over private memory are refused: see below.
    ("process_vm_readv", libc::SYS_process_vm_readv, Then::Runs),
    ("process_vm_writev", libc::SYS_process_vm_writev, Then::Runs),
    // Bytes are reserved before they are touched, or not at all.
    ("fallocate", libc::SYS_fallocate, Then::Refuses("reserving the fixed part of the segment")),
    ("signalfd4", libc::SYS_signalfd4, Then::Refuses("rmarun: cannot")),
    ("epoll_create1", libc::SYS_epoll_create1, Then::Refuses("rmarun: cannot")),
];

/// The filter: `call` of this architecture ends with `errno`, all others are allowed.
fn filter(call: libc::c_long, errno: i32) -> [libc::sock_filter; 4] {
    let statement = |code: u32, k: u32, jt, jf| libc::sock_filter { code: code as u16, jt, jf, k };
    [
        // The number is the first word of `seccomp_data`.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32, 0, 1),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | errno as u32, 0, 0),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ]
}

/// Has `command`, and all that it starts, be denied a system call.
fn denied(command: &mut Command, call: libc::c_long, errno: i32) -> &mut Command {
    let mut filter = filter(call, errno);
    let install = move || {
        nix::sys::prctl::set_no_new_privs()?;
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: the program is four statements long and outlives the call, which copies it.
        let outcome = unsafe {
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
        };
        if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: two system calls, without allocation or lock.
    unsafe { command.pre_exec(install) }
}

/// A job with the filter; `None` where there is no seccomp.
fn job(name: &str, call: libc::c_long, errno: i32) -> Option<Command> {
    let mut may = Command::new("true");
    if denied(&mut may, libc::SYS_swapoff, libc::EPERM).status().is_err() {
        println!("not tested: this process may not install a seccomp filter");
        return None;
    }
    let mut command = rmarun(3, &[]);
    program(&mut command, name);
    denied(&mut command, call, errno);
    Some(command)
}

#[test]
fn each_system_call_that_may_be_denied_has_another_way_or_an_error() {
    for (name, call, then) in CALLS {
        for errno in [libc::EPERM, libc::ENOSYS] {
            println!("{name}, {}", io::Error::from_raw_os_error(errno));
            let Some(mut command) = job("synchronise", *call, errno) else { return };
            match then {
                Then::Runs => drop(succeeds(&mut command)),
                Then::Refuses(words) => drop(fails(&mut command, &[words])),
            }
        }
    }
}

#[test]
fn private_memory_that_the_kernel_keeps_is_refused_on_all_ranks() {
    for call in [libc::SYS_process_vm_readv, libc::SYS_process_vm_writev] {
        let Some(mut command) = job("reach_private_memory", call, libc::EPERM) else { return };
        let outcome = succeeds(&mut command);
        let refused = outcome.output.matches("cannot reach the private memory").count();
        assert_eq!(refused, 3, "{}", outcome.output);
    }
}

/// Rust's own mutexes and the C library need it as well, so the program may end by itself; but it
/// does not hang, and the launcher reports how it ended.
#[test]
fn without_futexes_nothing_hangs() {
    let Some(mut command) = job("synchronise", libc::SYS_futex, libc::EPERM) else { return };
    let outcome = run(&mut command, "a job without futexes");
    assert!(outcome.status.code().is_some(), "{}: {}", outcome.status, outcome.output);
}
