//! A star of radius 2 over a square that is shared out in blocks (as the stencil of the Parallel
//! Research Kernels), by post, start, complete and wait with the neighbours.

use super::exchange::{ByHand, Exchange, Message, Ours, Sync};
use super::{SyncMemory, alone, beside, check};
use crate::Options;
use crate::freed::Freed;
use crate::measure::Case;
use crate::parts::Parts;
use crate::suites::epochs::plane;
use onesided::{Comm, Window};

pub const WHAT: &str = "stencil of radius 2, a step by PSCW";
pub const LIMIT: &str = "limit: stencil by hand";
const SIDE: usize = 512;
const RADIUS: usize = 2;
/// The weight of a cell so far away, which the standard kernel chooses so.
const WEIGHTS: [f64; RADIUS] = [0.25, 0.125];

pub fn run(world: &Comm, options: &Options) {
    let mut one = Block::new(world);
    let mut two = Block::new(world);
    // Two halves, each of four edges.
    let words = 2 * one.place(4);
    let window = Freed::new(Window::<u64>::allocate(world, words));
    let parts = Parts::locate(world, &window);
    let mut other = Freed::new(Window::<f64>::allocate(world, words));
    let neighbours = one.neighbours();
    let sync_memory = SyncMemory::new(world);
    let sync = Sync::Neighbours(sync_memory.handshake(&neighbours));
    let mut by_hand = ByHand { parts: &parts, rank: world.rank().0, sync };
    let mut ours = Ours::with(world, &mut other, &neighbours);
    for _ in 0..3 {
        one.step(&mut by_hand);
        two.step(&mut ours);
    }
    let bytes = 8 * (SIDE * SIDE) as u64;
    check(world, WHAT, bytes, two.sum(), one.sum());
    let by_hand = Case::new(LIMIT, bytes, |n| (0..n).for_each(|_| one.step(&mut by_hand)));
    let ours = Case::new(WHAT, bytes, |n| (0..n).for_each(|_| two.step(&mut ours)));
    beside(world, by_hand, ours.against(LIMIT), options);
}

/// By this library alone.
pub fn run_alone(world: &Comm, options: &Options) {
    let mut block = Block::new(world);
    let mut window = Freed::new(Window::<f64>::allocate(world, 2 * block.place(4)));
    let mut ours = Ours::with(world, &mut window, &block.neighbours());
    let run = |n| (0..n).for_each(|_| block.step(&mut ours));
    alone(world, Case::new(WHAT, 8 * (SIDE * SIDE) as u64, run), options);
}

/// This rank's block, with edges of the radius on each side.
struct Block {
    rows: usize,
    columns: usize,
    /// The ranks above, below, left and right.
    beside: [Option<u32>; 4],
    input: Vec<f64>,
    output: Vec<f64>,
    /// What goes up, down, left and right.
    edges: [Vec<f64>; 4],
    half: usize,
}

impl Block {
    fn new(world: &Comm) -> Block {
        let plane = plane(world.rank().0, world.size());
        let (rows, columns) = (SIDE / plane.rows as usize, SIDE / plane.columns as usize);
        let (above, left) = (plane.row as usize * rows, plane.column as usize * columns);
        let wide = columns + 2 * RADIUS;
        let mut input = vec![0.0; (rows + 2 * RADIUS) * wide];
        for row in 0..rows {
            for column in 0..columns {
                input[(row + RADIUS) * wide + column + RADIUS] =
                    (above + row + left + column) as f64;
            }
        }
        let edge = |cells: usize| vec![0.0; RADIUS * cells];
        Block {
            rows,
            columns,
            beside: plane.beside,
            input,
            output: vec![0.0; rows * columns],
            edges: [edge(columns), edge(columns), edge(rows), edge(rows)],
            half: 0,
        }
    }

    fn neighbours(&self) -> Vec<u32> {
        self.beside.iter().flatten().copied().collect()
    }

    /// Where what comes from that side begins in a half; the fourth is the length of a half.
    fn place(&self, side: usize) -> usize {
        RADIUS
            * [
                0,
                self.columns,
                2 * self.columns,
                2 * self.columns + self.rows,
                2 * (self.columns + self.rows),
            ][side]
    }

    fn wide(&self) -> usize {
        self.columns + 2 * RADIUS
    }

    fn step(&mut self, exchange: &mut impl Exchange) {
        self.pack();
        let half = self.half * self.place(4);
        // What goes up comes from below.
        let messages = (0..4).filter_map(|side| {
            let (to, at) = (self.beside[side]?, half + self.place(side ^ 1));
            Some(Message { to, at, cells: &self.edges[side] })
        });
        exchange.exchange(&messages.collect::<Vec<_>>());
        self.unpack(exchange, half);
        star(self.columns, &self.input, &mut self.output);
        self.input.iter_mut().for_each(|cell| *cell += 1.0);
        self.half ^= 1;
    }

    /// The cells of a side that begin at this row and column, as rows.
    fn side(&self, side: usize, inside: bool) -> (usize, usize, usize, usize) {
        let (rows, columns, near) = (self.rows, self.columns, usize::from(inside) * RADIUS);
        match side {
            0 => (near, RADIUS, RADIUS, columns),
            1 => (rows + RADIUS - near, RADIUS, RADIUS, columns),
            2 => (RADIUS, near, rows, RADIUS),
            _ => (RADIUS, columns + RADIUS - near, rows, RADIUS),
        }
    }

    fn pack(&mut self) {
        let wide = self.wide();
        for side in 0..4 {
            let (row, column, _, length) = self.side(side, true);
            for (i, to) in self.edges[side].chunks_exact_mut(length).enumerate() {
                to.copy_from_slice(&self.input[(row + i) * wide + column..][..length]);
            }
        }
    }

    fn unpack(&mut self, exchange: &impl Exchange, half: usize) {
        let wide = self.wide();
        for side in (0..4).filter(|side| self.beside[*side].is_some()) {
            let (row, column, rows, length) = self.side(side, false);
            let mut edge = std::mem::take(&mut self.edges[side]);
            exchange.take(half + self.place(side), &mut edge[..rows * length]);
            for (i, from) in edge.chunks_exact(length).enumerate() {
                self.input[(row + i) * wide + column..][..length].copy_from_slice(from);
            }
            self.edges[side] = edge;
        }
    }

    fn sum(&self) -> f64 {
        self.output.iter().sum()
    }
}

/// Adds to each cell of `output` the star around its place in `input`.
#[inline(never)]
fn star(columns: usize, input: &[f64], output: &mut [f64]) {
    let wide = columns + 2 * RADIUS;
    for (row, output) in output.chunks_exact_mut(columns).enumerate() {
        let line = |away: usize| &input[(row + away) * wide..][..wide];
        let inside = |away: usize| line(away)[RADIUS..][..columns].iter();
        let column = inside(0).zip(inside(1)).zip(inside(3).zip(inside(4)));
        let cells = output.iter_mut().zip(line(2).windows(2 * RADIUS + 1)).zip(column);
        for ((cell, here), ((up2, up1), (down1, down2))) in cells {
            *cell += WEIGHTS[0] * (here[3] - here[1] + down1 - up1)
                + WEIGHTS[1] * (here[4] - here[0] + down2 - up2);
        }
    }
}
