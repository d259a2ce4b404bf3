//! Models of the flushes and of `win_sync`, within the short bounds.

use loom_tests::{models, report};

#[test]
fn two_ranks() {
    report::assert_pass(&models::flush(), |ranks| ranks == 2);
}

#[test]
fn relayed_by_a_third_rank() {
    report::assert_pass(&models::flush(), |ranks| ranks == 3);
}

#[test]
fn the_drawing_needs_each_of_its_four_win_syncs() {
    for k in 1..=4 {
        report::assert_fails(&models::sync_forgotten(k));
    }
}
