//! The rounds: in each, every suite runs with this library (and the limits, which take turns with
//! it in the same processes), then with each peer.

use super::peer::{KINDS, Peer};
use crate::Options;
use crate::driver::{self, START, START_LIMIT};
use crate::process::Ended;
use crate::report::{self, Row, find};
use crate::suites::Suite;
use std::collections::HashSet;
use std::time::Duration;

/// How the rows begin that are results of programs instead of measurements.
pub const CHECK: &str = "check: ";
/// Samples of each case in one round.
const SAMPLES: u32 = 15;
/// No further sample of a group of cases is taken after this time.
const BUDGET: Duration = Duration::from_millis(800);

/// Rows of this library and the limits, and of each peer.
pub type Rows = (Vec<Row>, [Vec<Row>; KINDS.len()]);

/// How many rounds.
pub fn count(options: &Options) -> u32 {
    options.rounds.unwrap_or(if options.quick { 2 } else { 5 })
}

/// A suite with a number of ranks.
type Job = (Suite, u32);

const QUICK: &[(Suite, &[u32])] = &[
    (Suite::Moves, &[2]),
    (Suite::Layouts, &[2]),
    (Suite::Epochs, &[2, 8]),
    (Suite::Contended, &[2]),
    (Suite::Waiting, &[2]),
    (Suite::Programs, &[2]),
    (Suite::Memory, &[2]),
    (Suite::Startup, &[8]),
];

const FULL: &[(Suite, &[u32])] = &[
    (Suite::Moves, &[2]),
    (Suite::Layouts, &[2]),
    (Suite::Epochs, &[2, 4, 8, 16, 32, 64]),
    (Suite::Contended, &[2, 4, 8]),
    (Suite::Waiting, &[2, 8]),
    (Suite::Programs, &[2, 4, 8]),
    (Suite::Memory, &[2, 8]),
    (Suite::Startup, &[2, 8, 32, 64]),
];

fn jobs(options: &Options) -> Vec<Job> {
    let all: &[(Suite, &[u32])] = if options.quick { QUICK } else { FULL };
    let wanted = |suite: &Suite| options.only.is_empty() || options.only.contains(suite);
    let all = all.iter().filter(|(suite, _)| wanted(suite));
    all.flat_map(|(suite, ranks)| ranks.iter().map(|ranks| (*suite, *ranks))).collect()
}

/// Runs all rounds. A run of ours that fails is an error, one of a peer's a note.
pub fn run(
    peers: &[Option<Peer>],
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<Rows, String> {
    let mut ours = Vec::new();
    let mut theirs = [const { Vec::new() }; KINDS.len()];
    let mut given_up = HashSet::new();
    for round in 1..=count(options) {
        for job in jobs(options) {
            let of_suite = |row| Row { suite: Some(job.0), ..row };
            eprint!("round {round}, {} with {} ranks:", job.0.name(), job.1);
            merge(&mut ours, own(job, options)?.into_iter().map(of_suite));
            for (i, peer) in peers.iter().enumerate() {
                let Some(peer) = peer.as_ref().filter(|_| !given_up.contains(&(i, job))) else {
                    continue;
                };
                let (rows, mut problem) = foreign(peer, job, options);
                problem = problem.or_else(|| differs(&ours, &rows, peer.kind.name));
                merge(&mut theirs[i], rows);
                if let Some(problem) = problem {
                    given_up.insert((i, job));
                    notes.push(problem);
                }
            }
            eprintln!();
        }
    }
    Ok((ours, theirs))
}

fn own((suite, ranks): Job, options: &Options) -> Result<Vec<Row>, String> {
    let mut command = driver::command(suite, ranks);
    command.args(["--rounds", &SAMPLES.to_string()]);
    command.args(["--budget", &BUDGET.as_millis().to_string()]);
    let ended = driver::job(command, options)
        .map_err(|problem| format!("{} with {ranks} ranks: {problem}", suite.name()))?;
    eprint!(" onesided {:.1} s", ended.took.as_secs_f64());
    if suite == Suite::Startup {
        let bare = Row::new(START_LIMIT, "", ranks, 0, vec![driver::processes(ranks)]);
        return Ok(vec![bare, start(ranks, &ended)]);
    }
    Ok(ended.stdout.lines().filter_map(Row::parse).collect())
}

/// The wall time of a whole job.
fn start(ranks: u32, ended: &Ended) -> Row {
    Row::new(START, START_LIMIT, ranks, 0, vec![ended.took.as_nanos() as f64])
}

/// The rows that a peer has printed, and what went wrong.
fn foreign(peer: &Peer, (suite, ranks): Job, options: &Options) -> (Vec<Row>, Option<String>) {
    let limit = Duration::from_secs(if options.quick { 20 } else { 60 });
    let arguments = [
        suite.name(),
        u8::from(options.quick).to_string(),
        SAMPLES.to_string(),
        BUDGET.as_millis().to_string(),
        // Behind the limit, so that a rank that is left over says nothing.
        (limit.as_secs() + 10).to_string(),
        options.text().unwrap_or_default().to_owned(),
    ];
    let name = peer.kind.name;
    let failed = |problem| format!("{name}, {} with {ranks} ranks: {problem}", suite.name());
    match peer.run(ranks, limit, &arguments) {
        Ok(ended) => {
            eprint!(", {name} {:.1} s", ended.took.as_secs_f64());
            let rows = match suite {
                Suite::Startup => vec![start(ranks, &ended)],
                _ => ended.stdout.lines().filter_map(Row::parse).collect(),
            };
            let problem = ended.problem().map(|problem| match ended.status {
                Some(_) => failed(format!("{problem}: {}", peer.last_words())),
                None => failed(problem),
            });
            (rows, problem)
        }
        Err(problem) => (Vec::new(), Some(failed(problem.to_string()))),
    }
}

/// Whether a program has another result than ours.
fn differs(ours: &[Row], theirs: &[Row], name: &str) -> Option<String> {
    let check = theirs.iter().filter(|row| row.what.starts_with(CHECK));
    let different = |row: &&Row| {
        let ours = find(ours, &row.what, row.ranks, row.bytes).map_or(f64::NAN, Row::median);
        let difference = (row.median() - ours).abs();
        // Ranks add up in another order. Not a number is different, too.
        !(difference <= 1e-9 * ours.abs())
    };
    check
        .into_iter()
        .find(different)
        .map(|row| format!("{name}, {} with {} ranks: not the result of ours", row.what, row.ranks))
}

/// Adds the medians of a round to the rows of all rounds.
fn merge(all: &mut Vec<Row>, round: impl IntoIterator<Item = Row>) {
    for row in round {
        let median = row.median();
        match all.iter_mut().find(|old| old.same(&row)) {
            Some(old) => old.add(median),
            None => all.push(report::Row { samples: vec![median], ..row }),
        }
    }
}
