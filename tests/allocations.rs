//! No epoch allocates memory of the process, or gives any back, once one of its kind has been.
#![allow(unsafe_code, reason = "counts what the system's allocator is asked for")]
#![allow(clippy::disallowed_methods, reason = "a rank is late")]

mod support;

use nix::sys::resource::{UsageWho, getrusage};
use onesided::{Access, Comm, Group, LockType, Op, Rank, Window};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;
use support::spmd;

thread_local! {
    /// What this thread has asked the allocator for: libtest's own thread does not count.
    static ASKED: Cell<u32> = const { Cell::new(0) };
}

struct Counting;

fn count() {
    ASKED.set(ASKED.get() + 1);
}

// SAFETY: the system's allocator does all of it; counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller vouches.
        unsafe { System.alloc(layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller vouches.
        unsafe { System.realloc(at, layout, bytes) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count();
        // SAFETY: as the caller vouches.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const EPOCHS: u32 = 100;

/// Lets `epoch` happen once, and then without a word to the allocator.
fn allocates_once(what: &str, mut epoch: impl FnMut()) {
    epoch();
    let before = ASKED.get();
    (0..EPOCHS).for_each(|_| epoch());
    assert_eq!(ASKED.get() - before, 0, "{what}");
}

fn ranks(world: &Comm, distances: &[u32]) -> Group {
    let ranks: Vec<u32> =
        distances.iter().map(|distance| (world.rank().0 + distance) % world.size()).collect();
    world.group().incl(&ranks).unwrap()
}

#[test]
fn what_allocates_is_counted() {
    let before = ASKED.get();
    let mut resized = std::hint::black_box(vec![1u8; 100]);
    resized.reserve_exact(1000);
    drop(resized);
    assert_eq!(ASKED.get() - before, 3, "alloc, realloc, dealloc");
}

#[test]
fn fence_epochs() {
    spmd(3, |world| {
        let mut window = Window::<u64>::allocate(world, 8).unwrap();
        let (next, sources) = (Rank((world.rank().0 + 1) % 3), [7; 3]);
        allocates_once("fence and close", || {
            let epoch = window.fence().unwrap();
            epoch.put(&sources, next, 0).unwrap();
            let epoch = epoch.fence().unwrap();
            epoch.accumulate(&sources, Op::Sum, next, 3).unwrap();
            epoch.close().unwrap();
        });
        let mut epoch = Some(window.fence().unwrap());
        allocates_once("a fence that ends and begins", || {
            let next = epoch.take().unwrap().fence();
            epoch = Some(next.unwrap());
        });
        epoch.unwrap().close().unwrap();
        window.free().unwrap();
    });
}

/// How often this thread has slept.
fn sleeps() -> i64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("the kernel counts");
    usage.voluntary_context_switches()
}

#[test]
fn fences_in_which_ranks_sleep() {
    spmd(2, |world| {
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        let mut epoch = Some(window.fence().unwrap());
        for late in 0..4 {
            let is_late = late % 2 == world.rank().0;
            if is_late {
                std::thread::sleep(Duration::from_millis(50));
            }
            let before = (ASKED.get(), sleeps());
            epoch = Some(epoch.take().unwrap().fence().unwrap());
            assert_eq!(ASKED.get() - before.0, 0);
            assert!(is_late || sleeps() > before.1, "who waits for that long sleeps");
        }
        epoch.unwrap().close().unwrap();
        window.free().unwrap();
    });
}

/// Each rank exposes its part to `from` and accesses the parts of `to`.
fn exchange(window: &mut Window<u64>, (to, from): (&Group, &Group)) {
    let sources = [7];
    let (mut access, mut exposure) = window.sides();
    let exposed = exposure.post(from).unwrap();
    let epoch = access.start(to).unwrap();
    for target in to.world_ranks() {
        epoch.put(&sources, *target, 0).unwrap();
    }
    epoch.complete().unwrap();
    exposed.wait().unwrap();
}

#[test]
fn epochs_of_post_start_complete_wait() {
    spmd(4, |world| {
        let mut window = Window::<u64>::allocate(world, 8).unwrap();
        let ring = (&ranks(world, &[1]), &ranks(world, &[3]));
        let plane = (&ranks(world, &[1, 2, 3]), &ranks(world, &[3, 2, 1]));
        allocates_once("one neighbour", || exchange(&mut window, ring));
        allocates_once("three neighbours", || exchange(&mut window, plane));
        allocates_once("in turn", || {
            exchange(&mut window, ring);
            exchange(&mut window, plane);
        });
        let empty = (&Group::empty(), &Group::empty());
        allocates_once("no rank", || exchange(&mut window, empty));
        window.free().unwrap();
    });
}

#[test]
fn epochs_that_test_until_they_are_over() {
    spmd(2, |world| {
        let mut window = Window::<u64>::allocate(world, 8).unwrap();
        let other = ranks(world, &[1]);
        allocates_once("test", || {
            let (mut access, mut exposure) = window.sides();
            let mut exposed = Some(exposure.post(&other).unwrap());
            access.start(&other).unwrap().complete().unwrap();
            while let Some(open) = exposed {
                exposed = open.test().unwrap();
            }
        });
        window.free().unwrap();
    });
}

#[test]
fn epochs_of_locks() {
    spmd(3, |world| {
        let mut window = Window::<u64>::allocate(world, 8).unwrap();
        let (target, sources) = (Rank(0), [7]);
        for lock in [LockType::Shared, LockType::Exclusive] {
            allocates_once("lock", || {
                let epoch = window.lock(lock, target).unwrap();
                epoch.put(&sources, target, 0).unwrap();
                epoch.flush().unwrap();
                epoch.unlock().unwrap();
            });
        }
        allocates_once("lock_all", || {
            let epoch = window.lock_all().unwrap();
            epoch.accumulate(&sources, Op::Sum, target, 1).unwrap();
            epoch.flush_all().unwrap();
            epoch.unlock_all().unwrap();
        });
        window.free().unwrap();
    });
}

#[test]
fn messages_that_are_sent_and_received() {
    spmd(2, |world| {
        let other = Rank(1 - world.rank().0);
        let (from, mut into) = ([7u64; 100], [0u64; 100]);
        // So often that chunks of the queues are used again.
        let mut round = || {
            for _ in 0..1000 {
                world.send(&from, other, 1).unwrap();
                world.recv(&mut into, other, 1).unwrap();
            }
        };
        round();
        allocates_once("send and recv", round);
        let (from, mut into) = (vec![7u64; 10_000], vec![0u64; 10_000]);
        allocates_once("sendrecv of long messages", || {
            world.sendrecv(&from, (other, 2), &mut into, (other, 2)).unwrap();
        });
        world.barrier().unwrap();
    });
}
