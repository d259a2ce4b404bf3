//! New RMA Design, "RMA + Threads" and "RMA + Shared Memory".

use super::rule::{Section, rule};

pub const SECTION: Section = Section {
    edition: "New RMA Design",
    clause: "threads",
    title: "RMA + Threads",
    rules: &[
        rule(
            "1",
            "put, get, accumulate with put, get, accumulate",
            &[
                "synchronization/threads::operations_of_several_threads_in_every_epoch",
                "synchronization/threads::tickets_of_all_threads_are_drawn_once",
            ],
        ),
        rule(
            "2",
            "put, get, accumulate with fence (no NOSUCCEED and no NOPRECEDE)",
            &[
                "synchronization/threads::operations_while_another_thread_fences",
                "synchronization/threads::a_put_at_any_event_of_another_threads_fence",
            ],
        ),
        rule(
            "3",
            "put, get, accumulate with flush",
            &["synchronization/threads::a_flush_completes_what_another_thread_has_put"],
        ),
        rule(
            "4",
            "flush with flush",
            &["synchronization/threads::flushes_of_several_threads_at_once"],
        ),
        rule(
            "5",
            "all other interleaving situations are invalid",
            &[
                "synchronization/threads::of_two_threads_that_synchronise_the_second_is_refused",
                "types::threads_end_an_epoch",
            ],
        ),
        rule(
            "6",
            "no thread-private data: any thread may go on where another has begun",
            &[
                "synchronization/threads::any_thread_may_end_what_another_has_begun",
                "synchronization/threads::windows_and_guards_may_be_sent_and_shared",
                "synchronization/threads::threads_with_windows_of_their_own_go_their_own_ways",
            ],
        ),
    ],
};

pub const SHARED_MEMORY: Section = Section {
    edition: "New RMA Design",
    clause: "memory",
    title: "RMA + Shared Memory: where MEM_SYNC and PROC_SYNC stand",
    rules: &[
        rule(
            "fence",
            "MEM_SYNC before and after PROC_SYNC, opening and closing",
            &[
                "synchronization/sequence::fence_is_mem_sync_proc_sync_mem_sync_whatever_is_asserted",
                "synchronization/fence::a_fence_completes_every_operation_whoever_is_late",
            ],
        ),
        rule(
            "post, complete",
            "MEM_SYNC before PROC_SYNC; in start, wait and test after it",
            &[
                "synchronization/sequence::post_and_complete_synchronise_memory_first_start_and_wait_last",
            ],
        ),
        rule(
            "lock, unlock",
            "MEM_SYNC after the grant, and before the release",
            &[
                "synchronization/sequence::locks_are_granted_before_and_released_after_their_mem_sync",
            ],
        ),
        rule(
            "flush",
            "a MEM_SYNC orders the operations before any PROC_SYNC behind it",
            &["synchronization/flush::what_is_flushed_is_seen_before_unlock_all"],
        ),
        rule(
            "win_sync",
            "accesses to the own window in passive mode stand between win_syncs",
            &[
                "synchronization/flush::local_accesses_between_win_syncs_take_turns_with_a_locked_origin",
            ],
        ),
    ],
};
