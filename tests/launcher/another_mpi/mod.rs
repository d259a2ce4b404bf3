//! Jobs under the launcher of another MPI: MPICH or Intel MPI, whose prefix `ONESIDED_MPICH` names; without it,
//! what needs it is skipped. The random programs run there too (`tests/random/programs`).
#![cfg(feature = "launcher")]
#![allow(clippy::disallowed_methods, reason = "reads the variable that tells test from rank")]
#![allow(unsafe_code, reason = "exposes memory by address")]

mod abi;
mod flights;
mod messages;
mod mistakes;
mod near;
mod nodes;
mod program;
mod simulated;
mod waits;

use crate::support::{NODE, Nodes, Outcome, WAYS, is_intel, mpich, mpiexec, mpiexec_on, run};
use nix::sys::signal::{Signal, raise};
use onesided::engine::{ExposedBytes, Win};
use onesided::{
    Comm, Error, ErrorClass, Group, LockType, Op, Rank, ThreadLevel, Universe, WindowOptions,
};
use std::borrow::BorrowMut;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const RANKS: [u32; 3] = [1, 2, 4];
/// The variable with what a rank is.
const PART: &str = "ONESIDED_TEST_PART";

/// A program of Cargo's, in the same profile as this test.
fn example(name: &str) -> PathBuf {
    let this = std::env::current_exe().expect("the test's own path");
    let profile = this.parent().and_then(Path::parent).expect("tests are in <profile>/deps");
    let program = profile.join("examples").join(name);
    assert!(
        program.exists(),
        "{program:?} is missing: run 'cargo build -p examples -p heat --examples' first"
    );
    program
}

#[track_caller]
fn succeeds(mpich: &Path, ranks: u32, name: &str, arguments: &[&str], expected: &str) {
    // Ranks of Intel MPI poll sockets between nodes: four of them take minutes on two cores.
    let has_nodes = !is_intel(mpich) || ranks == 2;
    let nodes = (2..=ranks).step_by(2).filter(|_| has_nodes);
    let nodes = nodes.map(|nodes| (Nodes::Of(nodes), WAYS[0]));
    for (nodes, way) in WAYS.map(|way| (Nodes::One, way)).into_iter().chain(nodes) {
        let mut launcher = mpiexec_on(mpich, ranks, nodes);
        let command = launcher.env(NODE, way).arg(example(name)).args(arguments);
        let Outcome { status, output } = run(command, name);
        let shown =
            format!("{ranks} x {name} {arguments:?}, {nodes:?}, {way}, {status}:\n{output}");
        assert!(status.success() && output.contains(expected), "{shown}");
    }
}

/// This test in that number of ranks, by each way.
#[track_caller]
fn succeeds_both_ways(ranks: u32, part: &str) {
    let Some(mpich) = mpich() else { return };
    for way in WAYS {
        let mut launcher = mpiexec(&mpich, ranks);
        launcher.env(NODE, way);
        let Outcome { status, output } = relaunched(launcher, part);
        assert!(status.success(), "{ranks} ranks, {way}, {status}:\n{output}");
    }
}

#[test]
fn examples_give_the_same_results() {
    let Some(mpich) = mpich() else { return };
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/window");
    for ranks in RANKS {
        let sum = format!("{ranks} ranks add up to {}", ranks * (ranks + 1) / 2);
        succeeds(&mpich, ranks, "hello", &[], &sum);
        succeeds(&mpich, ranks, "wordcount", &["--verify", source], "verified by one process");
        let grid = ["--rows", "48", "--cols", "40", "--steps", "40", "--verify", "--sync"];
        for sync in ["fence", "pscw"] {
            let arguments: Vec<&str> = grid.into_iter().chain([sync]).collect();
            succeeds(&mpich, ranks, "heat", &arguments, "verified, bit by bit");
        }
        succeeds(&mpich, ranks, "gups", &["--log-size", "10", "--verify"], "no word is wrong");
        succeeds(
            &mpich,
            ranks,
            "mutex",
            &["--times", "100", "--words", "5", "--verify"],
            "nothing was lost or torn",
        );
        let blocks = ["--blocks", "50", "--length", "9", "--verify"];
        succeeds(&mpich, ranks, "notify", &blocks, "the sum is right");
        succeeds(&mpich, ranks, "queue", &["--tasks", "200", "--verify"], "every task was done");
        succeeds(
            &mpich,
            ranks,
            "counter",
            &["--below", "500", "--chunk", "7", "--verify"],
            "no prime is missing",
        );
    }
}

