//! Put, get, accumulates and uncontended locks: rank 0 works on rank 1, which sleeps in a barrier.

use crate::Options;
use crate::freed::Freed;
use crate::limits;
use crate::measure::{Case, measure};
use crate::pages::{Pages, private};
use crate::pthread::Baseline;
use onesided::engine::Win;
use onesided::{Access, Comm, LockAllEpoch, LockType, Op, Rank, Window, WindowOptions};
use raw_sync::locks::{Mutex, RwLock};
use std::cell::RefCell;
use std::hint::black_box;

const TARGET: Rank = Rank(1);
const LARGEST: usize = 64 << 20;
const MOST_DOUBLES: usize = 1 << 20;
pub const PUT: &str = "put + flush";
pub const GET: &str = "get + flush";
/// By calls of the engine one after the other, as in a C program; guards have one call for both.
pub const ENGINE_FETCH: &str = "fetch_and_op sum u64, then flush, by the engine";
pub const ENGINE_SWAP: &str = "compare_and_swap u64, then flush, by the engine";
pub const SUM: &str = "accumulate sum f64";
pub const STORE_BARRIER: &str = "limit: store + full barrier";
const LOAD_BARRIER: &str = "limit: load + full barrier";
pub const MEMCPY_TO: &str = "limit: memcpy to the target";
const MEMCPY_FROM: &str = "limit: memcpy from the target";
pub const INLINED_TO: &str = "limit: inlined copies to the target";
pub const INLINED_FROM: &str = "limit: inlined copies from the target";
pub const LOCKED_ADD: &str = "limit: locked add";
const SWAP: &str = "limit: locked compare-exchange";
pub const SUM_EACH: &str = "limit: compare-exchange per double";
pub const SUM_PLAIN: &str = "limit: sum in private memory";
/// What a lock, a flush and an unlock have to do at least.
pub const LOCKED: &str = "limit: three locked adds";
/// Buffers that operations of a batch fill in turn: none may be used again before the flush.
const IN_TURN: usize = 8;
/// Where the words of the lock cases begin, behind what the others use.
const MUTEX: usize = 1024;
const RWLOCK: usize = 2048;

pub fn run(world: &Comm, options: &Options) {
    let mut window = Freed::new(Window::<u64>::allocate(world, LARGEST / 8));
    let mut doubles = Freed::new(Window::<f64>::allocate(world, MOST_DOUBLES));
    let engine = Freed::new(WindowOptions::new().allocate_bytes(world, 8, 8));
    let pages = Pages::locate(world, &window, 1);
    let mutex = Baseline::new::<Mutex>(world, pages, MUTEX);
    let rwlock = Baseline::new::<RwLock>(world, pages, RWLOCK);
    if world.rank() == 0 {
        let ranks = world.size();
        measure(None, ranks, lock_cases(&window, pages, &mutex, &rwlock), options);
        let epoch = window.lock_all().expect("no rank holds a lock");
        small(&epoch, pages, options);
        let largest = if options.quick { 1 << 20 } else { LARGEST };
        large(&epoch, pages, largest, options);
        measure(None, ranks, rates::<1>(&epoch, pages), options);
        measure(None, ranks, rates::<8>(&epoch, pages), options);
        measure(None, ranks, rates::<32>(&epoch, pages), options);
        measure(None, ranks, rates::<128>(&epoch, pages), options);
        measure(None, ranks, rates::<512>(&epoch, pages), options);
        measure(None, ranks, integer_cases(&epoch, pages), options);
        epoch.unlock_all().expect("the epoch is open");
        engine.lock_all().expect("no rank holds a lock");
        measure(None, ranks, engine_cases(&engine), options);
        engine.unlock_all().expect("the epoch is open");
        let epoch = doubles.lock_all().expect("no rank holds a lock");
        for count in [1, 16, 1024, 128 << 10, MOST_DOUBLES] {
            measure(None, ranks, double_cases(&epoch, pages, count), options);
        }
    }
    world.barrier().expect("the job goes on");
}

