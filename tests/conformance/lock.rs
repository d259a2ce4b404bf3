//! MPI-2.2 §11.4.3: lock and unlock.

use super::rule::{Rule, Section, rule, unseen};

pub const SECTION: Section =
    Section { edition: "MPI-2.2", clause: "11.4.3", title: "Lock", rules: RULES };

const RULES: &[Rule] = &[
    rule(
        "1",
        "lock starts an access epoch in which only the window of that rank can be accessed",
        &[
            "failures/errors::a_target_that_the_epoch_does_not_reach",
            "synchronization/epochs::every_operation_in_every_state",
        ],
    ),
    rule(
        "2",
        "operations of the epoch have completed at origin and target when unlock returns",
        &[
            "synchronization/lock::example_11_5_unlock_completes_the_put_at_origin_and_target",
            "conformance/semantics::completion_of_8_ranks",
        ],
    ),
    rule(
        "3",
        "locks protect accesses to the locked target by RMA calls",
        &[
            "synchronization/lock::increments_under_exclusive_locks_are_not_lost",
            "synchronization/lock::figure_11_3_the_second_origin_gets_all_of_it_or_nothing",
        ],
    ),
    rule(
        "4",
        "... and local load/store accesses to a locked local window",
        &[
            "synchronization/lock::example_11_5_a_lock_of_the_local_window_protects_loads_and_stores",
            "windows/local_slices::the_own_part_is_a_slice_under_its_lock",
        ],
    ),
    rule(
        "5",
        "accesses protected by an exclusive lock are not concurrent with other lock-protected ones",
        &[
            "synchronization/lock::a_conflicting_lock_is_granted_only_after_the_release",
            "synchronization/lock::a_lock_is_held_until_its_release",
            "synchronization/lock::a_lock_is_held_from_its_grant_on",
            "synchronization/locks::exclusive_locks_exclude_whatever_is_mixed",
            "synchronization/locks::exclusive_locks_of_eight_ranks_exclude_whatever_is_mixed",
        ],
    ),
    rule(
        "6",
        "accesses protected by a shared lock are not concurrent with those under an exclusive one",
        &[
            "synchronization/lock::a_conflicting_lock_is_granted_only_after_the_release",
            "synchronization/lock::locks_that_do_not_conflict_are_held_together",
        ],
    ),
    rule(
        "7",
        "it is erroneous to have a window locked and exposed concurrently: no lock of a target \
         that has posted and not yet waited",
        &[
            "synchronization/exposed::a_part_that_its_rank_has_exposed_is_not_locked",
            "synchronization/epochs::every_synchronisation_in_every_state",
            "misuse::lock of the own part while it is exposed",
        ],
    ),
    rule(
        "8",
        "it is erroneous to call post while the local window is locked",
        &[
            "synchronization/exposed::post_is_refused_while_another_rank_holds_a_lock_of_the_part",
            "misuse::post while the own part is locked",
            "synchronization/exposed::post_is_allowed_while_another_part_is_locked",
        ],
    ),
    unseen(
        "9",
        "implementors may restrict locks to windows in memory allocated by alloc_mem",
        "allowed, not promised; there is no such restriction here (tests/windows/flavours/create.rs)",
    ),
    rule(
        "Ex. 11.5",
        "unlock does not return until the put has completed at origin and target",
        &["synchronization/lock::example_11_5_unlock_completes_the_put_at_origin_and_target"],
    ),
    rule(
        "10",
        "a lock of the local window must block until it is acquired",
        &[
            "synchronization/lock::a_conflicting_lock_is_granted_only_after_the_release",
            "synchronization/lock::example_11_5_a_lock_of_the_local_window_protects_loads_and_stores",
        ],
    ),
];
