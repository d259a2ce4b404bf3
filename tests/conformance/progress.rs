//! MPI-2.2 §11.7.1 to §11.7.3: atomicity, progress, registers.

use super::rule::{Rule, Section, rule, unseen};

pub const ATOMICITY: Section = Section {
    edition: "MPI-2.2",
    clause: "11.7.1",
    title: "Atomicity",
    rules: &[
        rule(
            "1",
            "concurrent accumulates to one location, of one operation and datatype, are done as if \
             in some serial order",
            &[
                "communication/atomicity::concurrent_accumulates_have_the_outcome_of_some_serial_order",
                "communication/atomicity::tickets_are_drawn_once_and_swaps_won_once",
                "communication/atomicity::accumulates_under_shared_locks_add_up",
                "communication/accumulate::aligned_integers_lose_nothing_in_any_mix",
                "communication/accumulate::floating_numbers_lose_nothing_in_any_mix",
                "communication/accumulate::misaligned_elements_lose_nothing_in_any_mix",
                "communication/accumulate::elements_of_sixteen_bytes_lose_nothing_in_any_mix",
            ],
        ),
        rule(
            "2",
            "no guarantee that an entire accumulate is atomic: each element is, and any order of \
             the elements is accepted",
            &[
                "communication/atomicity::concurrent_replaces_leave_each_element_whole",
                "communication/accumulate::no_element_is_ever_torn",
            ],
        ),
        unseen(
            "3",
            "a location updated by accumulate cannot be accessed otherwise until it has completed",
            "binds the program (rule C2 of §11.7)",
        ),
        rule(
            "4",
            "get_accumulate, fetch_and_op and compare_and_swap are atomic with accumulate \
             (MPI-4.1 §12.7.1)",
            &[
                "communication/accumulate::aligned_integers_lose_nothing_in_any_mix",
                "communication/accumulate::of_all_pairs_the_best_with_the_smallest_index_remains",
                "communication/accumulate::concurrent_maxima_only_rise",
            ],
        ),
    ],
};

pub const SECTION: Section = Section {
    edition: "MPI-2.2",
    clause: "11.7.2",
    title: "Progress (and \u{a7}11.7.3, registers)",
    rules: RULES,
};

const RULES: &[Rule] = &[
    rule(
        "1",
        "once a communication is enabled, it is guaranteed to complete",
        &[
            "synchronization/progress::figure_11_6_symmetric_communication_does_not_deadlock",
            "synchronization/progress::a_target_that_computes_does_not_hold_up_its_origin",
        ],
    ),
    rule(
        "2",
        "RMA calls must have local semantics, except when required for synchronization",
        &[
            "synchronization/progress::a_target_that_makes_no_call_does_not_hold_up_its_origins",
            "synchronization/matching::post_does_not_block",
        ],
    ),
    rule(
        "3",
        "an access becomes enabled once the target has executed the corresponding synchronization",
        &[
            "synchronization/pscw::figure_11_2_the_access_is_delayed_until_the_window_is_exposed",
            "synchronization/fence::no_operation_reaches_a_target_before_its_fence",
        ],
    ),
    rule(
        "4",
        "if the target window is posted, Example 11.4 must complete",
        &["synchronization/pscw::example_11_4_start_put_complete_need_nothing_but_the_post"],
    ),
    rule(
        "5",
        "if no conflicting lock is held, Example 11.5 must complete",
        &[
            "synchronization/lock_progress::a_shared_lock_is_granted_past_a_mere_waiter",
            "synchronization/lock_progress::lock_all_and_other_targets_are_granted_past_mere_waiters",
            "synchronization/lock_progress::nested_shared_locks_of_two_windows_are_granted_past_waiting_writers",
            "synchronization/locks::every_sleeper_is_admitted",
        ],
    ),
    rule(
        "Fig. 11.6",
        "symmetric communication does not deadlock, irrespective of the amount of data",
        &[
            "synchronization/progress::figure_11_6_symmetric_communication_does_not_deadlock",
            "synchronization/progress::figure_11_6_with_little_data_and_eight_ranks",
        ],
    ),
    unseen(
        "Fig. 11.7",
        "start before post, wait before complete, and a receive that precedes its send deadlock",
        "binds the program; rmarun reports it (tests/deadlock/programs.rs)",
    ),
    rule(
        "Fig. 11.8",
        "wait blocks until the complete executes, but not vice versa",
        &[
            "synchronization/progress::figure_11_8_complete_does_not_wait_for_the_targets_wait",
            "synchronization/progress::figure_11_8_with_much_data",
        ],
    ),
    rule(
        "6",
        "a process makes progress on all its communications while it is blocked in a call",
        &["synchronization/progress::figure_11_8_complete_does_not_wait_for_the_targets_wait"],
    ),
    rule(
        "7",
        "whether progress must occur while a process computes is left open: here it does",
        &[
            "synchronization/progress::a_target_that_computes_does_not_hold_up_its_origin",
            "synchronization/progress::two_origins_talk_through_a_target_that_takes_no_part",
        ],
    ),
    rule(
        "8",
        "a load behind the fence sees the put, not a register's old value (\u{a7}11.7.3)",
        &["synchronization/fence::section_11_7_3_a_load_after_the_fence_sees_the_put"],
    ),
];
