//! What an event of a trace costs a rank: `--trace` beside a job without it.

use crate::report::Row;
use crate::{Options, measure};
use onesided::{Access, Comm, Rank, Window};
use std::time::Instant;

/// What a put of 8 bytes takes, by which the driver finds the two below.
pub const PUT: &str = "put of a job for its trace";
/// The difference of a put in a traced job and one in another, whose beginning and end are two events.
pub const EVENT: &str = "event of a trace";
/// From the start of the job until its trace is in the file.
pub const MANY: &str = "job of ten million events, with its trace";

/// Samples of a job.
const SAMPLES: u32 = 50;

/// Half as many puts as there are events.
pub fn run(world: &Comm, options: &Options) {
    let puts = events(options) / 2 / SAMPLES;
    let mut window = Window::<u64>::allocate(world, 1).expect("a small window");
    let epoch = window.lock_all().expect("lock_all");
    let sample = |_| {
        let began = Instant::now();
        (0..puts).for_each(|_| epoch.put(&[1], Rank(0), 0).expect("put"));
        began.elapsed().as_nanos() as f64 / f64::from(puts)
    };
    let samples: Vec<f64> = (0..SAMPLES).map(sample).collect();
    epoch.unlock_all().expect("unlock_all");
    measure::print(PUT, "", world.size(), 8, &samples);
    window.free().expect("no epoch is open");
}

/// How many events a job has; fewer in a quick run.
pub fn events(options: &Options) -> u32 {
    if options.quick { 1_000_000 } else { 10_000_000 }
}

/// The row of an event, of the puts with a trace and without.
pub fn event(traced: &Row, plain: &Row) -> Row {
    let of = |sample: &f64| (sample - plain.median()) / 2.0;
    Row::new(EVENT, "", 1, 0, traced.samples.iter().map(of).collect())
}
