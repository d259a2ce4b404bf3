//! Survivors in a job that is checked: a guard whose rank has failed invents no conflict, and what conflicts later is found.

use super::{VICTIM, die, lost, one_was_killed};
use crate::support::job;
use onesided::{Access, Comm, LockType, Rank, Window};
use std::mem::ManuallyDrop;

const FORMS: [&str; 2] = ["--check=report", "--check=late,report"];

/// Runs `body` on four ranks, with a window of 8 elements; the victim dies in it. Then the others access the same bytes in
/// another order of ranks: fences order them, a barrier alone does not.
fn checked(form: usize, body: impl FnOnce(&Comm, &mut Window<u64>)) {
    let outcome = job(4, &["--on-failure=continue", FORMS[form]], |world| {
        let mut window = Window::<u64>::allocate(world, 8).unwrap();
        body(world, &mut window);
        assert_eq!(window.recover().unwrap(), [Rank(VICTIM)]);
        let rest = world.shrink().unwrap();
        let (me, values) = (rest.rank().0, [1u64; 8]);
        let mut epoch = window.fence().unwrap();
        for turn in [2, 1, 0] {
            if me == turn {
                epoch.put(&values, Rank(VICTIM), 0).unwrap();
                epoch.put(&values, Rank(0), 0).unwrap();
            }
            epoch = epoch.fence().unwrap();
        }
        epoch.close().unwrap();
        let found = world.conflicts().expect("the job is checked");
        assert_eq!((found.pairs, found.is_incomplete), (0, false));
        rest.barrier().unwrap();
        let epoch = window.lock_all().unwrap();
        if me == 1 {
            epoch.put(&values[..1], Rank(VICTIM), 7).unwrap();
        }
        rest.barrier().unwrap();
        let mut value = [0];
        if me == 2 {
            epoch.get(&mut value, Rank(VICTIM), 7).unwrap();
        }
        epoch.unlock_all().unwrap();
        window.free().unwrap();
        let found = world.all_conflicts();
        let kinds: Vec<_> =
            found.iter().map(|one| one.accesses.each_ref().map(|a| a.kind)).collect();
        assert!(me == 0 || kinds == [["put", "get"]], "{kinds:?}");
    });
    outcome.into_iter().for_each(|outcome| one_was_killed(4, &outcome));
}

/// The fence that ends the epoch fails on all ranks.
fn a_fence_fails(world: &Comm, window: &mut Window<u64>) {
    let (values, me) = ([2u64; 8], world.rank());
    let epoch = window.fence().unwrap();
    if me == 2 {
        epoch.put(&values, Rank(VICTIM), 0).unwrap();
    }
    if me == VICTIM {
        epoch.put(&values, Rank(0), 0).unwrap();
        die();
    }
    lost(epoch.close());
}

#[test]
fn a_fence_that_fails_in_a_checked_job() {
    checked(0, a_fence_fails);
}

#[test]
fn a_fence_that_fails_in_a_job_with_late_operations() {
    checked(1, a_fence_fails);
}

/// The victim holds locks, and others hold locks of its part, when it dies.
fn locks_are_held(world: &Comm, window: &mut Window<u64>) {
    let (values, me) = ([2u64; 8], world.rank());
    if me == VICTIM {
        let lock = window.lock(LockType::Exclusive, Rank(0)).unwrap();
        lock.put(&values, Rank(0), 0).unwrap();
        world.signal(0);
        world.await_signal(1, 1);
        die();
    }
    world.await_signal(0, 1);
    if me == 2 {
        let lock = window.lock(LockType::Shared, Rank(VICTIM)).unwrap();
        lock.put(&values, Rank(VICTIM), 0).unwrap();
        world.signal(1);
        // Its guard lives when the victim dies.
        lost(world.barrier());
        lock.flush().unwrap();
        return lock.unlock().unwrap();
    }
    lost(window.lock(LockType::Exclusive, Rank(0)));
}

#[test]
fn locks_that_are_held_in_a_checked_job() {
    checked(0, locks_are_held);
}

#[test]
fn locks_that_are_held_in_a_job_with_late_operations() {
    checked(1, locks_are_held);
}

/// Guards of lock_all with operations that are not complete are dropped, or forgotten.
fn guards_end(world: &Comm, window: &mut Window<u64>, are_forgotten: bool) {
    let (values, me) = ([2u64; 8], world.rank());
    let epoch = window.lock_all().unwrap();
    if me == VICTIM {
        epoch.put(&values, Rank(0), 0).unwrap();
        world.signal(0);
        die();
    }
    world.await_signal(0, 1);
    if me == 2 {
        epoch.put(&[2; 8], Rank(VICTIM), 0).unwrap();
    }
    lost(world.barrier());
    match are_forgotten {
        true => _ = ManuallyDrop::new(epoch),
        false => drop(epoch),
    }
}

#[test]
fn guards_that_are_dropped_in_a_checked_job() {
    checked(0, |world, window| guards_end(world, window, false));
}

#[test]
fn guards_that_are_dropped_in_a_job_with_late_operations() {
    checked(1, |world, window| guards_end(world, window, false));
}

/// Recovery ends their epochs.
#[test]
fn guards_that_are_forgotten_in_a_checked_job() {
    checked(0, |world, window| guards_end(world, window, true));
}

#[test]
fn guards_that_are_forgotten_in_a_job_with_late_operations() {
    checked(1, |world, window| guards_end(world, window, true));
}
