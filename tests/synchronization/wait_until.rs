//! Waiting for a value in the own part (extension, `src/sync/watch.rs`).
#![cfg(feature = "test-hooks")]

use crate::support;
use crate::support::interleave::{
    free, group, lock, notify_when_asleep, others, put, refusal, store, unlock, words,
};
use crate::support::{for_each_size, needs_rmarun, spmd, universe};
use onesided::engine::Win;
use onesided::{
    Access, Comm, ErrorClass, FenceAssert, LockType, Rank, Universe, Until, Window, WindowOptions,
};

const ALL: [Until; 6] = [Until::Eq, Until::Ne, Until::Gt, Until::Ge, Until::Lt, Until::Le];

#[test]
fn comparisons_are_those_of_the_type() {
    spmd(1, |world| {
        let win = words(world, 2);
        win.store(0, &[-5i64]).unwrap();
        let holds = |value: i64| ALL.map(|until| win.test_until(0, until, value).unwrap());
        let some = Some(-5);
        assert_eq!(holds(-5), [some, None, None, some, None, some]);
        assert_eq!(holds(7), [None, some, None, None, some, some]);
        assert_eq!(holds(-9), [None, some, some, some, None, None]);
        // The same bytes, unsigned, are large.
        assert_eq!(win.test_until(0, Until::Gt, 7u64).unwrap(), Some(-5i64 as u64));
        assert_eq!(win.wait_until(0, Until::Lt, 0i64).unwrap(), -5);
        win.store(1, &[0x0102_0304_0506_0708u64]).unwrap();
        assert_eq!(win.wait_until(1, Until::Ne, 0u8).unwrap(), 8);
        free(win);
    });
}

/// Rank 0 sleeps until rank 1 has written `value` to it and completed that by `complete`.
fn noticed(world: &Comm, win: &std::rc::Rc<Win>, round: u32, write: impl FnOnce(u64)) {
    let value = u64::from(round);
    if world.rank() == 0 {
        notify_when_asleep(win, 0);
        assert_eq!(win.wait_until(0, Until::Ge, value).unwrap(), value);
        let mut data = [0u64];
        win.load(1, &mut data).unwrap();
        assert_eq!(data[0], 10 * value, "what was written before is there");
        world.signal(1);
    } else {
        world.await_signal(0, round);
        write(value);
    }
    world.barrier().unwrap();
}

#[test]
fn every_call_that_completes_at_the_target_wakes_a_watcher() {
    spmd(2, |world| {
        let win = words(world, 2);
        let data = |value: u64| {
            put(&win, 10 * value, 0, 1);
            win.flush_all().unwrap();
            put(&win, value, 0, 0);
        };
        noticed(world, &win, 1, |value| {
            lock(&win, LockType::Shared, 0);
            data(value);
            win.flush(Rank(0)).unwrap();
            // The watcher wakes before the lock is released: by the flush.
            world.await_signal(1, 1);
            unlock(&win, 0);
        });
        noticed(world, &win, 2, |value| {
            lock(&win, LockType::Exclusive, 0);
            data(value);
            unlock(&win, 0);
        });
        noticed(world, &win, 3, |value| {
            win.lock_all().unwrap();
            data(value);
            win.flush_all().unwrap();
            win.unlock_all().unwrap();
        });
        noticed(world, &win, 4, |value| {
            win.lock_all().unwrap();
            data(value);
            win.unlock_all().unwrap();
        });
        let other = group(world, &others(world));
        if world.rank() == 0 {
            win.post(&other).unwrap();
        }
        noticed(world, &win, 5, |value| {
            win.start(&other).unwrap();
            put(&win, 10 * value, 0, 1);
            put(&win, value, 0, 0);
            win.complete().unwrap();
        });
        if world.rank() == 0 {
            win.wait().unwrap();
        }
        free(win);
    });
}

/// The bell is rung before the fence waits: its target comes to the fence only afterwards.
#[test]
fn a_fence_wakes_a_watcher_that_has_yet_to_reach_it() {
    spmd(2, |world| {
        let win = words(world, 2);
        win.fence().unwrap();
        if world.rank() == 0 {
            notify_when_asleep(&win, 0);
            assert_eq!(win.wait_until(0, Until::Eq, 9u64).unwrap(), 9);
        } else {
            world.await_signal(0, 1);
            put(&win, 9, 0, 0);
        }
        win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        free(win);
    });
}

#[test]
fn win_sync_wakes_watchers_of_a_shared_window() {
    spmd(2, |world| {
        let window = Window::<u64>::allocate_shared(world, 1).unwrap();
        if world.rank() == 0 {
            world.signal(0);
            assert_eq!(window.wait_until(0, Until::Eq, 5).unwrap(), 5);
        } else {
            world.await_signal(0, 1);
            window.shared_part(Rank(0)).unwrap().store_one(0, 5).unwrap();
            window.sync();
        }
        world.barrier().unwrap();
        window.free().unwrap();
    });
}

/// A thread of a rank wakes another, which watches the same part.
#[test]
fn threads_wake_each_other() {
    spmd(1, |world| {
        let win = WindowOptions::new().allocate_bytes(world, 16, 8).unwrap();
        std::thread::scope(|scope| {
            let waiters: Vec<_> =
                (0..3).map(|_| scope.spawn(|| win.wait_until(0, Until::Gt, 2u64))).collect();
            for value in 1..=3u64 {
                win.store(0, &[value]).unwrap();
                win.sync();
            }
            for waiter in waiters {
                assert_eq!(waiter.join().unwrap().unwrap(), 3);
            }
        });
        win.free().unwrap();
    });
}

