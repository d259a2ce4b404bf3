//! What Python's `unittest` reports of a file of tests.

use crate::support;
use std::collections::BTreeSet;
use std::process::Output;

/// How the tests of a file ended, over all ranks.
pub struct Outcome {
    pub run: u32,
    pub skipped: u32,
    /// The tests that failed on some rank, as `unittest` names them; or how the file ended.
    pub failed: BTreeSet<String>,
}

impl Outcome {
    pub fn read(output: &Output) -> Outcome {
        let text = support::text(&output.stdout) + &support::text(&output.stderr);
        let mut failed: BTreeSet<String> = text.lines().filter_map(failure).collect();
        let run = text
            .lines()
            .find_map(|line| line.strip_prefix("Ran ")?.split(' ').next()?.parse().ok());
        if !output.status.success() && failed.is_empty() {
            failed.insert(ending(&text));
        }
        let skipped = text.lines().filter_map(skips).max().unwrap_or(0);
        Outcome { run: run.unwrap_or(0), skipped, failed }
    }

    pub fn line(&self) -> String {
        let Outcome { run, skipped, failed } = self;
        let failed: Vec<&str> = failed.iter().map(String::as_str).collect();
        format!("{run} run, {skipped} skipped, {} failed {}", failed.len(), failed.join(", "))
    }
}

/// The test that a line such as `FAIL: testPut (test_rma.TestRMASelf.testPut)` names.
fn failure(line: &str) -> Option<String> {
    let rest = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "))?;
    let name = rest.split_once('(').and_then(|(_, name)| name.split_once(')'));
    Some(name.map_or(rest, |(name, _)| name).trim_start_matches("test_").to_owned())
}

/// The number in a line such as `OK (skipped=4)`.
fn skips(line: &str) -> Option<u32> {
    let (_, rest) = line.split_once("skipped=")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The last line of a job that ended in the middle of a test.
fn ending(text: &str) -> String {
    let of_rmarun = |line: &&str| line.starts_with("rmarun: ") || line.contains("(MPI_ERR_");
    let line = text.lines().find(of_rmarun).unwrap_or("the job ended without a word");
    line.chars().take(160).collect()
}
