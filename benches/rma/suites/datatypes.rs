//! Derived datatypes in private memory: packing, beside loops written by hand for the same copy.

use crate::Options;
use crate::measure::{Case, measure};
use onesided::Shape;
use std::cell::RefCell;
use std::hint::black_box;

pub const VECTOR: &str = "pack vector, stride 8 doubles";
pub const VECTOR_LOOP: &str = "limit: loop, stride 8 doubles";
pub const BLOCK: &str = "pack 8x8 of 1024 columns";
pub const BLOCK_LOOP: &str = "limit: loop over rows, 8x8";
pub const CONTIGUOUS: &str = "pack contiguous";
pub const MEMCPY: &str = "limit: memcpy in private memory";
const UNPACK: &str = "unpack vector, stride 8 doubles";
const UNPACK_LOOP: &str = "limit: loop back, stride 8 doubles";
const UNROLLED: &str = "loop over rows, 8x8, sizes known";

const STRIDE: usize = 8;
const COLUMNS: usize = 1024;

pub fn run(options: &Options) {
    for doubles in [64, 4 << 10, 128 << 10] {
        vectors(doubles, options);
    }
    block(options);
    for doubles in [8, 512, 128 << 10] {
        contiguous(doubles, options);
    }
}

fn vectors(doubles: usize, options: &Options) {
    let shape = Shape::<f64>::strided(doubles, 1, STRIDE).expect("a small vector");
    let source = vec![1.0; doubles * STRIDE];
    let (packed, wide) = (vec![2.0; doubles], vec![0.0; doubles * STRIDE]);
    let (sink, wide) = (RefCell::new(vec![0.0; doubles]), RefCell::new(wide));
    let bytes = 8 * doubles as u64;
    let by_hand = |n| {
        for _ in 0..n {
            let (from, to) = (black_box(&source[..]), &mut *sink.borrow_mut());
            for (to, from) in black_box(&mut to[..]).iter_mut().zip(from.chunks_exact(STRIDE)) {
                *to = from[0];
            }
        }
    };
    let pack = |n| {
        let to = &mut *sink.borrow_mut();
        (0..n).for_each(|_| shape.gather(black_box(&source), black_box(to)).expect("pack"));
    };
    let back_by_hand = |n| {
        for _ in 0..n {
            let (from, to) = (black_box(&packed[..]), &mut *wide.borrow_mut());
            for (to, from) in black_box(&mut to[..]).chunks_exact_mut(STRIDE).zip(from) {
                to[0] = *from;
            }
        }
    };
    let unpack = |n| {
        let to = &mut *wide.borrow_mut();
        (0..n).for_each(|_| {
            shape.scatter(black_box(&packed), black_box(&mut to[..])).expect("unpack")
        });
    };
    let cases = vec![
        Case::new(VECTOR_LOOP, bytes, by_hand),
        Case::new(VECTOR, bytes, pack).against(VECTOR_LOOP),
    ];
    measure(None, 1, cases, options);
    // Apart from these, so that all of a group finds the same memory in the caches.
    let cases = vec![
        Case::new(UNPACK_LOOP, bytes, back_by_hand),
        Case::new(UNPACK, bytes, unpack).against(UNPACK_LOOP),
    ];
    measure(None, 1, cases, options);
}

/// Copies `[rows, columns]` elements from `start` = [row, column] on, as a program would.
fn copy_rows(from: &[f64], columns: usize, start: [usize; 2], size: [usize; 2], to: &mut [f64]) {
    for row in 0..size[0] {
        let at = (start[0] + row) * columns + start[1];
        to[row * size[1]..][..size[1]].copy_from_slice(&from[at..][..size[1]]);
    }
}

fn block(options: &Options) {
    let (start, size) = ([3, 5], [8, 8]);
    let shape = Shape::<f64>::block_2d([64, COLUMNS], start, size).expect("a small block");
    let source = vec![1.0; 64 * COLUMNS];
    let sink = RefCell::new([0.0; 64]);
    let by_hand = |n| {
        let to = &mut *sink.borrow_mut();
        for _ in 0..n {
            let (columns, start, size) = black_box((COLUMNS, start, size));
            copy_rows(black_box(&source), columns, start, size, black_box(to));
        }
    };
    let unrolled = |n| {
        let to = &mut *sink.borrow_mut();
        (0..n).for_each(|_| copy_rows(black_box(&source), COLUMNS, start, size, black_box(to)));
    };
    let pack = |n| {
        let to = &mut *sink.borrow_mut();
        (0..n).for_each(|_| shape.gather(black_box(&source), black_box(to)).expect("pack"));
    };
    let cases = vec![
        Case::new(BLOCK_LOOP, 512, by_hand),
        Case::new(BLOCK, 512, pack).against(BLOCK_LOOP),
        Case::new(UNROLLED, 512, unrolled).against(BLOCK_LOOP),
    ];
    measure(None, 1, cases, options);
}

fn contiguous(doubles: usize, options: &Options) {
    let shape = Shape::<f64>::contiguous(doubles).expect("a small datatype");
    let source = vec![1.0; doubles];
    let sink = RefCell::new(vec![0.0; doubles]);
    let by_hand = |n| {
        let to = &mut *sink.borrow_mut();
        (0..n).for_each(|_| black_box(&mut to[..]).copy_from_slice(black_box(&source)));
    };
    let pack = |n| {
        let to = &mut *sink.borrow_mut();
        (0..n).for_each(|_| shape.gather(black_box(&source), black_box(to)).expect("pack"));
    };
    let cases = vec![
        Case::new(MEMCPY, 8 * doubles as u64, by_hand),
        Case::new(CONTIGUOUS, 8 * doubles as u64, pack).against(MEMCPY),
    ];
    measure(None, 1, cases, options);
}
