//! Puts in a job that another MPI's launcher has started: rank 0 works on rank 1, which waits in a barrier.

use crate::Options;
use crate::measure::{Case, measure};
use onesided::{Access, Comm, Rank, Window};
use std::hint::black_box;

const TARGET: Rank = Rank(1);
/// Puts of a batch, and the words between two of them, so that none lies beside another.
const PUTS: usize = 64;
const STRIDE: usize = 16;

/// The names of the rows.
#[derive(Clone, Copy)]
pub struct Names {
    pub batch: &'static str,
    pub one: &'static str,
}

pub const NEAR: Names =
    Names { batch: "64 puts + flush by another MPI", one: "put + flush by another MPI" };
pub const FAR: Names =
    Names { batch: "64 puts + flush by another MPI, far", one: "put + flush by another MPI, far" };

pub fn run(world: &Comm, names: Names, options: &Options) {
    let mut window = Window::<u64>::allocate(world, PUTS * STRIDE).expect("a small window");
    if world.rank() == 0 {
        let epoch = window.lock_all().expect("no rank holds a lock");
        let source = [7u64];
        let batch = |n| {
            for _ in 0..n {
                let batch = epoch.batch();
                for i in 0..PUTS {
                    batch.put(black_box(&source), TARGET, i * STRIDE).expect("put");
                }
                batch.flush().expect("flush");
            }
        };
        let one =
            |n| (0..n).for_each(|_| epoch.put_flush(black_box(&source), TARGET, 0).expect("put"));
        let cases = vec![Case::new(names.batch, 8, batch), Case::new(names.one, 8, one)];
        measure(None, world.size(), cases, options);
        epoch.unlock_all().expect("the epoch is open");
    }
    world.barrier().expect("the job goes on");
    window.free().expect("no epoch is open");
}
