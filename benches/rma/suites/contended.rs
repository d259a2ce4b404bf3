//! All ranks want the same word or the same lock. Times are per operation of one rank while all
//! are at it: divide by the number of ranks for the time between any two.

use crate::by_hand::{Ticket, Unfair, Wait};
use crate::freed::Freed;
use crate::measure::{Case, measure};
use crate::pages::Pages;
use crate::pthread::Baseline;
use crate::{Options, limits};
use onesided::{Access, Comm, LockType, Op, Rank, Window};
use onesided_tools::{DistributedCounter, WindowMutex, WindowQueue};
use raw_sync::locks::{Mutex, RwLock};

const TARGET: Rank = Rank(0);
/// Several time slices of a processor, so that the ranks do meet.
const LONGER: u32 = 50;

pub const ADD: &str = "limit: locked add, contended";
const SUMS: &str = "limit: compare-exchange per double, contended";
const DOUBLES: usize = 16;
const SWAP: &str = "limit: locked compare-exchange, contended";
pub const LOCKS: &str = "limit: unfair lock by hand, contended|limit: ticket lock by hand, contended\
                     |baseline: pthread mutex, contended|baseline: pthread rwlock, contended";

pub fn run(world: &Comm, options: &Options) {
    let new = || Freed::new(Window::<u64>::allocate(world, 512));
    let (plain, locked) = (new(), new());
    let pages = Pages::locate(world, &plain, 0);
    let mutex = Baseline::new::<Mutex>(world, pages, 128);
    let rwlock = Baseline::new::<RwLock>(world, pages, 256);
    let wait = Wait::busy(world.size());
    let (unfair, ticket) = (Unfair::new(pages, 384, wait), Ticket::new(pages, 400, wait));
    let unfair = |n| by_hand(n, pages, 432, || unfair.lock(), || unfair.unlock());
    let ticket = |n| by_hand(n, pages, 448, || ticket.lock(), || ticket.unlock());
    let all = |what, run| together(world, what, 8, run);
    // In order, and each of them the turn of a rank that may not be running: where ranks share a
    // processor the ticket lock is the slowest by far, and takes minutes beside a foreign load.
    let mut cases = vec![
        all(ADD, Box::new(|n| limits::locked_add(pages, n))),
        fetch_and_op(world, new()).against(ADD),
        all(SWAP, Box::new(|n| limits::compare_exchange_any(pages, n))),
        compare_and_swap(world, new()).against(SWAP),
        together(world, SUMS, 128, Box::new(|n| limits::add_doubles(pages, DOUBLES, n))),
        accumulate(world).against(SUMS),
        all("baseline: pthread mutex, contended", Box::new(|n| mutex.increments(pages, 32, n))),
        all("baseline: pthread rwlock, contended", Box::new(|n| rwlock.increments(pages, 48, n))),
        all("limit: unfair lock by hand, contended", Box::new(unfair)),
        all(
            "lock + increment + unlock, contended",
            Box::new(|n| (0..n).for_each(|_| increment(&locked))),
        )
        .against(LOCKS),
        all(
            "lock shared + get + unlock, contended",
            Box::new(|n| (0..n).for_each(|_| look(&locked))),
        ),
        mutex_increment(world, new()).against("lock + increment + unlock, contended"),
        push_and_pop(world),
    ];
    if wait == Wait::Spin {
        cases.push(all("limit: ticket lock by hand, contended", Box::new(ticket)));
    }
    let cases = cases.into_iter().map(|case| case.longer(LONGER)).collect();
    measure(Some(world), world.size(), cases, options);
    // What ranks do by themselves, apart from what they wait for each other in.
    measure(Some(world), world.size(), counts(world), options);
}

/// Something that all ranks do, until all have done it.
fn together<'a>(
    world: &'a Comm,
    what: &'static str,
    bytes: u64,
    mut run: Box<dyn FnMut(u32) + 'a>,
) -> Case<'a> {
    let run = move |n| {
        run(n);
        world.barrier().expect("the job goes on");
    };
    Case::new(what, bytes, run)
}

/// `n` increments of a word under a lock by hand.
fn by_hand(n: u32, pages: Pages, at: usize, lock: impl Fn(), unlock: impl Fn()) {
    for _ in 0..n {
        lock();
        limits::increment(pages, at);
        unlock();
    }
}

