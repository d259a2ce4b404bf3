//! Starts jobs and records how they ended.

use crate::support::{run_for, segment};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The variable with what ranks flip.
const SEED: &str = "ONESIDED_TEST_FLIPS";
/// Ranks of a job.
pub const RANKS: u32 = 3;
/// A job that takes longer waits for what will not come. The ranks' own time is limited too (see
/// `workload::rank`), so one that spins is killed by then.
const HANG: Duration = Duration::from_secs(4);

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With the right result.
    Right,
    /// With an error, in good order.
    Error(String),
    /// With a wrong result and no report of it.
    Wrong(String),
    /// Asleep, until it was killed.
    Hang,
    /// By a signal, or a panic inside the library.
    Crash(String),
}

/// The seed of this process, if it is a rank of such a job.
pub fn seed_of_rank() -> Option<u64> {
    std::env::var(SEED).ok()?.parse().ok()
}

/// Runs one job and returns how it ended, with its output.
pub fn job(seed: u64) -> (Ending, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(["-n", &RANKS.to_string(), "--require-join", "--tag-output"]).args(segment());
    command.arg("--").arg(std::env::current_exe().expect("the test's own path"));
    command.args(["--exact", "bitflips::rank", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(SEED, seed.to_string()).env("RUST_BACKTRACE", "0");
    let (outcome, hangs) = run_for(&mut command, HANG);
    let printed = |word: &str| {
        let line = outcome.output.lines().find(|line| line.contains(word));
        line.map(|line| line.split_once(word).expect("it is there").1.to_owned())
    };
    let ending = if let Some(panic) = printed("the library panics: ") {
        Ending::Crash(panic)
    } else if let Some(panic) = printed("panicked at ") {
        // The ranks have a word of their own for it: this is the launcher.
        Ending::Crash(format!("the launcher: {panic}"))
    } else if let Some(signal) = printed("killed by signal ").filter(|_| !hangs) {
        Ending::Crash(format!("signal {signal}"))
    } else if hangs {
        Ending::Hang
    } else if let Some(wrong) = printed("the result is wrong: ") {
        Ending::Wrong(wrong)
    } else if outcome.status.success() {
        Ending::Right
    } else {
        let error = printed("the call fails: ").or_else(|| printed("rmarun: "));
        Ending::Error(error.unwrap_or_else(|| outcome.output.clone()))
    };
    (ending, outcome.output)
}

/// How many jobs ended how.
#[derive(Default)]
pub struct Tally {
    right: u64,
    errors: BTreeMap<String, u64>,
    wrong: Vec<(u64, String)>,
    hangs: Vec<u64>,
    crashes: Vec<(u64, String)>,
}

impl Tally {
    /// Runs the jobs with these seed numbers, some at the same time, until the time is over.
    pub fn of(seeds: Range<u64>, parallel: u32, time: Duration) -> Tally {
        let begin = Instant::now();
        let (tally, next) = (Mutex::new(Tally::default()), Mutex::new(seeds.start));
        std::thread::scope(|scope| {
            for _ in 0..parallel {
                scope.spawn(|| {
                    while begin.elapsed() < time {
                        let seed = {
                            let mut next = next.lock().expect("not poisoned");
                            *next += 1;
                            *next - 1
                        };
                        if !seeds.contains(&seed) {
                            return;
                        }
                        let (ending, _) = job(seed);
                        tally.lock().expect("not poisoned").count(seed, ending);
                    }
                });
            }
        });
        tally.into_inner().expect("not poisoned")
    }

    fn count(&mut self, seed: u64, ending: Ending) {
        match ending {
            Ending::Right => self.right += 1,
            Ending::Error(sentence) => {
                // Without the numbers, which differ from job to job.
                let kind = sentence.split(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
                *self.errors.entry(kind.take(2).collect()).or_default() += 1;
            }
            Ending::Wrong(what) => self.wrong.push((seed, what)),
            Ending::Hang => self.hangs.push(seed),
            Ending::Crash(what) => self.crashes.push((seed, what)),
        }
    }

    pub fn jobs(&self) -> u64 {
        let errors: u64 = self.errors.values().sum();
        let others = self.wrong.len() + self.hangs.len() + self.crashes.len();
        self.right + errors + others as u64
    }

    /// Fails if a job crashed.
    pub fn check(&self) {
        assert!(self.crashes.is_empty(), "seeds of jobs that crashed: {:#?}", self.crashes);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors: u64 = self.errors.values().sum();
        writeln!(
            f,
            "{} jobs: {} right, {errors} with an error, {} wrong, {} asleep for ever, {} crashed",
            self.jobs(),
            self.right,
            self.wrong.len(),
            self.hangs.len(),
            self.crashes.len(),
        )?;
        for (kind, times) in &self.errors {
            writeln!(f, "  {times:5} {kind}")?;
        }
        for (what, seeds) in [("wrong", &self.wrong), ("crashed", &self.crashes)] {
            for (seed, how) in seeds.iter().take(20) {
                writeln!(f, "  {what}: seed {seed}: {how}")?;
            }
        }
        writeln!(f, "  asleep: seeds {:?}", &self.hangs[..self.hangs.len().min(20)])
    }
}
