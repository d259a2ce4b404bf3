//! Post, start, complete, wait: Figures 11.1, 11.2 and 11.4, Examples 11.4, 11.8 and 11.9 of
//! MPI-2.2 §11.4 and §11.5. `test` and the matching of posts are in `matching.rs`.
#![cfg(feature = "test-hooks")]

use crate::support::interleave::{before, free, get, group, hold, load, others, put, store};
use crate::support::interleave::{notify_when_asleep, words};
use crate::support::spmd;
use onesided::engine::Win;
use onesided::hooks::{Event, ProcSync, Site};
use onesided::{Comm, PostAssert};
use std::rc::Rc;

const POST_PRE: Event = Event::MemSync(Site::PostPre);
const START_POST: Event = Event::MemSync(Site::StartPost);
const COMPLETE_PRE: Event = Event::MemSync(Site::CompletePre);
const COMPLETE: Event = Event::ProcSync(ProcSync::Complete);

/// MPI-2.2 §11.4, Figure 11.1: "the put call of the origin process does not start until the target
/// process exposes the window (with the post call); the target process will expose the window only
/// after preceding local accesses to the window have completed". The target's last store is made
/// inside post, immediately before its MEM_SYNC, when the origin already sleeps in start.
#[test]
fn figure_11_1_start_follows_the_targets_accesses_before_post() {
    spmd(2, |world| {
        let win = words(world, 1);
        let peer = group(world, &others(world));
        for round in 1..=30 {
            if world.rank() == 0 {
                notify_when_asleep(&win, 0);
                win.start(&peer).unwrap();
                let word = get(&win, 1, 0);
                win.complete().unwrap();
                assert_eq!(word, u64::from(round));
            } else {
                before(&win, POST_PRE, move |win| {
                    win.comm().await_signal(0, round);
                    store(win, 0, u64::from(round));
                });
                win.post(&peer).unwrap();
                win.wait().unwrap();
            }
        }
        free(win);
    });
}

/// MPI-2.2 §11.4, Figure 11.1: "the put call of the origin process completes before the window is
/// unexposed (with the wait call)". The origin puts when the target already sleeps in wait.
#[test]
fn figure_11_1_wait_follows_the_origins_operations() {
    spmd(2, |world| {
        let win = words(world, 1);
        let peer = group(world, &others(world));
        for round in 1..=30 {
            if world.rank() == 0 {
                win.start(&peer).unwrap();
                world.await_signal(0, round);
                put(&win, u64::from(round), 1, 0);
                win.complete().unwrap();
            } else {
                win.post(&peer).unwrap();
                notify_when_asleep(&win, 0);
                win.wait().unwrap();
                assert_eq!(load(&win, 0), u64::from(round));
            }
        }
        free(win);
    });
}

/// The same with the origin held at each event of its calls in turn: between the PROC_SYNC and the
/// MEM_SYNC of start, before the MEM_SYNC of complete, and between that and its PROC_SYNC. At each
/// the target finds its exposure epoch open by test, and then sleeps in wait.
#[test]
fn figure_11_1_wait_outlasts_an_origin_held_anywhere() {
    spmd(2, |world| {
        let win = words(world, 1);
        let peer = group(world, &others(world));
        for (round, at) in (1..=30).zip([START_POST, COMPLETE_PRE, COMPLETE].into_iter().cycle()) {
            if world.rank() == 0 {
                before(&win, at, move |win| {
                    win.comm().signal(1);
                    win.comm().await_signal(0, round);
                });
                win.start(&peer).unwrap();
                put(&win, u64::from(round), 1, 0);
                win.complete().unwrap();
            } else {
                win.post(&peer).unwrap();
                world.await_signal(1, round);
                assert!(!win.test().unwrap(), "the origin stands before {at:?}");
                notify_when_asleep(&win, 0);
                win.wait().unwrap();
                assert_eq!(load(&win, 0), u64::from(round));
            }
        }
        free(win);
    });
}

/// MPI-2.2 §11.4, Figure 11.2: with weak synchronisation start, put and complete may return before
/// the post. Here start waits, which is allowed too; either way the put reaches the window after
/// the post, and complete does not wait for the target's wait.
#[test]
fn figure_11_2_the_access_is_delayed_until_the_window_is_exposed() {
    spmd(2, |world| {
        let win = words(world, 1);
        let peer = group(world, &others(world));
        for round in 1..=30 {
            let word = u64::from(round);
            if world.rank() == 0 {
                world.signal(0);
                win.start(&peer).unwrap();
                put(&win, word, 1, 0);
                win.complete().unwrap();
                world.signal(1);
            } else {
                world.await_signal(0, round);
                store(&win, 0, word + 1000);
                assert_eq!(load(&win, 0), word + 1000, "nothing is put before the post");
                win.post(&peer).unwrap();
                world.await_signal(1, round);
                win.wait().unwrap();
                assert_eq!(load(&win, 0), word);
            }
        }
        free(win);
    });
}

