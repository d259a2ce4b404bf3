//! What a reviewer who wanted to break the promises of the types found, as it must not be again:
//! several threads of a rank on one window, memory that is lent, handlers and callbacks.
#![cfg(feature = "test-hooks")]

use crate::support::{needs_rmarun, spmd, universe};
use onesided::hooks::{Event, Site, delay};
use onesided::{ErrorClass, ErrorHandler, LockType, Op, Rank, Window, WindowMemory, WindowOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

fn wait_for(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        thread::yield_now();
    }
}

#[test]
fn a_dropped_guard_unlocks_while_another_thread_waits_for_a_lock() {
    if needs_rmarun("signals between ranks") {
        return;
    }
    const DROPPED: usize = 0;
    spmd(2, |world| {
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        if world.rank() == 1 {
            let lock = window.lock(LockType::Exclusive, Rank(1)).unwrap();
            world.barrier().unwrap();
            world.await_signal(DROPPED, 1);
            lock.unlock().unwrap();
        } else {
            let guard = window.lock(LockType::Exclusive, Rank(0)).unwrap();
            world.barrier().unwrap();
            let (window, about) = (&window, AtomicBool::new(false));
            thread::scope(|scope| {
                scope.spawn(|| {
                    about.store(true, SeqCst);
                    drop(window.lock(LockType::Exclusive, Rank(1)).unwrap());
                });
                wait_for(&about);
                drop(guard);
                world.signal(DROPPED);
            });
        }
        world.barrier().unwrap();
        drop(window.lock_local().expect("no lock is held any more"));
        window.free().unwrap();
    });
}

#[test]
fn two_threads_complete_and_wait_on_the_two_sides() {
    spmd(2, |world| {
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        let other = world.group().incl(&[1 - world.rank().0]).unwrap();
        for _ in 0..200 {
            let (mut access, mut exposure) = window.sides();
            let posted = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let exposed = exposure.post(&other).unwrap();
                    posted.store(true, SeqCst);
                    exposed.wait().unwrap();
                });
                wait_for(&posted);
                let epoch = access.start(&other).unwrap();
                epoch.complete().unwrap();
            });
        }
        window.free().unwrap();
    });
}

#[test]
fn what_is_attached_is_kept_whatever_threads_do() {
    universe(1, |universe| {
        for _ in 0..3000 {
            let window = Window::<u64>::create_dynamic(universe.world()).unwrap();
            let memory: WindowMemory<u64> = vec![0u64; 8].into();
            let (clone, at) = (memory.clone(), memory.as_ptr() as u64);
            window.attach(memory).unwrap();
            let (back, attached) = thread::scope(|scope| {
                let detaching = scope.spawn(|| window.detach(at).unwrap());
                let attached = (0..40).any(|_| window.attach(clone.clone()).is_ok());
                drop(clone);
                (detaching.join().unwrap(), attached)
            });
            // The attaching rank has given its handle away, so this one cannot be the last.
            assert_eq!(back.into_memory().is_err(), attached);
            window.free().unwrap();
        }
    });
}

#[test]
fn more_threads_than_a_lock_can_count_wait_all_the_same() {
    if needs_rmarun("a delay in an accumulate") {
        return;
    }
    const THREADS: usize = 1100;
    spmd(1, |world| {
        let win = WindowOptions::new().allocate_bytes(world, 16, 1).unwrap();
        win.lock_all().unwrap();
        let (inside, started) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        // Not aligned, so under the exclusion.
        let add = || win.fetch_and_op(&1u64, &mut 0, Op::Sum, Rank(0), 1).unwrap();
        thread::scope(|scope| {
            let (held, all) = (inside.clone(), started.clone());
            scope.spawn(move || {
                delay(Event::MemSync(Site::AccumulatePost), move || {
                    held.store(true, SeqCst);
                    while all.load(SeqCst) < THREADS {
                        thread::yield_now();
                    }
                });
                add();
            });
            wait_for(&inside);
            for _ in 0..THREADS {
                let small = thread::Builder::new().stack_size(64 << 10);
                let thread = small.spawn_scoped(scope, || {
                    started.fetch_add(1, SeqCst);
                    add();
                });
                thread.unwrap();
            }
        });
        let mut sum = [0u64];
        win.load(1, &mut sum).unwrap();
        assert_eq!(sum, [THREADS as u64 + 1]);
        win.unlock_all().unwrap();
        win.free().unwrap();
    });
}

#[test]
fn slices_are_lent_only_if_no_rank_has_the_window_by_the_engine() {
    spmd(2, |world| {
        if world.rank() == 0 {
            let mut window = Window::<u64>::allocate(world, 4).unwrap();
            assert_eq!(window.lock_local().err().unwrap().class(), ErrorClass::RmaFlavor);
            window.free().unwrap();
        } else {
            WindowOptions::new().allocate_bytes(world, 32, 8).unwrap().free().unwrap();
        }
    });
}

#[test]
fn a_window_is_freed_although_another_thread_is_in_a_collective() {
    if needs_rmarun("signals between ranks") {
        return;
    }
    const ENTERED: usize = 0;
    spmd(2, |world| {
        let window = Window::<u64>::allocate(world, 1).unwrap();
        if world.rank() == 0 {
            thread::scope(|scope| {
                let comm = world.clone();
                scope.spawn(move || {
                    let reported = comm.clone();
                    // In the barrier, and so in possession of the communicator.
                    delay(Event::MemSync(Site::CollectivePre), move || reported.signal(ENTERED));
                    comm.barrier().unwrap();
                });
                world.await_signal(ENTERED, 1);
                window.free().unwrap();
            });
        } else {
            world.await_signal(ENTERED, 1);
            world.barrier().unwrap();
            window.free().unwrap();
        }
    });
}

#[test]
fn a_collective_during_the_making_of_a_window_is_refused() {
    spmd(2, |world| {
        if world.rank() == 0 {
            let comm = world.clone();
            delay(Event::MemSync(Site::HeapPost), move || {
                let refused = thread::spawn(move || comm.barrier()).join().unwrap();
                assert_eq!(refused.unwrap_err().class(), ErrorClass::Comm);
            });
        }
        Window::<u64>::allocate(world, 1).unwrap().free().unwrap();
    });
}

#[test]
fn lock_local_shows_its_errors_to_the_handler() {
    spmd(2, |world| {
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        let seen = Arc::new(AtomicUsize::new(0));
        let count = seen.clone();
        window.set_error_handler(ErrorHandler::user(move |_| {
            count.fetch_add(1, SeqCst);
        }));
        drop(window.fence().unwrap());
        world.barrier().unwrap();
        if world.rank() == 0 {
            // The other rank has a fence epoch open.
            assert_eq!(window.lock_local().err().unwrap().class(), ErrorClass::RmaSync);
            assert_eq!(seen.load(SeqCst), 1);
        }
        world.barrier().unwrap();
        window.fence().unwrap().close().unwrap();
        window.free().unwrap();
    });
}
