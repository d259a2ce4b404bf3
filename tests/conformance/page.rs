//! docs/reference/conformance.md, made from the lists, and what must be true of them.
//!
//! `CONFORMANCE=overwrite cargo test --all-features --test conformance page::` writes the page anew;
//! review it.
#![allow(clippy::disallowed_methods, reason = "reads the variable that asks to write the page")]

use super::rule::{Rule, Section, Shown};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const SECTIONS: &[&Section] = &[
    &super::creation::SECTION,
    &super::creation::ATTRIBUTES,
    &super::communication::SECTION,
    &super::communication::ACCUMULATE,
    &super::epochs::SECTION,
    &super::fence::SECTION,
    &super::general::SECTION,
    &super::lock::SECTION,
    &super::assertions::SECTION,
    &super::assertions::CLARIFICATIONS,
    &super::errors::SECTION,
    &super::semantics::SECTION,
    &super::progress::ATOMICITY,
    &super::progress::SECTION,
    &super::passive::SECTION,
    &super::passive::FLUSH,
    &super::flavours::SECTION,
    &super::additions::REQUESTS,
    &super::additions::INFO,
    &super::additions::NOTIFIED,
    &super::threads::SECTION,
    &super::threads::SHARED_MEMORY,
];

const HEAD: &str = "\
# Conformance

Every normative sentence of the standard's chapter on one-sided communication, and the tests that show that the
library obeys it. A row has the number of the rule, its clause with the edition, a paraphrase, and its tests. The
rules are numbered in the order of the text, or as the text numbers them. A rule without a test has the reason: it
binds the program, or it promises nothing that could fail. `capi/tests` checks the same rules through C.

The lists are in `tests/conformance/`, and this page is generated from them:

    CONFORMANCE=overwrite cargo test --all-features --test conformance page::

Without the variable the same test fails if the page is stale, if a test that it names does not exist, or if a rule
has neither a test nor a reason.
";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The file, from the root, that holds the test `file::function`, and the function.
fn place(test: &str) -> (String, &str) {
    let (file, function) = test.rsplit_once("::").expect("file::function");
    match file {
        "types" => (format!("tests/types/fail/{function}.rs"), function),
        "misuse" => ("docs/reference/misuse.md".to_owned(), function),
        _ if root().join(format!("tests/{file}.rs")).exists() => {
            (format!("tests/{file}.rs"), function)
        }
        _ => (format!("{file}.rs"), function),
    }
}

fn exists(test: &str) -> bool {
    if let Some(row) = test.strip_prefix("misuse::") {
        return super::misuse::has_row(row);
    }
    let (file, function) = place(test);
    let Ok(text) = fs::read_to_string(root().join(file)) else { return false };
    test.starts_with("types::") || tests_of(&text).any(|name| name == function)
}

/// The test functions of a source text.
fn tests_of(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[test]\n").skip(1).filter_map(|behind| {
        let name = behind.split_once("fn ")?.1;
        name.split_once('(').map(|(name, _)| name)
    })
}

fn rules() -> impl Iterator<Item = (&'static Section, &'static Rule)> {
    SECTIONS.iter().flat_map(|section| section.rules.iter().map(|rule| (*section, rule)))
}

fn cited() -> impl Iterator<Item = (String, &'static str)> {
    rules().flat_map(|(section, rule)| {
        let tests = if let Shown::By(tests) = rule.shown { tests } else { &[] };
        tests.iter().map(|test| (format!("{}-{}", section.clause, rule.number), *test))
    })
}

fn row(section: &Section, rule: &Rule) -> String {
    let shown = match rule.shown {
        Shown::By(tests) => {
            let link = |test: &&str| {
                let (file, function) = place(test);
                format!("[{function}](../../{file})")
            };
            tests.iter().map(link).collect::<Vec<_>>().join("<br>")
        }
        Shown::Nothing(why) => format!("none: {why}"),
    };
    let (edition, clause, number) = (section.edition, section.clause, rule.number);
    format!("| {clause}-{number} | {edition} §{clause} | {} | {shown} |\n", rule.expected)
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    let of = |shown: fn(&Shown) -> bool| rules().filter(|(_, rule)| shown(&rule.shown)).count();
    write!(
        page,
        "\n{} rules: {} shown by {} tests, {} that bind the program or promise nothing.\n",
        rules().count(),
        of(|shown| matches!(shown, Shown::By(_))),
        cited().map(|(_, test)| test).collect::<BTreeSet<_>>().len(),
        of(|shown| matches!(shown, Shown::Nothing(_))),
    )
    .expect("a string can be written to");
    for section in SECTIONS {
        let (edition, clause, title) = (section.edition, section.clause, section.title);
        page += &format!("\n## {edition} §{clause}: {title}\n\n");
        page += "| rule | clause | what | test |\n| --- | --- | --- | --- |\n";
        section.rules.iter().for_each(|rule| page += &row(section, rule));
    }
    page
}

#[test]
fn the_page_is_up_to_date() {
    let file = root().join("docs/reference/conformance.md");
    if std::env::var("CONFORMANCE").is_ok_and(|wish| wish == "overwrite") {
        fs::write(&file, page()).unwrap();
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    for (line, made) in page().lines().enumerate() {
        let there = found.lines().nth(line);
        assert_eq!(there, Some(made), "docs/reference/conformance.md, line {}, is stale", line + 1);
    }
    assert_eq!(
        found.lines().count(),
        page().lines().count(),
        "docs/reference/conformance.md is stale"
    );
}

#[test]
fn every_test_that_is_named_exists() {
    let missing: Vec<_> = cited().filter(|(_, test)| !exists(test)).collect();
    assert!(missing.is_empty(), "there are no such tests: {missing:#?}");
}

#[test]
fn every_rule_has_one_number_and_a_test_or_a_reason() {
    let mut numbers = BTreeSet::new();
    for (section, rule) in rules() {
        let number = format!("{} §{}-{}", section.edition, section.clause, rule.number);
        let expects_something = match rule.shown {
            Shown::By(tests) => !tests.is_empty(),
            Shown::Nothing(why) => !why.is_empty(),
        };
        assert!(
            expects_something && !rule.expected.is_empty(),
            "{number} has no test and no reason"
        );
        assert!(!rule.expected.contains('|'), "{number} would end its cell");
        assert!(numbers.insert(number.clone()), "{number} comes twice");
    }
}

/// A test of the set that shows no rule would be in the wrong place.
#[test]
fn every_test_of_the_set_shows_a_rule() {
    let named: BTreeSet<_> = cited().map(|(_, test)| test).collect();
    let folder = fs::read_dir(root().join("tests/conformance")).unwrap();
    for path in folder.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if stem == "page" {
            continue;
        }
        let text = fs::read_to_string(PathBuf::from(&path)).unwrap();
        for test in tests_of(&text) {
            let test = format!("conformance/{stem}::{test}");
            assert!(named.contains(&*test), "{test} shows no rule");
        }
    }
}
