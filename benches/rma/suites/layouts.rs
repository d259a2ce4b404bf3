//! Derived datatypes at the target: rank 0 puts to rank 1, or accumulates there, which sleeps in a barrier, beside loops
//! written by hand over the same pages. Words of eight bytes stand for doubles.

use crate::Options;
use crate::freed::Freed;
use crate::limits::{self, Rows};
use crate::measure::{Case, measure};
use crate::pages::{Pages, private};
use onesided::{Access, Batch, Comm, Op, Rank, Shape, Window};
use std::hint::black_box;

pub const VECTOR: &str = "put vector, stride 8 doubles";
pub const VECTOR_LOOP: &str = "limit: loop to the target, stride 8 doubles";
pub const BLOCK: &str = "put 8x8 of 1024 columns";
pub const BLOCK_LOOP: &str = "limit: loop over rows at the target, 8x8";
pub const CONTIGUOUS: &str = "put, contiguous datatype";
pub const SLICE: &str = "limit: put of a slice";
const UNROLLED: &str = "loop over rows at the target, 8x8, sizes known";

pub const INDEXED: &str = "put indexed, 1000 doubles anywhere";
pub const INDEXED_LOOP: &str = "limit: loop over indices at the target";

const SUMS: &str = "accumulate sum u64, stride 8 words";
const SUMS_LOOP: &str = "limit: loop of sums at the target, stride 8 words";
const SUMS_INDEXED: &str = "accumulate sum u64, 1000 words anywhere";

const TARGET: Rank = Rank(1);
const STRIDE: usize = 8;
const COLUMNS: usize = 1024;
const INDICES: usize = 1000;
const WORDS: usize = STRIDE * (128 << 10);

pub fn run(world: &Comm, options: &Options) {
    let mut window = Freed::new(Window::<u64>::allocate(world, WORDS));
    let pages = Pages::locate(world, &window, TARGET.0);
    if world.rank() == 0 {
        let epoch = window.lock_all().expect("no rank holds a lock");
        let batch = epoch.batch();
        for doubles in [8, 16, 64, 4 << 10, 128 << 10] {
            measure(None, 2, vectors(&batch, pages, doubles), options);
        }
        for words in [16, INDICES, 64 << 10] {
            measure(None, 2, sums(&batch, pages, words), options);
        }
        measure(None, 2, block(&batch, pages), options);
        measure(None, 2, indexed(&batch, pages), options);
        for bytes in [64, 4 << 10, 1 << 20] {
            measure(None, 2, contiguous(&batch, bytes), options);
        }
        drop(batch);
        epoch.unlock_all().expect("the epoch is open");
    }
    world.barrier().expect("the job goes on");
}

/// A buffer for the rest of the run, as the operations of a batch need it.
fn words(n: usize) -> &'static [u64] {
    private(n, 7)
}

fn vectors<'a>(batch: &'a Batch<'_, 'static, u64>, pages: Pages, doubles: usize) -> Vec<Case<'a>> {
    let shape = Shape::<u64>::strided(doubles, 1, STRIDE).expect("a small vector");
    let (from, bytes) = (words(doubles), 8 * doubles as u64);
    let by_hand = move |n| limits::scatter::<STRIDE>(from, pages, n);
    let put = move |n| {
        for _ in 0..n {
            batch.put_shaped(black_box(from), TARGET, 0, black_box(&shape)).expect("put");
        }
    };
    vec![Case::new(VECTOR_LOOP, bytes, by_hand), Case::new(VECTOR, bytes, put).against(VECTOR_LOOP)]
}

/// Beside plain sums, which no other rank may disturb.
fn sums<'a>(batch: &'a Batch<'_, 'static, u64>, pages: Pages, count: usize) -> Vec<Case<'a>> {
    let shape = Shape::<u64>::strided(count, 1, STRIDE).expect("a small vector");
    let anywhere = Shape::<u64>::indices(&random_indices(count)).expect("no index comes twice");
    let (from, bytes) = (words(count), 8 * count as u64);
    let add = move |shape: &Shape<u64>, n| {
        for _ in 0..n {
            let (from, op) = (black_box(from), black_box(Op::Sum));
            batch.accumulate_shaped(from, op, TARGET, 0, shape).expect("accumulate");
        }
    };
    let by_hand = move |n| limits::add_scattered::<STRIDE>(from, pages, n);
    let mut cases = vec![
        Case::new(SUMS_LOOP, bytes, by_hand),
        Case::new(SUMS, bytes, move |n| add(&shape, n)).against(SUMS_LOOP),
    ];
    if count == INDICES {
        let indexed = move |n| add(&anywhere, n);
        cases.push(Case::new(SUMS_INDEXED, bytes, indexed).against(SUMS_LOOP));
    }
    cases
}

fn block<'a>(batch: &'a Batch<'_, 'static, u64>, pages: Pages) -> Vec<Case<'a>> {
    let (start, size) = ([3, 5], [8, 8]);
    let shape = Shape::<u64>::block_2d([64, COLUMNS], start, size).expect("a small block");
    let from = words(64);
    let rows = Rows { columns: COLUMNS, start, size };
    let by_hand = move |n| {
        (0..n).for_each(|_| limits::rows_to(black_box(from), pages, black_box(rows)));
    };
    let unrolled = move |n| (0..n).for_each(|_| limits::rows_to(black_box(from), pages, rows));
    let put = move |n| {
        for _ in 0..n {
            batch.put_shaped(black_box(from), TARGET, 0, black_box(&shape)).expect("put");
        }
    };
    vec![
        Case::new(BLOCK_LOOP, 512, by_hand),
        Case::new(BLOCK, 512, put).against(BLOCK_LOOP),
        Case::new(UNROLLED, 512, unrolled).against(BLOCK_LOOP),
    ]
}

fn indexed<'a>(batch: &'a Batch<'_, 'static, u64>, pages: Pages) -> Vec<Case<'a>> {
    let indices = random_indices(INDICES);
    let shape = Shape::<u64>::indices(&indices).expect("no index comes twice");
    let (from, bytes) = (words(INDICES), 8 * INDICES as u64);
    let by_hand = move |n| limits::scatter_indexed(from, &indices, WORDS, pages, n);
    let put = move |n| {
        for _ in 0..n {
            batch.put_shaped(black_box(from), TARGET, 0, black_box(&shape)).expect("put");
        }
    };
    vec![
        Case::new(INDEXED_LOOP, bytes, by_hand),
        Case::new(INDEXED, bytes, put).against(INDEXED_LOOP),
    ]
}

/// Places all over the window, none of them twice, in no order; always the same.
fn random_indices(count: usize) -> Vec<usize> {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let spread = WORDS / count;
    let mut indices: Vec<usize> = (0..count).map(|i| i * spread + random(spread)).collect();
    for i in (1..count).rev() {
        indices.swap(i, random(i + 1));
    }
    indices
}

fn contiguous<'a>(batch: &'a Batch<'_, 'static, u64>, bytes: usize) -> Vec<Case<'a>> {
    let (from, size) = (words(bytes / 8), bytes as u64);
    let shape = Shape::<u64>::contiguous(bytes / 8).expect("a small datatype");
    let slice = move |n| {
        (0..n).for_each(|_| batch.put(black_box(from), TARGET, 0).expect("put"));
    };
    let put = move |n| {
        for _ in 0..n {
            batch.put_shaped(black_box(from), TARGET, 0, &shape).expect("put");
        }
    };
    vec![Case::new(SLICE, size, slice), Case::new(CONTIGUOUS, size, put).against(SLICE)]
}
