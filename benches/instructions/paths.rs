//! What is counted: rank 0 works on the last rank, which is itself in a job of one.

use crate::callgrind::{ONCE, path};
use onesided::{Access, Comm, LockType, Op, Rank, Shape, Universe, Window};
use std::hint::black_box;

/// All calls of one path: to warm up, once, and twice.
const CALLS: usize = (ONCE / 10 + 3 * ONCE) as usize;

/// Elements of a window for layouts.
const WIDE: usize = 1024;

/// Runs as a rank; all but rank 0 sleep meanwhile, until it frees the windows.
pub fn run() {
    let universe = Universe::init().expect("a rank joins its job");
    let world = universe.world();
    let mut window = Window::<i64>::allocate(world, 64).expect("a window");
    let mut doubles = Window::<f64>::allocate(world, WIDE).expect("a window");
    if world.rank() == 0 {
        let target = Rank(world.size() - 1);
        // Before the first lock_all of the window.
        locks(&mut window, target);
        moves(&mut window, target);
        atomics(&mut window, target);
        sums(&mut doubles, target);
        layouts(&mut doubles, target);
        locks_beside_all(&mut window, target);
    }
    if world.size() == 1 {
        active(world, &mut window);
    }
    window.free().expect("no epoch is open");
    doubles.free().expect("no epoch is open");
}

/// How many elements move is known at run time only, except where the name has it.
fn moves(window: &mut Window<i64>, target: Rank) {
    let source = [7; 8];
    // A buffer is borrowed until the epoch ends, so each get has one of its own.
    let mut sinks = vec![0; CALLS];
    let mut sinks = sinks.chunks_exact_mut(1);
    let epoch = window.lock_all().expect("no rank holds a lock");
    let put = |from: &'static str, length: usize| {
        path(from, |n| {
            let source = &source[..black_box(length)];
            (0..n).for_each(|_| epoch.put(black_box(source), target, 0).expect("put"));
        });
    };
    put("put of 8 bytes", 1);
    path("put of 8 bytes of known size", |n| {
        (0..n).for_each(|_| epoch.put(black_box(&[7]), target, 0).expect("put"));
    });
    put("put of 64 bytes", 8);
    path("get of 8 bytes", |n| {
        for sink in sinks.by_ref().take(n as usize) {
            epoch.get(black_box(sink), target, 0).expect("get");
        }
    });
    path("flush", |n| (0..n).for_each(|_| epoch.flush(target).expect("flush")));
    path("put of 8 bytes + flush", |n| {
        (0..n).for_each(|_| epoch.put_flush(black_box(&source[..1]), target, 0).expect("put"));
    });
    epoch.unlock_all().expect("the epoch is open");
}

fn atomics(window: &mut Window<i64>, target: Rank) {
    let mut results = vec![0; CALLS];
    let mut swapped = results.clone();
    let (mut results, mut swapped) = (results.iter_mut(), swapped.iter_mut());
    let epoch = window.lock_all().expect("no rank holds a lock");
    path("fetch_and_op of an i64", |n| {
        for result in results.by_ref().take(n as usize) {
            epoch.fetch_and_op(&1, result, black_box(Op::Sum), target, 0).expect("fetch_and_op");
        }
    });
    path("fetch_and_op of an i64 + flush, known operation", |n| {
        for _ in 0..n {
            let before = epoch.fetch_and_op_flush(1, Op::Sum, target, 0);
            black_box(before.expect("fetch_and_op"));
        }
    });
    path("compare_and_swap of an i64", |n| {
        for result in swapped.by_ref().take(n as usize) {
            epoch.compare_and_swap(&1, &1, result, target, 1).expect("compare_and_swap");
        }
    });
    epoch.unlock_all().expect("the epoch is open");
}

