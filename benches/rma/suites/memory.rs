//! Memory of a rank that has joined, and of a window: each rank's share of what it maps.

use crate::{machine, measure};
use onesided::{Comm, Op, Window};

const WINDOWS: usize = 64;

pub fn run(world: &Comm) {
    let meet = || world.barrier().expect("the job goes on");
    meet();
    let joined = machine::share_of_memory();
    meet();
    let mut windows: Vec<Window<u64>> = Vec::new();
    for _ in 0..WINDOWS {
        let mut window = Window::allocate(world, 1).expect("a small window");
        let epoch = window.fence().expect("fence");
        epoch.close().expect("fence");
        windows.push(window);
    }
    meet();
    let with_windows = machine::share_of_memory();
    meet();
    print_mean(world, "memory of a rank", joined);
    let each = (with_windows - joined) / WINDOWS as f64;
    print_mean(world, "memory of a window of 8 bytes per rank", each);
    for window in windows {
        window.free().expect("no epoch is open");
    }
}

/// The mean over all ranks, which rank 0 prints.
fn print_mean(world: &Comm, what: &str, mine: f64) {
    let sum = world.allreduce(&[mine], Op::Sum).expect("the job goes on")[0];
    if world.rank() == 0 {
        measure::print_size(what, "", world.size(), 0, sum / f64::from(world.size()));
    }
}
