//! What `rmarun --check` costs programs and single puts in C: the twins, compiled by `rmacc` and by `rmacc -race`,
//! in jobs that are checked and in others.

use crate::Options;
use crate::compare::peer::{C, KINDS, Peer};
use crate::compare::rounds::CHECK;
use crate::driver;
use crate::report::{Row, Unit};
use crate::suites::Suite;
use std::path::Path;

/// The rows of all programs; the limit of a checked one is the same program, compiled likewise, unchecked.
pub fn run(options: &Options) -> Result<Vec<Row>, String> {
    let peer = match KINDS[C].set_up(&options.folder_of_peers()) {
        Ok(peer) => peer,
        Err(problem) => {
            eprintln!("programs in C are not measured: {problem}");
            return Ok(Vec::new());
        }
    };
    let race = peer.twins_with("race", &["-race"])?;
    let programs = [("in C", peer.twins()), ("in C by rmacc -race", &*race)];
    let mut rows = Vec::new();
    for ranks in [2, 8] {
        // In turn, so that all meet the same load.
        for _ in 0..options.rounds.unwrap_or(if options.quick { 1 } else { 3 }) {
            for (how, twins) in programs {
                for (part, check) in parts_with(ranks, options) {
                    let printed = start(&peer, (twins, part, ranks, check), options)?;
                    eprintln!("{} {how} with {ranks} ranks, check: {check}", part.0.name());
                    let named = |row: Row| row.named(&format!("{}, {how}", row.what));
                    let found = printed.lines().filter_map(Row::parse).filter(is_time).map(named);
                    driver::add(
                        &mut rows,
                        found.map(|row| if check { row.checked() } else { row }),
                    );
                }
            }
        }
    }
    Ok(rows)
}

/// A suite of the twins, and what the names of its rows contain.
type Part<'o> = (Suite, &'o str);

/// What is measured with that many ranks, in jobs that are checked and others: programs, and single puts.
fn parts_with(ranks: u32, options: &Options) -> impl Iterator<Item = (Part<'_>, bool)> {
    const PUTS: &str = "put + flush";
    let text = options.text().unwrap_or_default();
    let puts = (ranks == 2 && PUTS.contains(text)).then_some((Suite::Moves, PUTS));
    let parts = std::iter::once((Suite::Programs, text)).chain(puts);
    parts.flat_map(|part| [false, true].map(|check| (part, check)))
}

/// Whether a row has the time of a program that nothing has disturbed.
fn is_time(row: &Row) -> bool {
    row.unit == Unit::Nanoseconds
        && !row.what.starts_with(CHECK)
        && !row.what.ends_with("after a sleep")
}

/// What a job of the twins prints.
fn start(
    peer: &Peer,
    (twins, (suite, filter), ranks, check): (&Path, Part<'_>, u32, bool),
    options: &Options,
) -> Result<String, String> {
    let (name, quick) = (suite.name(), u8::from(options.quick).to_string());
    let [samples, milliseconds, seconds] = ["3", "300", "110"];
    let arguments = [&*name, &*quick, samples, milliseconds, seconds, filter];
    let arguments = arguments.map(str::to_owned);
    // The wavefront polls memory, which is a conflict.
    let launch: &[&str] = if check { &["--check=report"] } else { &[] };
    let ended = peer.run_with(launch, twins, (suite, ranks), &arguments);
    let ended = ended.map_err(|error| error.to_string())?;
    match ended.problem() {
        None => Ok(ended.stdout),
        Some(problem) => Err(format!("{name} in C with {ranks} ranks: {problem}")),
    }
}
