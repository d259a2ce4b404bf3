//! Lock and unlock: MPI-2.2 §11.4.3, Figure 11.3 and Example 11.5. Several locks at once are in
//! `locks.rs`, flush and win_sync in `flush.rs`.
#![cfg(feature = "test-hooks")]
#![allow(unsafe_code, reason = "asserts NOCHECK in lock")]

use crate::support::interleave::{
    before, free, get, hold, load, locked_get, locked_put, notify_when_asleep, put, store, words,
};
use crate::support::spmd;
use onesided::engine::Win;
use onesided::hooks::{Event, ProcSync, Site};
use onesided::{Comm, LockAssert, LockType, Rank};
use std::rc::Rc;

const LOCK_POST: Event = Event::MemSync(Site::LockPost);
const LOCK_ALL_POST: Event = Event::MemSync(Site::LockAllPost);
const UNLOCK_PRE: Event = Event::MemSync(Site::UnlockPre);
const UNLOCK_ALL_PRE: Event = Event::MemSync(Site::UnlockAllPre);
const RELEASED: Event = Event::ProcSync(ProcSync::LockReleased);

/// How a rank locks a target.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Shared,
    Exclusive,
    All,
}

impl How {
    fn lock(self, win: &Win, target: u32) {
        match self {
            How::Shared => win.lock(LockType::Shared, Rank(target)).unwrap(),
            How::Exclusive => win.lock(LockType::Exclusive, Rank(target)).unwrap(),
            How::All => win.lock_all().unwrap(),
        }
    }

    fn unlock(self, win: &Win, target: u32) {
        match self {
            How::All => win.unlock_all().unwrap(),
            _ => win.unlock(Rank(target)).unwrap(),
        }
    }
}

/// The pairs of which the second must wait while the first is held.
const CONFLICTS: [(How, How); 5] = [
    (How::Exclusive, How::Exclusive),
    (How::Exclusive, How::Shared),
    (How::Exclusive, How::All),
    (How::Shared, How::Exclusive),
    (How::All, How::Exclusive),
];

/// MPI-2.2 §11.4, Figure 11.3: the first origin communicates data to the second through the memory
/// of a target that "is not explicitly involved in the communication". "The lock and unlock calls
/// ensure that the two RMA accesses do not occur concurrently. However, they do not ensure that the
/// put by origin 1 will precede the get by origin 2": all of the old message, or all of the new.
#[test]
fn figure_11_3_the_second_origin_gets_all_of_it_or_nothing() {
    const LEN: usize = 512;
    spmd(4, |world| {
        let win = words(world, LEN as u64);
        let mut last = 0;
        for round in 1..=100u64 {
            match world.rank().0 {
                0 => {
                    win.lock(LockType::Exclusive, Rank(3)).unwrap();
                    win.put(&[round; LEN], Rank(3), 0).unwrap();
                    win.unlock(Rank(3)).unwrap();
                }
                3 => {}
                _ => {
                    let mut got = [u64::MAX; LEN];
                    win.lock(LockType::Shared, Rank(3)).unwrap();
                    win.get(&mut got, Rank(3), 0).unwrap();
                    win.unlock(Rank(3)).unwrap();
                    assert!(got.iter().all(|word| *word == got[0]), "old and new mixed");
                    assert!(got[0] >= last && got[0] <= 100, "{} after {last}", got[0]);
                    last = got[0];
                }
            }
        }
        world.barrier().unwrap();
        if world.rank() != 3 {
            assert_eq!(locked_get(&win, LockType::Shared, 3, 7), 100);
        }
        free(win);
    });
}

/// Figure 11.3 in the two orders that there are, forced by signals: a get that follows the unlock
/// sees the put; a get whose unlock precedes the lock of the put does not.
#[test]
fn figure_11_3_in_either_order() {
    spmd(3, |world| {
        let win = words(world, 1);
        for round in 1..=30 {
            if world.rank() == 0 {
                world.await_signal(1, 2 * round - 1);
                locked_put(&win, LockType::Exclusive, u64::from(round), 2, 0);
                world.signal(0);
                world.await_signal(1, 2 * round);
            } else if world.rank() == 1 {
                assert_eq!(locked_get(&win, LockType::Exclusive, 2, 0), u64::from(round) - 1);
                world.signal(1);
                world.await_signal(0, round);
                assert_eq!(locked_get(&win, LockType::Exclusive, 2, 0), u64::from(round));
                world.signal(1);
            }
        }
        free(win);
    });
}

