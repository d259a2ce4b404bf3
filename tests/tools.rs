//! The mutex, the queue and the counter (the package `onesided-tools`).
#![cfg(feature = "test-hooks")]

mod support;

use onesided::hooks::{Event, Site, delay};
use onesided::{Access, Complex, ErrorClass, Op, Rank, Window};
use onesided_tools::{DistributedCounter, WindowMutex, WindowQueue};
use std::rc::Rc;
use support::{for_each_size, spmd};

/// What must not be interrupted: reads and writes that are no accumulates.
#[test]
fn a_mutex_excludes_and_orders() {
    for_each_size(&[1, 2, 3, 8], |world| {
        let home = Rank(world.size() - 1);
        let mutex = WindowMutex::new(world, home).unwrap();
        assert_eq!(mutex.home(), home);
        let mut window = Window::<u64>::allocate(world, 2).unwrap();
        let all = window.lock_all().unwrap();
        const TIMES: u64 = 200;
        for _ in 0..TIMES {
            let held = mutex.lock().unwrap();
            let mut now = [0; 2];
            all.get_flush(&mut now, Rank(0), 0).unwrap();
            assert_eq!(now[0], now[1]);
            all.put_flush(&[now[0] + 1], Rank(0), 0).unwrap();
            all.put_flush(&[now[1] + 1], Rank(0), 1).unwrap();
            held.unlock().unwrap();
        }
        all.unlock_all().unwrap();
        world.barrier().unwrap();
        if world.rank() == 0 {
            assert_eq!(window.load_one(0).unwrap(), TIMES * u64::from(world.size()));
        }
        window.free().unwrap();
        mutex.free().unwrap();
    });
}

/// Ranks ask one after another while the mutex is held, and get it in that order.
#[test]
fn a_mutex_is_fair() {
    spmd(4, |world| {
        let mutex = WindowMutex::new(world, Rank(0)).unwrap();
        let order = DistributedCounter::new(world).unwrap();
        let me = world.rank().0;
        if me == 0 {
            let held = mutex.lock().unwrap();
            world.signal(0);
            world.await_signal(3, 1);
            drop(held);
        } else {
            world.await_signal(me as usize - 1, 1);
            let comm = world.clone();
            // About to sleep in the queue: the next may come.
            delay(Event::MemSync(Site::ParkWaiter), move || comm.signal(me as usize));
            let held = mutex.lock().unwrap();
            assert_eq!(order.take_tickets(1).unwrap(), u64::from(me) - 1);
            held.unlock().unwrap();
        }
        world.barrier().unwrap();
        order.free().unwrap();
        mutex.free().unwrap();
    });
}

#[test]
fn try_lock_does_not_wait() {
    spmd(2, |world| {
        let mutex = WindowMutex::new(world, Rank(1)).unwrap();
        if world.rank() == 0 {
            let held = mutex.try_lock().unwrap().expect("it is free");
            assert!(mutex.try_lock().unwrap().is_none(), "another thread would be refused");
            world.barrier().unwrap();
            world.barrier().unwrap();
            drop(held);
            world.barrier().unwrap();
        } else {
            world.barrier().unwrap();
            assert!(mutex.try_lock().unwrap().is_none());
            world.barrier().unwrap();
            world.barrier().unwrap();
            assert!(mutex.try_lock().unwrap().is_some());
        }
        mutex.free().unwrap();
    });
}

#[test]
fn threads_of_a_rank_take_turns_at_a_mutex() {
    spmd(2, |world| {
        let mutex = WindowMutex::new(world, Rank(0)).unwrap();
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        let all = window.lock_all().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let _held = mutex.lock().unwrap();
                        let mut now = [0];
                        all.get_flush(&mut now, Rank(0), 0).unwrap();
                        all.put_flush(&[now[0] + 1], Rank(0), 0).unwrap();
                    }
                });
            }
        });
        all.unlock_all().unwrap();
        world.barrier().unwrap();
        if world.rank() == 0 {
            assert_eq!(window.load_one(0).unwrap(), 600);
        }
        window.free().unwrap();
        mutex.free().unwrap();
    });
}