/// MPI-2.2 §11.4.2, Example 11.4: "once the call to MPI_WIN_POST is issued, the sequence above
/// [start, put, complete] must complete, without further dependencies". After the post the target
/// makes no call on the window, but waits for a signal that the origin raises after complete.
#[test]
fn example_11_4_start_put_complete_need_nothing_but_the_post() {
    spmd(3, |world| {
        let me = world.rank().0;
        let win = words(world, 2);
        for round in 1..=20 {
            if me == 0 {
                win.post(&group(world, &[1, 2])).unwrap();
                world.await_signal(0, 2 * round);
                win.wait().unwrap();
                assert_eq!([load(&win, 0), load(&win, 1)], [u64::from(round); 2]);
            } else {
                win.start(&group(world, &[0])).unwrap();
                put(&win, u64::from(round), 0, u64::from(me - 1));
                win.complete().unwrap();
                world.signal(0);
            }
        }
        free(win);
    });
}

/// MPI-2.2 §11.4.2, Figure 11.4: process 0 puts in the windows of 1 and 2, process 3 in that of 2.
/// Each rank in turn is late: it begins its epochs when the ranks that depend on it sleep.
#[test]
fn figure_11_4_each_origin_with_its_targets() {
    spmd(4, |world| {
        let me = world.rank().0;
        let win = words(world, 2);
        // The ranks that sleep in start or wait until the late rank has come.
        let sleepers: [&[u32]; 4] = [&[1, 2], &[0], &[0, 3], &[2]];
        let mut times = 0;
        for (round, late) in (1..=20).zip([0, 1, 2, 3].into_iter().cycle()) {
            times += sleepers[late as usize].len() as u32;
            if me == late {
                world.await_signal(0, times);
            } else if sleepers[late as usize].contains(&me) {
                match me {
                    1 | 2 => notify_in_wait(&win),
                    _ => notify_when_asleep(&win, 0),
                }
            }
            match me {
                0 => put_to(world, &win, &[1, 2], round),
                3 => put_to(world, &win, &[2], round),
                1 => exposed_to(world, &win, &[0]),
                _ => exposed_to(world, &win, &[0, 3]),
            }
            match me {
                1 => assert_eq!([load(&win, 0), load(&win, 1)], [round, 0]),
                2 => assert_eq!([load(&win, 0), load(&win, 1)], [round, round]),
                _ => assert_eq!([load(&win, 0), load(&win, 1)], [0, 0]),
            }
        }
        free(win);
    });
}

/// Post does not sleep, so the next sleep of a target is that in wait; but the first post may meet
/// another rank in the allocator, so it is signalled only once post has reached its MEM_SYNC.
fn notify_in_wait(win: &Rc<Win>) {
    let again = win.clone();
    before(win, POST_PRE, move |_| notify_when_asleep(&again, 0));
}

fn put_to(world: &Comm, win: &Win, targets: &[u32], word: u64) {
    win.start(&group(world, targets)).unwrap();
    let disp = u64::from(world.rank() == 3);
    targets.iter().for_each(|target| put(win, word, *target, disp));
    win.complete().unwrap();
}

fn exposed_to(world: &Comm, win: &Win, origins: &[u32]) {
    win.post(&group(world, origins)).unwrap();
    win.wait().unwrap();
}

/// What Examples 11.8 and 11.9 compute on a ring, sequentially.
fn ring_after(n: u32, iterations: u32) -> Vec<u64> {
    let n = n as usize;
    let mut cells: Vec<u64> = (1..=n as u64).collect();
    for _ in 0..iterations {
        cells =
            (0..n).map(|i| step(cells[(i + n - 1) % n], cells[i], cells[(i + 1) % n])).collect();
    }
    cells
}

fn step(left: u64, own: u64, right: u64) -> u64 {
    left.wrapping_mul(3).wrapping_add(own).wrapping_add(right.wrapping_mul(5))
}

