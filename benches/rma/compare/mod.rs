//! This library, the peers and the bare limits in one run: suite by suite in turn, several rounds.

mod leftovers;
mod markdown;
mod numbers;
pub mod peer;
mod place;
mod plot;
pub mod rounds;
mod store;
mod summary;
mod table;

use crate::{Options, machine, report};
use markdown::PAGES;
use peer::{KINDS, Kind, Peer};
use report::Row;
pub use rounds::CHECK;
use rounds::Found;
use std::path::Path;
use std::process::ExitCode;

/// What is reported.
pub struct Results {
    pub found: Found,
    /// Machine, peers, rounds and load.
    circumstances: Vec<String>,
}

/// Compares, prints, and writes what is asked for.
pub fn run(options: &Options) -> ExitCode {
    let mut notes = Vec::new();
    let set_up = |(kind, one)| {
        rounds::needs(kind, options).then(|| set_up(one, options, &mut notes)).flatten()
    };
    let peers: Vec<Option<Peer>> = KINDS.iter().enumerate().map(set_up).collect();
    let before = machine::load();
    let file = options.rows.as_deref();
    let mut found = match file.map(store::read).transpose() {
        Ok(found) => found.unwrap_or_default(),
        Err(problem) => {
            eprintln!("the rows of earlier runs: {problem}");
            return ExitCode::FAILURE;
        }
    };
    rounds::run(&peers, options, &mut found);
    notes.retain(|note| !found.notes.contains(note));
    found.notes.splice(0..0, notes);
    let most = |of_two: bool| {
        let rows = found.peers.iter().chain([&found.ours]).flatten();
        let rows = rows.filter(|row| (row.ranks == 2) == of_two);
        rows.map(|row| row.samples.len()).max().unwrap_or(0)
    };
    let (of_two, of_more) = (most(true), most(false));
    let there: Vec<_> = peers.iter().flatten().map(|peer| peer.kind.title()).collect();
    let results = Results {
        circumstances: vec![
            machine::line(),
            format!("Peers: {}.", if there.is_empty() { "none".into() } else { there.join(", ") }),
            format!(
                "{of_more} starts of each job, {of_two} of those with two ranks; load before: {before}; after: {}",
                machine::load()
            ),
            format!(
                "{} starts were repeated, because a cache line took longer or shorter between the processors than in \
                 the first start of the suite; in {} it did so all the same.",
                found.moves.repeated, found.moves.elsewhere
            ),
        ],
        found,
    };
    finish(&results, options).unwrap_or_else(|problem| {
        eprintln!("{problem}");
        ExitCode::FAILURE
    })
}

fn set_up(kind: &'static Kind, options: &Options, notes: &mut Vec<String>) -> Option<Peer> {
    kind.set_up(&options.folder_of_peers())
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
    let named = |file: &Path, problem| format!("{}: {problem}", file.display());
    if let Some(file) = &options.markdown {
        markdown::write(file, &text).map_err(|problem| named(file, problem))?;
        write_summary(results)?;
    }
    if let Some(folder) = &options.plot {
        plot::write(folder, results)?;
    }
    if let Some(file) = &options.csv {
        let of_kind = |(kind, rows): (&Kind, &Vec<Row>)| {
            rows.iter().map(|row| row.named(&format!("{}: {}", kind.name, row.what))).collect()
        };
        let mut rows: Vec<Row> =
            KINDS.iter().zip(&results.found.peers).flat_map::<Vec<_>, _>(of_kind).collect();
        rows.extend(results.found.ours.iter().cloned());
        report::write_csv(&rows, file).map_err(|problem| named(file, problem))?;
    }
    Ok(if results.found.failed || options.strict && !reached {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Writes the summary into the pages that show it, if all its rows have been measured.
fn write_summary(results: &Results) -> Result<(), String> {
    if !summary::is_complete(results) {
        eprintln!("{}: not written, because not all of their rows are measured", PAGES.join(", "));
        return Ok(());
    }
    let text = summary::text(results, &table::lines(results));
    for page in PAGES {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
        markdown::write(&file, &text).map_err(|problem| format!("{page}: {problem}"))?;
    }
    Ok(())
}
