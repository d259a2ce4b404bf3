//! Operations that take effect as late as MPI permits, in Rust: at the target by the call that completes them there; in this
//! process at once, unless the engine is given a buffer for longer.

use crate::support::job;
use onesided::engine::{ExposedBytes, Layout, Origin, OriginMut, Win};
use onesided::{Comm, Datatype, Op, Rank, Request, WindowOptions};
use std::path::{Path, PathBuf};

/// What a result has before it is delivered.
const CANARY: u32 = 0xeeee_eeee;

/// A window in which the second rank has 16 elements: the first one is at displacement `first`, and the next at as many more
/// as `unit`.
struct Elements {
    win: Win,
    first: u64,
    unit: u64,
}

impl Elements {
    fn at(&self, element: u64) -> u64 {
        self.first + element * self.unit
    }
}

/// A window of both ranks, in a lock_all epoch.
fn window(world: &Comm, is_dynamic: bool) -> Elements {
    let options = WindowOptions::new().notifications(1);
    let win = match is_dynamic {
        true => options.create_dynamic_bytes(world),
        false => options.allocate_bytes(world, 64, 4),
    };
    let win = win.expect("there is memory");
    let (mut first, unit) = ([0], if is_dynamic { 4 } else { 1 });
    if is_dynamic && world.rank() == 1 {
        let memory: *mut u8 = vec![0u64; 8].leak().as_mut_ptr().cast();
        // SAFETY: the memory lives as long as the process, and is used through the window alone.
        let exposed = unsafe { ExposedBytes::new(memory, 64) };
        win.attach(exposed).expect("it is attached nowhere");
        first = [memory.addr() as u64];
    }
    world.broadcast(&mut first, Rank(1)).expect("all ranks live");
    win.lock_all().expect("no epoch is open");
    Elements { win, first: first[0], unit }
}

/// The second rank's elements, when both ranks have come here.
fn seen(world: &Comm, elements: &Elements) -> [u32; 4] {
    let mut found = [0; 4];
    world.barrier().expect("all ranks live");
    if world.rank() == 1 {
        elements.win.sync();
        elements.win.load(elements.at(0), &mut found).expect("they are in the part");
    }
    world.barrier().expect("all ranks live");
    found
}

fn end(win: Win) {
    win.unlock_all().expect("it is locked");
    win.free().expect("no epoch is open");
}

/// Runs `body` where operations take effect late; the job has conflicts or not.
fn late(body: impl FnOnce(&Comm), has_conflicts: bool) {
    if let Some(outcome) = job(2, &["--check=late,report"], body) {
        assert!(outcome.status.success(), "{}", outcome.output);
        let found = outcome.output.contains("onesided: conflict");
        assert_eq!(found, has_conflicts, "{}", outcome.output);
    }
}

fn nothing_is_visible(is_dynamic: bool) {
    let body = move |world: &Comm| {
        let elements = window(world, is_dynamic);
        let (win, at) = (&elements.win, |element| elements.at(element));
        if world.rank() == 0 {
            let mut value = [5u32];
            win.put(&value, Rank(1), at(0)).expect("it is locked");
            win.accumulate(&value, Op::Sum, Rank(1), at(1)).expect("it is locked");
            // The slices are the program's again.
            value[0] = 6;
            win.flush_local(Rank(1)).expect("it is locked");
            let request = win.rput(&value, Rank(1), at(2)).expect("it is locked");
            request.wait();
        }
        let found = seen(world, &elements);
        assert_eq!(found, [0; 4]);
        if world.rank() == 0 {
            win.flush(Rank(1)).expect("it is locked");
        }
        let found = seen(world, &elements);
        let expected = if world.rank() == 1 { [5, 5, 6, 0] } else { [0; 4] };
        assert_eq!(found, expected);
        end(elements.win);
    };
    late(body, true);
}

fn what_is_returned_is_there(is_dynamic: bool) {
    let body = move |world: &Comm| {
        let elements = window(world, is_dynamic);
        let (win, at) = (&elements.win, |element| elements.at(element));
        if world.rank() == 0 {
            let (target, mut found) = (Rank(1), [1u32]);
            win.get(&mut found, target, at(3)).expect("it is locked");
            assert_eq!(found, [0]);
            win.accumulate(&[5u32], Op::Sum, target, at(0)).expect("it is locked");
            win.accumulate(&[2u32], Op::Prod, target, at(0)).expect("it is locked");
            // Behind the accumulates of this rank.
            let mut before = 0u32;
            win.fetch_and_op(&1, &mut before, Op::Sum, target, at(0)).expect("it is locked");
            assert_eq!(before, 10);
            win.accumulate(&[1u32], Op::Replace, target, at(0)).expect("it is locked");
            win.compare_and_swap(&7u32, &1, &mut before, target, at(0)).expect("it is locked");
            assert_eq!(before, 1);
            win.put(&[8u32], target, at(1)).expect("it is locked");
            win.put_notify(&[9u32], target, at(2), 0).expect("it is locked");
        } else {
            win.wait_notify(0, 1).expect("it has a counter");
            let mut found = [0u32; 2];
            win.load(at(1), &mut found).expect("they are in the part");
            assert_eq!(found, [8, 9]);
        }
        end(elements.win);
    };
    late(body, false);
}

