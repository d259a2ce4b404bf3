//! The programs of the book print what the book shows.

use super::{ours, program, run_with, succeeds};
use crate::support::{self, NODE, Outcome, WAYS, mpich, mpiexec};
use std::fs;

/// The output that the book shows of a program.
fn shown(program: &str) -> String {
    fs::read_to_string(ours(&format!("docs/book/programs/{program}.txt"))).expect("it is there")
}

/// The lines in an order that does not depend on which rank was faster.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// Those that succeed.
const PROGRAMS: [&str; 10] = [
    "first", "halo", "locks", "mutex", "notified", "shared", "slices", "tasks", "threads",
    "tickets",
];

#[test]
fn the_programs_of_the_book_print_what_it_shows() {
    for program in PROGRAMS {
        let printed = succeeds(4, &format!("book-{program}"), &[]);
        assert_eq!(sorted(&printed), sorted(&shown(program)), "{program}");
    }
}

#[test]
fn the_programs_of_the_book_print_the_same_under_another_mpi() {
    let Some(mpich) = mpich() else { return };
    for (name, way) in PROGRAMS.into_iter().flat_map(|name| WAYS.map(|way| (name, way))) {
        let mut command = mpiexec(&mpich, 4);
        command.env(NODE, way).arg(program(&format!("book-{name}")));
        let Outcome { status, output } = support::run(&mut command, name);
        assert!(status.success(), "{name}, {way}: {output}");
        assert_eq!(sorted(&output), sorted(&shown(name)), "{name}, {way}");
    }
}

/// The lines of the ranks; those of rmarun have numbers of processes.
#[test]
fn the_survivors_of_the_book_print_what_it_shows() {
    let continued = &["--on-failure=continue"];
    let Outcome { status, output } = run_with(continued, 4, "book-failures", &[]);
    assert_eq!(status.code(), Some(101), "{output}");
    let of_ranks: Vec<&str> = output.lines().filter(|line| line.starts_with("rank ")).collect();
    assert_eq!(sorted(&of_ranks.join("\n")), sorted(&shown("failures")), "{output}");
}

/// How long ago a call began differs from run to run.
fn without_ages(text: &str) -> Vec<&str> {
    let row = |line: &'_ str| line.ends_with(" s ago").then(|| line.rfind("  ")).flatten();
    text.lines().map(|line| &line[..row(line).unwrap_or(line.len())]).collect()
}

#[test]
fn the_wrong_programs_of_the_book_are_reported_as_it_shows() {
    for (program, options, code) in [("hang", &[][..], 123), ("race", &["--check"], 124)] {
        let Outcome { status, output } = run_with(options, 2, &format!("book-{program}"), &[]);
        assert_eq!(status.code(), Some(code), "{output}");
        assert_eq!(without_ages(&output), without_ages(&shown(program)), "{program}");
    }
}

/// A listing is a file that is compiled and run: the book has no other program.
#[test]
fn every_listing_of_the_book_is_a_file() {
    let chapters = fs::read_dir(ours("docs/book/src")).expect("the chapters");
    let mut listings = 0;
    for chapter in chapters.map(|entry| entry.expect("an entry").path()) {
        let text = fs::read_to_string(&chapter).expect("a chapter is text");
        for block in text.split("```").skip(1).step_by(2) {
            let (_, included) = block.split_once('\n').expect("a line with the language");
            let file = included.trim().strip_prefix("{{#include ../programs/");
            let file = file.and_then(|rest| rest.strip_suffix("}}"));
            let file = file.unwrap_or_else(|| panic!("{}: {block}", chapter.display()));
            assert!(fs::exists(ours(&format!("docs/book/programs/{file}"))).expect("asked"));
            listings += 1;
        }
    }
    assert!(listings >= 50, "{listings} listings");
}
