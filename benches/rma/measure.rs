//! Samples: each is the mean of as many repetitions as fill a short time; several rounds, in
//! which all cases of a group take turns, so that a disturbance hits what is compared alike.
//! Samples that a neighbour on the host has disturbed count only where there are no others.

use crate::Options;
use crate::calm::{self, Sample};
use crate::report::{Row, Unit};
use nix::time::ClockId;
use onesided::{Comm, Op, Rank};
use std::time::{Duration, Instant};

/// How a rank marks a line for the driver.
pub const MARK: &str = "@rma";
/// The same for a line of sizes in bytes.
pub const MARK_SIZE: &str = "@size";
/// The same for a line of counts of an operation, which C programs print.
pub const MARK_COUNT: &str = "@count";
/// A sample of [`Case::samples_for`] takes at least half as long, so that agreeing on the next one hardly counts.
const SHORT: Duration = Duration::from_micros(50);
const MOST_REPETITIONS: u32 = 1 << 22;
/// Rounds if neighbours disturb, unless more are wanted.
const MOST_ROUNDS: usize = 128;
/// How many times as long as a sample should take.
const FAR_TOO_LONG: u64 = 8;

/// How long to measure.
pub struct Plan {
    /// Samples of each case.
    pub rounds: u32,
    /// How long a sample should take.
    pub sample: Duration,
    /// No further round begins after this time.
    pub budget: Duration,
}

/// Something to measure.
pub struct Case<'a> {
    what: &'static str,
    limit: &'static str,
    bytes: u64,
    /// Does it that many times.
    run: Box<dyn FnMut(u32) + 'a>,
    repeat: u32,
    /// How many of the plan's sample times a sample lasts.
    longer: u32,
    samples: Vec<Sample>,
}

impl<'a> Case<'a> {
    /// `what` on `bytes` bytes; `run` does it the given number of times.
    pub fn new(what: &'static str, bytes: u64, run: impl FnMut(u32) + 'a) -> Self {
        let run = Box::new(run);
        Case { what, limit: "", bytes, run, repeat: 2, longer: 1, samples: Vec::new() }
    }

    /// Names the case of the same group that is this one's limit.
    pub fn against(mut self, limit: &'static str) -> Self {
        self.limit = limit;
        self
    }

    /// Samples last that many times as long: for what ranks that share a processor must do at the
    /// same time, not one after the other.
    pub fn longer(mut self, times: u32) -> Self {
        self.longer = times;
        self
    }

    /// What is measured.
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// Samples of all ranks of `world` for about that long, one behind the other; nanoseconds each time.
    pub fn samples_for(&mut self, world: &Comm, time: Duration) -> Vec<f64> {
        let (mut samples, started) = (Vec::new(), Instant::now());
        loop {
            let begun = Instant::now();
            (self.run)(self.repeat);
            let sample = begun.elapsed();
            samples.push(sample.as_nanos() as f64 / f64::from(self.repeat));
            let is_over = started.elapsed() >= time;
            let shorter = sample < SHORT && self.repeat < MOST_REPETITIONS;
            let decided = agree(Some(world), u64::from(is_over) | u64::from(shorter) << 1);
            if decided & 2 != 0 {
                self.repeat *= 2;
            }
            if decided & 1 != 0 {
                return samples;
            }
        }
    }

    /// One sample, in nanoseconds: from the first rank that begins to the last that ends. With more ranks than cores,
    /// rank 0 alone may begin when others have done their part.
    fn sample(&mut self, together: Option<&Comm>, ranks: u32) -> Sample {
        let before = calm::work_now(ranks);
        if let Some(world) = together {
            world.barrier().expect("the job goes on");
        }
        let started = now();
        (self.run)(self.repeat);
        let span = [-started, now()];
        let own = [span[0], span[1], before.max(calm::work_now(ranks))];
        let all = together.map(|world| world.allreduce(&own, Op::Max).expect("the job goes on"));
        let [begun, ended, work] = all.map_or(own, |all| [all[0], all[1], all[2]]);
        Sample { took: begun + ended, work }
    }

    /// How long a sample should take, in nanoseconds.
    fn wanted(&self, plan: &Plan) -> f64 {
        (plan.sample * self.longer).as_nanos() as f64
    }

