//! Jobs that run programs: the driver's side, which starts them, and the ranks' side.
#![allow(clippy::disallowed_methods, reason = "reads the variables that tell test from rank")]

use crate::programs::generate;
use crate::programs::program::Program;
use crate::programs::sabotage::Sabotage;
use crate::programs::shrink::shrink;
use crate::programs::{elsewhere, execute, text};
use crate::support;
use crate::support::{Outcome, run_for, segment};
use onesided::{Op, Rank, Universe, launch};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

const WORK: &str = "ONESIDED_TEST_WORK";
const SABOTAGE: &str = "ONESIDED_TEST_SABOTAGE";
/// A folder by which the ranks tell the driver what a dying job cannot print.
const SCRATCH: &str = "ONESIDED_TEST_SCRATCH";

/// A job that takes longer than its programs may, by so much, hangs.
const GRACE: Duration = Duration::from_secs(30);
/// How long a job of one program may take.
const SINGLE: Duration = Duration::from_secs(20);
/// How long a job under another launcher may take.
const ELSEWHERE: Duration = Duration::from_secs(300);
/// Programs between two looks at the clock.
const BATCH: u64 = 16;
/// Candidates that the ranks try when they shrink a program.
const BUDGET: usize = 4000;
/// Candidates, each a job, that the driver tries when the ranks cannot.
const JOBS: usize = 150;
/// How long it goes on trying; candidates that hang take their time.
const PATIENCE: Duration = Duration::from_secs(600);

/// Numbers what this process writes.
static COUNTER: AtomicUsize = AtomicUsize::new(0);

