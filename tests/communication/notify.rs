//! Notified access (extension, `src/sync/notify.rs`).
#![cfg(feature = "test-hooks")]

use crate::support;
use crate::support::interleave::{free, get, group, notify_when_asleep, others, refusal};
use crate::support::{for_each_size, spmd, universe};
use onesided::engine::Win;
use onesided::{
    Access, Comm, ErrorClass, FenceAssert, LockType, Memory, Op, Rank, Universe, Window,
    WindowOptions,
};
use std::rc::Rc;

fn counted(world: &Comm, words: u64, counters: u32) -> Rc<Win> {
    let options = WindowOptions::new().name("inbox").notifications(counters);
    Rc::new(options.allocate_bytes(world, 8 * words, 8).unwrap())
}

/// Every rank sends to its right, counted; the data is there without a flush.
fn pipeline(world: &Comm, mut window: Window<u64>, disp: &[u64]) -> Window<u64> {
    let (me, n) = (world.rank().0, world.size());
    let (right, left) = ((me + 1) % n, (me + n - 1) % n);
    let all = window.lock_all().unwrap();
    let view = all.window();
    let rounds = 300u64;
    for round in 1..=rounds {
        let batch = all.batch();
        let mine = [round * 1000 + u64::from(me)];
        batch.put_notify(&mine, Rank(right), (disp[right as usize]) as usize, 0).unwrap();
        batch.flush_local().unwrap();
        view.wait_notify(0, 1).unwrap();
        let found = view.load_one((disp[me as usize]) as usize).unwrap();
        assert_eq!(found, round * 1000 + u64::from(left));
        // The left may send again.
        all.notify(Rank(left), 1).unwrap();
        view.wait_notify(1, 1).unwrap();
    }
    assert_eq!((view.notifications(0).unwrap(), view.notifications(1).unwrap()), (0, 0));
    all.unlock_all().unwrap();
    world.barrier().unwrap();
    window
}

#[test]
fn data_is_there_when_it_is_counted() {
    for_each_size(&[1, 2, 3, 8], |world| {
        let options = WindowOptions::new().notifications(2);
        let zeros = vec![0; world.ranks().len()];
        pipeline(world, options.allocate(world, 1).unwrap(), &zeros).free().unwrap();
    });
}

#[test]
fn data_is_there_when_it_is_counted_in_windows_of_every_flavour() {
    universe(3, |universe: &Universe| {
        let world = universe.world();
        let options = WindowOptions::new().notifications(2);
        let zeros = [0; 3];
        pipeline(world, options.create(world, vec![0u64; 1]).unwrap(), &zeros).free().unwrap();
        let memory = universe.alloc_mem::<u64>(1).unwrap();
        pipeline(world, options.create(world, memory).unwrap(), &zeros).free().unwrap();
        pipeline(world, options.allocate_shared(world, 1).unwrap(), &zeros).free().unwrap();
        for memory in [Memory::from(vec![0u64]), universe.alloc_mem(1).unwrap()] {
            let window = options.create_dynamic::<u64>(world).unwrap();
            let address = window.attach(memory).unwrap();
            let disp = world.allgather(&[address]).unwrap();
            pipeline(world, window, &disp).free().unwrap();
        }
    });
}

#[test]
fn every_operation_counts_in_every_kind_of_epoch() {
    spmd(2, |world| {
        let win = counted(world, 2, 4);
        let (me, to) = (world.rank().0, Rank(1 - world.rank().0));
        let operate = || {
            win.put_notify(&[7u64], to, 0, 0).unwrap();
            win.accumulate_notify(&[1u64], Op::Sum, to, 1, 1).unwrap();
            win.get_notify(&mut [0u64], to, 0, 2).unwrap();
            win.notify(to, 3).unwrap();
        };
        let mut epochs = 0;
        let mut come = |what: &str| {
            epochs += 1;
            for counter in 0..4 {
                win.wait_notify(counter, 1).unwrap();
                assert_eq!(win.notifications(counter).unwrap(), 0, "{what}");
            }
            let mut found = [0u64; 2];
            win.load(0, &mut found).unwrap();
            assert_eq!(found, [7, epochs], "{what}");
            world.barrier().unwrap();
        };
        win.fence().unwrap();
        operate();
        come("fence");
        win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        let other = group(world, &others(world));
        win.post(&other).unwrap();
        win.start(&other).unwrap();
        operate();
        come("start");
        win.complete().unwrap();
        win.wait().unwrap();
        // A part that is still exposed is not locked.
        world.barrier().unwrap();
        win.lock(LockType::Shared, to).unwrap();
        operate();
        come("lock");
        win.unlock(to).unwrap();
        win.lock_all().unwrap();
        operate();
        come("lock_all");
        assert_eq!(get(&win, me, 1), 4);
        win.unlock_all().unwrap();
        free(win);
    });
}

#[test]
fn a_sleeping_target_is_woken_by_the_last_of_many() {
    if support::needs_rmarun("targets that sleep") {
        return;
    }
    spmd(4, |world| {
        let win = counted(world, 4, 1);
        win.lock_all().unwrap();
        let me = world.rank().0;
        if me == 0 {
            notify_when_asleep(&win, 0);
            win.wait_notify(0, 6).unwrap();
            let mut found = [0u64; 4];
            win.load(0, &mut found).unwrap();
            assert_eq!(found, [0, 12, 12, 12]);
        } else {
            world.await_signal(0, 1);
            win.put_notify(&[11u64], Rank(0), me.into(), 0).unwrap();
            win.put_notify(&[12u64], Rank(0), me.into(), 0).unwrap();
        }
        win.unlock_all().unwrap();
        free(win);
    });
}

