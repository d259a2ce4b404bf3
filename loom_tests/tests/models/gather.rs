//! Models of members that find each other, within the short bounds.

use loom_tests::{models, report};

#[test]
fn two_ranks() {
    report::assert_pass(&models::gather(), |ranks| ranks == 2);
}

#[test]
fn three_ranks() {
    report::assert_pass(&models::gather(), |ranks| ranks > 2);
}
