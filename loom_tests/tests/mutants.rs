//! The mutation run: a model kills every mutant, and no site and no fault is forgotten.

use loom_tests::{mutants, report};
use std::fmt::Debug;

#[test]
fn every_memory_barrier_is_necessary() {
    report::assert_killed(&mutants::deletions());
}

#[test]
fn every_full_barrier_must_be_full() {
    report::assert_killed(&mutants::weakenings());
}

#[test]
fn every_algorithm_fault_is_found() {
    report::assert_killed(&mutants::faults());
}

#[test]
fn no_site_and_no_fault_is_forgotten() {
    let site = include_str!("../../src/prim/site.rs");
    assert_eq!(names(mutants::SITES), variants(site, "pub enum Site {"));
    assert_eq!(names(mutants::FAULTS), variants(site, "pub enum Fault {"));
    let protocol = include_str!("../../tools/src/protocol/mod.rs");
    assert_eq!(names(mutants::TOOL_FAULTS), variants(protocol, "pub enum Fault {"));
}

#[test]
fn every_fault_is_planted_somewhere() {
    let sources = [
        include_str!("../../src/prim/failed.rs"),
        include_str!("../../src/prim/park.rs"),
        include_str!("../../src/prim/wait.rs"),
        include_str!("../../src/sync/barrier.rs"),
        include_str!("../../src/sync/channel.rs"),
        include_str!("../../src/sync/far_lock.rs"),
        include_str!("../../src/sync/gather.rs"),
        include_str!("../../src/sync/lock.rs"),
        include_str!("../../src/sync/clock.rs"),
        include_str!("../../src/sync/lock_all.rs"),
        include_str!("../../src/sync/lock_state.rs"),
        include_str!("../../src/sync/notify.rs"),
        include_str!("../../src/sync/open_epochs.rs"),
        include_str!("../../src/sync/passive.rs"),
        include_str!("../../src/sync/pscw.rs"),
        include_str!("../../src/sync/queue.rs"),
        include_str!("../../src/sync/robust.rs"),
        include_str!("../../src/sync/shards.rs"),
        include_str!("../../src/sync/tree.rs"),
        include_str!("../../src/sync/watch.rs"),
        include_str!("../src/models/clock.rs"),
        include_str!("../src/models/collective.rs"),
        include_str!("../src/models/notify.rs"),
        include_str!("../src/models/pscw.rs"),
        include_str!("../src/models/watch.rs"),
    ];
    let tools = [
        include_str!("../../tools/src/protocol/counter.rs"),
        include_str!("../../tools/src/protocol/mcs.rs"),
        include_str!("../../tools/src/protocol/queue.rs"),
    ];
    for fault in mutants::TOOL_FAULTS {
        let plant = format!("Fault::{fault:?})");
        assert!(tools.iter().any(|source| source.contains(&plant)), "{fault:?} is not planted");
    }
    for fault in mutants::FAULTS {
        let plant = format!("planted(Fault::{fault:?})");
        assert!(sources.iter().any(|source| source.contains(&plant)), "{fault:?} is not planted");
    }
}

fn names(all: &[impl Debug]) -> Vec<String> {
    all.iter().map(|one| format!("{one:?}")).collect()
}

/// The variants of an enum, as its source has them.
fn variants(source: &str, head: &str) -> Vec<String> {
    let (_, body) = source.split_once(head).expect("the enum");
    let (body, _) = body.split_once("\n}").expect("the end of the enum");
    let lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.filter(|l| !l.starts_with("//")).map(|l| l.trim_end_matches(',').to_owned()).collect()
}
