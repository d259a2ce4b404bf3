//! This library, the peers and the bare limits in one run: suite by suite in turn, several rounds.

mod leftovers;
mod markdown;
mod numbers;
mod peer;
mod plot;
mod rounds;
mod table;

use crate::{Options, machine, report};
use peer::{KINDS, Kind, Peer};
use report::Row;
pub use rounds::CHECK;
use std::path::PathBuf;
use std::process::ExitCode;

/// What all rounds have found.
pub struct Results {
    /// Of this library, and the limits.
    pub ours: Vec<Row>,
    /// Of each peer, in the order of [`KINDS`]; empty for one that is not there.
    pub peers: [Vec<Row>; KINDS.len()],
    /// What is missing and why.
    pub notes: Vec<String>,
    /// Rounds, peers, machine and load.
    pub circumstances: Vec<String>,
}

/// Compares, prints, and writes what is asked for.
pub fn run(options: &Options) -> ExitCode {
    let mut notes = Vec::new();
    let peers: Vec<Option<Peer>> =
        KINDS.iter().map(|kind| set_up(kind, options, &mut notes)).collect();
    let before = machine::load();
    let (ours, rows) = match rounds::run(&peers, options, &mut notes) {
        Ok(results) => results,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::FAILURE;
        }
    };
    let there: Vec<_> = peers.iter().flatten().map(|peer| peer.kind.title()).collect();
    let results = Results {
        ours,
        peers: rows,
        notes,
        circumstances: vec![
            machine::line(),
            format!("Peers: {}.", if there.is_empty() { "none".into() } else { there.join(", ") }),
            format!(
                "{} rounds; load before: {before}; after: {}",
                rounds::count(options),
                machine::load()
            ),
        ],
    };
    finish(&results, options).unwrap_or_else(|problem| {
        eprintln!("{problem}");
        ExitCode::FAILURE
    })
}

fn set_up(kind: &'static Kind, options: &Options, notes: &mut Vec<String>) -> Option<Peer> {
    let default = || PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("peers");
    let folder = options.peers.clone().unwrap_or_else(default);
    kind.set_up(&folder)
        .inspect_err(|problem| {
            let note = format!("{} is not measured: {problem}", kind.name);
            eprintln!("{note}");
            notes.push(note);
        })
        .ok()
}

fn finish(results: &Results, options: &Options) -> Result<ExitCode, String> {
    let (text, reached) = table::text(results);
    println!("{text}");
    if let Some(file) = &options.markdown {
        let written = markdown::write(file, &text);
        written.map_err(|problem| format!("{}: {problem}", file.display()))?;
    }
    if let Some(folder) = &options.plot {
        plot::write(folder, results)?;
    }
    if let Some(file) = &options.csv {
        let named = |(kind, rows): (&Kind, &Vec<Row>)| {
            rows.iter().map(|row| row.named(&format!("{}: {}", kind.name, row.what))).collect()
        };
        let mut rows: Vec<Row> =
            KINDS.iter().zip(&results.peers).flat_map::<Vec<_>, _>(named).collect();
        rows.extend(results.ours.iter().cloned());
        report::write_csv(&rows, file)
            .map_err(|problem| format!("{}: {problem}", file.display()))?;
    }
    Ok(if options.strict && !reached { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
