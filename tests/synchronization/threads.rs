//! Threads of a rank on one window: the four interleavings of "RMA + Threads" in the New RMA
//! Design are safe — operation with operation, with fence, with flush, and flush with flush — and
//! "all other interleaving situations are invalid": of two threads that synchronise, the second is
//! refused with RMA_SYNC. (What the types refuse is in `tests/types`.)
//!
//! Delay points belong to the thread that sets them, so a test can hold one thread inside a call
//! and let another one in.
#![cfg(feature = "test-hooks")]

use crate::support::interleave::{get, group, load, put, refusal};
use crate::support::spmd;
use onesided::engine::Win;
use onesided::hooks::{Event, ProcSync, Site, delay};
use onesided::{Access, Batch, Comm, ErrorClass, FenceAssert, FenceEpoch, FenceStep, Group};
use onesided::{AccessEpoch, ExposureEpoch, LocalEpoch, LockAllEpoch, LockEpoch};
use onesided::{LockType, Op, Rank, Result, SharedPart};
use onesided::{Window, WindowOptions, WindowView};
use std::sync::{Arc, Barrier};
use std::thread;

const THREADS: u64 = 4;

/// A window of `len` words of 64 bits per rank, for all threads of this one.
fn words(world: &Comm, len: u64) -> Arc<Win> {
    Arc::new(WindowOptions::new().allocate_bytes(world, 8 * len, 8).unwrap())
}

fn free(win: Arc<Win>) {
    Arc::into_inner(win).expect("every delay point is reached").free().unwrap();
}

/// Runs `body` on another thread of this rank, to its end, when this one is about to do `event`.
fn meanwhile(win: &Arc<Win>, event: Event, body: impl FnOnce(&Win) + Send + 'static) {
    let win = win.clone();
    let body = move || thread::spawn(move || body(&win)).join().expect("the other thread succeeds");
    delay(event, body);
}

#[test]
fn windows_and_guards_may_be_sent_and_shared() {
    fn any_thread<T: Send + Sync>() {}
    any_thread::<Win>();
    any_thread::<Window<u64>>();
    any_thread::<WindowView<'_, u64>>();
    any_thread::<FenceEpoch<'_, '_, u64>>();
    any_thread::<FenceStep<'_, '_, u64>>();
    any_thread::<AccessEpoch<'_, '_, u64>>();
    any_thread::<ExposureEpoch<'_, u64>>();
    any_thread::<LockEpoch<'_, '_, u64>>();
    any_thread::<LockAllEpoch<'_, '_, u64>>();
    any_thread::<LocalEpoch<'_, u64>>();
    any_thread::<Batch<'_, '_, u64>>();
    any_thread::<SharedPart<'_, u64>>();
}

/// What each of several threads does in one epoch of the typed face: puts to words of its own, and
/// accumulates to the words of all, at every rank.
fn operate<'b>(epoch: &impl Access<'b, u64>, ranks: u32, slot: u64, mine: &'b [u64; 1]) {
    for _ in 0..100 {
        for target in 0..ranks {
            epoch.put(mine, Rank(target), (2 + slot) as usize).unwrap();
            epoch.accumulate(&[1], Op::Sum, Rank(target), 0).unwrap();
            epoch.accumulate(mine, Op::Max, Rank(target), 1).unwrap();
        }
    }
}

fn check_own_part(window: &Window<u64>, epochs: u64) {
    let writers = u64::from(window.comm().size()) * THREADS;
    assert_eq!(window.load_one(0).unwrap(), 100 * epochs * writers);
    assert_eq!(window.load_one(1).unwrap(), writers);
    for slot in 0..writers {
        assert_eq!(window.load_one((2 + slot) as usize).unwrap(), slot + 1);
    }
}

/// (1) Operation with operation, in every kind of epoch, on the typed face.
#[test]
fn operations_of_several_threads_in_every_epoch() {
    spmd(3, |world| {
        let (n, me) = (world.size(), u64::from(world.rank()));
        let mut window = Window::allocate(world, 2 + 3 * THREADS as usize).unwrap();
        let mine: Vec<[u64; 1]> = (0..THREADS).map(|k| [me * THREADS + k + 1]).collect();
        fn on_all<'b, A: Access<'b, u64> + Sync>(epoch: &A, n: u32, mine: &'b [[u64; 1]]) {
            thread::scope(|scope| {
                mine.iter().for_each(|mine| {
                    scope.spawn(move || operate(epoch, n, mine[0] - 1, mine));
                });
            });
        }
        let epoch = window.fence().unwrap();
        on_all(&epoch, n, &mine);
        epoch.close().unwrap();
        check_own_part(&window, 1);

        let all = world.group();
        let (mut access, mut exposure) = window.sides();
        let exposed = exposure.post(&all).unwrap();
        let epoch = access.start(&all).unwrap();
        on_all(&epoch, n, &mine);
        epoch.complete().unwrap();
        exposed.wait().unwrap();
        check_own_part(&window, 2);

        world.barrier().unwrap();
        let epoch = window.lock_all().unwrap();
        on_all(&epoch, n, &mine);
        epoch.unlock_all().unwrap();
        world.barrier().unwrap();
        check_own_part(&window, 3);
        window.free().unwrap();
    });
}

