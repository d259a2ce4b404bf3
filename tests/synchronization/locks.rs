//! Several locks: of several targets by one rank, of one target by several ranks, and lock_all
//! (MPI-2.2 §11.4.3, MPI-4 "Lock"; src/sync/README.md, invariants 6 and 7).
#![cfg(feature = "test-hooks")]

use crate::support::choices::Choices;
use crate::support::interleave::{
    free, get, lock, locked_get, notify_when_asleep, put, store, unlock, words,
};
use crate::support::spmd;
use onesided::engine::Win;
use onesided::hooks::{Event, ProcSync, Site, delay};
use onesided::{Comm, LockType, Op, Rank, Window};
use std::rc::Rc;

/// Several targets locked at once, unlocked in another order than locked; each lock is released by
/// its own unlock and by no other. Rank 1 sleeps in a lock of each target in turn, and gets it when
/// rank 0, which still holds the rest, unlocks that one.
#[test]
fn several_targets_are_locked_at_once_and_released_one_by_one() {
    spmd(5, |world| {
        let win = words(world, 1);
        for round in 1..=10u32 {
            if world.rank() == 0 {
                (2..5).for_each(|target| lock(&win, LockType::Exclusive, target));
                (2..5).for_each(|target| put(&win, u64::from(round), target, 0));
                for (target, times) in [3, 4, 2].into_iter().zip(3 * round - 2..) {
                    world.signal(1);
                    world.await_signal(0, times);
                    unlock(&win, target);
                    world.await_signal(2, times);
                }
            } else if world.rank() == 1 {
                for (target, times) in [3, 4, 2].into_iter().zip(3 * round - 2..) {
                    world.await_signal(1, times);
                    notify_when_asleep(&win, 0);
                    assert_eq!(locked_get(&win, LockType::Shared, target, 0), u64::from(round));
                    world.signal(2);
                }
            }
        }
        free(win);
    });
}

/// Invariant 6 of src/sync: "a rank that already holds a lock of the window never queues behind
/// mere waiters: those may be waiting for what it holds". Ranks 0 and 1 hold a shared lock each of
/// targets 4 and 5, ranks 2 and 3 sleep waiting for them exclusively, and then 0 and 1 lock each
/// other's target too: "if no conflicting lock is held, the code fragment must complete" (§11.7.2).
#[test]
fn nested_shared_locks_pass_waiting_writers() {
    spmd(6, |world| {
        let win = words(world, 1);
        for round in 1..=15 {
            match world.rank().0 {
                me @ (0 | 1) => {
                    lock(&win, LockType::Shared, 4 + me);
                    world.signal(me as usize);
                    world.await_signal(2, round);
                    world.await_signal(3, round);
                    lock(&win, LockType::Shared, 5 - me);
                    world.signal(4);
                    world.await_signal(4, 2 * round);
                    assert_eq!(get(&win, 5 - me, 0), u64::from(round) - 1);
                    unlock(&win, 4 + me);
                    unlock(&win, 5 - me);
                }
                me @ (2 | 3) => {
                    world.await_signal(me as usize - 2, round);
                    notify_when_asleep(&win, me as usize);
                    lock(&win, LockType::Exclusive, 2 + me);
                    put(&win, u64::from(round), 2 + me, 0);
                    unlock(&win, 2 + me);
                }
                _ => {}
            }
            world.barrier().unwrap();
        }
        free(win);
    });
}

