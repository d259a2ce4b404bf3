//! Matching of post, start, complete and wait, and what test may do: MPI-2.2 §11.4.2.
#![cfg(feature = "test-hooks")]

use crate::support::choices::Choices;
use crate::support::interleave::{free, get, group, hold, load, put, record, refusal, store};
use crate::support::interleave::{notify_when_asleep, words};
use crate::support::spmd;
use onesided::engine::Win;
use onesided::hooks::{Event, ProcSync};
use onesided::{Comm, ErrorClass};

const COMPLETE: Event = Event::ProcSync(ProcSync::Complete);

fn post(win: &Win, origins: &[u32]) {
    win.post(&group(win.comm(), origins)).unwrap();
}

fn start(win: &Win, targets: &[u32]) {
    win.start(&group(win.comm(), targets)).unwrap();
}

/// "There is a one-to-one matching between access epochs and exposure epochs" (§11.4): a start on
/// rank 1 is not satisfied by the post of rank 2. Rank 2 has posted, and rank 0 sleeps in start,
/// when rank 1 stores and posts. (MPICH 5 counts posts and fails here.)
#[test]
fn a_start_awaits_the_post_of_its_own_target() {
    spmd(3, |world| {
        let win = words(world, 1);
        for round in 1..=20 {
            match world.rank().0 {
                0 => {
                    world.await_signal(1, round);
                    notify_when_asleep(&win, 0);
                    start(&win, &[1]);
                    let word = get(&win, 1, 0);
                    win.complete().unwrap();
                    assert_eq!(word, u64::from(round));
                    start(&win, &[2]);
                    win.complete().unwrap();
                }
                1 => {
                    world.await_signal(0, round);
                    store(&win, 0, u64::from(round));
                    post(&win, &[0]);
                    win.wait().unwrap();
                }
                _ => {
                    post(&win, &[0]);
                    world.signal(1);
                    win.wait().unwrap();
                }
            }
        }
        free(win);
    });
}

/// A post may come long before its start, and several epochs of other targets may lie between; it
/// counts for one epoch only. Rank 2 posts for rank 0 at once; rank 0 goes through two epochs with
/// rank 1 first, each of which must await its own post, then through the one with rank 2.
#[test]
fn an_early_post_waits_for_its_epoch_and_serves_one_only() {
    spmd(3, |world| {
        let win = words(world, 1);
        for round in 1..=10 {
            match world.rank().0 {
                0 => {
                    world.await_signal(1, round);
                    for epoch in 1..=2 {
                        notify_when_asleep(&win, 0);
                        start(&win, &[1]);
                        assert_eq!(get(&win, 1, 0), u64::from(10 * round + epoch));
                        win.complete().unwrap();
                    }
                    start(&win, &[2]);
                    put(&win, u64::from(round), 2, 0);
                    win.complete().unwrap();
                    notify_when_asleep(&win, 2);
                    start(&win, &[2]);
                    assert_eq!(get(&win, 2, 0), u64::from(round) + 1000);
                    win.complete().unwrap();
                }
                1 => {
                    for epoch in 1..=2 {
                        world.await_signal(0, 2 * (round - 1) + epoch);
                        store(&win, 0, u64::from(10 * round + epoch));
                        post(&win, &[0]);
                        win.wait().unwrap();
                    }
                }
                _ => early_target(&win, round),
            }
        }
        free(win);
    });
}

fn early_target(win: &Win, round: u32) {
    post(win, &[0]);
    win.comm().signal(1);
    win.wait().unwrap();
    assert_eq!(load(win, 0), u64::from(round));
    win.comm().await_signal(2, round);
    store(win, 0, u64::from(round) + 1000);
    post(win, &[0]);
    win.wait().unwrap();
}

/// "The call to MPI_WIN_WAIT will block until all matching calls to MPI_WIN_COMPLETE have occurred"
/// (§11.4.2): of two origins each in turn puts and completes only when the other has completed and
/// the target sleeps in wait. In the next epoch the target awaits one origin alone.
#[test]
fn wait_awaits_the_complete_of_every_origin() {
    spmd(3, |world| {
        let me = world.rank().0;
        let win = words(world, 3);
        for round in 1..=20 {
            let late = 1 + round % 2;
            if me == 0 {
                post(&win, &[1, 2]);
                world.await_signal(1, round);
                assert!(!win.test().unwrap(), "rank {late} has not completed");
                notify_when_asleep(&win, 0);
                win.wait().unwrap();
                assert_eq!([load(&win, 1), load(&win, 2)], [u64::from(round); 2]);
                post(&win, &[late]);
                win.wait().unwrap();
                assert_eq!(load(&win, 0), u64::from(round));
                continue;
            }
            start(&win, &[0]);
            if me == late {
                world.await_signal(0, round);
            }
            put(&win, u64::from(round), 0, u64::from(me));
            win.complete().unwrap();
            if me == late {
                start(&win, &[0]);
                put(&win, u64::from(round), 0, 0);
                win.complete().unwrap();
            } else {
                world.signal(1);
            }
        }
        free(win);
    });
}

