//! MPI-2.2 §11.3: put, get and accumulate.

use super::rule::{Rule, Section, rule, unseen};

pub const SECTION: Section = Section {
    edition: "MPI-2.2",
    clause: "11.3",
    title: "Communication calls (and \u{a7}11.3.1 to \u{a7}11.3.3)",
    rules: RULES,
};

const RULES: &[Rule] = &[
    rule(
        "1",
        "put transfers from origin to target, get from target to origin, accumulate updates",
        &[
            "communication/operations::active_epochs_move_data",
            "communication/operations::passive_epochs_move_data",
            "communication/operations::one_byte_to_several_mebibytes_at_mixed_alignments",
        ],
    ),
    rule(
        "2",
        "the transfer is completed, at origin and target, when the caller issues a subsequent \
         synchronization call on the window",
        &[
            "conformance/semantics::completion_of_2_ranks",
            "synchronization/fence::a_fence_completes_every_operation_whoever_is_late",
            "synchronization/lock::example_11_5_unlock_completes_the_put_at_origin_and_target",
        ],
    ),
    rule(
        "3",
        "the local buffer of an RMA call should not be updated, that of a get not accessed, until \
         the subsequent synchronization call completes",
        &[
            "types::buffer_fence",
            "types::buffer_step",
            "types::buffer_access",
            "types::buffer_lock",
            "types::buffer_lock_all",
            "types::buffer_batch",
            "types::buffer_lock_batch",
        ],
    ),
    rule(
        "4",
        "two concurrent puts may have overlapping origin buffers (MPI-2.1, rationale)",
        &[
            "communication/data::concurrent_puts_may_overlap_at_the_origin",
            "communication/operations::origin_buffers_of_concurrent_puts_may_overlap",
        ],
    ),
    rule(
        "5",
        "it is erroneous to have concurrent conflicting accesses to the same location in a window",
        &[
            "communication/engine::an_origin_inside_the_target_range_is_a_conflict",
            "types::window_used_beside_a_local_slice",
        ],
    ),
    rule(
        "6",
        "the same location can be updated by several concurrent accumulates, as if in some order",
        &[
            "communication/atomicity::concurrent_accumulates_have_the_outcome_of_some_serial_order",
            "communication/accumulate::aligned_integers_lose_nothing_in_any_mix",
        ],
    ),
    unseen(
        "7",
        "a window cannot concurrently be updated by a put or accumulate and by a local store, even \
         at different locations",
        "binds the program; harmless here, where there is one copy and bytes are the unit",
    ),
    rule(
        "8",
        "general datatypes gather data at the source and scatter it at the destination",
        &[
            "communication/datatypes/transfer::every_constructor_moves_what_packing_says",
            "communication/datatypes/transfer::every_kind_of_memory_takes_every_constructor",
            "communication/datatypes/accumulate::random_layouts_accumulate_what_an_oracle_says",
        ],
    ),
    rule(
        "9",
        "the target may be identical with the origin",
        &[
            "synchronization/matching::a_rank_may_be_its_own_origin_and_target",
            "launcher/singleton::all_epochs_and_collectives_work_alone",
        ],
    ),
    rule(
        "10",
        "MPI_PROC_NULL is a valid target; the epoch must still be finished as it was begun",
        &[
            "communication/operations::the_null_target_takes_and_gives_nothing_but_needs_an_epoch",
            "communication/data::operations_on_nobody_do_nothing",
        ],
    ),
    rule(
        "11",
        "put writes at target_addr = window_base + target_disp x disp_unit of the target",
        &[
            "communication/operations::put_reaches_every_rank_at_the_displacement_given",
            "communication/engine::no_displacement_leads_out_of_a_part",
        ],
    ),
    rule(
        "12",
        "the target datatype may not specify overlapping entries in the target buffer",
        &["communication/datatypes/refused::entries_written_to_may_not_overlap"],
    ),
    rule(
        "13",
        "the message sent must fit, without truncation, in the target buffer",
        &["communication/datatypes/refused::other_elements_or_too_many_are_refused"],
    ),
    rule(
        "14",
        "the target buffer must fit in the target window",
        &[
            "communication/engine::no_displacement_leads_out_of_a_part",
            "misuse::put across the end",
            "failures/errors::guards_return_the_errors_of_the_window",
            "windows/flavours/dynamic::what_is_not_attached_is_out_of_range",
            "communication/datatypes/refused::layouts_that_leave_the_part_are_refused",
        ],
    ),
    rule(
        "15",
        "the target datatype is interpreted at the target, and holds relative displacements only",
        &["communication/datatypes/transfer::the_target_datatype_is_interpreted_at_the_target"],
    ),
    rule(
        "16",
        "a high-quality implementation checks window bounds on each RMA call and raises an \
         exception at the origin",
        &[
            "misuse::put across the end",
            "failures/errors::guards_return_the_errors_of_the_window",
            "communication/engine::no_displacement_leads_out_of_a_part",
        ],
    ),
    rule(
        "17",
        "the origin datatype of a get may not specify overlapping entries in the origin buffer",
        &["communication/datatypes/refused::entries_written_to_may_not_overlap"],
    ),
    rule(
        "18",
        "the copied data of a get must fit, without truncation, in the origin buffer",
        &[
            "communication/engine::no_displacement_leads_out_of_a_part",
            "communication/operations::one_byte_to_several_mebibytes_at_mixed_alignments",
            "communication/datatypes/refused::other_elements_or_too_many_are_refused",
        ],
    ),
    rule(
        "Ex. 11.1",
        "indirect assignment A = B(map) by one get per target",
        &["communication/data::example_11_1_indirect_assignment_grouped_by_target"],
    ),
    rule(
        "Ex. 11.2",
        "the same by one get per entry",
        &[
            "communication/data::example_11_2_indirect_assignment_entry_by_entry",
            "communication/data::example_11_2_with_eight_ranks",
        ],
    ),
];