/// The same with exclusive locks and a rank that waits for lock_all in between: rank 0 holds target
/// 2 exclusively, rank 1 sleeps in lock_all, and rank 0 locks target 3 exclusively too.
#[test]
fn nested_exclusive_locks_pass_a_waiting_lock_all() {
    spmd(4, |world| {
        let win = words(world, 1);
        for round in 1..=15 {
            match world.rank().0 {
                0 => {
                    lock(&win, LockType::Exclusive, 2);
                    world.signal(0);
                    world.await_signal(1, round);
                    lock(&win, LockType::Exclusive, 3);
                    put(&win, u64::from(round), 2, 0);
                    put(&win, u64::from(round), 3, 0);
                    unlock(&win, 2);
                    unlock(&win, 3);
                }
                1 => {
                    world.await_signal(0, round);
                    notify_when_asleep(&win, 1);
                    win.lock_all().unwrap();
                    assert_eq!([get(&win, 2, 0), get(&win, 3, 0)], [u64::from(round); 2]);
                    win.unlock_all().unwrap();
                }
                _ => {}
            }
            world.barrier().unwrap();
        }
        free(win);
    });
}

/// Invariant 7 of src/sync: who waits for a lock_all to end holds nothing meanwhile. Rank 0 holds
/// lock_all, rank 1 sleeps waiting for target 3 exclusively, and rank 2 locks target 3 shared: no
/// conflicting lock is held, so it must be granted before rank 0 unlocks.
#[test]
fn a_rank_that_waits_for_lock_all_to_end_holds_no_target() {
    spmd(4, |world| {
        let win = words(world, 1);
        for round in 1..=15 {
            match world.rank().0 {
                0 => {
                    win.lock_all().unwrap();
                    world.signal(0);
                    world.await_signal(2, round);
                    win.unlock_all().unwrap();
                }
                1 => {
                    world.await_signal(0, round);
                    notify_when_asleep(&win, 1);
                    lock(&win, LockType::Exclusive, 3);
                    put(&win, u64::from(round), 3, 0);
                    unlock(&win, 3);
                }
                2 => {
                    world.await_signal(1, round);
                    assert_eq!(locked_get(&win, LockType::Shared, 3, 0), u64::from(round) - 1);
                    world.signal(2);
                }
                _ => {}
            }
            world.barrier().unwrap();
        }
        free(win);
    });
}

/// Every waiting rank is admitted: one exclusive holder leaves, and shared lockers, another
/// exclusive one and a lock_all, which all sleep by then, get in, in whatever order.
#[test]
fn every_sleeper_is_admitted() {
    spmd(7, |world| {
        let win = words(world, 1);
        let me = world.rank().0;
        for round in 1..=15 {
            let first = round % 6;
            if me == 6 {
                // The target takes no part.
            } else if me == first {
                lock(&win, LockType::Exclusive, 6);
                world.signal(1);
                world.await_signal(0, 5 * round);
                unlock(&win, 6);
            } else {
                world.await_signal(1, round);
                notify_when_asleep(&win, 0);
                match (me + round) % 3 {
                    0 => lock(&win, LockType::Shared, 6),
                    1 => lock(&win, LockType::Exclusive, 6),
                    _ => win.lock_all().unwrap(),
                }
                match (me + round) % 3 {
                    0 | 1 => unlock(&win, 6),
                    _ => win.unlock_all().unwrap(),
                }
            }
            world.barrier().unwrap();
        }
        free(win);
    });
}

/// Lets other ranks run; not a wait for anything.
fn dawdle(choices: &mut Choices) {
    (0..choices.below(4)).for_each(|_| std::thread::yield_now());
}

/// The holders of each target's lock, as they write it down on a second window by
/// atomic operations: one writer (2^32) alone, or readers.
struct Board {
    window: Window<u64>,
    held: Vec<(u32, u64)>,
}

const WRITER: u64 = 1 << 32;

impl Board {
    fn enter(&mut self, targets: &[(u32, u64)]) {
        self.note(targets, true);
        self.held = targets.to_vec();
    }

    fn leave(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.note(&held, false);
    }

    fn note(&mut self, targets: &[(u32, u64)], enters: bool) {
        let epoch = self.window.lock_all().unwrap();
        for (target, mark) in targets {
            let change = if enters { *mark } else { mark.wrapping_neg() };
            let before = epoch.fetch_and_op_flush(change, Op::Sum, Rank(*target), 0).unwrap();
            let others = if enters { before } else { before.wrapping_sub(*mark) };
            let allowed = if *mark == WRITER { others == 0 } else { others < WRITER };
            assert!(allowed, "target {target}: {mark:x} beside {others:x}");
        }
        epoch.unlock_all().unwrap();
    }
}