/// This test, in ranks that `launcher` starts.
fn relaunched(mut launcher: impl BorrowMut<Command>, part: &str) -> Outcome {
    let launcher = launcher.borrow_mut();
    let name = std::thread::current().name().expect("libtest names its threads").to_owned();
    launcher.arg(std::env::current_exe().expect("the test's own path"));
    launcher.args(["--exact", &name, "--include-ignored", "--nocapture", "--test-threads=1"]);
    run(launcher.env(PART, part).env("RUST_BACKTRACE", "0"), &name)
}

/// Whether this process is a rank of a test; and which one.
fn part() -> Option<String> {
    std::env::var(PART).ok()
}

fn rmarun(ranks: u32) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(["-n", &ranks.to_string(), "--require-join", "--"]);
    command
}

#[test]
fn all_operations_give_byte_for_byte_what_they_give_under_rmarun() {
    gives_the_same(program::run);
}

#[test]
fn messages_and_collectives_that_do_not_wait_give_what_they_give_under_rmarun() {
    gives_the_same(messages::run);
}

/// Compares what the program of this test prints under the two launchers.
#[track_caller]
fn gives_the_same(program: fn(&Comm) -> onesided::Result<u64>) {
    if part().is_some() {
        let universe = Universe::init().expect("a rank joins its job");
        let digest = program(universe.world()).expect("a program without mistakes");
        if universe.world().rank() == 0 {
            println!("digest {digest:016x}");
        }
        return;
    }
    same_digests("program", true);
}

/// Compares what the ranks of a part of this test print, under either launcher.
///
/// With a network between the ranks, also where that MPI would use shared memory, if not `is_local`: then operations
/// are not complete before something completes them.
fn same_digests(part: &str, is_local: bool) {
    let Some(mpich) = mpich() else { return };
    let digest = |outcome: Outcome| {
        let Outcome { status, output } = outcome;
        let printed = output.lines().find_map(|line| line.split("digest ").nth(1));
        let printed = printed.filter(|_| status.success()).map(str::to_owned);
        printed.unwrap_or_else(|| panic!("{status}:\n{output}"))
    };
    for ranks in RANKS {
        let ours = digest(relaunched(rmarun(ranks), part));
        let nodes = if is_local { Nodes::One } else { Nodes::Network };
        for way in if is_local { &WAYS[..] } else { &WAYS[1..] } {
            let mut launcher = mpiexec_on(&mpich, ranks, nodes);
            let theirs = digest(relaunched(launcher.env(NODE, way), part));
            assert_eq!(ours, theirs, "{ranks} ranks, {way}");
        }
    }
}

#[test]
fn what_is_not_there_is_refused_on_all_ranks_alike() {
    if part().is_some() {
        let universe = Universe::init().expect("a rank joins its job");
        refusals(&universe);
        return;
    }
    let Some(mpich) = mpich() else { return };
    for ranks in RANKS {
        let mut launcher = mpiexec(&mpich, ranks);
        let Outcome { status, output } = relaunched(launcher.env(NODE, "none"), "refusals");
        assert!(status.success(), "{ranks} ranks, {status}:\n{output}");
    }
}

#[test]
fn what_is_freed_is_given_back_to_the_other_mpi() {
    if part().is_some() {
        let universe = Universe::init().expect("a rank joins its job");
        // MPICH has numbers for about 2000 communicators, of which a window takes several.
        for _ in 0..1000 {
            let copy = universe.world().dup().expect("a duplicate");
            let win = WindowOptions::new().allocate_bytes(&copy, 64, 8).expect("a window");
            copy.free().expect("an end of the handle");
            win.free().expect("an end of both");
        }
        return;
    }
    succeeds_both_ways(2, "windows");
}

