//! What the types promise (`src/epoch/mod.rs`, 1 to 4): every case in `fail` does not compile, for
//! the reason in its `.stderr`; its twin of the same name in `pass` does, and runs as a job of one.
//!
//! `TRYBUILD=overwrite cargo test --test types` writes the reasons anew; review them.

use std::collections::BTreeSet;
use std::path::Path;

fn names(folder: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/types").join(folder);
    let files = std::fs::read_dir(folder).expect("the cases").map(|entry| entry.unwrap().path());
    let sources = files.filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    sources.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn misuse_does_not_compile_and_its_twin_does() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/types/fail/*.rs");
    cases.pass("tests/types/pass/*.rs");
}

#[test]
fn every_misuse_has_a_twin() {
    assert_eq!(names("fail"), names("pass"));
    assert!(!names("fail").is_empty());
}
