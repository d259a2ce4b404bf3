//! Models of waiting until memory satisfies a condition, within the short bounds.

use loom_tests::{models, report};

#[test]
fn two_ranks() {
    report::assert_pass(&models::watch(), |ranks| ranks == 2);
}

#[test]
fn three_ranks() {
    report::assert_pass(&models::watch(), |ranks| ranks > 2);
}
