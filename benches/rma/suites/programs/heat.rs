//! Heat spreading over a plate whose rows are shared out (as examples/heat), by fence.

use super::exchange::{ByHand, Exchange, Message, Ours, Sync};
use super::{SyncMemory, alone, beside, check};
use crate::Options;
use crate::freed::Freed;
use crate::measure::Case;
use crate::parts::Parts;
use onesided::{Comm, Window};

pub const WHAT: &str = "heat, a step by fence";
pub const LIMIT: &str = "limit: heat by hand";

pub fn run(world: &Comm, side: usize, options: &Options) {
    // Two halves, each of a row from above and one from below.
    let window = Freed::new(Window::<u64>::allocate(world, 4 * side));
    let parts = Parts::locate(world, &window);
    let mut other = Freed::new(Window::<f64>::allocate(world, 4 * side));
    let sync_memory = SyncMemory::new(world);
    let sync = Sync::All(sync_memory.barrier());
    let mut by_hand = ByHand { parts: &parts, rank: world.rank().0, sync };
    let mut ours = Ours::by_fence(&mut other);
    let (mut one, mut two) = (Plate::new(world, side), Plate::new(world, side));
    for _ in 0..3 {
        one.step(&mut by_hand);
        two.step(&mut ours);
    }
    let bytes = 8 * (side * side) as u64;
    check(world, WHAT, bytes, two.sum(), one.sum());
    let by_hand = Case::new(LIMIT, bytes, |n| (0..n).for_each(|_| one.step(&mut by_hand)));
    let ours = Case::new(WHAT, bytes, |n| (0..n).for_each(|_| two.step(&mut ours)));
    beside(world, by_hand, ours.against(LIMIT), options);
}

/// By this library alone.
pub fn run_alone(world: &Comm, side: usize, options: &Options) {
    let mut window = Freed::new(Window::<f64>::allocate(world, 4 * side));
    let (mut ours, mut plate) = (Ours::by_fence(&mut window), Plate::new(world, side));
    let run = |n| (0..n).for_each(|_| plate.step(&mut ours));
    alone(world, Case::new(WHAT, 8 * (side * side) as u64, run), options);
}

/// This rank's rows, and one more above and below.
struct Plate {
    rank: usize,
    ranks: usize,
    columns: usize,
    rows: usize,
    now: Vec<f64>,
    next: Vec<f64>,
    half: usize,
}

impl Plate {
    fn new(world: &Comm, side: usize) -> Plate {
        let (rank, ranks) = (world.rank().index(), world.ranks().len());
        let rows = side / ranks;
        let cell = |i: usize| ((rank * rows * side + i) % 101) as f64;
        let now: Vec<f64> = (0..(rows + 2) * side).map(cell).collect();
        Plate { rank, ranks, columns: side, rows, next: now.clone(), now, half: 0 }
    }

    fn step(&mut self, exchange: &mut impl Exchange) {
        let (columns, rows) = (self.columns, self.rows);
        let half = 2 * columns * self.half;
        let (first, last) = (&self.now[columns..2 * columns], &self.now[rows * columns..]);
        let (above, below) = (self.rank > 0, self.rank + 1 < self.ranks);
        let up =
            Message { to: self.rank as u32 - u32::from(above), at: half + columns, cells: first };
        let down = Message { to: self.rank as u32 + 1, at: half, cells: &last[..columns] };
        match (above, below) {
            (true, true) => exchange.exchange(&[up, down]),
            (true, false) => exchange.exchange(&[up]),
            (false, true) => exchange.exchange(&[down]),
            (false, false) => exchange.exchange(&[]),
        }
        if above {
            exchange.take(half, &mut self.now[..columns]);
        }
        if below {
            exchange.take(half + columns, &mut self.now[(rows + 1) * columns..]);
        }
        relax(columns, &self.now, &mut self.next);
        std::mem::swap(&mut self.now, &mut self.next);
        self.half ^= 1;
    }

    fn sum(&self) -> f64 {
        self.now[self.columns..][..self.rows * self.columns].iter().sum()
    }
}

/// Computes all rows but the first and the last; the columns at the edges stay.
#[inline(never)]
fn relax(columns: usize, now: &[f64], next: &mut [f64]) {
    for row in 1..now.len() / columns - 1 {
        let at = |row: usize| &now[row * columns..(row + 1) * columns];
        let (above, here, below) = (at(row - 1), at(row), at(row + 1));
        let next = &mut next[row * columns + 1..(row + 1) * columns - 1];
        let beside = above[1..].iter().zip(&below[1..]).zip(here.windows(3));
        for (cell, ((above, below), here)) in next.iter_mut().zip(beside) {
            *cell = here[1] + 0.2 * (above + below + here[0] + here[2] - 4.0 * here[1]);
        }
    }
}