/// The ring's neighbours, left and right.
fn ring(world: &Comm) -> [u32; 2] {
    let (me, n) = (world.rank().0, world.size());
    [(me + n - 1) % n, (me + 1) % n]
}

/// Holds rank `k % n` before an event until its two neighbours are about to wait in iteration `k`.
fn hold_one(world: &Comm, win: &Rc<Win>, k: u32, at: Event) {
    if world.rank().0 == k % world.size() {
        let [left, right] = ring(world);
        before(win, at, move |win| {
            win.comm().await_signal(left as usize, k + 1);
            win.comm().await_signal(right as usize, k + 1);
        });
    }
}

fn example_11_8(n: u32) {
    spmd(n, |world| {
        let me = world.rank().0;
        let [left, right] = ring(world);
        let neighbours = group(world, &[left, right]);
        // From the left, own, from the right.
        let win = words(world, 3);
        store(&win, 1, u64::from(me) + 1);
        for k in 0..3 * n {
            if k != 0 {
                let [l, o, r] = [0, 1, 2].map(|at| load(&win, at));
                store(&win, 1, step(l, o, r));
            }
            let own = load(&win, 1);
            hold_one(world, &win, k, [START_POST, COMPLETE_PRE, COMPLETE][(k / n) as usize]);
            win.post(&neighbours).unwrap();
            win.start(&neighbours).unwrap();
            put(&win, own, left, 2);
            put(&win, own, right, 0);
            win.complete().unwrap();
            world.signal(me as usize);
            win.wait().unwrap();
        }
        let [l, o, r] = [0, 1, 2].map(|at| load(&win, at));
        assert_eq!(step(l, o, r), ring_after(n, 3 * n)[me as usize]);
        free(win);
    });
}

/// MPI-2.2 §11.5, Example 11.8: Example 11.6 rewritten with post, start, complete, wait. One rank
/// is held in start, in complete, and between complete's MEM_SYNC and PROC_SYNC, while its
/// neighbours continue if they can.
#[test]
fn example_11_8_puts_between_start_and_complete() {
    example_11_8(4);
}

/// As above with more ranks than the machine has cores.
#[test]
fn example_11_8_with_eight_ranks() {
    example_11_8(8);
}

fn example_11_9(n: u32) {
    spmd(n, |world| {
        let me = world.rank().0;
        let [left, right] = ring(world);
        let neighbours = group(world, &[left, right]);
        // Boundary, then core, of which nothing is communicated.
        let win = words(world, 2);
        store(&win, 0, u64::from(me) + 1);
        let (mut from_left, mut from_right) = (0, 0);
        for k in 0..3 * n {
            if k != 0 {
                store(&win, 0, step(from_left, load(&win, 0), from_right));
            }
            hold_one(world, &win, k, [START_POST, COMPLETE_PRE, COMPLETE][(k / n) as usize]);
            win.post_with(&neighbours, PostAssert::NOPUT).unwrap();
            win.start(&neighbours).unwrap();
            from_left = get(&win, left, 0);
            from_right = get(&win, right, 0);
            store(&win, 1, load(&win, 1) + 1);
            win.complete().unwrap();
            world.signal(me as usize);
            win.wait().unwrap();
        }
        let expected = ring_after(n, 3 * n)[me as usize];
        assert_eq!(step(from_left, load(&win, 0), from_right), expected);
        assert_eq!(load(&win, 1), u64::from(3 * n));
        free(win);
    });
}

/// MPI-2.2 §11.5, Example 11.9: the same with gets in split phases and NOPUT.
#[test]
fn example_11_9_gets_overlap_the_update_of_the_core() {
    example_11_9(4);
}

/// As above with more ranks than the machine has cores.
#[test]
fn example_11_9_with_eight_ranks() {
    example_11_9(8);
}

/// A late post holds up only those who start on its target: rank 2 is held before its post until
/// the pair (0, 1) has gone through a whole epoch.
#[test]
fn pairs_that_do_not_communicate_do_not_wait_for_each_other() {
    spmd(4, |world| {
        let win = words(world, 2);
        for round in 1..=10 {
            if world.rank() == 2 {
                hold(&win, POST_PRE, 0, round);
            }
            match world.rank().0 {
                0 => put_to(world, &win, &[1], u64::from(round)),
                3 => put_to(world, &win, &[2], u64::from(round)),
                1 => {
                    exposed_to(world, &win, &[0]);
                    world.signal(0);
                }
                _ => exposed_to(world, &win, &[3]),
            }
        }
        free(win);
    });
}