/// Threads of all ranks add to two words of rank 0, and `do_more` now and then.
fn add_in_threads(win: Win, at: [u64; 2], do_more: &(impl Fn(&Win) + Sync)) {
    const THREADS: u64 = 3;
    const TIMES: u64 = 200;
    let world = win.comm().clone();
    win.lock_all().expect("no lock is in the way");
    let add = || {
        for time in 0..TIMES {
            win.accumulate(&[1u64], Op::Sum, Rank(0), at[0]).expect("a sum");
            win.fetch_and_op(&1u64, &mut 0, Op::Sum, Rank(0), at[1]).expect("a sum");
            if time % 20 == 0 {
                do_more(&win);
            }
        }
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(add))));
    win.unlock_all().expect("an end");
    world.barrier().expect("a barrier");
    if world.rank() == 0 {
        let mut sums = [0u64; 2];
        win.load(at[0], &mut sums).expect("the own part");
        assert_eq!(sums, [THREADS * TIMES * u64::from(world.size()); 2]);
    }
    win.free().expect("an end");
}

/// Part "turns" promises that only one of its threads calls at a time, and breaks that promise.
fn init_with_threads(part: &str) -> Universe {
    let level = if part == "turns" { ThreadLevel::Serialized } else { ThreadLevel::Multiple };
    Universe::init_thread(level).expect("a rank joins its job")
}

#[test]
fn threads_of_a_rank_use_a_window_together() {
    if let Some(part) = part() {
        let universe = init_with_threads(&part);
        let world = universe.world();
        let win = WindowOptions::new().allocate_bytes(world, 16, 8).expect("a window");
        add_in_threads(win, [0, 1], &|_| {});
        let win = WindowOptions::new().create_dynamic_bytes(world).expect("a window");
        let memory = |words: &'static mut [u64]| {
            let bytes = size_of_val(words) as u64;
            // SAFETY: never freed, and no reference to it is used any more.
            unsafe { ExposedBytes::new(words.as_mut_ptr().cast(), bytes) }
        };
        let sums: &'static mut [u64] = Box::leak(Box::new([0; 2]));
        let address = sums.as_ptr() as u64;
        win.attach(memory(sums)).expect("a region");
        let there = world.allgather(&[address]).expect("addresses")[0];
        // Other threads operate on the part meanwhile, of this rank too.
        let attach = |win: &Win| {
            let words: &'static mut [u64] = Box::leak(Box::new([0; 3]));
            let start = words.as_mut_ptr().cast();
            win.attach(memory(words)).expect("a region");
            win.detach(start).expect("it is attached");
        };
        add_in_threads(win, [there, there + 8], &attach);
        return;
    }
    ["threads", "turns"].into_iter().for_each(|part| succeeds_both_ways(2, part));
}

#[test]
fn threads_of_a_rank_send_and_receive_at_the_same_time() {
    if let Some(part) = part() {
        let universe = init_with_threads(&part);
        messages::threads(universe.world()).expect("a program without mistakes");
        return;
    }
    for part in ["threads", "turns"] {
        RANKS.into_iter().for_each(|ranks| succeeds_both_ways(ranks, part));
    }
}

#[track_caller]
fn refused<T>(result: onesided::Result<T>) {
    let Err(error) = result else { panic!("not refused") };
    assert_eq!(error.class(), ErrorClass::UnsupportedOperation, "{error}");
    assert!(
        matches!(&error, Error::Foreign(foreign) if foreign.text.contains("rmarun")),
        "{error}"
    );
}

