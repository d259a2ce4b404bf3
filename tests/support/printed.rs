//! What a launcher has printed.
#![allow(dead_code, reason = "each test binary uses its part")]

/// The messages of a launcher in what a job has printed, without the tables of last calls.
pub fn launcher_lines(stderr: &str) -> Vec<&str> {
    let is_message = |line: &&str| line.starts_with("rmarun: ") && !line.starts_with(TABLE);
    stderr.lines().filter(is_message).collect()
}

/// How the lines of these tables begin.
const TABLE: &str = "rmarun:   ";

/// The rows of these tables, each as its cells.
pub fn last_calls(stderr: &str) -> Vec<Vec<&str>> {
    let rows = stderr.lines().filter_map(|line| line.strip_prefix(TABLE));
    rows.map(cells_of).filter(|cells| cells[0] != "rank").map(without_age).collect()
}

/// A row without its last cell, how long ago the call began, which differs from run to run.
pub fn without_age(mut row: Vec<&str>) -> Vec<&str> {
    row.pop_if(|cell| cell.ends_with(" s ago"));
    row
}

/// The cells of a row of a table.
pub fn cells_of(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}
