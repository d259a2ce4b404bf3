//! Jobs that break: a fault at every place of the library that has a name, at random times, and in
//! the launcher. Each job must end soon, with the exit code that `rmarun --help` promises, one line
//! that says who failed how and where, and nothing left of it.
//!
//! The ranks' program is a [`walk`] through every call. Recording jobs tell which sites it passes
//! and how often; a [`case`] is one fault in one job; [`plan`] picks cases from a seed, [`job`] runs
//! one, [`judge`] says what is wrong with what was seen, [`table`] counts.
//!
//! ```text
//! cargo test --all-features --test faults                                     the short form
//! cargo test --all-features --test faults -- --ignored --nocapture slice      500 faults and more
//! cargo test --all-features --test faults -- --ignored --nocapture full       10,000 and more
//! cargo test --all-features --test faults -- --ignored --nocapture times      until all are gone, and
//!                                                                             until all know
//! cargo test --all-features --test faults -- --ignored --nocapture news       until all know
//! ONESIDED_TEST_CASE='…' cargo test --all-features --test faults -- --ignored --nocapture one_case
//! ```
//!
//! Seeds are printed; `ONESIDED_TEST_SEED` gives another, `ONESIDED_TEST_JOBS` says how many jobs run
//! at a time. Every failure prints the command that repeats it.
#![cfg(all(feature = "test-hooks", feature = "launcher"))]
#![allow(clippy::disallowed_methods, reason = "reads the variables that the comment above names")]

mod campaign;
mod case;
#[allow(dead_code, reason = "shared with the tests of the specification")]
#[path = "../spec_support/choices.rs"]
mod choices;
mod job;
mod judge;
mod news;
mod plan;
mod processes;
#[path = "../support/signals.rs"]
mod signals;
mod table;
mod walk;

use case::Blow;
use choices::Choices;
use onesided::hooks::{name_of, names, record};
use onesided::{Universe, launch};
use plan::Extent;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Write;
use std::time::{Duration, Instant, SystemTime};

/// Memory that other programs on the machine may take meanwhile, in kB, and for how long more.
const TOLERANCE: i64 = 256 << 10;
const FOR_LONG: Duration = Duration::from_secs(30);

#[test]
#[ignore = "a rank"]
fn rank() {
    let Ok(number) = std::env::var(launch::ENV_RANK) else { return };
    match std::env::var(job::WALK).as_deref() {
        Ok("record") => {
            let (_, events) = record(once);
            let mut passed: BTreeMap<&str, u32> = BTreeMap::new();
            events.into_iter().for_each(|event| *passed.entry(name_of(event)).or_default() += 1);
            let line = |(site, times)| format!("passed {number} {site} {times}\n");
            say(&format!("\n{}", passed.into_iter().map(line).collect::<String>()));
        }
        Ok("endless") => endless(|_| ()),
        Ok(task) if task.starts_with(news::AWAIT) => {
            let victim = task[news::AWAIT.len()..].parse().expect("the number of a rank");
            news::rank(&Universe::init().expect("a rank joins its job"), victim);
        }
        Ok("chatty") => endless(|round| say(&format!("round {round}\n"))),
        _ => once(),
    }
}

fn once() {
    let universe = Universe::init().expect("a rank joins its job");
    walk::walk(&universe, 1);
}

fn endless(each: impl Fn(u32)) {
    let universe = Universe::init().expect("a rank joins its job");
    for round in 1.. {
        walk::walk(&universe, round);
        each(round);
    }
}

fn say(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).expect("somebody reads");
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

/// Runs a campaign; prints its table, and fails if anything was wrong.
fn campaign(extent: &Extent, at_once: u64) -> u64 {
    let seed = fresh_seed();
    println!("ONESIDED_TEST_SEED={seed}");
    let (began, before, names) = (Instant::now(), shmem(), litter());
    let cases = plan::cases(extent, seed);
    let at_once = number("ONESIDED_TEST_JOBS").unwrap_or(at_once);
    let table = campaign::run(&cases, at_once as usize);
    let memory_is_back = settles(|| shmem() - before < TOLERANCE);
    let names_are_gone = settles(|| litter().is_subset(&names));
    println!("\n{table}");
    println!("{} jobs in {:?}, {at_once} at a time; seed {seed}", table.runs, began.elapsed());
    println!("Shmem of the machine: {before} kB before, {} kB after", shmem());
    assert!(table.is_clean(), "see above");
    assert!(memory_is_back, "shared memory is left");
    assert!(names_are_gone, "names are left: {:?}", litter());
    table.faults()
}

#[test]
fn every_site_once_and_some_at_random() {
    let faults =
        campaign(&Extent { each: 1, one_in: 21, several: 6, ranks_killed: 12, launchers: 16 }, 3);
    assert!(faults > 60, "{faults} faults");
}

#[test]
#[ignore = "500 faults"]
fn slice() {
    let faults =
        campaign(&Extent { each: 1, one_in: 4, several: 30, ranks_killed: 120, launchers: 100 }, 4);
    assert!(faults >= 500, "{faults} faults");
}

#[test]
#[ignore = "more than 10,000 faults"]
fn full() {
    let faults = campaign(
        &Extent { each: 5, one_in: 1, several: 300, ranks_killed: 3000, launchers: 2000 },
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
    println!("\n{}", table::write_times("until all are gone", &all));
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
    println!("\n{}", table::write_times("until survivors know, by call", &all));
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
    let docs = include_str!("../../docs/faults.md");
    let (rows, _) = docs.split_once("## What was found").expect("the results follow the rows");
    for site in names() {
        assert!(rows.contains(&format!("`{site}`")), "{site}");
    }
}

#[test]
fn a_site_that_does_not_exist_is_an_error() {
    let case = case::read("2 plain memfd site 1:Nowhere:1:kill").expect("a case");
    let verdict = job::run(&case);
    let problem = "ONESIDED_FAULT=1:Nowhere:1:kill: there is no site 'Nowhere'";
    assert!(!verdict.hit && verdict.output.contains(problem), "{}", verdict.output);
}

#[test]
fn a_case_is_read_as_it_was_written() {
    let mut choices = Choices(1);
    for _ in 0..200 {
        let blow = case::BLOWS[choices.below(7) as usize].1;
        for case in [plan::rank_killed(&mut choices), plan::launcher_struck(blow, &mut choices)] {
            assert_eq!(case::read(&case.to_string()), Some(case));
        }
    }
    let text = "4 plain memfd site 3:FencePre:2:kill";
    assert_eq!(case::read(text).expect("a case").to_string(), text);
    assert_eq!(case::read("4 plain memfd site 3:FencePre:2:nothing"), None);
}
