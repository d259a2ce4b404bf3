//! The table of legal calls (`src/window/state.rs`) at run time on two ranks: each call in each state is legal,
//! or fails with RmaSync. After a failure the epoch goes on. (The sentences of these errors, and wrong
//! arguments, are rows of `tests/conformance/misuse`.)

use crate::support::{needs_rmarun, spmd};
use onesided::engine::Win;
use onesided::{Comm, ErrorClass, FenceAssert, Group, LockType, Op, Rank, Result, WindowOptions};

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// No epoch.
    None,
    /// A fence epoch without operations, which may turn out to be none.
    Fence,
    /// A fence epoch with operations.
    FenceUsed,
    /// Started for no rank.
    Started,
    /// A lock of the other rank.
    Locked,
    /// A shared lock of the own part.
    OwnLocked,
    LockedAll,
    /// Posted for no rank.
    Exposed,
    /// Posted for and started on the other rank.
    Both,
}

/// One rank, the other, and the window between them.
struct Pair<'a> {
    win: &'a Win,
    me: Rank,
    other: Rank,
}

fn group(pair: &Pair<'_>, ranks: &[u32]) -> Group {
    pair.win.group().incl(ranks).unwrap()
}

impl State {
    fn open(self, pair: &Pair<'_>) -> Result<()> {
        let (win, other) = (pair.win, pair.other);
        match self {
            State::None => Ok(()),
            State::Fence => win.fence(),
            State::FenceUsed => {
                win.fence()?;
                win.put(&[0u64], other, 7)
            }
            State::Started => win.start(&group(pair, &[])),
            State::Locked => win.lock(LockType::Shared, other),
            State::OwnLocked => win.lock(LockType::Shared, pair.me),
            State::LockedAll => win.lock_all(),
            State::Exposed => win.post(&group(pair, &[])),
            State::Both => {
                win.post(&group(pair, &[other.0]))?;
                win.start(&group(pair, &[other.0]))
            }
        }
    }

    fn close(self, pair: &Pair<'_>) -> Result<()> {
        let win = pair.win;
        match self {
            State::None => Ok(()),
            State::Fence | State::FenceUsed => win.fence_with(FenceAssert::NOSUCCEED),
            State::Started => win.complete(),
            State::Locked => win.unlock(pair.other),
            State::OwnLocked => win.unlock(pair.me),
            State::LockedAll => win.unlock_all(),
            State::Exposed => win.wait(),
            State::Both => win.complete().and_then(|()| win.wait()),
        }
    }
}

/// A call, its letter in the table, and itself.
type Column = (&'static str, char, fn(&Pair<'_>) -> Result<()>);

const SYNCHRONISATION: &[Column] = &[
    ("fence", 'F', |p| p.win.fence()),
    ("start", 's', |p| p.win.start(&group(p, &[]))),
    ("complete", 'c', |p| p.win.complete()),
    ("post", 'p', |p| p.win.post(&group(p, &[]))),
    ("wait", 'w', |p| p.win.wait()),
    ("test", 't', |p| p.win.test().map(drop)),
    ("lock of the other", 'l', |p| p.win.lock(LockType::Shared, p.other)),
    ("lock of the own part", 'm', |p| p.win.lock(LockType::Shared, p.me)),
    ("unlock of the other", 'u', |p| p.win.unlock(p.other)),
    ("unlock of the own part", 'v', |p| p.win.unlock(p.me)),
    ("lock_all", 'a', |p| p.win.lock_all()),
    ("unlock_all", 'b', |p| p.win.unlock_all()),
    ("flush of the other", 'f', |p| p.win.flush(p.other)),
    ("flush of the own part", 'g', |p| p.win.flush(p.me)),
    ("flush_all", 'h', |p| p.win.flush_all()),
    ("flush_local of the other", 'i', |p| p.win.flush_local(p.other)),
    ("flush_local_all", 'j', |p| p.win.flush_local_all()),
    ("sync", 'y', |p| {
        p.win.sync();
        Ok(())
    }),
];

