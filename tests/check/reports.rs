//! What a new user does wrong first, and what is printed.

use crate::support::job;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use onesided::{Access, Comm, FenceAssert, LockType, Op, PassiveAccess, Rank, Request, Window};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

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
        outcome.output.contains("rmarun: 1 pair of calls conflicts, once in all; exit code 124"),
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
fn a_store_to_the_own_part_beside_a_put() {
    let outcome = job(2, &["--check"], |world| {
        let mut window = Window::<u64>::allocate(world, 4).expect("memory");
        let (own, base) = (world.rank(), window.base());
        let epoch = window.fence().expect("no epoch is open");
        if own == 1 {
            epoch.put(&[0x0101], Rank(0), 2).expect("it is open");
        }
        // The put is over, but nothing has completed it.
        world.barrier().expect("all ranks live");
        if own == 0 {
            // SAFETY: the part has 4 elements.
            unsafe { base.wrapping_add(2).write_volatile(0x0201) };
        }
        epoch.close().expect("it is open");
        window.free().expect("no epoch is open");
    });
    let Some(outcome) = outcome else { return };
    assert_eq!(outcome.status.code(), Some(124), "{}", outcome.output);
    let lines = report(&outcome.output);
    // One byte differs from what the put has left.
    assert!(lines[0].contains("bytes 17 to 17 of rank 0"), "{lines:?}");
    assert!(lines[1].contains("rank 1: put at tests/check/reports.rs:"), "{lines:?}");
    assert!(
        lines[2].starts_with("  rank 0: store between barrier at tests/check/reports.rs:")
            && lines[2].contains(" and fence at tests/check/reports.rs:"),
        "{lines:?}"
    );
    assert!(
        lines[3].contains("its put was not complete at rank 0 then; rank 1 needs a flush"),
        "{lines:?}"
    );
}

#[test]
fn stores_by_a_slice_under_a_lock() {
    let outcome = job(3, &["--check"], |world| {
        let mut window = Window::<u64>::allocate(world, 600).expect("memory");
        for turn in 1..=20u64 {
            let mut own = window.lock_local().expect("nothing else is open");
            own.iter_mut().for_each(|element| *element += turn);
            drop(own);
            let to = Rank((world.rank().0 + 1) % 3);
            let epoch = window.lock(LockType::Exclusive, to).expect("nothing else is open");
            let values = [u64::from(world.rank().0) + turn; 300];
            epoch.put(&values, to, 0).expect("it is locked");
            epoch.unlock().expect("it is locked");
        }
        window.free().expect("no epoch is open");
    });
    let Some(outcome) = outcome else { return };
    assert!(outcome.status.success(), "{}", outcome.output);
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
    assert!(lines[3].contains("a flush of rank 1 between the two (under a lock)"), "{lines:?}");
}

#[test]
fn a_long_loop_without_a_flush() {
    let started = Instant::now();
    let outcome = job(2, &["--check"], |world| {
        let mut window = Window::<u64>::allocate(world, 4).expect("memory");
        let epoch = window.lock_all().expect("no epoch is open");
        if world.rank() == 0 {
            for _ in 0..20_000 {
                epoch.rput(&[1], Rank(1), 0).expect("it is open").wait();
            }
        }
        epoch.unlock_all().expect("it is open");
        window.free().expect("no epoch is open");
    });
    let Some(outcome) = outcome else { return };
    assert_eq!(outcome.status.code(), Some(124), "{}", outcome.output);
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

/// Rank 0 reads or writes with a request, which ends before or behind a barrier; behind that, rank 1 puts there.
fn request(writes: bool, is_early: bool, code: i32) {
    let outcome = job(2, &["--check"], |world| {
        let (mut window, mut into) = (Window::<u64>::allocate(world, 4).expect("memory"), [0]);
        let epoch = window.lock_all().expect("no epoch is open");
        let mut request = Request::null();
        if world.rank() == 0 {
            request = match writes {
                true => epoch.rput(&[1], Rank(0), 0).expect("it is open"),
                false => epoch.rget(&mut into, Rank(0), 0).expect("it is open"),
            };
            if is_early {
                request.test();
            }
        }
        world.barrier().expect("all ranks live");
        if world.rank() == 1 {
            epoch.put(&[1], Rank(0), 0).expect("it is open");
        }
        world.barrier().expect("all ranks live");
        request.wait();
        epoch.unlock_all().expect("it is open");
        window.free().expect("no epoch is open");
    });
    let Some(outcome) = outcome else { return };
    assert_eq!(outcome.status.code(), Some(code), "{}", outcome.output);
}

#[test]
fn a_read_whose_request_has_not_ended() {
    request(false, false, 124);
}

#[test]
fn a_read_whose_request_has_ended() {
    request(false, true, 0);
}

#[test]
fn a_write_whose_request_has_ended() {
    request(true, true, 124);
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

/// How often the pairs of a job conflict, by its JSON report.
fn counts(name: &str, n: u32, body: impl FnOnce(&Comm)) -> Option<Vec<(u64, [u64; 2])>> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("conflicts-{name}.json"));
    let outcome = job(n, &["--check=report", "--check-report", path.to_str()?], body)?;
    assert!(outcome.status.success(), "{}", outcome.output);
    let text = std::fs::read_to_string(&path).expect("the report was written");
    let document: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(document["is_incomplete"], json!(false));
    let number = |value: &Value| value.as_u64().expect("a number");
    let conflicts = document["conflicts"].as_array().expect("a list");
    let count =
        |one: &Value| (number(&one["count"]), [&one["first_byte"], &one["last_byte"]].map(number));
    Some(conflicts.iter().map(count).collect())
}

