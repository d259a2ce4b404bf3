//! What a campaign has found, as a table in Markdown.

use crate::campaign::Times;
use crate::case::{ACTIONS, Case, LOSSES, What, name_of};
use crate::judge::{Verdict, Wrong};
use std::collections::BTreeMap;
use std::fmt;

/// Faults of one kind.
#[derive(Clone, Copy, Default)]
struct Cell {
    runs: u64,
    /// Jobs that ended before the fault came.
    missed: u64,
    hangs: u64,
    codes: u64,
    reports: u64,
    survivors: u64,
    left: u64,
}

impl Cell {
    fn add(&mut self, verdict: &Verdict) {
        self.runs += u64::from(verdict.hit);
        self.missed += u64::from(!verdict.hit);
        for (kind, _) in &verdict.wrong {
            *match kind {
                Wrong::Hang => &mut self.hangs,
                Wrong::Code => &mut self.codes,
                Wrong::Report => &mut self.reports,
                Wrong::Survivors => &mut self.survivors,
                Wrong::Left => &mut self.left,
            } += 1;
        }
    }

    fn sum(self, other: &Cell) -> Cell {
        Cell {
            runs: self.runs + other.runs,
            missed: self.missed + other.missed,
            hangs: self.hangs + other.hangs,
            codes: self.codes + other.codes,
            reports: self.reports + other.reports,
            survivors: self.survivors + other.survivors,
            left: self.left + other.left,
        }
    }

    fn wrong(&self) -> u64 {
        self.hangs + self.codes + self.reports + self.survivors + self.left
    }
}

pub struct Table {
    /// Whether it is about jobs that go on.
    goes_on: bool,
    pub runs: u64,
    /// By site (or other circumstance) and action.
    cells: BTreeMap<(String, String), Cell>,
}

impl Table {
    pub fn new(goes_on: bool) -> Table {
        Table { goes_on, runs: 0, cells: BTreeMap::new() }
    }

    pub fn add(&mut self, case: &Case, verdict: &Verdict) {
        let killed = |row: &str| (row.to_owned(), "kill".to_owned());
        let (row, column) = match &case.what {
            What::Site { site, action, .. } => (format!("`{site}`"), (*action).to_owned()),
            What::Several { faults } => match faults.split_once('/') {
                None => killed("several ranks at once"),
                Some((before, fault)) => {
                    let phase = before.rsplit(':').next().unwrap_or_default();
                    let action = fault.rsplit(':').next().unwrap_or_default();
                    (format!("one, and another in {phase}"), action.to_owned())
                }
            },
            What::Rank { .. } if case.is_heavy() => killed("a rank that holds 4 GiB"),
            What::Rank { .. } => killed("a rank, at a random time"),
            What::Ranks { .. } => killed("several ranks, at random times"),
            What::Launcher { blow, .. } => {
                let of = if case.is_heavy() { ", of ranks of 4 GiB" } else { "" };
                (format!("the launcher{of}: {}", name_of(*blow)), case.wrapper.to_owned())
            }
        };
        self.runs += 1;
        self.cells.entry((row, column)).or_default().add(verdict);
    }

    fn actions(&self) -> &'static [&'static str] {
        if self.goes_on { &LOSSES } else { &ACTIONS }
    }

    fn total(&self) -> Cell {
        self.cells.values().fold(Cell::default(), Cell::sum)
    }

    /// Faults that happened.
    pub fn faults(&self) -> u64 {
        self.total().runs
    }

    /// Whether nothing at all was wrong.
    pub fn is_clean(&self) -> bool {
        self.total().wrong() == 0
    }

    fn row(&self, f: &mut fmt::Formatter<'_>, row: &str) -> fmt::Result {
        let cell = |column: &str| self.cells.get(&(row.to_owned(), column.to_owned()));
        write!(f, "| {row} |")?;
        let mut all = Cell::default();
        for action in self.actions() {
            match cell(action) {
                Some(cell) => write!(f, " {} |", cell.runs)?,
                None => write!(f, " |")?,
            }
        }
        for ((own, _), cell) in &self.cells {
            all = if own == row { all.sum(cell) } else { all };
        }
        self.sums(f, &all)
    }

    fn sums(&self, f: &mut fmt::Formatter<'_>, all: &Cell) -> fmt::Result {
        let Cell { runs, missed, hangs, codes, reports, survivors, left } = all;
        write!(f, " {runs} | {missed} | {hangs} | {codes} | {reports} |")?;
        if self.goes_on {
            write!(f, " {survivors} |")?;
        }
        writeln!(f, " {left} |")
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.actions().join(" | ");
        let survivors = if self.goes_on { " wrong survivors |" } else { "" };
        writeln!(
            f,
            "| where | {columns} | faults | not reached | hangs | wrong codes | wrong reports \
             |{survivors} left |"
        )?;
        let numbers = self.actions().len() + 6 + usize::from(self.goes_on);
        writeln!(f, "| --- |{}", " ---: |".repeat(numbers))?;
        let mut rows: Vec<&str> = self.cells.keys().map(|(row, _)| row.as_str()).collect();
        rows.dedup();
        for row in rows {
            self.row(f, row)?;
        }
        write!(f, "| **all** |")?;
        for action in self.actions() {
            let of = self.cells.iter().filter(|((_, column), _)| column == action);
            write!(f, " {} |", of.map(|(_, cell)| cell.runs).sum::<u64>())?;
        }
        self.sums(f, &self.total())
    }
}

/// A table of times of `what`.
pub fn write_times(what: &str, all: &[Times]) -> String {
    let mut text = format!("| {what}, in ms | times | p50 | p99 | most | wrong |\n");
    text += "| --- | ---: | ---: | ---: | ---: | ---: |\n";
    for Times { what, times, wrong } in all {
        let at = |part: f64| {
            let index = ((times.len() as f64 * part).ceil() as usize).clamp(1, times.len().max(1));
            times.get(index - 1).map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        let (count, p50, p99, most) = (times.len(), at(0.5), at(0.99), at(1.0));
        text += &format!("| {what} | {count} | {p50:.1} | {p99:.1} | {most:.1} | {wrong} |\n");
    }
    text
}
