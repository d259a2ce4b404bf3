//! `#[onesided::test]`: in a crate of its own as a user has it, and what is left when a test is killed.
#![cfg(feature = "test")]
#![allow(
    clippy::disallowed_methods,
    reason = "asks for the Cargo that runs the tests, and ends a rank"
)]

#[path = "../support/mod.rs"]
mod support;

use onesided::testing::Job;
use onesided::{Comm, Op, Universe};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Only so that a test that hangs is one that fails: a crate is built from its beginning.
const HANG: Duration = Duration::from_secs(600);

/// A crate whose only dependency is this one, without anything installed.
fn fresh() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fresh");
    let copies = [
        ("tests/testing/fresh/lib.rs", "src/lib.rs"),
        ("tests/testing/fresh/ranks.rs", "tests/ranks.rs"),
        ("Cargo.lock", "Cargo.lock"),
    ];
    for (from, to) in copies {
        let to = folder.join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(root.join(from), to).unwrap();
    }
    let manifest = format!(
        "[package]\nname = \"fresh\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         onesided = {{ path = {root:?}, default-features = false, features = [\"test\"] }}\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    folder
}

/// What `cargo` with these arguments prints in the crate.
fn cargo(arguments: &[&str]) -> support::Outcome {
    let folder = fresh();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(&folder).args(arguments).args(["--offline", "--no-fail-fast"]);
    cargo.env("CARGO_TARGET_DIR", folder.join("target")).env("RUST_BACKTRACE", "0");
    let (outcome, hangs) = support::run_for(&mut cargo, HANG);
    assert!(!hangs, "{}", outcome.output);
    outcome
}

/// The part of a harness's output on one test that has failed.
fn failure<'a>(output: &'a str, test: &str) -> &'a str {
    let (_, rest) = output.split_once(&format!("---- {test} stdout ----\n")).expect(output);
    rest.split("\n----").next().unwrap_or(rest)
}

#[test]
fn a_crate_has_tests_with_ranks_by_one_dependency() {
    let outcome = cargo(&["test"]);
    let output = &outcome.output;
    assert!(!outcome.status.success(), "{output}");
    for line in [
        "test tests::inside::ranks_2 ... ok",
        "test adds_up::ranks_1 ... ok",
        "test adds_up::ranks_2 ... ok",
        "test adds_up::ranks_4 ... ok",
        "test panics_as_expected::ranks_3 - should panic ... ok",
        "test ignored::ranks_2 ... ignored, not now",
        "test result: FAILED. 4 passed; 6 failed; 1 ignored",
        "test src/lib.rs - (line 1) ... ok",
        "test src/lib.rs - (line 5) - should panic ... ok",
    ] {
        assert!(output.contains(line), "no '{line}':\n{output}");
    }
    for (test, words) in [
        (
            "panics::ranks_4",
            &["tests/ranks.rs", "of all ranks this one", "rank 2 printed:\n  this is rank 2"][..],
        ),
        ("panics::ranks_4", &["a job of 4 ranks failed", "rank 2 (", "exited with code 101"]),
        ("returns_an_error::ranks_2", &["rank 1 (", "exited with code 1;", "InvalidDigit"]),
        ("aborts::ranks_2", &["rank 1 (", "was killed by signal 6 (SIGABRT)"]),
        (
            "deadlocks::ranks_2",
            &["deadlock: ", "waits for a message from rank 1", "tests/ranks.rs:"],
        ),
        (
            "hangs::ranks_2",
            &["has lasted for 1 s", "in barrier", "rank 0 to arrive", "tests/ranks.rs:"],
        ),
        ("conflicts::ranks_2", &["conflict", "put", "tests/ranks.rs:"]),
    ] {
        let report = failure(output, test);
        words.iter().for_each(|word| assert!(report.contains(word), "no '{word}':\n{report}"));
        assert!(!report.contains("running 1 test"), "of the harness:\n{report}");
    }
    nextest_runs_them_too();
}

/// cargo-nextest starts a process for each test. What fails, and how, is the same.
fn nextest_runs_them_too() {
    let nextest = Command::new(env!("CARGO")).args(["nextest", "--version"]).output();
    if !nextest.is_ok_and(|output| output.status.success()) {
        println!("not tested: cargo-nextest is not installed");
        return;
    }
    let outcome = cargo(&["nextest", "run"]);
    let output = &outcome.output;
    assert_eq!(outcome.status.code(), Some(100), "{output}");
    for words in [
        "11 tests run: 5 passed, 6 failed, 1 skipped",
        "fresh::ranks panics::ranks_4",
        "rank 2 printed:\n  this is rank 2",
        "has lasted for 1 s",
    ] {
        let is_there = words.lines().all(|line| output.contains(line));
        assert!(is_there, "no '{words}':\n{output}");
    }
}

#[onesided::test(ranks = [1, 3])]
fn several_jobs_of_a_test_have_their_own_ranks(universe: &Universe) {
    assert_eq!(universe.world().allreduce(&[1], Op::Sum).unwrap(), [universe.world().size()]);
}

#[test]
fn a_test_may_start_several_jobs() {
    for ranks in [2, 1, 3] {
        Job::new(ranks).run(|universe| assert_eq!(universe.world().size(), ranks));
    }
}

#[test]
#[should_panic(expected = "a job has from 1 to")]
fn no_ranks_are_refused_by_the_launcher() {
    Job::new(0).run(|_| ());
}

/// Its ranks never end by themselves.
#[onesided::test(ranks = [2])]
#[ignore = "is killed by another test"]
fn never_ends(world: &Comm) {
    if world.rank() == 0 {
        loop {
            std::thread::park();
        }
    }
    world.barrier().unwrap();
}

/// A variable in the environment of all processes of one test.
const MARK: &str = "TEST_THAT_IS_KILLED";

/// How many processes have the mark with this value.
fn marked(value: &str) -> usize {
    let mark = format!("{MARK}={value}");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let environments =
        processes.filter_map(|process| fs::read(process.path().join("environ")).ok());
    let has_mark =
        |text: &Vec<u8>| text.split(|byte| *byte == 0).any(|word| word == mark.as_bytes());
    environments.filter(has_mark).count()
}

#[track_caller]
fn eventually(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn nothing_is_left_of_a_test_that_is_killed() {
    let value = std::process::id().to_string();
    let mut test: Child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "never_ends::ranks_2", "--ignored", "--nocapture"])
        .env(MARK, &value)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The test, its second process, both halves of the launcher, and two ranks.
    eventually("the test has all its processes", || marked(&value) == 6);
    test.kill().unwrap();
    test.wait().unwrap();
    eventually("they have ended", || marked(&value) == 0);
}
