//! Random legal programs, run on 2 to 6 ranks and compared with a sequential oracle.
//!
//! A program is data ([`program`]), made from a seed ([`generate`]) and legal by a judgement of its
//! own ([`legal`]): windows of every flavour over several communicators, phases of fences, of
//! post/start/complete/wait and of locks, and in them every operation on every datatype, between
//! contiguous and derived layouts ([`layout`]), as calls of the engine ([`operate`]), with requests
//! too ([`transfer`]), and on the guards of the typed face ([`typed`]).
//!
//! Every rank makes the same program from the seed, runs its part ([`execute`]), and compares what
//! it was given and what it holds with the [`oracle`]. Where ranks meet on the same elements,
//! [`race`] looks for an order of the updates that explains what all of them were given. Among the
//! calls are some that must be refused, with the right class and without effect ([`mistakes`]).
//!
//! A program that fails is shrunk by the ranks of its job and stored in `found/`; what is stored
//! there runs with every test run. Commands:
//!
//! ```text
//! cargo test --all-features --test random programs::                                the short form
//! ONESIDED_TEST_PROGRAMS=10000 cargo test --all-features --test random programs:: -- --ignored --nocapture
//! ONESIDED_TEST_SECONDS=3600 cargo test --all-features --test random programs:: -- --ignored --nocapture
//! ```
//!
//! `ONESIDED_TEST_SEED` is the first seed of the long forms; without it the time decides. They are
//! printed; those of a job count up, and a seed means another program for another number of ranks.
#![cfg(feature = "test-hooks")]
#![allow(clippy::disallowed_methods, reason = "reads the variables that the comment above names")]

mod buffer;
mod dawdle;
mod draw;
mod elsewhere;
mod execute;
mod exposed;
mod generate;
mod job;
mod layout;
mod legal;
mod mistakes;
mod operate;
mod oracle;
mod program;
mod race;
mod sabotage;
mod shrink;
mod text;
mod transfer;
mod typed;
mod value;

use crate::support;
use job::{Found, Work};
use layout::Layout;
use program::{Act, Completion, Made, Phase, Program, Use};
use sabotage::Sabotage;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

const RANKS: std::ops::RangeInclusive<u32> = 2..=6;
/// Programs of one job of the long forms, and how long it may begin new ones.
const SLICE: (u64, u64) = (1000, 20);

/// Seed numbers that were not tried before.
fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.expect("a time after 1970").as_millis() as u64 * 1000
}

fn stored() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/random/programs/found")
}

/// Stores what a job has found, and fails.
fn report(ranks: u32, first: u64, found: Found) -> ! {
    let text = text::write(&found.program);
    let path = stored().join(format!("{ranks}-ranks-{first}.txt"));
    std::fs::write(&path, &text).expect("the program can be stored");
    panic!("{}\nstored in {}:\n{text}", found.output, path.display());
}

fn expect_clean(ranks: u32, first: u64, count: u64, seconds: u64) -> u64 {
    let work = Work::Seeds { first, count, seconds };
    job::run(ranks, &work, Sabotage::None).unwrap_or_else(|found| report(ranks, first, *found))
}

#[test]
fn random_programs_run_as_the_oracle_says() {
    if job::is_rank() {
        return;
    }
    let fresh = fresh_seed();
    println!("fresh seed {fresh}");
    for ranks in RANKS {
        expect_clean(ranks, 0, 40, 60);
        expect_clean(ranks, fresh, 20, 60);
    }
}

#[test]
fn random_programs_run_under_another_mpi() {
    if job::is_rank() {
        return;
    }
    let Some(mpich) = support::mpich() else { return };
    // That MPI never sleeps: more ranks than cores take their time.
    let [shared, none] = support::WAYS;
    for (ranks, nodes, way, count) in [
        (2, 1, none, 300),
        (2, 1, shared, 300),
        (2, 2, shared, 300),
        (3, 2, shared, 100),
        (4, 1, none, 30),
        (4, 1, shared, 100),
        (4, 2, shared, 30),
        (4, 4, shared, 30),
    ] {
        let work = Work::Elsewhere { mpich: mpich.clone(), nodes, way, count };
        let ran = job::run(ranks, &work, Sabotage::None);
        let ran = ran.unwrap_or_else(|found| {
            panic!(
                "{ranks} ranks on {nodes} nodes, {way}:\n{}\n{}",
                text::write(&found.program),
                found.output
            )
        });
        println!("{ran} programs on {ranks} ranks");
        assert!(ran > count / 2, "most programs need no padding: {ran}");
    }
}

#[test]
fn programs_that_once_failed_run() {
    if job::is_rank() {
        return;
    }
    for file in std::fs::read_dir(stored()).expect("the folder of stored programs") {
        let path = file.expect("a file").path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            let program = job::load(&path);
            legal::check(&program).expect("a legal program");
            let ran = job::run(program.ranks, &Work::File(path.clone()), Sabotage::None);
            let output = ran.err().map(|found| found.output);
            assert_eq!(output, None, "{}", path.display());
        }
    }
}

#[test]
fn planted_errors_are_found_and_shrunk() {
    if job::is_rank() {
        return;
    }
    for sabotage in Sabotage::ALL {
        let work = Work::Seeds { first: 0, count: 500, seconds: 60 };
        let found = job::run(3, &work, sabotage).err().unwrap_or_else(|| panic!("{sabotage:?}"));
        let text = text::write(&found.program);
        let small = found.program.phases.len() <= 2 && shrink::operations(&found.program) <= 3;
        println!("{sabotage:?} was shrunk to\n{text}");
        assert!(small, "{sabotage:?} was shrunk to\n{text}\n{}", found.output);
        assert!(found.output.contains("a program fails"), "{}", found.output);
    }
}

