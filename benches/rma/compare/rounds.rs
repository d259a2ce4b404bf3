//! The rounds: in each, every suite runs in a fresh job with this library (and the limits, which take turns with
//! it in the same processes), then as a C program with each peer and with this library's C interface.

use super::peer::{C, KINDS, MPICH, Peer};
use super::place::{Moves, SamePlace};
use super::store;
use crate::Options;
use crate::driver::{self, START, START_LIMIT};
use crate::process::Ended;
use crate::report::{self, Row, find};
use crate::suites::Suite;
use std::collections::HashMap;
use std::iter::repeat_n;
use std::time::Duration;

/// How the rows begin that are results of programs instead of measurements.
pub const CHECK: &str = "check: ";
/// Samples of each case in one start.
const SAMPLES: u32 = 51;
/// A job that has failed this often is not run again.
const MOST_FAILURES: u32 = 2;
/// No further sample of a group of cases is taken after this time, in milliseconds.
fn budget(options: &Options) -> String {
    if options.quick { "150".into() } else { "250".into() }
}

/// This library in the numbering of [`KINDS`].
const OURS: usize = KINDS.len();

/// What all rounds have found.
#[derive(Default)]
pub struct Found {
    /// Of this library, and the limits.
    pub ours: Vec<Row>,
    /// Of each peer, in the order of [`KINDS`]; empty for one that is not there.
    pub peers: [Vec<Row>; KINDS.len()],
    /// What is missing and why.
    pub notes: Vec<String>,
    /// Whether a run of ours has failed.
    pub failed: bool,
    /// Of the processors, by the host.
    pub moves: Moves,
}

/// How many rounds.
pub fn count(options: &Options) -> u32 {
    options.rounds.unwrap_or(if options.quick { 2 } else { 5 })
}

/// A suite with a number of ranks.
pub type Job = (Suite, u32);

const QUICK: &[(Suite, &[u32])] = &[
    (Suite::Moves, &[2]),
    (Suite::Layouts, &[2]),
    (Suite::Epochs, &[2, 8]),
    (Suite::Contended, &[2]),
    (Suite::Waiting, &[2]),
    (Suite::Messages, &[2, 8]),
    (Suite::Collectives, &[2, 8]),
    (Suite::Programs, &[2]),
    (Suite::Memory, &[2]),
    (Suite::Startup, &[8]),
];

const FULL: &[(Suite, &[u32])] = &[
    (Suite::Moves, &[2]),
    (Suite::Layouts, &[2]),
    (Suite::Epochs, &[2, 8, 16, 64]),
    (Suite::Contended, &[2, 8]),
    (Suite::Waiting, &[2, 8]),
    (Suite::Messages, &[2, 4, 8]),
    (Suite::Collectives, &[2, 4, 8]),
    (Suite::Programs, &[2, 8]),
    (Suite::Memory, &[2]),
    (Suite::Startup, &[2, 8, 32, 64]),
];

/// Under MPICH's launcher, only where they are named: they compare two ways into the same library.
const FOREIGN: &[(Suite, &[u32])] =
    &[(Suite::Foreign, &[2]), (Suite::ForeignFar, &[2]), (Suite::ForeignNode, &[2])];

pub fn is_foreign(suite: Suite) -> bool {
    FOREIGN.iter().any(|(one, _)| *one == suite)
}

/// Whether any suite that is wanted runs with that one of [`KINDS`].
pub fn needs(kind: usize, options: &Options) -> bool {
    jobs(options).iter().any(|(suite, _)| takes_part(kind, *suite))
}

/// Whether a suite runs with that one of [`KINDS`].
fn takes_part(kind: usize, suite: Suite) -> bool {
    kind == MPICH || !is_foreign(suite) || is_preloaded(kind, suite)
}

/// Whether the twins in C run under MPICH, whose windows this library takes.
fn is_preloaded(kind: usize, suite: Suite) -> bool {
    (kind, suite) == (C, Suite::ForeignNode)
}

fn jobs(options: &Options) -> Vec<Job> {
    let all: &[(Suite, &[u32])] = if options.quick { QUICK } else { FULL };
    let wanted = |suite: &Suite| options.only.is_empty() || options.only.contains(suite);
    let named = FOREIGN.iter().filter(|(suite, _)| options.only.contains(suite));
    let all = all.iter().filter(|(suite, _)| wanted(suite)).chain(named);
    let all = all.flat_map(|(suite, ranks)| ranks.iter().map(|ranks| (*suite, *ranks)));
    // Two ranks have a processor each: their times are short, and depend on where the pages of a start lie.
    all.flat_map(|job| repeat_n(job, if job.1 == 2 && !options.quick { 2 } else { 1 })).collect()
}

