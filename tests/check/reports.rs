//! What a new user does wrong first, and what is printed.

use crate::support::job;
use onesided::{Access, FenceAssert, Rank, Window};

/// The lines of a report, without the rank's number before each.
fn report(output: &str) -> Vec<&str> {
    let lines = output.lines().map(|line| line.split_once("] ").map_or(line, |(_, rest)| rest));
    lines.skip_while(|line| !line.starts_with("onesided: conflict")).collect()
}

#[test]
fn a_missing_flush_before_a_barrier() {
    let outcome = job(3, &["--check"], |world| {
        let mut window = Window::<u64>::allocate(world, 4).expect("memory");
        let epoch = window.lock_all().expect("no epoch is open");
        if world.rank() == 1 {
            epoch.put(&[7, 8], Rank(0), 1).expect("it is open");
        }
        world.barrier().expect("all ranks live");
        let mut into = [0];
        if world.rank() == 2 {
            epoch.get(&mut into, Rank(0), 2).expect("it is open");
        }
        epoch.unlock_all().expect("it is open");
        window.free().expect("no epoch is open");
    });
    let Some(outcome) = outcome else { return };
    assert_eq!(outcome.status.code(), Some(124), "{}", outcome.output);
    let lines = report(&outcome.output);
    assert!(lines[0].contains("bytes 16 to 23 of rank 0"), "{}", outcome.output);
    assert!(lines[1].contains("rank 1: put at tests/check/reports.rs:"), "{}", outcome.output);
    assert!(lines[2].contains("rank 2: get at tests/check/reports.rs:"), "{}", outcome.output);
    assert!(lines[3].contains("was not complete at rank 0 then"), "{}", outcome.output);
    assert!(
        outcome.output.contains("rmarun: 1 pair of calls conflicts, 1 times in all; exit code 124"),
        "{}",
        outcome.output
    );
}

#[test]
fn a_missing_fence_and_the_code_of_the_job() {
    let outcome = job(2, &["--check=report"], |world| {
        let mut window = Window::<u64>::allocate(world, 4).expect("memory");
        let epoch = window.fence().expect("no epoch is open");
        let to = Rank(1 - world.rank().0);
        epoch.put(&[1], to, 0).expect("it is open");
        // Reads its own part before the fence.
        let mut own = [0];
        epoch.window().load(0, &mut own).expect("inside");
        epoch.close().expect("it is open");
        window.free().expect("no epoch is open");
    });
    let Some(outcome) = outcome else { return };
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.output);
    assert!(
        outcome.output.contains("rank 0: local access at tests/check/reports.rs:")
            || outcome.output.contains("rank 1: local access at tests/check/reports.rs:"),
        "{}",
        outcome.output
    );
    assert!(outcome.output.contains("; exit code 0"), "{}", outcome.output);
}

#[test]
fn two_puts_of_one_rank_without_a_flush() {
    let outcome = job(2, &["--check"], |world| {
        let mut window = Window::<u64>::allocate(world, 4).expect("memory");
        let epoch = window.lock_all().expect("no epoch is open");
        if world.rank() == 0 {
            epoch.put(&[1], Rank(1), 0).expect("it is open");
            epoch.put(&[2], Rank(1), 0).expect("it is open");
        }
        epoch.unlock_all().expect("it is open");
        window.free().expect("no epoch is open");
    });
    let Some(outcome) = outcome else { return };
    assert_eq!(outcome.status.code(), Some(124), "{}", outcome.output);
    let lines = report(&outcome.output);
    assert!(lines[1].contains("rank 0: put") && lines[2].contains("rank 0: put"), "{lines:?}");
    assert!(lines[3].contains("a flush of rank 1 between the two"), "{lines:?}");
}

#[test]
fn a_program_without_conflicts() {
    let outcome = job(4, &["--check"], |world| {
        let mut window = Window::<u64>::allocate(world, 8).expect("memory");
        for _ in 0..100 {
            let right = Rank((world.rank().0 + 1) % world.size());
            let epoch = window.fence_with(FenceAssert::NONE).expect("no epoch is open");
            epoch.put(&[1, 2], right, 0).expect("it is open");
            epoch.close().expect("it is open");
            let mut own = [0, 0];
            window.load(0, &mut own).expect("inside");
            assert_eq!(own, [1, 2]);
            world.barrier().expect("all ranks live");
        }
        window.free().expect("no epoch is open");
    });
    let Some(outcome) = outcome else { return };
    assert!(outcome.status.success(), "{}", outcome.output);
    assert!(!outcome.output.contains("onesided: conflict"), "{}", outcome.output);
}
