//! The report of each program that deadlocks.

use super::Shape;
use super::programs::*;
use onesided::Universe;

const END: i32 = 123;

const fn shape(
    name: &'static str,
    ranks: u32,
    body: fn(&Universe),
    expected: &'static [&'static str],
) -> Shape {
    Shape { name, ranks, options: &[], body, code: END, expected }
}

const PAIR: &str =
    "deadlock: rank 0 waits for rank 1, which waits for rank 0; job ended, exit code 123";
const SEPARATE: &str = "deadlock: rank 0 waits for rank 1, which waits for rank 0 (in different \
                     collectives); job ended, exit code 123";
const ALL_TWO: &str =
    "deadlock: all 2 ranks wait, and none can be woken by another; job ended, exit code 123";

pub const SHAPES: &[Shape] = &[
    shape(
        "figure_11_7",
        2,
        figure_11_7,
        &[
            ALL_TWO,
            "rank 0 in wait_notify on window 'mail' waits for 1 notification of counter 0, \
         of which 0 have come (@receive)",
            "rank 1 in wait on window 'data' waits for a complete by rank 0 (@wait-117)",
        ],
    ),
    shape(
        "start_before_post",
        2,
        start_before_post,
        &[
            PAIR,
            "rank 0 in start on window 'halo' waits for a post by rank 1 (@start-first)",
            "rank 1 in start on window 'halo' waits for a post by rank 0 (@start-first)",
        ],
    ),
    shape(
        "wait_before_complete",
        2,
        wait_before_complete,
        &[
            PAIR,
            "rank 0 in wait on window 'halo' waits for a complete by rank 1 (@wait-first)",
            "rank 1 in wait on window 'halo' waits for a complete by rank 0 (@wait-first)",
        ],
    ),
    shape(
        "lock_order_of_two",
        2,
        lock_order,
        &[
            PAIR,
            "rank 0 in lock on window 'forks' waits for the lock of rank 1, held exclusively by rank 1 \
         (@fork)",
            "rank 1 in lock on window 'forks' waits for the lock of rank 0, held exclusively by rank 0 \
         (@fork)",
        ],
    ),
    shape(
        "lock_order_of_three",
        3,
        lock_order,
        &[
            "deadlock: rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0; job \
         ended, exit code 123",
            "rank 0 in lock on window 'forks' waits for the lock of rank 1, held exclusively by rank 1 \
         (@fork)",
            "rank 1 in lock on window 'forks' waits for the lock of rank 2, held exclusively by rank 2 \
         (@fork)",
            "rank 2 in lock on window 'forks' waits for the lock of rank 0, held exclusively by rank 0 \
         (@fork)",
        ],
    ),
    shape(
        "origin_that_is_not_asked",
        3,
        origin_that_is_not_asked,
        &[
            "deadlock: all 3 ranks wait, and none can be woken by another; job ended, exit code 123",
            "rank 0 in wait on window 'w' waits for 1 of 2 completes, by ranks 1 and 2 (@two-origins)",
            "ranks 1 and 2 in barrier wait for rank 0 to arrive (@groups-barrier)",
        ],
    ),
    shape(
        "target_that_posts_for_another",
        3,
        target_that_posts_for_another,
        &[
            "deadlock: rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0; job \
         ended, exit code 123",
            "rank 0 in start on window 'w' waits for a post by rank 1 (@not-posted-for)",
            "rank 1 in wait on window 'w' waits for a complete by rank 2 (@posted-for-2)",
            "rank 2 in barrier waits for ranks 0 and 1 to arrive (@third)",
        ],
    ),
    shape(
        "missing_unlock",
        2,
        missing_unlock,
        &[
            PAIR,
            "rank 0 in barrier waits for rank 1 to arrive (@still-locked)",
            "rank 1 in lock on window 'w' waits for the lock of rank 0, held exclusively by rank 0 \
         (@lock-held)",
        ],
    ),
    shape(
        "fence_by_some",
        3,
        fence_by_some,
        &[
            "deadlock: rank 0 waits for rank 2, which waits for rank 0 (in different collectives); \
         job ended, exit code 123",
            "ranks 0 and 1 in fence on window 'halo' wait for rank 2 to arrive (@some-fence)",
            "rank 2 in barrier waits for ranks 0 and 1 to arrive (@no-fence)",
        ],
    ),
    shape(
        "fence_by_ten_of_eleven",
        11,
        fence_by_ten_of_eleven,
        &[
            "deadlock: rank 0 waits for rank 4, which waits for rank 0 (in different collectives); \
         job ended, exit code 123",
            "ranks 0-3 and 5-10 in fence on window 'halo' wait for rank 4 to arrive (@fence-of-ten)",
            "rank 4 in barrier waits for ranks 0-3 and 5-10 to arrive (@no-fence-of-eleven)",
        ],
    ),
    shape(
        "collective_against_fence",
        2,
        collective_against_fence,
        &[
            SEPARATE,
            "rank 0 in allreduce waits for rank 1 to arrive (@allreduce)",
            "rank 1 in fence on window 'w' waits for rank 0 to arrive (@fence-against)",
        ],
    ),
    shape(
        "fences_of_two_windows",
        2,
        fences_of_two_windows,
        &[
            SEPARATE,
            "rank 0 in fence on window 'a' waits for rank 1 to arrive (@fence-a)",
            "rank 1 in fence on window 'b' waits for rank 0 to arrive (@fence-b)",
        ],
    ),
    shape(
        "after_many_pieces",
        2,
        after_many_pieces,
        &[
            SEPARATE,
            "rank 0 in fence on window 'halo' waits for rank 1 to arrive (@fence-alone)",
            "rank 1 in barrier waits for rank 0 to arrive (@barrier-alone)",
        ],
    ),
    shape(
        "fence_against_free",
        2,
        fence_against_free,
        &[
            SEPARATE,
            "rank 0 in fence on window 'w' waits for rank 1 to arrive (@fence-not-free)",
            "rank 1 in window free on window 'w' waits for rank 0 to arrive (@free-not-fence)",
        ],
    ),
    shape(
        "origin_that_has_left",
        2,
        origin_that_has_left,
        &[
            "deadlock: rank 0 waits for rank 1, which has left the job; job ended, exit code 123",
            "rank 0 in wait on window 'w' waits for a complete by rank 1, which has left the job \
         (@no-complete)",
        ],
    ),
    shape(
        "too_few_notifications",
        2,
        too_few_notifications,
        &[
            ALL_TWO,
            "rank 0 in wait_notify on window 'mail' waits for 3 notifications of counter 0, \
         of which 2 have come (@three-notifications)",
            "rank 1 in barrier waits for rank 0 to arrive (@two-sent)",
        ],
    ),
    shape(
        "never_written",
        2,
        never_written,
        &[
            ALL_TWO,
            "rank 0 in wait_until on window 'flag' waits for a write to displacement 0 of the \
         part of rank 0 (@never-written)",
            "rank 1 in wait_until on window 'flag' waits for a write to displacement 1 of the \
         part of rank 1 (@never-written)",
        ],
    ),
    shape(
        "one_has_left",
        4,
        one_has_left,
        &[
            "deadlock: rank 0 waits for rank 1, which has left the job; job ended, exit code 123",
            "ranks 0, 2 and 3 in barrier wait for rank 1, which has left the job (@one-has-left)",
        ],
    ),
    shape(
        "one_has_left_and_one_computes",
        3,
        one_has_left_and_one_computes,
        &[
            "deadlock: rank 0 waits for rank 1, which has left the job; job ended, exit code 123",
            "rank 0 in barrier waits for ranks 1 and 2 to arrive, of which rank 1 has left the job \
         (@left-while-computing)",
        ],
    ),
    shape(
        "ring",
        4,
        ring,
        &[
            "deadlock: all 4 ranks wait, and none can be woken by another; job ended, exit code 123",
            "ranks 0-3 in wait_notify on window 'mail' wait for 1 notification of counter 0, \
         of which 0 have come (@ring)",
        ],
    ),
    shape(
        "start_on_itself",
        1,
        start_on_itself,
        &[
            "deadlock: rank 0 waits for itself; job ended, exit code 123",
            "rank 0 in start on window 'own' waits for a post by rank 0 (@own-start)",
        ],
    ),
    shape(
        "lock_all_behind_a_lock",
        2,
        lock_all_behind_a_lock,
        &[
            PAIR,
            "rank 0 in barrier waits for rank 1 to arrive (@holds-lock)",
            "rank 1 in lock_all on window 'w' waits for a lock held exclusively by rank 0 (@lock-all)",
        ],
    ),
    shape(
        "lock_behind_lock_all",
        2,
        lock_behind_lock_all,
        &[
            ALL_TWO,
            "rank 0 in barrier waits for rank 1 to arrive (@holds-lock-all)",
            "rank 1 in lock on window 'w' waits for the lock of rank 0, held by others in lock_all \
         (@behind-lock-all)",
        ],
    ),
    shape(
        "lock_behind_shared",
        2,
        lock_behind_shared,
        &[
            ALL_TWO,
            "rank 0 in barrier waits for rank 1 to arrive (@holds-shared)",
            "rank 1 in lock on window 'w' waits for the lock of rank 0, held by others (@behind-shared)",
        ],
    ),
    shape(
        "lock_of_one_that_has_left",
        2,
        lock_of_one_that_has_left,
        &[
            "deadlock: rank 1 waits for rank 0, which has left the job; job ended, exit code 123",
            "rank 1 in lock on window 'w' waits for the lock of rank 1, held exclusively by rank 0, \
         which has left the job (@left-with-lock)",
        ],
    ),
    shape(
        "mutex_held",
        2,
        mutex_held,
        &[
            ALL_TWO,
            "rank 0 in barrier waits for rank 1 to arrive (@holds-mutex)",
            "rank 1 in wait_until on window 'mutex' waits for a write to displacement 1 of the part of \
             rank 1 (@mutex)",
        ],
    ),
    shape(
        "queue_empty",
        2,
        queue_empty,
        &[
            ALL_TWO,
            "ranks 0 and 1 in wait_until on window 'queue' wait for a write to displacement 2 of the \
             part of rank 0 (@pop)",
        ],
    ),
    shape(
        "group_incomplete",
        2,
        group_incomplete,
        &[
            SEPARATE,
            "rank 0 in communicator create_group waits for rank 1 to arrive (@create-group)",
            "rank 1 in barrier waits for rank 0 to arrive (@no-create-group)",
        ],
    ),
    shape(
        "window_freed_by_one",
        2,
        window_freed_by_one,
        &[
            SEPARATE,
            "rank 0 in window free on window 'w' waits for rank 1 to arrive (@free)",
            "rank 1 in barrier waits for rank 0 to arrive (@not-freed)",
        ],
    ),
    Shape {
        options: &["--on-failure=continue"],
        ..shape(
            "survivors",
            3,
            survivors,
            &[
                "rank 2 (* was killed by signal 9 (SIGKILL) outside the library; the others go on",
                SEPARATE,
                "rank 0 in barrier waits for rank 1 to arrive (@one-survivor)",
                "rank 1 in barrier waits for rank 0 to arrive (@other-survivor)",
            ],
        )
    },
    shape(
        "two_communicators",
        4,
        two_communicators,
        &[
            SEPARATE,
            "ranks 0 and 2 in barrier wait for ranks 1 and 3 to arrive (@one-comm)",
            "ranks 1 and 3 in barrier wait for ranks 0 and 2 to arrive (@other-comm)",
        ],
    ),
    shape(
        "receive_from_each_other",
        2,
        receive_from_each_other,
        &[
            PAIR,
            "rank 0 in recv waits for a message from rank 1 with tag 5 (@recv-first)",
            "rank 1 in recv waits for a message from rank 0 with tag 5 (@recv-first)",
        ],
    ),
    shape(
        "send_to_each_other",
        2,
        send_to_each_other,
        &[
            PAIR,
            "rank 0 in send waits for rank 1 to receive its message with tag 2 (@send-first)",
            "rank 1 in send waits for rank 0 to receive its message with tag 2 (@send-first)",
        ],
    ),
    shape(
        "receive_from_nobody",
        3,
        receive_from_no_rank,
        &[
            "deadlock: rank 1 waits for rank 2, which has left the job; job ended, exit code 123",
            "rank 0 in probe waits for a message from any rank (@probe-any)",
            "rank 1 in barrier waits for ranks 0 and 2 to arrive, of which rank 2 has left the job \
             (@barrier-posted)",
        ],
    ),
    shape(
        "receive_from_who_left",
        3,
        receive_from_who_left,
        &[
            "deadlock: rank 0 waits for rank 1, which has left the job; job ended, exit code 123",
            "rank 0 in recv waits for a message from rank 1, which has left the job (@recv-left)",
        ],
    ),
];