/// Programs for a job.
#[derive(Clone, Debug)]
pub enum Work {
    /// From the seed `first` on, `count` or as many as can be begun in `seconds`.
    Seeds { first: u64, count: u64, seconds: u64 },
    /// One, stored.
    File(PathBuf),
    /// The first seed numbers under the launcher of the MPICH with that prefix; what needs
    /// memory that ranks share is left out of the programs.
    Elsewhere { mpich: PathBuf, nodes: u32, way: &'static str, count: u64 },
}

/// How a job ended that found something.
pub struct Found {
    pub program: Program,
    pub output: String,
    /// Whether the ranks have shrunk it.
    is_small: bool,
}

/// Whether this process is a rank: then it has worked, and the test is over.
pub fn is_rank() -> bool {
    // The work is in the environment of a rank alone, whatever has started it.
    let is_rank = std::env::var_os(launch::ENV_RANK).is_some() || std::env::var_os(WORK).is_some();
    if is_rank {
        let universe = Universe::init().expect("a rank joins its job");
        // No program may be taken for a deadlock.
        universe.vouch_for_one_thread();
        work(&universe);
    }
    is_rank
}

/// Runs a job; returns how many programs it ran, or what it found, shrunk.
pub fn run(ranks: u32, work: &Work, sabotage: Sabotage) -> Result<u64, Box<Found>> {
    run_once(ranks, work, sabotage).map_err(|mut found| {
        if !found.is_small {
            let started = Instant::now();
            let fails =
                |program: &Program| started.elapsed() < PATIENCE && kills(ranks, program, sabotage);
            found.program = shrink(found.program, JOBS, fails);
        }
        found
    })
}

/// Whether a rank dies of the program, or the job hangs.
fn kills(ranks: u32, program: &Program, sabotage: Sabotage) -> bool {
    let number = COUNTER.fetch_add(1, Relaxed);
    let path = format!("onesided-candidate-{}-{number}.txt", std::process::id());
    let path = std::env::temp_dir().join(path);
    fs::write(&path, text::write(program)).expect("a scratch file");
    let failed = run_once(ranks, &Work::File(path.clone()), sabotage).is_err();
    fs::remove_file(&path).expect("the scratch file can go");
    failed
}

fn run_once(ranks: u32, work: &Work, sabotage: Sabotage) -> Result<u64, Box<Found>> {
    let job = COUNTER.fetch_add(1, Relaxed);
    let scratch = format!("onesided-random-{}-{job}", std::process::id());
    let scratch = std::env::temp_dir().join(scratch);
    fs::create_dir_all(&scratch).expect("a folder for scratch files");
    let (outcome, hangs) = start(ranks, work, sabotage, &scratch);
    let found = fs::read_to_string(scratch.join("found")).ok();
    let at = fs::read_to_string(scratch.join("at")).ok();
    fs::remove_dir_all(&scratch).expect("the scratch files can go");
    if outcome.status.success() {
        let ran = outcome.output.lines().find_map(|line| line.split("ran programs: ").nth(1));
        return Ok(ran.and_then(|n| n.parse().ok()).expect("a job says what it has done"));
    }
    let output = format!("{}{}", if hangs { "the job hangs\n" } else { "" }, outcome.output);
    let is_small = found.is_some();
    let program = match (found, work) {
        (Some(text), _) => text::read(&text).expect("what the ranks have written"),
        (None, Work::File(path)) => load(path),
        // A rank died or hangs: the ranks could shrink nothing.
        (None, Work::Seeds { .. } | Work::Elsewhere { .. }) => {
            let at = at.unwrap_or_else(|| panic!("the job ran no program:\n{output}"));
            generate::program(at.trim().parse().expect("a seed"), ranks)
        }
    };
    Err(Box::new(Found { program, output, is_small }))
}

fn start(ranks: u32, work: &Work, sabotage: Sabotage, scratch: &Path) -> (Outcome, bool) {
    let name = std::thread::current().name().expect("libtest names its threads").to_owned();
    let mut command = match work {
        Work::Elsewhere { mpich, nodes, way, .. } => {
            // It treats the machine as that many nodes.
            let mut mpiexec = support::mpiexec_on(mpich, ranks, support::Nodes::Of(*nodes));
            mpiexec.env(support::NODE, way);
            mpiexec
        }
        Work::Seeds { .. } | Work::File(_) => {
            let mut rmarun = Command::new(env!("CARGO_BIN_EXE_rmarun"));
            rmarun.args(["-n", &ranks.to_string(), "--require-join", "--tag-output"]);
            // No program has conflicts: an odd number of ranks is checked for them. Nor may it notice when
            // operations take effect: with 3 ranks as late as MPI permits.
            rmarun.args((ranks % 2 == 1).then_some(if ranks == 3 {
                "--check=late"
            } else {
                "--check"
            }));
            rmarun.args(segment()).arg("--");
            rmarun
        }
    };
    command.arg(std::env::current_exe().expect("the test's own path"));
    command.args(["--exact", &name, "--include-ignored", "--nocapture", "--test-threads=1"]);
    let (work_of_job, limit) = match work {
        Work::Seeds { first, count, seconds } => {
            (format!("seeds {first} {count} {seconds}"), Duration::from_secs(*seconds) + GRACE)
        }
        Work::File(path) => (format!("file {}", path.display()), SINGLE),
        Work::Elsewhere { nodes, count, .. } => (format!("elsewhere {nodes} {count}"), ELSEWHERE),
    };
    command
        .env("RUST_BACKTRACE", "0")
        .env(WORK, work_of_job)
        .env(SABOTAGE, format!("{sabotage:?}"))
        .env(SCRATCH, scratch);
    run_for(&mut command, limit)
}

/// The program in a file.
pub fn load(path: &Path) -> Program {
    let text = fs::read_to_string(path).expect("a stored program");
    text::read(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The ranks' side of a job.
fn work(universe: &Universe) {
    let work_of_job = std::env::var(WORK).expect("work for the job");
    let sabotage = Sabotage::named(&std::env::var(SABOTAGE).unwrap_or_default());
    let scratch = PathBuf::from(std::env::var_os(SCRATCH).expect("a scratch folder"));
    let rank = Worker { universe, sabotage, scratch };
    let ran = match work_of_job.split_once(' ').expect("a kind of work") {
        ("file", path) => {
            rank.expect_clean(load(Path::new(path)));
            1
        }
        ("elsewhere", numbers) => {
            let (nodes, count) = numbers.split_once(' ').expect("two numbers");
            rank.elsewhere(nodes != "1", count.parse().expect("it"))
        }
        (_, numbers) => {
            let numbers: Vec<u64> = numbers.split(' ').map(|n| n.parse().expect("it")).collect();
            rank.seeds(numbers[0], numbers[1], Duration::from_secs(numbers[2]))
        }
    };
    if rank.is_first() {
        println!("ran programs: {ran}");
    }
}

struct Worker<'a> {
    universe: &'a Universe,
    sabotage: Sabotage,
    scratch: PathBuf,
}

impl Worker<'_> {
    fn is_first(&self) -> bool {
        self.universe.world().rank() == 0
    }

    fn seeds(&self, first: u64, count: u64, time: Duration) -> u64 {
        let started = Instant::now();
        for k in 0..count {
            let mut late = [u8::from(started.elapsed() > time)];
            if k % BATCH == 0 {
                self.universe.world().broadcast(&mut late, Rank(0)).expect("rank 0 says");
                if late[0] != 0 {
                    return k;
                }
            }
            if self.is_first() {
                fs::write(self.scratch.join("at"), (first + k).to_string()).expect("scratch");
            }
            self.expect_clean(generate::program(first + k, self.universe.world().size()));
        }
        count
    }

    /// How many programs it ran, on several nodes or on one.
    fn elsewhere(&self, on_several: bool, count: u64) -> u64 {
        let ranks = self.universe.world().size();
        let alone = |seed: &u64| {
            let program = elsewhere::without_padding(generate::program(*seed, ranks))?;
            Some(if on_several { elsewhere::on_several_nodes(program) } else { program })
        };
        let programs = (0..count).filter_map(|seed| Some((seed, alone(&seed)?)));
        programs.fold(0, |ran, (seed, program)| {
            if self.is_first() {
                fs::write(self.scratch.join("at"), seed.to_string()).expect("scratch");
            }
            self.expect_clean(program);
            ran + 1
        })
    }

    /// Runs the program; if a rank finds something, all shrink it, report it, and fail.
    fn expect_clean(&self, program: Program) {
        if !self.fails(&program) {
            return;
        }
        // Races need not fail every time.
        let again = |program: &Program| (0..5).any(|_| self.fails(program));
        let small = shrink(program, BUDGET, again);
        if self.is_first() {
            let text = text::write(&small);
            fs::write(self.scratch.join("found"), &text).expect("scratch");
            println!("a program fails:\n{text}");
        }
        self.universe.world().barrier().expect("a barrier");
        for _ in 0..20 {
            let wrong = execute::run(self.universe, &small, self.sabotage);
            wrong.iter().for_each(|wrong| println!("{wrong}"));
            if self.agree(!wrong.is_empty()) {
                break;
            }
        }
        panic!("a random program failed");
    }

    fn fails(&self, program: &Program) -> bool {
        self.agree(!execute::run(self.universe, program, self.sabotage).is_empty())
    }

    /// Whether any rank reports it.
    fn agree(&self, mine: bool) -> bool {
        let all = self.universe.world().allreduce(&[u8::from(mine)], Op::Max);
        all.expect("all ranks say")[0] != 0
    }
}
