//! MPI-2.2 §11.6: error handlers and error classes.

use super::rule::{Rule, Section, rule, unseen};

pub const SECTION: Section = Section {
    edition: "MPI-2.2",
    clause: "11.6",
    title: "Error handling (with the classes of MPI-4.1 \u{a7}12.6)",
    rules: RULES,
};

const RULES: &[Rule] = &[
    rule(
        "1",
        "errors during win_create invoke the error handler of comm",
        &["windows/objects::a_window_takes_over_the_handler_of_its_communicator"],
    ),
    rule(
        "2",
        "errors of other RMA calls invoke the error handler of the window",
        &["windows/objects::handlers_see_each_error_once"],
    ),
    rule(
        "3",
        "the default is MPI_ERRORS_ARE_FATAL: differs, it is to return; FATAL can be set",
        &["windows/objects::a_fatal_error_ends_the_job_and_says_why"],
    ),
    rule("WIN", "invalid win argument", &["types::window_after_free"]),
    rule(
        "BASE",
        "invalid base",
        &["windows/flavours/create::memory_without_an_address_is_refused_on_all_ranks"],
    ),
    rule(
        "SIZE",
        "invalid size",
        &[
            "misuse::a window of more bytes than there can be",
            "windows/memory::sizes_beyond_all_arithmetic_are_refused_on_every_rank",
        ],
    ),
    rule(
        "DISP",
        "invalid disp",
        &[
            "misuse::a displacement unit of 0",
            "windows/memory::displacement_units_beyond_an_int_are_refused_on_every_rank",
        ],
    ),
    unseen("LOCKTYPE", "invalid locktype", "the two lock types are a type: there is no third"),
    rule(
        "ASSERT",
        "invalid assert",
        &["misuse::fence with NOPRECEDE after operations", "types::assertion_of_another_call"],
    ),
    rule(
        "RMA_CONFLICT",
        "conflicting accesses to window, where one call makes both",
        &["communication/engine::an_origin_inside_the_target_range_is_a_conflict"],
    ),
    rule(
        "RMA_SYNC",
        "wrong synchronization of RMA calls",
        &[
            "misuse::lock of a rank that is locked already",
            "synchronization/epochs::every_synchronisation_in_every_state",
            "synchronization/threads::of_two_threads_that_synchronise_the_second_is_refused",
        ],
    ),
    rule(
        "RMA_RANGE",
        "the target memory is not part of the window",
        &[
            "misuse::put, one element past the end",
            "windows/flavours/dynamic::what_is_not_attached_is_out_of_range",
        ],
    ),
    rule(
        "RMA_ATTACH",
        "memory cannot be attached",
        &[
            "windows/flavours/dynamic::dynamic_windows_are_addressed_by_address",
            "windows/flavours/dynamic::what_is_not_attached_is_out_of_range",
        ],
    ),
    rule(
        "RMA_FLAVOR",
        "the window has the wrong flavor for the call",
        &[
            "windows/flavours/dynamic::what_is_not_attached_is_out_of_range",
            "windows/flavours/shared::shared_windows_are_contiguous_unless_told_otherwise",
            "windows/flavours/shared::allocated_windows_answer_shared_query_with_addresses",
        ],
    ),
    rule(
        "RMA_SHARED",
        "memory cannot be shared: here, private memory that the kernel keeps from other ranks",
        &[
            "windows/flavours/unreachable::memory_that_the_kernel_keeps_from_one_rank_is_refused_on_all",
            "windows/flavours/unreachable::operations_on_attached_memory_that_the_kernel_keeps_are_refused",
            "windows/flavours/unreachable::a_rank_that_has_left_the_job_is_not_reached_any_more",
        ],
    ),
    rule(
        "4",
        "a call that is refused has changed nothing",
        &[
            "synchronization/epochs::every_operation_in_every_state",
            "synchronization/sequence::a_refused_call_has_no_event",
            "misuse::put to a rank that does not exist",
        ],
    ),
];