/// With which layouts and completion an act does what.
fn ways_of(act: &Act) -> Vec<String> {
    let name = |text: String| text.split_once(' ').map_or(text.clone(), |name| name.0.into());
    let what = format!("{:?}", act.used());
    let sides = [("to", act.layout), ("from", act.own)];
    let sides =
        sides.map(|(side, layout)| format!("{what} {side} {}", name(format!("{layout:?}"))));
    sides.into_iter().chain([format!("{what} by {:?}", act.completion)]).collect()
}

/// What is called in which epochs of the typed face, and how.
fn typed_calls(program: &Program) -> Vec<String> {
    let is_typed = |phase: &&Phase| matches!(program.windows[phase.window].made, Made::Typed(_));
    let phases = program.phases.iter().filter(is_typed);
    let name = |text: String| text.split([' ', '(']).next().unwrap_or_default().to_owned();
    let mut calls = Vec::new();
    for session in phases.flat_map(|phase| phase.ranks.iter().flatten()) {
        let epoch = name(format!("{:?}", session.access));
        calls.extend(session.acts.iter().map(|act| {
            let is_plain = (act.layout, act.own) == (Layout::Contiguous, Layout::Contiguous);
            let how = match act.completion {
                Completion::Call if is_plain => "",
                Completion::Call => " with shapes",
                _ => " with a request",
            };
            format!("{}{how} in {epoch}", name(format!("{:?}", act.kind)))
        }));
    }
    calls
}

#[test]
fn programs_are_legal_and_their_texts_are_read_as_they_were_written() {
    let (mut kinds, mut ways) = (BTreeSet::new(), BTreeMap::<String, usize>::new());
    let mut calls = BTreeMap::<String, usize>::new();
    let (mut acts, mut phases, mut races) = (0, 0, 0);
    for (seed, ranks) in (0..1500).zip(RANKS.cycle()) {
        let program = generate::program(seed, ranks);
        let legal = legal::check(&program);
        assert!(legal.is_ok(), "seed {seed}: {legal:?}\n{}", text::write(&program));
        assert_eq!(text::read(&text::write(&program)).as_ref(), Ok(&program), "seed {seed}");
        phases += program.phases.len();
        races += program.phases.iter().filter(|phase| oracle::races(&program, phase)).count();
        acts += shrink::operations(&program);
        for sessions in program.phases.iter().flat_map(|phase| phase.ranks.iter().flatten()) {
            kinds.extend(sessions.acts.iter().map(|act| format!("{:?}", act.kind)));
            let moves =
                sessions.acts.iter().filter(|act| act.is_general() && act.used() != Use::Nothing);
            for way in moves.flat_map(ways_of) {
                *ways.entry(way).or_default() += 1;
            }
        }
        for way in typed_calls(&program) {
            *calls.entry(way).or_default() += 1;
        }
    }
    println!("{acts} acts in {phases} phases, in {races} of which ranks fetch what others update");
    assert!(acts > 8 * phases && races > phases / 20);
    println!("{ways:#?}");
    // Three uses, each with nine layouts on either side and five completions.
    assert_eq!(ways.len(), 3 * (9 + 9 + 5));
    assert!(ways.values().all(|times| *times > 20));
    println!("{calls:#?}");
    // In four kinds of epochs four operations with shapes or without, and fetch_and_op; in two,
    // four with requests, and flushes; in others local accesses.
    assert_eq!(calls.len(), 4 * (4 * 2 + 1) + 2 * (4 + 1) + 2);
    assert!(calls.values().all(|times| *times >= 10));
    for kind in text::kinds() {
        assert!(kinds.contains(&format!("{kind:?}")), "{kind:?} is in no program");
    }
}

#[test]
fn a_lost_update_between_ranks_is_found() {
    if job::is_rank() {
        return;
    }
    let work = Work::Seeds { first: 0, count: 20_000, seconds: 60 };
    let found = job::run(4, &work, Sabotage::GuardShared);
    let found = found.err().unwrap_or_else(|| panic!("no update was lost"));
    let text = text::write(&found.program);
    println!("{text}\n{}", found.output);
    assert!(text.contains("Guarded"), "{text}");
}

#[test]
fn a_program_that_kills_a_rank_is_shrunk_too() {
    if job::is_rank() {
        return;
    }
    let work = Work::Seeds { first: 0, count: 500, seconds: 60 };
    let found = job::run(2, &work, Sabotage::Abort);
    let found = found.err().unwrap_or_else(|| panic!("no program swaps"));
    let text = text::write(&found.program);
    assert_eq!(shrink::operations(&found.program), 1, "{text}\n{}", found.output);
    assert!(text.contains("CompareAndSwap"), "{text}");
}

/// The long forms.
#[test]
#[ignore = "runs as long as ONESIDED_TEST_PROGRAMS or ONESIDED_TEST_SECONDS say"]
fn many_random_programs() {
    if job::is_rank() {
        return;
    }
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let seconds = number("ONESIDED_TEST_SECONDS");
    let most = seconds.map_or(10_000, |_| u64::MAX);
    let programs = number("ONESIDED_TEST_PROGRAMS").unwrap_or(most);
    let time = seconds.map_or(Duration::MAX, Duration::from_secs);
    let mut seed = number("ONESIDED_TEST_SEED").unwrap_or_else(fresh_seed);
    let (started, mut ran) = (Instant::now(), 0);
    for ranks in RANKS.cycle() {
        if ran >= programs || started.elapsed() >= time {
            break;
        }
        let count = SLICE.0.min(programs - ran);
        println!("{ran} programs in {:?}; {ranks} ranks, seed {seed}", started.elapsed());
        ran += expect_clean(ranks, seed, count, SLICE.1);
        seed += count;
    }
    println!("{ran} programs in {:?}", started.elapsed());
}
