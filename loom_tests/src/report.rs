//! Runs models and mutants, and prints a line for each: for the commands and for the tests.

use crate::explore::{Explored, Finding, Model};
use crate::mutants::{Row, Verdict};
use crate::prim::model::Mutant;
use std::str::FromStr;

/// A part of a list: every `of`-th item, from the `first` on.
#[derive(Clone, Copy)]
pub struct Part {
    first: usize,
    of: usize,
}

impl Part {
    /// The items of this part.
    pub fn of<T>(self, items: Vec<T>) -> Vec<T> {
        items.into_iter().skip(self.first).step_by(self.of).collect()
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        let part =
            numbers.map(|(first, of)| Part { first, of }).filter(|part| part.first < part.of);
        part.ok_or_else(|| format!("'{text}' is not k/n with k below n"))
    }
}

/// Explores every model, and prints a line for each. Returns those that failed.
pub fn explore_all(models: &[Model], deep: bool) -> Vec<String> {
    let mut failed = Vec::new();
    for model in models {
        let bounds = model.bounds(deep);
        let preemptions = bounds.preemptions.map_or("any".into(), |n| n.to_string());
        let within = format!("preemptions {preemptions}, failed polls {}", bounds.polls);
        match model.explore(Mutant::default(), bounds) {
            Ok(Explored { executions, elapsed }) => {
                let seconds = elapsed.as_secs_f64();
                let name = &model.name;
                println!("passes {executions:>8} executions {seconds:>7.2} s  {name}  ({within})");
            }
            Err(Finding { message, executions, .. }) => {
                let name = &model.name;
                println!("FAILS at execution {executions}: {name}  ({within}): {message}");
                failed.push(name.clone());
            }
        }
    }
    failed
}

/// Explores the models with these numbers of ranks; panics with the names of those that fail.
pub fn assert_pass(models: &[Model], ranks: impl Fn(usize) -> bool) {
    let models: Vec<_> = models.iter().filter(|model| ranks(model.ranks)).cloned().collect();
    assert!(!models.is_empty(), "no models");
    let failed = explore_all(&models, false);
    assert!(failed.is_empty(), "models that fail: {failed:#?}");
}

/// Explores a model of a wrong program; panics if it passes.
pub fn assert_fails(model: &Model) {
    let outcome = model.explore(Mutant::default(), model.short);
    assert!(outcome.is_err(), "{} passes", model.name);
}

/// Runs every mutant, and prints a line for each. Returns those that no model kills.
pub fn run_all(rows: &[Row]) -> Vec<String> {
    println!("{}", head());
    let mut survivors = Vec::new();
    for row in rows {
        let verdict = row.run();
        println!("{}", line(&verdict));
        if verdict.killer.is_none() {
            survivors.push(verdict.mutant);
        }
    }
    survivors
}

/// Runs every mutant, and panics with the names of those that no model kills.
pub fn assert_killed(rows: &[Row]) {
    assert!(!rows.is_empty(), "no mutants");
    let survivors = run_all(rows);
    assert!(survivors.is_empty(), "mutants that no model kills: {survivors:#?}");
}

/// A line of the table "mutant, the model that kills it, what the model found".
fn line(verdict: &Verdict) -> String {
    let Verdict { mutant, killer, executions, elapsed } = verdict;
    let (model, finding) = match killer {
        Some((model, finding)) => (model.as_str(), finding.chars().take(60).collect()),
        None => ("NO MODEL: IT SURVIVES", String::new()),
    };
    let milliseconds = elapsed.as_secs_f64() * 1e3;
    format!("{mutant:<36} {model:<36} {executions:>8} {milliseconds:>8.0}  {finding}")
}

/// The head of the table.
fn head() -> String {
    format!("{:<36} {:<36} {:>8} {:>8}  finding", "mutant", "killed by", "runs", "ms")
}
