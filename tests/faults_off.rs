//! A build without test-hooks knows no faults: neither does it obey `ONESIDED_FAULT`, nor has it
//! heard of the variable.
#![cfg(all(feature = "launcher", not(feature = "test-hooks")))]

mod support;

use std::process::Command;
use support::spmd;

/// The variable that builds with test-hooks read, not as one piece.
fn variable() -> String {
    ["ONESIDED", "FAULT"].join("_")
}

#[test]
fn ranks_do_not_fail_because_a_variable_says_so() {
    let wishes = "0:Joined:1:kill,1:FencePre:1:no such action";
    let mut rmarun = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    rmarun.env(variable(), wishes).args(["-n", "2", "--require-join", "--"]);
    rmarun.arg(std::env::current_exe().expect("the test's own path"));
    rmarun.args(["--exact", "meet", "--ignored", "--nocapture", "--test-threads=1"]);
    let outcome = support::run(&mut rmarun, "meet");
    assert!(outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
}

#[test]
#[ignore = "a rank"]
fn meet() {
    spmd(2, |world| world.barrier().unwrap());
}

#[test]
fn the_variable_is_in_no_program() {
    for program in [env!("CARGO_BIN_EXE_rmarun").into(), std::env::current_exe().unwrap()] {
        let bytes = std::fs::read(&program).unwrap();
        let knows = bytes.windows(variable().len()).any(|part| part == variable().as_bytes());
        assert!(!knows, "{}", program.display());
    }
}
