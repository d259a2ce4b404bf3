//! Updates of one element and of many exclude each other where they must, and nowhere
//! else (`src/sync/shards.rs`): ranks are held up in the middle, by delay points.
#![cfg(feature = "test-hooks")]
#![allow(unsafe_code, reason = "names buffers of layouts")]

use crate::support::interleave::{before, free, notify, notify_when_asleep, words};
use crate::support::{needs_segment, spmd};
use onesided::engine::{Layout, Origin, OriginMut, Win};
use onesided::hooks::{Event, Site, Step};
use onesided::{CommittedDatatype, Datatype, DerivedDatatype, Op, Rank};
use std::rc::Rc;

/// Raised by a rank that is in the middle.
const WITHIN: usize = 0;
/// Raised by the other, which lets it go on.
const GO_ON: usize = 1;
/// Many elements, with a middle.
const MANY: usize = 1_000;
const TARGET: Rank = Rank(0);

fn fetch(win: &Win, disp: u64) -> u64 {
    let mut old = 0;
    win.fetch_and_op(&1, &mut old, Op::Sum, TARGET, disp).unwrap();
    old
}

fn fetch_many(win: &Win) -> Vec<u64> {
    let mut old = vec![0; MANY];
    win.get_accumulate(&[1; MANY], &mut old, Op::Sum, TARGET, 0).unwrap();
    old
}

/// Fetches and adds every other element.
fn fetch_every_other(win: &Win) -> Vec<u64> {
    let (ones, mut old) = ([1u64; MANY], vec![0u64; MANY]);
    let every_other = DerivedDatatype::vector(MANY, 1, 2, Datatype::U64).unwrap().commit();
    let words: &CommittedDatatype = Datatype::U64.into();
    // SAFETY: 1. and 2. the elements of an array.
    let origin = unsafe { Origin::new(ones.as_ptr().cast(), MANY, words) };
    // SAFETY: as above, of a vector that no other thread has.
    let result = unsafe { OriginMut::new(old.as_mut_ptr().cast(), MANY, words) };
    let layout = Layout::new(1, &every_other);
    win.get_accumulate_layout(origin, result, Op::Sum, TARGET, 0, layout).unwrap();
    old
}

/// Rank 0 is held up before `event`, inside `first`; meanwhile rank 1 calls `second`.
fn while_held(event: Event, first: impl FnOnce(&Rc<Win>), second: impl FnOnce(&Rc<Win>)) {
    if needs_segment("locks of its shards") {
        return;
    }
    spmd(2, |world| {
        let win = words(world, 20_000);
        win.lock_all().unwrap();
        // The first update of a thread takes the slow way, to an announcement of its own.
        fetch(&win, 19_999);
        world.barrier().unwrap();
        if world.rank() == 0 {
            before(&win, event, |win| {
                win.comm().signal(WITHIN);
                win.comm().await_signal(GO_ON, 1);
            });
            first(&win);
        } else {
            world.await_signal(WITHIN, 1);
            second(&win);
        }
        win.unlock_all().unwrap();
        world.barrier().unwrap();
        free(win);
    });
}

#[test]
fn many_wait_for_one_that_is_announced() {
    let one = |win: &Rc<Win>| assert_eq!(fetch(win, 7), 0);
    while_held(Event::MemSync(Site::ShardLook), one, |win| {
        notify_when_asleep(win, GO_ON);
        assert_eq!(fetch_many(win)[7], 1, "many were updated before the one that was there");
    });
}

#[test]
fn one_waits_for_many() {
    let many = |win: &Rc<Win>| assert_eq!(fetch_many(win), [0; MANY]);
    while_held(Event::Step(Step::MidAccumulate), many, |win| {
        notify(win, Event::MemSync(Site::ParkBarrier), GO_ON);
        assert_eq!(fetch(win, MANY as u64 - 1), 1, "one was updated before many were");
    });
}

#[test]
fn a_layout_of_many_waits_for_one_that_is_announced() {
    let one = |win: &Rc<Win>| assert_eq!(fetch(win, 6), 0);
    while_held(Event::MemSync(Site::ShardLook), one, |win| {
        notify_when_asleep(win, GO_ON);
        assert_eq!(fetch_every_other(win)[3], 1, "many were updated before the one there");
    });
}