/// Each granule of each reader counts, whatever the order of the ranks: also those of which some bytes are accessed,
/// and those with more readers than words.
#[test]
fn each_granule_of_each_pair_counts() {
    let counts = counts("granules", 8, |world| {
        let mut window = Window::<u8>::allocate(world, 9000).expect("memory");
        let mut into = vec![0; 8001];
        let epoch = window.lock_all().expect("no epoch is open");
        match world.rank() == 0 {
            true => epoch.put(&into, Rank(0), 4).expect("it is open"),
            false => epoch.get(&mut into, Rank(0), 3).expect("it is open"),
        }
        epoch.unlock_all().expect("it is open");
        window.free().expect("no epoch is open");
    });
    let Some(counts) = counts else { return };
    // Bytes 4 to 8003: in granules 0 to 1000, read by seven ranks.
    assert_eq!(counts, [(7 * 1001, [4, 8003])]);
}

/// A run of granules of which some had other entries before: their neighbours are judged by their own.
#[test]
fn granules_with_other_entries_are_judged_by_their_own() {
    let counts = counts("entries", 2, |world| {
        let mut window = Window::<u64>::allocate(world, 300).expect("memory");
        let (own, part) = (world.rank(), Rank(0));
        let epoch = window.lock_all().expect("no epoch is open");
        if own == 1 {
            // Each third granule, and nothing completes these puts.
            (0..100).for_each(|at| epoch.put(&[1], part, 3 * at).expect("it is open"));
        }
        world.barrier().expect("all ranks live");
        if own == 0 {
            epoch.put(&[2; 300], part, 0).expect("it is open");
            epoch.flush(part).expect("it is open");
        }
        world.barrier().expect("all ranks live");
        if own == 1 {
            // Ordered behind that put, and not behind its own ones.
            epoch.put(&[3; 300], part, 0).expect("it is open");
        }
        epoch.unlock_all().expect("it is open");
        window.free().expect("no epoch is open");
    });
    let Some(counts) = counts else { return };
    let all: Vec<u64> = counts.iter().map(|(count, _)| *count).collect();
    assert_eq!(all, [100, 100], "{counts:?}");
}

#[test]
fn reports_of_several_ranks_do_not_mix() {
    let outcome = job(4, &["--check"], |world| {
        let mut window = Window::<u64>::allocate(world, 1).expect("memory");
        let (epoch, own) = (window.lock_all().expect("no epoch is open"), world.rank());
        world.barrier().expect("all ranks live");
        // Each line conflicts with those before it, on each rank, and the first rank that finds it reports it.
        epoch.put(&[1], own, 0).expect("it is open");
        epoch.put(&[2], own, 0).expect("it is open");
        epoch.put(&[3], own, 0).expect("it is open");
        epoch.put(&[4], own, 0).expect("it is open");
        epoch.put(&[5], own, 0).expect("it is open");
        epoch.put(&[6], own, 0).expect("it is open");
        epoch.unlock_all().expect("it is open");
        window.free().expect("no epoch is open");
    });
    let Some(outcome) = outcome else { return };
    let lines: Vec<&str> = outcome.output.lines().collect();
    let is_head = |line: &&str| line.contains("] onesided: conflict");
    let reports = lines.iter().enumerate().filter(|(_, line)| is_head(line));
    for (at, head) in reports.clone() {
        let tag = head.split_once(' ').expect("a rank's line has a tag").0;
        for (line, begin) in lines[at + 1..].iter().zip(["  rank", "  rank", "  nothing completes"])
        {
            assert!(line.starts_with(&format!("{tag} {begin}")), "{}", outcome.output);
        }
    }
    assert_eq!(reports.count(), 15, "{}", outcome.output);
}

