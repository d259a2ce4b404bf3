//! What the types promise (`src/epoch/mod.rs`, 1 to 4): no case in `fail` compiles. Its twin of the same name
//! in `pass` does, and runs as a job of one rank.
//!
//! A comment `//~ E0499 Window` at a line of a case is an error that the compiler reports there: its code
//! (`error` if it has none), and names that its message contains.
#![allow(clippy::disallowed_methods, reason = "asks for the compiler that Cargo uses")]

mod pass;
#[path = "../support/mod.rs"]
mod support;

use serde_json::Value;
use std::cmp::Reverse;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The files of a folder beside this file with this ending, by name.
fn cases(folder: &str) -> BTreeMap<String, PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/types").join(folder);
    let paths = fs::read_dir(folder).expect("the cases").map(|entry| entry.expect("a case").path());
    let name = |path: &PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    paths.map(|path| (name(&path), path)).filter(|(name, _)| name != "mod").collect()
}

/// The builds of a library beside this test, the latest one first.
fn builds(name: &str) -> Vec<PathBuf> {
    let test = std::env::current_exe().expect("the test's own path");
    let files = fs::read_dir(test.parent().expect("its folder")).expect("its folder");
    let start = format!("lib{name}-");
    let is_one = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        name.starts_with(&start) && name.ends_with(".rlib")
    };
    let mut builds: Vec<_> =
        files.map(|entry| entry.expect("a file").path()).filter(is_one).collect();
    builds.sort_by_key(|path| Reverse(path.metadata().and_then(|file| file.modified()).ok()));
    builds
}

/// A compiler of programs that use that build of each library.
fn compiler([onesided, bytemuck]: [&Path; 2]) -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    command.args(["--edition=2024", "--crate-type=bin", "--error-format=json", "--emit=metadata"]);
    command.arg("-o").arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("case.rmeta"));
    command.arg(format!("-Ldependency={}", onesided.parent().expect("a folder").display()));
    for (name, path) in [("onesided", onesided), ("bytemuck", bytemuck)] {
        command.arg(format!("--extern={name}={}", path.display()));
    }
    command
}

/// The latest onesided, and the bytemuck that it was built with: there is one for each set of features.
fn libraries() -> &'static [PathBuf; 2] {
    static FOUND: OnceLock<[PathBuf; 2]> = OnceLock::new();
    FOUND.get_or_init(|| {
        let onesided = builds("onesided").into_iter().next().expect("it is built");
        let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("same.rs");
        let text = "fn of<T: onesided::Pod>() {} fn main() { fn by<T: bytemuck::Pod>() { of::<T>() } by::<u8>() }";
        fs::write(&source, text).expect("the folder is there");
        let is_it = |bytemuck: &PathBuf| {
            let output = compiler([&onesided, bytemuck]).arg(&source).output();
            output.expect("the compiler runs").status.success()
        };
        let bytemuck = builds("bytemuck").into_iter().find(is_it).expect("it is built");
        [onesided, bytemuck]
    })
}

/// An error: its line, its code, and its text with all labels and notes.
struct Report {
    line: u64,
    code: String,
    text: String,
}

/// The message of a diagnostic, and the labels of its places.
fn text(diagnostic: &Value) -> String {
    let labels = diagnostic["spans"].as_array().into_iter().flatten().map(|span| &span["label"]);
    let texts = labels.chain([&diagnostic["message"]]).filter_map(Value::as_str);
    let notes = diagnostic["children"].as_array().into_iter().flatten().map(text);
    texts.map(str::to_owned).chain(notes).collect::<Vec<_>>().join("\n")
}

/// The line of a case that a place belongs to; of one inside a macro of the standard library, that of its use.
fn line_in(case: &Path, span: &Value) -> Option<u64> {
    let mut span = span;
    while span["file_name"].as_str()? != case.to_str()? {
        span = &span["expansion"]["span"];
    }
    span["line_start"].as_u64()
}

