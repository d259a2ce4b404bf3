//! What the alignment of the memory at the target costs (MPI-2.2 §11.2.1, advice to implementors).
//! Rank 0 works on rank 1, which sleeps in a barrier.

use crate::Options;
use crate::freed::Freed;
use crate::measure::{Case, measure};
use onesided::{Access, Comm, LockAllEpoch, Op, Rank, WindowOptions};
use std::hint::black_box;

const TARGET: Rank = Rank(1);
const LARGEST: usize = 1 << 20;
/// How many bytes behind the start of a page, with the names of what is measured there; the first
/// is what the others are compared with.
const PLACES: [(u64, [&str; 4]); 5] = [
    (0, ["put, aligned", "get, aligned", "fetch_and_op, aligned", "sum u64, aligned"]),
    (8, ["put, word 1", "get, word 1", "fetch_and_op, word 1", "sum u64, word 1"]),
    (1, ["put, byte 1", "get, byte 1", "fetch_and_op, byte 1", "sum u64, byte 1"]),
    (
        60,
        [
            "put, across two cache lines",
            "get, across two cache lines",
            "fetch_and_op, across two cache lines",
            "sum u64, across two cache lines",
        ],
    ),
    (
        4092,
        [
            "put, across two pages",
            "get, across two pages",
            "fetch_and_op, across two pages",
            "sum u64, across two pages",
        ],
    ),
];

pub fn run(world: &Comm, options: &Options) {
    let bytes = WindowOptions::new().disp_unit(1);
    let mut window = Freed::new(bytes.allocate::<u64>(world, LARGEST / 8 + 1024));
    if world.rank() == 0 {
        let epoch = window.lock_all().expect("no rank holds a lock");
        for words in [1, 512, LARGEST / 8] {
            let cases = PLACES.iter().flat_map(|(at, names)| cases(&epoch, *at, names, words));
            measure(None, 2, cases.collect(), options);
        }
        epoch.unlock_all().expect("the epoch is open");
    }
}

fn cases<'a>(
    epoch: &'a LockAllEpoch<'_, '_, u64>,
    at: u64,
    [put_name, get_name, fetch_name, sum_name]: &[&'static str; 4],
    words: usize,
) -> Vec<Case<'a>> {
    let first = PLACES[0].1;
    let size = 8 * words as u64;
    let (from, mut to) = (vec![1u64; words], vec![0u64; words]);
    let more = from.clone();
    let put = move |n| {
        (0..n).for_each(|_| epoch.put_flush(black_box(&from), TARGET, at as usize).expect("put"))
    };
    let get = move |n| {
        (0..n).for_each(|_| epoch.get_flush(black_box(&mut to), TARGET, at as usize).expect("get"))
    };
    let mut cases = vec![
        Case::new(put_name, size, put).against(first[0]),
        Case::new(get_name, size, get).against(first[1]),
    ];
    if words == 1 {
        let fetch = move |n| {
            (0..n).for_each(|_| {
                black_box(
                    epoch
                        .fetch_and_op_flush(1, Op::Sum, TARGET, at as usize)
                        .expect("fetch_and_op"),
                );
            })
        };
        cases.push(Case::new(fetch_name, size, fetch).against(first[2]));
    }
    if size < LARGEST as u64 {
        let sum = move |n| {
            let batch = epoch.batch();
            for _ in 0..n {
                batch
                    .accumulate(black_box(&more[..]), Op::Sum, TARGET, at as usize)
                    .expect("accumulate");
            }
        };
        cases.push(Case::new(sum_name, size, sum).against(first[3]));
    }
    cases
}
