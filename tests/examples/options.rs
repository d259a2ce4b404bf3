//! Options of all examples: their help, and what is wrong with them.

use super::{fails, ours, program, run, succeeds};
use crate::support::{self, Outcome};
use std::process::Command;

#[test]
fn examples_run_without_the_launcher_on_one_rank() {
    let mut command = Command::new(program("gups"));
    let Outcome { status, output } = support::run(command.args(["--log-size", "4"]), "gups");
    assert!(status.success() && output.contains(" by 1 rank "), "{status}:\n{output}");
}

#[test]
fn help_names_every_option_once() {
    let options: [(&str, &[&str]); 8] = [
        ("hello", &["--help"]),
        (
            "wordcount",
            &["--top <K>", "--verify", "--slots <N>", "--hash-bits", "<PATH>...", "lower"],
        ),
        ("heat", &["--rows", "--cols", "--steps", "--image", "--sync", "--output", "--verify"]),
        ("gups", &["--log-size", "--updates", "--verify", "four per word"]),
        ("mutex", &["--times", "--words", "--verify"]),
        ("queue", &["--tasks", "--capacity", "--verify"]),
        ("counter", &["--below", "--chunk", "--verify"]),
        ("notify", &["--blocks", "--length", "--verify"]),
    ];
    for (example, options) in options {
        let help = succeeds(3, example, &["--help"]);
        for text in options.iter().chain(&["Usage:", "Examples:"]) {
            assert!(help.contains(text), "no {text} in:\n{help}");
        }
        assert_eq!(help.matches("Usage:").count(), 1, "one rank speaks for all:\n{help}");
    }
}

#[test]
fn wrong_options_are_told_once() {
    for (example, arguments) in [
        ("wordcount", &["--top", "3"][..]),
        ("wordcount", &["--slots", "0", "src"]),
        ("heat", &["--image", "x.png", "--rows", "7"]),
        ("heat", &["--sync", "barrier"]),
        ("gups", &["--log-size", "64"]),
        ("mutex", &["--words", "0"]),
        ("queue", &["--capacity", "0"]),
        ("counter", &["--chunk", "0"]),
        ("notify", &["--length", "0"]),
        ("hello", &["loudly"]),
    ] {
        let Outcome { status, output } = run(3, example, arguments);
        assert_eq!(status.code(), Some(2), "{output}");
        assert_eq!(output.matches("error: ").count(), 1, "{output}");
    }
}

#[test]
fn what_does_not_fit_the_memory_is_told_once() {
    let text = ours("Cargo.toml");
    let needed = ["bytes are needed"];
    fails(3, 1, "wordcount", &["--slots", "1099511627776", &text], &needed);
    fails(3, 1, "gups", &["--log-size", "40"], &needed);
}