/// What the compiler reports of a case.
fn compile(case: &Path) -> Vec<Report> {
    let [onesided, bytemuck] = libraries();
    let mut command = compiler([onesided, bytemuck]);
    let output = command.arg(case).output().expect("the compiler runs");
    let lines = String::from_utf8(output.stderr).expect("JSON");
    let diagnostics = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    let errors = diagnostics.filter(|diagnostic| diagnostic["level"] == "error");
    let report = |error: Value| {
        let spans = error["spans"].as_array().into_iter().flatten();
        let primary = spans.filter(|span| span["is_primary"] == true);
        let code = error["code"]["code"].as_str().unwrap_or("error").to_owned();
        // The last one only counts the others.
        let line = primary.filter_map(|span| line_in(case, span)).min();
        line.map(|line| Report { line, code, text: text(&error) })
    };
    errors.filter_map(report).collect()
}

/// The comments of a case: their line, and the code and names that they expect.
fn expected(source: &str) -> Vec<(u64, Vec<&str>)> {
    let mut expected = Vec::new();
    for (number, line) in (1..).zip(source.lines()) {
        let comments = line.split("//~").skip(1);
        expected.extend(comments.map(|words| (number, words.split_whitespace().collect())));
    }
    expected
}

/// Whether a text has a word.
fn has(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

#[test]
fn misuse_does_not_compile() {
    let mut wrong = Vec::new();
    for (name, path) in cases("fail") {
        let source = fs::read_to_string(&path).expect("a case");
        let (expected, reports) = (expected(&source), compile(&path));
        assert!(!expected.is_empty(), "{name} expects no error");
        for (line, words) in &expected {
            let (code, names) = words.split_first().expect("a code");
            let is_it = |report: &&Report| {
                report.line == *line
                    && report.code == *code
                    && names.iter().all(|name| has(&report.text, name))
            };
            if !reports.iter().any(|report| is_it(&report)) {
                wrong.push(format!("{name}.rs:{line}: not reported: {}", words.join(" ")));
            }
        }
        // The compiler may report one mistake at several lines, but no other mistake.
        let codes: BTreeSet<&str> = expected.iter().map(|(_, words)| words[0]).collect();
        for Report { line, code, text } in reports {
            if !codes.contains(code.as_str()) {
                wrong.push(format!("{name}.rs:{line}: not expected: {code}: {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_misuse_has_a_twin() {
    let names = |folder| cases(folder).into_keys().collect::<Vec<_>>();
    assert_eq!(names("fail"), names("pass"));
}

/// For each trait that explains what is missing (`diagnostic::on_unimplemented`): a case, what the compiler reports of it,
/// and the note with the remedy.
const EXPLAINED: [(&str, &str, &str); 2] = [
    (
        "accumulate_of_a_struct",
        "`Particle` is not an `Element`, which operations can combine",
        "put, get, load, store and messages move any `Pod`; accumulate, fetch_and_op, compare_and_swap and reductions \
         combine integers, floats, complex numbers, and the standard's pairs of a value and an index",
    ),
    (
        "compare_and_swap_of_floats",
        "`f64` is not an `Integer`, which compare_and_swap can compare by its bytes",
        "compare_and_swap is for i8 to i64 and u8 to u64; for a float, put its `to_bits` in a window of integers",
    ),
];

#[test]
fn the_compiler_explains_what_is_missing() {
    let cases = cases("fail");
    for (case, message, note) in EXPLAINED {
        let reports = compile(&cases[case]);
        // As lines of their own: the compiler's own sentence about the trait is not there instead.
        let explains = |report: &&Report| {
            [message, note].iter().all(|sentence| report.text.lines().any(|line| line == *sentence))
        };
        let texts = reports.iter().map(|report| report.text.as_str()).collect::<Vec<_>>();
        assert!(reports.iter().any(|report| explains(&report)), "{case}: {}", texts.join("\n\n"));
    }
}

/// No such trait is without a case.
#[test]
fn every_explanation_is_tested() {
    fn explanations(folder: &Path) -> usize {
        let of = |path: PathBuf| match path.is_dir() {
            true => explanations(&path),
            false => {
                fs::read_to_string(path).map_or(0, |text| text.matches("#[diagnostic::on_").count())
            }
        };
        fs::read_dir(folder).expect("a folder").map(|entry| of(entry.expect("a file").path())).sum()
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all: usize =
        ["src", "tools/src"].iter().map(|folder| explanations(&root.join(folder))).sum();
    assert_eq!(all, EXPLAINED.len());
}
