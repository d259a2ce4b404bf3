//! Rows of samples, as a table and as CSV.

use crate::suites::Suite;
use crate::{machine, measure};
use comfy_table::{CellAlignment, Table, presets};
use std::io::Write;
use std::path::Path;

/// The samples of one measurement, sorted.
#[derive(Clone)]
pub struct Row {
    pub what: String,
    pub limit: String,
    pub ranks: u32,
    pub bytes: u64,
    pub unit: Unit,
    /// The suite that it is of, where that is of interest.
    pub suite: Option<Suite>,
    pub samples: Vec<f64>,
}

/// What samples count.
#[derive(Clone, Copy, PartialEq)]
pub enum Unit {
    Nanoseconds,
    Bytes,
    Count,
}

impl Row {
    /// `limit` is the name of the row that bounds this one, or several with `|` between them, of
    /// which the best does, or empty.
    pub fn new(what: &str, limit: &str, ranks: u32, bytes: u64, mut samples: Vec<f64>) -> Row {
        samples.sort_by(f64::total_cmp);
        let (what, limit, unit) = (what.into(), limit.into(), Unit::Nanoseconds);
        Row { what, limit, ranks, bytes, unit, suite: None, samples }
    }

    /// A row as a rank has printed it (`measure::print`).
    pub fn parse(line: &str) -> Option<Row> {
        let fields: Vec<_> = line.split(';').collect();
        let [mark, what, limit, ranks, bytes, samples] = fields[..] else { return None };
        let unit = match mark {
            measure::MARK => Unit::Nanoseconds,
            measure::MARK_SIZE => Unit::Bytes,
            measure::MARK_COUNT => Unit::Count,
            _ => return None,
        };
        let samples = samples.split(' ').filter_map(|sample| sample.parse().ok()).collect();
        let row = Row::new(what, limit, ranks.parse().ok()?, bytes.parse().ok()?, samples);
        Some(Row { unit, ..row })
    }

    /// The row as [`Row::parse`] reads it.
    pub fn line(&self) -> String {
        let mark = match self.unit {
            Unit::Nanoseconds => measure::MARK,
            Unit::Bytes => measure::MARK_SIZE,
            Unit::Count => measure::MARK_COUNT,
        };
        let samples: Vec<_> = self.samples.iter().map(|sample| format!("{sample:.3}")).collect();
        let Row { what, limit, ranks, bytes, .. } = self;
        format!("{mark};{what};{limit};{ranks};{bytes};{}", samples.join(" "))
    }

    /// The same under another name, with no limit.
    pub fn named(&self, what: &str) -> Row {
        Row { what: what.into(), limit: String::new(), ..self.clone() }
    }

    /// The same of a checked job; the unchecked one is its limit.
    pub fn checked(&self) -> Row {
        Row { what: format!("{}, checked", self.what), limit: self.what.clone(), ..self.clone() }
    }

    /// Whether both measure the same.
    pub fn same(&self, other: &Row) -> bool {
        (&self.what, self.ranks, self.bytes) == (&other.what, other.ranks, other.bytes)
    }

    /// Adds a sample.
    pub fn add(&mut self, sample: f64) {
        let at = self.samples.partition_point(|smaller| *smaller < sample);
        self.samples.insert(at, sample);
    }

    /// The median with its unit, and between which values all samples are.
    pub fn value_and_range(&self) -> String {
        let [best, worst] = [0.0, 1.0].map(|q| self.with_unit(self.quantile(q)));
        format!("{} ({best} to {worst})", self.value())
    }

    /// The median with its unit.
    pub fn value(&self) -> String {
        self.with_unit(self.median())
    }

    fn with_unit(&self, value: f64) -> String {
        match self.unit {
            Unit::Nanoseconds => time(value),
            Unit::Bytes => size(value),
            Unit::Count => format!("{value:.2}"),
        }
    }

    fn quantile(&self, q: f64) -> f64 {
        let last = self.samples.len().saturating_sub(1);
        self.samples.get((last as f64 * q).round() as usize).copied().unwrap_or(f64::NAN)
    }

