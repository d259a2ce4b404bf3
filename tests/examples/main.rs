//! Every example, as its users run it: on several ranks, on real input, and on bad input.
#![cfg(feature = "launcher")]

mod book;
mod calls;
mod heat;
mod options;
#[path = "../support/slices.rs"]
mod slices;
mod slow;
#[path = "../support/mod.rs"]
mod support;
mod verified;
mod wordcount;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::Outcome;

/// The program that Cargo has built for an example, in the same profile as this test.
fn program(example: &str) -> PathBuf {
    let this = std::env::current_exe().expect("the test's own path");
    let profile = this.parent().and_then(Path::parent).expect("tests are in <profile>/deps");
    let program = profile.join("examples").join(example);
    assert!(
        program.exists(),
        "{program:?} is missing: run 'cargo build -p examples -p heat --examples' first"
    );
    program
}

/// Runs an example on `ranks` ranks to its end.
fn run(ranks: u32, example: &str, arguments: &[&str]) -> Outcome {
    run_with(&[], ranks, example, arguments)
}

/// [`run`] with options of rmarun.
fn run_with(options: &[&str], ranks: u32, example: &str, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(["-n", &ranks.to_string(), "--require-join"]).args(support::segment());
    command.args(options);
    command.arg("--").arg(program(example)).args(arguments);
    support::run(&mut command, example)
}

/// Runs an example that must succeed; returns its output.
#[track_caller]
fn succeeds(ranks: u32, example: &str, arguments: &[&str]) -> String {
    let Outcome { status, output } = run(ranks, example, arguments);
    assert!(status.success(), "{ranks} x {example} {arguments:?}, {status}:\n{output}");
    output
}

/// Runs an example that must fail with `code`, one rank alone saying why: in one line that begins
/// with the example's name and has all of `words` in it.
#[track_caller]
fn fails(ranks: u32, code: i32, example: &str, arguments: &[&str], words: &[&str]) {
    let Outcome { status, output } = run(ranks, example, arguments);
    let shown = format!("{ranks} x {example} {arguments:?}, {status}:\n{output}");
    assert_eq!(status.code(), Some(code), "{shown}");
    let start = format!("{example}: ");
    let matching: Vec<&str> = output.lines().filter(|line| line.starts_with(&start)).collect();
    assert_eq!(matching.len(), 1, "{shown}");
    assert!(words.iter().all(|word| matching[0].contains(word)), "not all of {words:?} in {shown}");
}

/// A new empty folder for the files of one test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder for temporary files is writable");
    folder
}

/// Writes a file into a folder; returns its path.
fn file(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    fs::write(&path, content).expect("the folder is writable");
    path.to_str().expect("the path is text").to_owned()
}

/// A file of this repository.
fn ours(path: &str) -> String {
    format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))
}
