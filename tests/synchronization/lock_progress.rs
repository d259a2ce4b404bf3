//! If no conflicting lock is held, a lock is granted, whatever other ranks wait for (MPI-2.2 §11.7.2;
//! src/sync/README.md, invariant 6).
#![cfg(feature = "test-hooks")]

use crate::support::interleave::{free, lock, notify_when_asleep, unlock, words};
use crate::support::spmd;
use onesided::LockType;

/// Rank 0 keeps a shared lock until it hears from rank 2, which asks for a shared lock while
/// rank 1 waits for an exclusive one.
#[test]
fn a_shared_lock_is_granted_past_a_mere_waiter() {
    spmd(4, |world| {
        let win = words(world, 1);
        match world.rank().0 {
            0 => {
                lock(&win, LockType::Shared, 3);
                world.signal(0);
                world.await_signal(2, 1);
                unlock(&win, 3);
            }
            1 => {
                world.await_signal(0, 1);
                notify_when_asleep(&win, 1);
                lock(&win, LockType::Exclusive, 3);
                unlock(&win, 3);
            }
            2 => {
                world.await_signal(1, 1);
                lock(&win, LockType::Shared, 3);
                world.signal(2);
                unlock(&win, 3);
            }
            _ => {}
        }
        free(win);
    });
}

/// As above, with `lock_all` in place of rank 2's shared lock, and with an exclusive lock of
/// another target past a `lock_all` that waits.
#[test]
fn lock_all_and_other_targets_are_granted_past_mere_waiters() {
    spmd(4, |world| {
        let win = words(world, 1);
        match world.rank().0 {
            0 => {
                lock(&win, LockType::Exclusive, 0);
                world.signal(0);
                world.await_signal(2, 1);
                unlock(&win, 0);
            }
            1 => {
                world.await_signal(0, 1);
                notify_when_asleep(&win, 1);
                win.lock_all().unwrap();
                win.unlock_all().unwrap();
            }
            2 => {
                world.await_signal(1, 1);
                lock(&win, LockType::Exclusive, 3);
                world.signal(2);
                unlock(&win, 3);
            }
            _ => {}
        }
        free(win);
    });
}

/// Nested shared locks of two windows, in opposite orders, with an exclusive locker waiting for
/// each: no rank holds a lock that conflicts with the inner ones.
#[test]
fn nested_shared_locks_of_two_windows_are_granted_past_waiting_writers() {
    spmd(5, |world| {
        let (a, b) = (words(world, 1), words(world, 1));
        match world.rank().0 {
            me @ (0 | 1) => {
                let (outer, inner) = if me == 0 { (&a, &b) } else { (&b, &a) };
                lock(outer, LockType::Shared, 4);
                world.signal(0);
                world.await_signal(1, 2);
                lock(inner, LockType::Shared, 4);
                unlock(inner, 4);
                unlock(outer, 4);
            }
            me @ (2 | 3) => {
                world.await_signal(0, 2);
                let win = if me == 2 { &a } else { &b };
                notify_when_asleep(win, 1);
                lock(win, LockType::Exclusive, 4);
                unlock(win, 4);
            }
            _ => {}
        }
        free(a);
        free(b);
    });
}
