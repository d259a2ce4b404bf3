//! Models of the directory of dynamic windows, within the short bounds.

use loom_tests::{models, report};

#[test]
fn two_ranks() {
    report::assert_pass(&models::directory(), |ranks| ranks == 2);
}

#[test]
fn three_ranks() {
    report::assert_pass(&models::directory(), |ranks| ranks > 2);
}
