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
    for folder in ["docs", "docs/reference"] {
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

#[test]
fn a_stranger_reads_the_readme_in_a_few_minutes() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 110, "{lines} lines");
}

/// The rows of the README's numbers: what each is called in docs/reference/measurements.md, its
/// ranks and its bytes.
const NUMBERS: [(&str, &str, &str, &str); 9] = [
    ("put of 8 B + flush", "put + flush", "2", "8"),
    ("put of 1 MiB + flush", "put + flush", "2", "1048576"),
    ("fetch_and_op + flush", "fetch_and_op sum u64 + flush", "2", "8"),
    ("lock + put + unlock", "lock exclusive + put + unlock", "2", "8"),
    ("fence of 2 ranks", "fence", "2", ""),
    ("fence of 8 ranks", "fence", "8", ""),
    ("lock_all + unlock_all, 64 ranks", "lock_all + unlock_all by one rank", "64", ""),
    ("heat, a step of 128 KiB, 8 ranks", "heat, a step by fence", "8", "131072"),
    (
        "hash table, 32 Ki inserts, 8 ranks",
        "hash table, 32 Ki inserts by compare_and_swap",
        "8",
        "",
    ),
];

/// The cells of a row of a Markdown table.
fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

/// Nanoseconds.
fn time(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap_or_else(|| panic!("'{text}' is no time"));
    let of_unit = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        _ => panic!("'{text}' is no time"),
    };
    number.parse::<f64>().unwrap_or_else(|_| panic!("'{text}' is no time")) * of_unit
}

/// The README, docs/performance.md and the table that the benchmark has written agree.
#[test]
fn there_is_one_set_of_numbers() {
    let (readme, performance) = (read("README.md"), read("docs/performance.md"));
    let measured = read("docs/reference/measurements.md");
    let tables = measured.split_once("### moves").expect("the tables of the suites").1;
    for (row, name, ranks, bytes) in NUMBERS {
        let line = readme.lines().find(|line| line.starts_with(&format!("| {row} |")));
        let line = line.unwrap_or_else(|| panic!("the README has no row '{row}'"));
        assert!(performance.contains(line), "docs/performance.md has another '{row}'");
        let of_suite = tables.lines().map(cells).find(|cells| {
            let at = |index| cells.get(index).copied();
            at(0) == Some(name) && at(1) == Some(ranks) && at(2) == Some(bytes)
        });
        let of_suite = of_suite.unwrap_or_else(|| panic!("no measurement of '{row}'"));
        let measured = [of_suite[3], of_suite[4], of_suite[6], of_suite[8]];
        for (shown, measured) in cells(line)[1..].iter().zip(measured) {
            assert_eq!(shown.is_empty(), measured.is_empty(), "{row}: {shown}, {measured}");
            let close = shown.is_empty() || (time(shown) / time(measured) - 1.0).abs() < 0.08;
            assert!(close, "{row}: {shown} is shown, and {measured} was measured");
        }
    }
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

#[test]
fn ci_runs_the_readmes_commands() {
    let ci = read(".ci/run");
    assert!(ci.contains("cargo run --release -- -n 8 --example wordcount -- --verify"));
    assert!(ci.contains("cargo test --locked --workspace --all-features"));
}