fn small(epoch: &LockAllEpoch<'_, '_, u64>, pages: Pages, options: &Options) {
    let source = [7u64];
    let sink = RefCell::new([0u64]);
    let put =
        |n| (0..n).for_each(|_| epoch.put_flush(black_box(&source[..]), TARGET, 0).expect("put"));
    let put_one =
        |n| (0..n).for_each(|_| epoch.put_flush(black_box(&source), TARGET, 0).expect("put"));
    let get = |n| {
        let to = &mut *sink.borrow_mut();
        (0..n).for_each(|_| epoch.get_flush(black_box(&mut to[..]), TARGET, 0).expect("get"));
    };
    let cases = vec![
        Case::new(STORE_BARRIER, 8, |n| limits::store_barrier(pages, n)),
        Case::new(LOAD_BARRIER, 8, |n| limits::load_barrier(pages, n)),
        Case::new(PUT, 8, put).against(STORE_BARRIER),
        Case::new("put + flush, size known", 8, put_one).against(STORE_BARRIER),
        Case::new(GET, 8, get).against(LOAD_BARRIER),
        Case::new("flush", 0, |n| (0..n).for_each(|_| epoch.flush(TARGET).expect("flush"))),
    ];
    measure(None, 2, cases, options);
}

fn large(epoch: &LockAllEpoch<'_, '_, u64>, pages: Pages, largest: usize, options: &Options) {
    let source: &[u64] = private(largest / 8, 7);
    let sink = RefCell::new(private(largest / 8, 0));
    let small = [64, 512, 4 << 10, 16 << 10, 64 << 10, 256 << 10];
    let sizes = small.into_iter().chain([1 << 20, 4 << 20, 16 << 20, LARGEST]);
    for bytes in sizes.filter(|bytes| *bytes <= largest) {
        let (words, size, sink) = (bytes / 8, bytes as u64, &sink);
        let from = &source[..words];
        let put =
            |n| (0..n).for_each(|_| epoch.put_flush(black_box(from), TARGET, 0).expect("put"));
        let get = |n| {
            let to = &mut sink.borrow_mut()[..words];
            (0..n).for_each(|_| epoch.get_flush(black_box(&mut *to), TARGET, 0).expect("get"));
        };
        let copy_to = |n| limits::copy_to(from, pages, n);
        let copy_from = |n| limits::copy_from(&mut sink.borrow_mut()[..words], pages, n);
        let cases = vec![
            Case::new(MEMCPY_TO, size, copy_to),
            Case::new(PUT, size, put).against(MEMCPY_TO),
            Case::new(MEMCPY_FROM, size, copy_from),
            Case::new(GET, size, get).against(MEMCPY_FROM),
        ];
        measure(None, 2, cases, options);
    }
}

/// Many in a row, without a flush; beside copies whose size the compiler knows.
fn rates<'a, const WORDS: usize>(
    epoch: &'a LockAllEpoch<'_, '_, u64>,
    pages: Pages,
) -> Vec<Case<'a>> {
    let bytes = 8 * WORDS as u64;
    let from = private(WORDS, 7).as_chunks::<WORDS>().0;
    let from: &'static [u64; WORDS] = &from[0];
    let (to, other) = (private(IN_TURN * WORDS, 0), private(IN_TURN * WORDS, 0));
    let other = other.as_chunks_mut::<WORDS>().0.as_chunks_mut::<IN_TURN>().0;
    let put = |n| {
        let batch = epoch.batch();
        (0..n).for_each(|_| batch.put(black_box(&from[..]), TARGET, 0).expect("put"));
    };
    let get = move |n| {
        let mut left = n as usize;
        while left > 0 {
            let batch = epoch.batch();
            for to in to.chunks_exact_mut(WORDS).take(left) {
                batch.get(black_box(to), TARGET, 0).expect("get");
            }
            left -= left.min(IN_TURN);
        }
    };
    vec![
        Case::new(INLINED_TO, bytes, move |n| limits::copy_known_to(from, pages, 0, n)),
        Case::new("put", bytes, put).against(INLINED_TO),
        Case::new(INLINED_FROM, bytes, move |n| limits::copy_known_from(&mut other[0], pages, n)),
        Case::new("get", bytes, get).against(INLINED_FROM),
    ]
}

