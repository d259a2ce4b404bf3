//! MPI-2.2 §11.4.2: post, start, complete, wait and test.

use super::rule::{Rule, Section, rule};

pub const SECTION: Section = Section {
    edition: "MPI-2.2",
    clause: "11.4.2",
    title: "General active target synchronization",
    rules: RULES,
};

const RULES: &[Rule] = &[
    rule(
        "1",
        "operations between start and complete must access only windows at processes in the group",
        &[
            "failures/errors::a_target_that_the_epoch_does_not_reach",
            "synchronization/epochs::every_operation_in_every_state",
        ],
    ),
    rule(
        "2",
        "each process in the group of a start must issue a matching post",
        &[
            "synchronization/matching::a_start_awaits_the_post_of_its_own_target",
            "synchronization/pscw::figure_11_4_each_origin_with_its_targets",
        ],
    ),
    rule(
        "3",
        "accesses to each target window are delayed until the target executed the matching post",
        &["synchronization/pscw::figure_11_2_the_access_is_delayed_until_the_window_is_exposed"],
    ),
    rule(
        "4",
        "start is allowed to block until the posts are executed, but not required to: here it does",
        &["synchronization/pscw::figure_11_2_the_access_is_delayed_until_the_window_is_exposed"],
    ),
    rule(
        "5",
        "assert = 0 is always valid",
        &[
            "synchronization/sequence::post_and_complete_synchronise_memory_first_start_and_wait_last",
        ],
    ),
    rule(
        "6",
        "all operations of the epoch have completed at the origin when complete returns",
        &[
            "conformance/semantics::completion_of_2_ranks",
            "conformance/semantics::completion_of_8_ranks",
        ],
    ),
    rule(
        "7",
        "complete enforces completion at the origin, but not at the target: that is for wait",
        &[
            "synchronization/matching::test_has_no_effect_until_it_is_true_and_then_that_of_wait",
            "synchronization/progress::figure_11_8_complete_does_not_wait_for_the_targets_wait",
        ],
    ),
    rule(
        "Ex. 11.4",
        "once post is issued, start, put and complete must complete without further dependencies",
        &["synchronization/pscw::example_11_4_start_put_complete_need_nothing_but_the_post"],
    ),
    rule(
        "8",
        "only processes in the group of a post should access the window during its epoch, and each \
         must issue a matching start",
        &[
            "synchronization/matching::wait_awaits_the_complete_of_every_origin",
            "synchronization/matching::a_start_awaits_the_post_of_its_own_target",
        ],
    ),
    rule("9", "post does not block", &["synchronization/matching::post_does_not_block"]),
    rule(
        "10",
        "wait blocks until all matching calls to complete have occurred",
        &["synchronization/matching::wait_awaits_the_complete_of_every_origin"],
    ),
    rule(
        "11",
        "when wait returns, all these accesses have completed at the target window",
        &[
            "synchronization/pscw::figure_11_1_wait_follows_the_origins_operations",
            "synchronization/pscw::figure_11_1_wait_outlasts_an_origin_held_anywhere",
        ],
    ),
    rule(
        "Fig. 11.4",
        "each start lists the ranks that are accessed, each post the ranks that access",
        &["synchronization/pscw::figure_11_4_each_origin_with_its_targets"],
    ),
    rule(
        "12",
        "test returns flag = true if wait would return immediately, and false otherwise",
        &[
            "synchronization/matching::test_has_no_effect_until_it_is_true_and_then_that_of_wait",
            "synchronization/matching::test_becomes_true_without_any_other_call",
        ],
    ),
    rule(
        "13",
        "the effect of test with flag = true is that of wait; with flag = false there is none",
        &["synchronization/matching::test_has_no_effect_until_it_is_true_and_then_that_of_wait"],
    ),
    rule(
        "14",
        "test should be invoked only where wait can be; after flag = true it must not be invoked \
         anew until the window is posted anew",
        &[
            "synchronization/matching::test_has_no_effect_until_it_is_true_and_then_that_of_wait",
            "synchronization/epochs::every_synchronisation_in_every_state",
        ],
    ),
    rule(
        "15",
        "posts, starts, completes and waits match as sends and receives between pairs do",
        &[
            "synchronization/matching::a_start_awaits_the_post_of_its_own_target",
            "synchronization/matching::an_early_post_waits_for_its_epoch_and_serves_one_only",
            "synchronization/pscw::pairs_that_do_not_communicate_do_not_wait_for_each_other",
        ],
    ),
    rule(
        "16",
        "any directed graph of origins and targets works by post, start, complete, wait",
        &[
            "synchronization/matching::every_directed_graph_of_origins_and_targets_works",
            "synchronization/matching::every_directed_graph_of_eight_ranks_works",
        ],
    ),
    rule(
        "17",
        "a call is a no-op, and can be skipped, if its group is empty",
        &[
            "synchronization/matching::every_directed_graph_of_origins_and_targets_works",
            "synchronization/sequence::calls_with_an_empty_group_synchronise_memory_only",
        ],
    ),
    rule(
        "18",
        "each process may call with a group that has different members",
        &["synchronization/matching::every_directed_graph_of_eight_ranks_works"],
    ),
];
