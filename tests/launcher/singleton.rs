//! A program started without rmarun is a job of one rank; a process joins a job once.
//!
//! The ignored functions are the programs: the tests run this test binary again with one of them
//! chosen and nothing about a job in the environment.

use crate::support;
use onesided::{Access, Error, ErrorClass, LockType, Op, Rank, Universe, Window};
use std::process::Command;

/// Runs the ignored function `program` as a process of its own, without a launcher.
fn alone(program: &str) -> support::Outcome {
    let mut command = Command::new(std::env::current_exe().expect("the test's own path"));
    let test = support::test_of(module_path!(), program);
    command.args(["--exact", &test, "--ignored", "--nocapture", "--test-threads=1"]);
    command.env_clear();
    let outcome = support::run(&mut command, program);
    assert!(outcome.output.contains("1 passed"), "{}:\n{}", outcome.status, outcome.output);
    assert!(outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
    outcome
}

#[test]
fn all_epochs_and_collectives_work_alone() {
    alone("epochs_and_collectives");
}

#[test]
#[ignore = "a program"]
fn epochs_and_collectives() {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    assert_eq!((world.rank().0, world.size()), (0, 1));
    world.barrier().unwrap();
    assert_eq!(world.allreduce(&[2.5], Op::Sum).unwrap(), [2.5]);
    let mut window = Window::<u64>::allocate(world, 4).unwrap();
    let (me, origin) = (Rank(0), [1, 2]);
    let epoch = window.fence().unwrap();
    epoch.put(&origin, me, 0).unwrap();
    epoch.close().unwrap();
    let group = world.group();
    let (mut access, mut exposure) = window.sides();
    let exposed = exposure.post(&group).unwrap();
    let epoch = access.start(&group).unwrap();
    epoch.accumulate(&origin, Op::Prod, me, 1).unwrap();
    epoch.complete().unwrap();
    exposed.wait().unwrap();
    let epoch = window.lock(LockType::Exclusive, me).unwrap();
    epoch.accumulate(&origin, Op::Sum, me, 1).unwrap();
    epoch.unlock().unwrap();
    let epoch = window.lock_all().unwrap();
    assert_eq!(epoch.fetch_and_op_flush(5, Op::Sum, me, 3).unwrap(), 0);
    epoch.unlock_all().unwrap();
    assert_eq!(window.lock_local().unwrap()[..], [1, 3, 2, 5]);
    window.free().unwrap();
}

#[test]
fn a_process_joins_once() {
    alone("init_twice");
}

#[test]
#[ignore = "a program"]
fn init_twice() {
    let refused = || {
        let error = Universe::init().expect_err("a refusal");
        assert!(matches!(error, Error::AlreadyInitialised), "{error}");
        assert_eq!(error.class(), ErrorClass::Other);
        assert!(error.to_string().contains("init"), "{error}");
    };
    let universe = Universe::init().unwrap();
    refused();
    std::thread::spawn(refused).join().unwrap();
    let window = Window::<u64>::allocate(universe.world(), 1).unwrap();
    let world = universe.world().clone();
    drop(universe);
    // Once per process: as MPI_Init after MPI_Finalize.
    refused();
    // What is left of the job stays valid memory.
    window.store(0, &[5]).unwrap();
    assert_eq!(window.load_one(0).unwrap(), 5);
    world.barrier().unwrap();
    window.free().unwrap();
    refused();
}

#[test]
fn two_threads_that_race_to_join_get_one_universe() {
    alone("race");
}

#[test]
#[ignore = "a program"]
fn race() {
    let start = std::sync::Barrier::new(8);
    let join = || {
        start.wait();
        let joined = Universe::init();
        // No rank leaves before all have tried.
        start.wait();
        joined.is_ok()
    };
    let joined = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(join)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).filter(|ok| *ok).count()
    });
    assert_eq!(joined, 1);
}

#[test]
fn a_job_of_one_under_rmarun_is_the_same() {
    support::spmd(1, |world| {
        assert_eq!((world.rank().0, world.size()), (0, 1));
        let mut window = Window::<u32>::allocate(world, 1).unwrap();
        let epoch = window.lock_all().unwrap();
        assert_eq!(epoch.fetch_and_op_flush(1, Op::Sum, Rank(0), 0).unwrap(), 0);
        epoch.unlock_all().unwrap();
        window.free().unwrap();
        assert!(matches!(Universe::init(), Err(Error::AlreadyInitialised)));
    });
}

#[test]
fn errors_of_main_read_as_sentences() {
    let outcome = alone("print_an_error");
    assert!(
        outcome.output.contains("> init: this process has already joined"),
        "{}",
        outcome.output
    );
}

#[test]
#[ignore = "a program"]
fn print_an_error() {
    let _universe = Universe::init().unwrap();
    println!("> {:?}", Universe::init().err().unwrap());
}
