//! MPI-2.2 §11.4.4 and §11.4.5, and the examples of §11.5.

use super::rule::{Rule, Section, rule, unseen};

pub const SECTION: Section = Section {
    edition: "MPI-2.2",
    clause: "11.4.4",
    title: "Assertions (and the examples of \u{a7}11.5)",
    rules: RULES,
};

const RULES: &[Rule] = &[
    rule(
        "1",
        "assert does not change program semantics if it provides correct information",
        &[
            "synchronization/sequence::fence_is_mem_sync_proc_sync_mem_sync_whatever_is_asserted",
            "synchronization/fence::example_11_6_loosely_synchronous_puts_between_fences",
            "synchronization/pscw::example_11_9_gets_overlap_the_update_of_the_core",
            "synchronization/double_buffer::example_11_10_double_buffer_with_nocheck_posts_on_both_windows",
        ],
    ),
    rule(
        "2",
        "it is erroneous to provide incorrect information",
        &[
            "misuse::fence with NOPRECEDE after operations",
            "failures/errors::a_fence_with_a_wrong_assertion_leaves_the_epoch_open",
        ],
    ),
    unseen(
        "3",
        "implementors should document which assert values are significant",
        "docs/assertions.md does",
    ),
    rule(
        "4",
        "of the five assertions each call takes its own",
        &["types::assertion_of_another_call"],
    ),
    rule(
        "5",
        "start NOCHECK: the matching posts have already completed on all targets",
        &[
            "synchronization/double_buffer::example_11_10_double_buffer_with_nocheck_posts_on_both_windows",
            "synchronization/sequence::nocheck_drops_the_proc_sync_of_post_and_start_and_no_mem_sync",
            "types::nocheck_without_unsafe",
        ],
    ),
    rule(
        "6",
        "post NOCHECK: the matching starts have not yet occurred on any origin",
        &[
            "synchronization/double_buffer::example_11_10_double_buffer_of_two_ranks",
            "synchronization/double_buffer::nocheck_and_checked_epochs_may_follow_each_other",
        ],
    ),
    unseen(
        "7",
        "NOCHECK can be specified in a start if and only if it is in each matching post",
        "binds the program; to see a violation takes the communication that NOCHECK saves",
    ),
    rule(
        "8",
        "post and fence NOSTORE: the local window was not updated by local stores",
        &[
            "synchronization/fence::example_11_6_loosely_synchronous_puts_between_fences",
            "synchronization/sequence::post_and_complete_synchronise_memory_first_start_and_wait_last",
        ],
    ),
    rule(
        "9",
        "post and fence NOPUT: the local window will not be updated by put or accumulate",
        &[
            "synchronization/fence::example_11_7_gets_overlap_the_update_of_the_core",
            "synchronization/pscw::example_11_9_gets_overlap_the_update_of_the_core",
        ],
    ),
    rule(
        "10",
        "fence NOPRECEDE: the fence does not complete any locally issued operations",
        &[
            "misuse::fence with NOPRECEDE after operations",
            "synchronization/fence::a_fence_that_ends_and_starts_nothing_does_not_wait",
        ],
    ),
    rule(
        "11",
        "fence NOSUCCEED: the fence does not start any locally issued operations",
        &[
            "synchronization/epochs::a_state_that_was_left_is_the_state_none",
            "windows/local_slices::no_slice_after_a_fence_that_only_this_rank_says_starts_nothing",
        ],
    ),
    unseen(
        "12",
        "NOPRECEDE and NOSUCCEED must be given by all processes or by none",
        "binds the program; to see a violation takes the communication that they save",
    ),
    rule(
        "13",
        "lock NOCHECK: no process holds or attempts to acquire a conflicting lock; the coherence \
         operations are still required",
        &[
            "synchronization/lock::nocheck_locks_pass_data_when_exclusion_is_achieved_by_other_means",
            "synchronization/sequence::nocheck_drops_the_proc_sync_of_locks_and_no_mem_sync",
            "types::nocheck_without_unsafe",
        ],
    ),
    rule(
        "Ex. 11.6",
        "loosely synchronous puts between fences",
        &[
            "synchronization/fence::example_11_6_loosely_synchronous_puts_between_fences",
            "synchronization/fence::example_11_6_with_eight_ranks",
        ],
    ),
    rule(
        "Ex. 11.7",
        "gets between fences overlap the update of the core",
        &[
            "synchronization/fence::example_11_7_gets_overlap_the_update_of_the_core",
            "synchronization/fence::example_11_7_with_eight_ranks",
        ],
    ),
    rule(
        "Ex. 11.8",
        "puts between start and complete",
        &[
            "synchronization/pscw::example_11_8_puts_between_start_and_complete",
            "synchronization/pscw::example_11_8_with_eight_ranks",
        ],
    ),
    rule(
        "Ex. 11.9",
        "gets between start and complete overlap the update of the core",
        &[
            "synchronization/pscw::example_11_9_gets_overlap_the_update_of_the_core",
            "synchronization/pscw::example_11_9_with_eight_ranks",
        ],
    ),
    rule(
        "Ex. 11.10",
        "double buffer: two windows, NOCHECK on both sides",
        &[
            "synchronization/double_buffer::example_11_10_double_buffer_of_two_ranks",
            "synchronization/double_buffer::example_11_10_double_buffer_of_eight_ranks",
            "synchronization/double_buffer::example_11_10_double_buffer_by_put",
        ],
    ),
];

pub const CLARIFICATIONS: Section = Section {
    edition: "MPI-2.2",
    clause: "11.4.5",
    title: "Miscellaneous clarifications",
    rules: &[
        rule(
            "1",
            "once a routine completes, it is safe to free any opaque object passed to it",
            &[
                "synchronization/matching::every_directed_graph_of_origins_and_targets_works",
                "windows/communicators::windows_outlive_the_communicator_they_were_made_over",
            ],
        ),
        rule(
            "2",
            "... the datatype of a put too, though the communication may not be complete",
            &[
                "communication/datatypes/transfer::datatypes_may_be_freed_before_the_communication_is_complete",
            ],
        ),
        rule(
            "3",
            "datatypes must be committed before they can be used in RMA communication",
            &["types::uncommitted_datatype"],
        ),
    ],
};