    /// Repeats less from now on, if the sample has taken far too long: what was fast when it was
    /// calibrated may be slow beside another load.
    fn shorten(&mut self, together: Option<&Comm>, sample: f64, plan: &Plan) {
        let times = agree(together, (sample / self.wanted(plan)) as u64);
        if times >= FAR_TOO_LONG {
            self.repeat = (u64::from(self.repeat) / times).max(2) as u32;
        }
    }

    /// Whether it has as many calm samples as are wanted, or enough others.
    fn is_enough(&self, plan: &Plan) -> bool {
        let wanted = plan.rounds as usize;
        let calm = self.samples.iter().filter(|one| calm::is_calm(one)).count();
        calm >= wanted || self.samples.len() >= wanted.max(MOST_ROUNDS)
    }

    /// Finds how many repetitions fill the time of a sample; the same number on all ranks.
    fn calibrate(&mut self, together: Option<&Comm>, ranks: u32, plan: &Plan) {
        let wanted = self.wanted(plan);
        loop {
            let mut took = f64::INFINITY;
            // A disturbance does not make a sample long enough: only what is long each time is.
            for _ in 0..3 {
                took = took.min(agree(together, self.sample(together, ranks).took as u64) as f64);
                if took * 2.0 < wanted {
                    break;
                }
            }
            if took * 2.0 >= wanted || self.repeat >= MOST_REPETITIONS {
                return;
            }
            let factor = (wanted / took.max(1.0)).clamp(2.0, 10.0);
            self.repeat = (f64::from(self.repeat) * factor) as u32;
        }
    }
}

/// The time in nanoseconds, by a clock that all ranks share.
fn now() -> f64 {
    let time = ClockId::CLOCK_MONOTONIC.now().expect("the kernel has this clock");
    time.tv_sec() as f64 * 1e9 + time.tv_nsec() as f64
}

/// What rank 0 measures, if the ranks measure together.
fn agree(together: Option<&Comm>, value: u64) -> u64 {
    let mut word = [value];
    if let Some(world) = together {
        world.broadcast(&mut word, Rank(0)).expect("the job goes on");
    }
    word[0]
}

/// Measures the cases that are wanted, and their limits, and prints them.
///
/// With `together` all ranks of it run every case together; otherwise the calling rank is alone.
/// `ranks` is the number in the report.
pub fn measure(together: Option<&Comm>, ranks: u32, mut cases: Vec<Case<'_>>, options: &Options) {
    let plan = options.plan();
    let wanted = |case: &Case| options.wants(case.what);
    let limits: Vec<_> = cases.iter().filter(|c| wanted(c)).map(|c| (c.limit, c.bytes)).collect();
    cases.retain(|case| wanted(case) || limits.contains(&(case.what, case.bytes)));
    if cases.is_empty() {
        return;
    }
    for case in &mut cases {
        case.calibrate(together, ranks, &plan);
    }
    let started = Instant::now();
    loop {
        for case in &mut cases {
            let sample = case.sample(together, ranks);
            case.samples.push(Sample { took: sample.took / f64::from(case.repeat), ..sample });
            case.shorten(together, sample.took, &plan);
        }
        let is_over =
            started.elapsed() > plan.budget || cases.iter().all(|case| case.is_enough(&plan));
        if agree(together, u64::from(is_over)) != 0 {
            break;
        }
    }
    if together.is_none_or(|world| world.rank() == 0) {
        for case in &cases {
            print(case.what, case.limit, ranks, case.bytes, &calm::times(&case.samples));
        }
    }
}

/// Prints one row's samples, in nanoseconds, for the driver.
pub fn print(what: &str, limit: &str, ranks: u32, bytes: u64, samples: &[f64]) {
    println!("{}", Row::new(what, limit, ranks, bytes, samples.to_vec()).line());
}

/// Prints one row's size, in bytes, for the driver.
pub fn print_size(what: &str, limit: &str, ranks: u32, bytes: u64, size: f64) {
    let row = Row { unit: Unit::Bytes, ..Row::new(what, limit, ranks, bytes, vec![size]) };
    println!("{}", row.line());
}
