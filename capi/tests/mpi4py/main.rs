//! mpi4py's own tests: built from source against our header and library, and as the wheel on PyPI, which loads
//! `libmpi.so.12`. They need python3 and PyPI (or what an earlier run has installed), take minutes, and are
//! started by
//!
//! ```text
//! cargo test --release -p onesided-capi --test mpi4py -- --ignored --nocapture
//! ```
//!
//! `ONESIDED_TEST_PART=k/n` runs every n-th pair of a file and a number of ranks, from the k-th on.
//! What fails has to stand in `docs/reference/mpi4py.md`, which `ONESIDED_TEST_WRITE=1` writes anew; the wheel
//! has to give what it has.
#![allow(clippy::disallowed_methods, reason = "reads whether the table is to be written")]

#[path = "../support/mod.rs"]
mod support;

mod outcome;
mod table;

use outcome::Outcome;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The version that the table is of.
const MPI4PY: &str = "4.1.2";

/// With how many ranks each file is run.
const RANKS: [u32; 4] = [1, 2, 3, 5];

/// mpi4py's files of tests, by what they are about.
const FILES: &[(&str, &[&str])] = &[
    ("one-sided", &["rma", "rma_nb", "win"]),
    ("datatypes", &["datatype", "pack", "address", "mpimem", "util_dtlib"]),
    ("groups, communicators", &["group", "comm", "comm_inter", "comm_topo", "session"]),
    (
        "info, attributes, handles",
        &["info", "attributes", "handle", "mpiabi", "environ", "objmodel"],
    ),
    ("errors", &["errhandler", "errorcode", "exceptions", "status"]),
    ("operations", &["op"]),
    ("files", &["file", "io"]),
    (
        "point-to-point",
        &[
            "p2p_buf",
            "p2p_buf_matched",
            "p2p_buf_part",
            "p2p_obj",
            "p2p_obj_matched",
            "msgspec",
            "msgzero",
            "buffer",
            "request",
            "grequest",
            "threads",
        ],
    ),
    (
        "collectives",
        &[
            "cco_buf",
            "cco_vec",
            "cco_obj",
            "cco_nb_buf",
            "cco_nb_vec",
            "cco_pr_buf",
            "cco_pr_vec",
            "cco_ngh_buf",
            "cco_ngh_obj",
            "cco_pr_ngh_buf",
            "cco_buf_inter",
            "cco_obj_inter",
            "cco_vec_inter",
        ],
    ),
];

/// Which mpi4py is installed.
#[derive(Clone, Copy)]
enum Form {
    Built,
    Wheel,
}

/// Where mpi4py lives: a Python of its own, and the sources with the tests.
struct Python {
    python: PathBuf,
    tests: PathBuf,
}