const OPERATIONS: &[Column] = &[
    ("put to the other", 'P', |p| p.win.put(&[1u64], p.other, 0)),
    ("put to the own part", 'Q', |p| p.win.put(&[1u64], p.me, 1)),
    ("put to nobody", 'N', |p| p.win.put(&[1u64], Rank::NULL, 0)),
    ("get", 'G', |p| p.win.get(&mut [0u64], p.other, 2)),
    ("accumulate", 'A', |p| p.win.accumulate(&[1u64], Op::Sum, p.other, 3)),
    ("get_accumulate", 'B', |p| p.win.get_accumulate(&[1u64], &mut [0], Op::Sum, p.other, 3)),
    ("fetch_and_op", 'O', |p| p.win.fetch_and_op(&1u64, &mut 0, Op::Sum, p.other, 3)),
    ("compare_and_swap", 'C', |p| p.win.compare_and_swap(&1u64, &0, &mut 0, p.other, 4)),
    ("load", 'L', |p| p.win.load(5, &mut [0u64])),
    ("store", 'S', |p| p.win.store(6, &[1u64])),
];

/// In each state the letters of the legal calls; the rest is refused.
const TABLE: &[(State, &str)] = &[
    (State::None, "F s p lm a y LS"),
    (State::Fence, "F s p lm a y PQN GABOC LS"),
    (State::FenceUsed, "F y PQN GABOC LS"),
    (State::Started, "c p y N LS"),
    (State::Locked, "m u f hij y PN GABOC LS"),
    (State::OwnLocked, "l v g hj y QN LS"),
    (State::LockedAll, "b fg hij y PQN GABOC LS"),
    // No lock of the other: that is exposed too.
    (State::Exposed, "s w t y LS"),
    (State::Both, "c t y PN GABOC LS"),
];

/// Calls that block in a state, because the other rank is in it too.
fn blocks(state: State, letter: char) -> bool {
    state == State::Both && letter == 'w'
}

fn walk(world: &Comm, state: State, legal: &str, (name, letter, call): Column) {
    let win = WindowOptions::new().name("walk").allocate_bytes(world, 64, 8).unwrap();
    let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    let pair = Pair { win: &win, me, other };
    state.open(&pair).unwrap_or_else(|error| panic!("entering {state:?}: {error}"));
    world.barrier().unwrap();
    let result = call(&pair);
    world.barrier().unwrap();
    if legal.contains(letter) {
        result.unwrap_or_else(|error| panic!("{name} in {state:?}: {error}"));
        // The state is another now; the window stays until the job ends.
        return;
    }
    let error = result.expect_err(&format!("{name} in {state:?}"));
    assert_eq!(error.class(), ErrorClass::RmaSync, "{name} in {state:?}: {error}");
    assert!(error.to_string().contains("on window 'walk' by rank"), "{error}");
    world.barrier().unwrap();
    let mut part = [0u64; 8];
    win.load(0, &mut part).unwrap();
    assert_eq!(part, [0; 8], "{name} in {state:?} is refused but has written");
    world.barrier().unwrap();
    // The epoch goes on as if nothing had been called.
    let sent = u64::from(legal.contains('P'));
    if sent == 1 {
        win.put(&[sent], other, 7).unwrap_or_else(|e| panic!("put after {name} in {state:?}: {e}"));
    }
    state.close(&pair).unwrap_or_else(|error| panic!("{state:?} after {name}: {error}"));
    world.barrier().unwrap();
    win.load(7, &mut part[..1]).unwrap();
    assert_eq!(part[0], sent, "put after {name} in {state:?}");
    world.barrier().unwrap();
    win.free().unwrap_or_else(|error| panic!("free, {state:?} after {name}: {error}"));
}

#[test]
fn every_synchronisation_in_every_state() {
    if needs_rmarun("posts and locks that others notice") {
        return;
    }
    spmd(2, |world| {
        for (state, legal) in TABLE {
            let calls = SYNCHRONISATION.iter().filter(|(_, letter, _)| !blocks(*state, *letter));
            calls.for_each(|column| walk(world, *state, legal, *column));
        }
    });
}

