//! Counts words with one hash table in the windows of all ranks.
//!
//! `rmarun -n 8 --example wordcount -- --verify src README.md`
//!
//! Every rank reads an equal share of the text and adds each word to the table where it lies,
//! whoever's memory that is: a slot is claimed by compare_and_swap and counted up by
//! fetch_and_op, all under lock_all. No rank ever waits for another's help.

#[path = "../common/mod.rs"]
mod common;
mod report;
mod table;
mod text;

use clap::Parser;
use common::{Failure, agree};
use indicatif::{HumanBytes, HumanCount, ProgressBar};
use onesided::{Comm, Op, Universe};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use table::{Full, Size, Table};
use text::{Input, Words};

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

/// Words between two looks at whether another rank has found the table too small.
const LOOK: usize = 256;

fn main() -> ExitCode {
    common::exit(run())
}

fn run() -> Result<(), Failure> {
    let universe = Universe::init()?;
    let world = universe.world();
    let options: Options = common::options(world)?;
    let inputs = inputs(world, &options)?;

    let started = Instant::now();
    let counted = count(world, &options, &inputs)?;
    let time = started.elapsed();

    let Counted { mut table, .. } = counted;
    let top = report::most_frequent(world, &mut table, options.top)?;
    if let Some(top) = top {
        let taken = table.open()?.taken()?;
        let table = (taken, table.capacity(), counted.growths);
        common::print(&report::lines(&top))?;
        common::print(&summary(world, &inputs, counted.words, table, time))?;
    }
    if options.verify {
        let started = Instant::now();
        let verdict = match world.rank() {
            0 => report::verify(&inputs, &mut table),
            _ => Ok(()),
        };
        agree(world, verdict)?;
        if world.rank() == 0 {
            common::print(&format!("verified by one process in {:.2?}\n", started.elapsed()))?;
        }
    }
    Ok(())
}

/// The files to count, the same on every rank because rank 0 alone looks for them.
fn inputs(world: &Comm, options: &Options) -> Result<Vec<Input>, Failure> {
    let found = match world.rank() {
        0 => text::find(&options.paths),
        _ => Ok(Vec::new()),
    };
    let found = agree(world, found)?;
    Ok(text::decode(&common::broadcast(world, text::encode(&found))?))
}

struct Counted {
    table: Table,
    /// Words on all ranks.
    words: u64,
    /// How often the table has grown.
    growths: u32,
}

/// Counts this rank's share, in as many rounds as the table is too small for. Collective.
fn count(world: &Comm, options: &Options, inputs: &[Input]) -> Result<Counted, Failure> {
    let bytes: u64 = inputs.iter().map(|input| input.bytes).sum();
    let ranks = u64::from(world.size());
    let slots = options.slots.unwrap_or((bytes / 256).clamp(1 << 10, 1 << 22)).div_ceil(ranks);
    let size = Size { slots, bytes: (slots * 16).max(1 << 12), hash_bits: options.hash_bits };
    let mut counted = Counted { table: Table::new(world, size)?, words: 0, growths: 0 };

    let share = text::share(inputs, world.rank(), world.size());
    let style = "{bar:40} {bytes}/{total_bytes} per rank, {binary_bytes_per_sec}, {eta} left";
    let progress = common::progress(world, bytes / ranks, style);
    let mut words = Words::new(share);
    let mut more = agree(world, words.advance())?;
    loop {
        let round = count_round(&mut counted, &mut words, &mut more, options, &progress);
        let full = agree(world, round)?;
        let Some(size) = next_size(world, counted.table.size(), full, more)? else { break };
        counted.table = counted.table.grow(size)?;
        counted.growths += 1;
    }
    progress.finish_and_clear();
    counted.words = world.allreduce(&[counted.words], Op::Sum)?[0];
    Ok(counted)
}

/// Counts until this rank's words are done (then `more` is false), or until the table is too
/// small: for this rank, which then says so, or for another. Local.
fn count_round(
    counted: &mut Counted,
    words: &mut Words,
    more: &mut bool,
    options: &Options,
    progress: &ProgressBar,
) -> Result<Option<Full>, Failure> {
    let capacity = counted.table.capacity();
    let mut table = counted.table.open()?;
    while *more {
        for _ in 0..LOOK {
            match table.add(words.word(), 1)? {
                Ok(()) => counted.words += 1,
                Err(Full::Slots) if options.slots.is_some() => {
                    return Err(Failure::Here(format!(
                        "the table's {capacity} slots are all taken: give --slots a larger \
                         number, or leave it out to let the table grow"
                    )));
                }
                Err(full) => {
                    table.raise_alarm()?;
                    return Ok(Some(full));
                }
            }
            *more = words.advance()?;
            if !*more {
                return Ok(None);
            }
        }
        progress.set_position(words.bytes);
        if table.alarm()? {
            return Ok(None);
        }
        // Long searches cost more than moving everything once.
        if options.slots.is_none() && table.taken()? > capacity / 8 * 5 {
            table.raise_alarm()?;
            return Ok(Some(Full::Slots));
        }
    }
    Ok(None)
}

/// The size that the table needs, if it is too small for any rank; `None` when all are done.
/// Collective.
fn next_size(
    world: &Comm,
    size: Size,
    full: Option<Full>,
    more: bool,
) -> Result<Option<Size>, Failure> {
    let (slots, bytes) = match full {
        Some(Full::Slots) => (1, 0),
        Some(Full::Words(bytes)) => (0, bytes),
        None => (0, 0),
    };
    let all = world.allreduce(&[u64::from(more), slots, bytes], Op::Max)?;
    Ok((all[0] != 0).then(|| Size {
        slots: if all[1] != 0 { size.slots * 4 } else { size.slots },
        bytes: if all[2] != 0 { all[2].max(size.bytes * 2) } else { size.bytes },
        ..size
    }))
}

fn summary(
    world: &Comm,
    inputs: &[Input],
    words: u64,
    (taken, capacity, growths): (u64, u64, u32),
    time: Duration,
) -> String {
    let bytes: u64 = inputs.iter().map(|input| input.bytes).sum();
    let speed = bytes as f64 / time.as_secs_f64() / 1e6;
    format!(
        "{} words, {} of them different, in {} files ({})\n\
         {} ranks, {time:.2?}, {speed:.1} MB/s; table of {} slots, {} % taken, grown {growths} \
         times\n",
        HumanCount(words),
        HumanCount(taken),
        inputs.len(),
        HumanBytes(bytes),
        world.size(),
        HumanCount(capacity),
        taken * 100 / capacity,
    )
}
