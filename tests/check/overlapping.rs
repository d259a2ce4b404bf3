//! Memory that a rank exposes by two windows, and memory that it attaches to a dynamic window again.

use crate::support::job;
use onesided::engine::{ExposedBytes, Win};
use onesided::{Comm, Op, Rank, WindowOptions};

/// Runs `body`; the job has that number of pairs of lines that conflict.
fn finds(pairs: u32, body: impl FnOnce(&Comm)) {
    let outcome = job(3, &["--check=report"], |world| {
        body(world);
        world.barrier().expect("all ranks live");
        let found = world.conflicts().expect("the job is checked");
        assert!(!found.is_incomplete, "a table was full");
        assert_eq!(found.pairs, pairs);
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}", outcome.output);
    }
}

fn barrier(world: &Comm) {
    world.barrier().expect("all ranks live");
}

/// Ranks 1 and 2 access rank 0 by two windows over the same memory, of which the second begins at the fourth byte.
fn by_two_windows(world: &Comm, first: &Win, second: &Win, completes: bool) {
    let (rank, target) = (world.rank(), Rank(0));
    for win in [first, second] {
        win.lock_all().expect("no epoch is open");
    }
    if rank == 1 {
        first.put(&[1u8; 8], target, 8).expect("it is locked");
        if completes {
            first.flush(target).expect("it is locked");
        }
    }
    barrier(world);
    if rank == 2 {
        second.get(&mut [0u8; 8], target, 0).expect("it is locked");
        second.get(&mut [0u8; 2], target, 12).expect("it is locked");
        second.accumulate(&[1u32], Op::Sum, target, 16).expect("it is locked");
    }
    barrier(world);
    for win in [first, second] {
        win.unlock_all().expect("it is locked");
    }
}

fn with_private_memory(world: &Comm, completes: bool) {
    let mut memory = vec![0u64; 8];
    let start: *mut u8 = memory.as_mut_ptr().cast();
    let windows = [(start, 64), (start.wrapping_add(4), 32)].map(|(start, bytes)| {
        // SAFETY: the windows are freed before the memory, which nothing else uses.
        let exposed = unsafe { ExposedBytes::new(start, bytes) };
        WindowOptions::new().create_bytes(world, exposed, 1).expect("there is memory")
    });
    by_two_windows(world, &windows[0], &windows[1], completes);
    windows.into_iter().for_each(|win| win.free().expect("no epoch is open"));
    drop(memory);
}

fn with_memory_of_a_window(world: &Comm, completes: bool) {
    let first = WindowOptions::new().allocate_bytes(world, 64, 1).expect("there is memory");
    let start = first.base().wrapping_add(4);
    // SAFETY: the second window is freed before the first one, and nothing else uses the memory.
    let exposed = unsafe { ExposedBytes::new(start, 32) };
    let second = WindowOptions::new().create_bytes(world, exposed, 1).expect("there is memory");
    by_two_windows(world, &first, &second, completes);
    second.free().expect("no epoch is open");
    first.free().expect("no epoch is open");
}

#[test]
fn two_windows_over_private_memory() {
    finds(1, |world| with_private_memory(world, false));
}

#[test]
fn two_windows_over_private_memory_with_a_flush() {
    finds(0, |world| with_private_memory(world, true));
}

#[test]
fn two_windows_over_memory_of_one() {
    finds(1, |world| with_memory_of_a_window(world, false));
}

#[test]
fn two_windows_over_memory_of_one_with_a_flush() {
    finds(0, |world| with_memory_of_a_window(world, true));
}

#[track_caller]
fn update(win: &Win, disp: u64, completes: bool) {
    win.accumulate(&[1u32], Op::Sum, Rank(0), disp).expect("it is locked");
    if completes {
        win.flush(Rank(0)).expect("it is locked");
    }
}

