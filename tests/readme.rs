//! The documents agree with the tree: links lead to files and to tests that exist, the README's
//! program is the example, and its numbers are those that the benchmark has written.

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

/// Every page of the repository that a reader may open first, and all of `docs`.
fn pages() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages: Vec<String> = ["README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY"]
        .into_iter()
        .chain(["capi/README", "loom_tests/README", "benches/README", "src/sync/README"])
        .map(|page| format!("{page}.md"))
        .collect();
    for folder in ["docs", "docs/book/src", "docs/reference"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            pages.extend(name.ends_with(".md").then(|| format!("{folder}/{name}")));
        }
    }
    pages
}

#[test]
fn links_lead_to_files_and_to_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for document in pages() {
        let text = read(&document);
        let folder = Path::new(&document).parent().unwrap();
        for (name, destination) in links(&text) {
            if destination.contains("::") || destination.contains("//") {
                continue;
            }
            let file = destination.split('#').next().unwrap();
            let file = folder.join(if file.is_empty() { "." } else { file });
            assert!(root.join(&file).exists(), "{document}: there is no {destination}");
            let inside = destination.trim_start_matches("../");
            if inside.starts_with("tests/") && inside.ends_with(".rs") && name != inside {
                let target = read(file.to_str().unwrap());
                let is_case = inside.contains("types/fail/");
                let named = is_case || target.contains(&format!("fn {name}("));
                assert!(named, "{document}: {destination} has no test {name}");
            }
        }
    }
}

#[test]
fn the_table_of_calls_names_a_test_for_every_call_that_works() {
    let text = read("docs/reference/calls.md");
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with("| `MPI_")).collect();
    assert!(rows.len() > 30, "the table of calls is gone");
    for row in rows {
        assert!(links(row).iter().any(|(_, to)| to.contains("/tests/")), "no test is named: {row}");
    }
}

/// The sources of the library, of the folder `src`.
fn sources(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = entries.map(|path| match path.is_dir() {
        true => sources(&path),
        false => fs::read_to_string(path).unwrap(),
    });
    texts.collect()
}

#[test]
fn documentation_is_found_by_the_names_of_calls() {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let text = read("docs/reference/calls.md");
    let rows = text.lines().filter(|line| line.starts_with("| `MPI_"));
    let names = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
    let calls: Vec<&str> =
        names.filter(|name| name.starts_with("MPI_") && !name.contains('*')).collect();
    assert!(calls.len() > 60, "{} calls", calls.len());
    let has_alias = |call: &&&str| {
        let name = format!("\"{call}\"");
        sources.lines().any(|line| line.contains("doc(alias") && line.contains(&name))
    };
    let without: Vec<_> = calls.iter().filter(|call| !has_alias(call)).collect();
    assert!(without.is_empty(), "no item has the alias {without:?}");
}

#[test]
fn a_stranger_reads_the_readme_in_a_few_minutes() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 110, "{lines} lines");
}

/// What the comparison has written into a page.
fn written(page: &str) -> String {
    let text = read(page);
    let (_, rest) =
        text.split_once("--markdown FILE`. -->\n").expect("the mark of what is written");
    let (written, _) = rest.split_once("<!-- Up to here. -->").expect("the mark of its end");
    written.trim().to_owned()
}

/// README.md and docs/performance.md show the numbers of the page with all rows, and their sentence counts its rows.
#[test]
fn there_is_one_set_of_numbers() {
    let (readme, measured) = (written("README.md"), written("docs/reference/measurements.md"));
    assert_eq!(readme, written("docs/performance.md"));
    assert!(readme.lines().filter(|line| line.starts_with("| ")).count() >= 8, "the table is gone");
    assert!(measured.contains(&readme), "docs/reference/measurements.md has other numbers");
    let (_, ahead) = measured.split_once("### Rows where a peer is ahead").unwrap_or_default();
    let (ahead, _) = ahead.split_once("###").unwrap_or_default();
    let behind = ahead.lines().filter(|line| line.contains("| behind |")).count();
    let sentence = format!("A peer is ahead of the C interface in {behind} of ");
    let shown = readme.contains("A peer is ahead");
    assert_eq!(shown, behind > 0, "{behind} rows are behind: {readme}");
    assert!(!shown || readme.starts_with(&sentence), "{behind} rows are behind: {readme}");
}

#[test]
fn the_readmes_program_is_the_example() {
    let example = read("examples/hello.rs");
    // The options before it are not part of the program that a reader copies.
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

/// The calls that ARCHITECTURE.md draws, hop by hop: each line has a function and its file.
#[test]
fn every_hop_of_the_architecture_exists() {
    let text = read("ARCHITECTURE.md");
    let (_, calls) = text.split_once("## Calls").expect("the chapter of calls");
    let drawn = calls.split("```").nth(1).expect("the calls as a text");
    let mut hops = 0;
    for line in drawn.lines() {
        let mut words = line.split_whitespace();
        let (Some(function), Some(file)) = (words.next(), words.next()) else { continue };
        if !file.ends_with(".rs") {
            continue;
        }
        let source = read(&format!("src/{file}"));
        let name = function.rsplit("::").next().unwrap();
        let is_there = [format!("fn {name}("), format!("fn {name}<")];
        assert!(is_there.iter().any(|text| source.contains(text)), "no {function} in {file}");
        hops += 1;
    }
    assert!(hops > 20, "{hops} hops");
    let lines = text.lines().count();
    assert!(lines <= 140, "ARCHITECTURE.md has {lines} lines");
}

/// The package of the launcher is no member of the workspace, and has its programs by links.
#[test]
fn the_launchers_package_is_of_this_version_and_has_its_programs() {
    let package = read("packages/rmarun/Cargo.toml");
    for value in ["version", "edition", "rust-version", "license"] {
        let of = |manifest: &str| {
            let start = format!("{value} = ");
            let line = manifest.lines().find(|line| line.starts_with(&start)).map(str::to_owned);
            line.unwrap_or_else(|| panic!("no {value}"))
        };
        assert_eq!(of(&package), of(&read("Cargo.toml")));
    }
    let library = concat!("onesided = { version = \"", env!("CARGO_PKG_VERSION"), "\", path");
    assert!(package.contains(library), "{library}");
    for program in ["main.rs", "subcommand.rs"] {
        let link = format!("packages/rmarun/src/{program}");
        assert_eq!(read(&link), read(&format!("launcher/{program}")));
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(link);
        assert!(path.symlink_metadata().expect("it is there").is_symlink(), "a copy: {program}");
    }
}

#[test]
fn ci_runs_the_readmes_commands() {
    let ci = read(".ci/run");
    assert!(ci.contains("cargo run --release -- -n 8 --example wordcount -- --verify"));
    assert!(ci.contains("cargo test --locked --workspace --all-features"));
}