/// MPI-2.2 §11.4.3, Example 11.5: "The call to MPI_WIN_UNLOCK will not return until the put
/// transfer has completed at the origin and at the target." The target learns of the unlock by a
/// signal, and finds the put by its own lock.
#[test]
fn example_11_5_unlock_completes_the_put_at_origin_and_target() {
    spmd(2, |world| {
        let win = words(world, 1000);
        for round in 1..=30 {
            if world.rank() == 0 {
                let mut message = vec![u64::from(round); 1000];
                win.lock(LockType::Exclusive, Rank(1)).unwrap();
                win.put(&message, Rank(1), 0).unwrap();
                win.unlock(Rank(1)).unwrap();
                message.fill(0);
                world.signal(0);
                world.await_signal(1, round);
            } else {
                world.await_signal(0, round);
                let mut found = vec![0; 1000];
                win.lock(LockType::Exclusive, Rank(1)).unwrap();
                win.load(0, &mut found).unwrap();
                win.unlock(Rank(1)).unwrap();
                assert_eq!(found, vec![u64::from(round); 1000]);
                world.signal(1);
            }
        }
        free(win);
    });
}

/// "Accesses that are protected by an exclusive lock will not be concurrent at the window site with
/// other accesses to the same window that are lock protected" (§11.4.3), and lock_all is a shared
/// lock of all. For each conflicting pair, the holder puts its last word when the other sleeps in
/// lock; the third rank is the target and does nothing.
#[test]
fn a_conflicting_lock_is_granted_only_after_the_release() {
    spmd(3, |world| {
        let win = words(world, 1);
        for (round, (held, wanted)) in (1..=30).zip(CONFLICTS.into_iter().cycle()) {
            let word = u64::from(round);
            match world.rank().0 {
                0 => {
                    held.lock(&win, 2);
                    put(&win, 0, 2, 0);
                    world.signal(1);
                    world.await_signal(0, round);
                    put(&win, word, 2, 0);
                    held.unlock(&win, 2);
                }
                1 => {
                    world.await_signal(1, round);
                    notify_when_asleep(&win, 0);
                    wanted.lock(&win, 2);
                    let found = get(&win, 2, 0);
                    wanted.unlock(&win, 2);
                    assert_eq!(found, word, "{wanted:?} while {held:?} was held");
                }
                _ => {}
            }
            world.barrier().unwrap();
        }
        free(win);
    });
}

/// The same with the holder held between the MEM_SYNC of unlock and the release: the other still
/// sleeps. That it does is seen on a second window, where it would have left its mark.
#[test]
fn a_lock_is_held_until_its_release() {
    spmd(3, |world| {
        let (win, board) = (words(world, 1), words(world, 1));
        for (round, (held, wanted)) in (1..=30).zip(CONFLICTS.into_iter().cycle()) {
            match world.rank().0 {
                0 => {
                    held.lock(&win, 2);
                    world.signal(1);
                    let seen = board.clone();
                    before(&win, RELEASED, move |win| {
                        win.comm().await_signal(0, round);
                        let mark = locked_get(&seen, LockType::Shared, 2, 0);
                        assert_eq!(mark, u64::from(round) - 1, "{wanted:?} beside {held:?}");
                    });
                    held.unlock(&win, 2);
                }
                1 => {
                    world.await_signal(1, round);
                    notify_when_asleep(&win, 0);
                    wanted.lock(&win, 2);
                    locked_put(&board, LockType::Exclusive, u64::from(round), 2, 0);
                    wanted.unlock(&win, 2);
                }
                _ => {}
            }
            world.barrier().unwrap();
        }
        free(win);
        free(board);
    });
}

/// A holder that stands between the PROC_SYNC and the MEM_SYNC of its lock, or before the MEM_SYNC
/// of its unlock, holds the lock.
#[test]
fn a_lock_is_held_from_its_grant_on() {
    spmd(3, |world| {
        let win = words(world, 1);
        let rounds = (1..=30)
            .zip(CONFLICTS.into_iter().flat_map(|pair| [(pair, true), (pair, false)]).cycle());
        for (round, ((held, wanted), in_lock)) in rounds {
            if world.rank() == 0 {
                let at = match (held, in_lock) {
                    (How::All, true) => LOCK_ALL_POST,
                    (How::All, false) => UNLOCK_ALL_PRE,
                    (_, true) => LOCK_POST,
                    (_, false) => UNLOCK_PRE,
                };
                before(&win, at, move |win| {
                    win.comm().signal(1);
                    win.comm().await_signal(0, round);
                });
                held.lock(&win, 2);
                put(&win, u64::from(round), 2, 0);
                held.unlock(&win, 2);
            } else if world.rank() == 1 {
                world.await_signal(1, round);
                notify_when_asleep(&win, 0);
                wanted.lock(&win, 2);
                let found = get(&win, 2, 0);
                wanted.unlock(&win, 2);
                assert_eq!(found, u64::from(round), "{wanted:?} while {held:?} was held");
            }
            world.barrier().unwrap();
        }
        free(win);
    });
}

