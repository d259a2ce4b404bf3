//! Models of post, start, complete, wait and test, within the short bounds.

use loom_tests::{models, report};

#[test]
fn two_ranks() {
    report::assert_pass(&models::pscw(), |ranks| ranks == 2);
}

#[test]
fn three_and_four_ranks() {
    report::assert_pass(&models::pscw(), |ranks| ranks > 2);
}
