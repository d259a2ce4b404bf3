//! Measures what this library's calls cost, beside the bare limits of the machine.
//!
//! Started plainly it is the driver: it runs itself under rmarun, suite by suite and for several
//! numbers of ranks, collects the samples that the ranks print, and reports them. See README.md.

mod by_hand;
mod calm;
mod checked;
mod compare;
mod driver;
mod freed;
mod limits;
mod machine;
mod measure;
mod pages;
mod parts;
mod process;
mod pthread;
mod report;
mod suites;
mod targets;

use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use suites::Suite;

/// Measures put, get, accumulate, fetch_and_op, fence, post-start-complete-wait, locks, window
/// creation and start-up of onesided.
#[derive(Parser, Clone)]
pub struct Options {
    /// Fewer sizes, ranks and rounds: well under 40 seconds
    #[arg(long)]
    quick: bool,
    /// Only what contains this text, with its limits
    #[arg(long)]
    filter: Option<String>,
    /// The same as --filter
    #[arg(hide = true)]
    text: Option<String>,
    /// Also writes every row to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Interleaved rounds of each measurement; with --compare, starts of each job
    #[arg(long)]
    rounds: Option<u32>,
    /// Times the start of jobs of the given number of ranks, and of each how much memory of the machine a rank takes
    #[arg(long, value_name = "RANKS", value_delimiter = ',')]
    starts: Vec<u32>,
    /// Exit code 1 if a required number falls short
    #[arg(long)]
    strict: bool,
    /// Compares with MPICH and Open MPI, which are installed from PyPI; the rounds are then those of
    /// all programs in turn
    #[arg(long)]
    compare: bool,
    /// The folder of the peers [default: in Cargo's target folder]
    #[arg(long, value_name = "DIR", requires = "compare")]
    peers: Option<PathBuf>,
    /// Only these suites
    #[arg(long, value_name = "SUITES", value_enum, value_delimiter = ',')]
    only: Vec<Suite>,
    /// Writes the tables into this page, between two marks
    #[arg(long, value_name = "FILE", requires = "compare")]
    markdown: Option<PathBuf>,
    /// Adds to the rows that an earlier comparison has written to this file, and writes them all there
    #[arg(long, value_name = "FILE", requires = "compare")]
    rows: Option<PathBuf>,
    /// Draws figures into this folder, as SVG
    #[arg(long, value_name = "DIR", requires = "compare")]
    plot: Option<PathBuf>,
    /// Passed by `cargo bench`; without it (`cargo test --benches`) the run is a quick one
    #[arg(long, hide = true)]
    bench: bool,
    /// This process is a rank of this suite
    #[arg(long, hide = true, value_enum)]
    suite: Option<Suite>,
    /// The rank begins no further round of a group after the given number of milliseconds
    #[arg(long, hide = true)]
    budget: Option<u64>,
    /// This process keeps this processor busy
    #[arg(long, hide = true)]
    busy: Option<usize>,
}

impl Options {
    /// Whether a row of this name is wanted.
    pub fn wants(&self, what: &str) -> bool {
        self.text().is_none_or(|text| what.contains(text))
    }

    /// What wanted rows contain.
    pub fn text(&self) -> Option<&str> {
        self.filter.as_deref().or(self.text.as_deref())
    }

    /// Where the peers are.
    pub fn folder_of_peers(&self) -> PathBuf {
        let default = || PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("peers");
        self.peers.clone().unwrap_or_else(default)
    }

    /// How long to measure.
    pub fn plan(&self) -> measure::Plan {
        let (rounds, budget) = if self.quick { (9, 2000) } else { (101, 10_000) };
        measure::Plan {
            rounds: self.rounds.unwrap_or(rounds),
            sample: Duration::from_micros(300),
            budget: Duration::from_millis(self.budget.unwrap_or(budget)),
        }
    }
}

fn main() -> ExitCode {
    let mut options = Options::parse();
    if let Some(core) = options.busy {
        machine::keep_busy(core);
        return ExitCode::SUCCESS;
    }
    if let Some(suite) = options.suite {
        suites::run(suite, &options);
        return ExitCode::SUCCESS;
    }
    options.quick |= !options.bench;
    if options.compare { compare::run(&options) } else { driver::run(&options) }
}
