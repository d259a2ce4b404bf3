//! Dynamic loop scheduling: ranks draw the next iterations of a loop from a shared counter.

use clap::Parser;
use common::{Failure, agree, several};
use onesided::{Comm, Op};
use onesided_tools::DistributedCounter;
use std::process::ExitCode;
use std::time::Instant;

/// Counts the primes below a number: ranks draw ranges of it as they get on, and add up what they
/// find.
#[derive(Parser)]
#[command(after_help = "Examples:
  rmarun -n 8 --example counter
  rmarun -n 4 --example counter -- --below 1000000 --chunk 100 --verify")]
struct Options {
    /// Count the primes below this number
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(..=1 << 40))]
    below: u64,
    /// How many numbers a rank draws at a time
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    chunk: u64,
    /// Count them again on rank 0 by a sieve, and compare
    #[arg(long)]
    verify: bool,
}

fn main() -> ExitCode {
    common::run(run)
}

fn run(world: &Comm, options: Options) -> Result<(), Failure> {
    let counter = DistributedCounter::new(world)?;

    world.barrier()?;
    let started = Instant::now();
    let drawn = count(world, &counter, options.below, options.chunk)?;
    // Every addition is made before the barrier, so what is read behind it is exact.
    world.barrier()?;
    let primes = counter.read()?;
    let seconds = started.elapsed().as_secs_f64();
    let most = world.allreduce(&[drawn], Op::Max)?[0];
    let least = world.allreduce(&[drawn], Op::Min)?[0];
    if world.rank() == 0 {
        common::print(&format!(
            "{} below {} by {} in {seconds:.3} s\nfrom {least} to {most} draws per rank\n",
            several(primes, "prime"),
            options.below,
            several(world.size().into(), "rank"),
        ))?;
    }
    if options.verify {
        verify(world, options.below, primes)?;
    }
    counter.free()?;
    Ok(())
}

/// Draws ranges until there are none left; returns how many this rank drew.
fn count(
    world: &Comm,
    counter: &DistributedCounter,
    below: u64,
    chunk: u64,
) -> Result<u64, Failure> {
    let progress = common::progress(world, below, "{bar:40} {human_pos} numbers");
    let mut drawn = 0;
    loop {
        let from = counter.take_tickets(chunk)?;
        if from >= below {
            break;
        }
        let to = below.min(from + chunk);
        counter.add((from..to).filter(|n| is_prime(*n)).count() as u64)?;
        drawn += 1;
        progress.set_position(to);
    }
    progress.finish_and_clear();
    Ok(drawn)
}

fn is_prime(n: u64) -> bool {
    n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

fn verify(world: &Comm, below: u64, found: u64) -> Result<(), Failure> {
    if world.rank() != 0 {
        return agree(world, Ok::<_, Failure>(()));
    }
    let mut composite = vec![false; below as usize];
    let mut primes = 0;
    for n in 2..below {
        if !composite[n as usize] {
            primes += 1;
            (n * n..below).step_by(n as usize).for_each(|m| composite[m as usize] = true);
        }
    }
    let verdict = match primes == found {
        true => common::print("verified: no prime is missing\n"),
        false => Err(Failure::Here(format!("there are {primes} primes, not {found}"))),
    };
    agree(world, verdict)
}
