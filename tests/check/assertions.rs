//! Assertions that are not true, and accumulates with operations that the program has excluded.

use crate::support::job;
use onesided::engine::Win;
use onesided::{Comm, FenceAssert, Group, Info, LockType, Op, PostAssert, Rank, WindowOptions};

pub fn window(world: &Comm) -> Win {
    WindowOptions::new().allocate_bytes(world, 64, 1).expect("memory")
}

fn store(win: &Win) {
    let at = win.base().wrapping_add(16);
    // SAFETY: the part has 64 bytes.
    let before = unsafe { at.read_volatile() };
    // SAFETY: as above.
    unsafe { at.write_volatile(before ^ 1) };
}

pub fn found(world: &Comm) -> u64 {
    let found = world.conflicts().expect("the job is checked").times;
    world.barrier().expect("all ranks live");
    found
}

pub fn group(world: &Comm, rank: u32) -> Group {
    world.group().incl(&[rank]).expect("a rank of the world")
}

/// A job of two ranks; the lines of its reports, without those of the launcher.
pub fn reports(body: impl Fn(&Comm)) -> Option<(String, Option<i32>)> {
    let outcome = job(2, &["--check"], body)?;
    let lines =
        outcome.output.lines().map(|line| line.split_once("] ").map_or(line, |(_, rest)| rest));
    let lines = lines.skip_while(|line| !line.starts_with("onesided: "));
    Some((lines.collect::<Vec<_>>().join("\n"), outcome.status.code()))
}

#[test]
fn a_store_before_a_fence_with_nostore() {
    let outcome = reports(|world| {
        let win = window(world);
        win.fence().expect("no epoch is open");
        store(&win);
        win.fence().expect("a fence epoch is open");
        // The store was before the latest fence.
        win.fence_with(FenceAssert::NOSTORE).expect("a fence epoch is open");
        assert_eq!(found(world), 0);
        if world.rank() == 1 {
            store(&win);
        }
        // Does not synchronise the window.
        world.barrier().expect("all ranks live");
        win.fence_with(FenceAssert::NOSTORE | FenceAssert::NOSUCCEED)
            .expect("a fence epoch is open");
        assert_eq!(found(world), 1);
        win.free().expect("no epoch is open");
    });
    let Some((lines, code)) = outcome else { return };
    assert_eq!(code, Some(124), "{lines}");
    let expected = [
        "wrong assertion in window '#0', bytes 16 to 16 of rank 1:\n  rank 1: fence at tests/check/assertions.rs:",
        "\n  rank 1: store between barrier at tests/check/assertions.rs:",
        "\n  rank 1 asserts MPI_MODE_NOSTORE, that it has not stored",
        "; the fence is correct without that assertion",
    ];
    expected.iter().for_each(|part| assert!(lines.contains(part), "{part}: {lines}"));
}

/// A store by a call, which the comparison of the part does not see.
#[test]
fn a_store_by_a_call_before_a_fence_with_nostore() {
    let outcome = reports(|world| {
        let win = window(world);
        win.fence().expect("no epoch is open");
        if world.rank() == 1 {
            win.store(8, &[1u32]).expect("it lies in the part");
        }
        win.fence_with(FenceAssert::NOSTORE).expect("a fence epoch is open");
        assert_eq!(found(world), 1);
        win.fence_with(FenceAssert::NOSTORE | FenceAssert::NOSUCCEED)
            .expect("a fence epoch is open");
        assert_eq!(found(world), 1);
        win.free().expect("no epoch is open");
    });
    let Some((lines, code)) = outcome else { return };
    assert_eq!(code, Some(124), "{lines}");
    let expected = [
        "wrong assertion in window '#0', bytes 8 to 11 of rank 1:\n  rank 1: fence at tests/check/assertions.rs:",
        "\n  rank 1: local access at tests/check/assertions.rs:",
    ];
    expected.iter().for_each(|part| assert!(lines.contains(part), "{part}: {lines}"));
}

