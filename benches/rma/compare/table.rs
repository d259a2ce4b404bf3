//! The comparison as tables.

use super::peer::KINDS;
use super::{CHECK, Results};
use crate::report::{self, Row, find, limit, table};
use std::fmt::Write;

/// Everything, in Markdown.
pub fn text(results: &Results) -> String {
    let mut text = results.circumstances.join("\n\n");
    for note in &results.notes {
        let _ = write!(text, "\n\n{note}");
    }
    let _ = write!(text, "\n\n{}\n", operations(results));
    text
}

fn operations(results: &Results) -> comfy_table::Table {
    let mut columns = vec!["operation", "ranks", "bytes", "onesided", "limit", "of limit"];
    columns.extend(KINDS.iter().flat_map(|kind| [kind.name, "of onesided"]));
    let mut table = table(&columns);
    let shown = |row: &&Row| !row.what.starts_with("limit: ") && !row.what.starts_with(CHECK);
    for row in results.ours.iter().filter(shown) {
        let limit = limit(&results.ours, row);
        let bytes = if row.bytes == 0 { String::new() } else { row.bytes.to_string() };
        let mut cells = vec![row.what.clone(), row.ranks.to_string(), bytes, row.value()];
        cells.push(limit.map_or(String::new(), Row::value));
        cells.push(limit.map_or(String::new(), |limit| ratio(row, limit)));
        for peer in &results.peers {
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
