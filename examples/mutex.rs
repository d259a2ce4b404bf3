//! Critical sections: every rank rewrites one record that only a mutex keeps whole.

use clap::Parser;
use common::{Failure, agree, several};
use onesided::{Comm, Rank, Window, WindowOptions};
use onesided_tools::WindowMutex;
use std::process::ExitCode;
use std::time::Instant;

/// Every rank rewrites the same record many times, under a fair mutex between ranks.
#[derive(Parser)]
#[command(after_help = "Examples:
  rmarun -n 8 --example mutex
  rmarun -n 3 --example mutex -- --times 5000 --verify")]
struct Options {
    /// How often each rank rewrites the record
    #[arg(long, value_name = "N", default_value_t = 2000)]
    times: u64,
    /// Words of the record
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    words: u16,
    /// Check that no rewriting was lost or torn
    #[arg(long)]
    verify: bool,
}

/// Where the record and the mutex are.
const HOME: Rank = Rank(0);

fn main() -> ExitCode {
    common::run(run)
}

fn run(world: &Comm, options: Options) -> Result<(), Failure> {
    let words = usize::from(options.words);
    let own = if world.rank() == HOME { words } else { 0 };
    let mut window: Window<u64> = WindowOptions::new().name("record").allocate(world, own)?;
    let mutex = WindowMutex::new(world, HOME)?;

    world.barrier()?;
    let started = Instant::now();
    let torn = rewrite(world, &mut window, &mutex, words, options.times)?;
    world.barrier()?;
    let seconds = started.elapsed().as_secs_f64();
    let all = options.times * u64::from(world.size());
    if world.rank() == 0 {
        common::print(&format!(
            "{} by {} in {seconds:.3} s, {:.0} ns each\n",
            several(all, "critical section"),
            several(world.size().into(), "rank"),
            seconds * 1e9 / all.max(1) as f64,
        ))?;
    }
    if options.verify {
        verify(world, &window, torn, all)?;
    }
    mutex.free()?;
    window.free()?;
    Ok(())
}

/// Reads the record and writes it back with every word one larger; how often it was torn.
fn rewrite(
    world: &Comm,
    window: &mut Window<u64>,
    mutex: &WindowMutex,
    words: usize,
    times: u64,
) -> Result<u64, Failure> {
    let progress = common::progress(world, times, "{bar:40} {human_pos} sections per rank");
    let mut record = vec![0; words];
    let mut torn = 0;
    let all = window.lock_all()?;
    for _ in 0..times {
        let held = mutex.lock()?;
        all.get_flush(&mut record, HOME, 0)?;
        torn += u64::from(record.iter().any(|word| *word != record[0]));
        record.iter_mut().for_each(|word| *word += 1);
        all.put_flush(&record, HOME, 0)?;
        held.unlock()?;
        progress.inc(1);
    }
    all.unlock_all()?;
    progress.finish_and_clear();
    Ok(torn)
}

fn verify(world: &Comm, window: &Window<u64>, torn: u64, all: u64) -> Result<(), Failure> {
    let mut record = vec![0; window.len()];
    window.load(0, &mut record)?;
    let verdict = if torn != 0 {
        Err(Failure::Here(format!("the record was torn {torn} times")))
    } else if let Some(word) = record.iter().find(|word| **word != all) {
        Err(Failure::Here(format!("a word of the record is {word} after {all} sections")))
    } else if world.rank() == 0 {
        common::print("verified: nothing was lost or torn\n")
    } else {
        Ok(())
    };
    agree(world, verdict)
}