/// Ranks 1 and 2 update an element of rank 0, each by a window; then rank 1 updates it by both. Returns what was found, on
/// rank 0.
fn updates_by(world: &Comm, is_one: bool, completes: bool) -> Vec<(String, String)> {
    let rank = world.rank();
    let first = WindowOptions::new().allocate_bytes(world, 64, 1).expect("there is memory");
    // SAFETY: the second window is freed before the first one, and nothing else uses the memory.
    let exposed = unsafe { ExposedBytes::new(first.base(), 64) };
    let second = WindowOptions::new().create_bytes(world, exposed, 1).expect("there is memory");
    let windows = [&first, if is_one { &first } else { &second }];
    for win in [&first, &second] {
        win.lock_all().expect("no epoch is open");
    }
    for (one, win) in [1, 2].into_iter().zip(windows) {
        if rank == one {
            update(win, 8, completes);
        }
        barrier(world);
    }
    if rank == 1 {
        windows.into_iter().for_each(|win| update(win, 16, completes));
    }
    barrier(world);
    for win in [&first, &second] {
        win.unlock_all().expect("it is locked");
    }
    second.free().expect("no epoch is open");
    first.free().expect("no epoch is open");
    let found = world.all_conflicts();
    found.iter().map(|one| (one.reason(), one.remedy())).collect()
}

/// Accumulates are atomic, and in the order of their rank, through one window alone (MPI-2.2 §11.7, rule 2).
#[test]
fn accumulates_by_two_windows() {
    finds(2, |world| {
        let found = updates_by(world, false, false);
        assert!(found.iter().all(|(reason, remedy)| {
            reason.contains("accumulates through two windows are not atomic")
                && remedy.starts_with("both need the same window, or rank 1 has to complete")
        }));
    });
}

#[test]
fn accumulates_by_two_windows_with_a_flush() {
    finds(0, |world| drop(updates_by(world, false, true)));
}

#[test]
fn accumulates_by_one_of_two_windows() {
    finds(0, |world| drop(updates_by(world, true, false)));
}

/// Whose memory two windows have.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Owner {
    Program,
    Library,
}

/// Ranks 1 and 2 access memory of rank 0 by two windows, of which one is dynamic: the first access is by that, or the second.
fn by_a_dynamic_window(world: &Comm, owner: Owner, is_first: bool, completes: bool) {
    let (rank, target) = (world.rank(), Rank(0));
    let mut memory = vec![0u64; 8];
    let options = WindowOptions::new();
    let created = match owner {
        Owner::Library => options.allocate_bytes(world, 64, 1),
        Owner::Program => {
            // SAFETY: the windows are freed before the memory, which nothing else uses.
            let exposed = unsafe { ExposedBytes::new(memory.as_mut_ptr().cast(), 64) };
            options.create_bytes(world, exposed, 1)
        }
    };
    let created = created.expect("there is memory");
    let start = created.base();
    // SAFETY: as above, or that window is freed last.
    let exposed = || unsafe { ExposedBytes::new(start, 64) };
    let dynamic = WindowOptions::new().create_dynamic_bytes(world).expect("there is memory");
    if rank == 0 {
        dynamic.attach(exposed()).expect("it is attached nowhere");
    }
    let mut address = [start.addr() as u64];
    world.broadcast(&mut address, target).expect("all ranks live");
    let (by_created, by_dynamic) = ((&created, 0), (&dynamic, address[0]));
    let [first, second] =
        if is_first { [by_dynamic, by_created] } else { [by_created, by_dynamic] };
    for win in [&created, &dynamic] {
        win.lock_all().expect("no epoch is open");
    }
    if rank == 1 {
        first.0.put(&[1u8; 8], target, first.1 + 8).expect("it is locked");
        if completes {
            first.0.flush(target).expect("it is locked");
        }
    }
    barrier(world);
    if rank == 2 {
        second.0.get(&mut [0u8; 8], target, second.1 + 12).expect("it is locked");
        second.0.get(&mut [0u8; 8], target, second.1 + 16).expect("it is locked");
    }
    barrier(world);
    for win in [&created, &dynamic] {
        win.unlock_all().expect("it is locked");
    }
    dynamic.free().expect("no epoch is open");
    created.free().expect("no epoch is open");
    drop(memory);
}

