//! On which processors ranks run.
#![cfg(feature = "launcher")]

use crate::support::spmd;
use onesided::{Comm, Rank};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::process::Command;

/// Barriers in which ranks have to leave each other's processor: a few milliseconds of them, where the
/// kernel by itself takes tens or hundreds.
const BARRIERS: u32 = 500;

fn processors() -> u32 {
    sched_getaffinity(None).expect("a process may ask").count()
}

/// Puts this rank on a processor, and lets it leave that again.
fn run_on(processor: usize, allowed: &CpuSet) {
    let mut one = CpuSet::new();
    one.set(processor);
    sched_setaffinity(None, &one).expect("it may run there");
    sched_setaffinity(None, allowed).expect("it might before");
}

/// Whether the two ranks have been on different processors within the given number of barriers.
fn part(world: &Comm) -> bool {
    (0..BARRIERS).any(|_| {
        world.barrier().unwrap();
        let all = world.allgather(&[sched_getcpu() as u64]).unwrap();
        all[0] != all[1]
    })
}

#[test]
fn two_ranks_leave_a_processor_that_they_share() {
    if processors() < 2 {
        println!("skipped: there is one processor");
        return;
    }
    spmd(2, |world| {
        let allowed = sched_getaffinity(None).unwrap();
        for _ in 0..20 {
            let mut shared = [sched_getcpu() as u64];
            world.broadcast(&mut shared, Rank(0)).unwrap();
            run_on(shared[0] as usize, &allowed);
            assert!(part(world), "both stay on processor {}", shared[0]);
            assert_eq!(sched_getaffinity(None).unwrap(), allowed, "no rank is bound");
        }
    });
}

#[test]
fn ranks_stay_where_they_are_bound() {
    spmd(2, |world| {
        let mut here = CpuSet::new();
        here.set(sched_getcpu());
        sched_setaffinity(None, &here).unwrap();
        part(world);
        assert_eq!(sched_getaffinity(None).unwrap(), here);
    });
}

/// What each of four ranks may run on, in the kernel's words.
fn bound(to: &str) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(["-n", "4", "--bind-to", to, "grep", "Cpus_allowed_list", "/proc/self/status"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut sets: Vec<_> = text.lines().map(|line| line[18..].trim().to_owned()).collect();
    sets.sort();
    assert_eq!(sets.len(), 4);
    sets
}

#[test]
fn rmarun_binds_ranks_to_processors_in_turn() {
    let distinct = |to| {
        let mut sets = bound(to);
        sets.dedup();
        sets
    };
    assert_eq!(distinct("none").len(), 1);
    let threads = distinct("hwthread");
    assert_eq!(threads.len(), processors().min(4) as usize);
    assert!(threads.iter().all(|set| set.parse::<u32>().is_ok()), "{threads:?}");
    assert!((1..=threads.len()).contains(&distinct("core").len()));
}
