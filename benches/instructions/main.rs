//! Counts the instructions of the hot paths under valgrind, and compares them with a table.
//!
//! Started plainly it is the driver: it runs itself as rank 0 under valgrind (`callgrind.rs`), which
//! calls what is to be counted (`paths.rs`), and judges the counts by the committed `table.csv`
//! (`table.rs`). Unlike times, they do not depend on what else the machine does. See ../README.md.

mod callgrind;
mod paths;
#[path = "../rma/process.rs"]
mod process;
mod table;

use clap::Parser;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use table::{Counted, Table};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions/table.csv");

/// Compares the instructions of the hot paths of onesided with a committed table; needs valgrind.
#[derive(Parser)]
struct Options {
    /// Writes what is counted into the table, instead of comparing with it
    #[arg(long)]
    write: bool,
    /// Prints the counts in jobs of these numbers of ranks too, in which rank 0 works on the last
    /// rank while the others sleep
    #[arg(long, value_name = "RANKS", value_delimiter = ',')]
    ranks: Vec<u32>,
    /// Counts a program in C too, with the C interface that is installed there
    #[arg(long, value_name = "PREFIX")]
    c: Option<PathBuf>,
    /// Passed by `cargo bench`; without it (`cargo test --benches`) the program is not optimised
    #[arg(long, hide = true)]
    bench: bool,
    /// This process is a rank
    #[arg(long, hide = true)]
    rank: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if options.rank {
        paths::run();
        return ExitCode::SUCCESS;
    }
    if !callgrind::is_there() {
        println!("valgrind is not installed, so no instructions are counted.");
        return ExitCode::SUCCESS;
    }
    match judge(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// Counts and compares; whether nothing has become longer than allowed.
fn judge(options: &Options) -> Result<bool, String> {
    let mut counted = callgrind::count(1)?;
    if !options.ranks.is_empty() {
        by_ranks(&counted, &options.ranks)?;
    }
    if let Some(prefix) = &options.c {
        counted.extend(callgrind::count_in_c(prefix)?);
    }
    let (compiler, table) = (compiler()?, std::fs::read_to_string(FILE));
    let table = table.ok().and_then(|text| Table::parse(&text));
    let is_counted = |row: &Counted| options.c.is_some() || !row.what.starts_with("C: ");
    if options.write {
        // Without the C interface, its rows stay as they are.
        let rows = table.map_or_else(Vec::new, |table| table.rows);
        counted.extend(rows.into_iter().filter(|row| !is_counted(row)));
        let text = Table { compiler, rows: counted }.text();
        return std::fs::write(FILE, text).map(|()| true).map_err(|e| format!("{FILE}: {e}"));
    }
    let mut table = table.ok_or_else(|| format!("{FILE}: not a table; --write makes one"))?;
    table.rows.retain(is_counted);
    let findings = table.compare(&counted);
    if !options.bench {
        println!("\nNot judged: this program is not optimised. `cargo bench` judges.");
        return Ok(true);
    }
    if table.compiler != compiler {
        println!("\nNot judged: the table is for {}, this is {compiler}.", table.compiler);
        return Ok(true);
    }
    findings.iter().for_each(|finding| eprintln!("{finding}"));
    Ok(findings.is_empty())
}

/// Prints the counts of one rank beside those of rank 0 among more.
fn by_ranks(alone: &[Counted], ranks: &[u32]) -> Result<(), String> {
    let jobs = ranks.iter().map(|ranks| callgrind::count(*ranks));
    let jobs: Vec<Vec<Counted>> = jobs.collect::<Result<_, _>>()?;
    let heads: Vec<String> = ranks.iter().map(|ranks| format!(" {ranks} ranks |")).collect();
    println!("\n| instructions a call | 1 rank |{}", heads.concat());
    println!("| --- | --: |{}", " --: |".repeat(ranks.len()));
    for counted in alone {
        let of = |job: &Vec<Counted>| {
            let same = job.iter().find(|other| other.what == counted.what);
            same.map_or(" – |".to_owned(), |other| format!(" {} |", other.instructions))
        };
        let others: Vec<String> = jobs.iter().map(of).collect();
        println!("| {} | {} |{}", counted.what, counted.instructions, others.concat());
    }
    println!();
    Ok(())
}

/// Which compiler and processor the counts are of: another one makes another program.
fn compiler() -> Result<String, String> {
    let version = Command::new("rustc").arg("--version").output();
    let version = version.map_err(|error| format!("rustc --version: {error}"))?;
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    Ok(format!("{version} on {}", std::env::consts::ARCH))
}
