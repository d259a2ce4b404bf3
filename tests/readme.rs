//! What the README says is so: its links lead somewhere, its program is the example, and the
//! tests that its table of calls names exist.

use std::fs;
use std::path::Path;

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The links of a Markdown text, as (text, destination).
fn links(text: &str) -> Vec<(&str, &str)> {
    let ends = text.match_indices("](");
    ends.filter_map(|(at, _)| {
        let start = text[..at].rfind('[')? + 1;
        let end = at + text[at..].find(')')?;
        Some((&text[start..at], &text[at + 2..end]))
    })
    .collect()
}

#[test]
fn links_lead_to_files_and_to_tests_that_exist() {
    let guides = ["README.md", "ARCHITECTURE.md", "loom_tests/README.md"];
    for document in guides.into_iter().chain(["docs/faults.md", "docs/threat-model.md"]) {
        let text = read(document);
        let folder = Path::new(document).parent().unwrap();
        for (name, destination) in links(&text) {
            if destination.contains("::") || destination.contains("//") {
                continue;
            }
            let file = folder.join(destination);
            let target = read(file.to_str().unwrap());
            let inside = destination.trim_start_matches("../");
            if inside.starts_with("tests/") && name != inside {
                assert!(
                    target.contains(&format!("fn {name}(")),
                    "{destination} has no test {name}"
                );
            }
        }
    }
}

#[test]
fn the_table_of_calls_names_a_test_for_every_call_that_works() {
    let text = read("README.md");
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with("| `MPI_")).collect();
    assert!(rows.len() > 30, "the table of calls is gone");
    for row in rows {
        let named = links(row).iter().any(|(_, to)| to.starts_with("tests/"));
        assert!(named || row.contains("| absent | | |"), "no test is named: {row}");
    }
}

#[test]
fn the_readmes_program_is_the_example() {
    let example = read("examples/hello.rs");
    // Its options, which come before it, would only be in the way of who copies the program.
    let program = &example[example.find("use onesided").unwrap()..];
    assert_eq!(program.matches("fn hello()").count(), 1);
    let program = &program.replace("fn hello()", "fn main()");
    assert!(read("README.md").contains(program), "examples/hello.rs and the README differ");
    let crate_docs: String = read("src/lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line)))
        .collect();
    assert!(crate_docs.contains(program), "examples/hello.rs and the crate's documentation differ");
}

#[test]
fn ci_runs_the_readmes_commands() {
    let ci = read(".ci/run");
    assert!(ci.contains("cargo run --release -- -n 8 --example wordcount -- --verify"));
    assert!(ci.contains("cargo test --locked --workspace --all-features"));
}
