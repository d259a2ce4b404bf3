//! One refusal per error class: what it says, and that it changes nothing (MPI-2.2 §11.6.2).

use crate::support::spmd;
use onesided::{
    Access, Comm, Error, ErrorClass, FenceAssert, LockAssert, LockType, Op, PostAssert, Rank,
    StartAssert, Window, WindowOptions,
};

/// The part of every rank before and after a refusal.
const UNTOUCHED: [u64; 4] = [11, 22, 33, 44];

fn halo(world: &Comm) -> Window<u64> {
    let window: Window<u64> = WindowOptions::new().name("halo").allocate(world, 4).unwrap();
    window.store(0, &UNTOUCHED).unwrap();
    world.barrier().unwrap();
    window
}

/// Checks that the refusal has the class, and names the call, the window and the values.
fn says<T>(refused: Result<T, Error>, class: ErrorClass, words: &[&str]) {
    let error = refused.err().expect("a refusal");
    assert_eq!(error.class(), class, "{error}");
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "'{word}' is missing: {text}");
    }
    assert!(!text.contains('\n'), "one sentence: {text}");
    assert!(format!("{error:?}").starts_with(&text), "Debug is for people too");
}

/// On a window after a refusal: nothing has changed, and the job goes on.
fn finish(mut window: Window<u64>) {
    window.comm().barrier().unwrap();
    let mut found = [0; 4];
    window.load(0, &mut found).unwrap();
    assert_eq!(found, UNTOUCHED);
    window.comm().barrier().unwrap();
    let (n, me) = (window.comm().size(), window.comm().rank());
    let epoch = window.fence(FenceAssert::NONE).unwrap();
    epoch.put(&[7], Rank((me + 1) % n), 3).unwrap();
    epoch.close(FenceAssert::NONE).unwrap();
    assert_eq!(window.load_one(3).unwrap(), 7);
    window.free().unwrap();
}

#[test]
fn range() {
    spmd(3, |world| {
        let mut window = halo(world);
        let class = ErrorClass::RmaRange;
        let me = format!("by rank {}", world.rank());
        let mut buffer = [0; 2];
        let epoch = window.lock_all(LockAssert::NONE).unwrap();
        let what = ["window 'halo'", "rank 1", "unit 8 bytes", "32 bytes", &me];
        for (disp, len, all) in [
            (4, 1, "8 bytes at displacement 4"),
            (3, 2, "16 bytes at displacement 3"),
            (u64::MAX, 1, "8 bytes at displacement 18446744073709551615"),
            (1 << 61, 2, "16 bytes at displacement 2305843009213693952"),
        ] {
            let (from, words) = (&[1, 2][..len], |call| [&[call, all][..], &what].concat());
            says(epoch.put(from, Rank(1), disp), class, &words("put on"));
            says(epoch.accumulate(from, Op::Sum, Rank(1), disp), class, &words("accumulate on"));
            let part = epoch.batch();
            says(part.get(&mut buffer[..len], Rank(1), disp), class, &words("get on"));
            drop(part);
            let part = epoch.batch();
            let refused = part.get_accumulate(from, &mut buffer[..len], Op::Sum, Rank(1), disp);
            says(refused, class, &words("get_accumulate on"));
            drop(part);
            assert_eq!(buffer, [0; 2]);
        }
        says(epoch.fetch_and_op_flush(1, Op::Sum, Rank(1), 4), class, &["fetch_and_op on", &me]);
        says(epoch.compare_and_swap_flush(1, 11, Rank(1), 4), class, &["compare_and_swap on"]);
        epoch.unlock_all().unwrap();
        says(window.load(4, &mut [0]), class, &["local access on window 'halo'", &me]);
        says(window.store(3, &[1, 2]), class, &["local access on window 'halo'", "16 bytes"]);
        finish(window);
    });
}

#[test]
fn rank() {
    spmd(2, |world| {
        let mut window = halo(world);
        let class = ErrorClass::Rank;
        for rank in [2, 3, 1000, u32::MAX - 1] {
            let number = rank.to_string();
            let what = ["window 'halo'", number.as_str(), "2 ranks"];
            let words = |call| [&[call][..], &what].concat();
            let locked = window.lock(LockType::Shared, Rank(rank), LockAssert::NONE);
            says(locked, class, &words("lock on"));
            says(window.size(Rank(rank)), class, &what);
            let epoch = window.lock_all(LockAssert::NONE).unwrap();
            says(epoch.put(&[1], Rank(rank), 0), class, &words("put on"));
            says(epoch.accumulate(&[1], Op::Sum, Rank(rank), 0), class, &words("accumulate on"));
            says(
                epoch.fetch_and_op_flush(1, Op::Sum, Rank(rank), 0),
                class,
                &words("fetch_and_op"),
            );
            says(epoch.flush(Rank(rank)), class, &words("flush on"));
            says(epoch.flush_local(Rank(rank)), class, &words("flush_local on"));
            epoch.unlock_all().unwrap();
        }
        finish(window);
    });
}

#[test]
fn rma_sync() {
    spmd(2, |world| {
        let window = halo(world);
        let class = ErrorClass::RmaSync;
        let one = window.lock(LockType::Shared, Rank(1), LockAssert::NONE).unwrap();
        let twice = window.lock(LockType::Shared, Rank(1), LockAssert::NONE);
        says(twice, class, &["lock on window 'halo'", "rank 1", "already"]);
        one.flush().unwrap();
        one.unlock().unwrap();
        finish(window);
    });
}

