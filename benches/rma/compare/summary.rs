//! What README.md and docs/performance.md show of the comparison: a sentence about the rows where a peer is ahead,
//! and a table of a few rows.

use super::peer::{C, MPICH, OPEN_MPI};
use super::table::Line;
use super::{Results, numbers};
use crate::report::{Row, find, limit, ratio, table};
use crate::suites::{collectives, epochs, moves};

/// A row of the table: its name there, then operation, ranks and bytes.
type Shown = (&'static str, &'static str, u32, u64);

const SHOWN: [Shown; 7] = [
    ("put of 8 B + flush", moves::PUT, 2, 8),
    ("fetch_and_op + flush", numbers::FETCH, 2, 8),
    ("lock + put + unlock", numbers::LOCK, 2, 8),
    ("fence of 2 ranks", epochs::FENCE, 2, 0),
    ("fence of 8 ranks", epochs::FENCE, 8, 0),
    ("lock_all + unlock_all, 64 ranks", epochs::LOCK_ALL, 64, 0),
    ("allreduce of 8 B, 2 ranks", collectives::ALLREDUCE, 2, 8),
];

/// Letters of a line.
const WIDTH: usize = 110;
/// How many operations the sentence names.
const NAMED: usize = 3;
/// What is less than this behind is about equal.
const CLOSE: f64 = 1.05;

/// The sentence and the table.
pub fn text(results: &Results, lines: &[Line]) -> String {
    let columns = ["two cores, medians", "Rust", "C", "by hand", "MPICH 5.0.2", "Open MPI 5.0.11"];
    let mut shown = table(&columns);
    for (name, what, ranks, bytes) in SHOWN {
        let ours = find(&results.found.ours, what, ranks, bytes);
        let by_hand = ours.and_then(|row| limit(&results.found.ours, row));
        let peer = |kind: usize| find(&results.found.peers[kind], what, ranks, bytes);
        let rows = [ours, peer(C), by_hand, peer(MPICH), peer(OPEN_MPI)];
        let cells = rows.map(|row| row.map_or(String::new(), Row::value).replace(" us", " µs"));
        shown.add_row([[name.to_owned()].as_slice(), &cells].concat());
    }
    format!("{}\n\n{shown}", wrapped(&sentence(lines)))
}

/// Whether every row of the table has been measured.
pub fn is_complete(results: &Results) -> bool {
    let has =
        |rows: &[Row], (_, what, ranks, bytes): &Shown| find(rows, what, *ranks, *bytes).is_some();
    let [ours, in_c] = [&results.found.ours, &results.found.peers[C]];
    SHOWN.iter().all(|shown| has(ours, shown) && has(in_c, shown))
}

/// How many rows are behind, and of which operations, the worst first.
fn sentence(lines: &[Line]) -> String {
    let compared = lines.iter().filter(|line| line.of_best_peer().is_some()).count();
    let behind: Vec<&Line> = lines.iter().filter(|line| line.is_behind()).collect();
    let close =
        behind.iter().filter(|line| line.of_best_peer().is_some_and(|r| r <= CLOSE)).count();
    if behind.is_empty() {
        return format!("The C interface is ahead of both peers in all {compared} rows.");
    }
    let mut operations: Vec<(&str, usize, f64)> = Vec::new();
    for line in &behind {
        let (name, _) = line.row.what.split_once(", after a sleep").unwrap_or((&line.row.what, ""));
        let times = line.of_best_peer().unwrap_or_default();
        match operations.iter_mut().find(|known| known.0 == name) {
            Some((_, rows, most)) => (*rows, *most) = (*rows + 1, most.max(times)),
            None => operations.push((name, 1, times)),
        }
    }
    operations.sort_by(|one, other| other.2.total_cmp(&one.2));
    let named = |(name, rows, most): &(&str, usize, f64)| {
        let rows = if *rows == 1 { String::new() } else { format!("{rows} rows, ") };
        format!("{name} ({rows}{})", ratio(*most))
    };
    let mut named: Vec<_> = operations.iter().take(NAMED).map(named).collect();
    if operations.len() > NAMED {
        named.push(format!("{} other operations", operations.len() - NAMED));
    }
    format!(
        "A peer is ahead of the C interface in {} of {compared} rows, in {close} of them by at most 5 %: {}.",
        behind.len(),
        named.join("; ")
    )
}

fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("one line at least");
        if line.len() + word.len() + 1 > WIDTH {
            lines.push(word.into());
        } else {
            *line += if line.is_empty() { "" } else { " " };
            *line += word;
        }
    }
    lines.join("\n")
}