#[test]
fn a_panic_keeps_the_mutex_locked() {
    spmd(1, |world| {
        let mutex = WindowMutex::new(world, Rank(0)).unwrap();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = mutex.lock().unwrap();
            panic!("in the middle");
        }));
        assert!(panicked.is_err());
        assert_eq!(mutex.lock().err().unwrap().class(), ErrorClass::RmaSync);
        assert_eq!(mutex.try_lock().err().unwrap().class(), ErrorClass::RmaSync);
        mutex.free().unwrap();
    });
}

/// Items of a size that is no multiple of words; a queue of one slot, and larger ones.
#[test]
fn every_item_is_popped_once_and_in_order() {
    for_each_size(&[1, 2, 3, 8], |world| {
        for capacity in [1, 3, 64] {
            let queue = WindowQueue::<u32>::new(world, Rank(world.size() / 2), capacity).unwrap();
            assert_eq!((queue.capacity(), queue.home().0), (capacity, world.size() / 2));
            let (me, n) = (world.rank().0, world.size());
            const ITEMS: u32 = 100;
            let mut popped = Vec::new();
            if n == 1 {
                for i in 0..ITEMS {
                    queue.push(i).unwrap();
                    popped.push(queue.pop().unwrap());
                }
            } else if me % 2 == 0 {
                (0..ITEMS).for_each(|i| queue.push(me * 1000 + i).unwrap());
            } else {
                let (producers, consumers) = (n.div_ceil(2), n / 2);
                let share = producers * ITEMS / consumers;
                let rest = if me == 1 { producers * ITEMS % consumers } else { 0 };
                popped.extend((0..share + rest).map(|_| queue.pop().unwrap()));
            }
            for producer in (0..n).step_by(2) {
                let theirs: Vec<_> = popped.iter().filter(|i| *i / 1000 == producer).collect();
                assert!(theirs.is_sorted(), "of one producer, in its order");
            }
            let sum = popped.iter().map(|i| u64::from(*i)).sum::<u64>();
            let sum = world.allreduce(&[sum, popped.len() as u64], Op::Sum).unwrap();
            let items = (0..n).step_by(2).flat_map(|p| (0..ITEMS).map(move |i| p * 1000 + i));
            let all: Vec<u64> = items.map(u64::from).collect();
            assert_eq!(sum, [all.iter().sum(), all.len() as u64]);
            assert_eq!(queue.try_pop().unwrap(), None);
            world.barrier().unwrap();
            queue.free().unwrap();
        }
    });
}

#[test]
fn try_push_and_try_pop_do_not_wait() {
    spmd(2, |world| {
        let queue = WindowQueue::<Complex<f64>>::new(world, Rank(0), 2).unwrap();
        let item = |re: f64| Complex::new(re, -re);
        if world.rank() == 1 {
            assert_eq!(queue.try_pop().unwrap(), None);
            assert!(queue.try_push(item(1.0)).unwrap() && queue.try_push(item(2.0)).unwrap());
            assert!(!queue.try_push(item(3.0)).unwrap());
            assert_eq!(queue.try_pop().unwrap(), Some(item(1.0)));
            assert!(queue.try_push(item(3.0)).unwrap());
            assert_eq!((queue.pop().unwrap(), queue.pop().unwrap()), (item(2.0), item(3.0)));
        }
        queue.free().unwrap();
    });
}

/// What the producer did before, in another window, is there for the consumer.
#[test]
fn a_push_publishes_what_was_done_before() {
    spmd(2, |world| {
        let queue = WindowQueue::<u64>::new(world, Rank(0), 4).unwrap();
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        let all = window.lock_all().unwrap();
        for round in 1..=200 {
            if world.rank() == 1 {
                let item = [round];
                let batch = all.batch();
                batch.put(&item, Rank(0), 0).unwrap();
                queue.push(round).unwrap();
                drop(batch);
            } else {
                let item = queue.pop().unwrap();
                assert!(all.window().load_one(0).unwrap() >= item);
            }
        }
        all.unlock_all().unwrap();
        window.free().unwrap();
        queue.free().unwrap();
    });
}

#[test]
fn threads_of_a_rank_push_and_pop_at_the_same_time() {
    spmd(2, |world| {
        let queue = WindowQueue::<u64>::new(world, Rank(0), 2).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..100).for_each(|i| queue.push(i).unwrap()));
                scope.spawn(|| (0..100).for_each(|_| assert!(queue.pop().unwrap() < 100)));
            }
        });
        world.barrier().unwrap();
        assert_eq!(queue.try_pop().unwrap(), None);
        queue.free().unwrap();
    });
}

