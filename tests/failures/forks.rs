//! A rank that forks: its child has every handle and the whole segment, but is no rank. Calls that
//! wait, make or free something tell it so, and nothing that it drops is taken from the rank.
#![allow(unsafe_code, reason = "forks")]
#![allow(clippy::disallowed_methods, reason = "reads the variable that tells test from rank")]

use crate::support;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};
use onesided::engine::Win;
use onesided::{
    Access, Error, ErrorClass, LockType, Op, Rank, Result, Universe, WindowOptions, launch,
};
use onesided_tools::{WindowMutex, WindowQueue};
use std::process::Command;

/// Runs `body` in a forked child, and asserts that it returned `true`.
fn in_child(body: impl FnOnce() -> bool) {
    // SAFETY: the ranks of these tests have one more thread, libtest's, which waits for this one;
    // what the child calls allocates, as glibc allows in the child of such a process.
    match unsafe { fork() }.expect("a process") {
        ForkResult::Child => {
            let code = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
                Ok(true) => 0,
                Ok(false) => 1,
                Err(_) => 2,
            };
            // SAFETY: ends the process at once, without the destructors of what is the parent's.
            unsafe { nix::libc::_exit(code) }
        }
        ForkResult::Parent { child } => {
            assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
        }
    }
}

fn is_refused<T>(call: &str, result: Result<T>) -> bool {
    let Err(error) = result else {
        eprintln!("{call}: not refused");
        return false;
    };
    let text = error.to_string();
    let right = matches!(error, Error::Forked { .. })
        && error.class() == ErrorClass::Other
        && text.starts_with(call)
        && text.contains("forked");
    if !right {
        eprintln!("{call}: {text}");
    }
    right
}

fn every_call(universe: &Universe, win: &Win, other: Rank) -> bool {
    let world = universe.world();
    let answers = [
        is_refused("barrier by rank", world.barrier()),
        is_refused("allreduce by rank", world.allreduce(&[1u64], Op::Sum)),
        is_refused("communicator dup by rank", world.dup()),
        is_refused("communicator free by rank", world.clone().free()),
        is_refused("window allocate by rank", WindowOptions::new().allocate_bytes(world, 8, 8)),
        is_refused("alloc_mem by rank", universe.alloc_mem::<u64>(1)),
        is_refused("fence on window 'whose'", win.fence()),
        is_refused("lock on", win.lock(LockType::Shared, other)),
        is_refused("lock_all on", win.lock_all()),
        is_refused("unlock on window 'whose'", win.unlock(other)),
        is_refused("complete on", win.complete()),
        is_refused("wait on", win.wait()),
        matches!(Universe::init(), Err(Error::AlreadyInitialised)),
    ];
    answers.iter().all(|refused| *refused)
}

#[test]
fn a_child_is_told_that_it_is_no_rank() {
    support::universe(2, |universe| {
        let world = universe.world();
        let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
        let win = WindowOptions::new().name("whose").allocate_bytes(world, 64, 8).unwrap();
        let mutex = WindowMutex::new(world, Rank(0)).unwrap();
        let queue = WindowQueue::<u64>::new(world, Rank(1), 4).unwrap();
        win.lock(LockType::Exclusive, Rank(me)).unwrap();
        let mut posted = Some(world.irecv(vec![0u8], other, 5).unwrap());
        in_child(|| {
            every_call(universe, &win, other)
                && is_refused("lock on window 'mutex'", mutex.lock())
                && is_refused("put on window 'queue'", queue.push(1))
                && is_refused("get on window 'queue'", queue.try_pop())
                && is_refused("send by rank", world.send(&[1u8], other, 0))
                && is_refused("recv by rank", world.recv(&mut [1u8], other, 0))
                && is_refused("probe by rank", world.iprobe(other, 0))
                && is_refused("recv by rank", world.irecv(vec![1u8], other, 0))
                && is_refused("message wait by rank", posted.take().expect("posted").wait())
        });
        world.send(&[9u8], other, 5).unwrap();
        assert_eq!(posted.unwrap().wait().unwrap().0, [9]);
        // The lock is held all the same, and the tools are as they were.
        win.put(&[7u64], Rank(me), 0).unwrap();
        win.unlock(Rank(me)).unwrap();
        mutex.lock().unwrap().unlock().unwrap();
        queue.push(u64::from(me)).unwrap();
        world.barrier().unwrap();
        queue.pop().unwrap();
        world.barrier().unwrap();
        assert_eq!(queue.try_pop().unwrap(), None);
        queue.free().unwrap();
        mutex.free().unwrap();
        win.free().unwrap();
    });
}

#[test]
fn what_a_child_drops_stays_the_ranks() {
    support::universe(2, |universe| {
        let world = universe.world();
        let memory = universe.alloc_mem::<u64>(1000).unwrap();
        let copy = world.dup().unwrap();
        let window = onesided::Window::<u64>::allocate(world, 8).unwrap();
        let guard = window.lock(LockType::Exclusive, world.rank()).unwrap();
        let mut own = Some((memory, guard));
        in_child(|| {
            drop(own.take());
            true
        });
        let (mut memory, guard) = own.expect("the child has dropped a copy");
        memory.fill(7);
        // Where the child had freed it, this block would be the same one.
        let more = universe.alloc_mem::<u64>(1000).unwrap();
        assert!(memory.iter().all(|n| *n == 7) && more.iter().all(|n| *n == 0));
        guard.put(&[1], world.rank(), 0).unwrap();
        guard.unlock().unwrap();
        copy.barrier().unwrap();
        copy.free().unwrap();
        window.free().unwrap();
    });
}

/// The program: forks a child that leaves as a whole program does, by dropping its universe.
#[test]
#[ignore = "a program"]
fn the_child_leaves_first() {
    let mut universe = Some(Universe::init().unwrap());
    in_child(|| {
        drop(universe.take());
        true
    });
    // As in the test's name: a rank that ends so has not left its job.
    if std::env::var_os("ONESIDED_TEST_LEAVE").is_none() {
        let _retained = std::mem::ManuallyDrop::new(universe);
    }
}

fn job(leaves: bool) -> support::Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(["-n", "2", "--require-join", "--"]).arg(std::env::current_exe().unwrap());
    let test = support::test_of(module_path!(), "the_child_leaves_first");
    command.args(["--exact", &test, "--ignored", "--test-threads=1"]);
    command.env_remove(launch::ENV_RANK);
    if leaves {
        command.env("ONESIDED_TEST_LEAVE", "1");
    }
    support::run(&mut command, "a job whose ranks fork")
}

#[test]
fn a_child_that_ends_does_not_end_its_rank() {
    let outcome = job(true);
    assert!(outcome.status.success(), "{}", outcome.output);
    // If the child had recorded that the rank has finished, it would not be missed.
    let outcome = job(false);
    assert_eq!(outcome.status.code(), Some(125), "{}", outcome.output);
    assert!(outcome.output.contains("without leaving the job (finalize)"), "{}", outcome.output);
}