pub const ACCUMULATE: Section = Section {
    edition: "MPI-2.2",
    clause: "11.3.4",
    title: "Accumulate functions",
    rules: &[
        rule(
            "1",
            "accumulate combines the origin buffer into the target buffer by op",
            &[
                "communication/accumulate_matrix::unsigned_integers",
                "communication/operations::concurrent_sums_add_up",
            ],
        ),
        rule(
            "2",
            "any of the predefined operations for reduce can be used",
            &[
                "communication/accumulate_matrix::signed_integers",
                "communication/accumulate_matrix::unsigned_integers",
                "communication/accumulate_matrix::floating_and_complex_numbers",
                "communication/accumulate_matrix::pairs_of_value_and_index",
            ],
        ),
        rule(
            "3",
            "user-defined functions cannot be used",
            &["types::user_operation_in_accumulate"],
        ),
        rule(
            "4",
            "each datatype must be predefined, or derived from one predefined datatype, the same \
             at origin and target",
            &[
                "communication/engine::two_datatypes_in_one_call_are_refused",
                "types::wrong_element_type",
                "communication/datatypes/refused::other_elements_or_too_many_are_refused",
                "communication/datatypes/refused::accumulates_of_several_types_are_refused",
            ],
        ),
        rule(
            "5",
            "the target datatype must not specify overlapping entries",
            &["communication/datatypes/refused::entries_written_to_may_not_overlap"],
        ),
        rule(
            "6",
            "the target buffer must fit in the target window",
            &[
                "communication/engine::no_displacement_leads_out_of_a_part",
                "misuse::put across the end",
                "failures/errors::guards_return_the_errors_of_the_window",
            ],
        ),
        rule(
            "7",
            "MPI_REPLACE: the value at the target is replaced by the value of the origin",
            &[
                "communication/accumulate_matrix::unsigned_integers",
                "communication/atomicity::concurrent_replaces_leave_each_element_whole",
            ],
        ),
        rule(
            "8",
            "MPI_REPLACE cannot be used in collective reductions",
            &["misuse::a reduction by an operation of windows"],
        ),
        rule(
            "9",
            "get_accumulate, fetch_and_op and compare_and_swap return the value before \
             (MPI-4.1 §12.3.4)",
            &[
                "communication/accumulate_matrix::unsigned_integers",
                "communication/accumulate_matrix::compare_and_swap_of_every_integer_type",
                "communication/operations::the_flushing_forms_return_what_they_read",
            ],
        ),
        rule(
            "10",
            "compare_and_swap takes integer, logical and byte types only (MPI-4.1 §12.3.4)",
            &["types::compare_and_swap_of_floats"],
        ),
        rule(
            "Ex. 11.3",
            "sums through a map by accumulate",
            &[
                "communication/data::example_11_3_sums_by_accumulate",
                "communication/data::example_11_3_with_eight_ranks",
                "communication/data::example_11_3_reverses_the_assignment_if_map_is_one_to_one",
            ],
        ),
    ],
};
