//! Semantics and correctness: Examples 11.11 to 11.15 and the rules of MPI-2.2 §11.7. Process A is
//! rank 0, process B is rank 1.
//!
//! Where an example has that a value "may be obsolete", the old and the new value are accepted and
//! nothing else. Where it names what to change so that the new value is guaranteed, that is a test
//! too.
#![cfg(feature = "test-hooks")]

use crate::support::interleave::{
    free, get, group, load, locked_get, locked_put, put, store, words,
};
use crate::support::spmd;
use onesided::engine::Win;
use onesided::{Comm, FenceAssert, LockType, Rank};

const A: u32 = 0;
const B: u32 = 1;
const EXCLUSIVE: LockType = LockType::Exclusive;
const SHARED: LockType = LockType::Shared;

fn lock(win: &Win, lock_type: LockType, target: u32) {
    win.lock(lock_type, Rank(target)).unwrap();
}

fn unlock(win: &Win, target: u32) {
    win.unlock(Rank(target)).unwrap();
}

/// Runs `round` with 1, 2, …, and lets the ranks meet after each.
fn rounds(world: &Comm, mut round: impl FnMut(u32)) {
    for k in 1..=30 {
        round(k);
        world.barrier().unwrap();
    }
}

/// How the examples' "MPI_Barrier" is made: as they have it, or by a signal in one direction, which
/// orders nothing but itself.
#[derive(Clone, Copy)]
enum Order {
    Barrier,
    Signal,
}

impl Order {
    fn in_round(round: u32) -> Order {
        if round.is_multiple_of(2) { Order::Barrier } else { Order::Signal }
    }

    /// `first` comes before, the other rank after.
    fn meet(self, world: &Comm, first: u32, round: u32) {
        match self {
            Order::Barrier => world.barrier().unwrap(),
            // Every second round.
            Order::Signal if world.rank().0 == first => world.signal(0),
            Order::Signal => world.await_signal(0, round.div_ceil(2)),
        }
    }
}

/// MPI-2.2 §11.7, Example 11.11 (rule 5): B locks itself exclusively, stores X, unlocks ("now
/// visible in public window copy"); after the barrier A locks B exclusively and gets X: "ok, read
/// from public window".
#[test]
fn example_11_11_a_local_store_is_public_after_unlock() {
    spmd(2, |world| {
        let win = words(world, 1);
        rounds(world, |round| {
            if world.rank() == B {
                lock(&win, EXCLUSIVE, B);
                store(&win, 0, u64::from(round));
                unlock(&win, B);
                Order::in_round(round).meet(world, B, round);
            } else {
                Order::in_round(round).meet(world, B, round);
                assert_eq!(locked_get(&win, EXCLUSIVE, B, 0), u64::from(round));
            }
        });
        free(win);
    });
}

/// MPI-2.2 §11.7, Example 11.12 (rule 6): A locks B exclusively and puts X; after the barrier B
/// locks itself ("now visible in private copy of B") and loads X.
#[test]
fn example_11_12_a_put_is_in_the_private_copy_after_lock() {
    spmd(2, |world| {
        let win = words(world, 1);
        rounds(world, |round| {
            if world.rank() == A {
                locked_put(&win, EXCLUSIVE, u64::from(round), B, 0);
                Order::in_round(round).meet(world, A, round);
            } else {
                Order::in_round(round).meet(world, A, round);
                lock(&win, EXCLUSIVE, B);
                assert_eq!(load(&win, 0), u64::from(round));
                unlock(&win, B);
            }
        });
        free(win);
    });
}

/// MPI-2.2 §11.7, Example 11.13: B stores X before it locks itself shared; A's get under a shared
/// lock, while B holds its own, may return the old value. After B's unlock the store is visible.
#[test]
fn example_11_13_a_store_before_the_lock_is_old_or_new_until_unlock() {
    spmd(2, |world| {
        let win = words(world, 1);
        rounds(world, |round| {
            let (old, new) = (u64::from(round) - 1, u64::from(round));
            if world.rank() == B {
                store(&win, 0, new);
                lock(&win, SHARED, B);
                world.barrier().unwrap();
                world.await_signal(1, round);
                unlock(&win, B);
                world.signal(2);
            } else {
                world.barrier().unwrap();
                let found = locked_get(&win, SHARED, B, 0);
                assert!(found == old || found == new, "{found}");
                world.signal(1);
                world.await_signal(2, round);
                assert_eq!(locked_get(&win, SHARED, B, 0), new);
            }
        });
        free(win);
    });
}

/// The two ways of Example 11.14 to update X at A between start and complete.
#[derive(Clone, Copy, PartialEq)]
enum Update {
    Store,
    Put,
}

