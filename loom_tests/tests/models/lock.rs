//! Models of the locks and of `lock_all`, within the short bounds.

use loom_tests::{models, report};

#[test]
fn lock_two_ranks() {
    report::assert_pass(&models::lock(), |ranks| ranks == 2);
}

#[test]
fn lock_three_and_four_ranks() {
    report::assert_pass(&models::lock(), |ranks| ranks > 2);
}

#[test]
fn lock_all() {
    report::assert_pass(&models::lock_all(), |_| true);
}