fn integer_cases<'a>(epoch: &'a LockAllEpoch<'_, '_, u64>, pages: Pages) -> Vec<Case<'a>> {
    let fetch = |n| {
        (0..n).for_each(|_| {
            black_box(epoch.fetch_and_op_flush(1, Op::Sum, TARGET, 0).expect("fetch_and_op"));
        })
    };
    let swap = |n| {
        let mut value = epoch.fetch_and_op_flush(0, Op::NoOp, TARGET, 0).expect("fetch_and_op");
        for _ in 0..n {
            let new = value + 1;
            value = epoch.compare_and_swap_flush(new, value, TARGET, 0).expect("swap") + 1;
        }
    };
    let add = |n| {
        let batch = epoch.batch();
        (0..n).for_each(|_| batch.accumulate(&[1], Op::Sum, TARGET, 0).expect("accumulate"));
    };
    vec![
        Case::new(LOCKED_ADD, 8, move |n| limits::locked_add(pages, n)),
        Case::new(SWAP, 8, move |n| limits::compare_exchange(pages, n)),
        Case::new("fetch_and_op sum u64 + flush", 8, fetch).against(LOCKED_ADD),
        Case::new("compare_and_swap u64 + flush", 8, swap).against(SWAP),
        Case::new("accumulate sum u64", 8, add).against(LOCKED_ADD),
    ]
}

fn engine_cases(win: &Win) -> Vec<Case<'_>> {
    let fetch = |n| {
        let mut before = 0u64;
        for _ in 0..n {
            win.fetch_and_op(&1, &mut before, Op::Sum, TARGET, 0).expect("fetch_and_op");
            win.flush(TARGET).expect("flush");
            black_box(before);
        }
    };
    let swap = |n| {
        let mut value = 0u64;
        win.fetch_and_op(&0, &mut value, Op::NoOp, TARGET, 0).expect("fetch_and_op");
        for _ in 0..n {
            let (new, compare) = (value + 1, value);
            win.compare_and_swap(&new, &compare, &mut value, TARGET, 0).expect("swap");
            win.flush(TARGET).expect("flush");
            value += 1;
        }
    };
    vec![Case::new(ENGINE_FETCH, 8, fetch), Case::new(ENGINE_SWAP, 8, swap)]
}

/// Sums of doubles: a few beside a compare-and-exchange for each, all beside the same sum in
/// private memory.
fn double_cases<'a>(
    epoch: &'a LockAllEpoch<'_, '_, f64>,
    pages: Pages,
    count: usize,
) -> Vec<Case<'a>> {
    const SHORT: usize = 1024;
    let ones: &'static [f64] = private(count, 1.0);
    let bytes = 8 * count as u64;
    let (sums, results) = (private(count, 0.0), private(IN_TURN * count, 0.0));
    let add = move |n| {
        let batch = epoch.batch();
        for _ in 0..n {
            batch.accumulate(black_box(ones), Op::Sum, TARGET, 0).expect("accumulate");
        }
    };
    let fetch = move |n| {
        let mut left = n as usize;
        while left > 0 {
            let batch = epoch.batch();
            for to in results.chunks_exact_mut(count).take(left) {
                let done = batch.get_accumulate(black_box(ones), black_box(to), Op::Sum, TARGET, 0);
                done.expect("get_accumulate");
            }
            left -= left.min(IN_TURN);
        }
    };
    let limit = if count <= 16 { SUM_EACH } else { SUM_PLAIN };
    let mut cases = vec![
        Case::new(SUM_PLAIN, bytes, move |n| limits::add_plainly(ones, sums, n)),
        Case::new(SUM, bytes, add).against(limit),
        Case::new("get_accumulate sum f64", bytes, fetch).against(limit),
    ];
    if count <= SHORT {
        cases.push(Case::new(SUM_EACH, bytes, move |n| limits::add_doubles(pages, count, n)));
    }
    cases
}

fn lock_cases<'a>(
    window: &'a Window<u64>,
    pages: Pages,
    mutex: &'a Baseline,
    rwlock: &'a Baseline,
) -> Vec<Case<'a>> {
    let lock = |kind, n| {
        for _ in 0..n {
            let epoch = window.lock(kind, TARGET).expect("lock");
            epoch.put(&[1], TARGET, 0).expect("put");
            epoch.unlock().expect("unlock");
        }
    };
    let exclusive = move |n| lock(LockType::Exclusive, n);
    let shared = move |n| lock(LockType::Shared, n);
    vec![
        Case::new(LOCKED, 8, move |n| limits::locked_adds(pages, n)),
        Case::new("baseline: pthread mutex", 8, move |n| mutex.increments(pages, 0, n)),
        Case::new("baseline: pthread rwlock", 8, move |n| rwlock.increments(pages, 0, n)),
        Case::new("lock exclusive + put + unlock", 8, exclusive).against(LOCKED),
        Case::new("lock shared + put + unlock", 8, shared).against(LOCKED),
    ]
}
