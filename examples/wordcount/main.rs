//! Counts words with one hash table in the windows of all ranks.
//!
//! `rmarun -n 8 --example wordcount -- --verify src README.md`
//!
//! Every rank reads an equal share of the text and adds each word to the table where it lies,
//! whichever rank's memory that is: a slot is claimed by compare_and_swap and counted up by
//! fetch_and_op, all under lock_all. No rank ever waits for another's help.

mod count;
mod report;
mod table;
mod text;

use clap::Parser;
use common::{Failure, agree, several};
use count::Counted;
use indicatif::{HumanBytes, HumanCount};
use onesided::Comm;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use text::Input;

/// Counts the words of text files with one hash table spread over the memory of all ranks, and
/// prints the most frequent ones.
#[derive(Parser)]
#[command(name = "wordcount", max_term_width = 100, after_help = AFTER_HELP)]
struct Options {
    /// Files, or folders that are searched to the end; symbolic links in them are passed over
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// How many of the most frequent words are printed
    #[arg(long, value_name = "K", default_value_t = 10)]
    top: usize,
    /// Lets rank 0 count everything again by itself, and fails if any count differs
    #[arg(long)]
    verify: bool,
    /// Slots of the table, over all ranks; more different words than that are an error. Without
    /// it the table grows as needed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    slots: Option<u64>,
    /// Bits of each word's hash that are used: with few of them many words collide, which makes
    /// counting slower but must not change a count
    #[arg(long, value_name = "BITS", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(1..=64))]
    hash_bits: u32,
}

const AFTER_HELP: &str = "\
Words:
  A word is a run of letters and digits (of any script, as Unicode has them), as long as possible
  and in lower case. Bytes that are not UTF-8 count as letters, so text in an old encoding has
  words too; words are counted as bytes, and such bytes are printed as '\u{fffd}'.

Examples:
  rmarun -n 8 --example wordcount -- --verify src README.md
  rmarun -n 2 --example wordcount -- --top 20 /usr/share/doc";

fn main() -> ExitCode {
    common::run(run)
}

fn run(world: &Comm, options: Options) -> Result<(), Failure> {
    let inputs = inputs(world, &options)?;

    let started = Instant::now();
    let mut counted = count::count(world, &inputs, options.slots, options.hash_bits)?;
    let time = started.elapsed();

    let top = report::most_frequent(world, &mut counted.table, options.top)?;
    if let Some(top) = top {
        common::print(&report::lines(&top))?;
        common::print(&summary(world, &inputs, &mut counted, time)?)?;
    }
    if options.verify {
        let started = Instant::now();
        let verdict = match world.rank().0 {
            0 => report::verify(&inputs, &mut counted.table),
            _ => Ok(()),
        };
        agree(world, verdict)?;
        if world.rank() == 0 {
            common::print(&format!("verified by one process in {:.2?}\n", started.elapsed()))?;
        }
    }
    counted.table.free()?;
    Ok(())
}

/// The files to count, the same on every rank because rank 0 alone looks for them.
fn inputs(world: &Comm, options: &Options) -> Result<Vec<Input>, Failure> {
    let found = match world.rank().0 {
        0 => text::find(&options.paths),
        _ => Ok(Vec::new()),
    };
    let found = agree(world, found)?;
    Ok(text::decode(&common::broadcast(world, text::encode(&found))?))
}

/// The numbers that follow the words, apart from them by an empty line.
fn summary(
    world: &Comm,
    inputs: &[Input],
    counted: &mut Counted,
    time: Duration,
) -> onesided::Result<String> {
    let bytes: u64 = inputs.iter().map(|input| input.bytes).sum();
    let speed = bytes as f64 / time.as_secs_f64() / 1e6;
    let taken = counted.table.open()?.taken()?;
    let capacity = counted.table.capacity();
    Ok(format!(
        "\n{} words, {} of them different, in {} ({})\n\
         {} in {time:.2?}: {speed:.1} MB/s; {} slots, {} % of them taken, after {}\n",
        HumanCount(counted.words),
        HumanCount(taken),
        several(inputs.len() as u64, "file"),
        HumanBytes(bytes),
        several(world.size().into(), "rank"),
        HumanCount(capacity),
        taken * 100 / capacity,
        several(counted.growths, "growth"),
    ))
}
