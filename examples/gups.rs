//! Random access updates (HPC Challenge RandomAccess): how many words per second, anywhere in a
//! table spread over all ranks, can be updated?
//!
//! `rmarun -n 2 --example gups -- --verify`
//!
//! Every rank takes its part of one sequence of random numbers, and combines each number by
//! exclusive or into the word that its lowest bits point to, by accumulate under lock_all. An
//! accumulate is atomic, so no update may be lost, where the rules of HPC Challenge allow 1 %.

use clap::Parser;
use common::{Failure, agree, several};
use indicatif::HumanBytes;
use onesided::{Access, Comm, Op, Rank, Window, WindowOptions};
use std::process::ExitCode;
use std::time::Instant;

/// Measures random updates of a table spread over the memory of all ranks, in billions per second
/// (GUP/s), by the rules of HPC Challenge RandomAccess.
#[derive(Parser)]
#[command(name = "gups", max_term_width = 100, after_help = AFTER_HELP)]
struct Options {
    /// The table has 2^N words of 8 bytes
    #[arg(long, value_name = "N", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(0..=40))]
    log_size: u32,
    /// Updates over all ranks [default: four per word]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 50))]
    updates: Option<u64>,
    /// Undoes all updates, every rank those of its own words by itself, and counts the words that
    /// are wrong; any wrong word is a failure
    #[arg(long)]
    verify: bool,
}

const AFTER_HELP: &str = "\
Examples:
  rmarun -n 2 --example gups -- --verify
  rmarun -n 4 --example gups -- --log-size 25";

/// Updates whose numbers a rank may know in advance (HPC Challenge: at most 1024).
const LOOK_AHEAD: usize = 1024;

/// The polynomial of the random sequence, and how often it takes before it repeats.
const POLYNOMIAL: u64 = 7;
const PERIOD: u64 = 1_317_624_576_693_539_401;

fn main() -> ExitCode {
    common::run(run)
}

fn run(world: &Comm, options: Options) -> Result<(), Failure> {
    let table = Table::new(world, options.log_size);
    let updates = options.updates.unwrap_or(4 * table.words);
    let window = WindowOptions::new().name("table").allocate(world, table.own(world));
    let mut window: Window<u64> = agree(world, window)?;
    for (word, value) in window.lock_local()?.iter_mut().zip(table.first(world.rank().0)..) {
        *word = value;
    }

    world.barrier()?;
    let started = Instant::now();
    update(world, table, &mut window, updates)?;
    world.barrier()?;
    let seconds = started.elapsed().as_secs_f64();
    if world.rank() == 0 {
        common::print(&format!(
            "{} of {} ({}) by {} in {seconds:.3} s\n{:.4} GUP/s\n",
            several(updates, "update"),
            several(table.words, "word"),
            HumanBytes(table.words * 8),
            several(world.size().into(), "rank"),
            updates as f64 / seconds / 1e9,
        ))?;
    }
    if options.verify {
        verify(world, table, &mut window, updates)?;
    }
    window.free()?;
    Ok(())
}

/// Which word lies where.
#[derive(Clone, Copy)]
struct Table {
    /// Words in all; a power of two.
    words: u64,
    /// Words of each rank, except that the last ranks may have fewer.
    part: u64,
    /// log2 of `part`, if that is a whole number.
    shift: Option<u32>,
}

impl Table {
    fn new(world: &Comm, log_size: u32) -> Table {
        let words = 1 << log_size;
        let part = u64::div_ceil(words, u64::from(world.size()));
        Table { words, part, shift: part.is_power_of_two().then(|| part.trailing_zeros()) }
    }

    /// The first word of a rank.
    fn first(self, rank: u32) -> u64 {
        (self.part * u64::from(rank)).min(self.words)
    }

    /// How many words this rank has.
    fn own(self, world: &Comm) -> usize {
        (self.first(world.rank().0 + 1) - self.first(world.rank().0)) as usize
    }

