//! What the standard calls erroneous, and the library can see: an error of the right class, and
//! nothing changed (MPI-2.2 §11.4, §11.6.2).
#![cfg(feature = "test-hooks")]

use crate::support::interleave::{free, get, group, load, locked_get, put, refusal, words};
use crate::support::spmd;
use onesided::engine::Win;
use onesided::{ErrorClass, FenceAssert, LockAssert, LockType, PostAssert, Rank, StartAssert};

fn lock(win: &Win, lock_type: LockType, target: u32) -> onesided::Result<()> {
    win.lock(lock_type, Rank(target), LockAssert::NONE)
}

/// Asserts that each call is refused with `MPI_ERR_RMA_SYNC`.
macro_rules! refused {
    ($($call:expr),+ $(,)?) => {$(
        assert_eq!(refusal($call), ErrorClass::RmaSync, stringify!($call));
    )+};
}

/// §11.4: "RMA communication calls with argument win must occur only within an access epoch", and a
/// call that ends an epoch needs one.
#[test]
fn outside_an_epoch_only_calls_that_open_one_are_allowed() {
    spmd(2, |world| {
        let win = words(world, 1);
        let peer = Rank(1 - world.rank());
        refused!(
            win.put(&[1u64], peer, 0),
            win.get(&mut [1u64], peer, 0),
            win.put(&[1u64], Rank::NULL, 0),
            win.complete(),
            win.wait(),
            win.test(),
            win.unlock(peer),
            win.unlock_all(),
            win.flush(peer),
            win.flush_all(),
            win.flush_local(peer),
            win.flush_local_all(),
        );
        world.barrier().unwrap();
        assert_eq!(load(&win, 0), 0);
        free(win);
    });
}

/// §11.4: "Distinct access epochs for win at the same process must be disjoint", and so must its
/// exposure epochs. After each refusal the epoch goes on as if nothing had been called.
#[test]
fn epochs_of_one_window_are_disjoint() {
    spmd(2, |world| {
        let (win, peer) = (words(world, 1), 1 - world.rank());
        let other = group(world, &[peer]);
        win.post(&other, PostAssert::NONE).unwrap();
        refused!(win.post(&other, PostAssert::NONE), win.fence(FenceAssert::NONE));
        win.start(&other, StartAssert::NONE).unwrap();
        refused!(
            win.start(&other, StartAssert::NONE),
            win.fence(FenceAssert::NONE),
            lock(&win, LockType::Shared, peer),
            win.lock_all(LockAssert::NONE),
            win.flush(Rank(peer)),
            win.put(&[1u64], Rank(world.rank()), 0),
        );
        put(&win, 7, peer, 0);
        win.complete().unwrap();
        win.wait().unwrap();
        assert_eq!(load(&win, 0), 7);
        free(win);
    });
}

/// The same in a fence epoch with operations, under locks, and under lock_all.
#[test]
fn an_access_epoch_admits_no_other() {
    spmd(2, |world| {
        let (win, peer) = (words(world, 2), 1 - world.rank());
        let other = group(world, &[peer]);
        win.fence(FenceAssert::NONE).unwrap();
        put(&win, 7, peer, 0);
        refused!(
            win.start(&other, StartAssert::NONE),
            win.post(&other, PostAssert::NONE),
            lock(&win, LockType::Shared, peer),
            win.lock_all(LockAssert::NONE),
        );
        win.fence(FenceAssert::NOSUCCEED).unwrap();
        assert_eq!(load(&win, 0), 7);
        lock(&win, LockType::Shared, peer).unwrap();
        refused!(
            lock(&win, LockType::Exclusive, peer),
            win.lock_all(LockAssert::NONE),
            win.start(&other, StartAssert::NONE),
            win.fence(FenceAssert::NONE),
            win.put(&[1u64], Rank(world.rank()), 0),
            win.unlock(Rank(world.rank())),
        );
        assert_eq!(get(&win, peer, 0), 7);
        win.unlock(Rank(peer)).unwrap();
        win.lock_all(LockAssert::NONE).unwrap();
        refused!(
            win.lock_all(LockAssert::NONE),
            lock(&win, LockType::Shared, peer),
            win.unlock(Rank(peer)),
            win.start(&other, StartAssert::NONE),
            win.fence(FenceAssert::NONE),
        );
        win.unlock_all().unwrap();
        free(win);
    });
}

/// §11.4.3: "It is erroneous to have a window locked and exposed (in an exposure epoch)
/// concurrently": this rank's own part.
#[test]
fn the_own_part_is_not_locked_and_exposed_at_once() {
    spmd(2, |world| {
        let (me, peer) = (world.rank(), 1 - world.rank());
        let win = words(world, 1);
        let other = group(world, &[peer]);
        win.post(&other, PostAssert::NONE).unwrap();
        refused!(lock(&win, LockType::Shared, me), win.lock_all(LockAssert::NONE));
        win.start(&other, StartAssert::NONE).unwrap();
        win.complete().unwrap();
        win.wait().unwrap();
        for lock_type in [LockType::Shared, LockType::Exclusive] {
            lock(&win, lock_type, me).unwrap();
            refused!(win.post(&other, PostAssert::NONE));
            win.unlock(Rank(me)).unwrap();
        }
        win.lock_all(LockAssert::NONE).unwrap();
        refused!(win.post(&other, PostAssert::NONE));
        win.unlock_all().unwrap();
        free(win);
    });
}

