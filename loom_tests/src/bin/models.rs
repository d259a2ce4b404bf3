//! Explores every model, and prints a line for each: `--deep` within the wide bounds.

use clap::Parser;
use loom_tests::{models, report};
use std::process::ExitCode;

/// Explores the models of src/sync.
#[derive(Parser)]
struct Options {
    /// Explore within the deep bounds (minutes instead of seconds).
    #[arg(long)]
    deep: bool,
    /// Only models whose name contains this.
    #[arg(long, default_value = "")]
    filter: String,
    /// Only every n-th, from the k-th on, counted from 0: `k/n`.
    #[arg(long, default_value = "0/1")]
    part: report::Part,
    /// Explore with this many failed polls instead.
    #[arg(long)]
    polls: Option<usize>,
    /// Explore with this many preemptions instead; `any` for no bound.
    #[arg(long, value_parser = preemptions)]
    preemptions: Option<Preemptions>,
}

/// A bound on preemptions, or none.
#[derive(Clone, Copy)]
struct Preemptions(Option<usize>);

fn preemptions(text: &str) -> Result<Preemptions, std::num::ParseIntError> {
    let bound = if text == "any" { None } else { Some(text.parse()?) };
    Ok(Preemptions(bound))
}

fn main() -> ExitCode {
    let options = Options::parse();
    let mut models = models::all();
    models.retain(|model| model.name.contains(&options.filter));
    models = options.part.of(models);
    for model in &mut models {
        let mut bounds = model.bounds(options.deep);
        bounds.polls = options.polls.unwrap_or(bounds.polls);
        bounds.preemptions = options.preemptions.map_or(bounds.preemptions, |p| p.0);
        *model = model.clone().within(bounds, bounds);
    }
    let failed = report::explore_all(&models, options.deep);
    println!("{} models, {} fail", models.len(), failed.len());
    ExitCode::from(u8::from(!failed.is_empty() || models.is_empty()))
}