#[test]
fn every_operation_in_every_state() {
    spmd(2, |world| {
        for (state, legal) in TABLE {
            OPERATIONS.iter().for_each(|column| walk(world, *state, legal, *column));
        }
    });
}

#[test]
fn free_in_every_state() {
    spmd(2, |world| {
        for (state, _) in TABLE {
            let win = WindowOptions::new().allocate_bytes(world, 64, 8).unwrap();
            let (me, other) = (world.rank(), Rank(1 - world.rank().0));
            state.open(&Pair { win: &win, me, other }).unwrap();
            world.barrier().unwrap();
            match (state, win.free()) {
                (State::None | State::Fence, freed) => freed.unwrap(),
                (_, freed) => {
                    let error = freed.expect_err("an epoch is open");
                    assert_eq!(error.class(), ErrorClass::RmaSync, "{state:?}: {error}");
                }
            }
        }
    });
}

#[test]
fn a_state_that_was_left_is_the_state_none() {
    spmd(2, |world| {
        let win = WindowOptions::new().allocate_bytes(world, 64, 8).unwrap();
        let pair = Pair { win: &win, me: world.rank(), other: Rank(1 - world.rank().0) };
        // Every state after every other, on one and the same window.
        for (first, _) in TABLE {
            for (second, _) in TABLE {
                for state in [first, second] {
                    world.barrier().unwrap();
                    state.open(&pair).unwrap_or_else(|e| panic!("{first:?} {second:?}: {e}"));
                    world.barrier().unwrap();
                    state.close(&pair).unwrap_or_else(|e| panic!("{first:?} {second:?}: {e}"));
                    assert_eq!(win.flush_all().unwrap_err().class(), ErrorClass::RmaSync);
                    assert!(win.put(&[1u64], pair.other, 0).is_err(), "after {state:?}");
                }
            }
        }
        win.free().unwrap();
    });
}

#[test]
fn locks_of_several_targets_are_independent() {
    spmd(2, |world| {
        let win = WindowOptions::new().allocate_bytes(world, 64, 8).unwrap();
        let (me, other) = (world.rank(), Rank(1 - world.rank().0));
        for order in [[me, other], [other, me]] {
            win.lock(LockType::Shared, order[0]).unwrap();
            win.lock(LockType::Shared, order[1]).unwrap();
            win.put(&[1u64], order[1], u64::from(world.rank())).unwrap();
            win.unlock(order[0]).unwrap();
            assert!(win.put(&[1u64], order[0], 0).is_err(), "unlocked");
            assert!(win.unlock(order[0]).is_err(), "unlocked");
            win.flush(order[1]).unwrap();
            assert!(win.fence().is_err() && win.lock_all().is_err());
            win.unlock(order[1]).unwrap();
        }
        win.free().unwrap();
    });
}

#[test]
fn a_refused_operation_does_not_count_in_its_fence_epoch() {
    spmd(2, |world| {
        let win = WindowOptions::new().allocate_bytes(world, 64, 8).unwrap();
        let other = Rank(1 - world.rank().0);
        win.fence().unwrap();
        win.put(&[1u64], other, 8).unwrap_err();
        win.get(&mut [1u64], other, u64::MAX).unwrap_err();
        win.put(&[1u64], Rank(2), 0).unwrap_err();
        win.accumulate(&[1u64], Op::Maxloc, other, 0).unwrap_err();
        win.get_accumulate(&[1u64; 2], &mut [1], Op::Sum, other, 0).unwrap_err();
        win.fetch_and_op(&1u64, &mut 0, Op::Sum, other, 8).unwrap_err();
        win.compare_and_swap(&1u64, &0, &mut 0, other, 8).unwrap_err();
        // So the epoch turns out to have been none (MPI-2.2 §11.4.1).
        win.lock(LockType::Shared, other).unwrap();
        win.unlock(other).unwrap();
        win.free().unwrap();
    });
}