fn refusals(universe: &Universe) {
    let world = universe.world();
    let options = WindowOptions::new;
    refused(world.shrink());
    let win = options().allocate_bytes(world, 8, 1).expect("a window");
    // And all goes on.
    let copy = world.dup().expect("a duplicate");
    let half = world.split(Some(world.rank().0 % 2), 0).expect("a split").expect("for all");
    half.barrier().expect("a barrier");
    half.free().expect("an end");
    copy.free().expect("an end");
    let reversed: Vec<u32> = (0..world.size()).rev().collect();
    let group = Group::incl(&world.group(), &reversed).expect("a group");
    let reversed = world.create_group(&group, 7).expect("a communicator");
    assert_eq!(reversed.rank().0, world.size() - 1 - world.rank().0);
    let first = reversed.allgather(&[world.rank().0]).expect("all ranks")[0];
    assert_eq!(first, world.size() - 1);
    reversed.free().expect("an end");
    disagreement(world);
    win.free().expect("an end");
    // Neither window nor communicator is freed: both go with the job.
    let part = world.split(Some(0), 0).expect("a split").expect("for all");
    let win = options().allocate_bytes(&part, 64, 8).expect("a window");
    win.lock_all().expect("no lock is in the way");
}

/// Ranks that call different things get an error here, too.
fn disagreement(world: &Comm) {
    if world.size() == 1 {
        return;
    }
    let error = match world.rank().0 {
        0 => world.barrier().unwrap_err(),
        _ => world.allreduce(&[1u8], Op::Sum).map(drop).unwrap_err(),
    };
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
}

#[test]
fn a_rank_that_fails_ends_the_job() {
    match part().as_deref() {
        None => {}
        Some(how) => return fail(how),
    }
    let Some(mpich) = mpich() else { return };
    for (how, way) in ["panics", "leaks", "exits", "is killed"]
        .map(|how| WAYS.map(|way| (how, way)))
        .into_iter()
        .flatten()
    {
        let mut launcher = mpiexec(&mpich, 3);
        let Outcome { status, output } = relaunched(launcher.env(NODE, way), how);
        let shown = format!("{how}, {way}, {status}:\n{output}");
        assert!(!status.success() && !output.contains("never"), "{shown}");
    }
}

/// Rank 1 leaves while the others wait for it.
fn fail(how: &str) {
    let universe = Universe::init().expect("a rank joins its job");
    let world = universe.world().clone();
    let win = WindowOptions::new().allocate_bytes(&world, 8, 1).expect("a window");
    if world.rank() != 1 {
        let _ = win.lock(LockType::Exclusive, Rank(1));
        let _ = world.barrier();
        println!("never: the barrier has ended");
        return;
    }
    match how {
        "panics" => panic!("on purpose"),
        "is killed" => {
            // The others sleep by then, where ranks sleep.
            std::thread::sleep(Duration::from_millis(200));
            raise(Signal::SIGKILL).expect("a signal to itself");
        }
        // Never out of the job, and then the process ends as if all were well.
        "leaks" => {
            let _retained = std::mem::ManuallyDrop::new((universe, world, win));
        }
        _ => {
            drop((win, world, universe));
            std::process::exit(3);
        }
    }
}

#[test]
fn a_library_that_is_not_there_is_named() {
    let outcome = |library: Option<&str>| {
        let mut command = Command::new(example("hello"));
        // As a launcher would have it.
        command.env("PMI_RANK", "0").env_remove("LD_LIBRARY_PATH");
        run(command.envs(library.map(|library| ("ONESIDED_MPI", library))), "hello")
    };
    let Outcome { status, output } = outcome(Some("/nowhere/libmpi_abi.so.1"));
    assert!(!status.success(), "{output}");
    let words = ["PMI_RANK", "/nowhere/libmpi_abi.so.1", "ONESIDED_MPI", "'none'", "rmarun"];
    assert!(words.iter().all(|word| output.contains(word)), "{output}");
    let Outcome { status, output } = outcome(Some("libm.so.6"));
    assert!(!status.success() && output.contains("MPI_Init_thread"), "no MPI: {output}");
    let Outcome { status, output } = outcome(Some("none"));
    assert!(status.success() && output.contains("1 ranks add up to 1"), "{output}");
}