#[test]
fn rma_sync_of_a_target_that_the_epoch_does_not_reach() {
    spmd(3, |world| {
        let mut window = halo(world);
        let (me, class) = (world.rank(), ErrorClass::RmaSync);
        let (next, previous) = ((me + 1) % 3, (me + 2) % 3);
        let group = |rank: u32| world.group().incl(&[rank]).unwrap();
        let (mut access, mut exposure) = window.sides();
        let exposed = exposure.post(&group(previous), PostAssert::NONE).unwrap();
        let epoch = access.start(&group(next), StartAssert::NONE).unwrap();
        for outside in [me, previous] {
            let words = ["put on window 'halo'", &format!("rank {outside}"), "start"];
            says(epoch.put(&[1], Rank(outside), 0), class, &words);
        }
        epoch.put(&UNTOUCHED[..1], Rank(next), 0).unwrap();
        epoch.complete().unwrap();
        exposed.wait().unwrap();
        finish(window);
    });
}

#[test]
fn assertion() {
    spmd(2, |world| {
        let mut window = halo(world);
        let epoch = window.fence(FenceAssert::NONE).unwrap();
        epoch.put(&UNTOUCHED[2..3], Rank(0), 2).unwrap();
        let words = ["fence on window 'halo'", "MPI_MODE_NOPRECEDE", "issued operations"];
        says(epoch.fence(FenceAssert::NOPRECEDE), ErrorClass::Assert, &words);
        // The guard is gone, the epoch is not: a fence without the assertion ends it.
        window.fence(FenceAssert::NONE).unwrap().close(FenceAssert::NONE).unwrap();
        finish(window);
    });
}

#[test]
fn count() {
    spmd(2, |world| {
        let mut window = halo(world);
        let epoch = window.lock_all(LockAssert::NONE).unwrap();
        let mut result = [5; 3];
        for len in [0, 2, 4] {
            let batch = epoch.batch();
            let refused = batch.get_accumulate(&UNTOUCHED[..len], &mut result, Op::Sum, Rank(0), 0);
            let length = format!("{len} elements");
            let words =
                ["get_accumulate on window 'halo'", "origin buffer", &length, "3 are needed"];
            says(refused, ErrorClass::Count, &words);
        }
        assert_eq!(result, [5; 3]);
        epoch.unlock_all().unwrap();
        finish(window);
    });
}

#[test]
fn operation() {
    spmd(2, |world| {
        let mut window = halo(world);
        let class = ErrorClass::Op;
        let epoch = window.lock_all(LockAssert::NONE).unwrap();
        let words = ["accumulate on window 'halo'", "MPI_MAXLOC", "MPI_UINT64_T"];
        says(epoch.accumulate(&[1], Op::Maxloc, Rank(0), 0), class, &words);
        says(epoch.fetch_and_op_flush(1, Op::Minloc, Rank(0), 0), class, &["fetch_and_op on"]);
        epoch.unlock_all().unwrap();
        for op in [Op::Replace, Op::NoOp] {
            says(world.allreduce(&[1], op), class, &["allreduce by rank", op.name()]);
        }
        says(world.reduce(&[1.5], Op::Band, Rank(0)), class, &["reduce", "MPI_BAND", "MPI_DOUBLE"]);
        finish(window);
    });
}

#[test]
fn group() {
    spmd(2, |world| {
        let group = world.group();
        let class = ErrorClass::Group;
        says(group.incl(&[2]), class, &["rank 2", "group of 2"]);
        says(group.incl(&[0, 1, 0]), class, &["rank 0", "twice"]);
        says(group.excl(&[7]), class, &["rank 7"]);
        says(group.translate(&[9], &group), class, &["rank 9"]);
        says(group.incl(&[]).unwrap().incl(&[0]), class, &["rank 0", "group of 0"]);
    });
}

#[test]
fn root() {
    spmd(2, |world| {
        let class = ErrorClass::Root;
        for root in [2, u32::MAX] {
            let words = |call| [call, "by rank", "2 ranks"];
            says(world.broadcast(&mut [1], Rank(root)), class, &words("broadcast"));
            says(world.gather(&[1], Rank(root)), class, &words("gather"));
            says(world.reduce(&[1], Op::Sum, Rank(root)), class, &words("reduce"));
        }
        assert_eq!(world.allreduce(&[1], Op::Sum).unwrap(), [2]);
    });
}

#[test]
fn size_displacement_unit_and_memory() {
    spmd(2, |world| {
        let allocate = |bytes, unit| WindowOptions::new().allocate_bytes(world, bytes, unit);
        let by = format!("window allocate by rank {}", world.rank());
        says(allocate(u64::MAX, 1), ErrorClass::Size, &[&by, "18446744073709551615 bytes"]);
        says(allocate(8, 0), ErrorClass::Disp, &[&by, "displacement unit 0", "2^31-1"]);
        says(allocate(1 << 55, 1), ErrorClass::NoMem, &[&by, "needed", "available"]);
        finish(halo(world));
    });
}

#[test]
fn mismatch() {
    spmd(2, |world| {
        let refused = match world.rank() {
            0 => world.broadcast(&mut [1u8; 3], Rank(1)),
            _ => world.allgather(&[1u32]).map(drop),
        };
        let words =
            ["by rank", "broadcast of 3 MPI_UINT8_T, root 1", "allgather of 1 MPI_UINT32_T"];
        says(refused, ErrorClass::Arg, &words);
        finish(halo(world));
    });
}