#[test]
#[ignore = "installs from PyPI and takes minutes"]
fn what_fails_is_in_the_table() {
    let Some(python) = python(Form::Built) else { return };
    let mut results = Vec::new();
    let (first, of) = part();
    let mut pair = 0;
    for (about, files) in FILES {
        for file in *files {
            for ranks in RANKS {
                pair += 1;
                if (pair - 1) % of != first {
                    continue;
                }
                let begun = Instant::now();
                let outcome = run(&python, file, ranks);
                let seconds = begun.elapsed().as_secs();
                println!("{file:18} {ranks} ranks {seconds:4} s  {}", outcome.line());
                results.push((*about, *file, ranks, outcome));
            }
        }
    }
    let table = table::markdown(&results);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/mpi4py.md");
    if std::env::var_os("ONESIDED_TEST_WRITE").is_some() {
        assert_eq!(of, 1, "the table is of all files");
        std::fs::write(&path, &table).expect("docs/reference/mpi4py.md can be written");
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let unknown: Vec<_> = results
        .iter()
        .flat_map(|(_, file, ranks, outcome)| outcome.failed.iter().map(move |f| (file, ranks, f)))
        .filter(|(file, _, failed)| !known.contains(&format!("`{file}`: {failed}")))
        .collect();
    assert!(
        unknown.is_empty(),
        "these fail, and docs/reference/mpi4py.md does not say so: {unknown:#?}"
    );
}

#[test]
#[ignore = "installs from PyPI and takes minutes"]
fn the_wheel_gives_what_the_table_has() {
    let Some(python) = python(Form::Wheel) else { return };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/mpi4py.md");
    let page = std::fs::read_to_string(page).expect("the page can be read");
    let (first, of) = part();
    let files = FILES.iter().flat_map(|(_, files)| *files);
    let pairs = files.flat_map(|file| (0..RANKS.len() - 1).map(move |k| (file, k)));
    let mut others = Vec::new();
    for (file, k) in pairs.skip(first).step_by(of) {
        let outcome = run(&python, file, RANKS[k]);
        println!("{file:18} {} ranks  {}", RANKS[k], outcome.line());
        let row = page.lines().find(|line| line.contains(&format!("| test_{file}.py |")));
        let expected = row.and_then(|row| row.split(" | ").nth(k + 2));
        let cell = table::cell(&outcome);
        if expected != Some(&cell) {
            others.push(format!("{file}, {} ranks: {}", RANKS[k], outcome.line()));
        }
    }
    assert!(others.is_empty(), "not as docs/reference/mpi4py.md has them: {others:#?}");
}

/// mpi4py's tests of windows in a checked job. In one of them all ranks put the same values to the same bytes in one epoch,
/// which MPI leaves undefined (MPI-4.1 §12.3); nothing else is reported.
#[test]
#[ignore = "installs from PyPI and takes minutes"]
fn only_puts_of_all_ranks_to_one_conflict() {
    let Some(python) = python(Form::Wheel) else { return };
    let source = std::fs::read_to_string(python.tests.join("test_rma.py")).expect("it is there");
    let line =
        |text: &str| 1 + source.lines().position(|line| line.contains(text)).expect("a test");
    let puts = line("def testPutGet")..line("def testAccumulate");
    for option in ["--check=report", "--check=late,report"] {
        for file in FILES[0].1 {
            let (outcome, printed) = run_with(&python, &[option], file, 2);
            assert!(outcome.failed.is_empty() && outcome.run > 0, "{file}: {printed}");
            let places =
                printed.lines().filter(|line| line.starts_with("  rank ") && line.contains(" at "));
            for place in places {
                let line = place.split_once(": put at test_rma.py:").map(|(_, line)| line);
                let line = line.and_then(|line| line.parse().ok());
                assert!(line.is_some_and(|line| puts.contains(&line)), "{file}: {printed}");
            }
            let conflicts = printed.matches("onesided: conflict in window").count();
            assert_eq!(conflicts, if *file == "rma" { 3 } else { 0 }, "{file}: {printed}");
        }
    }
}

/// Which pairs are run: from which on, and one of how many.
fn part() -> (usize, usize) {
    let Ok(part) = std::env::var("ONESIDED_TEST_PART") else { return (0, 1) };
    let numbers = part.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    numbers.filter(|(k, n)| k < n).expect("ONESIDED_TEST_PART is k/n with k below n")
}

/// Runs one file of tests.
fn run(python: &Python, file: &str, ranks: u32) -> Outcome {
    run_with(python, &[], file, ranks).0
}

/// Runs it with options of rmarun; also returns what was printed on standard error.
fn run_with(python: &Python, options: &[&str], file: &str, ranks: u32) -> (Outcome, String) {
    let mut command = support::installed("rmarun");
    command.args(options).arg("-n").arg(ranks.to_string()).arg("--require-join");
    // A hang is a failure of that file, not of the table.
    command.args(["timeout", "--signal=ABRT", "180"]).arg(&python.python);
    command.args(["runtests.py", "--verbose", "--no-builddir"]).arg(format!("test_{file}"));
    let output = command.current_dir(&python.tests).output().expect("rmarun starts");
    (Outcome::read(&output), support::text(&output.stderr))
}

/// Installs mpi4py, if that has not been done; `None`, with the reason on standard output, if it cannot be.
fn python(form: Form) -> Option<Python> {
    if !support::has("python3") {
        return None;
    }
    let name = match form {
        Form::Built => "mpi4py",
        Form::Wheel => "mpi4py-wheel",
    };
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let python = home.join("venv/bin/python");
    let tests = home.join(format!("mpi4py-{MPI4PY}/test"));
    if !home.join("built").exists() {
        if let Err(problem) = build(&home, &python, form) {
            println!("skipped: mpi4py cannot be installed: {problem}");
            return None;
        }
        std::fs::write(home.join("built"), MPI4PY).expect("the folder can be written");
    }
    Some(Python { python, tests })
}

fn build(home: &Path, python: &Path, form: Form) -> Result<(), String> {
    std::fs::create_dir_all(home).map_err(|problem| problem.to_string())?;
    step(Command::new("python3").args(["-m", "venv", "--clear"]).arg(home.join("venv")))?;
    let pip = || {
        let mut pip = Command::new(python);
        pip.args(["-m", "pip", "--disable-pip-version-check", "--quiet"]).current_dir(home);
        pip
    };
    step(pip().args(["install", "numpy"]))?;
    let source = format!("mpi4py=={MPI4PY}");
    step(pip().args(["download", "--no-deps", "--no-binary", ":all:", &source]))?;
    let archive = format!("mpi4py-{MPI4PY}.tar.gz");
    step(Command::new("tar").arg("xzf").arg(&archive).current_dir(home))?;
    if let Form::Wheel = form {
        step(pip().args(["install", "--only-binary", ":all:", &source]))?;
        return every_symbol_is_there(python);
    }
    let mpicc = support::prefix().join("bin/mpicc");
    step(pip().args(["install", "--no-cache-dir"]).arg(&archive).env("MPICC", mpicc))
}

/// All symbols that the module of the wheel needs are looked up when it is loaded.
fn every_symbol_is_there(python: &Path) -> Result<(), String> {
    let mut command = support::installed("rmarun");
    command.args(["-n", "1", "--require-join", "-x", "LD_BIND_NOW=1"]).arg(python);
    step(command.args(["-c", "from mpi4py import MPI"]))
}

fn step(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|problem| format!("{command:?}: {problem}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}", support::text(&output.stderr))),
    }
}