/// What [`increment`] does, in an epoch of lock_all and under a mutex.
fn mutex_increment<'a>(world: &'a Comm, mut window: Freed<Window<u64>>) -> Case<'a> {
    let mutex = Freed::new(WindowMutex::new(world, TARGET));
    let run = move |n| {
        let epoch = window.lock_all().expect("lock_all");
        for _ in 0..n {
            let held = mutex.lock().expect("lock");
            let mut value = [0];
            epoch.get_flush(&mut value, TARGET, 0).expect("get");
            epoch.put_flush(&[value[0] + 1], TARGET, 0).expect("put");
            held.unlock().expect("unlock");
        }
        epoch.unlock_all().expect("unlock_all");
        world.barrier().expect("the job goes on");
    };
    Case::new("mutex lock + increment + unlock, contended", 8, run)
}

/// Each rank pushes an item and pops one, which is mostly another rank's.
fn push_and_pop<'a>(world: &'a Comm) -> Case<'a> {
    let queue = Freed::new(WindowQueue::<u64>::new(world, TARGET, 64));
    let run = move |n| {
        for i in 0..n {
            queue.push(i.into()).expect("push");
            queue.pop().expect("pop");
        }
        world.barrier().expect("the job goes on");
    };
    Case::new("queue push + pop, contended", 8, run)
}

fn counts<'a>(world: &'a Comm) -> Vec<Case<'a>> {
    let new = || Freed::new(DistributedCounter::new(world));
    let (sum, tickets) = (new(), new());
    let add = move |n| {
        (0..n).for_each(|_| sum.add(1).expect("add"));
        world.barrier().expect("the job goes on");
    };
    let take = move |n| {
        for _ in 0..n {
            tickets.take_tickets(1).expect("take_tickets");
        }
        world.barrier().expect("the job goes on");
    };
    vec![
        Case::new("counter add, by all", 8, add).longer(LONGER),
        Case::new("counter take_tickets, by all", 8, take).longer(LONGER),
    ]
}

fn increment(window: &Window<u64>) {
    let epoch = window.lock(LockType::Exclusive, TARGET).expect("lock");
    let mut value = [0];
    let batch = epoch.batch();
    batch.get(&mut value, TARGET, 0).expect("get");
    batch.flush_local().expect("flush_local");
    value[0] += 1;
    let batch = epoch.batch();
    batch.put(&value, TARGET, 0).expect("put");
    batch.flush_local().expect("flush_local");
    epoch.unlock().expect("unlock");
}

/// Reads a word under a shared lock.
fn look(window: &Window<u64>) {
    let epoch = window.lock(LockType::Shared, TARGET).expect("lock");
    let mut value = [0];
    let batch = epoch.batch();
    batch.get(&mut value, TARGET, 0).expect("get");
    batch.flush_local().expect("flush_local");
    epoch.unlock().expect("unlock");
}

fn fetch_and_op<'a>(world: &'a Comm, mut window: Freed<Window<u64>>) -> Case<'a> {
    let run = move |n| {
        let epoch = window.lock_all().expect("lock_all");
        for _ in 0..n {
            epoch.fetch_and_op_flush(1, Op::Sum, TARGET, 0).expect("fetch_and_op");
        }
        epoch.unlock_all().expect("unlock_all");
        world.barrier().expect("the job goes on");
    };
    Case::new("fetch_and_op sum u64 + flush, contended", 8, run)
}

fn compare_and_swap<'a>(world: &'a Comm, mut window: Freed<Window<u64>>) -> Case<'a> {
    let run = move |n| {
        let epoch = window.lock_all().expect("lock_all");
        let mut value = 0;
        for _ in 0..n {
            value = epoch.compare_and_swap_flush(value + 1, value, TARGET, 0).expect("swap");
        }
        epoch.unlock_all().expect("unlock_all");
        world.barrier().expect("the job goes on");
    };
    Case::new("compare_and_swap u64 + flush, contended", 8, run)
}

/// Sums of 16 doubles at the same place.
fn accumulate(world: &Comm) -> Case<'_> {
    let mut window = Freed::new(Window::<f64>::allocate(world, 512));
    let run = move |n| {
        let ones = [1.0; DOUBLES];
        let epoch = window.lock_all().expect("lock_all");
        let batch = epoch.batch();
        for _ in 0..n {
            batch.accumulate(&ones, Op::Sum, TARGET, 0).expect("accumulate");
        }
        batch.flush().expect("flush");
        epoch.unlock_all().expect("unlock_all");
        world.barrier().expect("the job goes on");
    };
    Case::new("accumulate sum of 16 f64, contended", 128, run)
}
