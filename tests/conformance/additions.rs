//! What MPI-4.1 adds: requests, info keys; and what other libraries have: notified access.

use super::rule::{Section, rule, unseen};

pub const REQUESTS: Section = Section {
    edition: "MPI-4.1",
    clause: "12.3.5",
    title: "Request-based operations",
    rules: &[
        rule(
            "1",
            "the completion of a request is local completion of its operation",
            &["communication/requests::a_request_frees_its_buffer_before_the_epoch_ends"],
        ),
        rule(
            "2",
            "request-based operations are valid in passive target epochs only",
            &["communication/requests::only_passive_epochs_take_requests_and_errors_name_the_call"],
        ),
        rule(
            "3",
            "requests can be waited for, tested, and combined with others",
            &["communication/requests::requests_are_waited_for_together"],
        ),
        rule(
            "4",
            "the data of an rget or rget_accumulate is in the buffer when its request completes",
            &["communication/requests::a_request_frees_its_buffer_before_the_epoch_ends"],
        ),
        rule(
            "5",
            "remote completion takes a flush or the end of the epoch",
            &["communication/requests::a_request_frees_its_buffer_before_the_epoch_ends"],
        ),
    ],
};

pub const INFO: Section = Section {
    edition: "MPI-4.1",
    clause: "12.2.1",
    title: "Info keys of windows",
    rules: &[
        rule(
            "1",
            "no_locks: the window is never locked, neither by lock nor by lock_all",
            &["windows/objects::windows_without_locks_refuse_them"],
        ),
        rule(
            "2",
            "same_size, same_disp_unit: provided with the same value by all",
            &["windows/objects::promises_of_sameness_are_checked"],
        ),
        rule(
            "3",
            "mpi_minimum_memory_alignment: at least that of the memory allocated",
            &["windows/objects::hints_about_memory_are_followed_or_not_reported"],
        ),
        rule(
            "4",
            "get_info returns the hints in use",
            &[
                "windows/objects::windows_without_locks_refuse_them",
                "windows/objects::hints_about_memory_are_followed_or_not_reported",
            ],
        ),
        rule(
            "5",
            "set_info is collective, and may change no_locks of a window",
            &["windows/objects::windows_without_locks_refuse_them"],
        ),
        rule(
            "6",
            "accumulate_ordering: accumulates of one origin to one location keep the order that \
             the key names (rar, raw, war, waw; here all of them, always)",
            &["conformance/ordering::accumulates_keep_the_order_of_their_origin"],
        ),
        unseen(
            "7",
            "accumulate_ops, mpi_accumulate_granularity: what the program promises of its mix",
            "promise nothing to the program; any mix is atomic per element (\u{a7}11.7.1)",
        ),
        rule(
            "8",
            "alloc_shared_noncontig: each part may have an address of its own",
            &["windows/objects::hints_about_memory_are_followed_or_not_reported"],
        ),
    ],
};

pub const NOTIFIED: Section = Section {
    edition: "extension",
    clause: "notified",
    title: "Notified access",
    rules: &[
        rule(
            "1",
            "who has seen a notification sees the put that it counts",
            &[
                "communication/notify::data_is_there_when_it_is_counted",
                "communication/notify::data_is_there_when_it_is_counted_in_windows_of_every_flavour",
                "communication/notify::a_sleeping_target_is_woken_by_the_last_of_many",
            ],
        ),
        rule(
            "2",
            "a notification is consumed once",
            &[
                "communication/notify::each_notification_is_consumed_once",
                "communication/notify::threads_of_a_target_take_turns",
            ],
        ),
        rule(
            "3",
            "wait_until returns once the location compares as asked",
            &[
                "synchronization/wait_until::comparisons_are_those_of_the_type",
                "synchronization/wait_until::every_call_that_completes_at_the_target_wakes_a_watcher",
                "synchronization/wait_until::no_change_is_slept_past",
            ],
        ),
    ],
};
