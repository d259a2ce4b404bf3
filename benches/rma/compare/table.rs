//! The comparison as text: circumstances, required numbers, and a table for each suite.

use super::peer::KINDS;
use super::{CHECK, Results, numbers};
use crate::report::{self, Row, find, limit, table};
use crate::suites::Suite;
use std::fmt::Write;

/// What prints all of it.
const COMMAND: &str = "cargo bench --bench rma -- --compare";

/// Everything, in Markdown, and whether all required numbers are reached.
pub fn text(results: &Results) -> (String, bool) {
    let mut text = results.circumstances.join("\n\n");
    for note in &results.found.notes {
        let _ = write!(text, "\n\n{note}");
    }
    let (required, reached) = numbers::text(results);
    let _ = write!(text, "\n\n### Required numbers\n\n`{COMMAND}`\n\n{required}");
    let mut suites: Vec<Suite> = results.found.ours.iter().filter_map(|row| row.suite).collect();
    suites.dedup();
    for (i, suite) in suites.iter().enumerate() {
        if !suites[..i].contains(suite) {
            let name = suite.name();
            let rows = operations(results, *suite);
            let _ = write!(text, "\n\n### {name}\n\n`{COMMAND} --only {name}`\n\n{rows}");
        }
    }
    (text + "\n", reached)
}

fn operations(results: &Results, suite: Suite) -> comfy_table::Table {
    let mut columns = vec!["operation", "ranks", "bytes", "onesided", "limit", "of limit"];
    columns.extend(KINDS.iter().flat_map(|kind| [kind.name, "of onesided"]));
    let mut table = table(&columns);
    let hidden = |row: &Row| row.what.starts_with("limit: ") || row.what.starts_with(CHECK);
    let mut rows: Vec<&Row> = results.found.ours.iter().collect();
    rows.retain(|row| row.suite == Some(suite) && !hidden(row));
    for row in rows {
        let limit = limit(&results.found.ours, row);
        let bytes = if row.bytes == 0 { String::new() } else { row.bytes.to_string() };
        let mut cells = vec![row.what.clone(), row.ranks.to_string(), bytes, row.value()];
        cells.push(limit.map_or(String::new(), Row::value));
        cells.push(limit.map_or(String::new(), |limit| ratio(row, limit)));
        for peer in &results.found.peers {
            let peer = find(peer, &row.what, row.ranks, row.bytes);
            cells.push(peer.map_or(String::new(), Row::value));
            cells.push(peer.map_or(String::new(), |peer| ratio(peer, row)));
        }
        table.add_row(cells);
    }
    table
}

fn ratio(row: &Row, to: &Row) -> String {
    report::ratio(row.median() / to.median())
}
