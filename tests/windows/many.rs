//! A hundred thousand windows at once, a million one after the other (MPI-2.2 §11.2).

use crate::support::{launch, needs_rmarun, spmd, universe};
use onesided::{
    Access, Comm, FenceAssert, Flavour, LockType, Rank, Universe, Window, WindowOptions,
};

/// Bytes of memory that this process has, mapped segment included.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1024
}

/// In a job of 600 ranks a list with five words for each would have 24 KiB.
#[test]
fn a_window_of_many_ranks_takes_no_more_of_each() {
    if needs_rmarun("hundreds of ranks") {
        return;
    }
    universe(600, |universe| {
        let options = WindowOptions::new();
        let taken_by = |comm: &Comm, flavour| {
            let before = resident();
            let win = match flavour {
                Flavour::Dynamic => options.create_dynamic_bytes(comm),
                Flavour::Shared => options.allocate_shared_bytes(comm, 8, 8),
                _ => options.allocate_bytes(comm, 8, 8),
            };
            let win = win.unwrap();
            win.fence().unwrap();
            let taken = resident().saturating_sub(before);
            win.fence_with(FenceAssert::NOSUCCEED).unwrap();
            win.free().unwrap();
            taken
        };
        for flavour in [Flavour::Allocate, Flavour::Shared, Flavour::Dynamic] {
            // The first calls touch the program's own pages.
            taken_by(universe.self_comm(), flavour);
            let taken = taken_by(universe.world(), flavour);
            assert!(taken < 24 << 10, "{flavour:?}: {taken} bytes of this process");
        }
    });
}

#[test]
fn a_hundred_thousand_windows_are_alive_at_once() {
    if needs_rmarun("thousands of windows") {
        return;
    }
    const WINDOWS: usize = 100_000;
    spmd(2, |world| {
        let before = resident();
        let options = WindowOptions::new().name("");
        let mut windows: Vec<Window<u32>> =
            (0..WINDOWS).map(|_| options.allocate(world, 1).unwrap()).collect();
        let each = (resident() - before) / WINDOWS as u64;
        assert!(each < 2048, "a window costs {each} bytes of this process");
        let other = Rank(1 - world.rank().0);
        let values: Vec<u32> = (0..WINDOWS as u32).collect();
        for k in (0..WINDOWS).step_by(997) {
            let epoch = windows[k].lock(LockType::Exclusive, other).unwrap();
            epoch.put(&values[k..=k], other, 0).unwrap();
            epoch.unlock().unwrap();
        }
        world.barrier().unwrap();
        for k in (0..WINDOWS).step_by(997) {
            assert_eq!(windows[k].load_one(0).unwrap(), k as u32);
            windows[k].fence().unwrap().close().unwrap();
        }
        windows.into_iter().for_each(|window| window.free().unwrap());
    });
}

/// Half a minute on a busy machine, optimised.
#[test]
#[ignore = "the long form of `windows_leave_the_segment_as_it_was`"]
fn a_million_windows_leave_the_segment_as_it_was() {
    cycles(1_000_000);
}

#[test]
fn windows_leave_the_segment_as_it_was() {
    cycles(20_000);
}

/// Creates and frees windows of every flavour, and then finds the segment in one piece.
fn cycles(n: usize) {
    let outcome = launch(2, &["--segment-size=64M"], |universe| {
        let world = universe.world();
        let all = world.dup().unwrap();
        let most = largest(universe);
        for k in 0..n {
            let window = match k % 100 {
                0 => Window::<u64>::create(&all, vec![0; 4]).unwrap(),
                1 => Window::create(&all, universe.alloc_mem(4).unwrap()).unwrap(),
                2 => Window::allocate_shared(&all, 1 + k % 7).unwrap(),
                3 => {
                    let window = Window::create_dynamic(&all).unwrap();
                    window.attach(vec![0; 1 + k % 5]).unwrap();
                    window
                }
                _ => Window::allocate(&all, k % 1000).unwrap(),
            };
            window.free().unwrap();
        }
        assert_eq!(largest(universe), most);
        all.free().unwrap();
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
    }
}

/// Size of the largest block that the segment has for rank 0, in units of 64 KiB.
fn largest(universe: &Universe) -> usize {
    let world = universe.world();
    let mut found = [0u64];
    if world.rank() == 0 {
        let (mut low, mut high) = (0, 1 << 10);
        while high - low > 1 {
            let middle = (low + high) / 2;
            match universe.alloc_mem::<u8>(middle << 16) {
                Ok(_) => low = middle,
                Err(_) => high = middle,
            }
        }
        found = [low as u64];
    }
    world.broadcast(&mut found, Rank(0)).unwrap();
    found[0] as usize
}
