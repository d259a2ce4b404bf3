//! `rmarun --stats`: calls are counted exactly, and the longest wait is the planted one.

use crate::harness::{Run, machine, run_ranks_of};
use crate::support::printed::cells_of;
use nix::sys::signal::Signal;
use onesided::{Access, Op, Rank, Universe, WindowOptions};
use std::time::{Duration, Instant};

/// How long one rank keeps the others waiting.
const LATE: Duration = Duration::from_millis(500);

#[test]
#[ignore = "a rank"]
fn make_known_calls() {
    known_calls("halo");
}

/// Calls of a rank on a window of that name. Rank 1 is late at a barrier, and of four ranks the third kills itself.
pub fn known_calls(name: &str) {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    if world.size() == 1 {
        return;
    }
    let mut window = WindowOptions::new().name(name).allocate::<u64>(world, 8).unwrap();
    let next = Rank((world.rank().0 + 1) % world.size());
    for round in 0..10u64 {
        let values = [round; 4];
        let epoch = window.fence().unwrap();
        epoch.put(&values, next, 0).unwrap();
        epoch.accumulate(&values[..1], Op::Sum, next, 7).unwrap();
        epoch.close().unwrap();
    }
    let epoch = window.lock_all().unwrap();
    assert_eq!(epoch.fetch_and_op_flush(0, Op::Sum, next, 7).unwrap(), 45);
    epoch.unlock_all().unwrap();
    let begun = Instant::now();
    while world.rank() == 1 && begun.elapsed() < LATE {}
    world.barrier().unwrap();
    if world.rank() == 0 {
        world.send(&[1u8; 5], Rank(1), 0).unwrap();
    } else if world.rank() == 1 {
        world.recv(&mut [0u8; 5], Rank(0), 0).unwrap();
    }
    if world.size() == 4 && world.rank() == 2 {
        nix::sys::signal::raise(Signal::SIGKILL).unwrap();
    }
    window.free().unwrap();
}

#[test]
#[ignore = "a rank"]
fn move_known_bytes() {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    if world.size() == 1 {
        return;
    }
    // Rank 2 receives in a call that waits for it.
    match world.rank().0 {
        0 => world.send(&[2u8; 5000], Rank(2), 1).unwrap(),
        2 => drop(world.irecv(vec![0u8; 6000], Rank(0), 1).unwrap().wait().unwrap()),
        _ => {}
    }
    // In one staging area, and in messages.
    for mut buffer in [vec![0u8; 2], vec![0u8; 80_000]] {
        world.broadcast(&mut buffer, Rank(1)).unwrap();
    }
    world.reduce(&[1u64], Op::Sum, Rank(0)).unwrap();
    world.alltoall(&[1u32, 2, 3]).unwrap();
}

fn make(ranks: u32, options: &[&str]) -> Run {
    run_ranks_of("statistics", ranks, options, "make_known_calls")
}

/// The cells of the rows of a table, by its heading.
pub fn table<'r>(run: &'r Run, heading: &str) -> Vec<Vec<&'r str>> {
    let lines = run.stderr.lines().filter_map(|line| line.strip_prefix("rmarun: "));
    let rows = lines.skip_while(|line| !line.starts_with(heading)).skip(1);
    rows.take_while(|line| line.starts_with("  ")).map(|row| cells_of(row.trim_start())).collect()
}

#[test]
fn calls_are_counted_exactly_and_the_late_rank_is_not_the_one_that_waits() {
    let _alone = machine();
    let run = make(3, &["--stats"]).expect(0);
    let calls = table(&run, "calls of all ranks");
    let of = |call: &str| {
        let row = calls.iter().find(|row| row[0] == call);
        row.map_or_else(Vec::new, |row| row[1..4].to_vec())
    };
    let expected = [
        ("put", ["halo", "30", "960"]),
        ("accumulate", ["halo", "30", "240"]),
        ("fence", ["halo", "60", "-"]),
        ("fetch_and_op", ["halo", "3", "24"]),
        ("lock_all", ["halo", "3", "-"]),
        ("unlock_all", ["halo", "3", "-"]),
        ("barrier", ["-", "3", "-"]),
        ("send", ["-", "1", "5"]),
        ("recv", ["-", "1", "5"]),
        ("window free", ["halo", "3", "-"]),
    ];
    expected.iter().for_each(|(call, row)| assert_eq!(of(call), row, "{call}: {run:#?}"));
    let longest = &table(&run, "waits of all ranks")[1];
    let line =
        include_str!("statistics.rs").lines().position(|line| line.contains("world.barrier"));
    let line = format!("tests/launcher/statistics.rs:{}", line.unwrap() + 1);
    // Two ranks wait there for the third.
    assert_eq!(longest[..4], ["barrier", "-", &line, "2"], "{run:#?}");
    let ranks = table(&run, "how the ranks spent their time");
    let share = |rank: usize, column: usize| -> f64 {
        ranks[rank + 1][column].trim_end_matches(" %").parse().expect("a share")
    };
    for rank in 0..3 {
        let all: f64 = (2..6).map(|column| share(rank, column)).sum();
        assert!((all - 100.0).abs() < 0.5, "{run:#?}");
    }
    let [computing, waiting] = [2, 4].map(|column| [0, 1].map(|rank| share(rank, column)));
    assert!(computing[1] > waiting[1] && waiting[0] > computing[0], "{run:#?}");
}

/// The bytes of a receive are in the call that has waited for it, those of a collective are of the larger buffer; of both
/// none is counted between ranks, where the send is.
#[test]
fn the_bytes_of_receives_and_collectives_are_counted_once() {
    let run = run_ranks_of("statistics", 3, &["--stats"], "move_known_bytes").expect(0);
    let calls = table(&run, "calls of all ranks");
    let expected = [
        ["send", "-", "1", "5000"],
        ["recv", "-", "1", "-"],
        ["message wait", "-", "1", "5000"],
        ["broadcast", "-", "6", "240006"],
        ["reduce", "-", "3", "24"],
        ["alltoall", "-", "3", "36"],
    ];
    expected
        .iter()
        .for_each(|row| assert!(calls.iter().any(|found| found[..4] == *row), "{row:?}: {run:#?}"));
    assert_eq!(table(&run, "operations and messages")[1..], [["0", "2", "1", "5000"]]);
}

#[test]
fn a_failed_job_has_its_statistics_too() {
    let run = make(4, &["--stats"]).expect(137);
    let calls = table(&run, "calls of all ranks");
    let puts = calls.iter().find(|row| row[0] == "put").expect("there were puts");
    assert_eq!(puts[1..4], ["halo", "40", "1280"], "{run:#?}");
    let last = run.launcher_lines().pop().unwrap_or_default();
    assert!(last.contains("rank 2 ") && last.contains("(SIGKILL) outside the library"), "{last}");
}

#[test]
fn nothing_is_counted_unasked() {
    let run = make(3, &[]).expect(0);
    assert!(run.launcher_lines().is_empty(), "{run:#?}");
}
