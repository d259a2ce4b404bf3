//! Progress: MPI-2.2 §11.7.2 with Figures 11.6 and 11.8. (Figure 11.7 shows a deadlock:
//! tests/deadlock has such programs.)
#![cfg(feature = "test-hooks")]

use crate::support::interleave::{
    before, free, get, group, load, notify_when_asleep, others, put, words,
};
use crate::support::spmd;
use onesided::engine::Win;
use onesided::hooks::{Event, Site};
use onesided::{Comm, LockType, Op, Rank};

/// Words of a long message: 2 MiB.
const LONG: usize = 1 << 18;

fn post(win: &Win, origins: &[u32]) {
    win.post(&group(win.comm(), origins)).unwrap();
}

fn start(win: &Win, targets: &[u32]) {
    win.start(&group(win.comm(), targets)).unwrap();
}

fn figure_11_6(n: u32, len: usize) {
    spmd(n, |world| {
        let others = others(world);
        let win = words(world, len as u64);
        for round in 1..=8u64 {
            // The late one posts when every other rank sleeps: in start, if it waits there.
            if u64::from(world.rank()) == round % u64::from(n) {
                world.await_signal(0, (n - 1) * round as u32);
            } else {
                let again = win.clone();
                before(&win, Event::MemSync(Site::PostPre), move |_| notify_when_asleep(&again, 0));
            }
            post(&win, &others);
            start(&win, &others);
            let part = len / n as usize;
            let at = part * world.rank().index();
            let message = vec![round; part];
            others.iter().for_each(|to| win.put(&message, Rank(*to), at as u64).unwrap());
            win.complete().unwrap();
            win.wait().unwrap();
            let mut found = vec![0; part * n as usize];
            win.load(0, &mut found).unwrap();
            found[at..at + part].fill(round);
            assert!(found.iter().all(|word| *word == round));
        }
        free(win);
    });
}

/// MPI-2.2 §11.7.2, Figure 11.6: both processes post, start, put, complete, wait. "This communication
/// should not deadlock, irrespective of the amount of data transferred."
#[test]
fn figure_11_6_symmetric_communication_does_not_deadlock() {
    figure_11_6(2, LONG);
}

/// As above with one word, and with every rank putting to every other.
#[test]
fn figure_11_6_with_little_data_and_eight_ranks() {
    figure_11_6(8, 8);
}

fn figure_11_8(len: usize) {
    spmd(2, |world| {
        let win = words(world, len as u64);
        for round in 1..=20 {
            // Either rank may be the figure's process 0.
            if world.rank().0 == round % 2 {
                let message = vec![u64::from(round); len];
                start(&win, &[1 - world.rank().0]);
                win.put(&message, Rank(1 - world.rank().0), 0).unwrap();
                win.complete().unwrap();
                world.signal(0);
            } else {
                post(&win, &[1 - world.rank().0]);
                world.await_signal(0, round);
                win.wait().unwrap();
                let mut found = vec![0; len];
                win.load(0, &mut found).unwrap();
                assert_eq!(found, vec![u64::from(round); len]);
            }
        }
        free(win);
    });
}

/// MPI-2.2 §11.7.2, Figure 11.8: process 1 posts and blocks in a receive; process 0 starts, puts,
/// completes and only then sends. "This code will not deadlock. Once process 1 calls post, then the
/// sequence start, put, complete on process 0 can proceed to completion." The message is a signal,
/// so process 1 is not inside any call that could help.
#[test]
fn figure_11_8_complete_does_not_wait_for_the_targets_wait() {
    figure_11_8(1);
}

/// The same with more data than any rank would buffer.
#[test]
fn figure_11_8_with_much_data() {
    figure_11_8(LONG);
}

/// Everything that passive target communication can do to a target: lock of each kind, put, get,
/// accumulates of each width, flush, unlock.
fn everything_passive(win: &Win, target: u32, round: u64) {
    let (to, me) = (Rank(target), u64::from(win.comm().rank()));
    for lock_type in [LockType::Exclusive, LockType::Shared] {
        win.lock(lock_type, to).unwrap();
        put(win, round, target, 8 + me);
        win.flush(to).unwrap();
        assert_eq!(get(win, target, 8 + me), round);
        win.accumulate(&[1u64], Op::Sum, to, 0).unwrap();
        win.accumulate(&[1u8; 8], Op::Sum, to, 1).unwrap();
        win.accumulate(&[onesided::Complex::new(1.0f64, 0.0)], Op::Sum, to, 2).unwrap();
        win.unlock(to).unwrap();
    }
    win.lock_all().unwrap();
    let mut before = 0;
    win.fetch_and_op(&1u64, &mut before, Op::Sum, to, 0).unwrap();
    win.flush_all().unwrap();
    win.unlock_all().unwrap();
}

/// MPI-2.2 §11.4 and §11.7.2: "In passive target communication the target process does not execute
/// RMA synchronization calls"; what is enabled must complete whatever the target does. The target
/// is blocked outside the library's calls until all others are through.
#[test]
fn a_target_that_makes_no_call_does_not_hold_up_its_origins() {
    spmd(4, |world| {
        let win = words(world, 16);
        let origins = world.size() - 1;
        if world.rank() == 0 {
            world.await_signal(0, origins);
        } else {
            (1..=20).for_each(|round| everything_passive(&win, 0, round));
            world.signal(0);
        }
        world.barrier().unwrap();
        if world.rank() == 0 {
            let rounds = 20 * u64::from(origins);
            assert_eq!(load(&win, 0), 3 * rounds);
            assert_eq!(load(&win, 1).to_ne_bytes(), [(2 * rounds) as u8; 8]);
            assert_eq!(f64::from_bits(load(&win, 2)), 2.0 * rounds as f64);
        }
        free(win);
    });
}

/// The same with the target "busy computing", and with no other rank at all to help: two ranks. The
/// computation ends when what it reads has changed, so it would never end if it held up the origin.
#[test]
fn a_target_that_computes_does_not_hold_up_its_origin() {
    spmd(2, |world| {
        let win = words(world, 16);
        for round in 1..=20 {
            if world.rank() == 0 {
                let mut sum = 0u64;
                while load(&win, 9) < round {
                    sum = std::hint::black_box(sum.wrapping_add(1));
                    win.sync();
                }
            } else {
                everything_passive(&win, 0, round);
            }
            world.barrier().unwrap();
        }
        free(win);
    });
}

/// Two origins pass data back and forth through a third rank's memory that never takes part, each
/// learning of the other's unlock by a signal.
#[test]
fn two_origins_talk_through_a_target_that_takes_no_part() {
    spmd(3, |world: &Comm| {
        let win = words(world, 1);
        let me = world.rank().0;
        if me == 2 {
            world.await_signal(2, 1);
        } else {
            for turn in (1..=60).filter(|turn| turn % 2 == me) {
                world.await_signal(0, turn - 1);
                win.lock(LockType::Exclusive, Rank(2)).unwrap();
                assert_eq!(get(&win, 2, 0), u64::from(turn) - 1);
                put(&win, u64::from(turn), 2, 0);
                win.unlock(Rank(2)).unwrap();
                world.signal(0);
                if turn == 60 {
                    world.signal(2);
                }
            }
        }
        free(win);
    });
}
