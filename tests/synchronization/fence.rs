//! Fence synchronisation: MPI-2.2 §11.4.1, Examples 11.6 and 11.7, and the example of §11.7.3.
#![cfg(feature = "test-hooks")]
#![allow(unsafe_code, reason = "Example 11.6 puts from the window's own memory")]

use crate::support::interleave::words;
use crate::support::interleave::{
    before, free, get, hold, load, notify, notify_when_asleep, put, refusal, store,
};
use crate::support::spmd;
use onesided::engine::Win;
use onesided::hooks::{Event, ProcSync, Site};
use onesided::{Comm, ErrorClass, FenceAssert, Rank};
use std::rc::Rc;

const PRE: Event = Event::MemSync(Site::FencePre);
const ARRIVE: Event = Event::ProcSync(ProcSync::FenceArrive);
const POST: Event = Event::MemSync(Site::FencePost);

/// MPI-2.2 §11.4.1: operations started before the fence are complete at the origin, and at their
/// target, before the fence returns there. Every rank in turn is late with its operations: it
/// issues them when all others have arrived at the closing fence, and one of them sleeps there.
pub fn all_to_all_with_a_late_rank(world: &Comm) {
    let (me, n) = (world.rank().0, world.size());
    let win = words(world, u64::from(n));
    for (late, times) in (0..n).zip(1..) {
        win.fence_with(FenceAssert::NOPRECEDE).unwrap();
        match me == late {
            true => world.await_signal(0, times * (n - 1)),
            false => notify_when_asleep(&win, 0),
        }
        let word = u64::from(times * 100 + me);
        (0..n).for_each(|target| put(&win, word, target, u64::from(me)));
        win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        let all: Vec<u64> = (0..n).map(|from| load(&win, u64::from(from))).collect();
        let expected: Vec<u64> = (0..n).map(|from| u64::from(times * 100 + from)).collect();
        assert_eq!(all, expected, "rank {late} was late");
    }
    free(win);
}

#[test]
fn a_fence_completes_every_operation_whoever_is_late() {
    spmd(4, all_to_all_with_a_late_rank);
}

#[test]
fn a_fence_completes_every_operation_of_eight_ranks() {
    spmd(8, all_to_all_with_a_late_rank);
}

/// MPI-2.2 §11.4.1: operations started after the fence access the target only after the target has
/// called the fence. Rank 1 stores when rank 0 already sleeps in the fence.
#[test]
fn no_operation_reaches_a_target_before_its_fence() {
    spmd(2, |world| {
        let win = words(world, 1);
        for round in 1..=20 {
            if world.rank() == 0 {
                notify_when_asleep(&win, 0);
            } else {
                before(&win, PRE, move |win| {
                    win.comm().await_signal(0, round);
                    store(win, 0, u64::from(round));
                });
            }
            win.fence_with(FenceAssert::NOPRECEDE).unwrap();
            let word = get(&win, 1, 0);
            win.fence_with(FenceAssert::NOSUCCEED).unwrap();
            assert_eq!(word, u64::from(round));
        }
        free(win);
    });
}

/// A rank that has passed a fence may be a whole epoch ahead of one that still stands in it. Rank 1
/// is held between PROC_SYNC and the second MEM_SYNC of the first fence until rank 0 has put and
/// sleeps in the second; rank 0 must stay there until rank 1 has put and arrived too.
#[test]
fn a_fence_is_not_satisfied_by_arrivals_at_the_one_before() {
    spmd(2, |world| {
        let me = world.rank().0;
        let win = words(world, 2);
        for round in 1..=20 {
            if me == 1 {
                hold(&win, POST, 0, round);
            }
            win.fence().unwrap();
            if me == 0 {
                notify_when_asleep(&win, 0);
            }
            put(&win, u64::from(round), 1 - me, 0);
            win.fence().unwrap();
            assert_eq!(load(&win, 0), u64::from(round));
        }
        win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        free(win);
    });
}