#[test]
fn a_dynamic_window_and_another() {
    finds(1, |world| by_a_dynamic_window(world, Owner::Program, true, false));
}

#[test]
fn a_window_and_a_dynamic_one() {
    finds(1, |world| by_a_dynamic_window(world, Owner::Program, false, false));
}

#[test]
fn a_dynamic_window_and_another_with_a_flush() {
    finds(0, |world| by_a_dynamic_window(world, Owner::Program, true, true));
}

#[test]
fn a_window_and_a_dynamic_one_with_a_flush() {
    finds(0, |world| by_a_dynamic_window(world, Owner::Program, false, true));
}

#[test]
fn a_dynamic_window_and_the_library_s_memory() {
    finds(1, |world| by_a_dynamic_window(world, Owner::Library, true, false));
}

#[test]
fn the_library_s_memory_and_a_dynamic_window() {
    finds(1, |world| by_a_dynamic_window(world, Owner::Library, false, false));
}

#[test]
fn a_dynamic_window_and_the_library_s_memory_with_a_flush() {
    finds(0, |world| by_a_dynamic_window(world, Owner::Library, true, true));
}

#[test]
fn the_library_s_memory_and_a_dynamic_window_with_a_flush() {
    finds(0, |world| by_a_dynamic_window(world, Owner::Library, false, true));
}

/// Attaches memory of rank 0, and lets ranks 1 and 2 put there, one of them in each round; then detaches it.
fn attached_in_rounds(world: &Comm, completes: bool) {
    let (rank, target) = (world.rank(), Rank(0));
    let win = WindowOptions::new().create_dynamic_bytes(world).expect("there is memory");
    win.lock_all().expect("no epoch is open");
    let mut memory = vec![0u64; 1024];
    let start: *mut u8 = memory.as_mut_ptr().cast();
    for round in 0..6u64 {
        let bytes = if round % 2 == 0 { 8192 } else { 64 };
        if rank == 0 {
            // SAFETY: it is detached before the memory is freed, which nothing else uses.
            let exposed = unsafe { ExposedBytes::new(start, bytes) };
            win.attach(exposed).expect("it is attached nowhere");
        }
        let mut address = [start.addr() as u64];
        world.broadcast(&mut address, target).expect("all ranks live");
        for origin in [1, 2] {
            if rank == origin {
                win.put(&[round], target, address[0] + 8 * round).expect("it is attached");
                if completes {
                    win.flush(target).expect("it is locked");
                }
            }
            barrier(world);
        }
        if rank == 0 {
            win.detach(start).expect("it is attached");
        }
        barrier(world);
    }
    win.unlock_all().expect("it is locked");
    win.free().expect("no epoch is open");
    drop(memory);
}

#[test]
fn puts_to_attached_memory() {
    finds(1, |world| attached_in_rounds(world, false));
}

#[test]
fn puts_to_attached_memory_with_a_flush() {
    finds(0, |world| attached_in_rounds(world, true));
}

/// What a dynamic window synchronises is ordered in others, too.
#[test]
fn a_fence_of_a_dynamic_window() {
    finds(0, |world| {
        let (rank, target) = (world.rank(), Rank(0));
        let dynamic = WindowOptions::new().create_dynamic_bytes(world).expect("there is memory");
        let win = WindowOptions::new().allocate_bytes(world, 64, 1).expect("there is memory");
        win.lock_all().expect("no epoch is open");
        if rank == 1 {
            win.put(&[1u8; 8], target, 0).expect("it is locked");
            win.flush(target).expect("it is locked");
        }
        dynamic.fence().expect("no epoch is open");
        if rank == 2 {
            win.get(&mut [0u8; 8], target, 0).expect("it is locked");
        }
        win.unlock_all().expect("it is locked");
        dynamic.fence_with(onesided::FenceAssert::NOSUCCEED).expect("an epoch is open");
        win.free().expect("no epoch is open");
        dynamic.free().expect("no epoch is open");
    });
}