fn a_buffer_is_used(is_dynamic: bool) {
    let body = move |world: &Comm| {
        let elements = window(world, is_dynamic);
        let (win, at) = (&elements.win, |element| elements.at(element));
        if world.rank() == 0 {
            let (target, single) = (Rank(1), Layout::new(1, Datatype::U32));
            let (mut values, mut results) = ([3u32, 4], [0u32; 3]);
            let (from, into) = (&raw mut values, &raw mut results);
            // SAFETY: the array lives until the epoch has ended, and is used through this address alone.
            let origin = |k: usize| unsafe {
                Origin::lasting(from.cast::<u32>().wrapping_add(k).cast(), 1, Datatype::U32)
            };
            // SAFETY: as above.
            let result = |k: usize| unsafe {
                OriginMut::lasting(into.cast::<u32>().wrapping_add(k).cast(), 1, Datatype::U32)
            };
            // SAFETY: as above.
            let found = || unsafe { into.read() };
            win.put_layout(origin(0), target, at(0), single).expect("it is locked");
            let mut requests =
                [win.rput_layout(origin(1), target, at(1), single).expect("it is locked")];
            Request::wait_all(&mut requests);
            // SAFETY: as above.
            unsafe { from.write([5, 6]) };
            win.flush(target).expect("it is locked");
            win.get_layout(result(0), target, at(0), single).expect("it is locked");
            win.get_layout(result(1), target, at(1), single).expect("it is locked");
            win.fetch_and_op_untyped(origin(0), result(2), Op::NoOp, target, at(2))
                .expect("it is locked");
            assert_eq!(found(), [CANARY; 3]);
            win.flush_local_all().expect("it is locked");
            // The second one was read by the end of its request, the first one by the flush.
            assert_eq!(found(), [5, 4, 0]);
        }
        end(elements.win);
    };
    late(body, false);
}

/// Orders the two ranks without a call of the library: a file for each step.
fn step(number: u32) -> PathBuf {
    let name = format!("late-{}-{number}", std::os::unix::process::parent_id());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn take_step(number: u32) {
    std::fs::write(step(number), "").expect("the folder exists");
}

fn await_step(number: u32) {
    while !step(number).exists() {
        std::thread::yield_now();
    }
    std::fs::remove_file(step(number)).expect("it is there");
}

/// A fetch orders nothing behind an accumulate of the other rank that has no effect yet.
fn an_accumulate_that_waits_orders_nothing(is_short: bool) {
    let body = move |world: &Comm| {
        let elements = window(world, false);
        let (win, at) = (&elements.win, |element| elements.at(element));
        // One element is in one granule, and four are in several.
        let count = if is_short { 1 } else { 4 };
        let (values, mut found) = ([1u32; 4], [0u32; 4]);
        let mut word = [0u32];
        if world.rank() == 0 {
            win.put(&[5u32], Rank(1), at(0)).expect("it is locked");
            win.flush(Rank(1)).expect("it is locked");
            let origin = &values[..count];
            win.accumulate(origin, Op::Sum, Rank(1), at(7)).expect("it is locked");
            take_step(1);
            await_step(2);
        } else {
            await_step(1);
            let into = &mut found[..count];
            win.get_accumulate(&[], into, Op::NoOp, Rank(1), at(7)).expect("it is locked");
            win.flush(Rank(1)).expect("it is locked");
            win.get(&mut word, Rank(1), at(0)).expect("it is locked");
            win.flush(Rank(1)).expect("it is locked");
            take_step(2);
        }
        end(elements.win);
    };
    late(body, true);
}

#[test]
fn a_short_accumulate_that_waits_orders_nothing() {
    an_accumulate_that_waits_orders_nothing(true);
}

#[test]
fn a_long_accumulate_that_waits_orders_nothing() {
    an_accumulate_that_waits_orders_nothing(false);
}

#[test]
fn without_a_flush_nothing_is_visible() {
    nothing_is_visible(false);
}

#[test]
fn what_a_call_returns_is_there() {
    what_is_returned_is_there(false);
}

#[test]
fn a_buffer_that_lasts_is_used_until_the_completion() {
    a_buffer_is_used(false);
}

#[test]
fn nothing_is_visible_in_a_dynamic_window() {
    nothing_is_visible(true);
}

#[test]
fn what_a_call_on_a_dynamic_window_returns_is_there() {
    what_is_returned_is_there(true);
}

#[test]
fn a_buffer_is_used_until_the_completion_in_a_dynamic_window() {
    a_buffer_is_used(true);
}
