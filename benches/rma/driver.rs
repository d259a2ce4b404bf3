//! Starts the suites under rmarun and collects what their ranks print.

use crate::process::{self, Ended};
use crate::report::{self, Row, Unit};
use crate::suites::{Suite, trace};
use crate::{Options, checked, machine, targets};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

pub const START: &str = "start, window, fence, end";
/// A suite that takes longer hangs, and is ended.
const HANG: Duration = Duration::from_secs(90);
pub const START_LIMIT: &str = "limit: start and end of processes";

/// Runs everything and reports.
pub fn run(options: &Options) -> ExitCode {
    println!("{}", machine::line());
    println!("load before: {}", machine::load());
    let mut rows = Vec::new();
    let only = |suite| options.only.is_empty() || options.only.contains(&suite);
    for (suite, ranks, check) in jobs(options).into_iter().filter(|(suite, ..)| only(*suite)) {
        let mut command = command(suite, ranks, check);
        if let Some(rounds) = options.rounds {
            command.args(["--rounds", &rounds.to_string()]);
        }
        let ended = job(command, options).expect("a suite can be started");
        let seconds = ended.took.as_secs_f64();
        eprintln!("{:>9} with {ranks:2} ranks took {seconds:.1} s", suite.name());
        if let Some(problem) = ended.problem() {
            eprintln!("{} with {ranks} ranks: {problem}\n{}", suite.name(), ended.stdout);
            return ExitCode::FAILURE;
        }
        let printed = ended.stdout.lines().filter_map(Row::parse);
        add(&mut rows, printed.map(|row| if check { row.checked() } else { row }));
    }
    if options.wants(START) && only(Suite::Startup) {
        rows.extend(start_up(options));
    }
    match others(options, only) {
        Ok(found) => rows.extend(found),
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::FAILURE;
        }
    }
    println!("load after: {}\n", machine::load());
    report::print(&rows);
    let reached = targets::print(&rows);
    if let Some(file) = &options.csv
        && let Err(problem) = report::write_csv(&rows, file)
    {
        eprintln!("{}: {problem}", file.display());
        return ExitCode::FAILURE;
    }
    if options.strict && !reached { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The suites that compare jobs of other kinds.
fn others(options: &Options, only: impl Fn(Suite) -> bool) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    let of_trace = [trace::EVENT, trace::MANY, trace::STALL];
    if of_trace.iter().any(|what| options.wants(what)) && only(Suite::Trace) {
        rows.extend(traces(options)?);
    }
    // It installs the C interface, so only if it is named.
    if options.only.contains(&Suite::Check) {
        rows.extend(checked::run(options)?);
    }
    Ok(rows)
}

/// Adds the samples of `more` to the rows of the same measurements.
pub fn add(rows: &mut Vec<Row>, more: impl Iterator<Item = Row>) {
    for row in more {
        match rows.iter_mut().find(|known: &&mut Row| known.same(&row)) {
            Some(known) => row.samples.into_iter().for_each(|sample| known.add(sample)),
            None => rows.push(row),
        }
    }
}

/// Suites, ranks, and whether the job is checked.
fn jobs(options: &Options) -> Vec<(Suite, u32, bool)> {
    let (epochs, contended): (&[u32], &[u32]) = match options.quick {
        true => (&[2, 8], &[2]),
        false => (&[2, 4, 8, 16, 64, 256], &[2, 4, 8]),
    };
    let mut jobs = [Suite::Moves, Suite::Flavours, Suite::Alignment, Suite::Layouts, Suite::Paging]
        .map(|suite| (suite, 2))
        .to_vec();
    jobs.push((Suite::Datatypes, 1));
    jobs.extend(epochs.iter().map(|ranks| (Suite::Epochs, *ranks)));
    jobs.extend(contended.iter().map(|ranks| (Suite::Contended, *ranks)));
    jobs.extend([2, 8].map(|ranks| (Suite::Waiting, ranks)));
    jobs.extend([2, 8].map(|ranks| (Suite::Messages, ranks)));
    jobs.extend([2, 8].map(|ranks| (Suite::Collectives, ranks)));
    let starts = if options.quick { 1 } else { 30 };
    jobs.extend(std::iter::repeat_n((Suite::Disturbed, 2), starts));
    jobs.push((Suite::Memory, 8));
    let mut jobs: Vec<_> = jobs.into_iter().map(|(suite, ranks)| (suite, ranks, false)).collect();
    // In turn, so that both meet the same load.
    let turns = if options.quick { 1 } else { 3 };
    for ranks in [2, 8] {
        let turn = [false, true].map(|check| (Suite::Check, ranks, check));
        jobs.extend(std::iter::repeat_n(turn, turns).flatten());
    }
    jobs
}

/// The command that runs this program as the ranks of a suite, with `--check` or without.
pub fn command(suite: Suite, ranks: u32, check: bool) -> Command {
    command_with(suite, ranks, if check { &["--check"] } else { &[] })
}