/// "If flag = false is returned, then the call has no visible effect", not even an event; "the
/// effect of return with flag = true is the same as the effect of a return of MPI_WIN_WAIT"; "once
/// the call has returned flag = true, it must not be invoked anew, until the window is posted anew"
/// (§11.4.2). The origin is held before its complete becomes known.
#[test]
fn test_has_no_effect_until_it_is_true_and_then_that_of_wait() {
    spmd(2, |world| {
        let win = words(world, 1);
        for round in 1..=10 {
            if world.rank() == 0 {
                hold(&win, COMPLETE, 0, round);
                start(&win, &[1]);
                put(&win, u64::from(round), 1, 0);
                win.complete().unwrap();
                world.signal(1);
                continue;
            }
            post(&win, &[0]);
            for _ in 0..100 {
                let (done, events) = record(|| win.test().unwrap());
                assert!(!done && events.is_empty(), "{events:?}");
            }
            assert_eq!(refusal(win.post(&group(world, &[0]))), ErrorClass::RmaSync);
            world.signal(0);
            world.await_signal(1, round);
            assert!(win.test().unwrap(), "MPI_WIN_WAIT would return immediately");
            assert_eq!(load(&win, 0), u64::from(round));
            assert_eq!(refusal(win.test()), ErrorClass::RmaSync);
            assert_eq!(refusal(win.wait()), ErrorClass::RmaSync);
        }
        free(win);
    });
}

/// Polling by test alone ends once the origin completes.
#[test]
fn test_becomes_true_without_any_other_call() {
    spmd(3, |world| {
        let win = words(world, 3);
        for round in 1..=20 {
            let me = world.rank().0;
            if me == 0 {
                post(&win, &[1, 2]);
                while !win.test().unwrap() {
                    std::thread::yield_now();
                }
                assert_eq!([load(&win, 1), load(&win, 2)], [round; 2]);
            } else {
                start(&win, &[0]);
                put(&win, round, 0, u64::from(me));
                win.complete().unwrap();
            }
        }
        free(win);
    });
}

/// §11.4.2, advice to users: any directed graph of origins and targets works when each process
/// calls post(ingroup), start(outgroup), complete, wait; a call with an empty group may be made or
/// skipped. Every round has another graph, and another rank whose post comes last of all.
fn directed_graphs(n: u32, rounds: u32) {
    spmd(n, |world| {
        let me = world.rank().0;
        let win = words(world, u64::from(n));
        let mut choices = Choices(1142);
        let mut expected = vec![0; n as usize];
        for round in 1..=rounds {
            // edges[origin] has bit `target` set.
            let edges: Vec<u64> = (0..n).map(|_| choices.below(1 << n)).collect();
            let skips_empty = choices.below(2) == 0;
            let reaches = |origin: u32, target: u32| edges[origin as usize] >> target & 1 == 1;
            let ingroup: Vec<u32> = (0..n).filter(|origin| reaches(*origin, me)).collect();
            let outgroup: Vec<u32> = (0..n).rev().filter(|target| reaches(me, *target)).collect();
            if me == round % n {
                world.await_signal(0, round * (n - 1));
            }
            let posts = !(ingroup.is_empty() && skips_empty);
            if posts {
                post(&win, &ingroup);
            }
            if me != round % n {
                world.signal(0);
            }
            if !(outgroup.is_empty() && skips_empty) {
                start(&win, &outgroup);
                outgroup.iter().for_each(|to| put(&win, u64::from(round), *to, u64::from(me)));
                win.complete().unwrap();
            }
            if posts {
                win.wait().unwrap();
            }
            ingroup.iter().for_each(|from| expected[*from as usize] = u64::from(round));
            let found: Vec<u64> = (0..n).map(|from| load(&win, u64::from(from))).collect();
            assert_eq!(found, expected, "round {round}, origins {ingroup:?}");
        }
        free(win);
    });
}

#[test]
fn every_directed_graph_of_origins_and_targets_works() {
    directed_graphs(4, 200);
}

#[test]
fn every_directed_graph_of_eight_ranks_works() {
    directed_graphs(8, 60);
}

/// Groups are sets in any order, and may hold the calling rank itself ("for all three calls, the
/// target process may be identical with the origin process", MPI-2.1 "Communication Calls").
#[test]
fn a_rank_may_be_its_own_origin_and_target() {
    spmd(2, |world| {
        let me = world.rank().0;
        let win = words(world, 2);
        for round in 1..=10 {
            let all = if me == 0 { [0, 1] } else { [1, 0] };
            post(&win, &all);
            start(&win, &all);
            all.iter().for_each(|target| put(&win, round, *target, u64::from(me)));
            win.complete().unwrap();
            win.wait().unwrap();
            assert_eq!([load(&win, 0), load(&win, 1)], [round; 2]);
        }
        free(win);
    });
}

/// Post never blocks: it returns although no origin has come: it waits for the signal that the
/// target raises after post.
#[test]
fn post_does_not_block() {
    spmd(2, |world: &Comm| {
        let win = words(world, 1);
        if world.rank() == 1 {
            post(&win, &[0]);
            world.signal(0);
            win.wait().unwrap();
        } else {
            world.await_signal(0, 1);
            start(&win, &[1]);
            put(&win, 5, 1, 0);
            win.complete().unwrap();
        }
        assert_eq!(load(&win, 0), if world.rank() == 1 { 5 } else { 0 });
        free(win);
    });
}
