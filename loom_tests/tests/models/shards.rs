//! Models of single updates against those of many elements, within the short bounds.

use loom_tests::{models, report};

#[test]
fn two_ranks() {
    report::assert_pass(&models::shards(), |ranks| ranks == 2);
}

#[test]
fn three_ranks() {
    report::assert_pass(&models::shards(), |ranks| ranks == 3);
}
