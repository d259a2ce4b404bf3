//! Models of notified access, within the short bounds.

use loom_tests::{models, report};

#[test]
fn two_ranks() {
    report::assert_pass(&models::notify(), |ranks| ranks == 2);
}

#[test]
fn three_ranks() {
    report::assert_pass(&models::notify(), |ranks| ranks > 2);
}
