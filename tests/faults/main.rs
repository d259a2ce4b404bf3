//! Jobs that break: a fault at every place of the library that has a name, at random times, and in
//! the launcher. Each job must end soon, with the exit code that `rmarun --help` promises, one line
//! that names what failed, how and where, and nothing left of it.
//!
//! The ranks' program is a [`walk`] through every call. Recording jobs tell which sites it passes
//! and how often; a [`case`] is one fault in one job; [`plan`] picks cases from a seed, [`job`] runs
//! one, [`judge`] finds what is wrong with what was seen, [`table`] counts. Jobs that go on without the
//! dead make the walk as a [`trip`], see what is left in the [`aftermath`], and walk again;
//! [`survivors`] judges them. [`news`] measures how soon those who live know.
//!
//! ```text
//! cargo test --all-features --test faults                                     the short form
//! cargo test --all-features --test faults -- --ignored --nocapture slice      700 faults and more
//! cargo test --all-features --test faults -- --ignored --nocapture full       10,000 and more
//! cargo test --all-features --test faults -- --ignored --nocapture survivors_only      jobs that go on
//! cargo test --all-features --test faults -- --ignored --nocapture heavy_only ranks of 4 GiB
//! cargo test --all-features --test faults -- --ignored --nocapture launchers_only
//! cargo test --all-features --test faults -- --ignored --nocapture times      until all are gone, and
//!                                                                             until all know
//! cargo test --all-features --test faults -- --ignored --nocapture news       until all know
//! ONESIDED_TEST_CASE='…' cargo test --all-features --test faults -- --ignored --nocapture one_case
//! ```
//!
//! The seed is printed; `ONESIDED_TEST_SEED` gives another, `ONESIDED_TEST_JOBS` is how many jobs run
//! at a time. `ONESIDED_TEST_PART=k/n` runs every n-th case, from the k-th on (the first is 0). Every
//! failure prints the command that repeats it.
#![cfg(all(feature = "test-hooks", feature = "launcher"))]
#![allow(clippy::disallowed_methods, reason = "reads the variables that the comment above names")]

mod aftermath;
mod campaign;
mod case;
#[allow(dead_code, reason = "shared with the tests of the specification")]
#[path = "../support/choices.rs"]
mod choices;
mod document;
mod job;
mod judge;
mod news;
mod plan;
#[path = "../support/printed.rs"]
mod printed;
mod processes;
#[path = "../support/signals.rs"]
mod signals;
mod survivors;
mod table;
mod trip;
mod walk;

use case::Blow;
use choices::Choices;
use document::Campaign;
use onesided::hooks::{name_of, names, record};
use onesided::{Universe, launch};
use plan::{Extent, Share};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Write;
use std::time::{Duration, Instant, SystemTime};
use trip::Trip;

/// Memory that other programs on the machine may take meanwhile, in kB, and for how long more.
const TOLERANCE: i64 = 256 << 10;
const FOR_LONG: Duration = Duration::from_secs(30);

#[test]
#[ignore = "a rank"]
fn rank() {
    let Ok(number) = std::env::var(launch::ENV_RANK) else { return };
    let hoard = std::env::var(job::BYTES).ok().and_then(|bytes| bytes.parse().ok());
    let _hoard = std::hint::black_box(vec![1_u8; hoard.unwrap_or_default()]);
    let task = std::env::var(job::WALK).unwrap_or_default();
    let number_in = |prefix| task.strip_prefix(prefix).and_then(|number| number.parse().ok());
    match &*task {
        "record" => print_passed(&number, || walk_once(join())),
        "record-survivors" => print_passed(&number, || trip::survive(&join(), 0)),
        "record-phases" => {
            let passed = trip::recorded(|| trip::survive(&join(), 0));
            print_lines(&number, &passed);
        }
        "endless" => endless(|_| ()),
        "chatty" => endless(|round| report(&format!("round {round}\n"))),
        _ => match (number_in(news::AWAIT), number_in(job::SURVIVE)) {
            (Some(victim), _) => news::rank(&join(), victim),
            (_, Some(deaths)) => trip::survive(&join(), deaths),
            _ => walk_once(join()),
        },
    }
}

fn join() -> Universe {
    let universe = Universe::init().expect("a rank joins its job");
    // So that ranks that wait for each other are found out.
    universe.vouch_for_one_thread();
    universe
}

fn walk_once(universe: Universe) {
    let trip =
        Trip { universe: &universe, comm: universe.world().clone(), round: 1, goes_on: false };
    walk::walk(&trip).unwrap();
}

fn endless(each: impl Fn(u32)) {
    let universe = join();
    let comm = universe.world().clone();
    let mut trip = Trip { universe: &universe, comm, round: 1, goes_on: false };
    loop {
        walk::walk(&trip).unwrap();
        each(trip.round);
        trip.round += 1;
    }
}

fn report(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).expect("standard output is read");
}