    /// Rank and displacement of the word that a random number updates.
    #[inline]
    fn place(self, random: u64) -> (Rank, u64) {
        let word = random & (self.words - 1);
        match self.shift {
            Some(shift) => (Rank((word >> shift) as u32), word & (self.part - 1)),
            None => (Rank((word / self.part) as u32), word % self.part),
        }
    }
}

/// This rank's share of the updates.
fn update(
    world: &Comm,
    table: Table,
    window: &mut Window<u64>,
    updates: u64,
) -> Result<(), Failure> {
    let share =
        |rank: u32| (u128::from(updates) * u128::from(rank) / u128::from(world.size())) as u64;
    let (from, to) = (share(world.rank().0), share(world.rank().0 + 1));
    let progress = common::progress(world, to - from, "{bar:40} {human_pos} updates per rank");
    let mut random = Random::from(from);
    let mut numbers = [0; LOOK_AHEAD];
    let epoch = window.lock_all()?;
    let mut left = to - from;
    while left > 0 {
        let count = left.min(LOOK_AHEAD as u64) as usize;
        let numbers = &mut numbers[..count];
        numbers.fill_with(|| random.next());
        let batch = epoch.batch();
        for number in numbers.chunks_exact(1) {
            let (target, disp) = table.place(number[0]);
            batch.accumulate(number, Op::Bxor, target, disp as usize)?;
        }
        batch.flush_local()?;
        left -= count as u64;
        progress.inc(count as u64);
    }
    epoch.unlock_all()?;
    progress.finish_and_clear();
    Ok(())
}

/// Makes every update again, which undoes it, without any other rank: this rank goes through the
/// whole sequence from its beginning, and updates by plain stores what is in its own part.
fn verify(
    world: &Comm,
    table: Table,
    window: &mut Window<u64>,
    updates: u64,
) -> Result<(), Failure> {
    let own = world.rank();
    let progress = common::progress(world, updates, "{bar:40} {human_pos} updates verified");
    let mut words = window.lock_local()?;
    let mut random = Random::from(0);
    for done in 0..updates {
        let number = random.next();
        let (target, disp) = table.place(number);
        if target == own {
            words[disp as usize] ^= number;
        }
        if done % (1 << 16) == 0 {
            progress.set_position(done);
        }
    }
    let values = words.iter().zip(table.first(own.0)..);
    let wrong = values.filter(|(word, value)| *word != value).count() as u64;
    words.unlock()?;
    progress.finish_and_clear();

    let wrong = world.allreduce(&[wrong], Op::Sum)?[0];
    let verdict = match wrong {
        0 if own.0 == 0 => common::print("verified: no word is wrong\n"),
        0 => Ok(()),
        _ => Err(Failure::Here(format!("{wrong} of {} words are wrong", table.words))),
    };
    agree(world, verdict)
}

/// The random sequence of HPC Challenge, from any place in it.
struct Random(u64);

impl Random {
    /// The sequence after `skipped` numbers (`HPCC_starts`): doubles the distance from the start
    /// once per bit of it, instead of going it step by step.
    fn from(skipped: u64) -> Random {
        let skipped = skipped % PERIOD;
        if skipped == 0 {
            return Random(1);
        }
        // What the bits of a number are after 64 pairs of steps.
        let mut random = Random(1);
        let squares: [u64; 64] = std::array::from_fn(|_| {
            let number = random.0;
            random.next();
            random.next();
            number
        });
        let square = |number: u64| {
            let bits = (0..64).filter(|bit| number >> bit & 1 != 0);
            bits.fold(0, |sum, bit| sum ^ squares[bit])
        };
        let mut random = Random(2);
        for bit in (0..skipped.ilog2()).rev() {
            random.0 = square(random.0);
            if skipped >> bit & 1 != 0 {
                random.next();
            }
        }
        random
    }

    #[inline]
    fn next(&mut self) -> u64 {
        let overflow = if (self.0 as i64) < 0 { POLYNOMIAL } else { 0 };
        self.0 = self.0 << 1 ^ overflow;
        self.0
    }
}
