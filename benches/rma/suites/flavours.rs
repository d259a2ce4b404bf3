//! What the memory of a window costs: from the segment, private, attached. Rank 0 works on rank 1,
//! which sleeps in a barrier.

use crate::Options;
use crate::freed::Freed;
use crate::measure::{Case, measure};
use onesided::{Access, LockAllEpoch, Op, Rank, Universe, Window};
use std::hint::black_box;

const TARGET: Rank = Rank(1);
const LARGEST: usize = 1 << 20;
const WORDS: usize = LARGEST / 8;

pub fn run(universe: &Universe, options: &Options) {
    let world = universe.world();
    let segment = universe.alloc_mem(WORDS).expect("memory");
    let mut direct = Freed::new(Window::<u64>::create(world, segment));
    let mut private = Freed::new(Window::<u64>::create(world, vec![0; WORDS]));
    let mut dynamic = Freed::new(Window::<u64>::create_dynamic(world));
    let memory = universe.alloc_mem(WORDS).expect("memory");
    let address = dynamic.attach(memory).expect("an address of this rank");
    let there = world.allgather(&[address]).expect("the job goes on")[TARGET.index()];
    if world.rank() == 0 {
        for (window, disp, names) in [
            (&mut *direct, 0, ["put, alloc_mem", "get, alloc_mem", "sum u64, alloc_mem"]),
            (&mut *private, 0, ["put, private", "get, private", "sum u64, private"]),
            (&mut *dynamic, there, ["put, dynamic", "get, dynamic", "sum u64, dynamic"]),
        ] {
            let epoch = window.lock_all().expect("no rank holds a lock");
            for bytes in [8, 4 << 10, LARGEST] {
                measure(None, 2, cases(&epoch, disp, names, bytes), options);
            }
            epoch.unlock_all().expect("the epoch is open");
        }
    }
}

fn cases<'a>(
    epoch: &'a LockAllEpoch<'_, '_, u64>,
    disp: u64,
    names: [&'static str; 3],
    bytes: usize,
) -> Vec<Case<'a>> {
    let (words, size) = (bytes / 8, bytes as u64);
    let (from, mut to) = (vec![1u64; words], vec![0u64; words]);
    let more = from.clone();
    let put = move |n| {
        (0..n).for_each(|_| epoch.put_flush(black_box(&from), TARGET, disp as usize).expect("put"))
    };
    let get = move |n| {
        (0..n)
            .for_each(|_| epoch.get_flush(black_box(&mut to), TARGET, disp as usize).expect("get"))
    };
    let sum = move |n| {
        let batch = epoch.batch();
        for _ in 0..n {
            batch
                .accumulate(black_box(&more[..]), Op::Sum, TARGET, disp as usize)
                .expect("accumulate");
        }
    };
    let mut cases = vec![Case::new(names[0], size, put), Case::new(names[1], size, get)];
    if bytes < LARGEST {
        cases.push(Case::new(names[2], size, sum));
    }
    cases
}
