//! Operations that stay under way until a call completes them: what they do, that no buffer of the program
//! is used after its borrow, and how many flushes they take.
#![allow(unsafe_code, reason = "asserts NOCHECK in lock")]

use super::{part, relaunched, same_digests};
use crate::building::folder;
use crate::support::{NODE, Nodes, is_intel, mpich, mpiexec_on};
use onesided::prelude::*;
use onesided::{FenceAssert, LockAssert, Result, Shape};
use std::path::Path;
use std::process::Command;

const N: usize = 600;

/// What all ranks hold at the end.
fn shared(world: &Comm, window: &Window<u64>) -> Result<u64> {
    world.barrier()?;
    let mut mine = vec![0; window.size(world.rank())? / size_of::<u64>()];
    window.load(0, &mut mine)?;
    world.barrier()?;
    let hash = |hash: u64, value: &u64| (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3);
    Ok(world.allgather(&[mine.iter().fold(7, hash)])?.iter().fold(7, hash))
}

/// Operations of one rank on the same bytes take effect in the order of the calls.
fn in_order(world: &Comm) -> Result<u64> {
    let mut window = Window::<u64>::allocate(world, N)?;
    let next = Rank((world.rank().0 + 1) % world.size());
    let (first, second, three) = ([1, 2, 3, 4], [50, 60], [3]);
    let [mut a, mut b] = [[0; 4]; 2];
    let (mut before, mut old) = ([0; 2], [0; 1]);
    let epoch = window.fence()?;
    epoch.put(&first, next, 0)?;
    epoch.get(&mut a, next, 0)?;
    epoch.put(&second, next, 1)?;
    epoch.accumulate(&three, Op::Sum, next, 2)?;
    epoch.accumulate(&three, Op::Prod, next, 2)?;
    epoch.get_accumulate(&second, &mut before, Op::Sum, next, 1)?;
    epoch.fetch_and_op(&three[0], &mut old[0], Op::Replace, next, 3)?;
    epoch.put(&three, next, 0)?;
    epoch.get(&mut b, next, 0)?;
    epoch.close()?;
    assert_eq!((a, before, old), ([1, 2, 3, 4], [50, 189], [4]));
    assert_eq!(b, [3, 100, 249, 3]);
    let digest = shared(world, &window)?;
    window.free()?;
    Ok(digest)
}

