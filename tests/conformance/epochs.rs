//! MPI-2.2 §11.4: access epochs, exposure epochs, and which of them may overlap.

use super::rule::{Rule, Section, rule};
use crate::support::interleave::{free, get, group, load, lock, put, store, unlock, words};
use crate::support::spmd;
use onesided::engine::Win;
use onesided::{Comm, FenceAssert, LockType, Op};

pub const SECTION: Section =
    Section { edition: "MPI-2.2", clause: "11.4", title: "Synchronization calls", rules: RULES };

const RULES: &[Rule] = &[
    rule(
        "1",
        "RMA communication calls must occur only within an access epoch for the window",
        &[
            "synchronization/epochs::every_synchronisation_in_every_state",
            "synchronization/epochs::every_operation_in_every_state",
            "types::operation_on_the_window",
            "types::operation_after_the_end_fence",
            "types::operation_after_the_end_access",
            "types::operation_after_the_end_lock",
            "types::operation_after_the_end_lock_all",
        ],
    ),
    rule(
        "2",
        "an access epoch starts with a synchronization call, and completes with another",
        &[
            "synchronization/epochs::every_synchronisation_in_every_state",
            "random/engine_walk::every_call_of_a_random_walk_ends_as_the_model_says",
            "types::guard_made_by_hand",
        ],
    ),
    rule(
        "3",
        "distinct access epochs for a window at the same process must be disjoint",
        &[
            "synchronization/epochs::every_synchronisation_in_every_state",
            "types::two_epochs",
            "types::second_epoch_by_way_of_a_guard",
        ],
    ),
    rule(
        "4",
        "epochs pertaining to different windows may overlap",
        &[
            "windows/memory::epochs_of_one_window_are_not_those_of_another",
            "conformance/epochs::rule_5_other_calls_may_occur_during_an_epoch",
        ],
    ),
    rule(
        "5",
        "local operations or other MPI calls may also occur during an epoch",
        &["conformance/epochs::rule_5_other_calls_may_occur_during_an_epoch"],
    ),
    rule(
        "6",
        "in active target communication, a target window can be accessed only within an exposure \
         epoch",
        &[
            "synchronization/pscw::figure_11_2_the_access_is_delayed_until_the_window_is_exposed",
            "synchronization/fence::no_operation_reaches_a_target_before_its_fence",
        ],
    ),
    rule(
        "7",
        "distinct exposure epochs at a process on the same window must be disjoint",
        &["synchronization/epochs::every_synchronisation_in_every_state", "types::two_exposures"],
    ),
    rule(
        "8",
        "an exposure epoch may overlap with exposure epochs on other windows or with access epochs",
        &[
            "synchronization/double_buffer::example_11_10_double_buffer_with_nocheck_posts_on_both_windows",
            "synchronization/matching::every_directed_graph_of_origins_and_targets_works",
        ],
    ),
    rule(
        "9",
        "there is a one-to-one matching between access epochs and exposure epochs",
        &[
            "synchronization/matching::a_start_awaits_the_post_of_its_own_target",
            "synchronization/matching::an_early_post_waits_for_its_epoch_and_serves_one_only",
        ],
    ),
    rule(
        "10",
        "in passive target communication the target executes no RMA synchronization calls",
        &[
            "synchronization/progress::a_target_that_makes_no_call_does_not_hold_up_its_origins",
            "synchronization/progress::two_origins_talk_through_a_target_that_takes_no_part",
        ],
    ),
    rule(
        "11",
        "in a fence epoch a process can access the windows of all processes, and all its own",
        &[
            "synchronization/fence::a_fence_completes_every_operation_of_eight_ranks",
            "communication/operations::active_epochs_move_data",
        ],
    ),
    rule(
        "12",
        "only one target window can be accessed during a lock epoch; from MPI-3 on, each of \
         several that are locked",
        &[
            "synchronization/epochs::locks_of_several_targets_are_independent",
            "synchronization/locks::several_targets_are_locked_at_once_and_released_one_by_one",
            "failures/errors::a_target_that_the_epoch_does_not_reach",
        ],
    ),
    rule(
        "Fig. 11.1a",
        "the put does not start until the target exposes the window, after its preceding local \
         accesses have completed",
        &["synchronization/pscw::figure_11_1_start_follows_the_targets_accesses_before_post"],
    ),
    rule(
        "Fig. 11.1b",
        "the put completes before the window is unexposed; following local accesses are executed \
         only after wait has returned",
        &[
            "synchronization/pscw::figure_11_1_wait_follows_the_origins_operations",
            "synchronization/pscw::figure_11_1_wait_outlasts_an_origin_held_anywhere",
        ],
    ),
    rule(
        "Fig. 11.2",
        "weak synchronization: the access is delayed until the window is exposed",
        &["synchronization/pscw::figure_11_2_the_access_is_delayed_until_the_window_is_exposed"],
    ),
    rule(
        "Fig. 11.3a",
        "lock and unlock ensure that the two RMA accesses do not occur concurrently",
        &["synchronization/lock::figure_11_3_the_second_origin_gets_all_of_it_or_nothing"],
    ),
    rule(
        "Fig. 11.3b",
        "they do not ensure that the put by origin 1 will precede the get by origin 2",
        &["synchronization/lock::figure_11_3_in_either_order"],
    ),
];

/// Collectives, another window from its making to its end with epochs of its own, and local
/// accesses, all inside an epoch of `outer`.
fn other_calls(world: &Comm, outer: &Win) {
    world.barrier().unwrap();
    assert_eq!(world.allreduce(&[1u32], Op::Sum).unwrap(), [world.size()]);
    let (me, n) = (world.rank().0, world.size());
    let inner = words(world, 1);
    inner.fence().unwrap();
    put(&inner, 5, (me + 1) % n, 0);
    inner.fence_with(FenceAssert::NOSUCCEED).unwrap();
    lock(&inner, LockType::Exclusive, (me + 2) % n);
    assert_eq!(get(&inner, (me + 2) % n, 0), 5);
    unlock(&inner, (me + 2) % n);
    free(inner);
    store(outer, 1, load(outer, 1) + 1);
    outer.sync();
}

#[test]
fn rule_5_other_calls_may_occur_during_an_epoch() {
    spmd(3, |world| {
        let win = words(world, 2);
        let (me, n) = (world.rank().0, world.size());
        let (next, all) = ((me + 1) % n, group(world, &[0, 1, 2]));
        let epoch = |word| {
            put(&win, word, next, 0);
            other_calls(world, &win);
            assert_eq!(get(&win, next, 0), word);
        };
        win.fence().unwrap();
        epoch(1);
        win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        win.post(&all).unwrap();
        win.start(&all).unwrap();
        epoch(2);
        win.complete().unwrap();
        win.wait().unwrap();
        world.barrier().unwrap();
        lock(&win, LockType::Exclusive, next);
        epoch(3);
        unlock(&win, next);
        world.barrier().unwrap();
        win.lock_all().unwrap();
        epoch(4);
        win.unlock_all().unwrap();
        world.barrier().unwrap();
        assert_eq!([load(&win, 0), load(&win, 1)], [4, 4]);
        free(win);
    });
}
