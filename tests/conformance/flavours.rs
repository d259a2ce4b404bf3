//! MPI-4.1 §12.2.2 to §12.2.5: allocated, shared and dynamic windows.

use super::rule::{Section, rule, unseen};

pub const SECTION: Section = Section {
    edition: "MPI-4.1",
    clause: "12.2",
    title: "Windows that MPI allocates, shares, or has memory attached to",
    rules: &[
        rule(
            "1",
            "win_allocate: each process has memory of its own size, which win_free frees",
            &[
                "communication/operations::sizes_and_units_differ_from_rank_to_rank",
                "windows/memory::freed_windows_give_their_memory_back",
                "windows/many::windows_leave_the_segment_as_it_was",
            ],
        ),
        rule(
            "2",
            "win_allocate_shared: contiguous across process ranks, unless alloc_shared_noncontig",
            &["windows/flavours/shared::shared_windows_are_contiguous_unless_told_otherwise"],
        ),
        rule(
            "3",
            "shared_query returns size, unit and base for load/store of another process's part; \
             with MPI_PROC_NULL the first part of size > 0",
            &[
                "windows/flavours/shared::shared_windows_are_contiguous_unless_told_otherwise",
                "windows/flavours/shared::allocated_windows_answer_shared_query_with_addresses",
            ],
        ),
        rule(
            "4",
            "shared_query gives size 0 for memory that cannot be shared",
            &["windows/flavours/shared::allocated_windows_answer_shared_query_with_addresses"],
        ),
        rule(
            "5",
            "win_create_dynamic: memory is attached and detached; displacements are addresses",
            &["windows/flavours/dynamic::dynamic_windows_are_addressed_by_address"],
        ),
        rule(
            "6",
            "attach and detach are local, and may be called while others access the window",
            &["windows/flavours/dynamic::attaching_while_others_access_disturbs_nobody"],
        ),
        rule(
            "7",
            "multiple (but non-overlapping) memory regions may be attached to the same window",
            &[
                "windows/flavours/dynamic::thousands_of_attachments",
                "windows/flavours/dynamic::what_is_not_attached_is_out_of_range",
            ],
        ),
        rule(
            "8",
            "memory must be attached before any process accesses it by RMA operations",
            &["windows/flavours/dynamic::what_is_not_attached_is_out_of_range"],
        ),
        rule(
            "9",
            "detach takes the base of a region that is attached",
            &["windows/flavours/dynamic::dynamic_windows_are_addressed_by_address"],
        ),
        unseen(
            "10",
            "memory must be detached before it is freed",
            "cannot be broken in the typed face, where the window keeps the memory",
        ),
    ],
};