    /// The median sample.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    fn mean(&self) -> f64 {
        self.samples.iter().sum::<f64>() / self.samples.len() as f64
    }

    /// Gigabytes per second, where that means something.
    fn bandwidth(&self) -> String {
        match self.bytes {
            4096.. => format!("{:.1}", self.bytes as f64 / self.median()),
            _ => String::new(),
        }
    }
}

/// The row of that name, ranks and bytes.
pub fn find<'a>(rows: &'a [Row], what: &str, ranks: u32, bytes: u64) -> Option<&'a Row> {
    rows.iter().find(|row| row.what == what && row.ranks == ranks && row.bytes == bytes)
}

/// The best of the rows that are named, with `|` between them.
pub fn best<'a>(rows: &'a [Row], names: &str, ranks: u32, bytes: u64) -> Option<&'a Row> {
    let named = |name| find(rows, name, ranks, bytes).or_else(|| find(rows, name, ranks, 0));
    let rows = names.split('|').filter_map(named);
    rows.min_by(|one, other| one.median().total_cmp(&other.median()))
}

/// The row that bounds this one.
pub fn limit<'a>(rows: &'a [Row], row: &Row) -> Option<&'a Row> {
    best(rows, &row.limit, row.ranks, row.bytes)
}

/// How many times as much.
pub fn ratio(ratio: f64) -> String {
    match ratio {
        r if r < 10.0 => format!("x {r:.2}"),
        r if r < 100.0 => format!("x {r:.1}"),
        r => format!("x {r:.0}"),
    }
}

/// Nanoseconds with a unit that suits them.
pub fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 1e3 => format!("{n:.1} ns"),
        n if n < 1e6 => format!("{:.2} us", n / 1e3),
        n if n < 1e9 => format!("{:.2} ms", n / 1e6),
        n => format!("{:.2} s", n / 1e9),
    }
}

/// Bytes with a unit that suits them.
pub fn size(bytes: f64) -> String {
    match bytes {
        n if n.abs() < 10e3 => format!("{n:.0} B"),
        n if n.abs() < 10e6 => format!("{:.0} KiB", n / 1024.0),
        n => format!("{:.1} MiB", n / 1024.0 / 1024.0),
    }
}

/// An empty table with these columns, all but the first aligned to the right.
pub fn table(columns: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(columns.to_vec());
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Prints all rows.
pub fn print(rows: &[Row]) {
    let mut table = table(&[
        "operation",
        "ranks",
        "bytes",
        "median",
        "fastest",
        "90 %",
        "mean",
        "slowest",
        "GB/s",
        "of limit",
    ]);
    for row in rows {
        let of_limit = limit(rows, row).map(|limit| ratio(row.median() / limit.median()));
        table.add_row([
            row.what.clone(),
            row.ranks.to_string(),
            if row.bytes == 0 { String::new() } else { row.bytes.to_string() },
            row.value(),
            row.with_unit(row.quantile(0.0)),
            row.with_unit(row.quantile(0.9)),
            row.with_unit(row.mean()),
            row.with_unit(row.quantile(1.0)),
            row.bandwidth(),
            of_limit.unwrap_or_default(),
        ]);
    }
    println!("{table}");
}

/// Writes all rows, and the machine in each.
pub fn write_csv(rows: &[Row], file: &Path) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
    writeln!(
        out,
        "operation,ranks,bytes,samples,median_ns,fastest_ns,p90_ns,mean_ns,limit,limit_median_ns,\
         machine"
    )?;
    let machine = machine::line();
    for row in rows {
        let bound =
            limit(rows, row).map_or(String::new(), |limit| format!("{:.3}", limit.median()));
        let (fastest, high) = (row.quantile(0.0), row.quantile(0.9));
        writeln!(
            out,
            "\"{}\",{},{},{},{:.3},{fastest:.3},{high:.3},{:.3},\"{}\",{bound},\"{machine}\"",
            row.what,
            row.ranks,
            row.bytes,
            row.samples.len(),
            row.median(),
            row.mean(),
            row.limit,
        )?;
    }
    out.flush()
}