/// More operations and more bytes than stay under way, and all sizes between.
fn many(world: &Comm) -> Result<u64> {
    let mut window = Window::<u64>::allocate(world, 40 * N)?;
    let me = u64::from(world.rank().0);
    let next = Rank((world.rank().0 + 1) % world.size());
    let values: Vec<u64> = (0..40 * N as u64).map(|i| i * 3 + me).collect();
    let mut got = vec![0; 40 * N];
    let mut epoch = window.fence()?;
    epoch.step(|step| {
        for (i, value) in values.iter().enumerate().take(N) {
            step.put(std::slice::from_ref(value), next, i)?;
        }
        let mut rest = &values[N..];
        for size in [1, 100, 1000, 8191, 8192, 8193] {
            let (now, later) = rest.split_at(size.min(rest.len()));
            step.put(now, next, values.len() - rest.len())?;
            rest = later;
        }
        Ok(())
    })?;
    epoch.step(|step| {
        let mut rest = &mut got[..];
        for size in [1; N].into_iter().chain([8193, 8192, 8191, 64, 7]).cycle() {
            let at = 40 * N - rest.len();
            let (now, later) = rest.split_at_mut(size.min(40 * N - at));
            step.get(now, next, at)?;
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        Ok(())
    })?;
    epoch.step(|step| {
        let even = Shape::strided(300, 1, 2)?;
        step.put_shaped(&values[..300], next, 1, &even)?;
        (0..N).try_for_each(|i| step.accumulate(&values[i..=i], Op::Sum, next, i % 5))
    })?;
    epoch.close()?;
    assert!(values[..N + 17485].iter().zip(&got).all(|(put, got)| put == got));
    let digest = shared(world, &window)?;
    window.free()?;
    Ok(digest)
}

/// Every way in which an epoch or a part of it ends.
fn ends(world: &Comm) -> Result<u64> {
    let mut window = Window::<u64>::allocate(world, 8)?;
    let me = world.rank().0;
    let next = Rank((me + 1) % world.size());
    window.store(0, &[u64::from(me) + 10; 8])?;
    world.barrier()?;
    let [mut a, mut b, mut c, mut d] = [[0]; 4];
    let put = [7];
    let there = u64::from(next.0) + 10;
    {
        // SAFETY: no rank locks a part exclusively.
        let nocheck = unsafe { LockAssert::nocheck() };
        let epoch = window.lock_with(LockType::Shared, next, nocheck)?;
        epoch.put(&put, next, 1)?;
        epoch.get(&mut a, next, 0)?;
    }
    let epoch = window.lock_all()?;
    let batch = epoch.batch();
    batch.get(&mut b, next, 0)?;
    batch.flush_local()?;
    let batch = epoch.batch();
    batch.get(&mut c, next, 0)?;
    drop(batch);
    assert_eq!([a, b, c], [[there]; 3]);
    // The own part is seen as it is after the own operations.
    let own = Rank(me);
    epoch.put(&put, own, 2)?;
    assert_eq!(epoch.window().load_one(2)?, 7);
    epoch.accumulate(&put, Op::Sum, own, 2)?;
    epoch.flush_local_all()?;
    let request = epoch.raccumulate(&put, Op::Sum, own, 2)?;
    request.wait();
    assert_eq!(epoch.window().load_one(2)?, 21);
    let mut now = [0];
    epoch.get_flush(&mut now, own, 2)?;
    epoch.rget(&mut d, next, 0)?.wait();
    assert_eq!((now, d), ([21], [there]));
    epoch.unlock_all()?;
    world.barrier()?;
    let epoch = window.fence_with(FenceAssert::NOPRECEDE)?;
    epoch.put(&put, next, 3)?;
    epoch.close()?;
    assert_eq!(window.load_one(3)?, 7);
    let digest = shared(world, &window)?;
    window.free()?;
    Ok(digest)
}

#[test]
fn operations_under_way_do_what_they_do_under_rmarun() {
    if part().is_some() {
        let universe = Universe::init().expect("a rank joins its job");
        let all = [in_order, many, ends];
        let all = all.map(|run| run(universe.world()).expect("a program without mistakes"));
        if universe.world().rank() == 0 {
            println!("digest {all:?}");
        }
        return;
    }
    [true, false].into_iter().for_each(|is_local| same_digests("flights", is_local));
}

/// A guard is leaked, and then its buffers are the program's again.
fn leaks(world: &Comm) -> Result<()> {
    let mut window = Window::<u64>::allocate(world, N)?;
    let next = Rank((world.rank().0 + 1) % world.size());
    window.store(0, &[1; N])?;
    let mut origin = vec![5; N / 2];
    let mut result = vec![0; N / 2].into_boxed_slice();
    let epoch = window.fence()?;
    epoch.put(&origin, next, 0)?;
    epoch.get(&mut result, next, N / 2)?;
    let _leaked = std::mem::ManuallyDrop::new(epoch);
    origin.fill(6);
    drop(result);
    let others: Vec<Box<[u64]>> = (0..50).map(|_| vec![9; N / 2].into_boxed_slice()).collect();
    window.fence()?.close()?;
    assert!(others.iter().flatten().all(|one| *one == 9), "memory that was freed is written");
    assert_eq!(window.load_one(0)?, 5, "read after the end of its borrow");
    let mut result = [3];
    let epoch = window.lock_all()?;
    let batch = epoch.batch();
    batch.get(&mut result, next, 0)?;
    let _leaked = std::mem::ManuallyDrop::new(batch);
    result[0] = 4;
    epoch.unlock_all()?;
    assert_eq!(result, [4]);
    world.barrier()?;
    window.free()
}

#[test]
fn a_leaked_guard_leaves_its_buffers_alone() {
    if part().is_some() {
        let universe = Universe::init().expect("a rank joins its job");
        return leaks(universe.world()).expect("a program without mistakes");
    }
    let Some(mpich) = mpich() else { return };
    let mut launcher = mpiexec_on(&mpich, 2, Nodes::Network);
    let outcome = relaunched(launcher.env(NODE, "none"), "leaks");
    assert!(outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
}

/// Rank 0 issues operations of a kind, and completes them together or one by one.
fn counted(world: &Comm, how: &str) -> Result<()> {
    let mut words = how.split(' ');
    let (kind, n) = (words.next().expect("a kind"), words.next().expect("a number"));
    let (n, mut window) = (n.parse().expect("a number"), Window::<u64>::allocate(world, 64)?);
    if world.rank() == 0 {
        let (ones, mut results, to) = ([1; 64], [0; 64], Rank(1));
        let epoch = window.lock_all()?;
        let batch = epoch.batch();
        for (i, (one, result)) in ones.iter().zip(&mut results).enumerate().take(n) {
            match kind {
                "put" => batch.put(&ones[i..=i], to, i)?,
                "get" => batch.get(std::slice::from_mut(result), to, i)?,
                "accumulate" => batch.accumulate(&ones[i..=i], Op::Sum, to, i / 2)?,
                "fetch" => batch.fetch_and_op(one, result, Op::Sum, to, i / 2)?,
                "rput" => epoch.rput(&ones[i..=i], to, i)?.wait(),
                _ => epoch.put_flush(&ones[i..=i], to, i)?,
            }
        }
        batch.flush()?;
        epoch.unlock_all()?;
    }
    world.barrier()?;
    window.free()
}

/// A library in front of that MPI that counts the flushes; `None` where nothing compiles C.
fn counting(mpich: &Path) -> Option<std::path::PathBuf> {
    let folder = folder("counting");
    let (source, made) = (folder.join("counting.c"), folder.join("libcounting.so"));
    let text = r#"
        #include <stdio.h>
        int PMPI_Win_flush(int, void *);
        int PMPI_Finalize(void);
        static int flushes;
        int MPI_Win_flush(int rank, void *win) {
            __atomic_fetch_add(&flushes, 1, __ATOMIC_SEQ_CST);
            return PMPI_Win_flush(rank, win);
        }
        int MPI_Finalize(void) {
            printf("flushes %d\n", flushes);
            fflush(stdout);
            return PMPI_Finalize();
        }
    "#;
    std::fs::write(&source, text).expect("a source");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(&made).arg(&source).arg("-L").arg(mpich.join("lib"));
    match cc.arg("-l:libmpi_abi.so.1").output() {
        Ok(output) => {
            assert!(output.status.success(), "{output:?}");
            Some(made)
        }
        Err(error) => {
            eprintln!("skipped: no C compiler: cc: {error}");
            None
        }
    }
}

#[test]
fn operations_that_are_completed_together_take_one_flush() {
    if let Some(how) = part() {
        let universe = Universe::init().expect("a rank joins its job");
        return counted(universe.world(), &how).expect("a program without mistakes");
    }
    let Some(mpich) = mpich() else { return };
    let Some(library) = counting(&mpich) else { return };
    let flushes = |how: &str, nodes: u32| -> usize {
        let mut command = mpiexec_on(&mpich, 2, Nodes::Of(nodes));
        command.env("ONESIDED_MPI", &library).env(NODE, "none");
        let outcome = relaunched(command, how);
        let numbers = outcome.output.lines().filter_map(|line| line.split("flushes ").nth(1));
        let numbers: Vec<usize> = numbers.map(|number| number.parse().expect("a number")).collect();
        assert!(outcome.status.success() && numbers.len() == 2, "{how}: {}", outcome.output);
        numbers.iter().sum()
    };
    for nodes in [1, 2] {
        // On one node puts and gets are copies, where the other MPI shares the parts.
        let is_near = nodes == 1 && !is_intel(&mpich);
        let none = flushes("put 0", nodes);
        let counted = |kind: &str| [1, 64].map(|n| flushes(&format!("{kind} {n}"), nodes) - none);
        for kind in ["put", "get", "accumulate", "fetch", "rput"] {
            let is_copy = is_near && !["accumulate", "fetch"].contains(&kind);
            assert_eq!(
                counted(kind),
                if is_copy { [0, 0] } else { [1, 1] },
                "{kind}, {nodes} nodes"
            );
        }
        assert_eq!(counted("put_flush"), if is_near { [0, 0] } else { [1, 64] }, "{nodes} nodes");
    }
}
