//! How ranks wait: fences one by one on a quiet machine, beside a busy process per processor, and
//! after these have gone; processor time of a long wait; a target that computes or sleeps.

use crate::by_hand::{Barrier, Wait};
use crate::freed::Freed;
use crate::machine::{self, BusyProcesses};
use crate::pages::Pages;
use crate::{Options, measure};
use onesided::{Access, Comm, LockType, Rank, Window};
use std::time::{Duration, Instant};

/// Fences between two agreements on whether to go on.
const CHUNK: u32 = 25;
/// Locks of one sample, so that the clock does not count.
const MANY: u32 = 50;
/// Samples that are reported of each measurement.
const MOST_SAMPLES: usize = 4000;
/// How long a rank lets the others wait.
const LONG: Duration = Duration::from_secs(1);
/// Windows that are locked beside a busy target, one after the other.
const WINDOWS: u32 = 5;

pub const QUIET: &str = "fence, one by one";
pub const BESIDE: &str = "fence beside busy processes";
pub const FUTEX_BESIDE: &str = "limit: barrier by hand, futex, beside busy processes";
pub const AFTER: &str = "fence after busy processes";
pub const PROCESSOR_TIME: &str = "processor time of 1 s in a fence";
pub const COMPUTING: &str = "lock + put + unlock, target computes";
pub const COMPUTING_FIRST: &str = "first lock + put + unlock, target computes";
pub const ASLEEP: &str = "lock + put + unlock, target sleeps";
pub const ASLEEP_FIRST: &str = "first lock + put + unlock, target sleeps";

pub fn run(world: &Comm, options: &Options) {
    if options.wants("fence") {
        fences(world, options);
        processor_time(world);
    }
    if world.size() == 2 && options.wants("lock") {
        lock_beside(world, [COMPUTING_FIRST, COMPUTING], machine::compute);
        lock_beside(world, [ASLEEP_FIRST, ASLEEP], machine::sleep);
    }
}

fn fences(world: &Comm, options: &Options) {
    let mut window = Freed::new(Window::<u64>::allocate(world, 1));
    let plain = Freed::new(Window::<u64>::allocate(world, 512));
    let pages = Pages::locate(world, &plain, 0);
    let mut by_hand = Barrier::new(pages, 64, world.size(), Wait::Futex);
    let time = options.plan().budget / 4;
    let first = world.rank() == 0;
    let report = |what, limit, samples: Vec<f64>| {
        if first {
            let every = samples.len() / MOST_SAMPLES + 1;
            let some: Vec<f64> = samples.into_iter().step_by(every).collect();
            measure::print(what, limit, world.size(), 0, &some);
        }
    };
    report(QUIET, "", fences_for(world, &mut window, time));
    let busy = first.then(BusyProcesses::start);
    fences_for(world, &mut window, Duration::from_millis(300));
    report(BESIDE, FUTEX_BESIDE, fences_for(world, &mut window, time));
    let one_by_one = |samples: &mut Vec<f64>| {
        for _ in 0..CHUNK {
            timed(samples, || by_hand.wait());
        }
    };
    report(FUTEX_BESIDE, "", chunks_for(world, time, one_by_one));
    drop(busy);
    // Yielding is tried again after as long as it has been slow, at most 0.8 s
    // (`src/prim/native.rs`).
    fences_for(world, &mut window, Duration::from_secs(1));
    report(AFTER, "", fences_for(world, &mut window, time));
}

/// Fences for about that long; the time of each on this rank, in nanoseconds.
fn fences_for(world: &Comm, window: &mut Window<u64>, time: Duration) -> Vec<f64> {
    chunks_for(world, time, |samples| {
        let mut epoch = Some(window.fence().expect("fence"));
        for _ in 0..CHUNK {
            let open = epoch.take().expect("a fence opens an epoch");
            epoch = Some(timed(samples, || open.fence().expect("fence")));
        }
        let open = epoch.expect("a fence opens an epoch");
        open.close().expect("fence");
    })
}

/// Chunks of measurements, until rank 0 has had enough.
fn chunks_for(world: &Comm, time: Duration, mut chunk: impl FnMut(&mut Vec<f64>)) -> Vec<f64> {
    let mut samples = Vec::new();
    let started = Instant::now();
    let mut enough = [0u8];
    while enough[0] == 0 {
        chunk(&mut samples);
        enough = [u8::from(started.elapsed() > time)];
        world.broadcast(&mut enough, Rank(0)).expect("the job goes on");
    }
    samples
}

/// Notes how many nanoseconds something takes.
fn timed<R>(samples: &mut Vec<f64>, work: impl FnOnce() -> R) -> R {
    let before = Instant::now();
    let result = work();
    samples.push(before.elapsed().as_nanos() as f64);
    result
}

/// The last rank computes; the others wait for it in a fence.
fn processor_time(world: &Comm) {
    let mut window = Freed::new(Window::<u64>::allocate(world, 1));
    let epoch = window.fence().expect("fence");
    if world.rank().0 == world.size() - 1 {
        machine::compute(LONG);
    }
    let before = machine::processor_time();
    epoch.close().expect("fence");
    let used = machine::processor_time().saturating_sub(before);
    if world.rank() == 0 {
        measure::print(PROCESSOR_TIME, "", world.size(), 0, &[used.as_nanos() as f64]);
    }
}

/// Rank 1 is busy for a fifth of a second without any call; rank 0 locks its part of a new window
/// meanwhile. The first lock of a process also fetches code and pages, so there are five windows.
fn lock_beside(world: &Comm, [first, later]: [&str; 2], busy: impl Fn(Duration)) {
    let (mut firsts, mut samples) = (Vec::new(), Vec::new());
    for _ in 0..WINDOWS {
        let window = Freed::new(Window::<u64>::allocate(world, 1));
        let lock = |times| {
            let before = Instant::now();
            for _ in 0..times {
                let lock = window.lock(LockType::Exclusive, Rank(1));
                let epoch = lock.expect("lock");
                epoch.put(&[1], Rank(1), 0).expect("put");
                epoch.unlock().expect("unlock");
            }
            before.elapsed().as_nanos() as f64 / f64::from(times)
        };
        world.barrier().expect("the job goes on");
        if world.rank() == 1 {
            busy(LONG / WINDOWS);
        } else {
            let started = Instant::now();
            firsts.push(lock(1));
            samples.push(lock(1));
            let most = samples.len() + MOST_SAMPLES / WINDOWS as usize;
            while started.elapsed() < LONG / WINDOWS / 2 && samples.len() < most {
                samples.push(lock(MANY));
            }
        }
        world.barrier().expect("the job goes on");
    }
    if world.rank() == 0 {
        measure::print(first, "", 2, 8, &firsts);
        measure::print(later, "", 2, 8, &samples);
    }
}
