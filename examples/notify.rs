//! A pipeline of ranks: blocks of numbers go from rank to rank by counted puts, without any flush,
//! fence or lock in the loop.

use clap::Parser;
use common::{Failure, agree, several};
use indicatif::HumanBytes;
use onesided::{Access, Comm, Rank, Window, WindowOptions};
use std::process::ExitCode;
use std::time::Instant;

/// A pipeline: rank 0 makes blocks of numbers, every rank changes each and passes it on, the last
/// rank adds them up.
#[derive(Parser)]
#[command(after_help = "Examples:
  rmarun -n 8 --example notify
  rmarun -n 3 --example notify -- --blocks 10000 --length 64 --verify")]
struct Options {
    /// Number of blocks
    #[arg(long, value_name = "N", default_value_t = 2000)]
    blocks: u64,
    /// Numbers in a block
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    length: u32,
    /// Compare the sum with one computed by rank 0 alone
    #[arg(long)]
    verify: bool,
}

/// Blocks that each rank has room for, so that it can take one while it works on another.
const SLOTS: u64 = 4;
/// Counter of the blocks that have come from the left.
const FULL: u32 = 0;
/// Counter of the slots that the right has emptied.
const EMPTY: u32 = 1;

fn main() -> ExitCode {
    common::run(run)
}

fn run(world: &Comm, options: Options) -> Result<(), Failure> {
    let length = options.length as usize;
    let slots = WindowOptions::new().name("slots").notifications(2);
    let window: Result<Window<u64>, _> = slots.allocate(world, SLOTS as usize * length);
    let mut window = agree(world, window)?;

    world.barrier()?;
    let started = Instant::now();
    let mut sum = [pass_on(world, &mut window, options.blocks, length)?];
    world.broadcast(&mut sum, Rank(world.size() - 1))?;
    let seconds = started.elapsed().as_secs_f64();
    if world.rank() == 0 {
        let bytes = options.blocks * 8 * u64::from(options.length);
        let moved = bytes * u64::from(world.size() - 1);
        common::print(&format!(
            "{} of {} through {} in {seconds:.3} s\n{:.3} GB/s, sum {}\n",
            several(options.blocks, "block"),
            HumanBytes(8 * u64::from(options.length)),
            several(world.size().into(), "rank"),
            moved as f64 / seconds / 1e9,
            sum[0],
        ))?;
    }
    if options.verify {
        verify(world, &options, sum[0])?;
    }
    window.free()?;
    Ok(())
}

/// What rank `rank` makes of a number.
fn change(number: u64, rank: u32) -> u64 {
    number.wrapping_mul(2 * u64::from(rank) + 3).rotate_left(7)
}

/// This rank's stage; the last returns the sum of all numbers, the others something else.
fn pass_on(
    world: &Comm,
    window: &mut Window<u64>,
    blocks: u64,
    length: usize,
) -> Result<u64, Failure> {
    let me = world.rank().0;
    let left = if me == 0 { Rank::NULL } else { Rank(me - 1) };
    let right = if me + 1 == world.size() { Rank::NULL } else { Rank(me + 1) };
    let progress = common::progress(world, blocks, "{bar:40} {human_pos} blocks");
    let mut numbers = vec![0; length];
    let mut sum = 0u64;
    let all = window.lock_all()?;
    for block in 0..blocks {
        let slot = block % SLOTS * length as u64;
        if me == 0 {
            let first = block * length as u64;
            numbers.iter_mut().zip(first..).for_each(|(number, value)| *number = value);
        } else {
            all.window().wait_notify(FULL, 1)?;
            all.window().load(slot as usize, &mut numbers)?;
            all.notify(left, EMPTY)?;
        }
        numbers.iter_mut().for_each(|number| *number = change(*number, me));
        if right != Rank::NULL && block >= SLOTS {
            all.window().wait_notify(EMPTY, 1)?;
        }
        let batch = all.batch();
        batch.put_notify(&numbers, right, slot as usize, FULL)?;
        batch.flush_local()?;
        sum = numbers.iter().fold(sum, |sum, number| sum.wrapping_add(*number));
        progress.inc(1);
    }
    all.unlock_all()?;
    progress.finish_and_clear();
    Ok(sum)
}

fn verify(world: &Comm, options: &Options, found: u64) -> Result<(), Failure> {
    let stages = |number| (0..world.size()).fold(number, change);
    let numbers = 0..options.blocks * u64::from(options.length);
    let verdict = match world.rank().0 {
        0 => match numbers.fold(0u64, |sum, number| sum.wrapping_add(stages(number))) {
            sum if sum == found => common::print("verified: the sum is right\n"),
            sum => Err(Failure::Here(format!("the sum is {found}, but should be {sum}"))),
        },
        _ => Ok(()),
    };
    agree(world, verdict)
}
