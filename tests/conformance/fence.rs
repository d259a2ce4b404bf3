//! MPI-2.2 §11.4.1: fence.

use super::rule::{Rule, Section, rule};

pub const SECTION: Section =
    Section { edition: "MPI-2.2", clause: "11.4.1", title: "Fence", rules: RULES };

const RULES: &[Rule] = &[
    rule(
        "1",
        "the call is collective on the group of the window",
        &[
            "synchronization/fence::a_fence_is_not_satisfied_by_arrivals_at_the_one_before",
            "windows/communicators::every_epoch_works_over_split_communicators",
        ],
    ),
    rule(
        "2",
        "operations started before the fence complete at their origin before it returns there",
        &[
            "conformance/semantics::completion_of_3_ranks",
            "communication/operations::steps_of_one_fence_each_reuse_their_buffers",
        ],
    ),
    rule(
        "3",
        "they are completed at their target before the fence returns at the target",
        &[
            "synchronization/fence::a_fence_completes_every_operation_whoever_is_late",
            "synchronization/fence::a_fence_completes_every_operation_of_eight_ranks",
        ],
    ),
    rule(
        "4",
        "operations started after the fence access their target only after the target called fence",
        &["synchronization/fence::no_operation_reaches_a_target_before_its_fence"],
    ),
    rule(
        "5",
        "the call completes an epoch if another fence and operations preceded it, and starts one \
         if operations and another fence follow",
        &[
            "synchronization/epochs::every_synchronisation_in_every_state",
            "synchronization/epochs::a_refused_operation_does_not_count_in_its_fence_epoch",
            "windows/memory::free_in_a_fence_epoch_without_operations_is_legal",
            "synchronization/semantics::one_window_may_change_its_synchronisation_mode",
        ],
    ),
    rule(
        "6",
        "a process completes the call only after all others entered their matching call",
        &["synchronization/fence::a_fence_is_not_satisfied_by_arrivals_at_the_one_before"],
    ),
    rule(
        "7",
        "a fence that is known not to end any epoch does not necessarily act as a barrier",
        &["synchronization/fence::a_fence_that_ends_and_starts_nothing_does_not_wait"],
    ),
    rule(
        "8",
        "assert = 0 is always valid",
        &[
            "synchronization/fence::a_fence_completes_every_operation_whoever_is_late",
            "synchronization/sequence::fence_is_mem_sync_proc_sync_mem_sync_whatever_is_asserted",
        ],
    ),
    rule(
        "9",
        "fences should both precede and follow the operations that they synchronize",
        &[
            "types::operation_on_the_window",
            "types::operation_after_the_end_fence",
            "windows/memory::free_with_operations_since_the_last_fence_fails_on_every_rank",
        ],
    ),
];