/// (1) Tickets drawn by all threads of all ranks from one counter are drawn once.
#[test]
fn tickets_of_all_threads_are_drawn_once() {
    const DRAWS: usize = 200;
    spmd(4, |world| {
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        let epoch = window.lock_all().unwrap();
        let tickets: Vec<u64> = thread::scope(|scope| {
            let draw = || epoch.fetch_and_op_flush(1, Op::Sum, Rank(0), 0).unwrap();
            let threads: Vec<_> = (0..THREADS)
                .map(|_| scope.spawn(move || (0..DRAWS).map(|_| draw()).collect::<Vec<_>>()))
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        epoch.unlock_all().unwrap();
        let mut all = world.allgather(&tickets).unwrap();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..4 * THREADS * DRAWS as u64));
        window.free().unwrap();
    });
}

/// (2) Operation with fence (neither NOPRECEDE nor NOSUCCEED): while one thread passes fence after
/// fence, the others accumulate; what was issued before the last fence is complete after it.
#[test]
fn operations_while_another_thread_fences() {
    const FENCES: u64 = 50;
    spmd(3, |world| {
        let win = words(world, 1);
        let next = Rank((world.rank().0 + 1) % world.size());
        win.fence().unwrap();
        thread::scope(|scope| {
            for _ in 1..THREADS {
                scope.spawn(|| {
                    for _ in 0..500 {
                        win.accumulate(&[1u64], Op::Sum, next, 0).unwrap();
                    }
                });
            }
            (0..FENCES).for_each(|_| win.fence().unwrap());
        });
        win.fence().unwrap();
        win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        assert_eq!(load(&win, 0), 500 * (THREADS - 1));
        free(win);
    });
}

/// (2) Forced: another thread puts while this one is at each event of a fence. A put before the
/// fence's first MEM_SYNC is complete behind this fence, any other behind the next.
#[test]
fn a_put_at_any_event_of_another_threads_fence() {
    let events = [
        (Event::MemSync(Site::FencePre), 1),
        (Event::ProcSync(ProcSync::FenceArrive), 2),
        (Event::ProcSync(ProcSync::FencePass), 2),
        (Event::MemSync(Site::FencePost), 2),
    ];
    spmd(3, |world| {
        let win = words(world, 1);
        let (n, me) = (world.size(), world.rank().0);
        win.fence().unwrap();
        for (round, (event, fences)) in (1..=40).zip(events.into_iter().cycle()) {
            let word = 1000 * round + u64::from(me);
            meanwhile(&win, event, move |win| put(win, word, (me + 1) % n, 0));
            (0..fences).for_each(|_| win.fence().unwrap());
            assert_eq!(load(&win, 0), 1000 * round + u64::from((me + n - 1) % n), "{event:?}");
            win.fence().unwrap();
        }
        win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        free(win);
    });
}

/// (3) Operation with flush, forced: what another thread has put before the MEM_SYNC of this
/// thread's flush is seen by every rank that learns of the flush.
#[test]
fn a_flush_completes_what_another_thread_has_put() {
    type Flush = fn(&Win) -> Result<()>;
    const FORMS: [(Site, Flush); 4] = [
        (Site::Flush, |win| win.flush(Rank(1))),
        (Site::FlushAll, |win| win.flush_all()),
        (Site::FlushLocal, |win| win.flush_local(Rank(1))),
        (Site::FlushLocalAll, |win| win.flush_local_all()),
    ];
    spmd(2, |world| {
        let win = words(world, 1);
        win.lock_all().unwrap();
        for (round, (site, flush)) in (1..=40).zip(FORMS.into_iter().cycle()) {
            let word = u64::from(round);
            if world.rank() == 0 {
                meanwhile(&win, Event::MemSync(site), move |win| put(win, word, 1, 0));
                flush(&win).unwrap();
                world.signal(0);
                world.await_signal(1, round);
            } else {
                world.await_signal(0, round);
                assert_eq!(get(&win, 1, 0), word, "{site:?}");
                world.signal(1);
            }
        }
        win.unlock_all().unwrap();
        free(win);
    });
}

/// (4) Flush with flush, forced: all threads are inside flush at the same time, each after a put
/// of its own; each flush completes the put of its thread.
#[test]
fn flushes_of_several_threads_at_once() {
    spmd(2, |world| {
        let win = words(world, THREADS);
        win.lock_all().unwrap();
        for round in 1..=20 {
            if world.rank() == 0 {
                let inside = Arc::new(Barrier::new(THREADS as usize));
                thread::scope(|scope| {
                    for slot in 0..THREADS {
                        let (win, inside) = (&win, inside.clone());
                        scope.spawn(move || {
                            put(win, u64::from(round), 1, slot);
                            delay(Event::MemSync(Site::Flush), move || _ = inside.wait());
                            win.flush(Rank(1)).unwrap();
                            win.comm().signal(slot as usize);
                        });
                    }
                });
                world.await_signal(THREADS as usize, round);
            } else {
                for slot in 0..THREADS {
                    world.await_signal(slot as usize, round);
                    assert_eq!(get(&win, 1, slot), u64::from(round));
                }
                world.signal(THREADS as usize);
            }
        }
        win.unlock_all().unwrap();
        free(win);
    });
}

