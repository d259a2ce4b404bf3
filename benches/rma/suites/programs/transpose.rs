//! A square matrix, shared out by rows, is transposed into another, tile by tile, under lock_all.

use super::{SyncMemory, alone, beside, check};
use crate::Options;
use crate::freed::Freed;
use crate::measure::Case;
use crate::parts::Parts;
use onesided::{Access, Comm, Rank, Shape, Window};

pub const WHAT: &str = "transpose";
pub const LIMIT: &str = "limit: transpose by hand";
/// Rows and columns of a tile, of which two fit into the cache next to the processor.
const TILE: usize = 32;

pub fn run(world: &Comm, side: usize, options: &Options) {
    let rows = side / world.ranks().len();
    let first = world.rank().index() * rows;
    let matrix = rows_of(world, side);
    let window = Freed::new(Window::<u64>::allocate(world, rows * side));
    let parts = Parts::locate(world, &window);
    let mut other = Freed::new(Window::<f64>::allocate(world, rows * side));
    let sync_memory = SyncMemory::new(world);
    let mut barrier = sync_memory.barrier();
    let mut tile = [0.0; TILE * TILE];
    let mut by_hand = |n: u32| {
        for _ in 0..n {
            for (row, column) in tiles(rows, side) {
                let (rank, at) = (column / rows, column % rows * side + first + row);
                transpose(&matrix[row * side + column..], side, &mut tile);
                for (i, cells) in tile.chunks_exact(TILE).enumerate() {
                    parts.put(rank as u32, at + i * side, cells);
                }
            }
            barrier.wait();
        }
    };
    let ours = |window: &mut Window<f64>, n: u32| ours(world, (&matrix, side), window, n);
    by_hand(1);
    ours(&mut other, 1);
    let bytes = 8 * (side * side) as u64;
    let mut mine = vec![0.0; rows * side];
    other.load(0, &mut mine).expect("the own part");
    let here = &parts.all(rows * side)[first * side..][..rows * side];
    check(world, WHAT, bytes, weighed(&mine), weighed(here));
    let by_hand = Case::new(LIMIT, bytes, &mut by_hand);
    beside(world, by_hand, Case::new(WHAT, bytes, |n| ours(&mut other, n)).against(LIMIT), options);
}

/// By this library alone.
pub fn run_alone(world: &Comm, side: usize, options: &Options) {
    let matrix = rows_of(world, side);
    let mut window = Freed::new(Window::<f64>::allocate(world, matrix.len()));
    let run = |n| ours(world, (&matrix, side), &mut window, n);
    alone(world, Case::new(WHAT, 8 * (side * side) as u64, run), options);
}

/// This rank's rows of the matrix.
fn rows_of(world: &Comm, side: usize) -> Vec<f64> {
    let rows = side / world.ranks().len();
    let first = world.rank().index() * rows;
    (0..rows * side).map(|i| ((first * side + i) % 1009) as f64).collect()
}

fn ours(world: &Comm, (matrix, side): (&[f64], usize), window: &mut Window<f64>, n: u32) {
    let rows = side / world.ranks().len();
    let first = world.rank().index() * rows;
    let shape = Shape::<f64>::strided(TILE, TILE, side).expect("a tile");
    let mut tile = [0.0; TILE * TILE];
    let epoch = window.lock_all().expect("lock_all");
    for _ in 0..n {
        for (row, column) in tiles(rows, side) {
            transpose(&matrix[row * side + column..], side, &mut tile);
            let (rank, at) = (Rank((column / rows) as u32), column % rows * side + first + row);
            let batch = epoch.batch();
            batch.put_shaped(&tile, rank, at, &shape).expect("put");
            batch.flush_local().expect("flush_local");
        }
        epoch.flush_all().expect("flush_all");
        world.barrier().expect("barrier");
    }
    epoch.unlock_all().expect("unlock_all");
}

/// The rows and columns at which tiles begin; at different ranks' parts at different times.
fn tiles(rows: usize, side: usize) -> impl Iterator<Item = (usize, usize)> {
    let columns = (0..side).step_by(TILE);
    columns.flat_map(move |column| (0..rows).step_by(TILE).map(move |row| (row, column)))
}

/// The tile that begins here, transposed: read row by row, because rows of the matrix lie in each
/// other's way in the cache, and those of the tile do not.
#[inline]
fn transpose(from: &[f64], columns: usize, tile: &mut [f64; TILE * TILE]) {
    for (row, from) in from.chunks(columns).take(TILE).enumerate() {
        for (column, value) in from[..TILE].iter().enumerate() {
            tile[column * TILE + row] = *value;
        }
    }
}

/// A sum that depends on where a value lies.
fn weighed(values: &[f64]) -> f64 {
    values.iter().enumerate().map(|(i, value)| (i % 127) as f64 * value).sum()
}