/// One cell per rank in a ring, with the neighbours' values beside it: what Examples 11.6 and 11.7
/// compute, sequentially.
fn ring_after(n: u32, iterations: u64) -> Vec<u64> {
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

fn neighbours(world: &Comm) -> (u32, u32) {
    let (me, n) = (world.rank().0, world.size());
    ((me + n - 1) % n, (me + 1) % n)
}

const LEFT: u64 = 0;
const OWN: u64 = 1;
const RIGHT: u64 = 2;

fn example_11_6(n: u32) {
    spmd(n, |world| {
        let (left, right) = neighbours(world);
        let me = world.rank().0;
        let win = words(world, 3);
        store(&win, OWN, u64::from(me) + 1);
        let iterations = 3 * n;
        for k in 0..iterations {
            if k != 0 {
                let [l, o, r] = [LEFT, OWN, RIGHT].map(|at| load(&win, at));
                store(&win, OWN, step(l, o, r));
            }
            // Held inside the opening fence while the others put and arrive at the closing one.
            let is_late = me == k % n;
            if is_late {
                hold(&win, POST, 0, (k + 1) * (n - 1));
            }
            win.fence_with(FenceAssert::NOPRECEDE).unwrap();
            if !is_late {
                notify(&win, ARRIVE, 0);
            }
            let own = win.base().cast::<u64>().wrapping_add(OWN as usize);
            // SAFETY: an aligned word of the own part, which no thread writes between the fences.
            let own = unsafe { std::slice::from_raw_parts(own, 1) };
            win.put(own, Rank(left), RIGHT).unwrap();
            win.put(own, Rank(right), LEFT).unwrap();
            win.fence_with(FenceAssert::NOSTORE | FenceAssert::NOSUCCEED).unwrap();
        }
        let [l, o, r] = [LEFT, OWN, RIGHT].map(|at| load(&win, at));
        let expected = ring_after(n, u64::from(iterations))[me as usize];
        assert_eq!(step(l, o, r), expected);
        free(win);
    });
}

/// MPI-2.2 §11.5, Example 11.6: update, fence(NOPRECEDE), puts to the neighbours whose origin
/// buffers lie in the window itself, fence(NOSTORE | NOSUCCEED). "Each window is concurrently read
/// (as origin buffer of puts) and written (as target buffer of puts). This is OK."
#[test]
fn example_11_6_loosely_synchronous_puts_between_fences() {
    example_11_6(3);
}

/// As above with more ranks than the machine has cores.
#[test]
fn example_11_6_with_eight_ranks() {
    example_11_6(8);
}

fn example_11_7(n: u32) {
    spmd(n, |world| {
        let (left, right) = neighbours(world);
        let me = world.rank().0;
        // Boundary, then core, of which nothing is communicated.
        let win = words(world, 2);
        store(&win, 0, u64::from(me) + 1);
        let (mut from_left, mut from_right) = (0, 0);
        let iterations = 3 * n;
        for k in 0..iterations {
            if k != 0 {
                store(&win, 0, step(from_left, load(&win, 0), from_right));
            }
            let is_late = me == k % n;
            if is_late {
                hold(&win, POST, 0, (k + 1) * (n - 1));
            }
            win.fence_with(FenceAssert::NOPUT | FenceAssert::NOPRECEDE).unwrap();
            from_left = get(&win, left, 0);
            from_right = get(&win, right, 0);
            store(&win, 1, load(&win, 1) + 1);
            if !is_late {
                notify(&win, ARRIVE, 0);
            }
            win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        }
        let expected = ring_after(n, u64::from(iterations))[me as usize];
        assert_eq!(step(from_left, load(&win, 0), from_right), expected);
        assert_eq!(load(&win, 1), u64::from(iterations));
        free(win);
    });
}

/// MPI-2.2 §11.5, Example 11.7: as 11.6 with gets; "the get communication can be concurrent with
/// the core update, since they do not access the same locations".
#[test]
fn example_11_7_gets_overlap_the_update_of_the_core() {
    example_11_7(4);
}

/// As above with more ranks than the machine has cores.
#[test]
fn example_11_7_with_eight_ranks() {
    example_11_7(8);
}

/// MPI-2.2 §11.4.1: a fence that is known to end no epoch "does not necessarily act as a barrier".
/// This library's promise is more: with NOPRECEDE and NOSUCCEED it does not wait. Rank 1 stays away
/// until rank 0 has passed one, and the fences after it still count right. (It waits for the fence
/// before it: src/sync/README.md, invariant 3.)
#[test]
fn a_fence_that_ends_and_starts_nothing_does_not_wait() {
    spmd(2, |world| {
        let me = world.rank().0;
        let win = words(world, 1);
        let nothing = FenceAssert::NOPRECEDE | FenceAssert::NOSUCCEED;
        for round in 1..=10 {
            if me == 1 {
                world.await_signal(0, round);
            }
            win.fence_with(nothing).unwrap();
            assert_eq!(refusal(win.put(&[0u64], Rank(me), 0)), ErrorClass::RmaSync);
            if me == 0 {
                world.signal(0);
            }
            exchange(&win, round);
        }
        free(win);
    });
}

fn exchange(win: &Rc<Win>, round: u32) {
    win.fence_with(FenceAssert::NOPRECEDE).unwrap();
    put(win, u64::from(round), 1 - win.comm().rank().0, 0);
    win.fence_with(FenceAssert::NOSUCCEED).unwrap();
    assert_eq!(load(win, 0), u64::from(round));
}

/// MPI-2.2 §11.7.3: process 2 stores 999, fence, process 1 puts 777, fence: process 2 loads 777.
#[test]
fn section_11_7_3_a_load_after_the_fence_sees_the_put() {
    spmd(2, |world| {
        let win = words(world, 1);
        for _ in 0..50 {
            if world.rank() == 1 {
                store(&win, 0, 999);
            }
            win.fence().unwrap();
            if world.rank() == 0 {
                put(&win, 777, 1, 0);
            }
            win.fence().unwrap();
            if world.rank() == 1 {
                assert_eq!(load(&win, 0), 777);
            }
        }
        win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        free(win);
    });
}
