//! Collectives of all ranks, of slices.

use crate::Options;
use crate::measure::{Case, measure};
use onesided::{Comm, Op, Rank};
use std::cell::RefCell;

pub const BARRIER: &str = "collective barrier";
pub const BROADCAST: &str = "collective bcast";
pub const REDUCE: &str = "collective reduce";
pub const ALLREDUCE: &str = "collective allreduce";
pub const ALLGATHER: &str = "collective allgather";
pub const ALLTOALL: &str = "collective alltoall";

/// Bytes that each rank gives another.
const SIZES: [usize; 4] = [8, 4 << 10, 64 << 10, 1 << 20];

pub fn run(world: &Comm, options: &Options) {
    let barriers = |n: u32| (0..n).for_each(|_| world.barrier().expect("barrier"));
    measure(Some(world), world.size(), vec![Case::new(BARRIER, 0, barriers)], options);
    for bytes in SIZES {
        let given = vec![1.0f64; bytes / 8];
        let all = vec![1.0f64; bytes / 8 * world.ranks().len()];
        let root = RefCell::new(given.clone());
        let broadcasts = |n: u32| {
            (0..n).for_each(|_| world.broadcast(&mut root.borrow_mut(), Rank(0)).expect("bcast"));
        };
        let reduces = |n: u32| {
            (0..n).for_each(|_| drop(world.reduce(&given, Op::Sum, Rank(0)).expect("reduce")));
        };
        let allreduces =
            |n: u32| (0..n).for_each(|_| drop(world.allreduce(&given, Op::Sum).expect("reduce")));
        let allgathers =
            |n: u32| (0..n).for_each(|_| drop(world.allgather(&given).expect("allgather")));
        let alltoalls = |n: u32| (0..n).for_each(|_| drop(world.alltoall(&all).expect("alltoall")));
        let bytes = bytes as u64;
        let cases = vec![
            Case::new(BROADCAST, bytes, broadcasts),
            Case::new(REDUCE, bytes, reduces),
            Case::new(ALLREDUCE, bytes, allreduces),
            Case::new(ALLGATHER, bytes, allgathers),
            Case::new(ALLTOALL, bytes, alltoalls),
        ];
        measure(Some(world), world.size(), cases, options);
    }
}