/// Counts how often this rank passes which site in `body`.
fn print_passed(rank: &str, body: impl FnOnce()) {
    let (_, events) = record(body);
    let mut passed: BTreeMap<String, u64> = BTreeMap::new();
    for event in events {
        *passed.entry(name_of(event).to_owned()).or_default() += 1;
    }
    print_lines(rank, &passed);
}

fn print_lines(rank: &str, passed: &BTreeMap<String, u64>) {
    let line = |(site, times): (&String, &u64)| format!("passed {rank} {site} {times}\n");
    report(&format!("\n{}", passed.iter().map(line).collect::<String>()));
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    number("ONESIDED_TEST_SEED").unwrap_or(now.expect("a time after 1970").as_millis() as u64)
}

/// Memory shared between processes on the whole machine, in kB.
fn shmem() -> i64 {
    let text = std::fs::read_to_string("/proc/meminfo").expect("the kernel counts memory");
    let line = text.lines().find_map(|line| line.strip_prefix("Shmem:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).expect("in kB")
}

/// Names of unnamed segments that have not gone. Jobs of other tests may have one for a moment.
fn litter() -> BTreeSet<OsString> {
    let names = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name());
    names.filter(|name| name.to_string_lossy().starts_with("onesided-")).collect()
}

/// Waits, not for ever, until `look` finds nothing wrong.
fn settles(look: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !look() {
        if began.elapsed() > FOR_LONG {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// The part of each campaign that runs: all of it without `ONESIDED_TEST_PART`.
fn part() -> (usize, usize) {
    let Ok(part) = std::env::var("ONESIDED_TEST_PART") else { return (0, 1) };
    let numbers = part.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    numbers.filter(|(k, n)| k < n).expect("ONESIDED_TEST_PART is k/n with k below n")
}

/// Runs a campaign, or a part of it. Prints its table, and fails if anything was wrong. Returns the number of
/// faults, from a part the number to expect of all.
fn campaign(extent: &Extent, parallel: u64) -> u64 {
    let seed = fresh_seed();
    println!("ONESIDED_TEST_SEED={seed}");
    let (began, before, names) = (Instant::now(), shmem(), litter());
    let (first, step) = part();
    let cases = plan::cases(extent, seed, (first, step));
    let parallel = number("ONESIDED_TEST_JOBS").unwrap_or(parallel);
    let [ends, goes_on] = campaign::run(&cases, parallel as usize);
    let memory_is_back = settles(|| shmem() - before < TOLERANCE);
    let names_are_gone = settles(|| litter().is_subset(&names));
    let (took, after) = (began.elapsed(), shmem());
    let (ends, goes_on) = (&ends, &goes_on);
    let campaign = Campaign { seed, parallel, took, before, after, ends, goes_on };
    println!("\n{}", document::found(&campaign));
    assert!(ends.is_clean() && goes_on.is_clean(), "see above");
    assert!(memory_is_back, "shared memory is left");
    assert!(names_are_gone, "names are left: {:?}", litter());
    (ends.faults() + goes_on.faults()) * step as u64
}

#[test]
fn every_site_once_and_some_at_random() {
    let faults = campaign(
        &Extent {
            ends: Share { each: 1, one_in: 21, several: 6, ranks_killed: 12 },
            goes_on: Share { each: 1, one_in: 40, several: 3, ranks_killed: 4 },
            phases: None,
            launchers: 16,
            heavy: 0,
        },
        3,
    );
    assert!(faults > 80, "{faults} faults");
}

#[test]
#[ignore = "800 faults"]
fn slice() {
    let faults = campaign(
        &Extent {
            ends: Share { each: 1, one_in: 4, several: 30, ranks_killed: 120 },
            goes_on: Share { each: 1, one_in: 5, several: 18, ranks_killed: 36 },
            phases: Some(Share { each: 1, one_in: 15, several: 0, ranks_killed: 0 }),
            launchers: 100,
            heavy: 0,
        },
        4,
    );
    assert!(faults >= 700, "{faults} faults");
}

#[test]
#[ignore = "1,900 faults"]
fn survivors_only() {
    let ends = Share { each: 0, one_in: 1, several: 0, ranks_killed: 0 };
    let goes_on = Share { each: 1, one_in: 1, several: 30, ranks_killed: 60 };
    let phases = Some(Share { each: 1, one_in: 1, several: 0, ranks_killed: 0 });
    let faults = campaign(&Extent { ends, goes_on, phases, launchers: 0, heavy: 0 }, 4);
    assert!(faults >= 1_000, "{faults} faults");
}

#[test]
#[ignore = "80 jobs of 8 GiB"]
fn heavy_only() {
    let none = || Share { each: 0, one_in: 1, several: 0, ranks_killed: 0 };
    let extent = Extent { ends: none(), goes_on: none(), phases: None, launchers: 0, heavy: 80 };
    let faults = campaign(&extent, 1);
    assert!(faults >= 60, "{faults} faults");
}

#[test]
#[ignore = "2,000 blows to the launcher"]
fn launchers_only() {
    let none = || Share { each: 0, one_in: 1, several: 0, ranks_killed: 0 };
    let extent = Extent { ends: none(), goes_on: none(), phases: None, launchers: 2000, heavy: 0 };
    let faults = campaign(&extent, 4);
    assert!(faults >= 1_900, "{faults} faults");
}

#[test]
#[ignore = "more than 15,000 faults"]
fn full() {
    let faults = campaign(
        &Extent {
            ends: Share { each: 5, one_in: 1, several: 300, ranks_killed: 3000 },
            goes_on: Share { each: 3, one_in: 1, several: 300, ranks_killed: 600 },
            phases: Some(Share { each: 2, one_in: 1, several: 0, ranks_killed: 0 }),
            launchers: 2000,
            heavy: 80,
        },
        4,
    );
    assert!(faults >= 10_000, "{faults} faults");
}

/// How long it takes until all are gone; one job at a time, so that only what else the machine does
/// delays it.
#[test]
#[ignore = "650 faults, one after another"]
fn times() {
    let mut choices = Choices(fresh_seed());
    let (guard, supervisor) = (Some(Blow::KillGuard), Some(Blow::KillSupervisor));
    let series = [(8, None, 300), (8, guard, 100), (8, supervisor, 100)];
    let large = [(64, None, 100), (64, guard, 50), (64, supervisor, 50)];
    let run = |(ranks, blow, count)| campaign::times(ranks, blow, count, &mut choices);
    let all: Vec<_> = series.into_iter().chain(large).map(run).collect();
    println!("\n{}:\n", document::machine());
    println!("{}", table::write_times("until all are gone", &all));
    assert!(all.iter().all(|times| times.wrong == 0), "see above");
    news();
}

/// How soon those who live know of a death in which call, one job at a time.
#[test]
#[ignore = "240 deaths, one after another"]
fn news() {
    let mut choices = Choices(fresh_seed());
    let mut all = news::times(8, 200, &mut choices);
    all.extend(news::times(64, 40, &mut choices));
    println!("\n{}:\n", document::machine());
    println!("{}", table::write_times("until survivors know, by call", &all));
    assert!(all.iter().all(|times| times.wrong == 0), "see above");
}

#[test]
#[ignore = "the case of ONESIDED_TEST_CASE"]
fn one_case() {
    let Ok(text) = std::env::var("ONESIDED_TEST_CASE") else { return };
    let case = case::read(&text).expect("a case as a failure prints it");
    let verdict = job::run(&case);
    campaign::complain(&case, &verdict);
    let happened = if verdict.hit { "the fault happened" } else { "the fault did not happen" };
    println!("{happened}; all were gone after {:?}\n{}", verdict.took, verdict.output);
    assert!(verdict.wrong.is_empty(), "see above");
}

#[test]
fn the_docs_name_every_site() {
    let docs = include_str!("../../docs/reference/faults.md");
    let (rows, _) = docs.split_once("## What was found").expect("the results follow the rows");
    for site in names() {
        assert!(rows.contains(&format!("`{site}`")), "{site}");
    }
}

#[test]
fn a_site_that_does_not_exist_is_an_error() {
    let case = case::read("2 plain memfd ends site 1:Nowhere:1:kill").expect("a case");
    let verdict = job::run(&case);
    let problem = "ONESIDED_FAULT=1:Nowhere:1:kill: there is no site 'Nowhere'";
    assert!(!verdict.hit && verdict.output.contains(problem), "{}", verdict.output);
}

#[test]
fn every_blow_to_the_launcher_ends_the_job() {
    for (name, _) in case::BLOWS {
        for micros in [0, 2_000, 20_000, 60_000] {
            let case = case::read(&format!("4 shell memfd ends launcher {name} {micros}"));
            let case = case.expect("a case");
            let verdict = job::run(&case);
            campaign::complain(&case, &verdict);
            assert!(verdict.wrong.is_empty(), "{case}");
        }
    }
}

#[test]
fn a_case_is_read_as_it_was_written() {
    let mut choices = Choices(1);
    for _ in 0..200 {
        let blow = case::BLOWS[choices.below(case::BLOWS.len() as u64) as usize].1;
        let many = plan::ranks_killed(&mut choices);
        let struck = plan::launcher_struck(blow, &mut choices);
        let heavy = plan::heavy(&mut choices);
        for case in [plan::rank_killed(&mut choices), struck, many, heavy] {
            assert_eq!(case::read(&case.to_string()), Some(case));
        }
    }
    let text = "4 plain memfd ends site 3:FencePre:2:kill";
    assert_eq!(case::read(text).expect("a case").to_string(), text);
    assert_eq!(case::read("4 plain memfd ends site 3:FencePre:2:nothing"), None);
}
