//! How ranks wait: fences one by one on a quiet machine, beside a busy process per processor, and
//! after these have gone; processor time of a long wait; a target that computes.

use crate::machine::{self, BusyProcesses};
use crate::{Options, measure};
use onesided::{Comm, FenceAssert, LockAssert, LockType, Rank, Window};
use std::time::{Duration, Instant};

/// Fences between two agreements on whether to go on.
const CHUNK: u32 = 25;
/// Samples that are reported of each measurement.
const MOST_SAMPLES: usize = 4000;
/// How long a rank lets the others wait.
const LONG: Duration = Duration::from_secs(1);

pub const QUIET: &str = "fence, one by one";
pub const BESIDE: &str = "fence beside busy processes";
pub const AFTER: &str = "fence after busy processes";
pub const PROCESSOR_TIME: &str = "processor time of 1 s in a fence";
pub const COMPUTING: &str = "lock + put + unlock, target computes";
pub const COMPUTING_FIRST: &str = "first lock + put + unlock, target computes";

pub fn run(world: &Comm, options: &Options) {
    if options.wants("fence") {
        fences(world, options);
        processor_time(world);
    }
    if world.size() == 2 && options.wants("lock") {
        computing_target(world);
    }
}

fn fences(world: &Comm, options: &Options) {
    let mut window = Window::<u64>::allocate(world, 1).expect("a window");
    let time = Duration::from_millis(if options.quick { 700 } else { 2500 });
    let first = world.rank() == 0;
    let report = |what, samples: Vec<f64>| {
        if first {
            let every = samples.len() / MOST_SAMPLES + 1;
            let some: Vec<f64> = samples.into_iter().step_by(every).collect();
            measure::print(what, "", world.size(), 0, &some);
        }
    };
    report(QUIET, fences_for(world, &mut window, time));
    let busy = first.then(BusyProcesses::start);
    fences_for(world, &mut window, Duration::from_millis(300));
    report(BESIDE, fences_for(world, &mut window, time));
    drop(busy);
    // Yielding is tried again after as long as it has been slow, at most 0.8 s
    // (`src/prim/native.rs`).
    fences_for(world, &mut window, Duration::from_secs(1));
    report(AFTER, fences_for(world, &mut window, time));
}

/// Fences for about that long; the time of each on this rank, in nanoseconds.
fn fences_for(world: &Comm, window: &mut Window<u64>, time: Duration) -> Vec<f64> {
    let mut samples = Vec::new();
    let started = Instant::now();
    let mut enough = [0u8];
    while enough[0] == 0 {
        let mut epoch = window.fence(FenceAssert::NONE).expect("fence");
        for _ in 0..CHUNK {
            let before = Instant::now();
            epoch = epoch.fence(FenceAssert::NONE).expect("fence");
            samples.push(before.elapsed().as_nanos() as f64);
        }
        epoch.close(FenceAssert::NONE).expect("fence");
        enough = [u8::from(started.elapsed() > time)];
        world.broadcast(&mut enough, Rank(0)).expect("the job goes on");
    }
    samples
}

/// The last rank computes; the others wait for it in a fence.
fn processor_time(world: &Comm) {
    let mut window = Window::<u64>::allocate(world, 1).expect("a window");
    let epoch = window.fence(FenceAssert::NONE).expect("fence");
    if world.rank() == world.size() - 1 {
        machine::compute(LONG);
    }
    let before = machine::processor_time();
    epoch.close(FenceAssert::NONE).expect("fence");
    let used = machine::processor_time().saturating_sub(before);
    if world.rank() == 0 {
        measure::print(PROCESSOR_TIME, "", world.size(), 0, &[used.as_nanos() as f64]);
    }
}

/// Rank 1 computes for a second without any call; rank 0 locks its part meanwhile.
fn computing_target(world: &Comm) {
    let window = Window::<u64>::allocate(world, 1).expect("a window");
    world.barrier().expect("the job goes on");
    if world.rank() == 1 {
        machine::compute(LONG);
    } else {
        let started = Instant::now();
        let mut samples = Vec::new();
        while started.elapsed() < LONG / 2 {
            let before = Instant::now();
            let epoch = window.lock(LockType::Exclusive, Rank(1), LockAssert::NONE).expect("lock");
            epoch.put(&[1], 0).expect("put");
            epoch.unlock().expect("unlock");
            let took = before.elapsed().as_nanos() as f64;
            if samples.len() < MOST_SAMPLES {
                samples.push(took);
            }
        }
        measure::print(COMPUTING_FIRST, "", 2, 8, &samples[..1]);
        measure::print(COMPUTING, "", 2, 8, &samples);
    }
    world.barrier().expect("the job goes on");
}
