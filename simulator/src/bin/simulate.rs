//! Prints what calls cost on modelled machines, as a table, and draws it.

use clap::Parser;
use simulator::report;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs the protocols of src/sync on a simulator of caches and time.
#[derive(Parser)]
struct Options {
    /// Numbers of ranks, each from 2 to 1024.
    #[arg(long, value_delimiter = ',', default_values_t = report::RANKS)]
    ranks: Vec<u32>,
    /// Writes the tables into this file, between its marks, and pictures into this folder beside it.
    #[arg(long, num_args = 2, value_names = ["FILE", "FOLDER"])]
    write: Option<Vec<PathBuf>>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if let Some(ranks) = options.ranks.iter().find(|ranks| !(2..=1024).contains(*ranks)) {
        eprintln!("simulate: {ranks} ranks: a simulation has 2 to 1024");
        return ExitCode::from(2);
    }
    let rows = report::rows(&options.ranks);
    let tables = report::tables(&rows, &options.ranks);
    let Some(write) = options.write else {
        println!("{tables}");
        return ExitCode::SUCCESS;
    };
    match report::write(&write[0], &write[1], &tables, &rows) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("simulate: {problem}");
            ExitCode::FAILURE
        }
    }
}
