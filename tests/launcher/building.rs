//! `--example`, `--bin` and `cargo rma`.

use crate::harness::{Run, Started, finish, rmarun};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An empty folder of this test's own.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // Left by an earlier run.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A Cargo project with one example and one binary.
fn project(name: &str, example: &str) -> PathBuf {
    let folder = folder(name);
    let manifest = "[workspace]\n[package]\nname = \"sample\"\nedition = \"2024\"\n\
                    [features]\nloud = []\n";
    for (path, text) in [
        ("Cargo.toml", manifest),
        ("examples/hello.rs", example),
        ("src/main.rs", "fn main() { println!(\"bin {}\", std::env::args().count()) }"),
    ] {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn run_in(folder: &Path, arguments: &[&str]) -> Run {
    let mut command = rmarun(arguments);
    command.current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target"));
    command.stdin(Stdio::null());
    finish(Started::new(command))
}

#[test]
fn an_example_is_built_in_release_mode_and_run() {
    let example = "fn main() {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let mode = if cfg!(debug_assertions) { \"debug\" } else { \"release\" };
        let loud = if cfg!(feature = \"loud\") { \" loud\" } else { \"\" };
        println!(\"{mode} {arguments:?}{loud}\");
    }";
    let folder = project("builds", example);
    let run = run_in(&folder, &["-n", "2", "--example", "hello", "--", "-v", "a b"]).expect(0);
    assert_eq!(run.stdout, "release [\"-v\", \"a b\"]\n".repeat(2));
    let run = run_in(&folder, &["-n", "1", "--example", "hello", "--features", "loud"]).expect(0);
    assert_eq!(run.stdout, "release [] loud\n");
    let run = run_in(&folder, &["-n", "2", "--bin", "sample", "-p", "sample", "x"]).expect(0);
    assert_eq!(run.stdout, "bin 2\n".repeat(2));
    let run = run_in(&folder, &["-n", "2", "--example", "missing"]).expect(101);
    run.reports(&["cargo could not build example 'missing'"]);
}

#[test]
fn cargo_rma_is_rmarun() {
    let folder = project("subcommand", "fn main() { println!(\"hello\"); std::process::exit(3) }");
    // As Cargo starts it.
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-rma"));
    command.args(["rma", "-n", "2", "--example", "hello"]);
    command.current_dir(&folder).env("CARGO_TARGET_DIR", folder.join("target"));
    command.stdin(Stdio::null());
    let run = finish(Started::new(command)).expect(3);
    assert!(run.stdout.starts_with("hello\n"), "{run:#?}");
}

#[test]
fn cargo_rma_without_rmarun_fails() {
    let alone = folder("alone").join("cargo-rma");
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_cargo-rma")).arg(&alone).status();
    assert!(copied.is_ok_and(|status| status.success()), "cp");
    let run = finish(Started::new(Command::new(&alone))).expect(125);
    assert!(run.stderr.starts_with("cargo rma: cannot start '"), "{run:#?}");
}

#[test]
fn what_does_not_build_does_not_run() {
    let run =
        run_in(&project("broken", "fn main() { nonsense }"), &["-n", "2", "--example", "hello"]);
    let run = run.expect(101);
    run.reports(&["cargo could not build example 'hello'"]);
    assert!(run.stderr.contains("cannot find value `nonsense`"), "{run:#?}");
}