/// Every synchronising call on a window, tried by another thread.
fn all_refused(win: &Win) {
    let own = group(win.comm(), &[win.comm().rank().0]);
    let me = win.comm().rank();
    let classes = [
        refusal(win.fence()),
        refusal(win.post(&own)),
        refusal(win.start(&own)),
        refusal(win.complete()),
        refusal(win.wait()),
        refusal(win.test()),
        refusal(win.lock(LockType::Shared, me)),
        refusal(win.unlock(me)),
        refusal(win.lock_all()),
        refusal(win.unlock_all()),
    ];
    assert_eq!(classes, [ErrorClass::RmaSync; 10]);
}

/// "All other interleaving situations are invalid": while this thread waits in a fence, a lock or
/// lock_all, any call of another thread is refused at once, and the call that was there first, and
/// the other rank, notice nothing. (The two sides of post-start-complete-wait are independent, and
/// calls that never wait let the second one in when they are done.)
#[test]
fn of_two_threads_that_synchronise_the_second_is_refused() {
    spmd(2, |world| {
        let win = words(world, 1);
        let (me, all): (Rank, Group) = (world.rank(), world.group());
        let proc = Event::ProcSync;
        let within = |event, call: &dyn Fn() -> Result<()>| {
            meanwhile(&win, event, all_refused);
            call().unwrap();
        };
        let mut waits = 0;
        for _ in 0..5 {
            within(proc(ProcSync::FenceArrive), &|| win.fence());
            within(proc(ProcSync::FencePass), &|| win.fence_with(FenceAssert::NOSUCCEED));
            win.post(&all).unwrap();
            win.start(&all).unwrap();
            put(&win, 7, 1 - me.0, 0);
            win.complete().unwrap();
            win.wait().unwrap();
            // Neither part is exposed any more.
            world.barrier().unwrap();
            for (rank, all) in
                [(0, false), (0, true), (1, false), (1, true)].map(|(r, a)| (Rank(r), a))
            {
                waits += 1;
                if rank != me {
                    // In the way, until the other rank sleeps.
                    win.lock(LockType::Exclusive, rank).unwrap();
                    world.signal(0);
                    world.await_signal(1, waits);
                    win.unlock(rank).unwrap();
                } else {
                    world.await_signal(0, waits);
                    let comm = world.clone();
                    delay(Event::MemSync(Site::ParkWaiter), move || comm.signal(1));
                    if all {
                        within(proc(ProcSync::LockGranted), &|| win.lock_all());
                        win.unlock_all().unwrap();
                    } else {
                        let lock = || win.lock(LockType::Exclusive, me);
                        within(proc(ProcSync::LockGranted), &lock);
                        assert_eq!(load(&win, 0), 7);
                        win.unlock(me).unwrap();
                    }
                }
                world.barrier().unwrap();
            }
        }
        free(win);
    });
}

/// Neither epochs nor locks belong to the thread that opened them.
#[test]
fn any_thread_may_end_what_another_has_begun() {
    spmd(2, |world| {
        let win = words(world, 1);
        let peer = 1 - world.rank().0;
        let elsewhere = |call: &(dyn Fn(&Win) + Sync)| {
            thread::scope(|scope| scope.spawn(|| call(&win)).join().unwrap());
        };
        win.fence().unwrap();
        elsewhere(&|win| put(win, 1, peer, 0));
        elsewhere(&|win| win.fence_with(FenceAssert::NOSUCCEED).unwrap());
        assert_eq!(load(&win, 0), 1);
        world.barrier().unwrap();
        elsewhere(&|win| win.lock(LockType::Exclusive, Rank(peer)).unwrap());
        put(&win, 2, peer, 0);
        elsewhere(&|win| win.unlock(Rank(peer)).unwrap());
        world.barrier().unwrap();
        elsewhere(&|win| assert_eq!(load(win, 0), 2));
        world.barrier().unwrap();
        free(win);
    });
}

/// Threads with a window each do not meet: every one fences at its own pace.
#[test]
fn threads_with_windows_of_their_own_go_their_own_ways() {
    spmd(3, |world| {
        let wins: Vec<_> = (0..THREADS).map(|_| words(world, 1)).collect();
        let next = Rank((world.rank().0 + 1) % world.size());
        thread::scope(|scope| {
            for (k, win) in (1..).zip(&wins) {
                scope.spawn(move || {
                    win.fence().unwrap();
                    for _ in 0..20 * k {
                        win.accumulate(&[1u64], Op::Sum, next, 0).unwrap();
                        win.fence().unwrap();
                    }
                    assert_eq!(load(win, 0), 20 * k);
                });
            }
        });
        wins.into_iter().for_each(free);
    });
}
