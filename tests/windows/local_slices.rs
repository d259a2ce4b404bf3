//! The own part as a slice: only while no other rank can be inside (`src/epoch/local.rs`).

use crate::support::spmd;
use onesided::{Access, ErrorClass, FenceAssert, LockType, Op, Rank, Window};

#[test]
fn the_own_part_is_a_slice_under_its_lock() {
    spmd(3, |world| {
        let mut window = Window::<u32>::allocate(world, 100).unwrap();
        for round in 0..50 {
            let mut local = window.lock_local().unwrap();
            assert_eq!(local.len(), 100);
            let first = local[0];
            assert!(local.iter().all(|value| *value == first), "nobody else is inside");
            local.fill(first + round);
            local.unlock().unwrap();
            let next = Rank((world.rank().0 + 1) % 3);
            let epoch = window.lock(LockType::Exclusive, next).unwrap();
            epoch.accumulate(&[1; 100], Op::Sum, next, 0).unwrap();
            epoch.unlock().unwrap();
        }
        world.barrier().unwrap();
        assert_eq!(window.load_one(99).unwrap(), 50 + 49 * 50 / 2);
        window.free().unwrap();
    });
}

#[test]
fn no_slice_while_a_fence_epoch_is_open_anywhere() {
    spmd(2, |world| {
        let mut window = Window::<u32>::allocate(world, 1).unwrap();
        drop(window.fence().unwrap());
        world.barrier().unwrap();
        if world.rank() == 0 {
            let error = window.lock_local().expect_err("rank 1 could put without a lock");
            assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
        }
        world.barrier().unwrap();
        // Released again, so that a fence and a lock are possible.
        window.fence().unwrap().close().unwrap();
        window.lock_local().unwrap().unlock().unwrap();
        window.free().unwrap();
    });
}

#[test]
fn a_slice_before_a_fence_is_legal_while_others_wait_in_it() {
    spmd(3, |world| {
        let mut window = Window::<u32>::allocate(world, 4).unwrap();
        let mine = [world.rank().0];
        for _ in 0..3 {
            if world.rank() == 0 {
                // Long enough for the others to arrive at the fence at some time.
                for k in 0..100_000 {
                    let mut local = window.lock_local().unwrap();
                    local[0] = k;
                    local.unlock().unwrap();
                }
            }
            let epoch = window.fence().unwrap();
            if world.rank() != 0 {
                epoch.put(&mine, Rank(0), mine[0] as usize).unwrap();
            }
            let epoch = epoch.fence().unwrap();
            epoch.close().unwrap();
            if world.rank() == 0 {
                assert_eq!(window.lock_local().unwrap()[..], [99_999, 1, 2, 0]);
            }
        }
        window.free().unwrap();
    });
}

#[test]
fn no_slice_while_others_wait_to_end_a_fence_epoch() {
    spmd(2, |world| {
        let mut window = Window::<u32>::allocate(world, 1).unwrap();
        let epoch = window.fence().unwrap();
        let epoch = epoch.fence().unwrap();
        if world.rank() == 1 {
            epoch.put(&[5], Rank(0), 0).unwrap();
            // Waits for rank 0, which is still exposed by the fence before.
            epoch.fence().unwrap().close().unwrap();
        } else {
            drop(epoch);
            for _ in 0..1000 {
                let error = window.lock_local().expect_err("rank 1 puts without a lock");
                assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
            }
            window.fence().unwrap().close().unwrap();
            assert_eq!(window.lock_local().unwrap()[0], 5);
        }
        window.free().unwrap();
    });
}

/// A rank that asserts what the others do not: it did not wait in its fence, and still no slice of
/// its part can live while they have an epoch open.
#[test]
fn no_slice_after_a_fence_that_only_this_rank_says_starts_nothing() {
    spmd(3, |world| {
        let mut window = Window::<u64>::allocate(world, 4).unwrap();
        if world.rank() == 0 {
            drop(window.fence_with(FenceAssert::NOPRECEDE | FenceAssert::NOSUCCEED).unwrap());
            // Blocks until the others have arrived at the fence, and then sees their epochs.
            let refused = window.lock_local().map(drop).unwrap_err();
            assert_eq!(refused.class(), ErrorClass::RmaSync);
            world.barrier().unwrap();
        } else {
            let epoch = window.fence().unwrap();
            epoch.put(&[7; 4], Rank(0), 0).unwrap();
            world.barrier().unwrap();
            drop(epoch);
        }
        window.fence().unwrap().close().unwrap();
        let mut own = window.lock_local().unwrap();
        own.fill(1);
        own.unlock().unwrap();
        window.free().unwrap();
    });
}