#[test]
fn each_notification_is_consumed_once() {
    spmd(2, |world| {
        let win = counted(world, 1, 1);
        win.lock_all().unwrap();
        if world.rank() == 1 {
            (0..5).for_each(|_| win.notify(Rank(0), 0).unwrap());
        }
        world.barrier().unwrap();
        let own = u32::from(world.rank() == 0) * 5;
        assert_eq!(win.notifications(0).unwrap(), own);
        assert!(!win.test_notify(0, own + 1).unwrap());
        assert!(win.test_notify(0, own).unwrap());
        assert!(!win.test_notify(0, 1).unwrap());
        assert!(win.test_notify(0, 0).unwrap());
        win.wait_notify(0, 0).unwrap();
        win.unlock_all().unwrap();
        free(win);
    });
}

#[test]
fn ranks_may_have_different_numbers_of_counters() {
    spmd(3, |world| {
        let me = world.rank().0;
        let win = counted(world, 1, [0, 3, 1][me as usize]);
        win.lock_all().unwrap();
        for (target, counters) in [(0, 0), (1, 3), (2, 1)] {
            for counter in 0..counters {
                win.notify(Rank(target), counter).unwrap();
            }
            for counter in [counters, u32::MAX] {
                let error = win.put_notify(&[9u64], Rank(target), 0, counter).unwrap_err();
                assert_eq!(error.class(), ErrorClass::Arg);
                let rank = format!("rank {target} has no notification counter {counter}");
                for word in ["put_notify", "'inbox'", &rank] {
                    assert!(error.to_string().contains(word), "{error}");
                }
            }
        }
        for counter in 0..[0, 3, 1][me as usize] {
            win.wait_notify(counter, 3).unwrap();
        }
        assert_eq!(get(&win, me, 0), 0, "a refused put has moved nothing");
        win.unlock_all().unwrap();
        free(win);
    });
}

#[test]
fn refused_operations_are_not_counted() {
    spmd(2, |world| {
        let win = counted(world, 1, 1);
        let to = Rank(1 - world.rank().0);
        assert_eq!(refusal(win.put_notify(&[1u64], to, 0, 0)), ErrorClass::RmaSync);
        assert_eq!(refusal(win.notify(to, 0)), ErrorClass::RmaSync);
        assert_eq!(refusal(win.notify(Rank::NULL, 0)), ErrorClass::RmaSync);
        win.lock_all().unwrap();
        assert_eq!(refusal(win.put_notify(&[1u64], to, 1, 0)), ErrorClass::RmaRange);
        assert_eq!(refusal(win.get_notify(&mut [1u64], to, 1, 0)), ErrorClass::RmaRange);
        assert_eq!(refusal(win.notify(Rank(2), 0)), ErrorClass::Rank);
        assert_eq!(refusal(win.accumulate_notify(&[1.0f64], Op::Band, to, 0, 0)), ErrorClass::Op);
        assert_eq!(refusal(win.wait_notify(0, 1 << 31)), ErrorClass::Arg);
        assert_eq!(refusal(win.test_notify(1, 0)), ErrorClass::Arg);
        assert_eq!(refusal(win.notifications(1)), ErrorClass::Arg);
        // To no rank: nothing happens, whatever the counter.
        win.put_notify(&[1u64], Rank::NULL, 99, 99).unwrap();
        win.get_notify(&mut [1u64], Rank::NULL, 99, 99).unwrap();
        win.accumulate_notify(&[1u64], Op::Sum, Rank::NULL, 99, 99).unwrap();
        win.notify(Rank::NULL, 99).unwrap();
        win.unlock_all().unwrap();
        world.barrier().unwrap();
        assert_eq!(win.notifications(0).unwrap(), 0);
        free(win);
    });
}

#[test]
fn threads_of_a_target_take_turns() {
    spmd(2, |world| {
        let win = WindowOptions::new().notifications(2).allocate_bytes(world, 8, 8).unwrap();
        win.lock_all().unwrap();
        if world.rank() == 0 {
            std::thread::scope(|scope| {
                for counter in [0, 0, 0, 1] {
                    let win = &win;
                    scope
                        .spawn(move || (0..100).for_each(|_| win.wait_notify(counter, 1).unwrap()));
                }
            });
        } else {
            (0..300).for_each(|_| win.notify(Rank(0), 0).unwrap());
            (0..100).for_each(|_| win.notify(Rank(0), 1).unwrap());
        }
        win.unlock_all().unwrap();
        win.free().unwrap();
    });
}

#[test]
fn a_death_ends_the_wait() {
    if support::needs_rmarun("a report of the rank that failed") {
        return;
    }
    let outcome = support::job(3, &[], |world| {
        let win = counted(world, 1, 1);
        if world.rank() == 2 {
            world.await_signal(0, 2);
            std::process::abort();
        }
        notify_when_asleep(&win, 0);
        assert_eq!(refusal(win.wait_notify(0, 1)), ErrorClass::ProcFailed);
    });
    let Some(outcome) = outcome else { return };
    assert!(!outcome.status.success(), "{}", outcome.output);
    assert!(outcome.output.contains("rank 2"), "{}", outcome.output);
}
