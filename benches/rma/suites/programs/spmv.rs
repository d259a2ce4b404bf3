//! A sparse matrix, shared out by rows, times a vector that is spread over all ranks; the product,
//! made small, is the vector of the next step.

use super::{SyncMemory, alone, beside, check};
use crate::Options;
use crate::freed::Freed;
use crate::measure::Case;
use crate::parts::Parts;
use onesided::{Comm, Rank, Window};

pub const WHAT: &str = "sparse matrix-vector product, a step under lock_all";
pub const LIMIT: &str = "limit: sparse matrix-vector product by hand";
const ROWS: usize = 64 << 10;
const PER_ROW: usize = 16;

pub fn run(world: &Comm, options: &Options) {
    let part = ROWS / world.ranks().len();
    let matrix = Matrix::new(world, part);
    // The vector of this step and of the next, in turn.
    let windows = [(); 2].map(|()| Freed::new(Window::<u64>::allocate(world, part)));
    let parts = [&windows[0], &windows[1]].map(|window| Parts::locate(world, window));
    let mut vectors = vectors(world, part);
    parts[0].put(world.rank().0, 0, &vec![1.0; part]);
    world.barrier().expect("the job goes on");

    let (mut product, mut now) = (vec![0.0; part], 0);
    let sync_memory = SyncMemory::new(world);
    let mut barrier = sync_memory.barrier();
    let mut by_hand = |n: u32| {
        for _ in 0..n {
            matrix.times(parts[now].all(part), &mut product);
            now ^= 1;
            parts[now].put(world.rank().0, 0, &product);
            barrier.wait();
        }
    };
    let mut work = (vec![0.0; part], vec![0.0; ROWS]);
    let mut ours = |vectors: &mut Vectors, n: u32| ours(world, &matrix, (vectors, &mut work), n);
    by_hand(4);
    ours(&mut vectors, 4);
    let mut mine = vec![0.0; part];
    vectors[0].load(0, &mut mine).expect("the own part");
    let here = &parts[0].all(part)[world.rank().index() * part..][..part];
    check(world, WHAT, 0, mine.iter().sum(), here.iter().sum());
    let by_hand = Case::new(LIMIT, 0, &mut by_hand);
    beside(world, by_hand, Case::new(WHAT, 0, |n| ours(&mut vectors, n)).against(LIMIT), options);
}

/// By this library alone.
pub fn run_alone(world: &Comm, options: &Options) {
    let part = ROWS / world.ranks().len();
    let (matrix, mut vectors) = (Matrix::new(world, part), vectors(world, part));
    let mut work = (vec![0.0; part], vec![0.0; ROWS]);
    world.barrier().expect("the job goes on");
    let run = |n| ours(world, &matrix, (&mut vectors, &mut work), n);
    alone(world, Case::new(WHAT, 0, run), options);
}

type Vectors = [Freed<Window<f64>>; 2];

/// The first one is the start.
fn vectors(world: &Comm, part: usize) -> Vectors {
    let vectors = [(); 2].map(|()| Freed::new(Window::<f64>::allocate(world, part)));
    vectors[0].store(0, &vec![1.0; part]).expect("the own part");
    vectors
}

fn ours(
    world: &Comm,
    matrix: &Matrix,
    (vectors, (product, vector)): (&mut Vectors, &mut (Vec<f64>, Vec<f64>)),
    n: u32,
) {
    let part = product.len();
    let epochs = vectors.each_mut().map(|one| one.lock_all().expect("lock_all"));
    for step in 0..n as usize {
        let (now, next) = (&epochs[step % 2], epochs[(step + 1) % 2].window());
        for (rank, to) in vector.chunks_exact_mut(part).enumerate() {
            now.get_flush(to, Rank(rank as u32), 0).expect("get");
        }
        matrix.times(vector, product);
        next.store(0, product).expect("the own part");
        next.sync();
        world.barrier().expect("barrier");
        next.sync();
    }
    for epoch in epochs {
        epoch.unlock_all().expect("unlock_all");
    }
    if n % 2 == 1 {
        vectors.swap(0, 1);
    }
}

/// This rank's rows, as values and columns.
struct Matrix {
    values: Vec<f64>,
    columns: Vec<u32>,
}

impl Matrix {
    fn new(world: &Comm, part: usize) -> Matrix {
        let first = world.rank().index() * part;
        let mut matrix = Matrix { values: Vec::new(), columns: Vec::new() };
        for i in first * PER_ROW..(first + part) * PER_ROW {
            let column = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
            matrix.columns.push(column as u32);
            matrix.values.push((1 + i % 7) as f64 / (4 * PER_ROW) as f64);
        }
        matrix
    }

    #[inline(never)]
    fn times(&self, vector: &[f64], product: &mut [f64]) {
        let values = self.values.chunks_exact(PER_ROW);
        let rows = values.zip(self.columns.chunks_exact(PER_ROW));
        for (to, (values, columns)) in product.iter_mut().zip(rows) {
            let terms = values.iter().zip(columns);
            *to = terms.map(|(value, column)| value * vector[*column as usize]).sum();
        }
    }
}
