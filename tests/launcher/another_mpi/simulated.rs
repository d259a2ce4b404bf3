//! The memory of one rank of a large job: rank 0 alone, with a library in which the others are as if they called the same.
//! `docs/scale.md` has what it prints.

use super::{part, relaunched};
use crate::building::folder;
use crate::support::NODE;
use onesided::prelude::*;
use std::path::PathBuf;
use std::process::Command;

/// Ranks of a node.
const NEAR: u32 = 128;
/// Of each kind, so that their sizes are means.
const WINDOWS: usize = 4;
/// What each rank of the job may add to a rank's memory, in bytes: of the job, of a window, of one that was used, and of a
/// put to each rank that is under way.
const MOST: [u64; 4] = [5, 200, 64, 600];
/// Beside that, in bytes: the allocators keep some.
const SPARE: u64 = 256 << 10;

/// Bytes of these entries of the status of this process.
fn status(names: &[&str]) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process has a status");
    let kib = |name: &&str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line of it");
        line.trim_end_matches("kB").trim().parse().expect("a number")
    };
    1024 * names.iter().map(kib).sum::<u64>()
}

/// Bytes of memory of this process: its own, without what its allocator keeps of freed memory, and those of its segment.
/// How much the allocator keeps depends on where the blocks lie, and so on the length of the environment.
#[allow(unsafe_code, reason = "no crate of ours names the function")]
fn memory() -> u64 {
    #[cfg(target_env = "gnu")]
    // SAFETY: it returns free pages to the system, and may be called at any time.
    unsafe {
        nix::libc::malloc_trim(0);
    }
    status(&["RssAnon:", "RssShmem:"])
}

/// What `make` adds for each of what it returns, which stays.
fn growth<T>(all: &mut Vec<T>, mut make: impl FnMut() -> T) -> u64 {
    // The first one may also touch what all share.
    all.push(make());
    let before = memory();
    all.extend((0..WINDOWS).map(|_| make()));
    memory().saturating_sub(before) / WINDOWS as u64
}

/// What `using` adds for each of them.
fn grown<T>(all: &mut [T], using: impl FnMut(&mut T)) -> u64 {
    let before = memory();
    all.iter_mut().for_each(using);
    memory().saturating_sub(before) / all.len() as u64
}

/// Puts to each rank up to `last`; what they add until the fence completes them.
fn put_to_each(window: &mut Window<u64>, last: Rank) -> u64 {
    let epoch = window.fence().expect("a fence");
    let before = memory();
    (0..=last.0).for_each(|rank| epoch.put(&[7], Rank(rank), 0).expect("a put"));
    let during = memory();
    epoch.close().expect("a fence");
    during.saturating_sub(before)
}

/// Builds what a rank has, and prints its bytes.
fn measure() {
    let started = memory();
    let universe = Universe::init().expect("a rank joins its job");
    let world = universe.world();
    let joined = memory() - started;
    let window = || Window::<u64>::allocate(world, 1).expect("a window");
    let (mut windows, mut comms) = (Vec::new(), Vec::new());
    let of_window = growth(&mut windows, window);
    let of_comm = growth(&mut comms, || world.dup().expect("a communicator"));
    let (last, mut under_way) = (Rank(world.size() - 1), 0);
    let of_use = [
        grown(&mut windows, |window| {
            window.fence().expect("a fence").close().expect("a fence");
        }),
        grown(&mut windows, |window| {
            window.lock_all().expect("all locks").unlock_all().expect("all unlocks");
        }),
        grown(&mut windows, |window| under_way = put_to_each(window, last)),
    ];
    let most = status(&["VmHWM:"]) - started;
    let [fence, lock_all, puts] = of_use;
    println!(
        "measured {joined} {of_window} {fence} {lock_all} {puts} {under_way} {of_comm} {most}"
    );
    windows.into_iter().for_each(|window| window.free().expect("an end"));
    comms.into_iter().for_each(|comm| comm.free().expect("an end"));
}

/// That library, compiled into a folder of that name; `None` where nothing compiles C.
pub fn library(name: &str) -> Option<PathBuf> {
    let library = folder(name).join("libsimulated.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/launcher/another_mpi/simulated.c");
    match Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).output() {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => {
            println!("skipped: no C compiler: cc: {error}");
            return None;
        }
    }
    Some(library)
}

#[test]
fn memory_of_a_rank_of_a_large_job() {
    if part().is_some() {
        return measure();
    }
    let Some(library) = library("simulated") else { return };
    println!(
        "ranks, bytes: joined, a window, after a fence, lock_all, a put to each; meanwhile; a communicator; the most"
    );
    for ranks in [1, 1000, 100_000] {
        let mut rank = Command::new("env");
        rank.env("PMI_RANK", "0").env("ONESIDED_MPI", &library).env(NODE, "none");
        rank.env("SIMULATED_RANKS", ranks.to_string()).env("SIMULATED_NEAR", NEAR.to_string());
        let outcome = relaunched(rank, "measure");
        let numbers = outcome.output.lines().find_map(|line| line.split("measured ").nth(1));
        let numbers = numbers.unwrap_or_else(|| panic!("{}:\n{}", outcome.status, outcome.output));
        println!("{ranks}: {numbers}");
        let numbers: Vec<u64> = numbers.split(' ').map(|n| n.parse().expect("a number")).collect();
        let [joined, window, fence, lock_all, puts, under_way, comm, _] = numbers[..] else {
            panic!("{numbers:?}")
        };
        let used = fence.max(lock_all).max(puts);
        for (bytes, most) in [joined, window, used, under_way].into_iter().zip(MOST) {
            assert!(bytes <= most * ranks + SPARE, "{bytes} bytes, {ranks} ranks");
        }
        assert!(comm <= SPARE, "a duplicate shares the list of its ranks: {comm} bytes");
    }
}
