//! The program of the README: every rank adds its number into rank 0's window.
//!
//! `rmarun -n 8 --example hello`

use clap::Parser;
use std::process::ExitCode;

/// Adds up numbers: every rank adds its own, 1 for rank 0 and so on, into a window of rank 0, which
/// prints the sum.
#[derive(Parser)]
#[command(name = "hello", max_term_width = 100, after_help = AFTER_HELP)]
struct Options {}

const AFTER_HELP: &str = "\
Examples:
  rmarun -n 8 --example hello";

fn main() -> ExitCode {
    common::exit(common::options_before_joining::<Options>().and_then(|_| Ok(hello()?)))
}

// From here on, this is the README's program, in which `hello` is `main`.

use onesided::{Access, FenceAssert, Op, Rank, Universe, Window};

fn hello() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let mut window = Window::<u64>::allocate(world, 1)?;

    let mine = [u64::from(world.rank()) + 1];
    let epoch = window.fence_with(FenceAssert::NOPRECEDE)?;
    epoch.accumulate(&mine, Op::Sum, Rank(0), 0)?;
    epoch.close()?;

    if world.rank() == 0 {
        println!("{} ranks add up to {}", world.size(), window.load_one(0)?);
    }
    window.free()
}