/// X is word 0 of A's part, Y is word 1.
fn example_11_14(update: Update) {
    spmd(2, |world| {
        let win = words(world, 2);
        rounds(world, |round| {
            let (old, new) = (u64::from(round) - 1, u64::from(round));
            let y = new + 1000;
            if world.rank() == A {
                store(&win, 1, y);
                win.post(&group(world, &[A, B])).unwrap();
            }
            win.start(&group(world, &[A])).unwrap();
            match (world.rank().0, update) {
                (A, Update::Store) => store(&win, 0, new),
                (A, Update::Put) => put(&win, new, A, 0),
                // "The MPI_GET(Y) call could be moved to the epoch started by MPI_WIN_START, and
                // process B would still get the value stored by A."
                _ => assert_eq!(get(&win, A, 1), y),
            }
            win.complete().unwrap();
            if world.rank() == A {
                win.wait().unwrap();
                assert_eq!(load(&win, 0), new, "own store, or own put after wait");
            }
            world.barrier().unwrap();
            if world.rank() == B {
                lock(&win, EXCLUSIVE, A);
                let (found_x, found_y) = (get(&win, A, 0), get(&win, A, 1));
                unlock(&win, A);
                assert!(found_x == new || (update == Update::Store && found_x == old), "{found_x}");
                assert_eq!(found_y, y);
            }
        });
        free(win);
    });
}

/// MPI-2.2 §11.7, Example 11.14: A stores Y, posts for A and B, stores X between start and complete,
/// waits; then B locks A. "It is not guaranteed that process B reads the value of X as per the local
/// update by process A"; the update of Y "is visible in the public window after the MPI_WIN_POST".
#[test]
fn example_11_14_a_store_before_post_is_public_and_one_after_it_may_not_be() {
    example_11_14(Update::Store);
}

/// "To allow B to read the value of X stored by A the local store must be replaced by a local
/// MPI_PUT that updates the public window copy."
#[test]
fn example_11_14_with_a_local_put_instead_of_the_store() {
    example_11_14(Update::Put);
}

/// MPI-2.2 §11.7, Example 11.15: A puts X at B under a lock; after the barrier B posts for itself and
/// starts on itself: a load there "may return an obsolete value", a local get does not, nor does a
/// load after wait.
#[test]
fn example_11_15_a_put_under_a_lock_is_in_the_private_copy_after_wait() {
    spmd(2, |world| {
        let win = words(world, 1);
        rounds(world, |round| {
            let (old, new) = (u64::from(round) - 1, u64::from(round));
            if world.rank() == A {
                locked_put(&win, EXCLUSIVE, new, B, 0);
            }
            Order::in_round(round).meet(world, A, round);
            if world.rank() == B {
                win.post(&group(world, &[B])).unwrap();
                win.start(&group(world, &[B])).unwrap();
                let loaded = load(&win, 0);
                assert!(loaded == old || loaded == new, "{loaded}");
                let got = get(&win, B, 0);
                win.complete().unwrap();
                win.wait().unwrap();
                assert_eq!([got, load(&win, 0)], [new; 2]);
            }
        });
        free(win);
    });
}

/// MPI-2.2 §11.7, advice to users, "changing window or synchronization mode": from fence to
/// post-start-complete-wait to locks and back, each mode sees what the one before it left.
#[test]
fn one_window_may_change_its_synchronisation_mode() {
    spmd(3, |world| {
        let (me, n) = (world.rank().0, world.size());
        let (left, right) = ((me + n - 1) % n, (me + 1) % n);
        let win = words(world, 1);
        rounds(world, |round| {
            let base = 10 * u64::from(round);
            win.fence().unwrap();
            put(&win, base, right, 0);
            win.fence().unwrap();
            assert_eq!(load(&win, 0), base);
            // "A fence epoch without operations is none": post and start may follow.
            win.post(&group(world, &[left])).unwrap();
            win.start(&group(world, &[right])).unwrap();
            put(&win, get(&win, right, 0) + 1, right, 0);
            win.complete().unwrap();
            win.wait().unwrap();
            assert_eq!(load(&win, 0), base + 1);
            world.barrier().unwrap();
            lock(&win, EXCLUSIVE, right);
            put(&win, get(&win, right, 0) + 1, right, 0);
            unlock(&win, right);
            world.barrier().unwrap();
            assert_eq!(locked_get(&win, SHARED, me, 0), base + 2);
            win.fence().unwrap();
            assert_eq!(get(&win, left, 0), base + 2);
            win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        });
        free(win);
    });
}
