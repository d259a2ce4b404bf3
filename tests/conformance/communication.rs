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
            "operations::active_epochs_move_data",
            "operations::passive_epochs_move_data",
            "operations::one_byte_to_several_mebibytes_at_mixed_alignments",
        ],
    ),
    rule(
        "2",
        "the transfer is completed, at origin and target, when the caller issues a subsequent \
         synchronization call on the window",
        &[
            "conformance/semantics::completion_of_2_ranks",
            "spec_fence::a_fence_completes_every_operation_whoever_is_late",
            "spec_lock::example_11_5_unlock_completes_the_put_at_origin_and_target",
        ],
    ),
    rule(
        "3",
        "the local buffer of an RMA call should not be updated, that of a get not accessed, until \
         the subsequent synchronization call completes",
        &[
            "compile_fail::buffer_fence",
            "compile_fail::buffer_step",
            "compile_fail::buffer_access",
            "compile_fail::buffer_lock",
            "compile_fail::buffer_lock_all",
            "compile_fail::buffer_batch",
            "compile_fail::buffer_lock_batch",
        ],
    ),
    rule(
        "4",
        "two concurrent puts may have overlapping origin buffers (MPI-2.1, rationale)",
        &[
            "spec_data::concurrent_puts_may_overlap_at_the_origin",
            "operations::origin_buffers_of_concurrent_puts_may_overlap",
        ],
    ),
    rule(
        "5",
        "it is erroneous to have concurrent conflicting accesses to the same location in a window",
        &[
            "engine::an_origin_inside_the_target_range_is_a_conflict",
            "compile_fail::window_used_beside_a_local_slice",
        ],
    ),
    rule(
        "6",
        "the same location can be updated by several concurrent accumulates, as if in some order",
        &[
            "spec_atomicity::concurrent_accumulates_have_the_outcome_of_some_serial_order",
            "accumulate::aligned_integers_lose_nothing_in_any_mix",
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
            "datatypes_rma/transfer::every_constructor_moves_what_packing_says",
            "datatypes_rma/transfer::every_kind_of_memory_takes_every_constructor",
            "datatypes_rma/accumulate::random_layouts_accumulate_what_an_oracle_says",
        ],
    ),
    rule(
        "9",
        "the target may be identical with the origin",
        &[
            "spec_matching::a_rank_may_be_its_own_origin_and_target",
            "singleton::all_epochs_and_collectives_work_alone",
        ],
    ),
    rule(
        "10",
        "MPI_PROC_NULL is a valid target; the epoch must still be finished as it was begun",
        &[
            "operations::the_null_target_takes_and_gives_nothing_but_needs_an_epoch",
            "spec_data::operations_on_nobody_do_nothing",
        ],
    ),
    rule(
        "11",
        "put writes at target_addr = window_base + target_disp x disp_unit of the target",
        &[
            "operations::put_reaches_every_rank_at_the_displacement_given",
            "engine::no_displacement_leads_out_of_a_part",
        ],
    ),
    rule(
        "12",
        "the target datatype may not specify overlapping entries in the target buffer",
        &["datatypes_rma/refused::entries_written_to_may_not_overlap"],
    ),
    rule(
        "13",
        "the message sent must fit, without truncation, in the target buffer",
        &["datatypes_rma/refused::other_elements_or_too_many_are_refused"],
    ),
    rule(
        "14",
        "the target buffer must fit in the target window",
        &[
            "engine::no_displacement_leads_out_of_a_part",
            "errors::range",
            "flavours/dynamic::what_is_not_attached_is_out_of_range",
            "datatypes_rma/refused::layouts_that_leave_the_part_are_refused",
        ],
    ),
    rule(
        "15",
        "the target datatype is interpreted at the target, and holds relative displacements only",
        &["datatypes_rma/transfer::the_target_datatype_is_interpreted_at_the_target"],
    ),
    rule(
        "16",
        "a high-quality implementation checks window bounds on each RMA call and raises an \
         exception at the origin",
        &["errors::range", "engine::no_displacement_leads_out_of_a_part"],
    ),
    rule(
        "17",
        "the origin datatype of a get may not specify overlapping entries in the origin buffer",
        &["datatypes_rma/refused::entries_written_to_may_not_overlap"],
    ),
    rule(
        "18",
        "the copied data of a get must fit, without truncation, in the origin buffer",
        &[
            "engine::no_displacement_leads_out_of_a_part",
            "operations::one_byte_to_several_mebibytes_at_mixed_alignments",
            "datatypes_rma/refused::other_elements_or_too_many_are_refused",
        ],
    ),
    rule(
        "Ex. 11.1",
        "indirect assignment A = B(map) by one get per target",
        &["spec_data::example_11_1_indirect_assignment_grouped_by_target"],
    ),
    rule(
        "Ex. 11.2",
        "the same by one get per entry",
        &[
            "spec_data::example_11_2_indirect_assignment_entry_by_entry",
            "spec_data::example_11_2_with_eight_ranks",
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
            &["accumulate_matrix::unsigned_integers", "operations::concurrent_sums_add_up"],
        ),
        rule(
            "2",
            "any of the predefined operations for reduce can be used",
            &[
                "accumulate_matrix::signed_integers",
                "accumulate_matrix::unsigned_integers",
                "accumulate_matrix::floating_and_complex_numbers",
                "accumulate_matrix::pairs_of_value_and_index",
            ],
        ),
        rule(
            "3",
            "user-defined functions cannot be used",
            &["compile_fail::user_operation_in_accumulate"],
        ),
        rule(
            "4",
            "each datatype must be predefined, or derived from one predefined datatype, the same \
             at origin and target",
            &[
                "engine::two_datatypes_in_one_call_are_refused",
                "compile_fail::wrong_element_type",
                "datatypes_rma/refused::other_elements_or_too_many_are_refused",
                "datatypes_rma/refused::accumulates_of_several_types_are_refused",
            ],
        ),
        rule(
            "5",
            "the target datatype must not specify overlapping entries",
            &["datatypes_rma/refused::entries_written_to_may_not_overlap"],
        ),
        rule(
            "6",
            "the target buffer must fit in the target window",
            &["engine::no_displacement_leads_out_of_a_part", "errors::range"],
        ),
        rule(
            "7",
            "MPI_REPLACE: the value at the target is replaced by the value of the origin",
            &[
                "accumulate_matrix::unsigned_integers",
                "spec_atomicity::concurrent_replaces_leave_each_element_whole",
            ],
        ),
        rule("8", "MPI_REPLACE cannot be used in collective reductions", &["errors::operation"]),
        rule(
            "9",
            "get_accumulate, fetch_and_op and compare_and_swap return the value before \
             (MPI-4.1 §12.3.4)",
            &[
                "accumulate_matrix::unsigned_integers",
                "accumulate_matrix::compare_and_swap_of_every_integer_type",
                "operations::the_flushing_forms_return_what_they_read",
            ],
        ),
        rule(
            "10",
            "compare_and_swap takes integer, logical and byte types only (MPI-4.1 §12.3.4)",
            &["compile_fail::compare_and_swap_of_floats"],
        ),
        rule(
            "Ex. 11.3",
            "sums through a map by accumulate",
            &[
                "spec_data::example_11_3_sums_by_accumulate",
                "spec_data::example_11_3_with_eight_ranks",
                "spec_data::example_11_3_reverses_the_assignment_if_map_is_one_to_one",
            ],
        ),
    ],
};