#[test]
fn one_waits_for_a_layout_of_many() {
    let many = |win: &Rc<Win>| assert_eq!(fetch_every_other(win), [0; MANY]);
    while_held(Event::Step(Step::MidAccumulate), many, |win| {
        notify(win, Event::MemSync(Site::ParkBarrier), GO_ON);
        assert_eq!(fetch(win, 2 * MANY as u64 - 2), 1, "one was updated before many were");
    });
}

#[test]
fn many_wait_for_many() {
    let many = |win: &Rc<Win>| assert_eq!(fetch_many(win), [0; MANY]);
    while_held(Event::Step(Step::MidAccumulate), many, |win| {
        notify(win, Event::MemSync(Site::ParkBarrier), GO_ON);
        assert_eq!(fetch_many(win), [1; MANY]);
    });
}

/// Eighteen thousand words on, there is another shard.
#[test]
fn other_parts_of_the_window_wait_for_nobody() {
    let many = |win: &Rc<Win>| assert_eq!(fetch_many(win), [0; MANY]);
    while_held(Event::Step(Step::MidAccumulate), many, |win| {
        assert_eq!(fetch(win, 18_000), 0);
        let more = [1u64; MANY];
        win.accumulate(&more, Op::Sum, TARGET, 17_500).unwrap();
        assert_eq!(fetch(win, 18_000), 2);
        win.comm().signal(GO_ON);
    });
}

/// Programs update a small struct as bytes. Single updates between them open its shard again.
#[test]
fn sixteen_aligned_bytes_are_whole() {
    const TIMES: u8 = 250;
    spmd(2, |world| {
        let win = words(world, 100);
        win.lock_all().unwrap();
        world.barrier().unwrap();
        for round in 0..40 {
            for k in 0..TIMES {
                if world.rank() == 0 {
                    win.accumulate(&[k; 16], Op::Replace, TARGET, 2).unwrap();
                } else {
                    let mut seen = [0u8; 16];
                    win.get_accumulate(&[], &mut seen, Op::NoOp, TARGET, 2).unwrap();
                    assert_eq!(seen, [seen[0]; 16], "round {round}");
                }
                if k % 50 == 0 {
                    for _ in 0..20 {
                        fetch(&win, 50);
                    }
                }
            }
        }
        world.barrier().unwrap();
        let mut count = 0;
        win.fetch_and_op(&0, &mut count, Op::NoOp, TARGET, 50).unwrap();
        assert_eq!(count, 2 * 40 * 5 * 20, "a single update is lost");
        win.unlock_all().unwrap();
        world.barrier().unwrap();
        free(win);
    });
}

/// Sixteen elements from each place of a shard on, by both ranks: some of them lie in two shards.
#[test]
fn updates_of_two_shards_are_exact() {
    const WORDS: usize = 9_000;
    const STRIDE: usize = 8;
    const MANY: usize = 2 * STRIDE;
    spmd(2, |world| {
        let win = words(world, (WORDS + MANY) as u64);
        win.lock_all().unwrap();
        world.barrier().unwrap();
        for at in (0..WORDS).step_by(STRIDE) {
            let (ones, mut before) = ([1u64; MANY], [0; MANY]);
            win.accumulate(&ones, Op::Sum, TARGET, at as u64).unwrap();
            // Opens a shard again, and must not be lost beside the other rank's long update.
            fetch(&win, at as u64 + STRIDE as u64);
            win.get_accumulate(&ones, &mut before, Op::Sum, TARGET, at as u64).unwrap();
        }
        world.barrier().unwrap();
        let mut sums = vec![0; WORDS];
        win.get_accumulate(&[], &mut sums, Op::NoOp, TARGET, 0).unwrap();
        for (at, sum) in sums.into_iter().enumerate() {
            let (of_many, of_one) =
                (if at < STRIDE { 2 } else { 4 }, at >= STRIDE && at % STRIDE == 0);
            assert_eq!(sum, 2 * (of_many + u64::from(of_one)), "element {at}");
        }
        win.unlock_all().unwrap();
        world.barrier().unwrap();
        free(win);
    });
}