fn mark(lock_type: LockType) -> u64 {
    if lock_type == LockType::Exclusive { WRITER } else { 1 }
}

/// Locks of every kind at random: exclusive ones exclude, whatever mix of locks of one target, of
/// two targets (in one order, as a program must), and lock_all. A rank dawdles at random between
/// grant and MEM_SYNC, and between MEM_SYNC and release.
fn locks_at_random(n: u32, rounds: u32) {
    spmd(n, |world| {
        let win = words(world, 1);
        let window = Window::allocate(world, 1).unwrap();
        let mut board = Board { window, held: Vec::new() };
        let mut choices = Choices(1143 + u64::from(world.rank()));
        for _ in 0..rounds {
            let mut pause = Choices(choices.next());
            let at = match choices.below(2) {
                0 => Event::MemSync(Site::LockPost),
                _ => Event::ProcSync(ProcSync::LockReleased),
            };
            delay(at, move || dawdle(&mut pause));
            if choices.below(5) == 0 {
                win.lock_all().unwrap();
                let all: Vec<(u32, u64)> = (0..n).map(|target| (target, 1)).collect();
                stay(&mut board, &all, &mut choices);
                win.unlock_all().unwrap();
            } else {
                some_locks(&win, &mut board, &mut choices);
            }
        }
        board.window.free().unwrap();
        free(win);
    });
}

fn some_locks(win: &Rc<Win>, board: &mut Board, choices: &mut Choices) {
    let n = u64::from(win.comm().size());
    let mut targets = choices.permutation(n);
    targets.truncate(1 + choices.below(2) as usize);
    targets.sort_unstable();
    let mut held = Vec::new();
    for target in targets {
        let lock_type = [LockType::Shared, LockType::Exclusive][choices.below(2) as usize];
        lock(win, lock_type, target as u32);
        held.push((target as u32, mark(lock_type)));
        dawdle(choices);
    }
    stay(board, &held, choices);
    held.iter().for_each(|(target, _)| unlock(win, *target));
}

fn stay(board: &mut Board, held: &[(u32, u64)], choices: &mut Choices) {
    board.enter(held);
    dawdle(choices);
    board.leave();
}

#[test]
fn exclusive_locks_exclude_whatever_is_mixed() {
    locks_at_random(4, 300);
}

#[test]
fn exclusive_locks_of_eight_ranks_exclude_whatever_is_mixed() {
    locks_at_random(8, 80);
}

/// Two accounts under two exclusive locks, always in the order of the ranks: the sum is the same at
/// the end, and under a shared lock of all of them at any time.
#[test]
fn transfers_between_two_locked_targets_keep_the_sum() {
    spmd(6, |world: &Comm| {
        let n = world.size();
        let win = words(world, 1);
        store(&win, 0, 1000);
        world.barrier().unwrap();
        let mut choices = Choices(77 + u64::from(world.rank()));
        for _ in 0..100 {
            let mut pair = choices.permutation(u64::from(n));
            pair.truncate(2);
            let (from, to) = (pair[0] as u32, pair[1] as u32);
            lock(&win, LockType::Exclusive, from.min(to));
            lock(&win, LockType::Exclusive, from.max(to));
            let amount = choices.below(10).min(get(&win, from, 0));
            put(&win, get(&win, from, 0) - amount, from, 0);
            put(&win, get(&win, to, 0) + amount, to, 0);
            unlock(&win, from);
            unlock(&win, to);
            if choices.below(4) == 0 {
                win.lock_all().unwrap();
                let sum: u64 = (0..n).map(|rank| get(&win, rank, 0)).sum();
                win.unlock_all().unwrap();
                assert_eq!(sum, 1000 * u64::from(n));
            }
        }
        free(win);
    });
}
