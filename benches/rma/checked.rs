//! What `rmarun --check` costs programs in C: the twins of the suite of programs, compiled by `rmacc` and by `rmacc -race`,
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
                for check in [false, true] {
                    let printed = start(&peer, (twins, ranks, check), options)?;
                    eprintln!("programs {how} with {ranks} ranks, check: {check}");
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

/// Whether a row has the time of a program that nothing has disturbed.
fn is_time(row: &Row) -> bool {
    row.unit == Unit::Nanoseconds
        && !row.what.starts_with(CHECK)
        && !row.what.ends_with("after a sleep")
}

/// What a job of the programs prints.
fn start(
    peer: &Peer,
    (twins, ranks, check): (&Path, u32, bool),
    options: &Options,
) -> Result<String, String> {
    let quick = u8::from(options.quick).to_string();
    let filter = options.text().unwrap_or_default();
    let [samples, milliseconds, seconds] = ["3", "300", "110"];
    let arguments = ["programs", &*quick, samples, milliseconds, seconds, filter];
    let arguments = arguments.map(str::to_owned);
    // The wavefront polls memory, which is a conflict.
    let launch: &[&str] = if check { &["--check=report"] } else { &[] };
    let ended = peer.run_with(launch, twins, (Suite::Programs, ranks), &arguments);
    let ended = ended.map_err(|error| error.to_string())?;
    match ended.problem() {
        None => Ok(ended.stdout),
        Some(problem) => Err(format!("programs in C with {ranks} ranks: {problem}")),
    }
}
