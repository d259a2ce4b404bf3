//! MPI-4: lock_all, and flush and win_sync (MPI-4.1 §12.5.4).

use super::rule::{Section, rule, unseen};

pub const SECTION: Section = Section {
    edition: "MPI-4.1",
    clause: "12.5.3",
    title: "Lock, lock_all",
    rules: &[
        rule(
            "1",
            "an access epoch is opened by lock or lock_all and closed by unlock or unlock_all, \
             respectively",
            &["synchronization/epochs::every_synchronisation_in_every_state"],
        ),
        rule(
            "2",
            "lock_all is a shared lock of every process's window",
            &[
                "synchronization/locks::exclusive_locks_exclude_whatever_is_mixed",
                "synchronization/locks::nested_exclusive_locks_pass_a_waiting_lock_all",
                "synchronization/lock::a_conflicting_lock_is_granted_only_after_the_release",
            ],
        ),
        rule(
            "3",
            "lock_all is not collective",
            &[
                "synchronization/progress::a_target_that_makes_no_call_does_not_hold_up_its_origins",
                "synchronization/flush::what_is_flushed_is_seen_before_unlock_all",
            ],
        ),
        rule(
            "4",
            "operations of the epoch are complete at origin and target when unlock_all returns",
            &[
                "synchronization/flush::what_is_flushed_is_seen_before_unlock_all",
                "random/programs/mod::random_programs_run_as_the_oracle_says",
            ],
        ),
        rule(
            "5",
            "several targets may be locked at the same time",
            &[
                "synchronization/locks::several_targets_are_locked_at_once_and_released_one_by_one",
                "synchronization/locks::transfers_between_two_locked_targets_keep_the_sum",
            ],
        ),
        unseen(
            "6",
            "RMA does not define fine-grained mutexes, but provides the primitives for them",
            "promises nothing; compare_and_swap and fetch_and_op are in \u{a7}11.3.4",
        ),
        rule(
            "7",
            "loads, stores and other calls may occur during an epoch",
            &["conformance/epochs::rule_5_other_calls_may_occur_during_an_epoch"],
        ),
    ],
};

pub const FLUSH: Section = Section {
    edition: "MPI-4.1",
    clause: "12.5.4",
    title: "Flush and sync",
    rules: &[
        rule(
            "1",
            "flush completes all outstanding operations on the target, at origin and target",
            &[
                "synchronization/flush::what_is_flushed_is_seen_before_unlock_all",
                "synchronization/flush::what_is_flushed_under_a_shared_lock_is_seen_before_unlock",
            ],
        ),
        rule(
            "2",
            "flush_all completes them on all targets",
            &["synchronization/flush::what_is_flushed_is_seen_before_unlock_all"],
        ),
        rule(
            "3",
            "flush_local completes them at the origin: its buffers may be reused",
            &["synchronization/flush::a_buffer_is_free_after_flush", "types::buffer_batch"],
        ),
        rule(
            "4",
            "flush_local_all: the same for all targets",
            &[
                "synchronization/flush::a_buffer_is_free_after_flush",
                "synchronization/threads::a_flush_completes_what_another_thread_has_put",
            ],
        ),
        rule(
            "5",
            "flush is for passive target epochs only",
            &[
                "synchronization/epochs::every_synchronisation_in_every_state",
                "misuse::flush outside an epoch",
            ],
        ),
        rule(
            "6",
            "win_sync synchronizes the private and the public copy of the window",
            &[
                "synchronization/flush::local_accesses_between_win_syncs_take_turns_with_a_locked_origin",
                "windows/flavours/shared::shared_windows_are_contiguous_unless_told_otherwise",
            ],
        ),
    ],
};
