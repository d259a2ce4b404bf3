//! MPI_MODE_NOCHECK where it is true, and where it is not.

use crate::assertions::{found, group, reports, window};
use onesided::{Comm, LockAssert, LockType, Rank, StartAssert};

const TURN: usize = 0;

/// A lock of rank 0 by both ranks: its type, and whether it is asserted that none conflicts; lock_all without a type.
type Lock = (Option<LockType>, bool);

const LOCKS: [Lock; 6] = [
    (Some(LockType::Shared), false),
    (Some(LockType::Exclusive), false),
    (Some(LockType::Shared), true),
    (Some(LockType::Exclusive), true),
    (None, false),
    (None, true),
];

/// Rank `first` has the first of two locks and releases it, then the other rank has the second one. Returns how many
/// reports there are then.
fn lock_in_turn(world: &Comm, locks: [Lock; 2], first: u32, synchronises: bool, turn: u32) -> u64 {
    let (win, target) = (window(world), Rank(0));
    let lock = |(kind, nocheck): Lock| {
        // SAFETY: the obligation protects slices of the own part, and nothing here makes one.
        let assert = if nocheck { unsafe { LockAssert::nocheck() } } else { LockAssert::NONE };
        match kind {
            Some(kind) => win.lock_with(kind, target, assert).expect("no epoch is open"),
            None => win.lock_all_with(assert).expect("no epoch is open"),
        }
        match kind {
            Some(_) => win.unlock(target).expect("it is locked"),
            None => win.unlock_all().expect("it is locked"),
        }
    };
    if world.rank().0 == first {
        lock(locks[0]);
        world.signal(TURN);
    } else {
        world.await_signal(TURN, turn + 1);
    }
    if synchronises {
        world.barrier().expect("all ranks live");
    }
    if world.rank().0 != first {
        lock(locks[1]);
    }
    win.free().expect("no epoch is open");
    found(world)
}

#[test]
fn every_pair_of_locks() {
    let outcome = reports(|world| {
        let (mut turn, mut before, mut wrong) = (0, 0, Vec::new());
        for (a, b) in LOCKS.iter().flat_map(|a| LOCKS.iter().map(move |b| (*a, *b))) {
            for (first, synchronises) in [(0, false), (1, false), (0, true), (1, true)] {
                let now = lock_in_turn(world, [a, b], first, synchronises, turn);
                let is_exclusive =
                    [a, b].iter().any(|(kind, _)| *kind == Some(LockType::Exclusive));
                let is_false = is_exclusive && (a.1 || b.1) && !synchronises;
                if (now > before) != is_false {
                    wrong.push(format!("{a:?}, {b:?}, rank {first} first, {synchronises}: {now}"));
                }
                (turn, before) = (turn + 1, now);
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
    let Some((lines, code)) = outcome else { return };
    assert_eq!(code, Some(124), "{lines}");
    let expected = [
        "wrong assertion in window '#",
        "', about rank 0:\n  rank 1: lock at tests/check/nocheck.rs:",
        ": lock_all at tests/check/nocheck.rs:",
        " asserts MPI_MODE_NOCHECK, that no conflicting lock is held meanwhile",
        "; the lock is correct without that assertion",
    ];
    expected.iter().for_each(|part| assert!(lines.contains(part), "{part}: {lines}"));
}

/// What happens first: the post or the start.
#[derive(Clone, Copy)]
enum First {
    Start,
    /// And a barrier, or nothing but time, is between the two.
    Post {
        synchronises: bool,
    },
}

fn expose(world: &Comm, first: First, turn: u32, win: &onesided::engine::Win) {
    let start = || {
        // SAFETY: the obligation protects slices of the own part, and nothing here makes one.
        let nocheck = unsafe { StartAssert::nocheck() };
        win.start_with(&group(world, 0), nocheck).expect("no epoch is open");
    };
    let post = || win.post(&group(world, 1)).expect("not exposed");
    match (world.rank().0, first) {
        (0, First::Start) => {
            world.await_signal(TURN, turn + 1);
            post();
        }
        (_, First::Start) => {
            start();
            world.signal(TURN);
        }
        (0, First::Post { synchronises }) => {
            post();
            world.signal(TURN);
            if synchronises {
                world.barrier().expect("all ranks live");
            }
        }
        (_, First::Post { synchronises }) => {
            world.await_signal(TURN, turn + 1);
            if synchronises {
                world.barrier().expect("all ranks live");
            }
            start();
        }
    }
    match world.rank().0 {
        0 => win.wait().expect("exposed"),
        _ => win.complete().expect("started"),
    }
}

#[test]
fn starts_before_their_posts() {
    let outcome = reports(|world| {
        let (win, ordered) = (window(world), First::Post { synchronises: true });
        let timed = First::Post { synchronises: false };
        let all = [(ordered, 0), (timed, 1), (ordered, 0), (First::Start, 1), (ordered, 0)];
        let mut before = 0;
        for ((first, reports), turn) in all.into_iter().zip(0..) {
            expose(world, first, turn, &win);
            let now = found(world);
            assert_eq!(now - before, reports, "epoch {turn}");
            before = now;
        }
        // A start that waits counts, too.
        match world.rank().0 {
            0 => win.post(&group(world, 1)).and_then(|()| win.wait()).expect("not exposed"),
            _ => win.start(&group(world, 0)).and_then(|()| win.complete()).expect("no epoch"),
        }
        expose(world, ordered, all.len() as u32, &win);
        assert_eq!(found(world), before);
        win.free().expect("no epoch is open");
    });
    let Some((lines, code)) = outcome else { return };
    assert_eq!(code, Some(124), "{lines}");
    let expected = [
        "wrong assertion in window '#0', about rank 0:\n  rank 1: start at tests/check/nocheck.rs:",
        "\n  rank 0: post\n  rank 1 asserts MPI_MODE_NOCHECK, that rank 0 has posted before",
        "; the start is correct without that assertion",
    ];
    expected.iter().for_each(|part| assert!(lines.contains(part), "{part}: {lines}"));
}