/// §11.4.3: "a process may not call MPI_WIN_LOCK to lock a target window if the target process has
/// called MPI_WIN_POST and has not yet called MPI_WIN_WAIT".
#[test]
fn a_part_that_its_rank_has_exposed_is_not_locked() {
    spmd(2, |world| {
        let win = words(world, 1);
        let other = group(world, &[1 - world.rank()]);
        for round in 1..=5 {
            if world.rank() == 0 {
                win.post(&other, PostAssert::NONE).unwrap();
                world.signal(0);
                win.wait().unwrap();
                world.signal(1);
            } else {
                world.await_signal(0, round);
                for lock_type in [LockType::Shared, LockType::Exclusive] {
                    refused!(lock(&win, lock_type, 0));
                }
                win.start(&other, StartAssert::NONE).unwrap();
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
        let other = group(world, &[1 - world.rank()]);
        for round in 1..=3 {
            if world.rank() == 1 {
                match round {
                    1 => lock(&win, LockType::Shared, 0).unwrap(),
                    2 => lock(&win, LockType::Exclusive, 0).unwrap(),
                    _ => win.lock_all(LockAssert::NONE).unwrap(),
                }
                world.signal(0);
                world.await_signal(1, round);
                match round {
                    3 => win.unlock_all().unwrap(),
                    _ => win.unlock(Rank(0)).unwrap(),
                }
                world.signal(2);
                win.start(&other, StartAssert::NONE).unwrap();
                put(&win, u64::from(round), 0, 0);
                win.complete().unwrap();
            } else {
                world.await_signal(0, round);
                refused!(win.post(&other, PostAssert::NONE));
                world.signal(1);
                world.await_signal(2, round);
                win.post(&other, PostAssert::NONE).unwrap();
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
            match world.rank() {
                0 => {
                    world.await_signal(0, round);
                    win.post(&group(world, &[2]), PostAssert::NONE).unwrap();
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
                    win.start(&group(world, &[0]), StartAssert::NONE).unwrap();
                    win.complete().unwrap();
                }
            }
            world.barrier().unwrap();
        }
        free(win);
    });
}

/// §11.4.4: "it is erroneous to provide incorrect information". NOPRECEDE is seen to be wrong after
/// an operation; the fence can then be repeated without it.
#[test]
fn noprecede_after_an_operation_is_refused() {
    spmd(2, |world| {
        let win = words(world, 1);
        win.fence(FenceAssert::NOPRECEDE).unwrap();
        put(&win, 3, 1 - world.rank(), 0);
        assert_eq!(refusal(win.fence(FenceAssert::NOPRECEDE)), ErrorClass::Assert);
        win.fence(FenceAssert::NOSUCCEED).unwrap();
        assert_eq!(load(&win, 0), 3);
        free(win);
    });
}

/// Arguments: a rank that is not there, a range that leaves the window, an origin buffer in the
/// target range, a group with a rank twice (§11.3, §11.6.2).
#[test]
fn wrong_arguments_have_their_classes() {
    spmd(2, |world| {
        let (win, peer) = (words(world, 4), Rank(1 - world.rank()));
        assert_eq!(refusal(lock(&win, LockType::Shared, 2)), ErrorClass::Rank);
        let nobody = win.lock(LockType::Shared, Rank::NULL, LockAssert::NONE);
        assert_eq!(refusal(nobody), ErrorClass::Rank, "there is nobody's window to lock");
        win.lock(LockType::Exclusive, peer, LockAssert::NONE).unwrap();
        assert_eq!(refusal(win.put(&[1u64], Rank(2), 0)), ErrorClass::Rank);
        assert_eq!(refusal(win.flush(Rank(2))), ErrorClass::Rank);
        assert_eq!(refusal(win.unlock(Rank(2))), ErrorClass::Rank);
        assert_eq!(refusal(win.put(&[1u64; 2], peer, 3)), ErrorClass::RmaRange);
        assert_eq!(refusal(win.get(&mut [1u64], peer, 4)), ErrorClass::RmaRange);
        assert_eq!(refusal(win.put(&[1u64], peer, u64::MAX)), ErrorClass::RmaRange);
        win.put(&[1u64; 4], peer, 0).unwrap();
        win.unlock(peer).unwrap();
        assert_eq!(refusal(world.group().incl(&[0, 0])), ErrorClass::Group);
        world.barrier().unwrap();
        assert_eq!(locked_get(&win, LockType::Shared, world.rank(), 3), 1);
        free(win);
    });
}
