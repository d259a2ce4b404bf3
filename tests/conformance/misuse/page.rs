//! docs/reference/misuse.md, made from the tables, and what must be true of them.
//!
//! `MISUSE=overwrite cargo test --all-features --test conformance misuse::page` writes the page anew; review it.
#![allow(clippy::disallowed_methods, reason = "reads the variable that asks to write the page")]

use super::SECTIONS;
use super::row::{Refused, Row};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const HEAD: &str = "\
# Misuse

Wrong calls, and the answer to each. Where the answer is an error class, one test makes the call on both ranks of a
job (`every_wrong_call_is_refused` in `tests/conformance/misuse/`): the error has that class, its sentence names call, window,
rank and values, nothing has changed, and the job goes on working. The other calls do not compile, or their test
needs a process of its own. In C two kinds of calls are accepted, with one note in the job, unless `rmarun --strict`
is given: request-based operations in epochs of fence and start, and locks of windows with no_locks.

`MPI_INT` against `MPI_UNSIGNED` in one collective is refused: types match by their names, not by their sizes (MPI-4.1
§3.3.1; §6.1 asks for matching signatures).

The tables are in `tests/conformance/misuse/`, and this page is generated from them:

    MISUSE=overwrite cargo test --all-features --test conformance misuse::page

Without the variable the same test fails if the page is stale.
";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rows() -> impl Iterator<Item = &'static Row> {
    SECTIONS.iter().flat_map(|section| section.rows)
}

/// The file that holds a test, from the root.
fn file_of(test: &str) -> String {
    let (file, _) = test.rsplit_once("::").expect("file::function");
    format!("tests/{file}.rs")
}

fn line(row: &Row) -> String {
    let here = "[every_wrong_call_is_refused](../../tests/conformance/misuse/mod.rs)";
    let (answer, test) = match &row.refused {
        Refused::OnWindow(wrong) => (format!("{:?}", wrong.class), here.to_owned()),
        Refused::InJob(wrong) => (format!("{:?}", wrong.class), here.to_owned()),
        Refused::ByCompiler(case) => {
            let file = format!("../../tests/types/fail/{case}.rs");
            ("does not compile".to_owned(), format!("[{case}]({file})"))
        }
        Refused::Elsewhere(class, test) => {
            let (_, function) = test.rsplit_once("::").expect("file::function");
            (format!("{class:?}"), format!("[{function}](../../{})", file_of(test)))
        }
    };
    format!("| {} | {answer} | {test} |\n", row.wrong)
}

fn page() -> String {
    let compiled = rows().filter(|row| !matches!(row.refused, Refused::ByCompiler(_))).count();
    let all = rows().count();
    let mut page = format!(
        "{HEAD}\n{all} wrong calls: {compiled} refused with an error, {} by the compiler.\n",
        all - compiled
    );
    for section in SECTIONS {
        page += &format!("\n## {}\n\n", section.title);
        page += "| wrong call | answer | test |\n| --- | --- | --- |\n";
        section.rows.iter().for_each(|row| page += &line(row));
    }
    page
}

#[test]
fn the_page_is_up_to_date() {
    let file = root().join("docs/reference/misuse.md");
    if std::env::var("MISUSE").is_ok_and(|wish| wish == "overwrite") {
        fs::write(&file, page()).expect("the page can be written");
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    for (number, made) in page().lines().enumerate() {
        let there = found.lines().nth(number);
        assert_eq!(there, Some(made), "docs/reference/misuse.md, line {}, is stale", number + 1);
    }
    assert_eq!(found.lines().count(), page().lines().count(), "docs/reference/misuse.md is stale");
}

#[test]
fn every_row_stands_once_and_its_test_exists() {
    let mut seen = BTreeSet::new();
    for row in rows() {
        assert!(!row.wrong.contains('|'), "'{}' would end its cell", row.wrong);
        assert!(seen.insert(row.wrong), "'{}' stands twice", row.wrong);
        if let Refused::Elsewhere(_, test) = row.refused {
            let text = fs::read_to_string(root().join(file_of(test))).expect("the test's file");
            let (_, function) = test.rsplit_once("::").expect("file::function");
            assert!(text.contains(&format!("fn {function}(")), "there is no {test}");
        }
    }
}

/// A case of tests/types that is no row would be missing on the page.
#[test]
fn every_case_of_the_compiler_is_a_row() {
    let rows: BTreeSet<String> = rows()
        .filter_map(|row| match row.refused {
            Refused::ByCompiler(case) => Some(case.to_owned()),
            _ => None,
        })
        .collect();
    let folder = fs::read_dir(root().join("tests/types/fail")).expect("the cases");
    let files = folder.map(|entry| entry.expect("a case").path());
    let sources = files.filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    let name = |path: std::path::PathBuf| {
        path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned()
    };
    assert_eq!(rows, sources.map(name).collect());
}
