//! Whole programs, each by this library and by hand: the same program over the same kernel, with
//! copies, instructions and barriers by hand instead of calls. A sample is a whole run or a step.

mod exchange;
mod gups;
mod heat;
mod spmv;
mod stencil;
mod table;
mod transpose;

use crate::Options;
use crate::by_hand::{Barrier, Handshake, Wait};
use crate::compare::CHECK;
use crate::freed::Freed;
use crate::measure::{self, Case};
use crate::pages::Pages;
use onesided::{Comm, Op, Rank, Window};

pub fn run(world: &Comm, options: &Options) {
    gups::run(world, options);
    table::run(world, options);
    for side in [128, 1024] {
        heat::run(world, side, options);
    }
    transpose::run(world, if options.quick { 512 } else { 2048 }, options);
    spmv::run(world, options);
    stencil::run(world, options);
}

/// By this library alone, for jobs that are checked and others.
pub fn run_alone(world: &Comm, options: &Options) {
    for side in [128, 1024] {
        heat::run_alone(world, side, options);
    }
    transpose::run_alone(world, if options.quick { 512 } else { 2048 }, options);
    stencil::run_alone(world, options);
    spmv::run_alone(world, options);
    table::run_alone(world, options);
    gups::run_alone(world, options);
    put_alone(world, options);
}

/// Rank 0 puts to rank 1, which waits.
fn put_alone(world: &Comm, options: &Options) {
    const BYTES: usize = 1 << 20;
    const WHAT: &str = "put of 1 MiB + flush";
    let mut window = Freed::new(Window::<u8>::allocate(world, BYTES));
    let buffer = vec![1; BYTES];
    if world.rank() == 0 {
        let epoch = window.lock_all().expect("lock_all");
        let put = |n| (0..n).for_each(|_| epoch.put_flush(&buffer, Rank(1), 0).expect("put"));
        let case = Case::new(WHAT, BYTES as u64, put);
        measure::measure(None, world.size(), vec![case], options);
        epoch.unlock_all().expect("unlock_all");
    }
    world.barrier().expect("barrier");
}

/// Each program's name, and that of the same by hand.
pub const GUPS: (&str, &str) = (gups::WHAT, gups::LIMIT);
pub const TABLE: (&str, &str) = (table::WHAT, table::LIMIT);
pub const HEAT: (&str, &str) = (heat::WHAT, heat::LIMIT);
pub const TRANSPOSE: (&str, &str) = (transpose::WHAT, transpose::LIMIT);
pub const SPMV: (&str, &str) = (spmv::WHAT, spmv::LIMIT);
pub const STENCIL: (&str, &str) = (stencil::WHAT, stencil::LIMIT);

/// Memory in which ranks meet by hand.
pub struct SyncMemory {
    window: Freed<Window<u64>>,
    rank: u32,
    ranks: u32,
    pages: Pages,
}

impl SyncMemory {
    /// Collective.
    pub fn new(world: &Comm) -> SyncMemory {
        let window = Freed::new(Window::<u64>::allocate(world, 8 << 10));
        let pages = Pages::locate(world, &window, 0);
        SyncMemory { window, rank: world.rank().0, ranks: world.size(), pages }
    }

    /// A barrier, for use while this lives.
    pub fn barrier(&self) -> Barrier {
        Barrier::new(self.pages, 64, self.ranks, Wait::busy(self.ranks))
    }

    /// A handshake with these, for use while this lives.
    pub fn handshake(&self, neighbours: &[u32]) -> Handshake {
        assert!(128 + Handshake::words(self.ranks) <= self.window.len());
        Handshake::new(self.pages, 128, self.rank, neighbours, Wait::busy(self.ranks))
    }
}

/// Measures a program beside the same by hand.
pub fn beside(world: &Comm, by_hand: Case<'_>, ours: Case<'_>, options: &Options) {
    measure::measure(Some(world), world.size(), vec![by_hand, ours], options);
}

/// Measures a program without a limit.
fn alone(world: &Comm, ours: Case<'_>, options: &Options) {
    measure::measure(Some(world), world.size(), vec![ours], options);
}

/// Compares the sums of both results over all ranks, and prints ours, so that the driver can
/// compare it with the twins'.
pub fn check(world: &Comm, what: &str, bytes: u64, ours: f64, by_hand: f64) {
    let sums = world.allreduce(&[ours, by_hand], Op::Sum).expect("the job goes on");
    let difference = (sums[0] - sums[1]).abs();
    assert!(difference <= 1e-9 * sums[0].abs(), "{what}: {} and by hand {}", sums[0], sums[1]);
    if world.rank() == 0 {
        measure::print_size(&format!("{CHECK}{what}"), "", world.size(), bytes, sums[0]);
    }
}