fn sums(window: &mut Window<f64>, target: Rank) {
    let source = [1.0; 16];
    let epoch = window.lock_all().expect("no rank holds a lock");
    for (what, length) in [("accumulate of an f64", 1), ("accumulate of 16 f64", 16)] {
        path(what, |n| {
            for _ in 0..n {
                let source = black_box(&source[..length]);
                epoch.accumulate(source, black_box(Op::Sum), target, 0).expect("accumulate");
            }
        });
    }
    epoch.unlock_all().expect("the epoch is open");
}

/// Every eighth of the window's elements, and some in no order.
fn layouts(window: &mut Window<f64>, target: Rank) {
    let source = [1.0; 64];
    let few = Shape::strided(16, 1, 8).expect("a small vector");
    let more = Shape::strided(64, 1, 8).expect("a small vector");
    let indices: Vec<usize> = (0..64).map(|i| 37 * i * (i + 1) / 2 % WIDE).collect();
    let anywhere = Shape::indices(&indices).expect("no index comes twice");
    let epoch = window.lock_all().expect("no rank holds a lock");
    for (what, shape) in [
        ("put of a vector of 16 doubles", &few),
        ("put of a vector of 64 doubles", &more),
        ("put of 64 doubles by index", &anywhere),
    ] {
        path(what, |n| {
            for _ in 0..n {
                let source = black_box(&source[..shape.len()]);
                epoch.put_shaped(source, target, 0, black_box(shape)).expect("put");
            }
        });
    }
    for (what, shape) in [
        ("accumulate into a vector of 16 doubles", &few),
        ("accumulate into 64 doubles by index", &anywhere),
    ] {
        path(what, |n| {
            for _ in 0..n {
                let (source, op) = (black_box(&source[..shape.len()]), black_box(Op::Sum));
                epoch.accumulate_shaped(source, op, target, 0, shape).expect("accumulate");
            }
        });
    }
    epoch.unlock_all().expect("the epoch is open");
}

fn locks(window: &mut Window<i64>, target: Rank) {
    for (what, lock) in [
        ("lock shared + unlock", LockType::Shared),
        ("lock exclusive + unlock", LockType::Exclusive),
    ] {
        path(what, |n| lock_and_unlock(window, lock, target, n));
    }
}

fn lock_and_unlock(window: &mut Window<i64>, lock: LockType, target: Rank, times: u32) {
    for _ in 0..times {
        let epoch = window.lock(black_box(lock), target).expect("lock");
        epoch.unlock().expect("the target is locked");
    }
}

/// Locks after the first lock_all of the window.
fn locks_beside_all(window: &mut Window<i64>, target: Rank) {
    path("lock exclusive + unlock, after lock_all", |n| {
        lock_and_unlock(window, LockType::Exclusive, target, n);
    });
    path("lock_all + unlock_all", |n| {
        for _ in 0..n {
            let epoch = window.lock_all().expect("lock_all");
            epoch.unlock_all().expect("the epoch is open");
        }
    });
}

/// What waits for other ranks: counted where there are none.
fn active(world: &Comm, window: &mut Window<i64>) {
    let all = world.group();
    path("post + start + complete + wait", |n| {
        let (mut access, mut exposure) = window.sides();
        for _ in 0..n {
            let exposed = exposure.post(&all).expect("post");
            let epoch = access.start(&all).expect("start");
            epoch.complete().expect("complete");
            exposed.wait().expect("wait");
        }
    });
    path("fence", |n| {
        let mut epoch = window.fence().expect("fence");
        for _ in 0..n {
            epoch = epoch.fence().expect("fence");
        }
        epoch.close().expect("fence");
    });
    let source = [7];
    path("put of 8 bytes, the first of its fence epoch, + fence", |n| {
        let mut epoch = window.fence().expect("fence");
        for _ in 0..n {
            epoch.put(black_box(&source[..]), Rank(0), 0).expect("put");
            epoch = epoch.fence().expect("fence");
        }
        epoch.close().expect("fence");
    });
}
