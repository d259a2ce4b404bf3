//! A farm: rank 0 puts tasks into one queue, every rank works on them, results come back by another.

use clap::Parser;
use common::{Failure, agree, several};
use onesided::{Comm, Located, Op, Rank, TwoInt};
use onesided_tools::WindowQueue;
use std::process::ExitCode;
use std::time::Instant;

/// A farm of tasks: for each number from 1 on, how many steps its Collatz sequence takes to 1.
#[derive(Parser)]
#[command(after_help = "Examples:
  rmarun -n 8 --example queue
  rmarun -n 4 --example queue -- --tasks 20000 --capacity 4 --verify")]
struct Options {
    /// Number of tasks
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(..1_000_000))]
    tasks: u32,
    /// How many tasks, and how many results, wait in their queue at most
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    capacity: u32,
    /// Compute every result again on rank 0, and compare
    #[arg(long)]
    verify: bool,
}

/// Where both queues are, and who hands out the tasks.
const HOME: Rank = Rank(0);
/// The task that ends its worker.
const STOP: u32 = 0;

fn main() -> ExitCode {
    common::run(run)
}

fn run(world: &Comm, options: Options) -> Result<(), Failure> {
    let capacity = options.capacity.into();
    let tasks = WindowQueue::<u32>::new(world, HOME, capacity)?;
    // A number and its steps are a pair of integers, and so one item.
    let results = WindowQueue::<TwoInt>::new(world, HOME, capacity)?;

    world.barrier()?;
    let started = Instant::now();
    let (done, outcome) = match world.rank() {
        HOME => farm(world, &tasks, &results, options.tasks)?,
        _ => (work(&tasks, &results)?, Vec::new()),
    };
    let busiest = world.allreduce(&[done], Op::Max)?[0];
    let seconds = started.elapsed().as_secs_f64();
    if world.rank() == 0 {
        common::print(&format!(
            "{} by {} in {seconds:.3} s, {} by the busiest\nlongest: {}\n",
            several(options.tasks.into(), "task"),
            several(world.size().into(), "rank"),
            several(busiest, "task"),
            outcome.iter().max().unwrap_or(&0),
        ))?;
    }
    if options.verify {
        verify(world, &outcome)?;
    }
    tasks.free()?;
    results.free()?;
    Ok(())
}

fn steps(number: u32) -> i32 {
    let next = |n: &u64| Some(if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 });
    let sequence = std::iter::successors(Some(u64::from(number)), next);
    sequence.take_while(|n| *n != 1).count() as i32
}

/// A worker: from task to task until a task stops it. Returns how many it did.
fn work(tasks: &WindowQueue<u32>, results: &WindowQueue<TwoInt>) -> Result<u64, Failure> {
    let mut done = 0;
    loop {
        match tasks.pop()? {
            STOP => return Ok(done),
            number => results.push(TwoInt::new(steps(number), number as i32))?,
        }
        done += 1;
    }
}

/// Rank 0: hands out what fits the queue, takes results as they come, and works when there is nothing
/// else to do. Returns how many tasks it did itself, and all results.
fn farm(
    world: &Comm,
    tasks: &WindowQueue<u32>,
    results: &WindowQueue<TwoInt>,
    n: u32,
) -> Result<(u64, Vec<i32>), Failure> {
    let progress = common::progress(world, n.into(), "{bar:40} {human_pos} results");
    let mut outcome = vec![-1; n as usize];
    let (mut next, mut come, mut done) = (1, 0, 0);
    while come < n {
        while next <= n && tasks.try_push(next)? {
            next += 1;
        }
        if let Some(result) = results.try_pop()? {
            outcome[result.index() as usize - 1] = result.value();
            come += 1;
            progress.inc(1);
        } else if let Some(number) = tasks.try_pop()? {
            outcome[number as usize - 1] = steps(number);
            come += 1;
            done += 1;
            progress.inc(1);
        } else {
            std::thread::yield_now();
        }
    }
    (1..world.size()).try_for_each(|_| tasks.push(STOP))?;
    progress.finish_and_clear();
    Ok((done, outcome))
}

fn verify(world: &Comm, outcome: &[i32]) -> Result<(), Failure> {
    let wrong = (1..).zip(outcome).find(|(number, found)| steps(*number) != **found);
    let verdict = match wrong {
        Some((number, found)) => Err(Failure::Here(format!("{number} has not {found} steps"))),
        None if world.rank() == 0 => common::print("verified: every task was done\n"),
        None => Ok(()),
    };
    agree(world, verdict)
}
