//! Errors through the guards of the typed API: they are those of the window (MPI-2.2 §11.6.2), and the epoch
//! goes on. (Each error with its class and sentence is a row of `tests/conformance/misuse`.)

use crate::support::spmd;
use onesided::{
    Access, Comm, Error, ErrorClass, FenceAssert, LockType, Op, Rank, Window, WindowOptions,
};

/// The part of every rank before and after an error.
const UNTOUCHED: [u64; 4] = [11, 22, 33, 44];

fn halo(world: &Comm) -> Window<u64> {
    let window: Window<u64> = WindowOptions::new().name("halo").allocate(world, 4).unwrap();
    window.store(0, &UNTOUCHED).unwrap();
    world.barrier().unwrap();
    window
}

/// Checks the class of an error, and that it names the call and the window.
fn fails<T>(result: Result<T, Error>, class: ErrorClass, call: &str) {
    let error = result.err().unwrap_or_else(|| panic!("{call} succeeds"));
    assert_eq!(error.class(), class, "{error}");
    assert!(error.to_string().contains(&format!("{call} on window 'halo' by rank")), "{error}");
}

/// After an error: nothing has changed, and the job goes on.
fn finish(mut window: Window<u64>) {
    window.comm().barrier().unwrap();
    let mut found = [0; 4];
    window.load(0, &mut found).unwrap();
    assert_eq!(found, UNTOUCHED);
    window.comm().barrier().unwrap();
    let (n, me) = (window.comm().size(), window.comm().rank().0);
    let epoch = window.fence().unwrap();
    epoch.put(&[7], Rank((me + 1) % n), 3).unwrap();
    epoch.close().unwrap();
    assert_eq!(window.load_one(3).unwrap(), 7);
    window.free().unwrap();
}

/// The operations of a guard at a rank that does not exist, and past the end of a part.
fn wrong_targets<'a>(epoch: &impl Access<'a, u64>) {
    let places = [
        (Rank(2), 0, ErrorClass::Rank),
        (Rank(u32::MAX - 1), 0, ErrorClass::Rank),
        (Rank(1), 4, ErrorClass::RmaRange),
        (Rank(1), u64::MAX, ErrorClass::RmaRange),
        (Rank(1), 1 << 61, ErrorClass::RmaRange),
    ];
    for (rank, disp, class) in places {
        fails(epoch.put(&[1], rank, disp as usize), class, "put");
        fails(epoch.accumulate(&[1], Op::Sum, rank, disp as usize), class, "accumulate");
    }
    fails(epoch.put(&[1, 2], Rank(1), 3), ErrorClass::RmaRange, "put");
    fails(epoch.accumulate(&[1], Op::Maxloc, Rank(1), 0), ErrorClass::Op, "accumulate");
}

#[test]
fn guards_return_the_errors_of_the_window() {
    spmd(2, |world| {
        let mut window = halo(world);
        let epoch = window.fence().unwrap();
        wrong_targets(&epoch);
        epoch.close_with(FenceAssert::NOSUCCEED).unwrap();
        let epoch = window.lock_all().unwrap();
        wrong_targets(&epoch);
        let mut buffer = [5; 3];
        let batch = epoch.batch();
        wrong_targets(&batch);
        fails(batch.get(&mut buffer, Rank(1), 2), ErrorClass::RmaRange, "get");
        drop(batch);
        for len in [0, 2, 4] {
            let batch = epoch.batch();
            let short = batch.get_accumulate(&UNTOUCHED[..len], &mut buffer, Op::Sum, Rank(0), 0);
            fails(short, ErrorClass::Count, "get_accumulate");
        }
        assert_eq!(buffer, [5; 3]);
        for (rank, disp, class) in
            [(Rank(2), 0, ErrorClass::Rank), (Rank(1), 4, ErrorClass::RmaRange)]
        {
            fails(epoch.fetch_and_op_flush(1, Op::Sum, rank, disp), class, "fetch_and_op");
            let swapped = epoch.compare_and_swap_flush(1, 11, rank, disp);
            fails(swapped, class, "compare_and_swap");
        }
        fails(epoch.flush(Rank(2)), ErrorClass::Rank, "flush");
        fails(epoch.flush_local(Rank(3)), ErrorClass::Rank, "flush_local");
        epoch.unlock_all().unwrap();
        fails(window.load(4, &mut [0]), ErrorClass::RmaRange, "local access");
        fails(window.store(3, &[1, 2]), ErrorClass::RmaRange, "local access");
        finish(window);
    });
}

#[test]
fn a_lock_that_is_held_is_not_taken_twice() {
    spmd(2, |world| {
        let window = halo(world);
        let lock = |rank| window.lock(LockType::Shared, Rank(rank));
        fails(lock(1000), ErrorClass::Rank, "lock");
        let one = lock(1).unwrap();
        fails(lock(1), ErrorClass::RmaSync, "lock");
        one.flush().unwrap();
        one.unlock().unwrap();
        finish(window);
    });
}

#[test]
fn a_target_that_the_epoch_does_not_reach() {
    spmd(3, |world| {
        let mut window = halo(world);
        let me = world.rank().0;
        let (next, previous) = ((me + 1) % 3, (me + 2) % 3);
        let group = |rank: u32| world.group().incl(&[rank]).unwrap();
        let (mut access, mut exposure) = window.sides();
        let exposed = exposure.post(&group(previous)).unwrap();
        let epoch = access.start(&group(next)).unwrap();
        for outside in [me, previous] {
            fails(epoch.put(&[1], Rank(outside), 0), ErrorClass::RmaSync, "put");
        }
        epoch.put(&UNTOUCHED[..1], Rank(next), 0).unwrap();
        epoch.complete().unwrap();
        exposed.wait().unwrap();
        finish(window);
    });
}

#[test]
fn a_fence_with_a_wrong_assertion_leaves_the_epoch_open() {
    spmd(2, |world| {
        let mut window = halo(world);
        let epoch = window.fence().unwrap();
        epoch.put(&UNTOUCHED[2..3], Rank(0), 2).unwrap();
        fails(epoch.fence_with(FenceAssert::NOPRECEDE), ErrorClass::Assert, "fence");
        // The guard is gone, the epoch is not: a fence without the assertion ends it.
        window.fence().unwrap().close().unwrap();
        finish(window);
    });
}
