//! The comparison as text: circumstances, the rows where a peer is ahead, required numbers, and the tables of each
//! suite.

use super::peer::{C, KINDS, MPICH, OPEN_MPI};
use super::rounds::is_foreign;
use super::{CHECK, Results, numbers, summary};
use crate::report::{self, Row, Unit, find, limit, table};
use crate::suites::Suite;
use std::fmt::Write;

/// What prints all of it.
const COMMAND: &str = "cargo bench --bench rma -- --compare";
/// How the tables of C programs are read.
const COLUMNS_IN_C: &str = "\
C programs: each value is the median of the starts, with the best and the worst start in brackets. \"of the best peer\"
is the median of this library by that of the better peer; above 1, this library is behind. \"sleeps\" and \"preemptions\"
are voluntary and involuntary context switches of this library in one operation.";
/// The libraries of the tables of C programs, in the order of their columns.
const COLUMNS: [usize; 3] = [C, MPICH, OPEN_MPI];

/// A row of the C programs: what each library takes for it.
pub struct Line<'a> {
    /// The row of a library that has it; ours where it exists.
    pub row: &'a Row,
    /// In the order of [`COLUMNS`].
    values: [Option<&'a Row>; COLUMNS.len()],
}

impl Line<'_> {
    /// Our median, by that of the best peer; infinite where only a peer has a result. None of programs that this
    /// library runs in Rust only.
    pub fn of_best_peer(&self) -> Option<f64> {
        if self.row.suite.is_some_and(is_foreign) {
            return None;
        }
        let [ours, peers @ ..] = &self.values;
        let best = peers.iter().flatten().map(|row| row.median()).min_by(f64::total_cmp)?;
        Some(ours.map_or(f64::INFINITY, |ours| ours.median() / best))
    }

    /// Whether a peer has the smaller median.
    pub fn is_behind(&self) -> bool {
        self.of_best_peer().is_some_and(|ratio| ratio > 1.0)
    }
}

/// All rows of the C programs.
pub fn lines(results: &Results) -> Vec<Line<'_>> {
    let peers = &results.found.peers;
    let mut lines: Vec<Line> = Vec::new();
    for row in COLUMNS.iter().flat_map(|kind| &peers[*kind]) {
        let is_known = lines.iter().any(|line| line.row.same(row));
        if !is_known && row.unit != Unit::Count && !row.what.starts_with(CHECK) {
            let value = |kind: usize| find(&peers[kind], &row.what, row.ranks, row.bytes);
            lines.push(Line { row, values: COLUMNS.map(value) });
        }
    }
    lines
}

/// Everything, in Markdown, and whether all required numbers are reached.
pub fn text(results: &Results) -> (String, bool) {
    let mut text = results.circumstances.join("\n\n");
    for note in &results.found.notes {
        let _ = write!(text, "\n\n{note}");
    }
    let lines = lines(results);
    let mut behind: Vec<&Line> = lines.iter().filter(|line| line.is_behind()).collect();
    behind.sort_by(|one, other| f64::total_cmp(&ratio_of(other), &ratio_of(one)));
    let _ = write!(text, "\n\n{}", summary::text(results, &lines));
    let _ = write!(text, "\n\n{COLUMNS_IN_C}");
    let _ = write!(text, "\n\n### Rows where a peer is ahead\n\n{}", in_c(results, &behind));
    let (required, reached) = numbers::text(results);
    let _ = write!(text, "\n\n### Required numbers\n\n`{COMMAND}`\n\n{required}");
    let all = results.found.ours.iter().chain(lines.iter().map(|line| line.row));
    let mut suites: Vec<Suite> = all.filter_map(|row| row.suite).collect();
    suites.sort_by_key(|suite| suite.name());
    suites.dedup();
    for suite in suites {
        let name = suite.name();
        let of_suite: Vec<&Line> =
            lines.iter().filter(|line| line.row.suite == Some(suite)).collect();
        let _ = write!(text, "\n\n### {name}\n\n`{COMMAND} --only {name}`");
        let _ = write!(text, "\n\nC programs:\n\n{}", in_c(results, &of_suite));
        let _ = write!(text, "\n\nRust programs:\n\n{}", in_rust(results, suite));
    }
    (text + "\n", reached)
}

fn ratio_of(line: &Line) -> f64 {
    line.of_best_peer().unwrap_or(0.0)
}

fn bytes(row: &Row) -> String {
    if row.bytes == 0 { String::new() } else { row.bytes.to_string() }
}

/// Rows of C programs, each median with the best and the worst start; of this library also the context switches of
/// an operation.
fn in_c(results: &Results, lines: &[&Line]) -> comfy_table::Table {
    let mut columns = vec!["operation", "ranks", "bytes"];
    columns.extend(COLUMNS.map(|kind| KINDS[kind].name));
    columns.extend(["of the best peer", "", "sleeps", "preemptions"]);
    let mut table = table(&columns);
    for line in lines {
        let row = line.row;
        let mut cells = vec![row.what.clone(), row.ranks.to_string(), bytes(row)];
        for (value, kind) in line.values.iter().zip(COLUMNS) {
            let is_measured = !results.found.peers[kind].is_empty();
            let none = if is_measured { "no result" } else { "" };
            cells.push(value.map_or(none.into(), Row::value_and_range));
        }
        cells.push(line.of_best_peer().map_or(String::new(), report::ratio));
        cells.push(if line.is_behind() { "behind".into() } else { String::new() });
        for count in ["sleeps: ", "preemptions: "] {
            let what = format!("{count}{}", row.what);
            let count = find(&results.found.peers[C], &what, row.ranks, row.bytes);
            cells.push(count.map_or(String::new(), Row::value));
        }
        table.add_row(cells);
    }
    table
}

/// Rows of Rust programs, and the same work by hand.
fn in_rust(results: &Results, suite: Suite) -> comfy_table::Table {
    let mut table = table(&["operation", "ranks", "bytes", "onesided", "limit", "of limit"]);
    let hidden = |row: &Row| row.what.starts_with("limit: ") || row.what.starts_with(CHECK);
    let ours = &results.found.ours;
    for row in ours.iter().filter(|row| row.suite == Some(suite) && !hidden(row)) {
        let limit = limit(ours, row);
        table.add_row([
            row.what.clone(),
            row.ranks.to_string(),
            bytes(row),
            row.value(),
            limit.map_or(String::new(), Row::value),
            limit.map_or(String::new(), |limit| report::ratio(row.median() / limit.median())),
        ]);
    }
    table
}
