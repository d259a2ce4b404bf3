//! Jobs of many ranks: more than have a place in a lock's queue, and as many as there can be.

use crate::harness::{machine, rank_function_in};
use crate::support;
use onesided::{FenceAssert, LockType, Op, Rank, Universe, WindowOptions};
use std::process::Command;
use std::time::{Duration, Instant};

/// Every rank adds to rank 0's part in every kind of epoch that all can be in at once. The number is
/// promised, so the constant cannot lower it.
#[test]
fn the_largest_job_synchronises() {
    let _alone = machine();
    support::spmd(4096, |world| {
        let (n, me) = (u64::from(world.size()), u64::from(world.rank()));
        let win = WindowOptions::new().allocate_bytes(world, 8, 8).expect("a window");
        win.fence_with(FenceAssert::NOPRECEDE).expect("a fence");
        win.accumulate(&[me + 1], Op::Sum, Rank(0), 0).expect("an accumulate");
        win.fence_with(FenceAssert::NOSUCCEED).expect("a fence");
        // All are inside at the same time.
        win.lock_all().expect("a lock_all");
        win.accumulate(&[1u64], Op::Sum, Rank(0), 0).expect("an accumulate");
        world.barrier().expect("a barrier");
        win.unlock_all().expect("an unlock_all");
        win.lock(LockType::Shared, Rank(0)).expect("a shared lock");
        win.accumulate(&[1u64], Op::Sum, Rank(0), 0).expect("an accumulate");
        world.barrier().expect("a barrier");
        win.unlock(Rank(0)).expect("an unlock");
        world.barrier().expect("a barrier");
        let last = world.size() - 1;
        let group = |rank| world.group().incl(&[rank]).expect("a rank of the world");
        match world.rank().0 {
            0 => {
                win.post(&group(last)).expect("a post");
                win.wait().expect("a wait");
            }
            rank if rank == last => {
                win.start(&group(0)).expect("a start");
                win.accumulate(&[1u64], Op::Sum, Rank(0), 0).expect("an accumulate");
                win.complete().expect("a complete");
            }
            _ => {}
        }
        world.barrier().expect("a barrier");
        let mut sum = [0u64];
        win.load(0, &mut sum).expect("a load");
        assert_eq!(sum[0], if me == 0 { n * (n + 1) / 2 + 2 * n + 1 } else { 0 });
        win.free().expect("no epoch is open");
    });
}

/// The queue of a lock has 255 places on each side; the others wait for one.
#[test]
fn more_ranks_want_a_lock_than_can_queue() {
    let _alone = machine();
    support::spmd(600, |world| {
        let win = WindowOptions::new().allocate_bytes(world, 8, 8).expect("a window");
        let kind = if world.rank().0 % 50 == 7 { LockType::Shared } else { LockType::Exclusive };
        let add = || {
            win.lock(kind, Rank(0)).expect("a lock");
            if kind == LockType::Exclusive {
                let mut now = [0u64];
                win.get(&mut now, Rank(0), 0).expect("a get");
                win.flush(Rank(0)).expect("a flush");
                win.put(&[now[0] + 1], Rank(0), 0).expect("a put");
            }
            win.unlock(Rank(0)).expect("an unlock");
        };
        if world.rank() == 0 {
            win.lock(LockType::Exclusive, Rank(0)).expect("a lock");
        }
        world.barrier().expect("a barrier");
        match world.rank().0 {
            0 => win.unlock(Rank(0)).expect("an unlock"),
            _ => add(),
        }
        world.barrier().expect("a barrier");
        let mut sum = [0u64];
        win.load(0, &mut sum).expect("a load");
        assert_eq!(sum[0], if world.rank() == 0 { 599 - 12 } else { 0 });
        win.free().expect("no epoch is open");
    });
}

/// Rank 0 waits for a message of rank 1, which waits for a post, and the others for these two.
#[test]
#[ignore = "a rank"]
fn wait_for_one_another() {
    let Ok(universe) = Universe::init() else { return };
    let world = universe.world();
    if world.size() == 1 {
        return;
    }
    universe.vouch_for_one_thread();
    let options = WindowOptions::new().name("halo").notifications(1);
    let win = options.allocate_bytes(world, 8, 8).expect("a window");
    match world.rank().0 {
        0 => win.wait_notify(0, 1).expect("a notification"),
        1 => {
            let first = world.group().incl(&[0]).expect("a rank of the world");
            win.start(&first).expect("a start");
        }
        _ => world.barrier().expect("a barrier"),
    }
    unreachable!("nobody comes here");
}

/// The report comes within seconds, and has a line for each thing that ranks wait for.
#[test]
fn a_deadlock_of_a_thousand_ranks_is_reported_soon_and_shortly() {
    let _alone = machine();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(["-n", "1000", "--"]);
    command.args(rank_function_in("many_ranks", "wait_for_one_another"));
    let began = Instant::now();
    let outcome = support::run(&mut command, "a job in deadlock");
    assert_eq!(outcome.status.code(), Some(123), "{}", outcome.output);
    let lines: Vec<&str> =
        outcome.output.lines().filter_map(|line| line.strip_prefix("rmarun: ")).collect();
    assert_eq!(lines.len(), 4, "{}", outcome.output);
    for (line, words) in lines.iter().zip([
        "deadlock: all 1000 ranks wait, and none can be woken by another; job ended",
        "rank 0 in wait_notify on window 'halo' waits for 1 notification of counter 0",
        "rank 1 in start on window 'halo' waits for a post by rank 0",
        "ranks 2-999 in barrier wait for ranks 0 and 1 to arrive",
    ]) {
        assert!(line.contains(words), "no '{words}' in: {line}");
    }
    // Most of it is the start of the ranks, beside whatever else the machine does.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}