/// Runs all rounds and adds what they find. What has failed twice is not run again.
pub fn run(peers: &[Option<Peer>], options: &Options, found: &mut Found) {
    let mut failures = HashMap::new();
    for round in 1..=count(options) {
        for job in jobs(options) {
            let of_suite = |row| Row { suite: Some(job.0), ..row };
            eprint!("start {round}, {} with {} ranks:", job.0.name(), job.1);
            let mut place = SamePlace::default();
            let given_up = |failures: &HashMap<_, u32>, i| {
                failures.get(&(i, job)).is_some_and(|failures| *failures >= MOST_FAILURES)
            };
            if !given_up(&failures, OURS) {
                let (rows, problem) = place.run(&mut found.moves, || own(peers, job, options));
                merge(&mut found.ours, rows.into_iter().map(of_suite));
                if let Some(problem) = problem {
                    *failures.entry((OURS, job)).or_default() += 1;
                    found.notes.push(problem);
                    found.failed = true;
                }
            }
            for (i, peer) in peers.iter().enumerate() {
                let is_left = !given_up(&failures, i) && takes_part(i, job.0);
                let Some(peer) = peer.as_ref().filter(|_| is_left) else { continue };
                let launcher = peers[MPICH].as_ref().filter(|_| is_preloaded(i, job.0));
                let (rows, mut problem) =
                    place.run(&mut found.moves, || foreign(peer, launcher, job, options));
                problem = problem.or_else(|| differs(&found.ours, &rows, peer.kind.name));
                merge(&mut found.peers[i], rows.into_iter().map(of_suite));
                if let Some(problem) = problem {
                    *failures.entry((i, job)).or_default() += 1;
                    found.failed |= i == C;
                    found.notes.push(problem);
                }
            }
            eprintln!();
            if let Some(file) = &options.rows
                && let Err(problem) = store::write(file, found)
            {
                eprintln!("{}: {problem}", file.display());
            }
        }
    }
}

/// The rows that the runs of ours have printed, and what went wrong.
fn own(peers: &[Option<Peer>], job: Job, options: &Options) -> (Vec<Row>, Option<String>) {
    let (suite, ranks) = job;
    let failed = |problem| format!("onesided, {} with {ranks} ranks: {problem}", suite.name());
    let ended = match (is_foreign(suite), &peers[MPICH]) {
        (false, _) => vec![by_rmarun(job, options)],
        (true, Some(mpich)) if suite == Suite::ForeignNode => {
            let on_two = (Suite::ForeignNodes, ranks + 1);
            let ours = [job, on_two].map(|job| by_launcher(mpich, job, options));
            ours.into_iter().chain([by_rmarun(job, options)]).collect()
        }
        (true, Some(mpich)) => vec![by_launcher(mpich, job, options)],
        (true, None) => return (Vec::new(), Some(failed("MPICH is not there".into()))),
    };
    let (mut found, mut problem) = (Vec::new(), None);
    for ended in ended {
        match ended {
            Ok(ended) => {
                eprint!(" onesided {:.1} s", ended.took.as_secs_f64());
                found.extend(rows(suite, ranks, &ended));
                problem = problem.or(ended.problem());
            }
            Err(error) => problem = problem.or(Some(error.to_string())),
        }
    }
    if suite == Suite::Startup && !found.is_empty() {
        found.push(Row::new(START_LIMIT, "", ranks, 0, vec![driver::processes(ranks)]));
    }
    (found, problem.map(failed))
}

/// What a rank of ours must know to measure one start.
fn of_one_start(options: &Options) -> [String; 4] {
    ["--rounds".into(), SAMPLES.to_string(), "--budget".into(), budget(options)]
}

fn by_rmarun((suite, ranks): Job, options: &Options) -> std::io::Result<Ended> {
    let mut command = driver::command(suite, ranks, false);
    command.args(of_one_start(options));
    driver::job(command, options)
}

/// The same program, whose ranks join the job of another MPI.
fn by_launcher(peer: &Peer, job: Job, options: &Options) -> std::io::Result<Ended> {
    let suite = ["--suite".into(), job.0.name()].into_iter();
    let arguments = suite.chain(of_one_start(options)).chain(driver::passed_on(options));
    peer.run_own(job, limit(options), &arguments.collect::<Vec<_>>())
}

/// What a job has to say: rows, or its own wall time.
fn rows(suite: Suite, ranks: u32, ended: &Ended) -> Vec<Row> {
    match suite {
        Suite::Startup => vec![start(ranks, ended)],
        _ => ended.stdout.lines().filter_map(Row::parse).collect(),
    }
}

/// The wall time of a whole job.
fn start(ranks: u32, ended: &Ended) -> Row {
    Row::new(START, START_LIMIT, ranks, 0, vec![ended.took.as_nanos() as f64])
}

/// After this time a program of a launcher that is not ours is ended.
fn limit(options: &Options) -> Duration {
    Duration::from_secs(if options.quick { 20 } else { 60 })
}

/// The rows that a peer has printed, by its own launcher or under another one, and what went wrong.
fn foreign(
    peer: &Peer,
    launcher: Option<&Peer>,
    (suite, ranks): Job,
    options: &Options,
) -> (Vec<Row>, Option<String>) {
    let limit = limit(options);
    let arguments = [
        suite.name(),
        u8::from(options.quick).to_string(),
        SAMPLES.to_string(),
        budget(options),
        // Behind the limit, so that a rank that is left over prints nothing.
        (limit.as_secs() + 10).to_string(),
        options.text().unwrap_or_default().to_owned(),
    ];
    let name = peer.kind.name;
    let failed = |problem| format!("{name}, {} with {ranks} ranks: {problem}", suite.name());
    let ended = match launcher {
        None => peer.run((suite, ranks), limit, &arguments),
        Some(launcher) => launcher.run_preloaded(peer, (suite, ranks), limit, &arguments),
    };
    match ended {
        Ok(ended) => {
            eprint!(", {name} {:.1} s", ended.took.as_secs_f64());
            let rows = rows(suite, ranks, &ended);
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
        // Ranks add up in another order.
        difference.is_nan() || difference > 1e-9 * ours.abs()
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