#[test]
fn a_put_behind_a_fence_with_noput() {
    let outcome = reports(|world| {
        let (win, other) = (window(world), Rank(1 - world.rank().0));
        win.fence_with(FenceAssert::NOPUT).expect("no epoch is open");
        win.get(&mut [0u8; 4], other, 0).expect("a fence epoch is open");
        win.fence().expect("a fence epoch is open");
        win.put(&[1u8; 4], other, 0).expect("a fence epoch is open");
        let assert = if world.rank() == 0 { FenceAssert::NOPUT } else { FenceAssert::NONE };
        win.fence_with(assert).expect("a fence epoch is open");
        if world.rank() == 0 {
            win.accumulate(&[1u32], Op::Sum, other, 0).expect("a fence epoch is open");
        }
        win.fence().expect("a fence epoch is open");
        assert_eq!(found(world), 0);
        win.fence_with(assert).expect("a fence epoch is open");
        if world.rank() == 1 {
            win.accumulate(&[1u32], Op::Sum, other, 8).expect("a fence epoch is open");
        }
        win.fence_with(FenceAssert::NOPUT | FenceAssert::NOSTORE | FenceAssert::NOSUCCEED)
            .expect("a fence epoch is open");
        assert_eq!(found(world), 1);
        // The assertion is about the epoch of the fence.
        win.lock(LockType::Exclusive, other).expect("no epoch is open");
        win.put(&[1u8; 4], other, 0).expect("it is locked");
        win.unlock(other).expect("it is locked");
        assert_eq!(found(world), 1);
        win.free().expect("no epoch is open");
    });
    let Some((lines, code)) = outcome else { return };
    assert_eq!(code, Some(124), "{lines}");
    let expected = [
        "wrong assertion in window '#0', bytes 8 to 11 of rank 0:\n  rank 0: fence at tests/check/assertions.rs:",
        "\n  rank 1: accumulate at tests/check/assertions.rs:",
        "\n  rank 0 asserts MPI_MODE_NOPUT, that no put",
    ];
    expected.iter().for_each(|part| assert!(lines.contains(part), "{part}: {lines}"));
}

#[test]
fn assertions_of_post() {
    let outcome = reports(|world| {
        let (win, own) = (window(world), world.rank().0);
        let expose = |assert: PostAssert, access: &dyn Fn(&Win)| {
            if own == 0 {
                win.post_with(&group(world, 1), assert).expect("not exposed");
                win.wait().expect("exposed");
            } else {
                win.start(&group(world, 0)).expect("no epoch is open");
                access(&win);
                win.complete().expect("started");
            }
            found(world)
        };
        let put = |win: &Win| win.put(&[1u8; 4], Rank(0), 0).expect("started");
        let get = |win: &Win| win.get(&mut [0u8; 4], Rank(0), 0).expect("started");
        assert_eq!(expose(PostAssert::NOPUT, &get), 0);
        assert_eq!(expose(PostAssert::NONE, &put), 0);
        assert_eq!(expose(PostAssert::NOSTORE, &put), 0);
        assert_eq!(expose(PostAssert::NOPUT, &put), 1);
        assert_eq!(expose(PostAssert::NONE, &put), 1);
        if own == 0 {
            store(&win);
        }
        assert_eq!(expose(PostAssert::NOSTORE, &put), 2);
        win.free().expect("no epoch is open");
    });
    let Some((lines, code)) = outcome else { return };
    assert_eq!(code, Some(124), "{lines}");
    let expected = [
        "  rank 0: post\n  rank 1: put at tests/check/assertions.rs:",
        "  rank 0 asserts MPI_MODE_NOPUT",
        "  rank 0: post\n  rank 0: store between barrier at tests/check/assertions.rs:",
        "  rank 0 asserts MPI_MODE_NOSTORE",
    ];
    expected.iter().for_each(|part| assert!(lines.contains(part), "{part}: {lines}"));
}

#[test]
fn operations_that_the_program_has_excluded() {
    let outcome = job(2, &["--check=report"], |world| {
        let mut before = 0;
        let mut conflicts = |ops: Option<&str>, first: Op, second: Op| {
            let mut info = Info::new();
            if let Some(ops) = ops {
                info.set("accumulate_ops", ops).expect("a legal key");
            }
            let win =
                WindowOptions::new().info(&info).allocate_bytes(world, 64, 1).expect("memory");
            win.fence().expect("no epoch is open");
            let op = if world.rank() == 0 { first } else { second };
            win.get_accumulate(&[3u32], &mut [0], op, Rank(0), 8).expect("a fence epoch is open");
            // A compare_and_swap has no operation.
            win.compare_and_swap(&1u32, &0, &mut 0, Rank(0), 8).expect("a fence epoch is open");
            win.fence_with(FenceAssert::NOSUCCEED).expect("a fence epoch is open");
            win.free().expect("no epoch is open");
            let (now, last) = (found(world), before);
            before = now;
            now > last
        };
        for ops in ["same_op", "same_op_no_op"] {
            assert!(!conflicts(Some(ops), Op::Sum, Op::Sum), "{ops}");
            assert!(!conflicts(Some(ops), Op::NoOp, Op::NoOp), "{ops}");
            assert_eq!(conflicts(Some(ops), Op::Sum, Op::NoOp), ops == "same_op");
            assert_eq!(conflicts(Some(ops), Op::NoOp, Op::Sum), ops == "same_op");
            assert!(conflicts(Some(ops), Op::Sum, Op::Prod), "{ops}");
            assert!(conflicts(Some(ops), Op::Replace, Op::Sum), "{ops}");
        }
        assert!(!conflicts(None, Op::Sum, Op::Prod));
        assert!(!conflicts(None, Op::NoOp, Op::Replace));
    });
    let Some(outcome) = outcome else { return };
    assert!(outcome.status.success(), "{}", outcome.output);
    let reason = |line: &str| line.contains("with MPI_PROD") && line.contains("with MPI_SUM");
    assert!(outcome.output.lines().any(reason), "{}", outcome.output);
}