/// A token goes round, each rank asleep until it comes; more ranks than cores.
fn round_robin(world: &Comm, mut window: Window<u64>, disp: &[u64]) {
    let (me, n) = (world.rank().0, world.size());
    let next = (me + 1) % n;
    let all = window.lock_all().unwrap();
    for round in 1..=200u64 {
        if me != 0 {
            all.window().wait_until((disp[me as usize]) as usize, Until::Eq, round).unwrap();
        }
        all.put_flush(&[round], Rank(next), (disp[next as usize]) as usize).unwrap();
        if me == 0 {
            assert_eq!(all.window().wait_until(disp[0] as usize, Until::Eq, round).unwrap(), round);
        }
    }
    all.unlock_all().unwrap();
    world.barrier().unwrap();
    window.free().unwrap();
}

#[test]
fn a_token_goes_round() {
    for_each_size(&[1, 2, 3, 8], |world| {
        let zeros = vec![0; world.ranks().len()];
        round_robin(world, Window::allocate(world, 1).unwrap(), &zeros);
    });
}

#[test]
fn a_token_goes_round_through_private_memory() {
    spmd(4, |world| {
        round_robin(world, Window::create(world, vec![0u64; 1]).unwrap(), &[0; 4]);
    });
}

#[test]
fn a_token_goes_round_through_attached_memory() {
    universe(3, |universe: &Universe| {
        let world = universe.world();
        let window = Window::<u64>::create_dynamic(world).unwrap();
        let memory = universe.alloc_mem::<u64>(1).unwrap();
        let address = window.attach(memory).unwrap();
        let disp = world.allgather(&[address]).unwrap();
        round_robin(world, window, &disp);
    });
}

#[test]
fn misuse_is_refused() {
    spmd(2, |world| {
        let win = WindowOptions::new().name("w").allocate_bytes(world, 17, 1).unwrap();
        let test = |disp| win.test_until(disp, Until::Eq, 0u64);
        assert_eq!(test(8).unwrap(), Some(0));
        assert_eq!(refusal(test(10)), ErrorClass::RmaRange);
        assert_eq!(refusal(test(u64::MAX)), ErrorClass::RmaRange);
        assert_eq!(refusal(win.wait_until(16, Until::Ne, 1u16)), ErrorClass::RmaRange);
        let text = win.wait_until(4, Until::Eq, 0u64).unwrap_err();
        assert_eq!(text.class(), ErrorClass::Disp);
        for word in ["wait_until", "'w'", "displacement 4", "8 bytes"] {
            assert!(text.to_string().contains(word), "{text}");
        }
        assert_eq!(win.wait_until(4, Until::Eq, 0u32).unwrap(), 0);
        win.free().unwrap();
    });
}

/// A rank that dies ends the wait of the others, or the job does.
#[test]
fn a_death_ends_the_wait() {
    if needs_rmarun("a report of the rank that failed") {
        return;
    }
    let outcome = support::job(4, &[], |world| {
        let win = words(world, 1);
        if world.rank() == 3 {
            world.await_signal(0, 3);
            std::process::abort();
        }
        notify_when_asleep(&win, 0);
        let error = win.wait_until(0, Until::Eq, 1u64).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ProcFailed);
    });
    let Some(outcome) = outcome else { return };
    assert!(!outcome.status.success(), "{}", outcome.output);
    assert!(outcome.output.contains("rank 3"), "{}", outcome.output);
}

/// Writers and a watcher that keep missing each other: every value is seen in the end.
#[test]
fn no_change_is_slept_past() {
    for_each_size(&[2, 5], |world| {
        let win = words(world, 1);
        let n = u64::from(world.size()) - 1;
        const TIMES: u64 = 300;
        win.lock_all().unwrap();
        if world.rank() == 0 {
            for seen in 1..=n * TIMES {
                assert!(win.wait_until(0, Until::Ge, seen).unwrap() >= seen);
            }
        } else {
            for _ in 0..TIMES {
                let mut before = 0u64;
                win.fetch_and_op(&1, &mut before, onesided::Op::Sum, Rank(0), 0).unwrap();
                win.flush(Rank(0)).unwrap();
            }
        }
        win.unlock_all().unwrap();
        world.barrier().unwrap();
        if world.rank() == 0 {
            store(&win, 0, 0);
        }
        free(win);
    });
}

/// The typed face has it on the window and on what guards lend of it.
#[test]
fn guards_lend_it() {
    spmd(2, |world| {
        let mut window = Window::<u32>::allocate(world, 1).unwrap();
        let epoch = window.fence().unwrap();
        epoch.put(&[3], Rank(1 - world.rank().0), 0).unwrap();
        let epoch = epoch.fence().unwrap();
        assert_eq!(epoch.window().wait_until(0, Until::Eq, 3).unwrap(), 3);
        assert_eq!(epoch.window().test_until(0, Until::Ne, 3).unwrap(), None);
        epoch.close().unwrap();
        window.free().unwrap();
    });
}
