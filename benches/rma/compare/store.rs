//! Rows in a file, so that a comparison can be measured in several runs.

use super::peer::KINDS;
use super::rounds::Found;
use crate::report::Row;
use crate::suites::Suite;
use clap::ValueEnum;
use std::fs;
use std::path::Path;

/// How the lines of notes begin.
const NOTE: &str = "note";
/// The name of the rows of Rust programs.
const RUST: &str = "Rust";

/// Reads the rows and notes of earlier runs; none if the file does not exist.
pub fn read(file: &Path) -> std::io::Result<Found> {
    let mut found = Found::default();
    let text = if file.exists() { fs::read_to_string(file)? } else { String::new() };
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(';') else { continue };
        if name == NOTE {
            found.notes.push(rest.to_owned());
        } else if let Some((suite, row)) = rest.split_once(';')
            && let Some(row) = Row::parse(row)
        {
            let row = Row { suite: Suite::from_str(suite, true).ok(), ..row };
            let rows = match KINDS.iter().position(|kind| kind.name == name) {
                Some(kind) => &mut found.peers[kind],
                None => &mut found.ours,
            };
            rows.push(row);
        }
    }
    Ok(found)
}

/// Writes all rows and notes.
pub fn write(file: &Path, found: &Found) -> std::io::Result<()> {
    let names = KINDS.iter().map(|kind| kind.name).chain([RUST]);
    let rows = found.peers.iter().chain([&found.ours]);
    let mut text: String = found.notes.iter().map(|note| format!("{NOTE};{note}\n")).collect();
    for (name, row) in names.zip(rows).flat_map(|(name, rows)| rows.iter().map(move |r| (name, r)))
    {
        let suite = row.suite.map_or(String::new(), Suite::name);
        text += &format!("{name};{suite};{}\n", row.line());
    }
    fs::write(file, text)
}