/// How a job ends after its ranks have met one conflict.
#[derive(Clone, Copy, Debug)]
enum End {
    Normal,
    Killed,
    Interrupted,
}

/// Two conflicts of one pair of lines: rank 0 puts to rank 1, which updates the same bytes; nothing is flushed.
fn conflict(world: &Comm, end: End) {
    let mut window = Window::<u32>::allocate(world, 4).expect("memory");
    let epoch = window.lock_all().expect("no epoch is open");
    for disp in [0, 2] {
        if world.rank() == 0 {
            epoch.put(&[1, 2], Rank(1), disp).expect("it is open");
        }
        world.barrier().expect("all ranks live");
        if world.rank() == 1 {
            epoch.accumulate(&[1, 2], Op::Sum, Rank(1), disp).expect("it is open");
        }
    }
    world.barrier().expect("all ranks live");
    match end {
        End::Killed if world.rank() == 1 => std::process::abort(),
        End::Interrupted if world.rank() == 1 => {
            kill(Pid::parent(), Signal::SIGTERM).expect("the launcher lives");
        }
        _ => {}
    }
    if !matches!(end, End::Normal) {
        let _ = world.recv(&mut [0u8], Rank(1 - world.rank().0), 0);
    }
    epoch.unlock_all().expect("it is open");
    window.free().expect("no epoch is open");
}

/// An access of a rank by that call, as a report has it, without its line.
fn access(rank: u32, (call, access): (&str, &str), datatype: Value) -> Value {
    json!({
        "rank": rank,
        "thread": null,
        "call": call,
        "access": access,
        "is_of_buffer": false,
        "datatype": datatype,
        "op": null,
        "line": null,
    })
}

/// Runs that job with a file for its report, and compares the two.
fn report_of(end: End, options: &[&str], code: i32) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("conflicts-{end:?}.json"));
    let path = path.to_str().expect("a path of the build");
    let options = [&["--check-report", path], options].concat();
    let Some(outcome) = job(2, &options, |world| conflict(world, end)) else { return };
    assert_eq!(outcome.status.code(), Some(code), "{}", outcome.output);
    let text = std::fs::read_to_string(path).expect("the report is written");
    let mut document: Value = serde_json::from_str(&text).expect("it is JSON");
    for side in [0, 1] {
        let line = document["conflicts"][0]["accesses"][side]["line"].take();
        let line = line.as_str().expect("Rust knows its lines");
        assert!(line.starts_with("tests/check/reports.rs:"), "{line}");
        assert!(outcome.output.contains(&format!(" at {line}\n")), "{}", outcome.output);
    }
    let expected = json!({
        "ranks": 2,
        "exit_code": code,
        "is_incomplete": false,
        "conflicts": [{
            "count": 2,
            "window": "#0",
            "target": 1,
            "rule": "conflict",
            "first_byte": 0,
            "last_byte": 7,
            "accesses": [
                access(0, ("put", "put"), Value::Null),
                access(1, ("accumulate", "update"), "MPI_UINT32_T".into()),
            ],
            "reason": "rank 0 has synchronised with rank 1, but its put was not complete at rank 1 then",
            "remedy": "rank 0 needs a flush of rank 1 (under a lock), or the end of the epoch, before that",
        }],
    });
    assert_eq!(document, expected, "{}", outcome.output);
}

#[test]
fn the_report_of_a_job_that_ends() {
    report_of(End::Normal, &[], 124);
}

#[test]
fn the_report_of_a_job_whose_rank_is_killed() {
    report_of(End::Killed, &["--check=report"], 128 + Signal::SIGABRT as i32);
}

#[test]
fn the_report_of_a_job_that_is_interrupted() {
    report_of(End::Interrupted, &[], 128 + Signal::SIGTERM as i32);
}

#[test]
fn a_report_that_cannot_be_written() {
    let options = ["--check-report", "/nowhere/conflicts.json"];
    let Some(outcome) = job(2, &options, |_| println!("a rank runs")) else { return };
    assert_eq!(outcome.status.code(), Some(125), "{}", outcome.output);
    let message = "cannot write the report '/nowhere/conflicts.json': No such file or directory";
    assert!(outcome.output.contains(message), "{}", outcome.output);
    assert!(!outcome.output.contains("a rank runs"), "{}", outcome.output);
}