fn command_with(suite: Suite, ranks: u32, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(["-n", &ranks.to_string(), "--require-join"]).args(options);
    command.arg("--").arg(own());
    command.args(["--suite", &suite.name()]).stdin(Stdio::null());
    if suite == Suite::Check {
        command.args(["--budget", "1500"]);
    }
    command
}

/// The path of this program.
pub fn own() -> std::path::PathBuf {
    std::env::current_exe().expect("the own path")
}

/// Runs a suite.
pub fn job(mut command: Command, options: &Options) -> std::io::Result<Ended> {
    process::run(command.args(passed_on(options)), HANG)
}

/// What the ranks of a suite must know of the options.
pub fn passed_on(options: &Options) -> Vec<String> {
    let mut passed = Vec::new();
    if options.quick {
        passed.push("--quick".to_owned());
    }
    if let Some(text) = options.text() {
        passed.extend(["--filter".to_owned(), text.to_owned()]);
    }
    passed
}

/// What a trace costs the rank, and how long a job of many events takes.
fn traces(options: &Options) -> Result<Vec<Row>, String> {
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/bench.pftrace");
    let run = |ranks: u32, with: &[&str]| -> Result<(Row, f64), String> {
        let mut command = command_with(Suite::Trace, ranks, with);
        if options.quick {
            command.arg("--quick");
        }
        let ended = process::run(&mut command, HANG).map_err(|error| error.to_string())?;
        let mut rows = Vec::new();
        add(&mut rows, ended.stdout.lines().filter_map(Row::parse));
        match (ended.problem(), rows.pop()) {
            (None, Some(row)) => Ok((row, ended.took.as_nanos() as f64)),
            (problem, _) => Err(format!("the suite of the trace: {problem:?}\n{}", ended.stdout)),
        }
    };
    let with = ["--trace", file];
    let ((plain, _), (traced, took)) = (run(1, &[])?, run(1, &with)?);
    // A quick run has fewer events.
    let scaled = took * 10e6 / f64::from(trace::events(options, 1));
    let mut rows = vec![trace::event(&traced, &plain)];
    rows.push(Row::new(trace::MANY, "", 1, 0, vec![scaled]));
    if !options.quick {
        rows.push(run(2, &with)?.0);
        let (slices, all) = (trace::slices_in(file), trace::events(options, 2));
        let slices = slices.map_err(|error| format!("{file}: {error}"))?;
        if slices < all.into() {
            return Err(format!("{all} events of calls, and {slices} of them in the trace"));
        }
    }
    std::fs::remove_file(file).map_err(|error| format!("{file}: {error}"))?;
    Ok(rows)
}

/// Wall time of the smallest job, and of as many processes that do nothing.
#[allow(clippy::disallowed_methods, reason = "sleeps between looks at the machine, not for a rank")]
fn start_up(options: &Options) -> Vec<Row> {
    let (all, rounds): (&[u32], _) = match &options.starts[..] {
        [] if options.quick => (&[8], 7),
        [] => (&[2, 8, 32], 21),
        asked => (asked, options.rounds.unwrap_or(3)),
    };
    let mut rows = Vec::new();
    for ranks in all {
        let (mut jobs, mut bare, mut memory) = (Vec::new(), Vec::new(), Vec::new());
        let mut printed: Vec<String> = Vec::new();
        for _ in 0..rounds {
            let started = Instant::now();
            let before = machine::available();
            let mut job = command(Suite::Startup, *ranks, false);
            if !options.starts.is_empty() {
                job.args(["--starts", &ranks.to_string()]);
            }
            let mut job = job.stdout(Stdio::piped()).spawn().expect("rmarun starts");
            let mut least = before;
            // To look at the memory all the time would hold up the job.
            while !options.starts.is_empty() && job.try_wait().is_ok_and(|end| end.is_none()) {
                least = machine::available().min(least);
                std::thread::sleep(Duration::from_millis(5));
            }
            let ended = job.wait_with_output().expect("rmarun ends");
            jobs.push(started.elapsed().as_nanos() as f64);
            memory.push((before - least) / f64::from(*ranks));
            assert!(ended.status.success(), "the smallest job failed");
            printed.push(String::from_utf8_lossy(&ended.stdout).into_owned());
            bare.push(processes(*ranks));
        }
        rows.push(Row::new(START_LIMIT, "", *ranks, 0, bare));
        rows.push(Row::new(START, START_LIMIT, *ranks, 0, jobs));
        if !options.starts.is_empty() {
            let what = "memory that a rank takes of the machine";
            rows.push(Row { unit: Unit::Bytes, ..Row::new(what, "", *ranks, 0, memory) });
        }
        add(&mut rows, printed.iter().flat_map(|text| text.lines()).filter_map(Row::parse));
    }
    rows
}

/// Starts that many processes that do nothing and waits for them; nanoseconds.
pub fn processes(n: u32) -> f64 {
    let started = Instant::now();
    let start = |_| {
        let mut command = Command::new(own());
        command.args(["--suite", &Suite::Nothing.name()]).spawn().expect("a process")
    };
    let children: Vec<_> = (0..n).map(start).collect();
    for mut child in children {
        let _ = child.wait();
    }
    started.elapsed().as_nanos() as f64
}
