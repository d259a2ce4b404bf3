//! Runs every mutant, and prints which model kills it.

use clap::Parser;
use loom_tests::{mutants, report};
use std::process::ExitCode;

/// Runs the mutants of src/sync against the models.
#[derive(Parser)]
struct Options {
    /// Only mutants whose name contains this.
    #[arg(long, default_value = "")]
    filter: String,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let mut rows = mutants::all();
    rows.retain(|row| row.name().contains(&options.filter));
    let survivors = report::run_all(&rows);
    println!("{} mutants, {} survive", rows.len(), survivors.len());
    ExitCode::from(u8::from(!survivors.is_empty() || rows.is_empty()))
}
