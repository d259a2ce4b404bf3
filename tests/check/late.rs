//! Operations that take effect as late as MPI permits, in Rust: at the target by the call that completes them there; in this
//! process at once, unless the engine is given a buffer for longer.

use crate::support::job;
use onesided::engine::{Layout, Origin, OriginMut, Win};
use onesided::{Comm, Datatype, Op, Rank, Request, WindowOptions};

/// What a result has before it is delivered.
const CANARY: u32 = 0xeeee_eeee;

fn window(world: &Comm) -> Win {
    let win = WindowOptions::new().notifications(1).allocate_bytes(world, 64, 4);
    let win = win.expect("there is memory");
    win.lock_all().expect("no epoch is open");
    win
}

/// The second rank's elements, when both ranks have come here.
fn seen(world: &Comm, win: &Win) -> [u32; 4] {
    let mut found = [0; 4];
    world.barrier().expect("all ranks live");
    if world.rank() == 1 {
        win.sync();
        win.load(0, &mut found).expect("they are in the part");
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

#[test]
fn without_a_flush_nothing_is_visible() {
    let body = |world: &Comm| {
        let win = window(world);
        if world.rank() == 0 {
            let mut value = [5u32];
            win.put(&value, Rank(1), 0).expect("it is locked");
            win.accumulate(&value, Op::Sum, Rank(1), 1).expect("it is locked");
            // The slices are the program's again.
            value[0] = 6;
            win.flush_local(Rank(1)).expect("it is locked");
            let request = win.rput(&value, Rank(1), 2).expect("it is locked");
            request.wait();
        }
        let found = seen(world, &win);
        assert_eq!(found, [0; 4]);
        if world.rank() == 0 {
            win.flush(Rank(1)).expect("it is locked");
        }
        let found = seen(world, &win);
        let expected = if world.rank() == 1 { [5, 5, 6, 0] } else { [0; 4] };
        assert_eq!(found, expected);
        end(win);
    };
    late(body, true);
}

#[test]
fn what_a_call_returns_is_there() {
    let body = |world: &Comm| {
        let win = window(world);
        if world.rank() == 0 {
            let (target, mut found) = (Rank(1), [1u32]);
            win.get(&mut found, target, 3).expect("it is locked");
            assert_eq!(found, [0]);
            win.accumulate(&[5u32], Op::Sum, target, 0).expect("it is locked");
            win.accumulate(&[2u32], Op::Prod, target, 0).expect("it is locked");
            // Behind the accumulates of this rank.
            let mut before = 0u32;
            win.fetch_and_op(&1, &mut before, Op::Sum, target, 0).expect("it is locked");
            assert_eq!(before, 10);
            win.accumulate(&[1u32], Op::Replace, target, 0).expect("it is locked");
            win.compare_and_swap(&7u32, &1, &mut before, target, 0).expect("it is locked");
            assert_eq!(before, 1);
            win.put(&[8u32], target, 1).expect("it is locked");
            win.put_notify(&[9u32], target, 2, 0).expect("it is locked");
        } else {
            win.wait_notify(0, 1).expect("it has a counter");
            let mut found = [0u32; 2];
            win.load(1, &mut found).expect("they are in the part");
            assert_eq!(found, [8, 9]);
        }
        end(win);
    };
    late(body, false);
}

#[test]
fn a_buffer_that_lasts_is_used_until_the_completion() {
    let body = |world: &Comm| {
        let win = window(world);
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
            win.put_layout(origin(0), target, 0, single).expect("it is locked");
            let mut requests =
                [win.rput_layout(origin(1), target, 1, single).expect("it is locked")];
            Request::wait_all(&mut requests);
            // SAFETY: as above.
            unsafe { from.write([5, 6]) };
            win.flush(target).expect("it is locked");
            win.get_layout(result(0), target, 0, single).expect("it is locked");
            win.get_layout(result(1), target, 1, single).expect("it is locked");
            win.fetch_and_op_untyped(origin(0), result(2), Op::NoOp, target, 2)
                .expect("it is locked");
            assert_eq!(found(), [CANARY; 3]);
            win.flush_local_all().expect("it is locked");
            // The second one was read by the end of its request, the first one by the flush.
            assert_eq!(found(), [5, 4, 0]);
        }
        end(win);
    };
    late(body, false);
}
