//! Runs every mutant, and prints which model kills it.

use clap::Parser;
use loom_tests::{models, mutants, report};
use std::process::ExitCode;

/// Runs the mutants of src/sync against the models.
#[derive(Parser)]
struct Options {
    /// Only mutants whose name contains this.
    #[arg(long, default_value = "")]
    filter: String,
    /// Only every n-th, from the k-th on, counted from 0: `k/n`.
    #[arg(long, default_value = "0/1")]
    part: report::Part,
    /// Try the models whose name contains this, instead of those that the table names: what a
    /// single program can notice. Most mutants are none of its business, and survive.
    #[arg(long)]
    model: Option<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let mut rows = mutants::all();
    rows.retain(|row| row.name().contains(&options.filter));
    rows = options.part.of(rows);
    if let Some(text) = &options.model {
        let mut candidates = models::all();
        candidates.retain(|model| model.name.contains(text));
        rows.iter_mut().for_each(|row| row.candidates.clone_from(&candidates));
    }
    let survivors = report::run_all(&rows);
    println!("{} mutants, {} survive", rows.len(), survivors.len());
    ExitCode::from(u8::from(!survivors.is_empty() || rows.is_empty()))
}
