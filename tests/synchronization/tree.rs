//! Barriers of ranks that combine their arrivals in a tree, as where many have a core each.
#![cfg(feature = "test-hooks")]

use super::fence::all_to_all_with_a_late_rank;
use crate::support::in_a_tree;
use crate::support::interleave::{free, load, put, words};
use onesided::{Comm, FenceAssert, Op, Rank};

/// Runs `body` on `n` such ranks, and fails unless all succeed.
fn combined(n: u32, body: impl FnOnce(&Comm)) {
    if let Some(outcome) = in_a_tree(n, &[], body) {
        assert!(outcome.status.success(), "{n} ranks, {}:\n{}", outcome.status, outcome.output);
    }
}

#[test]
fn a_fence_of_nine_ranks_completes_every_operation_whoever_is_late() {
    combined(9, all_to_all_with_a_late_rank);
}

/// Rank 16 is alone in its counts up to the barrier's word.
#[test]
fn a_fence_of_seventeen_ranks_completes_every_operation_whoever_is_late() {
    combined(17, all_to_all_with_a_late_rank);
}

/// Blocking and nonblocking collectives, such as go ahead too, in all slots, and fences that do not wait.
fn calls_in_turn(world: &Comm) {
    let (me, n) = (world.rank().0, world.size());
    let sum = u64::from(n) * u64::from(n - 1) / 2;
    let win = words(world, u64::from(n));
    for times in 0..40_u32 {
        win.fence().unwrap();
        put(&win, u64::from(times), (me + times) % n, u64::from(me));
        let pending = world.ibarrier().unwrap();
        let mut root = [if me == times % n { times } else { 0 }];
        world.broadcast(&mut root, Rank(times % n)).unwrap();
        assert_eq!(root, [times]);
        assert_eq!(world.allreduce(&[u64::from(me)], Op::Sum).unwrap(), [sum]);
        pending.wait().unwrap();
        win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        let from = (me + n - times % n) % n;
        assert_eq!(load(&win, u64::from(from)), u64::from(times));
        win.fence_with(FenceAssert::NOPRECEDE | FenceAssert::NOSUCCEED).unwrap();
        let later = world.iallreduce(vec![1_u64], Op::Sum).unwrap();
        world.barrier().unwrap();
        assert_eq!(later.wait().unwrap(), [u64::from(n)]);
    }
    free(win);
}

#[test]
fn calls_of_nine_ranks_that_combine() {
    combined(9, calls_in_turn);
}

#[test]
fn calls_of_sixteen_ranks_that_combine() {
    combined(16, calls_in_turn);
}

/// The world's ranks combine; of its parts the small ones, and one of all, do too.
#[test]
fn communicators_of_ranks_that_combine() {
    combined(13, |world| {
        let me = world.rank().0;
        for times in 1..10 {
            let part = world.split(Some(me % times), 0).unwrap().unwrap();
            let members = (0..13).filter(|rank| rank % times == me % times).count() as u32;
            for _ in 0..20 {
                assert_eq!(part.allreduce(&[1_u32], Op::Sum).unwrap(), [members]);
            }
            let all = world.dup().unwrap();
            assert_eq!(all.allreduce(&[1_u32], Op::Sum).unwrap(), [13]);
        }
    });
}