/// "However, if no conflicting lock is held, then the code fragment must complete" (§11.7.2): locks
/// that do not conflict are held at the same time, each until the other is held too.
#[test]
fn locks_that_do_not_conflict_are_held_together() {
    let together = [
        (How::Shared, 2, How::Shared, 2),
        (How::Shared, 2, How::All, 2),
        (How::All, 2, How::Shared, 2),
        (How::All, 2, How::All, 2),
        (How::Exclusive, 2, How::Exclusive, 3),
        (How::Exclusive, 2, How::Shared, 3),
        (How::Exclusive, 0, How::Exclusive, 1),
        (How::Exclusive, 1, How::Exclusive, 0),
    ];
    spmd(4, |world| {
        let win = words(world, 2);
        for (round, (first, a, second, b)) in (1..=24).zip(together.into_iter().cycle()) {
            match world.rank().0 {
                0 => meet(&win, first, a, [0, 1], round),
                1 => meet(&win, second, b, [1, 0], round),
                _ => {}
            }
            world.barrier().unwrap();
        }
        free(win);
    });
}

/// Locks, sends one signal, and unlocks when the other rank has sent its own.
fn meet(win: &Rc<Win>, how: How, target: u32, signals: [usize; 2], round: u32) {
    how.lock(win, target);
    win.comm().signal(signals[0]);
    win.comm().await_signal(signals[1], round);
    put(win, u64::from(round), target, signals[0] as u64);
    how.unlock(win, target);
}

/// MPI-2.2 §11.4.4: with NOCHECK "mutual exclusion is achieved by other means, but the coherence
/// operations that may be attached to the lock and unlock calls are still required". The other
/// means are signals, which order nothing but themselves.
#[test]
fn nocheck_locks_pass_data_when_exclusion_is_achieved_by_other_means() {
    spmd(3, |world: &Comm| {
        let win = words(world, 64);
        // SAFETY: the signals let one rank at a time lock.
        let nocheck = unsafe { LockAssert::nocheck() };
        let (me, n) = (world.rank().0, world.size());
        for turn in 1..=60 {
            if turn % n != me {
                continue;
            }
            world.await_signal(0, turn - 1);
            match turn % 4 {
                0 => win.lock_all_with(nocheck).unwrap(),
                _ => win.lock_with(LockType::Exclusive, Rank(2), nocheck).unwrap(),
            }
            let mut words = [0u64; 64];
            win.get(&mut words, Rank(2), 0).unwrap();
            assert_eq!(words, [u64::from(turn) - 1; 64]);
            win.put(&[u64::from(turn); 64], Rank(2), 0).unwrap();
            match turn % 4 {
                0 => win.unlock_all().unwrap(),
                _ => win.unlock(Rank(2)).unwrap(),
            }
            world.signal(0);
        }
        free(win);
    });
}

/// Every rank increments a word of one target under an exclusive lock, by get and put; one of them
/// is held at the release in every round, so that the others queue. No increment is lost.
#[test]
fn increments_under_exclusive_locks_are_not_lost() {
    spmd(8, |world| {
        let win = words(world, 1);
        let (me, n) = (world.rank().0, world.size());
        for round in 0..20 {
            if me == round % n {
                // Every other rank is about to ask for the lock, or has had it.
                hold(&win, RELEASED, 0, (round + 1) * (n - 1));
            } else {
                world.signal(0);
            }
            win.lock(LockType::Exclusive, Rank(0)).unwrap();
            let word = get(&win, 0, 0);
            put(&win, word + 1, 0, 0);
            win.unlock(Rank(0)).unwrap();
            world.barrier().unwrap();
        }
        assert_eq!(locked_get(&win, LockType::Shared, 0, 0), u64::from(20 * n));
        free(win);
    });
}

/// MPI-2.2 §11.4.3, after Example 11.5: "if the call to MPI_WIN_LOCK is used to lock a local window,
/// then the call must block until the lock is acquired, since the lock may protect local load/store
/// accesses to the window issued after the lock call returns". Both ways: the owner sleeps while an
/// origin holds its part, and the origin sleeps while the owner holds it.
#[test]
fn example_11_5_a_lock_of_the_local_window_protects_loads_and_stores() {
    spmd(2, |world| {
        let win = words(world, 2);
        for round in 1..=20 {
            let is_owner = world.rank() == 0;
            let word = u64::from(round);
            // The first holder of the lock: the origin in even rounds, the owner in odd ones.
            let is_first = is_owner == (round % 2 == 1);
            if !is_first {
                world.await_signal(0, round);
                notify_when_asleep(&win, 1);
            }
            win.lock(LockType::Exclusive, Rank(0)).unwrap();
            if is_first {
                access(&win, is_owner, 0);
                world.signal(0);
                world.await_signal(1, round);
                access(&win, is_owner, word);
            } else {
                let found = if is_owner { load(&win, 0) } else { get(&win, 0, 0) };
                assert_eq!(found, word);
            }
            win.unlock(Rank(0)).unwrap();
            world.barrier().unwrap();
        }
        free(win);
    });
}

/// Writes a word of rank 0: by a store, or by a put.
fn access(win: &Win, is_owner: bool, word: u64) {
    if is_owner { store(win, 0, word) } else { put(win, word, 0, 0) }
}