#[test]
fn sums_are_exact_when_nobody_adds_and_tickets_are_drawn_once() {
    for_each_size(&[1, 2, 3, 8], |world| {
        let counter = DistributedCounter::new(world).unwrap();
        let (me, n) = (u64::from(world.rank()), u64::from(world.size()));
        let mut drawn = [0, 0];
        let mut last = 0;
        for i in 0..100 {
            counter.add(me + i).unwrap();
            counter.add(1u64.wrapping_neg()).unwrap();
            counter.add(1).unwrap();
            let ticket = counter.take_tickets(2).unwrap();
            assert!(ticket >= last, "of one rank, in order");
            last = ticket;
            drawn = [drawn[0] + ticket + (ticket + 1), drawn[1] + 2];
        }
        world.barrier().unwrap();
        assert_eq!(counter.read().unwrap(), n * (99 * 100 / 2) + 100 * (n * (n - 1) / 2));
        let drawn = world.allreduce(&drawn, Op::Sum).unwrap();
        assert_eq!(drawn, [(200 * n) * (200 * n - 1) / 2, 200 * n]);
        assert_eq!(counter.take_tickets(0).unwrap(), 200 * n);
        counter.free().unwrap();
    });
}

#[test]
fn ranks_that_disagree_all_learn_of_it() {
    spmd(3, |world| {
        let me = world.rank().0;
        let error = WindowMutex::new(world, Rank(me % 2)).err().unwrap();
        assert_eq!(error.class(), ErrorClass::Arg);
        assert!(error.to_string().contains("mutex of home rank"), "{error}");
        let error = WindowQueue::<u64>::new(world, Rank(0), 4 + u64::from(me == 1)).err().unwrap();
        assert!(error.to_string().contains("capacity 5"), "{error}");
        assert_eq!(WindowMutex::new(world, Rank(3)).err().unwrap().class(), ErrorClass::Root);
        for capacity in [0, u64::MAX] {
            let error = WindowQueue::<u64>::new(world, Rank(0), capacity).err().unwrap();
            assert_eq!(error.class(), ErrorClass::Arg, "{error}");
        }
        let error = WindowQueue::<u64>::new(world, Rank(0), 1 << 32).err().unwrap();
        assert_eq!(error.class(), ErrorClass::NoMem, "{error}");
    });
}

#[test]
fn tools_of_sub_communicators_are_apart() {
    spmd(4, |world| {
        let half = world.split(Some(world.rank().0 % 2), 0).unwrap().unwrap();
        let counter = DistributedCounter::new(&half).unwrap();
        counter.add(1 + u64::from(world.rank().0 % 2)).unwrap();
        half.barrier().unwrap();
        assert_eq!(counter.read().unwrap(), 2 + 2 * u64::from(world.rank().0 % 2));
        counter.free().unwrap();
        half.free().unwrap();
    });
}

/// A holder that dies, and a producer that dies: who waits learns of it, or the job ends.
fn dies(wait: impl Fn(&WindowMutex, &WindowQueue<u64>) -> onesided::Error) {
    let outcome = support::job(3, &[], |world| {
        let mutex = WindowMutex::new(world, Rank(0)).unwrap();
        let queue = WindowQueue::<u64>::new(world, Rank(1), 1).unwrap();
        if world.rank() == 2 {
            let _held = mutex.lock().unwrap();
            world.signal(0);
            world.await_signal(1, 2);
            std::process::abort();
        }
        world.await_signal(0, 1);
        let comm = Rc::new(world.clone());
        delay(Event::MemSync(Site::ParkWaiter), move || comm.signal(1));
        let error = wait(&mutex, &queue);
        assert_eq!(error.class(), ErrorClass::ProcFailed, "{error}");
    });
    let Some(outcome) = outcome else { return };
    assert!(!outcome.status.success(), "{}", outcome.output);
    assert!(outcome.output.contains("rank 2"), "{}", outcome.output);
}

#[test]
fn the_death_of_a_holder_ends_the_wait() {
    dies(|mutex, _| mutex.lock().err().unwrap());
}

#[test]
fn a_death_ends_the_wait_for_an_item() {
    dies(|_, queue| queue.pop().unwrap_err());
}
