//! A part of a window is not locked and exposed at the same time (MPI-2.2 §11.4.3), where two ranks are
//! needed to see it. What one rank sees is in the table of `epochs.rs`.
#![cfg(feature = "test-hooks")]

use crate::support::interleave::{free, group, load, put, refusal, words};
use crate::support::spmd;
use onesided::engine::Win;
use onesided::{ErrorClass, LockType, Rank};

fn lock(win: &Win, lock_type: LockType, target: u32) -> onesided::Result<()> {
    win.lock(lock_type, Rank(target))
}

/// §11.4.3: "a process may not call MPI_WIN_LOCK to lock a target window if the target process has
/// called MPI_WIN_POST and has not yet called MPI_WIN_WAIT".
#[test]
fn a_part_that_its_rank_has_exposed_is_not_locked() {
    spmd(2, |world| {
        let win = words(world, 1);
        let other = group(world, &[1 - world.rank().0]);
        for round in 1..=5 {
            if world.rank() == 0 {
                win.post(&other).unwrap();
                world.signal(0);
                win.wait().unwrap();
                world.signal(1);
            } else {
                world.await_signal(0, round);
                for lock_type in [LockType::Shared, LockType::Exclusive] {
                    assert_eq!(refusal(lock(&win, lock_type, 0)), ErrorClass::RmaSync);
                }
                win.start(&other).unwrap();
                win.complete().unwrap();
                world.await_signal(1, round);
                lock(&win, LockType::Exclusive, 0).unwrap();
                win.unlock(Rank(0)).unwrap();
            }
            world.barrier().unwrap();
        }
        free(win);
    });
}

/// §11.4.3: "it is erroneous to call MPI_WIN_POST while the local window is locked", by another
/// rank. The refused post has no effect: after the unlock the next one is the first.
#[test]
fn post_is_refused_while_another_rank_holds_a_lock_of_the_part() {
    spmd(2, |world| {
        let win = words(world, 1);
        let other = group(world, &[1 - world.rank().0]);
        for round in 1..=3 {
            if world.rank() == 1 {
                match round {
                    1 => lock(&win, LockType::Shared, 0).unwrap(),
                    2 => lock(&win, LockType::Exclusive, 0).unwrap(),
                    _ => win.lock_all().unwrap(),
                }
                world.signal(0);
                world.await_signal(1, round);
                match round {
                    3 => win.unlock_all().unwrap(),
                    _ => win.unlock(Rank(0)).unwrap(),
                }
                world.signal(2);
                win.start(&other).unwrap();
                put(&win, u64::from(round), 0, 0);
                win.complete().unwrap();
            } else {
                world.await_signal(0, round);
                assert_eq!(refusal(win.post(&other)), ErrorClass::RmaSync);
                world.signal(1);
                world.await_signal(2, round);
                win.post(&other).unwrap();
                win.wait().unwrap();
                assert_eq!(load(&win, 0), u64::from(round));
            }
            world.barrier().unwrap();
        }
        free(win);
    });
}

/// Only "the local window" must not be locked: a lock of another rank's part is no reason to refuse
/// a post, whatever its kind.
#[test]
fn post_is_allowed_while_another_part_is_locked() {
    spmd(3, |world| {
        let win = words(world, 1);
        for (round, lock_type) in (1..=2).zip([LockType::Shared, LockType::Exclusive]) {
            match world.rank().0 {
                0 => {
                    world.await_signal(0, round);
                    win.post(&group(world, &[2])).unwrap();
                    win.wait().unwrap();
                    world.signal(1);
                }
                1 => {
                    lock(&win, lock_type, 2).unwrap();
                    world.signal(0);
                    world.await_signal(1, round);
                    win.unlock(Rank(2)).unwrap();
                }
                _ => {
                    win.start(&group(world, &[0])).unwrap();
                    win.complete().unwrap();
                }
            }
            world.barrier().unwrap();
        }
        free(win);
    });
}
